#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace set: options that change in a running process, and why others cannot."""

import unittest

import controlled
import harness


class Set(controlled.Windows):
    def test_set(self):
        run = self.launch("one")
        self.assertTrue(self.recorded(run))
        self.assertEqual(self.good("set", "stacks=off", str(run.pid)), f"{run.pid}: stacks=off\n")
        self.good("flush", "all")
        for setting in ("flush-period=100", "stack-threshold=1ms", "verbose=yes", "verbose=no"):
            self.good("set", setting, "all")
        self.assertIn("details=few from the next trace on", self.good("set", "details=few", "all"))
        self.assertIn("flush-period=100", self.good("status", "all"))
        self.good("stop", "all")
        self.assertNotIn("next trace", self.good("set", "stacks=full", "all"))
        self.assertIn("stacks=short from the next trace on", self.good("set", "stacks=short", "all"))
        self.good("set", "stack-threshold=0", "all")
        self.good("set", "duration=50ms", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.ps()[0]["State"] == "waiting"))
        run.open()
        self.assertEqual(run.process.wait(timeout=300), 3)
        first, second = [self.check("one", path) for path in sorted(harness.traces(run.out), key=controlled.started)]
        notes = [(event["ts"], event["args"]["what"]) for event in first.events if event["name"] == "option changed"]
        self.assertEqual([what for _, what in notes][:3], ["stacks=off", "flush-period=100", "stack-threshold=1ms"])
        off = notes[0][0]
        before = [call for call in first.calls if call["ts"] < off]
        after = [call for call in first.calls if call["ts"] > off + 20000]  # us
        self.assertTrue(any("stack" in call["args"] for call in before))
        self.assertFalse(any("stack" in call["args"] for call in after if call["dur"] < 1000))
        self.assertTrue(any("stack" in call["args"] for call in second.calls))
        self.assertNotIn("details=few", first.root["metadata"]["options"])  # it had its flows until the end
        self.assertIn("details=few", second.root["metadata"]["options"])

    def test_set_filters(self):
        """Of the next trace, which says so and counts what they leave out."""
        run = self.launch("one")
        self.assertTrue(self.recorded(run))
        self.assertIn("kernels=!* from the next trace on", self.good("set", "kernels=!*", "all"))
        self.good("stop", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.good("flush", "all") and any(
            '"cat": "gpu_mem' in text for text in harness.gate.texts(run.out) if "kernels=!*" in text)))
        self.good("set", "kernels=", "all")
        self.good("stop", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.good("flush", "all") and sum(
            '"cat": "kernel"' in text for text in harness.gate.texts(run.out)) == 2))
        self.end(run)
        traces = [harness.trace_file.Trace(path) for path in sorted(harness.traces(run.out), key=controlled.started)]
        for trace, kept in zip(traces, (True, False, True)):
            self.assertEqual(harness.tool("verify", "--strict", trace.path)[0], 0)
            self.assertEqual(any(event["cat"] == "kernel" for event in trace.gpu), kept)
            self.assertEqual(trace.ledger["kernels_filtered"] == 0, kept)
            self.assertEqual(trace.root["metadata"].get("filters"), None if kept else "kernels=!*")

    def test_set_the_rate_of_samples(self):
        self.launch("one", "GPUTRACE_SAMPLE_CPU=100")
        self.good("set", "sample-cpu=10", "all")
        status, output = self.tell("set", "sample-cpu=0", "all")
        self.assertEqual(status, 1)
        self.assertIn("1 a second is the least", output)
        self.assertIn("sample-cpu=10", self.good("status", "all"))

    def test_set_what_is_fixed(self):
        self.launch("one", "GPUTRACE_STACKS=off")
        for setting, why in (("output=/tmp", "one folder"), ("ring-size=1M", "memory is laid out by it"),
                             ("graphs=off", "CUPTI is set up by it"), ("level=full", "read when the process starts"),
                             ("calls=x", "a table that is made then"), ("kernels=a,,b", "patterns between commas"),
                             ("max-overhead=101%", "percentage from 0.1 to 100"),
                             ("sample-cpu=10", "started without --sample-cpu"), ("stacks=full", "started with --stacks=off")):
            status, output = self.tell("set", setting, "all")
            self.assertEqual((status, output.count("\n")), (1, 1), output)
            self.assertIn(why, output)
            if "cannot change" in output:
                self.assertIn("; gputrace set changes flush-period, duration, ", output)
        for setting, why in (("flush-period=1", "'1' is no value for flush-period"), ("colour=red", "no option colour"),
                             ("stacks", "no OPTION=VALUE")):
            status, output = self.tell("set", setting, "all")
            self.assertEqual((status, output.count("\n")), (2, 1), output)
            self.assertIn(why, output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
