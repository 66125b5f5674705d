#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--capture-range: what the program launches while such a range is open is in the trace, from the first
launch to the last, and nothing else; the program does not notice."""

import errno
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness

PROGRAM = harness.program("ranges")
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
LATER = "rest-until work=9"  # after the trace was closed
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
API = "cudaProfilerApi"
REPEAT = "GPUTRACE_CAPTURE_RANGE_END=repeat"


def closed(folder, last=False):
    """@last: of several files."""
    return harness.gate.count(folder, '"last": 1' if last else '"ledger": {') > 0


class Base(unittest.TestCase):
    def run_both(self, asked, steps, *options, cupti="130000", last=False, fault="",
                 kernel_ns=None):
        """Returns the paths of the traces of a program that does these steps. The program notices nothing."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "out")
        words = [PROGRAM] + steps.split()
        gates = [lambda: closed(self.out, last=last)] * len(re.findall("(rest|work)-until", steps))
        asked = ["GPUTRACE_CAPTURE_RANGE=" + asked] if asked else []
        traced = harness.run(words, truth=folder.name, folder=self.out, gates=gates, cupti=cupti,
                             fault=fault, options=(*asked, *options),
                             before=["env", f"SIMCUDA_KERNEL_NS={kernel_ns}"] if kernel_ns else [])
        bare = harness.run(words, gates=[lambda: True] * len(gates), cupti=cupti)
        self.assertEqual(traced[:3], bare[:3])
        self.assertEqual(traced.status, 3)
        self.said = traced.said
        self.truth = harness.Truth(folder.name)
        return harness.traces(self.out) if os.path.isdir(self.out) else []

    def read(self, path, strict=True):
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", *["--strict"] * strict, path)
        self.assertEqual(status, 0, output)
        return harness.trace_file.Trace(path)

    def go(self, asked, steps, *options, cupti="130000", strict=True, files=False):
        """The trace of a program that records such ranges; None: there is none."""
        paths = self.run_both(asked, steps, *options, cupti=cupti, last=files)
        if files or not paths:
            return None
        path, = paths
        return self.read(path, strict)

    def check(self, trace, before, inside):
        """Of the rounds that the program made, in order, those are in the trace."""
        did = [op["correlation"] for op in sorted(self.truth.operations, key=lambda op: op["correlation"])]
        told = sorted(event["args"]["correlation"] for event in trace.events if event.get("cat") in GPU)
        self.assertEqual(told, did[3 * before:3 * (before + inside)])
        self.assertEqual(trace.ledger["gpu_ops_without_call"], 0)


