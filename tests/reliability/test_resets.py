#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts that are created and destroyed: all work that the program waited for is in the trace, whether CUPTI loses
undelivered records of a context with it or delivers them later, as 13.0 does."""

import os
import sys
import tempfile
import unittest

import harness

RESETS = harness.program("resets")
TIMES = 4
LONG = 120000000  # ns; longer than a call that ends a context is held up
SHORT = 20000000
LOSES = "lost_with_context"
WAITED = 6 * 3  # operations of each context


class Resets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def check(self, way, cupti, late, options=(), names=("tick", None), fault=LOSES, missing=False):
        """@names: of the operations that must be there, unless with @missing there may be none. Returns how many others are missing."""
        words = [RESETS, way, str(TIMES)]
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"late ns={late}\n")
        environment = harness.environment(SIMCUDA_SCRIPT=script)
        out = tempfile.mkdtemp(dir=self.folder)
        traced = harness.run(words, env=environment, cupti=cupti, folder=os.path.join(out, "out"), truth=out,
                             options=options, fault=fault)
        bare = harness.run(words, env=environment, cupti=cupti)
        self.assertEqual(bare.status, 3, bare)
        self.assertEqual(traced[:3], bare[:3])
        self.assertEqual(traced.said, [])
        path, = harness.traces(os.path.join(out, "out"))
        trace = harness.trace_file.Trace(path)
        truth = harness.Truth(out)
        self.faults = truth.faults
        self.ledger, self.events = trace.ledger, trace.events
        lost = self.check_trace(trace, truth, names, missing)
        if not options:
            self.assertEqual(trace.ledger["launches_without_record"] + trace.ledger["records_unfinished"], lost)
            self.assertEqual(trace.ledger["kernels_untimed"], trace.ledger["records_unfinished"])
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        return lost

    def check_trace(self, trace, truth, names, missing):
        """Each operation that was waited for is there once, the others at most once."""
        waited = [(op["correlation"], op["kind"]) for op in truth.operations if op.get("name") in names]
        self.assertEqual(len(waited), TIMES * (WAITED if "tick" in names else 1))
        found = [(e["args"]["correlation"], harness.trace_file.GPU[e["cat"]]) for e in trace.gpu]
        self.assertEqual(len(found), len(set(found)))
        if not missing:
            self.assertEqual(sorted(set(waited) - set(found)), [])
        return len(truth.operations) - len(found)

    def test_while_a_flush_lasts(self):
        """One flush at a time: the program's thread waits for that of the tracer's."""
        self.check("destroy", "130000", SHORT, ("GPUTRACE_FLUSH_PERIOD=10",), fault=LOSES + ",slow_flush=300000000")
        self.assertEqual(self.faults["two_flushes"], 0)

    def test_a_flush_that_never_ends(self):
        """It holds up neither the program nor its end; the trace says why records are missing."""
        for way in ("device", "primary", "release", "destroy"):
            with self.subTest(way=way):
                lost = self.check(way, "130000", SHORT, fault=LOSES + ",flush=hang", missing=True,
                                  options=("GPUTRACE_EXIT_TIMEOUT=1000",))
                self.assertGreater(lost, 0)
                self.assertEqual(self.ledger["launches_without_record"], lost)
                notes = [event["args"] for event in self.events if event["name"] == "LOST"]
                self.assertIn("calls that went on without it", {key for args in notes for key in args})

    def test_every_way(self):
        for way, cupti in (("device", "130000"), ("primary", "22"), ("release", "26"), ("destroy", "18")):
            with self.subTest(way=way, cupti=cupti):
                self.assertGreater(self.check(way, cupti, LONG), 0)

    def test_records_that_stay(self):
        """Nothing is there twice, and what the program did not wait for has no more than it had before."""
        for way, cupti in (("device", "130000"), ("primary", "22"), ("release", "26"), ("destroy", "18")):
            with self.subTest(way=way, cupti=cupti):
                self.check(way, cupti, LONG, fault="")
                self.assertEqual(self.check(way, cupti, SHORT, fault=""), 0)
                self.assertEqual(self.faults["context_gone"], 0)

    def test_work_that_ends_soon(self):
        self.assertEqual(self.check("device", "130000", SHORT), 0)

    def test_others_remain(self):
        """Work in progress elsewhere is not forced out of CUPTI: its records come when it has ended."""
        for way, cupti in (("other", "130000"), ("other", "18"), ("reference", "130000"), ("reference", "18")):
            with self.subTest(way=way, cupti=cupti):
                self.assertEqual(self.check(way, cupti, SHORT), 0)

    def test_long_work_of_others(self):
        """It is not forced out after the wait either, though the destroyed context loses what is behind it."""
        self.check("other", "18", LONG, names=("late",))

    def test_without_calls(self):
        """The tracer sees the calls that end a context although it records no calls."""
        self.check("device", "130000", SHORT, options=("GPUTRACE_API=none",))


if __name__ == "__main__":
    sys.exit(unittest.main())
