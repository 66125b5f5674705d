#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A library with a static runtime of its own launches kernels: CUPTI tells each of its calls, the hooks see none of
them, and the trace says so."""

import collections
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reliability"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM, LIBRARY = sys.argv[1:3]
LAUNCHES = {"in_program(float*)": 5, "in_library(float*)": 7}
MISSING = "GPU work, and calls of the driver API, of static runtimes and through dlsym"


class LibraryLaunches(unittest.TestCase):
    def trace(self, cupti, *options):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out")
            words = [PROGRAM, LIBRARY]
            traced = harness.run(words, folder=out, truth=folder, cupti=cupti, options=options)
            self.assertEqual(traced[:3], harness.run(words, cupti=cupti)[:3])
            self.assertEqual(traced.status, 0)
            path, = harness.traces(out)
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
            return harness.trace_file.Trace(path), harness.Truth(folder)

    def launches(self, trace):
        return [event for event in trace.calls if event["name"].startswith("cudaLaunchKernel")]

    def test_with_cupti(self):
        for cupti in ("18", "22", "26", "130000", "130401"):
            with self.subTest(cupti=cupti):
                trace, truth = self.trace(cupti)
                self.assertEqual(collections.Counter(event["name"] for event in trace.gpu), LAUNCHES)
                calls = {event["args"]["correlation"] for event in self.launches(trace)}
                self.assertEqual(calls, {op["correlation"] for op in truth.operations})
                self.assertEqual(calls, {event["args"]["correlation"] for event in trace.gpu})
                self.assertEqual(trace.ledger["gpu_ops_without_call"], 0)
                self.assertEqual(trace.ledger["launches_without_record"], 0)
                self.assertNotIn("not_recorded", trace.root["metadata"])

    def test_with_hooks(self):
        for cupti, options in (("none", ()), ("130000", ("GPUTRACE_MODE=hooks",))):
            with self.subTest(cupti=cupti):
                trace, truth = self.trace(cupti, *options)
                self.assertEqual(len(truth.operations), sum(LAUNCHES.values()))
                self.assertEqual(len(self.launches(trace)), LAUNCHES["in_program(float*)"])
                self.assertEqual(trace.gpu, [])
                self.assertEqual(trace.root["metadata"]["mode"], "hooks only")
                self.assertEqual(trace.root["metadata"]["not_recorded"], MISSING)


if __name__ == "__main__":
    sys.exit(unittest.main(argv=sys.argv[:1]))
