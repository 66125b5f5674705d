#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--osrt where it could harm: handlers, cancelled threads, children, seccomp filters, a kill. The program does the same
with calls of every length recorded, with only long ones, and without the tracer."""

import glob
import json
import os
import shutil
import sys
import tempfile
import unittest

import harness
import test_children
import test_seccomp

PROGRAM = harness.program("os_calls")
INTERPOSER = os.path.join(harness.BUILD, "preload", "libgputrace-osrt.so")
BURST = 60  # less than there are slots
NAPS = 10 + BURST


def osrt(threshold):
    """As `gputrace run --osrt` starts a program."""
    return (f"LD_PRELOAD={INTERPOSER}:{harness.LIBRARY}", "GPUTRACE_OSRT=" + threshold)


class OsCalls(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gt-os-calls-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def check(self, *words):
        """Returns the trace with all calls."""
        bare = harness.run([PROGRAM, *words])
        self.assertEqual(bare.status, 0, bare)
        for threshold in ("50us", "1ns"):
            folder = os.path.join(self.folder, threshold)
            traced = harness.run([PROGRAM, *words], folder=folder, options=osrt(threshold))
            self.assertEqual((traced.status, traced.stdout, traced.stderr), (bare.status, bare.stdout, bare.stderr))
            path, = harness.traces(folder)
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
        trace = harness.trace_file.Trace(path)
        self.calls = [event for event in trace.slices if event["cat"] == "osrt"]
        self.assertTrue(self.calls)
        return trace

    def test_signals(self):
        self.check("signals")
        # both what was interrupted and what the handler called
        self.assertLessEqual({"read", "write", "nanosleep", "clock_nanosleep", "open", "close"}, {e["name"] for e in self.calls})
        self.assertIn(4, {event["args"].get("errno") for event in self.calls})

    def test_cancelled(self):
        self.check("cancelled")
        self.assertFalse([event for event in self.calls if event["name"] in ("sem_wait", "pthread_cond_wait")
                          and "wait_in" in str(event)])

    def test_children(self):
        """The child of vfork, which has the memory of its parent, is not recorded."""
        trace = self.check("children")
        self.assertFalse([event for event in self.calls if event["name"] == "usleep"])
        self.assertEqual(trace.ledger["memsets_written"], 21)

    def test_strict(self):
        """A thread that may not read the clock is left alone; the others are recorded."""
        self.check("strict")
        self.assertIn("pthread_join", {event["name"] for event in self.calls})


class Kinds(test_children.Children):
    """Children of other kinds, each recorded by itself, with all that the GPU is given."""

    def check(self, words, processes, options=(), **how):
        return super().check(words, processes, options=(
            *options, "GPUTRACE_MEMORY=1", "GPUTRACE_UNIFIED_MEMORY=1", *osrt("1ns")), **how)

    def test_ways(self):
        for way, processes in (("before", 2), ("after", 1), ("vfork", 2), ("spawn", 2), ("twice", 2), ("workers", 9), ("exec", 2)):
            with self.subTest(way=way):
                self.check([test_children.CHILDREN, way], processes, at_gate=(1, test_children.WORK) if way == "exec" else ())


class Sandboxed(test_seccomp.Seccomp):
    """A filter that kills for what a program may not be expected to call."""

    def test_killing_filters(self):
        for when, end in (("first", "return"), ("later", "_exit"), ("thread", "return")):
            with self.subTest(when=when):
                trace = self.check("kill", when, end, osrt("1ns"))
                self.assertTrue([event for event in trace.slices if event["cat"] == "osrt"])

    def calls_of(self, words, options=None):
        return super().calls_of(words, options and [*osrt("1ns"), *options])


def only(case, *names):
    """Of an inherited case the tests of these names: the others are those of its own file."""
    for name in dir(case):
        if name.startswith("test_") and name not in names:
            setattr(case, name, None)


only(Kinds, "test_ways")
only(Sandboxed, "test_killing_filters", "test_every_call_is_in_the_table", "test_common_calls_suffice")


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
class Killed(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gt-os-killed-")
        self.spools = tempfile.mkdtemp(prefix="gt-os-killed-", dir="/dev/shm")
        for folder in (self.folder, self.spools):
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)

    def killed(self, form):
        """How many of the naps are in the trace, and how many calls its ledger says are lost."""
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        result = harness.run([PROGRAM, "dying", str(BURST)], folder=self.folder + "/out",
                             options=(*osrt("5ms"), "GPUTRACE_SPOOL=" + self.spools, "GPUTRACE_FORMAT=" + form))
        self.assertIn(result.status, (-9, 137), result)
        status, output = harness.tool("repair", "--spool=" + self.spools, self.folder + "/out")
        self.assertEqual(status, 0, output)
        path, = glob.glob(f"{self.folder}/out/**/*.{'json' if form == 'chrome' else 'pftrace'}", recursive=True)
        self.assertEqual(harness.tool("verify", path)[0], 0)
        said = harness.tool("stats", path)[1]
        if path.endswith(".pftrace"):
            self.assertEqual(harness.tool("convert", path, path + ".json")[0], 0)
            path += ".json"
        with open(path, encoding="utf-8") as file:
            root = json.load(file)
        naps = sum(event.get("cat") == "osrt" and event["name"] == "usleep" and event["dur"] < 200_000 for event in root["traceEvents"])
        lost = root["ledger"]["os_calls_lost"]
        if lost:
            self.assertIn(f"{lost} os_calls_lost", said)
        return naps, lost

    def test_what_is_lost_is_counted(self):
        """The calls of the last moment are in no file. Each is counted; a busy machine may write them all in time."""
        for form in ("chrome", "perfetto"):
            seen = []
            for _ in range(8):
                naps, lost = self.killed(form)
                self.assertLessEqual(naps, NAPS)
                self.assertGreaterEqual(lost, NAPS - naps, (form, naps, lost))
                seen.append((naps, lost))
                if naps < NAPS and lost <= NAPS - naps + 8:  # and some of the driver's threads
                    break
            else:
                self.fail(f"{form}: {seen}")


if __name__ == "__main__":
    sys.exit(unittest.main())
