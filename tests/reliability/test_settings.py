#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CUPTI's settings: what the tracer asks for from which CUPTI, and that the trace is complete with it."""

import os
import sys
import tempfile
import unittest

import harness

DEVICE_BYTES, DEVICE_BUFFERS, ZEROED_OUT, DEVICE_READY, PER_THREAD, HW_TRACE = 0, 2, 5, 6, 9, 13  # CUpti_ActivityAttribute
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

    def test_first_release_of_13_0(self):
        """Its flush may crash: only the end flushes, in one buffer or several."""
        for options in (), ("GPUTRACE_BUFFER_SIZE=64K",):
            with self.subTest(options=options):
                trace, truth = self.trace([harness.program("workload"), "slow", "500"], "130000",
                                          ("GPUTRACE_FLUSH_PERIOD=10", *options), "first_release")
                self.assertEqual(len(trace.gpu), len(truth.operations))
                self.assertEqual((trace.ledger["gpu_ops_without_call"], trace.ledger["launches_without_record"]), (0, 0))
                self.assertEqual(self.said, [])
                self.assertEqual(trace.root["metadata"]["cupti_quirks"],
                                 "disable_hangs flush_crashes latency_deadlocks hw_trace_corrupts unified_stops_slowly")
        trace, _ = self.trace([harness.program("workload"), "slow", "1"], "130401")
        self.assertNotIn("cupti_quirks", trace.root["metadata"])

    def hw_trace(self, cupti, options=(), fault=""):
        """What the trace says of --hw-trace, and CUPTI's setting. The work is there with times in any case."""
        trace, truth = self.trace([harness.program("workload"), "slow", "20"], cupti,
                                  ("GPUTRACE_HW_TRACE=on", *options), fault)
        self.assertEqual(len(trace.gpu), len(truth.operations))
        self.assertEqual((trace.ledger["kernels_untimed"], trace.ledger["launches_without_record"]), (0, 0))
        return trace.root["metadata"]["hw_trace"], truth.attributes.get(HW_TRACE)

    def check_refused(self, metadata, why):
        self.assertTrue(metadata.startswith("off: ") and why in metadata, metadata)
        self.assertEqual(self.said, ["gputrace: --hw-trace=on is not possible, CUPTI times GPU work as without it: "
                                     + metadata[len("off: "):]])

    def test_hw_trace(self):
        self.assertEqual(self.hw_trace("130401"), ("on", 1))
        self.assertEqual(self.said, [])
        trace, truth = self.trace([harness.program("workload"), "slow", "1"], "130401")
        self.assertNotIn("hw_trace", trace.root["metadata"])
        self.assertNotIn(HW_TRACE, truth.attributes)

    def test_hw_trace_on_an_older_cupti(self):
        """It corrupts memory there, or does not exist."""
        for cupti in ("18", "26", "130300"):
            with self.subTest(cupti=cupti):
                metadata, asked = self.hw_trace(cupti)
                self.assertIsNone(asked)
                self.check_refused(metadata, "13.4 Update 1")

    def test_hw_trace_refused(self):
        """At once, or when CUPTI has seen the driver and the GPU."""
        for fault, verb, name in (("hw_trace=27", "answered", "CUPTI_ERROR_NOT_SUPPORTED (27)"),
                                  ("hw_trace=33", "answered", "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED (33)"),
                                  ("hw_trace_later=27", "reported", "CUPTI_ERROR_NOT_SUPPORTED (27)")):
            with self.subTest(fault=fault):
                metadata, asked = self.hw_trace("130401", fault=fault)
                self.assertEqual(asked, 1 if "later" in fault else None)
                self.check_refused(metadata, verb + " " + name)

    def test_cupti_reports(self):
        """An error or a warning of CUPTI's that is not fatal is a note; the second one is only counted."""
        trace, truth = self.trace([harness.program("workload"), "slow", "20"], "130000", fault="report=7")
        self.assertEqual(len(trace.gpu), len(truth.operations))
        note, = [e for e in trace.events if e["name"].startswith("CUPTI ")]
        self.assertEqual(note["name"], "CUPTI warning")
        self.assertEqual(note["args"]["what"], "CUPTI_ERROR_INVALID_OPERATION (7): simulated warning")
        self.assertEqual((note["args"]["cause"], note["args"]["more such reports"]), ("CUPTI", 1))
        self.assertEqual(self.said, [])

    def test_hw_trace_with_latency(self):
        metadata, asked = self.hw_trace("130401", ("GPUTRACE_LATENCY=1",))
        self.assertIsNone(asked)
        self.check_refused(metadata, "--latency")

    def test_hw_trace_without_cupti(self):
        words = [harness.program("workload"), "slow", "1"]
        trace, _ = self.trace(words, "130401", ("GPUTRACE_HW_TRACE=on", "GPUTRACE_GRAPHS=whole", "GPUTRACE_MODE=hooks"))
        self.assertEqual(trace.root["metadata"]["hw_trace"], "off: CUPTI is not used (mode_reason)")
        self.assertEqual(trace.root["metadata"]["graphs"], "none: CUPTI is not used (mode_reason)")

    def test_stack_threshold(self):
        """Only of calls that take so long; and where the nodes of graphs were made."""
        for words in ["slow", "20"], ["graph", "5"]:
            with self.subTest(words):
                trace, _ = self.trace([harness.program("workload"), *words], "130000",
                                      ("GPUTRACE_STACK_THRESHOLD=300us",))
                calls = [e for e in trace.slices if e["cat"] in ("cuda_runtime", "cuda_driver")]
                long = {id(call) for call in calls if call["dur"] >= 300}
                with_stack = {id(call) for call in calls if "stack" in call["args"]}
                self.assertTrue(long <= with_stack)
                self.assertLess(len(long), len(calls) / 2)
                if words[0] == "slow":
                    self.assertEqual(long, with_stack)
                else:
                    self.assertTrue(all("created by" in e["args"] for e in trace.gpu))

    def test_stacks_of_queries(self):
        """Calls that only --api=all records have a stack if they take long, or if all are asked for."""
        asking = {"cudaGetDevice", "cudaGetLastError", "cudaPeekAtLastError", "cudaStreamIsCapturing", "cudaEventQuery",
                  "cudaStreamQuery", "cudaGetDeviceCount", "cuDriverGetVersion"}
        words = [harness.program("workload"), "ask", "300"]
        for options, all_of_them in ((("GPUTRACE_LEVEL=full",), False), (("GPUTRACE_API=all",), False),
                                     (("GPUTRACE_LEVEL=full", "GPUTRACE_STACK_THRESHOLD=1ns"), True)):
            with self.subTest(options):
                trace, _ = self.trace(words, "130000", options)
                calls = [e for e in trace.slices if e["cat"] in ("cuda_runtime", "cuda_driver")]
                asked = [e for e in calls if e["name"] in asking and not 9.99 < e["dur"] < 10.01]  # two clocks
                self.assertGreaterEqual(len(asked), 800)
                for call in asked:
                    self.assertEqual("stack" in call["args"], all_of_them or call["dur"] >= 10, call)
                launches = [e for e in calls if e["name"] == "cuLaunchKernel"]
                self.assertGreaterEqual(len(launches), 300)
                for call in launches:
                    self.assertIn("frames" if "LEVEL" in options[0] else "stack", call["args"])

    def test_few_without_times(self):
        """Nothing is said of single records without times."""
        trace, _ = self.trace([harness.program("workload"), "graph", "20"], "130000", fault="zero_ts=7")
        self.assertGreater(trace.ledger["kernels_untimed"], 200)
        self.assertEqual(self.said, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
