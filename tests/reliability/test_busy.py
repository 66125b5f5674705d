#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUPTI keeps a buffer while it has a slot for a running operation, and on a busy GPU there always is one: records
arrive all the same, the tracer does not conclude that another tool took CUPTI, and the content of that buffer is
recovered after a kill."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

BUSY = [harness.program("busy")]
LONG_NS = 3000000000
FIRST = 20  # kernels that were waited for when the program says so


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def kernels_of(trace):
    return [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]


class Busy(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-busy-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = os.path.join(self.folder, "out")

    def test_records_come_while_work_is_under_way(self):
        enough = [lambda: harness.gate.count(self.out, '"cat": "kernel"') >= 500]
        result = harness.run(BUSY, folder=self.out, gates=enough, options=("GPUTRACE_FLUSH_PERIOD=50",))
        self.assertEqual((result.status, result.said), (3, []))
        path, = harness.traces(self.out)
        self.assertEqual(harness.tool("repair", path)[0], 0)
        trace = load(path)
        self.assertGreaterEqual(len(kernels_of(trace)), 500)
        self.assertNotIn("capture gap", [event["name"] for event in trace["traceEvents"]])

    def test_calls_are_taken_while_a_flush_lasts(self):
        """A ring of 128 KiB holds the calls of about half a second."""
        options = ("GPUTRACE_RING_SIZE=128K", "GPUTRACE_FLUSH_PERIOD=50")
        result = harness.run([harness.program("workload"), "slow", "4000"], folder=self.out, options=options,
                             fault=f"slow_flush={LONG_NS}")
        self.assertEqual((result.status, result.said), (3, []))
        path, = harness.traces(self.out)
        self.assertEqual(harness.tool("verify", path)[0], 0)
        ledger = load(path)["ledger"]
        self.assertEqual((ledger["calls_lost_ring_full"], ledger["launches_without_record"]), (0, 0))
        self.assertGreaterEqual(ledger["flush_longest_ns"], LONG_NS)
        self.assertTrue(0 < ledger["ring_peak_percent"] < 100, ledger["ring_peak_percent"])

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
    def test_killed_with_a_buffer_that_cupti_keeps(self):
        spools = tempfile.mkdtemp(prefix="gt-busy-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, spools, ignore_errors=True)
        words = harness.command(BUSY, folder=self.out, options=("GPUTRACE_SPOOL=" + spools,))
        environment = harness.environment(GATE=os.path.join(self.folder, "gate"), GPUTRACE_SPOOL=spools)
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL) as process:
            self.assertEqual(process.stdout.readline(), b"first\n")
            self.assertTrue(harness.gate.wait_for(lambda: harness.gate.count(self.out, "cuLaunchKernel") > 0))
            process.kill()
        os.environ["GPUTRACE_SPOOL"] = spools  # for repair
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL")
        status, output = harness.tool("repair", self.out)
        self.assertEqual(status, 0, output)
        told = re.search(r"(\d+) events kept.*; now (\d+) events", output, re.DOTALL)
        trace = load(harness.traces(self.out)[0])
        self.assertEqual(int(told[2]), len(trace["traceEvents"]), output)
        self.assertIn(f"ok, {told[2]} events", harness.tool("verify", self.out)[1])
        self.assertEqual(int(told[1]), trace["repaired"]["events"])
        self.assertTrue(0 < int(told[1]) < int(told[2]))
        self.assertGreaterEqual(len(kernels_of(trace)), FIRST)
        self.assertEqual(glob.glob(spools + "/*"), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
