#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUPTI's settings: what the tracer asks for from which CUPTI, and that the trace is complete with it."""

import os
import sys
import tempfile
import unittest

import harness

ZEROED_OUT, PER_THREAD = 5, 9  # CUpti_ActivityAttribute
THREADS = 100
SMALL = ("GPUTRACE_MAX_MEMORY=16M", "GPUTRACE_RING_SIZE=16K")  # 8 MiB for activity buffers


class Settings(unittest.TestCase):
    def trace(self, words, cupti, options=(), fault=""):
        """The trace and the truth file."""
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            traced = harness.run(words, folder=out, truth=folder, cupti=cupti, options=options, fault=fault)
            self.assertEqual(traced[:3], harness.run(words, cupti=cupti)[:3])
            path, = harness.traces(out)
            self.said = traced.said
            status, self.verified = harness.tool("verify", path)
            self.assertEqual(status, 0, self.verified)
            return harness.trace_file.Trace(path), harness.Truth(folder)

    def test_buffers_of_threads(self):
        """One for each where CUPTI can, which has it by itself from 13.0 on. Many are lent at a time, and all fit into
        the memory."""
        words = [harness.program("workload"), "threads", str(THREADS)]
        for cupti, per_thread in (("18", None), ("22", 1), ("26", 1), ("130000", None)):
            with self.subTest(cupti=cupti):
                trace, truth = self.trace(words, cupti, SMALL)
                self.assertEqual(truth.attributes.get(PER_THREAD), per_thread)
                self.assertEqual(truth.attributes[ZEROED_OUT], 1)
                self.assertEqual(self.said, [])
                self.assertEqual(len(trace.gpu), len(truth.operations))
                for key in ("buffers_discarded", "records_dropped_by_cupti", "launches_without_record",
                            "buffers_not_returned", "gpu_ops_without_call"):
                    self.assertEqual(trace.ledger[key], 0, key)
                if cupti != "18":
                    self.assertGreaterEqual(trace.ledger["buffers_completed"], THREADS)


if __name__ == "__main__":
    sys.exit(unittest.main())
