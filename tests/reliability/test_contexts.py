#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts of several devices that threads create, use and destroy at once, while the tracer flushes all the time: all
work that the program waited for is in the trace once, and the ledger counts what the device counts."""

import os
import sys
import tempfile
import unittest

import harness

CONTEXTS = harness.program("contexts")
TIMES = 25
DEVICES = 4
LOSES = "lost_with_context"
OPERATIONS = DEVICES * 2 * TIMES * 6 * 3
LATE, TICK = 300000000, 150000000  # ns; longer than a call that ends a context is held up


def where(args):
    return args["device"], args["context"], args["stream"]


class Contexts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def trace(self, words, cupti, fault="", **environment):
        out = tempfile.mkdtemp(dir=self.folder)
        env = harness.environment(SIMCUDA_DEVICES=str(DEVICES), **environment)
        traced = harness.run([CONTEXTS, *words], env=env, cupti=cupti, folder=os.path.join(out, "out"), truth=out,
                             options=("GPUTRACE_FLUSH_PERIOD=10",), fault=fault)
        bare = harness.run([CONTEXTS, *words], env=env, cupti=cupti)
        self.assertEqual(bare.status, 3, bare)
        self.assertEqual(traced[:3], bare[:3])
        self.assertEqual(traced.said, [])
        path, = harness.traces(os.path.join(out, "out"))
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        truth = harness.Truth(out)
        self.assertEqual(truth.faults["two_flushes"], 0)
        return harness.trace_file.Trace(path), truth

    def check_loop(self, cupti, fault=""):
        trace, truth = self.trace(["loop", str(TIMES)], cupti, fault)
        found = sorted((e["args"]["correlation"], harness.trace_file.GPU[e["cat"]], *where(e["args"])) for e in trace.gpu)
        waited = sorted((op["correlation"], op["kind"], *where(op)) for op in truth.operations)
        self.assertEqual(len(waited), OPERATIONS)
        self.assertEqual(found, waited)
        self.assertEqual(truth.faults["context_gone"], 0)
        ledger = trace.ledger
        for kind in harness.GPU_KINDS:
            self.assertEqual(ledger["records_" + kind], OPERATIONS // 3, kind)
        for key in ("launches_without_record", "gpu_ops_without_call", "records_unfinished", "kernels_untimed",
                    "records_dropped_by_cupti", "buffers_discarded"):
            self.assertEqual(ledger[key], 0, key)

    def test_eight_threads(self):
        for cupti in ("18", "26", "130000", "130401"):
            with self.subTest(cupti=cupti):
                self.check_loop(cupti, LOSES)

    def test_records_that_stay(self):
        """CUPTI 13.0 delivers them after their context."""
        self.check_loop("130000")

    def test_a_flush_that_lasts(self):
        self.check_loop("130000", LOSES + ",slow_flush=200000000")

    def test_a_context_that_comes_meanwhile(self):
        """Its work is not forced out of CUPTI, and so lost, by the end of the context that was the only one."""
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"late ns={LATE}\ntick ns={TICK}\n")
        trace, truth = self.trace(["late"], "130000", LOSES, SIMCUDA_SCRIPT=script)
        tick, = (op["correlation"] for op in truth.operations if op["name"] == "tick")
        self.assertEqual([e["name"] for e in trace.gpu if e["args"]["correlation"] == tick], ["tick"])
        missing = trace.ledger["launches_without_record"] + trace.ledger["records_unfinished"]
        self.assertEqual(missing, len(truth.operations) - len(trace.gpu))


if __name__ == "__main__":
    sys.exit(unittest.main())
