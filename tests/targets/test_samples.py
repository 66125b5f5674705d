# SPDX-License-Identifier: Apache-2.0
"""--sample-cpu on the simulated device: programs whose GPU waits for known functions, and what a program
may notice of being sampled.

    test_samples.py BUILD SOURCE PROGRAM    PROGRAM: slow_loader.c
"""

import collections
import csv
import os
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
HERE = os.path.dirname(os.path.realpath(__file__))
LOADER = os.path.join(HERE, "slow_loader.py")
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
ROWS = 33554432
LONG_STEPS = ["20", "20000", "20000"]  # 20 ms of burning and 20 ms of sleep


def on_device(*words):
    command = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *words]
    environment = dict(os.environ, GPUTRACE_BUILD=BUILD, **preloading.PATIENT)
    result = subprocess.run(command, env=environment, timeout=400, capture_output=True, text=True,
                            check=False)
    if result.returncode:
        raise AssertionError(result.stdout + result.stderr)
    return result


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, check=False)
    if result.returncode:
        raise AssertionError(result.stdout + result.stderr)
    return result.stdout


class Samples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_traced(self, words, *options):
        """(stdout, stderr, path of the trace)"""
        result = on_device(os.path.join(SOURCE, "scripts", "gputrace"), "run", *options,
                           "--output=" + self.folder, "--", *words)
        paths = [os.path.join(self.folder, name) for name in os.listdir(self.folder)
                 if not name.startswith(".")]
        self.assertEqual(len(paths), 1, paths)
        return result.stdout, result.stderr, paths[0]

    def sample(self, words, *options):
        """(stdout, trace) of a run with samples; checks the file and its ledger."""
        options = options or ("--sample-cpu=200",)
        stdout, _, path = self.run_traced(words, "--quiet", *options)
        trace = trace_file.Trace(path)
        tool("verify", path)
        lint = os.path.join(SOURCE, "tests", "lint", "trace_lint.py")
        result = subprocess.run([sys.executable, lint, path], capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual(trace.ledger["samples_received"], trace.ledger["samples_written"])
        return stdout, trace

    @staticmethod
    def places(trace):
        """The number of samples by (function, state)."""
        return collections.Counter(
            (trace_file.frame_function(event["name"]), event["args"]["state"])
            for event in trace.events if event.get("cat") == "cpu_sample")

    def causes(self, trace):
        rows = tool("gaps", "--format=csv", trace.path).split("\n\n", maxsplit=1)[0]
        return list(csv.DictReader(rows.splitlines()))

    # ---- correct samples ----

    def test_slow_python_loader(self):
        stdout, trace = self.sample([sys.executable, LOADER, "30"])
        lines = dict(line.split("\t")[1:] for line in stdout.splitlines()
                     if line.startswith("line\t"))
        first, second = self.causes(trace)[:2]
        self.assertIn(": decode_image (%s:" % LOADER, first["Where"])
        self.assertIn(int(first["Where"].rsplit(":", 1)[1].rstrip(")")),
                      (int(lines["burn"]), int(lines["burn"]) - 1))
        self.assertIn(": read_block (%s:%s)" % (LOADER, lines["sleep"]), second["Where"])
        self.assertGreater(int(first["Samples"]), 20)
        self.assertGreater(float(first["Wall (%)"]), float(second["Wall (%)"]))
        frames = {e["args"]["stack"]: e["args"]["frames"] for e in trace.events
                  if "frames" in e.get("args", {})}
        sleeping = [frames[e["args"]["stack"]] for e in trace.events
                    if e.get("cat") == "cpu_sample" and e["name"].startswith("read_block")]
        for stack in sleeping:
            names = [trace_file.frame_function(frame) for frame in stack]
            self.assertEqual([n for n in names if n in ("read_block", "load_batch", "<module>")],
                             ["read_block", "load_batch", "<module>"])

    def check_native(self, *options):
        stdout, trace = self.sample([PROGRAM, *LONG_STEPS], *options)
        places = self.places(trace)
        self.assertGreater(places["wait_for_disk", "waiting"], 10, places)
        self.assertGreater(places["burn_cpu", "running"], 10, places)
        for event in trace.events:
            if event.get("cat") == "cpu_sample" and "frames" in event["args"]:
                names = [trace_file.frame_function(f) for f in event["args"]["frames"]]
                self.assertIn("main", names, event)
                if "wait_for_disk" in names or "burn_cpu" in names:
                    at = names.index("load_batch")
                    self.assertEqual(names[at:at + 3], ["load_batch", "train", "main"])
        # a signal per sample would have interrupted nearly every sleep
        self.assertLessEqual(int(stdout.split()[1]), 2, stdout)
        return trace

    def test_native(self):
        trace = self.check_native()
        wheres = [row["Where"] for row in self.causes(trace)[:2]]
        self.assertEqual(sorted(w.split(": ")[1].split(" ")[0] for w in wheres),
                         ["burn_cpu", "wait_for_disk"])
        folds = tool("stacks", "--weight=idle", trace.path).splitlines()
        folds.sort(key=lambda line: -int(line.rsplit(" ", 1)[1]))
        for fold in folds[:2]:
            self.assertRegex(fold, r";main [^;]*;train [^;]*;load_batch [^;]*;")

    def test_hooks_only(self):
        self.check_native("--sample-cpu=200", "--mode=hooks")

    def test_two_forms(self):
        _, _, path = self.run_traced([PROGRAM, *LONG_STEPS], "--quiet", "--sample-cpu=200",
                                     "--format=perfetto")
        there, back = (os.path.join(self.folder, name) for name in ("t.pt.trace.json", "b.pftrace"))
        tool("convert", path, there)
        trace = trace_file.Trace(there)
        self.assertGreater(self.places(trace)["burn_cpu", "running"], 10)
        tool("verify", there)
        tool("convert", there, back)
        again = os.path.join(self.folder, "again.pt.trace.json")
        tool("convert", back, again)
        self.assertEqual(self.places(trace), self.places(trace_file.Trace(again)))

    def test_rows(self):
        _, trace = self.sample([PROGRAM, *LONG_STEPS])
        names = {e["tid"]: e["args"]["name"] for e in trace.events if e["name"] == "thread_name"}
        rows = {e["tid"] for e in trace.events if e.get("cat") == "cpu_sample"}
        self.assertEqual(len(rows), 1)
        for row in rows:
            self.assertEqual(names[row], "thread %d samples" % (row - ROWS))

    # ---- nothing unless requested ----

    def test_off(self):
        for options in ((), ("--sample-cpu=200", "--stacks=off")):
            with self.subTest(options=options):
                _, _, path = self.run_traced([PROGRAM, "5", "10000", "10000"], "--quiet", *options)
                trace = trace_file.Trace(path)
                self.assertFalse(self.places(trace))
                self.assertEqual(trace.ledger["samples_received"], 0)
                self.assertEqual(trace.ledger["samples_skipped"], 0)
                os.unlink(path)

    # ---- what the program notices ----

    def check_waiting_only(self, word):
        stdout, trace = self.sample([PROGRAM, *LONG_STEPS, word])
        states = {state for _, state in self.places(trace)}
        self.assertEqual(states, {"waiting"}, stdout)
        self.assertGreater(trace.ledger["samples_skipped"], 0)
        self.assertEqual(stdout, "eintr 0\nurgent 0\n")
        return trace

    def test_own_handler(self):
        trace = self.check_waiting_only("own")
        notes = [e for e in trace.events if e.get("args", {}).get("cause") == "signal in use"]
        self.assertEqual(len(notes), 1)

    def test_own_handler_later(self):
        stdout, trace = self.sample([PROGRAM, *LONG_STEPS, "late"])
        # one may be in progress at that moment
        self.assertLessEqual(int(stdout.split()[-1]), 1, stdout)
        self.assertTrue([e for e in trace.events
                         if e.get("args", {}).get("cause") == "signal in use"])

    def test_own_handler_is_told(self):
        _, stderr, _ = self.run_traced([PROGRAM, *LONG_STEPS, "own"], "--sample-cpu=200")
        self.assertIn("the program uses SIGURG", stderr)

    def test_blocked_signal(self):
        self.check_waiting_only("mask")

    def test_small_stack(self):
        _, trace = self.sample([PROGRAM, *LONG_STEPS, "small"])
        self.assertNotIn(("burn_cpu", "running"), self.places(trace))
        self.assertGreater(self.places(trace)["wait_for_disk", "waiting"], 10)

    def test_coroutine(self):
        _, trace = self.sample([PROGRAM, *LONG_STEPS, "coroutine"])
        self.assertGreater(self.places(trace)["wait_for_disk", "waiting"], 10)


if __name__ == "__main__":
    unittest.main()
