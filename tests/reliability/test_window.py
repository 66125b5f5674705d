#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--delay, --start-at, --duration: what was launched inside the window is in the trace, all of it and
nothing else; the ledger says how many calls passed before; the program does not notice."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import harness

PROGRAM = harness.program("coexist_linked")
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
MS = 1000000


def closed(folder):
    """Whether there is a trace, closed by its ledger, while the program may go on."""
    return harness.gate.count(folder, '"ledger": {') > 0


class Window(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")

    def go(self, steps, *options, gates=(), fault="", cupti="130000"):
        words = [PROGRAM] + steps.split()
        traced = harness.run(words, truth=self.folder, folder=self.out, options=options, gates=gates, fault=fault,
                             cupti=cupti)
        bare = harness.run(words, gates=[lambda: True] * len(gates), cupti=cupti)
        self.assertEqual(traced[:3], bare[:3])
        self.assertEqual(traced.status, 3)
        self.said = traced.said
        self.truth = harness.Truth(self.folder)

    def read(self):
        self.path, = harness.traces(self.out)
        self.assertEqual(harness.lint(self.path), "")
        status, output = harness.tool("verify", "--strict", self.path)
        self.assertEqual(status, 0, output)
        trace = harness.trace_file.Trace(self.path)
        ledger = trace.ledger
        self.assertEqual(ledger["launches_without_record"] + ledger["gpu_ops_without_call"], 0)
        return trace

    def check_work(self, trace, last=True):
        """One piece of what the device did, without a hole; with @last up to the end."""
        started = {call["correlation"]: call["start"] for call in self.truth.calls}
        did = [op["correlation"] for op in sorted(self.truth.operations, key=lambda op: started[op["correlation"]])]
        told = [event["args"]["correlation"] for event in trace.events if event.get("cat") in GPU]
        self.assertEqual(len(told), len(set(told)))
        self.assertGreater(len(told), 20)
        first = min(did.index(correlation) for correlation in told)
        piece = did[first:first + len(told)]
        self.assertEqual(sorted(told), sorted(piece))
        if last:
            self.assertEqual(first + len(told), len(did))
        return first

    def test_delay(self):
        self.go("work=1500", "GPUTRACE_DELAY=700ms")
        trace = self.read()
        self.assertGreater(self.check_work(trace), 20)
        self.assertGreater(trace.ledger["calls_passed"], 60)
        begin = int(trace.root["metadata"]["window"].split()[1])
        self.assertGreater(begin, 300)
        self.assertRegex(trace.root["metadata"]["window"], r"^from \d+ ms on$")
        self.assertEqual(self.said, [])

    def test_delay_on_a_cupti_that_hangs(self):
        """Kernels cannot be disabled on 13.0.0: before the window they have no buffer."""
        self.go("work=900", "GPUTRACE_DELAY=300ms", fault="first_release")
        self.assertGreater(self.check_work(self.read()), 20)
        self.assertEqual(self.said, [])

    def test_delay_in_every_mode(self):
        for cupti, options in (("130000", ("GPUTRACE_MODE=hooks",)), ("18", ()),
                               ("130000", ("GPUTRACE_FORMAT=perfetto",))):
            with self.subTest(cupti=cupti, options=options):
                self.setUp()
                self.go("work=900", "GPUTRACE_DELAY=300ms", *options, cupti=cupti)
                self.path, = harness.traces(self.out) or glob.glob(self.out + "/*.pftrace")
                status, output = harness.tool("verify", self.path)
                self.assertEqual(status, 0, output)

    def test_duration(self):
        """The file is closed while the program goes on, which has work until then and some more."""
        self.go("work=300 work-until work=300", "GPUTRACE_DURATION=500ms", gates=[lambda: closed(self.out)])
        trace = self.read()
        self.assertEqual(self.check_work(trace, last=False), 0)
        self.assertLess(len(trace.gpu), len(self.truth.operations) - 20)
        self.assertRegex(trace.root["metadata"]["window"], r"^from 0 ms to \d+ ms$")

    def test_the_program_ends_with_the_window(self):
        """A moment before, or while the file is being closed."""
        for ms in range(290, 420, 30):
            with self.subTest(ms=ms):
                self.setUp()
                self.go("work=300", f"GPUTRACE_DURATION={ms}ms")
                self.check_work(self.read(), last=False)
                self.assertEqual(self.said, [])

    def test_both(self):
        self.go("work=300 work-until work=300", "GPUTRACE_DELAY=400ms", "GPUTRACE_DURATION=500ms",
                gates=[lambda: closed(self.out)])
        trace = self.read()
        self.assertGreater(self.check_work(trace, last=False), 0)
        begin, end = (int(part.split()[0]) for part in
                      trace.root["metadata"]["window"].replace("from ", "").split(" to "))
        self.assertGreaterEqual(end - begin, 500)

    def test_enabling_takes_long(self):
        """What is launched meanwhile is before the window."""
        self.go("work=300 work-until", "GPUTRACE_DELAY=200ms", fault="slow_enable=300000000",
                gates=[lambda: harness.gate.count(self.out, '"cat": "kernel"') > 20])
        self.check_work(self.read())

    def test_start_at(self):
        """All processes begin at one moment of the wall clock."""
        moment = time.time() + 1
        self.go("work=2000", f"GPUTRACE_START_AT=@{moment:.3f}")
        trace = self.read()
        self.check_work(trace)
        base = int(trace.root["baseTimeNanoseconds"])
        first = min(int(event["ts"] * 1000) + base for event in trace.events if event.get("cat") == "cuda_runtime")
        self.assertGreater(first, int(moment * 1e9) - 50 * MS)

    def test_a_moment_that_has_passed(self):
        self.go("work=300", "GPUTRACE_START_AT=@1000000000")
        self.assertEqual(len(self.check_all()), 1)
        self.assertIn("has passed", self.said[0])

    def test_no_moment(self):
        self.go("work=300", "GPUTRACE_START_AT=noon")
        self.assertEqual(len(self.check_all()), 1)
        self.assertIn("'noon' is no value for GPUTRACE_START_AT", self.said[0])

    def check_all(self):
        self.assertEqual(self.check_work(self.read()), 0)
        return self.said

    @unittest.skipIf(harness.preloading.RUNTIMES, "gputrace run does not put a sanitizer first")
    def test_an_end_before_the_window(self):
        """No trace, and gputrace run says why."""
        words = [os.path.join(harness.SOURCE, "scripts", "simcuda"), os.path.join(harness.SOURCE, "scripts", "gputrace"),
                 "run", "--output=" + self.out, "--delay=1h", PROGRAM, "work=200"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False,
                              env=harness.environment())
        self.assertEqual(done.returncode, 3)
        self.assertIn("ended before --delay or --start-at had passed", done.stderr)

    def test_wrong_times(self):
        """One line, and nothing runs."""
        for option, reason in (("--delay=soon", "it takes a time"), ("--duration=40d", "in 0..30d"),
                               ("--start-at=noon", "it takes @2026"), ("--start-at=@", "it takes @2026"),
                               ("--start-at=@25:00", "no such day or time"),
                               ("--start-at=@2027-02-29T10:00Z", "no such day or time"),
                               ("--start-at=@2000-01-01T00:00Z", "passed")):
            with self.subTest(option=option):
                done = subprocess.run([os.path.join(harness.SOURCE, "scripts", "gputrace"), "run", option, "echo", "ran"],
                                      capture_output=True, text=True, timeout=60, check=False,
                                      env=harness.environment())
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(reason, done.stderr)

    def test_nothing_in_it(self):
        """A valid trace that says so."""
        self.go("work=100 rest-until work=50", "GPUTRACE_DELAY=600ms", "GPUTRACE_DURATION=200ms",
                gates=[lambda: closed(self.out)])
        self.assertEqual(self.read().gpu, [])

    @unittest.skipIf(harness.preloading.RUNTIMES, "gputrace run does not put a sanitizer first")
    @unittest.skipUnless(harness.has_shm(), "no /dev/shm")
    def test_killed_in_it(self):
        """What came before is not lost, and not made up by repair either."""
        folder = os.path.join(self.folder, "o")
        words = [os.path.join(harness.SOURCE, "scripts", "simcuda"), os.path.join(harness.SOURCE, "scripts", "gputrace"),
                 "run", "--output=" + folder, "--delay=300ms", "--quiet", "timeout", "-s", "KILL", "1.2", PROGRAM,
                 "work=60000"]
        subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, env=harness.environment())
        path, = harness.traces(folder)
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        with open(path, encoding="utf-8") as file:
            ledger = json.load(file)["ledger"]
        self.assertGreater(ledger["calls_passed"], 60)
        self.assertGreater(ledger["kernels_written"], 20)
        self.assertEqual(ledger["gpu_ops_without_call"], 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
