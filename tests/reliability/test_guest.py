#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program's threads, signals and descriptors stay its own: it ends as without the tracer, and its GPU work is
in the trace."""

import os
import resource
import sys
import tempfile
import unittest

import harness

GUEST = harness.program("guest")

# To values that a program can live with. Root has no RLIMIT_NPROC.
LOWERED = {"RLIMIT_AS": 0, "RLIMIT_DATA": 0, "RLIMIT_NOFILE": 0, "RLIMIT_FSIZE": 0, "RLIMIT_NPROC": 0,
           "RLIMIT_STACK": 4096, "RLIMIT_MEMLOCK": 0, "RLIMIT_CPU": 60}


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
        """Cancelled inside, it would leave the session or the driver locked."""
        for cupti in ("130000", "18"):
            with self.subTest(cupti=cupti):
                _, paths = self.compare("cancelled", cupti=cupti)
                self.check_traces(paths[-1:])

    def test_signal_that_is_blocked_later(self):
        """No thread of the tracer takes it."""
        _, paths = self.compare("signalled")
        self.check_traces(paths)

    def test_descriptor_2_is_a_file_of_data(self):
        """Our messages are not written to it."""
        data = os.path.join(self.folder, "data")
        traced, paths = self.compare("stderr", data, options=["GPUTRACE_OUTPUT=/dev/full", "GPUTRACE_STACKS=wrong"])
        self.assertEqual(paths, [])
        self.assertEqual(traced.said, [])
        with open(data, encoding="utf-8") as file:
            self.assertEqual(file.read(), "data")

    def test_descriptors_that_are_left_to_it(self):
        """Samples of its threads take none of them."""
        for hertz in ("0", "1000"):
            with self.subTest(sampling=hertz):
                out = os.path.join(self.folder, hertz)
                options = ["GPUTRACE_FLUSH_PERIOD=20", "GPUTRACE_SAMPLE_CPU=" + hertz]
                words, before = [GUEST, "crowded", "30"], ["prlimit", "--nofile=64"]
                bare = harness.run(words, before=before)
                traced = harness.run(words, before=before, folder=out, options=options)
                self.assertEqual((traced.status, traced.said), (bare.status, bare.said), traced)
                self.assertGreaterEqual(int(traced.stdout), int(bare.stdout) - 2 - (hertz != "0"),
                                        "of the trace and of our threads")
                path, = harness.traces(out)
                samples = harness.trace_file.Trace(path).ledger["samples_written"]
                self.assertGreaterEqual(samples, 30 * (hertz != "0"))

    @unittest.skipIf(harness.preloading.RUNTIMES, "a sanitizer needs the memory itself")
    def test_limits_that_are_lowered_later(self):
        """Right after the first call of CUDA: nothing of ours needs what is no longer there, or it does without."""
        for name, value in LOWERED.items():
            for hertz in ("0", "1000"):
                with self.subTest(limit=name, sampling=hertz):
                    words = "limited", f"{getattr(resource, name)}:{value}"
                    out = os.path.join(self.folder, name + hertz)
                    bare = harness.run([GUEST, *words])
                    traced = harness.run([GUEST, *words], folder=out, options=["GPUTRACE_SAMPLE_CPU=" + hertz])
                    self.assertEqual(traced[:3], bare[:3])


if __name__ == "__main__":
    sys.exit(unittest.main())
