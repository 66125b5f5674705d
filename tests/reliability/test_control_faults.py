#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace start, stop and flush where no file can be written, a flush of CUPTI hangs or the process is killed: the
command says so, and the next trace counts what is lost."""

import errno
import os
import re
import resource
import unittest

import controlled
import harness


class Faults(controlled.Windows):
    def without_file(self, run):
        """A window that begins where nothing can be opened."""
        limits = resource.prlimit(run.pid, resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        for words in ("start", "start", "flush"):
            status, said = self.tell(words, str(run.pid))
            self.assertEqual(status, 1, said)
            self.assertRegex(said, rf"no trace can be written into {run.out} \(too many open files\)")
        return limits

    def test_no_file(self):
        """The next trace counts what comes meanwhile: by kind, with what was received. Why is said once."""
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        self.good("start", "all")
        self.good("stop", "all")
        limits = self.without_file(run)
        harness.gate.wait_for(lambda: self.ps()[0]["Kernels/s"] > 0)
        for word in ("stop", "start", "stop"):
            status, said = self.tell(word, "all")
            self.assertEqual(status, 1, said)
            self.assertIn("no trace can be written into", said)
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, limits)
        self.good("start", "all")
        self.assertNotIn("without", self.good("flush", "all"))  # of the one before, and said then
        self.assertNotIn("without", self.good("stop", "all"))
        _, said = run.end()
        for line in (f"cannot write to {run.out} (too many open files)", "2 windows had no trace (too many open files)",
                     "window 2 has no trace (too many open files): what it recorded is lost, which the next trace counts"):
            self.assertEqual(said.count(line), 1, said)
        self.assertNotIn("repair", said)
        first, last = sorted(harness.traces(run.out), key=controlled.started)
        self.check("one", first)
        status, output = harness.tool("verify", last)
        self.assertEqual(status, 0, output)
        ledger = harness.trace_file.Trace(last).ledger
        self.assertGreater(ledger["kernels_not_written"], 0)
        self.assertGreater(ledger["calls_not_written"], 0)

    def test_killed_without_a_file(self):
        """Repair makes the trace that the process could not: beside that of the first window."""
        run = self.launch("one", "GPUTRACE_WAIT=yes", "GPUTRACE_SPOOL=" + self.boxes)
        self.good("start", "all")
        self.good("stop", "all")
        limits = self.without_file(run)
        self.assertTrue(limits)
        run.stop()
        status, output = harness.tool("repair", "--spool=" + self.boxes, run.out)
        self.assertEqual(status, 0, output)
        first, last = sorted(harness.traces(run.out), key=controlled.started)
        self.check("one", first)
        status, output = harness.tool("verify", last)
        self.assertEqual(status, 0, output)
        trace = harness.trace_file.Trace(last)
        self.assertIn("window 2", trace.root["metadata"]["window"])
        self.assertGreater(trace.ledger["calls_received"], 0)

    def test_a_file_elsewhere_says_why(self):
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        self.assertFalse(os.path.exists(run.out))
        open(run.out, "w", encoding="utf-8").close()
        said = self.good("start", "all")
        self.assertRegex(said, rf"recording into \S+ \(cannot write to {run.out}: not a folder\)")
        os.unlink(re.search(r"recording into (\S+)", said)[1])
        run.end()

    @unittest.skipIf(harness.preloading.RUNTIMES, "the sanitizer's own write() is in front")
    def test_disk_full(self):
        """The commands say what the file lacks, and fail."""
        shim = os.path.join(harness.PROGRAMS, "libfailwrite.so")
        run = self.launch("one", f"LD_PRELOAD={shim}:{harness.LIBRARY}", f"FAILWRITE_ERRNO={errno.ENOSPC}",
                          "FAILWRITE_FROM=6")
        self.assertTrue(harness.gate.wait_for(lambda: "disk full" in run.read()))
        for word in "flush", "stop":
            status, output = self.tell(word, "all")
            self.assertEqual(status, 1, output)
            self.assertRegex(output, r"\.json without \d+ events? \(disk full\)$")
        run.open()
        run.process.wait(timeout=300)

    def test_while_a_flush_hangs(self):
        run = self.launch("one", fault="flush=hang")
        self.assertTrue(harness.gate.wait_for(lambda: "flush_ms" in self.tell("status", "all")[1]))
        status, output = self.tell("stop", "all")
        self.assertEqual(status, 1)
        self.assertIn("CUPTI's flush has not returned for", output)
        self.assertEqual(self.ps()[0]["State"], "recording")
        run.open()
        run.process.wait(timeout=300)

    def test_its_own_flush_hangs(self):
        """The one that ends a window: the command says so, and the process answers others meanwhile."""
        run = self.launch("one", "GPUTRACE_FLUSH_PERIOD=60000", "GPUTRACE_WAIT=on",
                          "GPUTRACE_EXIT_TIMEOUT=500", fault="flush=hang")
        self.good("start", "all")
        status, output = self.tell("stop", "all")
        self.assertEqual(status, 1)
        self.assertIn("CUPTI's flush has not returned for", output)
        status, output = self.tell("status", "all")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?s)closing.*flush")
        status, output = self.tell("hang", "all")
        self.assertEqual(status, 0, output)
        status, output = self.tell("start", "all")
        self.assertEqual(status, 1)
        self.assertIn("CUPTI's flush has not returned for", output)
        run.open()
        run.process.wait(timeout=300)

    def test_killed_after_a_stop(self):
        """What was closed stays as it is, and the spool of a process that waits has nothing for repair."""
        run = self.launch("one", f"GPUTRACE_SPOOL={self.boxes}")
        self.good("stop", "all")
        path, = harness.traces(run.out)
        with open(path, "rb") as file:
            before = file.read()
        run.stop()
        harness.tool("repair", run.out, f"--spool={self.boxes}")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(harness.traces(run.out), [path])

    def test_killed_in_a_later_window(self):
        run = self.launch("one", f"GPUTRACE_SPOOL={self.boxes}")
        self.good("stop", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.ps()[0]["Kernels/s"] > 0))
        self.good("flush", "all")
        run.stop()
        harness.tool("repair", run.out, f"--spool={self.boxes}")
        paths = sorted(harness.traces(run.out), key=controlled.started)
        self.assertEqual(len(paths), 2)
        status, output = harness.tool("verify", *paths)
        self.assertEqual(status, 0, output)
        self.assertGreater(len(harness.trace_file.Trace(paths[1]).gpu), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
