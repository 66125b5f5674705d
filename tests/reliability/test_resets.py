#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts that are created and destroyed: undelivered records of a context are lost with it, but all work that the
program waited for is in the trace."""

import os
import sys
import tempfile
import unittest

import harness

RESETS = harness.program("resets")
TIMES = 25
WAITED = 6 * 3  # operations of each context


class Resets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.script = os.path.join(self.folder, "script")
        with open(self.script, "w", encoding="ascii") as file:
            file.write("late ns=20000000\n")

    def check(self, way, cupti, options=()):
        words = [RESETS, way, str(TIMES)]
        environment = harness.environment(SIMCUDA_SCRIPT=self.script)
        out = tempfile.mkdtemp(dir=self.folder)
        traced = harness.run(words, env=environment, cupti=cupti, folder=os.path.join(out, "out"), truth=out,
                             options=options)
        bare = harness.run(words, env=environment, cupti=cupti)
        self.assertEqual(bare.status, 3, bare)
        self.assertEqual(traced[:3], bare[:3])
        self.assertEqual(traced.said, [])
        path, = harness.traces(os.path.join(out, "out"))
        lost = self.check_trace(harness.trace_file.Trace(path), harness.Truth(out))
        if not options:
            self.assertEqual(harness.trace_file.Trace(path).ledger["launches_without_record"], lost)
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)

    def check_trace(self, trace, truth):
        """Each operation that was waited for is there once, the others at most once. Returns how many are missing."""
        waited = [(op["correlation"], op["kind"]) for op in truth.operations if op.get("name") != "late"]
        self.assertEqual(len(waited), TIMES * WAITED)
        found = [(e["args"]["correlation"], harness.trace_file.GPU[e["cat"]]) for e in trace.gpu]
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(sorted(set(waited) - set(found)), [])
        return len(truth.operations) - len(found)

    def test_every_way(self):
        for way in ("device", "primary", "release", "destroy"):
            for cupti in ("130000", "18"):
                with self.subTest(way=way, cupti=cupti):
                    self.check(way, cupti)

    def test_without_calls(self):
        """The tracer sees the calls that end a context although it records no calls."""
        self.check("device", "130000", options=("GPUTRACE_API=none",))


if __name__ == "__main__":
    sys.exit(unittest.main())
