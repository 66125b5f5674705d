#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process ends while its other threads launch: what was called before is in the file, with its GPU work; what is
called later is counted, and nothing waits for it."""

import os
import re
import sys
import tempfile
import unittest

import harness

LEAVING = harness.program("leaving")

WAYS = ("return", "exit", "_exit", "quick_exit", "thread", "handler")
LIGHT, HEAVY = ("1", "1000"), ("4", "100")  # threads, and microseconds between two rounds of each
# not these two, in which there is work of later calls only: one that CUPTI keeps, or returned too late to be read
OF_LATER_CALLS = ("buffers_not_returned", "buffers_unread")
LOST = ("calls_lost_ring_full", "calls_lost_no_thread", "records_dropped_by_cupti", "buffers_discarded",
        "events_lost_disk", "events_lost_memory")
SAID = re.compile(r"leaving at (\d+) after (\d+) rounds")


class Leaving(unittest.TestCase):
    def leave(self, way, load, cupti):
        """The ledger, the number of rounds before the end, and how often each slice is in the file."""
        with tempfile.TemporaryDirectory() as folder:
            bare = harness.run([LEAVING, way, *load], cupti=cupti)
            traced = harness.run([LEAVING, way, *load], cupti=cupti, folder=folder)
            self.assertEqual(traced.status, bare.status, traced)
            self.assertEqual(SAID.sub("", traced.stdout), SAID.sub("", bare.stdout))
            self.assertEqual((traced.stderr, len(traced.said)), (bare.stderr, cupti == "none"))
            path, = harness.traces(folder)
            self.assertEqual(harness.tool("verify", path)[0], 0)
            trace = harness.trace_file.Trace(path)
        return trace, int(SAID.search(traced.stdout)[2])

    def check_calls(self, trace, rounds, hooked):
        calls = harness.collections.Counter(event["name"] for event in trace.calls)
        for name in harness.LAUNCHES:
            if hooked or name.startswith("cuda"):
                self.assertGreaterEqual(calls[name], rounds, name)
        ledger = trace.ledger
        # of each thread the call that it is in
        self.assertLessEqual(ledger["calls_open_at_end"], 2 * 5, ledger)
        self.assertEqual({key: ledger[key] for key in LOST if ledger[key]}, {})
        if any(ledger[key] for key in OF_LATER_CALLS):
            self.assertEqual(ledger["launches_without_record"], 0, ledger)

    def check_work(self, trace, rounds):
        launched = {event["args"]["correlation"] for event in trace.calls}
        kinds = harness.collections.Counter(event["cat"] for event in trace.gpu
                                            if event["args"]["correlation"] in launched)
        for kind in ("kernel", "gpu_memcpy", "gpu_memset"):
            self.assertGreaterEqual(kinds[kind], rounds, kind)

    def check(self, way, load, cupti):
        trace, rounds = self.leave(way, load, cupti)
        self.check_calls(trace, rounds, cupti != "none")
        if cupti != "none":
            self.check_work(trace, rounds)
        return trace.ledger["calls_after_exit"]

    def test_one_thread_that_launches_now_and_then(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.check(way, LIGHT, "130000")

    def test_threads_that_launch_without_end(self):
        late = 0
        for way in WAYS:
            with self.subTest(way=way):
                late += self.check(way, HEAVY, "130000")
        self.assertGreater(late, 0)

    def test_a_flush_that_hangs(self):
        """At exit the program's thread writes what was delivered; where it may only wait, as it may hold any lock, one
        line says what becomes of the file."""
        for way in ("exit", "_exit", "quick_exit", "handler"):
            with self.subTest(way=way), tempfile.TemporaryDirectory() as folder:
                result = harness.run([LEAVING, way, "1", "2000"], folder=folder, fault="flush=hang",
                                     options=("GPUTRACE_EXIT_TIMEOUT=300",))
                path, = harness.traces(folder)
                trace = harness.trace_file.Trace(path) if harness.tool("verify", path)[0] == 0 else None
                if trace:
                    self.assertEqual(result.said, [])
                    calls = harness.collections.Counter(event["name"] for event in trace.calls)
                    for name in harness.LAUNCHES:
                        self.assertGreaterEqual(calls[name], int(SAID.search(result.stdout)[2]), name)
                else:
                    self.assertNotEqual(way, "exit")
                    self.assertEqual(result.said, [f"gputrace: {path} was not finished 300 ms after the end (raise "
                                                   "--exit-timeout): gputrace repair closes it"])

    def test_other_sources(self):
        """A CUPTI whose kinds can be disabled while they are in use, an old one, none."""
        for cupti in ("26", "18", "none"):
            for load in (LIGHT, HEAVY):
                with self.subTest(cupti=cupti, load=load):
                    self.check("exit", load, cupti)


if __name__ == "__main__":
    sys.exit(unittest.main())
