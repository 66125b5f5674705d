#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--max-rss: the tracer uses no more memory, the program does not notice, and losses are counted by
kind."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import harness

LIMIT = 64 << 20
KERNEL_BYTES = 144  # at least, of CUPTI's record


def work(threads):
    return [harness.program("workload"), "threads", str(threads)]


def resident(words, folder=None, options=()):
    """Status, output, and peak resident memory in bytes."""
    with subprocess.Popen(harness.command(words, folder=folder, options=options),
                          env=harness.environment(), stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, usage.ru_maxrss << 10


class Memory(unittest.TestCase):
    def check(self, threads):
        """(ledger, causes and counts of the notes by kind)"""
        bare = resident(work(threads))
        with tempfile.TemporaryDirectory() as folder:
            traced = resident(work(threads), folder, options=(f"GPUTRACE_MAX_RSS={LIMIT}",))
            self.assertEqual(traced[:2], bare[:2])
            self.assertLess(traced[2] - bare[2], LIMIT)
            [path] = harness.traces(folder)
            self.assertEqual(harness.lint(path), "")
            status, self.said = harness.tool("verify", path)
            self.assertEqual(status, 0, self.said)
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
        ledger = trace["ledger"]
        self.assertLessEqual(ledger["memory_peak_bytes"], LIMIT)
        # on a busy machine all buffers may be waiting to be read: what finds none is counted
        missing = 10 * threads - ledger["kernels_written"]
        self.assertLessEqual(missing * KERNEL_BYTES,
                             ledger["buffers_discarded_bytes"] + KERNEL_BYTES * ledger["records_dropped_by_cupti"],
                             ledger)
        self.assertGreaterEqual(ledger["calls_written"] + ledger["calls_lost_no_thread"],
                                3 * 10 * threads)
        return ledger, [event for event in trace["traceEvents"] if event["ph"] == "i"]

    def test_many_threads(self):
        """Each needs a ring: later ones are smaller, and no call is lost."""
        ledger, notes = self.check(90)
        self.assertEqual(ledger["calls_lost_no_thread"] + ledger["calls_lost_ring_full"], 0)
        self.assertGreater(ledger["rings_thinned"], 0)
        self.assertIn("rings_thinned", self.said)
        told = [event["args"]["rings"] for event in notes if event["name"] == "thinned"]
        self.assertEqual(sum(told), ledger["rings_thinned"])

    def test_too_many_threads(self):
        """Too many even for the smallest rings: losses are counted."""
        ledger, notes = self.check(500)
        self.assertGreater(ledger["calls_lost_no_thread"], 0)
        self.assertGreater(ledger["rings_thinned"], 50)
        lost = [event["args"]["cause"] for event in notes if event["name"] == "LOST"]
        self.assertIn("no thread block", lost)

    def test_no_room_before_the_window(self):
        """Calls of such threads are outside of it, as those of other threads, and not lost."""
        options = ("GPUTRACE_MAX_MEMORY=16M", "GPUTRACE_CAPTURE_RANGE=cudaProfilerApi")
        with tempfile.TemporaryDirectory() as folder:
            result = harness.run([harness.program("workload"), "windowed", "400"], folder=folder, options=options)
            self.assertEqual(result.status, 3, result.said)
            [path] = harness.traces(folder)
            status, said = harness.tool("verify", path)
            self.assertEqual(status, 0, said)
            with open(path, encoding="utf-8") as file:
                ledger = json.load(file)["ledger"]
        self.assertEqual((ledger["calls_lost_no_thread"], ledger["launches_lost"]), (0, 0), ledger)
        self.assertEqual(ledger["launches_passed"], 3 * 10 * 400)
        self.assertEqual(ledger["gpu_ops_without_call"], 0, ledger)
        self.assertEqual(ledger["kernels_written"], 20)

    def test_each_limit(self):
        """The file has its memory, whatever else is taken first: the tables of ranges left too little at 64 MiB."""
        words = [harness.program("ranges"), *"push=step work=1 pop beside=other".split()]
        for mib in range(64, 132, 4):
            with self.subTest(mib=mib), tempfile.TemporaryDirectory() as folder:
                result = harness.run(words, folder=folder, options=(f"GPUTRACE_MAX_RSS={mib}M", "GPUTRACE_SPOOL=on"))
                self.assertEqual((result.status, result.said), (3, []))
                [path] = harness.traces(folder)
                with open(path, encoding="utf-8") as file:
                    ledger = json.load(file)["ledger"]
                self.assertGreater(ledger["kernels_written"], 0)
                self.assertGreater(ledger["ranges_written"], 0)

    def test_address_space(self):
        """With little of it the tracer stays off, and says so: threads of the program failed, or it crashed."""
        for kib, is_traced in ((250000, False), (400000, False), (700000, True)):
            with self.subTest(kib=kib), tempfile.TemporaryDirectory() as folder:
                result = harness.run(work(8), folder=folder, before=["prlimit", f"--as={kib << 10}"])
                self.assertEqual(result[:3], harness.run(work(8))[:3])
                self.assertEqual(len(harness.traces(folder)), is_traced)
                if not is_traced:
                    self.assertIn("too little to trace", "".join(result.said))


if __name__ == "__main__":
    sys.exit(unittest.main())
