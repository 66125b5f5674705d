#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--max-rss: the tracer takes no more than that, the program does not notice, and what found no room
is counted by kind."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import harness

LIMIT = 64 << 20
THREADS = 100
WORK = [harness.program("workload"), "threads", str(THREADS)]


def resident(folder=None, options=()):
    """Status, output, and the most that was resident, in bytes."""
    with subprocess.Popen(harness.command(WORK, folder=folder, options=options),
                          env=harness.environment(), stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, usage.ru_maxrss << 10


class Memory(unittest.TestCase):
    def test_many_threads(self):
        bare = resident()
        with tempfile.TemporaryDirectory() as folder:
            traced = resident(folder, options=(f"GPUTRACE_MAX_RSS={LIMIT}",))
            self.assertEqual(traced[:2], bare[:2])
            self.assertLess(traced[2] - bare[2], LIMIT)
            [path] = harness.traces(folder)
            self.assertEqual(harness.tool("verify", path)[0], 0)
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
        ledger = trace["ledger"]
        self.assertLessEqual(ledger["memory_peak_bytes"], LIMIT)
        self.assertEqual(ledger["kernels_written"], 10 * THREADS)
        self.assertGreater(ledger["calls_lost_no_thread"], 0)
        self.assertGreaterEqual(ledger["calls_written"] + ledger["calls_lost_no_thread"],
                                3 * 10 * THREADS)
        lost = [event["args"]["cause"] for event in trace["traceEvents"] if event["name"] == "LOST"]
        self.assertIn("no thread block", lost)


if __name__ == "__main__":
    sys.exit(unittest.main())
