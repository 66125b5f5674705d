# SPDX-License-Identifier: Apache-2.0
"""One event of any kind is removed from a trace: `gputrace verify` finds that and reports which ledger
count does not match.

    test_removed.py BUILD SOURCE NVTX LOADER    programs; none: not built
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, NVTX, LOADER = (os.path.realpath(path) for path in sys.argv[1:5])
del sys.argv[1:5]
HERE = os.path.dirname(os.path.realpath(__file__))
CLI = os.path.join(BUILD, "cli", "gputrace-cli")

# the ledger key that verify must name, by phase and category
NAMED = {
    ("X", "cuda_runtime"): "calls_written", ("X", "cuda_driver"): "calls_written",
    ("X", "kernel"): "kernels_written", ("X", "gpu_memcpy"): "memcpys_written",
    ("X", "gpu_memset"): "memsets_written", ("X", "cuda_sync"): "syncs_written",
    ("X", "overhead"): "overheads_written", ("X", "user_annotation"): "ranges_written",
    ("X", "cpu_op"): "ranges_written", ("i", "user_annotation"): "ranges_written",
    ("X", "gpu_user_annotation"): "range_shadows_written",
    ("X", "call_stack"): "stack_lane_slices_written", ("i", "cpu_sample"): "samples_written",
    ("i", "cpu_instant_event"): "tensor_blocks_written",
    ("s", "ac2g"): "arrows_written", ("f", "ac2g"): "flow", ("C", "gputrace"): "counters_written",
    ("i", "gputrace"): "notes_written", ("M", None): "names_written",
}


def trace_of(folder, *words, options=(), path=""):
    command = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD,
               os.path.join(SOURCE, "scripts", "gputrace"), "run", "--quiet", *options,
               "--output=" + folder, "--", *words]
    environment = dict(os.environ, GPUTRACE_BUILD=BUILD, PYTHONPATH=path,
                       PYTHONDONTWRITEBYTECODE="1", **preloading.without_tracer())
    result = subprocess.run(command, env=environment, timeout=120, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False)
    if result.returncode:
        raise AssertionError(result.stdout + result.stderr)
    found, = trace_file.find(folder)
    return found


def kind_of(event):
    """Metadata and notes are distinguished by name."""
    by_name = event["ph"] == "M" or event.get("cat") == "gputrace"
    return event["ph"], event.get("cat"), event["name"] if by_name else None


def by_kind(lines):
    """kind -> numbers of its lines"""
    kinds = {}
    for number, line in enumerate(lines):
        if line.lstrip(",").startswith('{"ph"'):
            kinds.setdefault(kind_of(json.loads(line.lstrip(","))), []).append(number)
    return kinds


def without(lines, number):
    """The lines without one event; only the first event has no comma before it."""
    rest = lines[:number] + lines[number + 1:]
    if not lines[number].startswith(","):
        rest[number] = rest[number].lstrip(",")
    return "\n".join(rest)


class Removed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def verify(self, text):
        path = os.path.join(self.folder.name, "removed.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        result = subprocess.run([CLI, "verify", path], capture_output=True, text=True, check=False)
        return result.returncode, result.stdout

    def check(self, path, *wanted):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        self.assertEqual(self.verify("\n".join(lines))[0], 0)
        kinds = by_kind(lines)
        self.assertLessEqual(set(wanted), {kind[:2] for kind in kinds})
        kinds.pop(("X", "User_Annotation", None), None)  # says nothing that the others do not
        for kind, numbers in kinds.items():
            named = "the last event is not" if kind[2] == "Record Window End" else NAMED[kind[:2]]
            for number in sorted({numbers[0], numbers[len(numbers) // 2], numbers[-1]}):
                with self.subTest(kind=kind, line=number + 1):
                    status, output = self.verify(without(lines, number))
                    self.assertEqual(status, 1, output)
                    self.assertIn(named, output)

    @unittest.skipUnless(os.path.isfile(NVTX), "no nvcc")
    def test_ranges(self):
        path = trace_of(os.path.join(self.folder.name, "out"), NVTX,
                        options=["--sync", "--stack-lane"])
        self.check(path, ("X", "cuda_runtime"), ("X", "kernel"), ("X", "cuda_sync"),
                   ("X", "user_annotation"), ("X", "gpu_user_annotation"), ("X", "call_stack"),
                   ("i", "user_annotation"), ("C", "gputrace"), ("i", "gputrace"), ("s", "ac2g"),
                   ("f", "ac2g"), ("M", None))

    def test_samples(self):
        path = trace_of(os.path.join(self.folder.name, "out"), LOADER, "300", "1000", "500",
                        options=["--sample-cpu=200", "--api=all"])
        self.check(path, ("X", "cuda_runtime"), ("X", "cuda_driver"), ("X", "gpu_memset"),
                   ("X", "overhead"), ("i", "cpu_sample"), ("s", "ac2g"), ("f", "ac2g"), ("M", None))

    def test_operators(self):
        path = trace_of(os.path.join(self.folder.name, "out"), sys.executable, "-B",
                        os.path.join(HERE, "torch_operators.py"), options=["--pytorch"],
                        path=os.path.join(HERE, "fake_torch"))
        self.check(path, ("X", "cpu_op"), ("X", "kernel"), ("s", "ac2g"), ("f", "ac2g"),
                   ("M", None))


if __name__ == "__main__":
    sys.exit(unittest.main())
