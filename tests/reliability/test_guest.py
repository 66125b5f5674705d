#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program's threads, signals and descriptors stay its own: it ends as without the tracer, and its GPU work is
in the trace."""

import os
import sys
import tempfile
import unittest

import harness

GUEST = harness.program("guest")


class Guest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def compare(self, *words, options=(), cupti="130000"):
        out = os.path.join(self.folder, "out")
        bare = harness.run([GUEST, *words], cupti=cupti)
        traced = harness.run([GUEST, *words], cupti=cupti, folder=out, options=options)
        self.assertEqual(bare.status, 0, bare)
        self.assertEqual(traced[:3], bare[:3])
        return traced, harness.traces(out)

    def check_traces(self, paths):
        path, = paths
        ledger = harness.trace_file.Trace(path).ledger
        self.assertEqual([ledger[key] for key in ("kernels_written", "memcpys_written", "memsets_written")],
                         [1, 1, 1])

    @unittest.skipIf("tsan" in harness.preloading.RUNTIMES, "its runtime ends threads late")
    def test_cancelled_in_the_first_call(self):
        """Left inside, the start of the session or the driver would stay locked."""
        for cupti in ("130000", "18"):
            with self.subTest(cupti=cupti):
                _, paths = self.compare("cancelled", cupti=cupti)
                self.check_traces(paths[-1:])

    def test_signal_that_is_blocked_later(self):
        """No thread that came with the tracer takes it."""
        _, paths = self.compare("signalled")
        self.check_traces(paths)

    def test_descriptor_2_is_a_file_of_data(self):
        """What we say does not go there."""
        data = os.path.join(self.folder, "data")
        traced, paths = self.compare("stderr", data, options=["GPUTRACE_OUTPUT=/dev/full", "GPUTRACE_STACKS=wrong"])
        self.assertEqual(paths, [])
        self.assertEqual(traced.said, [])
        with open(data, encoding="utf-8") as file:
            self.assertEqual(file.read(), "data")


if __name__ == "__main__":
    sys.exit(unittest.main())
