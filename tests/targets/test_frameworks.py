# SPDX-License-Identifier: Apache-2.0
"""--pytorch and --python-functions on the simulated device, with unmodified programs.

    test_frameworks.py BUILD SOURCE

PyTorch is a stand-in (fake_torch/), and also the real one if GPUTRACE_TEST_TORCH names a Python that
has it."""

import collections
import glob
import os
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE = (os.path.realpath(path) for path in sys.argv[1:3])
del sys.argv[1:3]
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(SOURCE, "tests", "python"))
import interpreters  # noqa: E402

PATTERNS = "step,*.Model.*,numbers,spawned"


def simcuda(*words):
    return [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *words]


def simulated_cupti():
    folder = subprocess.run(simcuda("--print-path"), capture_output=True, text=True, check=True)
    return glob.glob(folder.stdout.strip() + "/libcupti.so.13")[0]


class Frameworks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_program(self, python, program, *options, path="", flags=()):
        """(expected ranges, other output, trace); stderr must be as without the tracer"""
        folder = os.path.join(self.folder.name, str(len(os.listdir(self.folder.name))))
        command = simcuda(os.path.join(SOURCE, "scripts", "gputrace"), "run", *options,
                          "--quiet", "--output=" + folder, "--", *python.split(), "-B",
                          *flags, os.path.join(HERE, program))
        environment = dict(os.environ, GPUTRACE_BUILD=BUILD, PYTHONPATH=path,
                           PYTHONDONTWRITEBYTECODE="1", **preloading.PATIENT,
                           **preloading.without_tracer())
        result = subprocess.run(command, env=environment, capture_output=True, text=True,
                                timeout=300, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        paths = trace_file.find(folder)
        self.assertEqual(len(paths), 1, result.stderr)
        for check in ([sys.executable, os.path.join(SOURCE, "tests", "lint", "trace_lint.py")],
                      [os.path.join(BUILD, "cli", "gputrace-cli"), "verify"]):
            done = subprocess.run([*check, paths[0]], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [line.split("\t") for line in result.stdout.splitlines()]
        return ([row[1:] for row in rows if row[0] == "expect"],
                [row for row in rows if row[0] != "expect"], trace_file.Trace(paths[0]), result)

    # ---- --python-functions ----

    def test_functions(self):
        pythons = [about for about in interpreters.find() if interpreters.is_supported(about)]
        self.assertTrue(pythons, "no supported CPython on this machine")
        for about in pythons:
            with self.subTest(about["path"]):
                expected, rest, trace, result = self.run_program(
                    about["path"], "python_functions.py", "--python-functions=" + PATTERNS,
                    path=os.path.join(HERE, "fake_site"))
                self.assertEqual(result.stderr, "")
                ranges = [e for e in trace.slices if e["cat"] == "user_annotation"]
                self.assertEqual(collections.Counter(e["name"] for e in ranges),
                                 {name: int(often) for name, often in expected})
                for event in ranges:
                    self.assertEqual(event["args"]["domain"], "Python")
                    self.assertNotIn("unfinished", event["args"])
                self.assertEqual([e["args"]["nvtx"] for e in trace.gpu],
                                 ["Python:__main__.Model.forward"] * 2)
                self.assertEqual((trace.ledger["ranges_lost"], trace.ledger["ranges_wrong"]), (0, 0))
                # our folder is gone from sys.path, the program's own sitecustomize ran once
                self.assertEqual(rest, [["path", "False", "1", "True", "targets"]])
                print("CPython", ".".join(map(str, about["version"])), flush=True)

    def test_capture_range(self):
        """The first of two calls of a function, and nothing else."""
        for function in "Model.forward", "__main__.Model.f*", "forward":
            with self.subTest(function):
                _, _, trace, result = self.run_program(sys.executable, "python_functions.py",
                                                       "--capture-range=python:" + function)
                self.assertEqual(result.stderr, "")
                self.assertEqual([e["args"]["nvtx"] for e in trace.gpu], ["Python:__main__.Model.forward"])
                self.assertEqual([e["name"] for e in trace.slices if e["cat"] == "user_annotation"],
                                 ["__main__.Model.forward"])

    def test_without_the_option(self):
        _, rest, trace, _ = self.run_program(sys.executable, "python_functions.py")
        self.assertEqual([e for e in trace.slices if e["cat"] == "user_annotation"], [])
        self.assertEqual(rest[0][:3], ["path", "False", "0"])

    # ---- the state in the metadata ----

    def test_what_became_of_it(self):
        both = "--pytorch", "--python-functions=step"
        away = "off: PYTHONPATH did not lead to gputrace's sitecustomize"
        ignored = "off: Python was started with -E or -I, which ignore PYTHONPATH"
        left_out = "off: Python was started with -S, which leaves sitecustomize out"
        for python, flags, wanted in (
                (sys.executable, (), "pytorch: torch was not imported; python-functions: on"),
                (sys.executable, ("-I",), f"pytorch: {ignored}; python-functions: {ignored}"),
                (sys.executable, ("-E",), f"pytorch: {ignored}; python-functions: {ignored}"),
                (sys.executable, ("-S",), f"pytorch: {left_out}; python-functions: {left_out}"),
                (f"env -u PYTHONPATH {sys.executable}", (),
                 f"pytorch: torch was not imported; python-functions: {away}")):
            with self.subTest(flags=flags, python=python):
                _, _, trace, result = self.run_program(python, "python_functions.py", *both,
                                                       flags=flags)
                self.assertEqual(result.stderr, "")
                self.assertEqual(trace.root["metadata"]["frameworks"], wanted)
                done = subprocess.run([os.path.join(BUILD, "cli", "gputrace-cli"), "stats",
                                       "--summary", trace.path], capture_output=True, text=True,
                                      check=True)
                self.assertEqual(wanted in done.stdout, ": off: " in wanted)
        _, _, trace, _ = self.run_program(sys.executable, "torch_operators.py", both[0],
                                          path=os.path.join(HERE, "fake_torch"))
        self.assertEqual(trace.root["metadata"]["frameworks"], "pytorch: on")
        _, _, trace, _ = self.run_program(sys.executable, "python_functions.py")
        self.assertNotIn("frameworks", trace.root["metadata"])

    def test_torch_that_cannot_be_imported(self):
        with tempfile.TemporaryDirectory() as broken:
            for name, text in (("torch", "raise ImportError('broken')"),
                               ("sitecustomize", "try:\n  import torch\nexcept ImportError:\n  pass")):
                with open(os.path.join(broken, name + ".py"), "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            _, _, trace, _ = self.run_program(sys.executable, "python_functions.py", "--pytorch",
                                              path=broken)
        self.assertEqual(trace.root["metadata"]["frameworks"],
                         "pytorch: off: torch could not be imported")

    def test_watching(self):
        for about in filter(interpreters.is_supported, interpreters.find()):
            with self.subTest(about["path"]):
                result = subprocess.run([about["path"], "-B", os.path.join(HERE, "watching.py"),
                                         os.path.join(SOURCE, "share", "python")],
                                        capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    # ---- --pytorch ----

    def check_operators(self, expected, trace):
        """Each kernel names the operator that launched it, and so does its call."""
        operators = {e["args"]["External id"]: e for e in trace.slices if e["cat"] == "cpu_op"}
        calls = {e["args"]["correlation"]: e for e in trace.calls}
        got = collections.Counter()
        for kernel in (e for e in trace.gpu if e["cat"] == "kernel"):
            call = calls[kernel["args"]["correlation"]]
            name = kernel["args"].get("External id")
            self.assertEqual(call["args"].get("External id"), name)
            if name:
                operator = operators[name]
                self.assertEqual(operator["tid"], call["tid"])
                self.assertLessEqual(trace.start(operator), trace.start(call))
                self.assertGreaterEqual(trace.start(operator) + trace.duration(operator),
                                        trace.start(call) + trace.duration(call))
            got[(operators[name]["name"] if name else "")] += 1
            # backward work names the stack of its forward operator
            forward = kernel["args"].get("forward by", "")
            backward = bool(name) and operators[name]["name"] == "ScaleBackward"
            self.assertEqual("Scale.forward (torch_operators.py:" in forward
                             or "forward (torch_operators.py:" in forward, backward, kernel)
            self.assertNotIn("nvtx", kernel["args"])
        self.assertEqual(got, collections.Counter(row[0] for row in expected))
        self.assertEqual([e for e in trace.slices if e["cat"] == "gpu_user_annotation"], [])
        forward = {e["args"]["Sequence number"] for e in operators.values() if e["name"] == "Scale"}
        backward = {e["args"]["Sequence number"] for e in operators.values()
                    if e["name"] == "ScaleBackward"}
        self.assertEqual(len(backward), 3)
        self.assertLessEqual(backward, forward)
        return operators

    def test_operators_of_the_stand_in(self):
        fake = os.path.join(HERE, "fake_torch")
        expected, _, trace, result = self.run_program(sys.executable, "torch_operators.py",
                                                      "--pytorch", path=fake)
        self.assertEqual(result.stderr, "")
        operators = self.check_operators(expected, trace)
        self.assertFalse(any("Input Dims" in e["args"] for e in operators.values()))
        expected, _, trace, _ = self.run_program(sys.executable, "torch_operators.py", "--pytorch",
                                                 "--pytorch-shapes", path=fake)
        operators = self.check_operators(expected, trace)
        dims = {e["name"]: e["args"].get("Input Dims") for e in operators.values()}
        self.assertEqual(dims["aten::mul"], [[3, 4], []])
        self.assertEqual(dims["Scale"], None)

    def test_forward_by_is_a_launch(self):
        """Not a call behind it that launches nothing."""
        _, _, trace, _ = self.run_program(sys.executable, "torch_operators.py", "--pytorch",
                                          path=os.path.join(HERE, "fake_torch"))
        by = [e["args"]["forward by"] for e in trace.gpu if "forward by" in e["args"]]
        self.assertEqual([("launch (torch_operators.py:" in line, "allocate" in line) for line in by],
                         [(True, False)] * 3)

    def test_forward_by_behind_the_operator(self):
        """The engine sums gradients when the operator with the number is over, inside its own range."""
        _, _, trace, _ = self.run_program(sys.executable, "torch_operators.py", "--pytorch",
                                          path=os.path.join(HERE, "fake_torch"), flags=("-X", "sums"))
        sums = {e["args"]["External id"] for e in trace.slices if e["cat"] == "cpu_op" and e["name"] == "aten::sum"}
        by = [e["args"].get("forward by", "") for e in trace.gpu if e["args"].get("External id") in sums]
        self.assertEqual(["launch (torch_operators.py:" in line for line in by], [True] * 3)

    def test_forward_by_of_an_engine(self):
        """Its thread is younger than that of the forward operators, and often read in one round with it."""
        _, _, trace, _ = self.run_program(sys.executable, "torch_operators.py", "--pytorch",
                                          path=os.path.join(HERE, "fake_torch"), flags=("-X", "engine"))
        operators = {e["args"]["External id"]: e["name"] for e in trace.slices if e["cat"] == "cpu_op"}
        by = [e["args"].get("forward by", "") for e in trace.gpu if operators[e["args"]["External id"]] == "ScaleBackward"]
        self.assertEqual(["launch (torch_operators.py:" in line for line in by], [True] * 400)

    def test_stand_in_without_the_option(self):
        _, _, trace, _ = self.run_program(sys.executable, "torch_operators.py",
                                          path=os.path.join(HERE, "fake_torch"))
        self.assertEqual([e for e in trace.slices if e["cat"] == "cpu_op"], [])

    @unittest.skipUnless(os.environ.get("GPUTRACE_TEST_TORCH"), "GPUTRACE_TEST_TORCH is not set")
    def test_operators_of_pytorch(self):
        # PyTorch comes with NVIDIA's CUPTI, which does not support the simulated device
        expected, _, trace, result = self.run_program(
            os.environ["GPUTRACE_TEST_TORCH"], "torch_operators.py", "--pytorch",
            "--pytorch-shapes", "--cupti=" + simulated_cupti())
        operators = self.check_operators(expected, trace)
        self.assertNotIn("Leaked callback", result.stderr)
        shapes = [e["args"]["Input Dims"] for e in operators.values() if e["name"] == "aten::mul"]
        self.assertIn([[3, 4], []], shapes)


if __name__ == "__main__":
    unittest.main()
