#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tracing costs, by the tracer's own count, and --max-overhead. A maximum of 0.1 % is less than any
recording of a program that only launches: everything is lowered, whatever the machine."""

import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import harness

PROGRAM = harness.program("ranges")
KINDS = ("kernel", "memcpy", "memset")
LEVELS = ["call stacks", "Python frames", "calls that start no GPU work", "half of the steps", "3 of 4 steps",
          "7 of 8 steps", "15 of 16 steps", "31 of 32 steps", "63 of 64 steps"]
THINNED = ["NVTX ranges that begin within 1 ms of one another", "calls that start no GPU work",
           "slices and arrows of calls that start GPU work"]
SLOW = os.path.join(harness.PROGRAMS, "libslowwrite.so")
LOW = ("GPUTRACE_MAX_OVERHEAD=0.1%", "GPUTRACE_FLUSH_PERIOD=10", "GPUTRACE_SPOOL=on")


class Overhead(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")

    def lowered(self):
        return harness.gate.count(self.out, "no longer recorded: " + LEVELS[-1]) > 0

    def go(self, steps, *options, status=3):
        words = [PROGRAM] + steps.split()
        gates = [self.lowered] * steps.count("-until")
        done = harness.run(words, truth=self.folder, folder=self.out, gates=gates, options=options)
        self.assertEqual((done.status, done.said), (status, []))
        self.truth = harness.Truth(self.folder)

    def read(self, *strict):
        path, = harness.traces(self.out)
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", *strict, path)
        self.assertEqual(status, 0, output)
        return harness.trace_file.Trace(path)

    def notes(self, trace):
        return [event["args"]["what"] for event in trace.events if event["ph"] == "i" and event["name"] == "governor"]

    def check_books(self, trace):
        """What the device did is written or counted as left out."""
        did = collections.Counter(op["kind"] for op in self.truth.operations)
        ledger = trace.ledger
        for kind in KINDS:
            self.assertEqual(ledger[kind + "s_written"] + ledger[kind + "s_governed"], did[kind], kind)
            self.assertGreater(ledger[kind + "s_governed"], 0)
        for key in ("stacks_governed", "calls_governed", "calls_governed_later"):
            self.assertGreater(ledger[key], 0, key)
        self.assertEqual(ledger["python_stacks_governed"], 0, "the program has no Python")
        self.assertEqual(ledger["gpu_ops_without_call"], 0)

    def test_steps(self):
        """Whole steps are left out, and each change is in the trace."""
        self.go("steps-until", *LOW)
        trace = self.read("--strict")
        self.check_books(trace)
        notes = self.notes(trace)
        self.assertEqual([note.split(": ")[-1] for note in notes], LEVELS)
        for note in notes:
            self.assertRegex(note, r"^overhead \d+\.\d\d %, --max-overhead=0\.10%: no longer recorded: ")
        kernels = collections.Counter(event["args"]["nvtx"] for event in trace.gpu if event["cat"] == "kernel")
        steps = {event["name"] for event in trace.slices if event["cat"] == "user_annotation"}
        self.assertEqual(set(kernels.values()), {3})
        self.assertLess(set(kernels), steps)
        self.assertRegex(trace.root["metadata"]["cost"],
                         r"; --max-overhead: 9 changes, not recorded at the end: 63 of 64 steps$")
        output = harness.tool("stats", trace.path)[1]
        self.assertRegex(output, r"left out by --max-overhead: \d+ call stacks, ")
        self.assertRegex(output, "governor: .*no longer recorded: call stacks")

    def test_without_steps(self):
        """Periods are steps."""
        self.go("work-until", *LOW)
        trace = self.read("--strict")
        self.check_books(trace)
        self.assertEqual(len(self.notes(trace)), 9)

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm")
    def test_restored(self):
        """When there is room, one level after the other."""
        boxes = tempfile.mkdtemp(prefix="gt-overhead-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, boxes)

        def lowered():
            return self.lowered() and harness.tool("set", "--control=" + boxes, "max-overhead=100", "all")[0] == 0

        def restored():
            return harness.gate.count(self.out, "recorded again: " + LEVELS[0]) > 0

        words = [PROGRAM, "work-until", "work-until", "work=5"]
        done = harness.run(words, truth=self.folder, folder=self.out, gates=[lowered, restored],
                           options=LOW + ("GPUTRACE_CONTROL=" + boxes,))
        self.assertEqual((done.status, done.said), (3, []))
        self.truth = harness.Truth(self.folder)
        trace = self.read("--strict")
        self.check_books(trace)
        notes = self.notes(trace)
        at = [note.endswith("recorded again: " + LEVELS[-1]) for note in notes].index(True)
        self.assertEqual([note.split(": ")[-1] for note in notes[:at]], LEVELS)
        self.assertEqual([note.split(": ")[-2:] for note in notes[at:]],
                         [["recorded again", level] for level in reversed(LEVELS)])
        last = max(trace.calls, key=trace.start)
        self.assertIn("stack", last["args"])

    def test_kill(self):
        """The count of what was left out survives."""
        self.go("steps-until kill", *LOW, status=-signal.SIGKILL)
        self.assertEqual(harness.tool("repair", self.out)[0], 0)
        trace = self.read()
        ledger = trace.ledger
        for key in ("kernels_governed", "stacks_governed", "calls_governed", "calls_governed_later"):
            self.assertGreater(ledger[key], 0, key)
        did = collections.Counter(op["kind"] for op in self.truth.operations)
        self.assertLessEqual(ledger["kernels_written"] + ledger["kernels_governed"], did["kernel"])

    def test_graphs(self):
        """A graph made when nothing was recorded tells where it was made."""
        self.go("steps-until graph replay=3", *LOW)
        self.check_books(self.read("--strict"))

    def test_cost(self):
        """Nothing is left out, and everybody says what tracing cost."""
        for form in ("chrome", "perfetto"):
            self.setUp()
            self.go("work=3000", "GPUTRACE_FLUSH_PERIOD=10", "GPUTRACE_FORMAT=" + form)
            if form == "perfetto":
                path, = [os.path.join(self.out, name) for name in os.listdir(self.out) if name.endswith(".pftrace")]
                self.assertEqual(harness.tool("convert", path, self.out + "/x.pt.trace.json")[0], 0)
            trace = self.read("--strict")
            self.assertEqual({key: count for key, count in trace.ledger.items() if "governed" in key and count}, {})
            self.assertRegex(trace.root["metadata"]["cost"], r"^overhead \d+\.\d\d %: \d+\.\d\d % of the launching "
                             r"threads' time, \d+\.\d\d % of a core for writing$")
            ledger = trace.ledger
            self.assertGreater(ledger["cost_added_ns"], 0)
            self.assertGreater(ledger["cost_own_ns"], 0)
            self.assertGreater(ledger["cost_process_ns"], ledger["cost_own_ns"])
            self.assertGreater(ledger["cost_elapsed_ns"], 0)
            counters = {name for event in trace.events if event["ph"] == "C" and event["name"] == "tracer cost"
                        for name in event["args"]}
            self.assertEqual(counters, {"overhead %", "launching threads %", "writing % of a core"})
            for command in (("stats",), ("stats", "--summary")):
                said = re.search(r"tracer cost: (\S+) % of the process's time \((\S+) %.*, (\S+) % of a core",
                                 harness.tool(*command, trace.path)[1])
                self.assertEqual(list(said.groups()), re.findall(r"\d+\.\d\d", trace.root["metadata"]["cost"]))
            self.assertEqual(harness.tool("report", "--output=" + self.out + "/r.html", trace.path)[0], 0)
            with open(self.out + "/r.html", encoding="utf-8") as file:
                self.assertIn("of the process&#39;s time", file.read().replace("'", "&#39;").replace("&apos;", "&#39;"))

    @unittest.skipIf(harness.preloading.RUNTIMES, "a flood lasts for minutes with a sanitizer, its trace is a gigabyte")
    def test_thinning(self):
        """--thin, while each write takes long: kinds of events are left out one after the other, GPU work is not,
        and all is recorded again when the flood is over. Calls that found their ring full are lost and counted."""
        self.flood("flood-until rest-until work=5", [self.has("recorded again: " + THINNED[0])])
        trace = self.read()
        changes = [re.sub(r"^rings \d+ %, GPU work \d+ %, ranges \d+ % full: ", "", event["args"]["what"]) for event in trace.events
                   if event["ph"] == "i" and event["name"] == "thinning"]
        self.assertEqual(changes, ["left out: " + kind for kind in THINNED] +
                         ["recorded again: " + kind for kind in reversed(THINNED)])
        self.check_thinned(trace)
        told = collections.Counter()
        for event in trace.events:
            if event["ph"] == "i" and event["name"] == "left out":
                told.update({kind: count for kind, count in event["args"].items() if isinstance(count, int)})
        ledger = trace.ledger
        self.assertEqual(told, {"NVTX ranges": ledger["ranges_thinned"],
                                "API calls": ledger["calls_thinned"] + ledger["calls_thinned_later"]})
        did = collections.Counter(op["kind"] for op in self.truth.operations)
        for kind in KINDS:
            self.assertEqual(ledger[kind + "s_written"], did[kind], kind)
        last = sorted(trace.calls, key=trace.start)[-5:-2]
        self.assertEqual([call["name"] for call in last], list(harness.LAUNCHES))
        self.assertRegex(harness.tool("stats", trace.path)[1], r"left out by --thin, more was called than could be "
                         r"written: [1-9]\d* NVTX ranges, [1-9]\d* calls, the slices of [1-9]\d* calls of GPU work")

    @unittest.skipIf(harness.preloading.RUNTIMES, "as long with a sanitizer")
    @unittest.skipUnless(harness.has_shm(), "no /dev/shm")
    def test_thinning_and_kill(self):
        """What was left out is counted all the same."""
        self.flood("flood-until work-until kill", [self.has("rings were filling up: slices of calls")],
                   "GPUTRACE_SPOOL=on", status=-signal.SIGKILL)
        self.assertEqual(harness.tool("repair", self.out)[0], 0)
        self.check_thinned(self.read())

    def test_without_thinning(self):
        """--thin=off: nothing is left out, until a ring is full."""
        self.flood("flood-until", [], "GPUTRACE_THIN=off", word='"ring full"')
        trace = self.read()
        self.assertEqual({key: count for key, count in trace.ledger.items() if "thinned" in key and count}, {})
        self.assertGreater(trace.ledger["calls_lost_ring_full"] + trace.ledger["ranges_lost"], 0)

    def test_losses_while_cupti_hangs(self):
        """The file says so every flush period, before the end, without a spool."""
        self.flood("flood-until kill", [], "GPUTRACE_THIN=off", "GPUTRACE_SPOOL=off", word='"ring full"', fault="flush=hang",
                   status=-signal.SIGKILL)

    def has(self, word):
        return lambda: harness.gate.count(self.out, word) > 0

    def flood(self, steps, gates, *options, status=3, word="left out: " + THINNED[-1], **how):
        """Writes are slow until the word is in the trace."""
        done = harness.run([PROGRAM] + steps.split(), truth=self.folder, folder=self.out,
                           gates=[self.has(word)] + gates, **how, options=(
                               "GPUTRACE_RING_SIZE=16K", "GPUTRACE_FLUSH_PERIOD=10", "SLOWWRITE=100",
                               "LD_PRELOAD=" + harness.preloading.with_tracer(f"{SLOW}:{harness.LIBRARY}")) + options)
        self.assertEqual((done.status, done.said), (status, []))
        self.truth = harness.Truth(self.folder)

    def check_thinned(self, trace):
        for key in ("ranges_thinned", "calls_thinned", "calls_thinned_later"):
            self.assertGreater(trace.ledger[key], 0, key)

    def test_wrong_values(self):
        self.out = os.path.join(self.folder, "wrong")
        done = harness.run([PROGRAM, "work=2"], folder=self.out, options=("GPUTRACE_MAX_OVERHEAD=2 %",))
        self.assertEqual(done.status, 3)
        self.assertIn("'2 %' is no value for GPUTRACE_MAX_OVERHEAD", done.said[0])

    @unittest.skipIf(harness.preloading.RUNTIMES, "gputrace run does not put a sanitizer first")
    def test_command(self):
        gputrace = os.path.join(harness.SOURCE, "scripts", "gputrace")
        for value in ("0", "101%", "two", "-1", "2 %"):
            with self.subTest(value=value):
                done = subprocess.run([gputrace, "run", "--max-overhead=" + value, "echo", "ran"], capture_output=True,
                                      text=True, timeout=60, check=False, env=harness.environment())
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"--max-overhead={value}: it takes a percentage from 0.1 to 100", done.stderr)


if __name__ == "__main__":
    unittest.main()
