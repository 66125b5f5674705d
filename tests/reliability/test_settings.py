#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUPTI's settings: what the tracer asks for from which CUPTI, and that the trace is complete with it."""

import os
import sys
import tempfile
import unittest

import harness

DEVICE_BYTES, DEVICE_BUFFERS, ZEROED_OUT, DEVICE_READY, PER_THREAD = 0, 2, 5, 6, 9  # CUpti_ActivityAttribute
NO_TIMES = "CUPTI no longer gives times of GPU work"
USED_UP = "CUPTI's buffers on the GPU may be used up: raise --gpu-memory"
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

    def test_memory_on_the_gpu(self):
        """CUPTI's own limit by default; a lower one is used up by graphs, and the program's user learns that while it
        runs."""
        words = [harness.program("workload"), "graph", "1000"]
        trace, truth = self.trace(words, "130000", fault="pool")
        self.assertEqual(set(truth.attributes) & {DEVICE_BYTES, DEVICE_BUFFERS}, set())
        self.assertEqual((trace.ledger["kernels_untimed"], len(trace.gpu)), (0, 100000))
        trace, truth = self.trace(words, "130000", ("GPUTRACE_GPU_MEMORY=1M", "GPUTRACE_FLUSH_PERIOD=10"), "pool")
        self.assertEqual(truth.attributes[DEVICE_BYTES] * truth.attributes[DEVICE_BUFFERS], 1 << 20)
        self.assertEqual(trace.ledger["kernels_untimed"], 100000 - (1 << 20) // 32)
        self.assertEqual(self.said, [f"gputrace: {NO_TIMES}: {USED_UP}"])
        note, = [e["args"] for e in trace.events if e["name"] == "LOST"]
        self.assertEqual((note["what"], note["cause"]), (NO_TIMES, USED_UP))

    def test_latency(self):
        """Against a deadlock of CUPTI until 13.4 Update 1, buffers on the GPU are allocated ahead."""
        for options, ready in ((), 32), (("GPUTRACE_GPU_MEMORY=1M",), 4):
            _, truth = self.trace([harness.program("workload"), "slow", "1"], "130000",
                                  ("GPUTRACE_LATENCY=1", *options))
            self.assertEqual(truth.attributes[DEVICE_READY], ready)
            self.assertEqual(len(self.said), 1)
            self.assertIn("with --latency this CUPTI may deadlock", self.said[0])

    def test_few_without_times(self):
        """Nothing is said of single records without times."""
        trace, _ = self.trace([harness.program("workload"), "graph", "20"], "130000", fault="zero_ts=7")
        self.assertGreater(trace.ledger["kernels_untimed"], 200)
        self.assertEqual(self.said, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
