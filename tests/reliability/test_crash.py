#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--on-crash: what was recorded is in the file, and the program ends, or continues, as without it."""

import json
import os
import sys
import tempfile
import unittest

import harness

# too long for a regular write
OPTIONS = ("GPUTRACE_ON_CRASH=1", "GPUTRACE_FLUSH_PERIOD=60000")
CALLS = 300


class Crash(unittest.TestCase):
    def run_both(self, how, handler, folder, options=OPTIONS):
        words = [harness.program("crash"), how, handler]
        bare = harness.run(words)
        result = harness.run(words, folder=folder, options=options)
        self.assertEqual(result[:3], bare[:3])
        return bare.status

    def check(self, how, handler):
        with self.subTest(how=how, handler=handler), tempfile.TemporaryDirectory() as folder:
            status = self.run_both(how, handler, folder)
            path, = harness.traces(folder)
            events = harness.strict_lines(path)
            launches = [e for e in events if e["ph"] == "X" and e["name"] in
                        ("cuLaunchKernel", "cudaMemsetAsync", "cudaMemcpyAsync")]
            crashes = [e for e in events if e["ph"] == "i" and e["name"] == "crash"]
            self.assertEqual(len(launches), CALLS)
            self.assertGreater(len(crashes), 0)
            self.check_place(crashes[0], how)
            self.assertEqual({e["args"]["stack"] for e in crashes}, {crashes[0]["args"]["stack"]})
            status_of_repair, output = harness.tool("repair", path)
            self.assertEqual(status_of_repair, 0, output)
            self.assertEqual(harness.lint(path), "")
            status_of_verify, output = harness.tool("verify", path)
            self.assertEqual(status_of_verify, 0, output)
            with open(path, encoding="utf-8") as file:
                root = json.load(file)
            return status, crashes, root

    def check_place(self, event, how):
        """The stack shows where the program crashed, without our own handler."""
        frames = [frame.split(" (")[0].replace(".cold", "") for frame in event["args"]["frames"]]
        if how in ("over", "thread"):
            self.assertEqual(set(frames[:50]), {"run_over"})
        elif how in ("all", "ticked"):
            self.assertEqual(frames[0], "touch")
        else:
            self.assertIn("break_here", frames)
            self.assertIn("main", frames)
        if how in ("segv", "bus"):
            self.assertEqual(frames[:2], ["touch", "break_here"])
        if how == "null":
            self.assertEqual(frames[0], "break_here")

    def test_default_action(self):
        """The process ends by the same signal; its file is closed, ledger and all."""
        for how, number in (("segv", -11), ("abort", -6), ("fpe", -8), ("ill", -4), ("bus", -7),
                            ("sent", -11), ("all", -11), ("ticked", -11), ("null", -11), ("over", -11),
                            ("thread", -11)):
            status, crashes, root = self.check(how, "none")
            self.assertEqual(status, number)
            self.assertEqual(len(crashes), 1)
            self.assertIn("ledger", root)
            self.assertNotIn("repaired", root)

    def test_finished_work_is_there(self):
        """Including what CUPTI had not delivered: the crashed thread was not in a call."""
        _, _, root = self.check("synced", "none")
        self.assertEqual(sum(event.get("cat") in harness.trace_file.GPU
                             for event in root["traceEvents"]), CALLS)

    def test_calls_while_it_is_written(self):
        """Of another thread: they return, and are none that were open at the end."""
        with tempfile.TemporaryDirectory() as folder:
            for options in (OPTIONS, OPTIONS + ("GPUTRACE_FLIGHT_RECORDER=60s",)):
                result = harness.run([harness.program("crash"), "busy", "none"], folder=folder, options=options)
                self.assertEqual(result.status, -11)
            for path in harness.traces(folder):
                ledger = harness.trace_file.Trace(path).ledger
                self.assertLessEqual(ledger["calls_open_at_end"], 1)  # if it crashed while one was under way
                self.assertGreater(ledger["calls_written"], CALLS)

    def test_inside_a_call(self):
        """CUPTI, whose locks may be held, is neither called nor waited for."""
        for fault in ("die:segv=50", "die:abort=50"):
            with self.subTest(fault=fault), tempfile.TemporaryDirectory() as folder:
                words = [harness.program("crash"), "segv", "none"]
                bare = harness.run(words, fault=fault)
                result = harness.run(words, folder=folder, fault=fault,
                                     options=OPTIONS + ("GPUTRACE_EXIT_TIMEOUT=600000",))
                self.assertEqual(result[:3], bare[:3])
                path, = harness.traces(folder)
                self.assertEqual(sum(event["name"] == "crash"
                                     for event in harness.strict_lines(path)), 1)

    def test_handler_of_the_program(self):
        """It is called as without the tracer; set before the first use of CUDA."""
        for how in ("segv", "abort", "fpe", "ill", "sent"):
            status, crashes, _ = self.check(how, "exit")
            self.assertEqual(status, 7)
            self.assertEqual(len(crashes), 1)

    def test_stack_that_ran_over(self):
        """A handler of the program can only run on its own signal stack."""
        for how in ("over", "thread"):
            status, crashes, root = self.check(how, "onstack")
            self.assertEqual((status, len(crashes)), (-11, 1))
            self.assertIn("ledger", root)
            with tempfile.TemporaryDirectory() as folder:
                self.assertEqual(self.run_both(how, "exit", folder), -11)
        status, crashes, _ = self.check("over", "own")
        self.assertEqual((status, len(crashes)), (7, 1))

    def test_handler_that_goes_on(self):
        status, crashes, _ = self.check("segv", "jump")
        self.assertEqual(status, 3)
        self.assertEqual(len(crashes), 5)

    def test_handler_that_goes_on_for_ever(self):
        """Like a runtime that turns faults into exceptions: it does not wait for each to be written."""
        status, crashes, _ = self.check("often", "jump")
        self.assertEqual(status, 3)
        self.assertEqual(len(crashes), 16)
        self.assertEqual([i for i, e in enumerate(crashes) if "left out" in e["args"]["what"]], [15])

    def test_ignored(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_both("sent", "ignore", folder), 3)

    def test_off(self):
        for how in ("segv", "abort"):
            with self.subTest(how=how), tempfile.TemporaryDirectory() as folder:
                self.run_both(how, "none", folder, ("GPUTRACE_FLUSH_PERIOD=60000",))
                for path in harness.traces(folder):
                    names = {e["name"] for e in harness.strict_lines(path)}
                    self.assertNotIn("crash", names)

    @unittest.skipUnless(os.path.ismount("/dev/shm"), "no /dev/shm")
    def test_with_a_spool(self):
        """The file was closed: nothing is left to recover."""
        with tempfile.TemporaryDirectory(dir="/dev/shm") as spools, \
                tempfile.TemporaryDirectory() as folder:
            self.run_both("segv", "none", folder, OPTIONS + ("GPUTRACE_SPOOL=" + spools,))
            self.assertEqual(os.listdir(spools), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