class Ranges(Base):
    def test_profiler_api(self):
        for start, stop in (("Start", "Stop"), ("cuStart", "cuStop"), ("Start", "cuStop")):
            with self.subTest(start=start, stop=stop):
                trace = self.go(API, f"work=5 {start} launch=7 work=3 {stop} work=2 {LATER}")
                self.check(trace, 5, 10)
                self.assertGreater(trace.ledger["calls_passed"], 15)
                self.assertRegex(trace.root["metadata"]["window"], r"^from \d+ ms to \d+ ms$")
                self.assertEqual(self.said, [])

    def test_older_cupti(self):
        self.check(self.go(API, f"work=5 Start work=6 Stop {LATER}", cupti="18"), 5, 6)

    def test_started_before_any_work(self):
        self.check(self.go(API, f"Start work=6 Stop {LATER}"), 0, 6)

    def test_started_twice_and_stopped_twice(self):
        self.check(self.go(API, f"Stop work=5 Start work=2 Start work=2 Stop Stop {LATER}"), 5, 4)

    def test_the_program_ends_with_its_range(self):
        """Nothing waits, and nothing is lost."""
        for steps in ("work=5 Start work=6 Stop", "work=5 Start work=6 Stop work=2", "Start work=6 Stop"):
            for _ in range(5):
                with self.subTest(steps=steps):
                    before = time.monotonic()
                    self.check(self.go(API, steps), 5 if steps.startswith("work") else 0, 6)
                    self.assertLess(time.monotonic() - before, 60)
                    self.assertEqual(self.said, [])

    def test_without_end(self):
        """--capture-range-end=none."""
        trace = self.go(API, "work=5 Start work=2 Stop work=8", "GPUTRACE_CAPTURE_RANGE_END=none")
        self.check(trace, 5, 10)

    def test_never_stopped(self):
        """The end of the program is that of the range."""
        self.check(self.go(API, "work=5 Start work=2 launch=6"), 5, 8)

    def test_never_started(self):
        self.assertIsNone(self.go(API, "work=5 Stop work=8"))

    def test_nvtx(self):
        for asked, steps, before, inside in (
                ("nvtx:step", "push=other work=2 pop work=3 push=step launch=4 pop", 5, 4),
                ("nvtx:step", "work=3 registered=step work=4 pop", 3, 4),
                ("nvtx:step", "work=3 begin=step work=4 end", 3, 4),
                ("nvtx:st?p*", "work=1 push=stop9 work=4 pop", 1, 4),
                ("nvtx:step@lib", "push=step work=2 pop push=step@lib work=3 pop=lib", 2, 3),
                ("nvtx:step@*", "push=stop work=2 pop push=step@lib work=3 pop=lib", 2, 3),
                ("nvtx:step", "push=step@lib work=2 pop=lib push=step work=3 pop", 2, 3),
                # nested, and on another thread
                ("nvtx:s*", "work=1 push=step work=2 push=sub work=2 pop work=2 pop", 1, 6),
                ("nvtx:s*", "work=1 push=step work=2 beside=sub work=2 pop", 1, 9),
                ("nvtx:sub", "work=1 push=step work=2 beside=sub", 3, 5)):
            with self.subTest(asked=asked, steps=steps):
                trace = self.go(asked, f"{steps} work=4 {LATER}")
                self.check(trace, before, inside)
                name = asked[5:].split("@")[0].rstrip("*").replace("?", "o")
                self.assertIn(name, "".join(event["name"] for event in trace.events if event.get("cat") == "user_annotation"
                                            or event.get("cat") == "nvtx"))

    def test_a_range_before_the_first_call_of_cuda(self):
        self.check(self.go("nvtx:step", f"push=step work=4 pop {LATER}"), 0, 4)
        self.check(self.go("nvtx:step", f"push=step pop work=3 push=step work=4 pop {LATER}"), 3, 4)

    def test_hooks_only(self):
        """The calls of the range, without CUPTI."""
        for steps in ("work=5 Start work=6 Stop", "Start work=6 Stop"):
            with self.subTest(steps=steps):
                trace = self.go(API, f"{steps} work=3 {LATER}", "GPUTRACE_MODE=hooks", strict=False)
                names = [event["name"] for event in trace.events if event.get("cat") == "cuda_runtime"]
                self.assertEqual(names.count("cudaMemsetAsync"), 6)

    def test_with_duration(self):
        """Whichever ends first."""
        self.check(self.go(API, f"work=5 Start work=6 {LATER}", "GPUTRACE_DURATION=700ms"), 5, 6)

    def test_several_files(self):
        """What was outside is counted once."""
        self.go(API, f"work=5 Start work=3000 Stop {LATER}", "GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0", files=True)
        paths = harness.traces(self.out)
        self.assertGreater(len(paths), 1)
        ledgers = [harness.trace_file.Trace(path).ledger for path in paths]
        for path in paths:
            self.assertEqual(harness.tool("verify", path)[0], 0)
        for kind in ("kernels", "memcpys", "memsets"):
            self.assertEqual(sum(ledger[kind + "_written"] for ledger in ledgers), 3000)

    def test_copies_of_nothing(self):
        """They have no record, and none is missed."""
        trace = self.go(API, f"work=5 Start work=2 nothing work=2 Stop {LATER}")
        self.check(trace, 5, 4)
        self.assertEqual(trace.ledger["launches_seen"], 12)

    def test_unknown_range(self):
        self.check(self.go("lua:train", "work=4"), 0, 4)
        self.assertIn("'lua:train' is no value for GPUTRACE_CAPTURE_RANGE", self.said[0])

    @unittest.skipIf(harness.preloading.RUNTIMES, "gputrace run does not put a sanitizer first")
    def test_command(self):
        """Wrong values run nothing; a range that never began is said."""
        simcuda, gputrace = (os.path.join(harness.SOURCE, "scripts", name) for name in ("simcuda", "gputrace"))
        for value in ("cudaprofilerapi", "nvtx:", "nvtx", "nvtx:@lib", "nvtx:" + "x" * 300):
            with self.subTest(value=value):
                done = subprocess.run([gputrace, "run", "--capture-range=" + value, "echo", "ran"], capture_output=True,
                                      text=True, timeout=60, check=False, env=harness.environment())
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("it takes cudaProfilerApi, nvtx:NAME[@DOMAIN], python:FUNCTION or cudaGraphLaunch[:N]", done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([simcuda, gputrace, "run", "--output=" + folder + "/out", "--capture-range=" + API,
                                   PROGRAM, "work=20"], capture_output=True, text=True, timeout=300, check=False,
                                  env=harness.environment())
            self.assertEqual(done.returncode, 3)
            self.assertIn("began no range of --capture-range", done.stderr)
            self.assertEqual(glob.glob(folder + "/out/*.json"), [])


class Windows(Base):
    """--capture-range-end=repeat, --schedule: a trace for each window."""

    def windows(self, asked, steps, *options, cupti="130000", strict=True):
        """The traces in order."""
        traces = [self.read(path, strict) for path in self.run_both(asked, steps, *options, cupti=cupti)]
        traces.sort(key=lambda trace: int(trace.root["metadata"]["window"].split("window ")[1]))
        self.assertEqual([trace.root["metadata"]["window"].split(", ")[1] for trace in traces],
                         [f"window {i + 1}" for i in range(len(traces))])
        return traces

    def check_windows(self, asked, steps, expected, *options, **how):
        """@expected: rounds before and inside of each window."""
        traces = self.windows(asked, steps, *options, **how)
        self.assertEqual(len(traces), len(expected))
        for trace, (before, inside) in zip(traces, expected):
            self.check(trace, before, inside)
        return traces

    def test_repeat(self):
        steps = "work=5 Start work=3 Stop work=2 Start launch=4 Stop launch=6 Start work=1 Stop work=2"
        for cupti in "130000", "18":
            with self.subTest(cupti=cupti):
                traces = self.check_windows(API, steps, [(5, 3), (10, 4), (20, 1)], REPEAT, cupti=cupti)
                self.assertEqual(self.said, [])
                # 5 + 2 + 6 rounds of three operations, and those behind the last window while it is closed
                self.assertGreaterEqual(sum(trace.ledger["calls_passed"] for trace in traces), 39)
                self.assertIn(sum(trace.ledger["launches_passed"] for trace in traces), range(39, 46))
                for trace in traces:
                    self.assertEqual(trace.ledger["launches_seen"], len(trace.gpu))

    def test_drops(self):
        """CUPTI tells them until it is asked: at the end of a window, for that window."""
        steps = "graph rest=200 Start rest=50 replay=20 Stop rest-until replay=5 Start rest=50 replay=10 Stop"
        for end, replays in ("stop", [20]), ("repeat", [20, 10]):
            with self.subTest(end=end):
                paths = self.run_both(API, steps, "GPUTRACE_CAPTURE_RANGE_END=" + end, "GPUTRACE_FLUSH_PERIOD=60000", fault="dropped=7")
                ledgers = [self.read(path, strict=False).ledger for path in paths]
                ledgers.sort(key=lambda ledger: -ledger["launches_seen"])
                self.assertEqual([ledger["launches_seen"] for ledger in ledgers], replays)
                for ledger, count in zip(ledgers, replays):
                    written = sum(ledger[kind + "s_written"] for kind in ("kernel", "memcpy", "memset"))
                    self.assertEqual(written + ledger["records_dropped_by_cupti"], 3 * count)

    def test_stop(self):
        """The ranges behind the first one are not recorded: one file, without a number."""
        steps = f"Start work=7 Stop work=2 {LATER} Start work=2 Stop {LATER} Start work=2 Stop {LATER}"
        for end in ("stop", "repeat:1"):
            with self.subTest(end=end):
                path, = self.run_both(API, steps, "GPUTRACE_CAPTURE_RANGE_END=" + end)
                trace = self.read(path)
                self.check(trace, 0, 7)
                self.assertNotIn("window 1", trace.root["metadata"]["window"])

    def test_repeat_at_most(self):
        steps = "Start work=3 Stop work=2 Start work=4 Stop work=6 Start work=1 Stop work=2"
        self.check_windows(API, steps, [(0, 3), (5, 4)], "GPUTRACE_CAPTURE_RANGE_END=repeat:2")

    def test_calls_while_the_last_is_closed(self):
        """They are outside of it: the program does not end."""
        paths = self.run_both(API, "work=5 Start work=6 Stop Start work=4 Stop work=300",
                              "GPUTRACE_CAPTURE_RANGE_END=repeat:2", fault="slow_forced_flush=100000000")
        for trace in map(self.read, paths):
            self.assertEqual(trace.ledger["calls_after_exit"], 0)
            self.assertGreater(trace.ledger["calls_passed"], 15)

    def test_a_launch_while_the_window_is_closed(self):
        """CUPTI keeps the buffer of a launch that is under way; nothing of the window is lost with it."""
        for end in "stop", "repeat:1":
            with self.subTest(end=end):
                paths = self.run_both(API, "work=1 Start work=3 rest=200 Stop work=3", "GPUTRACE_FLUSH_PERIOD=10",
                                      "GPUTRACE_CAPTURE_RANGE_END=" + end, fault="slow_record=8000000")
                self.assertEqual(self.read(paths[0]).ledger["buffers_not_returned"], 0)

    def test_a_queue_behind_a_window(self):
        """Until the next range begins, the GPU may do what was launched in the window."""
        paths = self.run_both(API, "work=1 Start launch=50 Stop rest-until Start work=1 Stop work=1", REPEAT,
                              kernel_ns=30000000)
        first, second = sorted((self.read(path) for path in paths),
                               key=lambda trace: trace.root["metadata"]["window"].split("window ")[1])
        self.check(first, 1, 50)
        self.check(second, 51, 1)

    @unittest.skipIf(harness.preloading.RUNTIMES, "a library that is preloaded before the sanitizer's")
    def test_a_window_whose_file_cannot_be_closed(self):
        """Its header stands, the disk is full: the next one tells what is lost, and no repair is promised."""
        with tempfile.TemporaryDirectory() as folder:
            out, full = os.path.join(folder, "out"), os.path.join(folder, "full")

            def begun():
                """The header is there, of which the spool tells; from now on there is no room."""
                if not harness.traces(out):
                    return False
                with open(full, "w", encoding="ascii"):
                    return True

            def given_up():
                with open(os.path.join(folder, "said"), encoding="utf-8") as said:
                    if "has no ledger" not in said.read():
                        return False
                os.unlink(full)
                return True

            steps = "work=1 Start rest-until launch=100 Stop rest-until Start work=40 Stop work=1"
            with open(os.path.join(folder, "said"), "w", encoding="utf-8") as said:
                status = harness.gate.run(
                    harness.command([PROGRAM, *steps.split()], folder=out, truth=folder,
                                    options=("GPUTRACE_CAPTURE_RANGE=" + API, REPEAT, "GPUTRACE_SPOOL=" + folder,
                                             f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", "FAILWRITE_WHILE=" + full,
                                             f"FAILWRITE_ERRNO={errno.ENOSPC}")),
                    [begun, given_up], harness.environment(), stdout=subprocess.DEVNULL, stderr=said).returncode
            with open(os.path.join(folder, "said"), encoding="utf-8") as said:
                text = said.read()
            self.assertEqual(status, 3, text)
            self.assertIn("the next trace counts what it lacks", text)
            self.assertNotIn("repair", text)
            first, second = sorted(harness.traces(out), key=os.path.getmtime)
            self.assertEqual(harness.gate.count(out, '"ledger": {'), 1)
            ledger = self.read(second, strict=False).ledger
            self.assertEqual(ledger["launches_seen"], 3 * 140)
            for kind in ("kernels", "memcpys", "memsets"):
                self.assertEqual((ledger[kind + "_written"], ledger[kind + "_not_written"]), (40, 100), kind)
            self.assertGreaterEqual(ledger["calls_not_written"], 3 * 100)
            self.assertEqual(harness.tool("repair", "--spool=" + folder, first)[0], 0)
            status, output = harness.tool("verify", first)
            self.assertEqual(status, 0, output)
            self.assertIn("not known", output)

    def test_windows_of_several_files(self):
        """--max-size: the ledger of each file balances by itself, also behind the first window."""
        paths = self.run_both("nvtx:step", "push=step work=1500 pop work=5 push=step work=1500 pop work=5", REPEAT,
                              "GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0")
        self.assertGreater(len(paths), 5)
        ledgers = [self.read(path, strict=False).ledger for path in paths]
        self.assertEqual(sum(ledger["kernels_written"] + ledger["memcpys_written"] + ledger["memsets_written"]
                             for ledger in ledgers), 2 * 3 * 1500)
        for key in ledgers[0]:
            self.assertLess(max(ledger[key] for ledger in ledgers), 1 << 62, key)

    def test_many(self):
        """One after the other, with nothing between."""
        self.check_windows("nvtx:step", "push=step work=2 pop " * 30, [(2 * i, 2) for i in range(30)], REPEAT)

    def test_nothing_in_it(self):
        """A window without work is an empty trace."""
        traces = self.windows(API, "work=1 Start Stop Start work=2 Stop", REPEAT)
        self.assertEqual([len(trace.gpu) for trace in traces], [0, 6])

    def test_the_program_ends_in_it(self):
        self.check_windows(API, "Start work=3 Stop work=2 Start work=4", [(0, 3), (5, 4)], REPEAT)

    def test_open_ranges(self):
        """A range around two windows is in both, cut at the end of the first; names are in both."""
        first, second = self.check_windows(
            "nvtx:step", "push=epoch push=step work=3 pop work=2 push=step work=2 pop work=1 pop",
            [(0, 3), (5, 2)], REPEAT)
        for trace in first, second:
            epoch, = [e for e in trace.events if e["name"] == "epoch" and e["ph"] == "X"
                      and not e.get("cat", "").startswith("gpu")]
            self.assertIs(epoch["args"].get("unfinished", False), trace is first)
            self.assertEqual(sum(e["name"] == "step" for e in trace.events if e.get("cat") == "user_annotation"), 1)
            names = {(e["name"], e["args"].get("name")) for e in trace.events if e["ph"] == "M"}
            self.assertIn(("thread_name", "stream"), {(kind, (name or "").split(" ")[0]) for kind, name in names}, names)

    def test_graphs(self):
        """A graph that was made before both windows: both say where."""
        for trace in self.windows(API, "graph work=1 Start replay=2 Stop replay=1 Start replay=2 Stop", REPEAT):
            nodes = [event for event in trace.gpu if "graph node id" in event["args"]]
            self.assertEqual(len(nodes), 6)
            for node in nodes:
                self.assertIn("make_graph", node["args"]["created by"])

    def test_whole_graphs(self):
        """GRAPH_TRACE is on from the start and stays on: with it the launch of any graph that was made without it
        crashes in CUPTI. What is launched outside of the windows is in none."""
        for before, cupti in ("", "130000"), ("graph replay=3 ", "130000"), ("graph replay=3 ", "18"):
            traces = self.windows(API, before + "Start graph replay=2 Stop graph replay=4 rest=30 replay=1 Start replay=2 "
                                  "Stop replay=3 graph Start work=1 replay=1 Stop", REPEAT, "GPUTRACE_GRAPHS=whole",
                                  cupti=cupti)
            self.assertEqual([[event["cat"] for event in trace.gpu if "graph" in event["cat"]] for trace in traces],
                             [["gpu_graph"] * launches for launches in (2, 2, 1)])
            self.assertEqual([sum(event["cat"] in GPU for event in trace.gpu) for trace in traces], [0, 0, 3])
            self.assertEqual({trace.root["metadata"]["graphs"] for trace in traces}, {"whole"})
            self.assertEqual([trace.ledger.get(key, 0) for trace in traces
                              for key in ("launches_without_record", "records_dropped")], [0] * 6)

    def test_whole_graphs_behind_the_last_window(self):
        """The kind is on until no window follows: then graphs are launched without it. At the end of the program it is left."""
        steps = f"graph replay=2 Start replay=3 Stop {LATER} rest=300 replay=2 graph replay=1"
        for end, on in ("stop", [1, 0]), ("repeat", [1]):
            for how in "whole", "off":
                with self.subTest(end=end, how=how):
                    path, = self.run_both(API, steps, "GPUTRACE_CAPTURE_RANGE_END=" + end, "GPUTRACE_GRAPHS=" + how)
                    self.assertEqual(sum(event["cat"] == "gpu_graph" for event in self.read(path).gpu), 3 if how == "whole" else 0)
                    self.assertEqual(self.truth.graph_trace, on)

    def test_duration_of_each(self):
        traces = self.windows(API, f"Start work=3 rest-until work=2 Stop work=2 Start work=4 Stop",
                              REPEAT, "GPUTRACE_DURATION=700ms")
        self.check(traces[0], 0, 3)
        self.check(traces[1], 7, 4)

    def test_launches_of_graphs(self):
        """N of them are a range, from the first one to the one behind them; with and without CUPTI."""
        for cupti in "130000", "18":
            traces = self.windows("cudaGraphLaunch:2", "graph work=2 replay=5 work=1", REPEAT, cupti=cupti)
            self.assertEqual([len(trace.gpu) for trace in traces], [6, 6, 3 + 3])
            for trace in traces:
                self.assertEqual(trace.ledger["gpu_ops_without_call"], 0)
        path, = self.run_both("cudaGraphLaunch:2", "graph work=2 replay=5 work=1", "GPUTRACE_MODE=hooks")
        launches = [call for call in self.read(path, False).calls if call["name"] == "cudaGraphLaunch"]
        self.assertEqual(len(launches), 2)
        path, = self.run_both("cudaGraphLaunch", "graph replay=3", "GPUTRACE_API=none")
        self.assertEqual(len(self.read(path, False).gpu), 3)
        path, = self.run_both("cudaGraphLaunch:2", "graph replay=12", "GPUTRACE_SCHEDULE=1,1,0,2,1")
        self.assertEqual(len(self.read(path).gpu), 12)

    def test_launches_of_graphs_on_two_threads(self):
        """A launch that waits for a window to begin has the older id, and its flow; of a window one may come late."""
        paths = self.run_both("cudaGraphLaunch:3", "graph replays=20", "GPUTRACE_CAPTURE_RANGE_END=repeat:4")
        self.assertEqual(len(paths), 4)
        for path in paths:
            launches = [call for call in self.read(path).calls if call["name"] == "cudaGraphLaunch"]
            self.assertIn(len(launches), (2, 3, 4))

    def test_shutdown(self):
        """The program gets SIGTERM behind the last window."""
        for end, count in ("stop-shutdown", 1), ("repeat-shutdown:2", 2):
            with tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "out")
                result = harness.run([PROGRAM] + "Start work=3 Stop work=2 Start work=3 Stop rest=60000".split(), folder=out,
                                     options=("GPUTRACE_CAPTURE_RANGE=" + API, "GPUTRACE_CAPTURE_RANGE_END=" + end))
                self.assertEqual(result.status, -signal.SIGTERM)
                self.assertEqual(len(result.said), 1)
                self.assertIn("the program gets SIGTERM", result.said[0])
                traces = [self.read(path) for path in harness.traces(out)]
                self.assertEqual([len(trace.gpu) for trace in traces], [9] * count)

    def test_schedule(self):
        """Skip one step; rest, warm up, record two; twice."""
        steps = "".join(f"push=ProfilerStep#{i} work={i + 1} pop " for i in range(12))
        before = [i * (i + 1) // 2 for i in range(13)]
        traces = self.check_windows("", steps, [(before[3], 4 + 5), (before[7], 8 + 9)], "GPUTRACE_SCHEDULE=1,1,1,2,2")
        self.assertEqual(sum(trace.ledger["launches_seen"] for trace in traces), 3 * (9 + 17))

    def test_schedule_of_ranges(self):
        steps = "push=it work=2 pop work=1 " * 7
        self.check_windows("nvtx:it", steps, [(3, 5), (12, 5)], "GPUTRACE_SCHEDULE=0,1,0,2")

    def test_schedule_of_named_steps(self):
        """--step-range names the steps, in whichever domain; --capture-range wins; auto names none."""
        steps = "push=it work=2 pop work=1 " * 7
        schedule = "GPUTRACE_SCHEDULE=0,1,0,2"
        traces = self.check_windows("", steps, [(3, 5), (12, 5)], schedule, "GPUTRACE_STEP_RANGE=it")
        self.assertEqual([[event["name"] for event in trace.events if str(event.get("name")).startswith("ProfilerStep#")]
                          for trace in traces], [["ProfilerStep#1", "ProfilerStep#2"], ["ProfilerStep#4", "ProfilerStep#5"]])
        self.check_windows("nvtx:it", steps, [(3, 5), (12, 5)], schedule, "GPUTRACE_STEP_RANGE=other")
        self.assertEqual(self.run_both("", steps, schedule, "GPUTRACE_STEP_RANGE=auto"), [])
        marked = "".join(f"push=ProfilerStep#{i} work=2 pop " for i in range(4))
        self.check_windows("", marked, [(2, 4)], schedule, "GPUTRACE_STEP_RANGE=auto")
        trace = self.go("", steps, schedule, "GPUTRACE_STEP_RANGE=" + "i" * 300)
        self.check(trace, 0, 21)
        self.assertIn("is no value for GPUTRACE_STEP_RANGE: with --schedule it takes a name of 255 bytes", self.said[0])

    def test_killed(self):
        """In the second window: the first trace is whole, the second recovered."""
        out = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, out)
        words = [PROGRAM] + "Start work=3 Stop work=2 Start work=4 kill".split()
        self.assertEqual(harness.run(words, folder=out, truth=out, options=(
            "GPUTRACE_CAPTURE_RANGE=" + API, REPEAT, "GPUTRACE_SPOOL=on")).status, -signal.SIGKILL)
        status, output = harness.tool("repair", out)
        self.assertEqual(status, 0, output)
        self.truth = harness.Truth(out)
        traces = sorted((self.read(path, strict=False) for path in harness.traces(out)),
                        key=lambda trace: trace.root["metadata"]["window"].split("window ")[1])
        self.check(traces[0], 0, 3)
        self.check(traces[1], 5, 4)

    def test_killed_behind(self):
        """Before anybody saw that the range had ended: nothing of what was behind it."""
        for _ in range(5):
            out = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, out)
            harness.run([PROGRAM] + "Start work=3 Stop launch=4 kill".split(), folder=out, truth=out,
                        options=("GPUTRACE_CAPTURE_RANGE=" + API, "GPUTRACE_SPOOL=on"))
            status, output = harness.tool("repair", out)
            self.assertEqual(status, 0, output)
            path, = harness.traces(out)
            self.truth = harness.Truth(out)
            self.check(self.read(path), 0, 3)

    def test_killed_between(self):
        """What passed between windows is in no trace, and the first one is whole."""
        out = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, out)
        words = [PROGRAM] + "Start work=3 Stop work=40 rest-until kill".split()
        harness.run(words, folder=out, truth=out, gates=[lambda: closed(out)], options=(
            "GPUTRACE_CAPTURE_RANGE=" + API, REPEAT, "GPUTRACE_SPOOL=on"))
        status, output = harness.tool("repair", out)
        self.assertEqual(status, 0, output)
        path, = harness.traces(out)
        self.truth = harness.Truth(out)
        self.check(self.read(path), 0, 3)


if __name__ == "__main__":
    sys.exit(unittest.main())
