#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another user of CUPTI in the same process, like PyTorch's profiler (kineto_like.c): before us, inside our
trace, twice, polite or not. The program ends as without the tracer, the other tool gets what
docs/reliability.md says, the trace has each gap with its reason, and the ledger matches the truth file."""

import concurrent.futures
import functools
import os
import sys
import tempfile
import unittest

import harness

KINETO_KEYS = ("kernels", "copies", "sets")


def read_numbers(path):
    with open(path, encoding="utf-8") as file:
        return {key: int(value) for key, value in (line.split() for line in file)}


def read_records(path):
    """What the tool got: [(category, correlation id, start, end)]."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return [(category, *map(int, numbers)) for category, *numbers in rows]


def has_notes(folder, gate):
    """Whether the trace has each name of "name=count name=count" that many times."""
    return all(harness.gate.count(folder, f'"name": "{name}"') >= int(often)
               for name, often in (part.split("=") for part in gate.split(", ")))


class Run:
    """The steps of one program, traced and not. For each gate of the steps, @gates has what must be in the
    trace before it opens, as "name of a note=count"."""

    def __init__(self, folder, how, steps, options=("GPUTRACE_COEXIST=own",), gates=(), **environment):
        words = [harness.program("coexist_" + how)] + steps.split()
        out = os.path.join(folder, "out")
        environment["KINETO_CUPTI"] = "libcupti.so.13"
        with concurrent.futures.ThreadPoolExecutor() as pool:
            alone = os.path.join(folder, "kineto-alone")
            bare = pool.submit(harness.run, words,
                               env=harness.environment(KINETO_OUT=alone, **environment))
            beside = os.path.join(folder, "kineto")
            environment["KINETO_RECORDS"] = os.path.join(folder, "records")
            conditions = [functools.partial(has_notes, out, gate) for gate in gates]
            self.traced = harness.run(words, truth=folder, folder=out, options=options,
                                      gates=conditions,
                                      env=harness.environment(KINETO_OUT=beside, **environment))
            self.bare = bare.result()
        self.kineto, self.kineto_alone = read_numbers(beside), read_numbers(alone)
        self.truth = harness.Truth(folder)
        self.path = harness.traces(out)[0]
        self.trace = harness.trace_file.Trace(self.path)
        self.ledger = self.trace.ledger
        self.said = self.traced.said
        self.records = read_records(environment["KINETO_RECORDS"])

    def notes(self, name):
        return [e["args"]["what"] for e in self.trace.events
                if e["ph"] == "i" and e.get("cat") == "gputrace" and e["name"] == name]

    def written(self):
        return sum(self.ledger[key] for key in
                   ("kernels_written", "memcpys_written", "memsets_written"))


THREADS = 3  # with records: the program's, CUPTI's worker, the tracer's that flushes


class Case(unittest.TestCase):
    def go(self, how, steps, *gates, options=("GPUTRACE_COEXIST=own",), **environment):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        run = Run(folder.name, how, steps, options, gates, **environment)
        self.assertEqual(run.traced[:3], run.bare[:3])
        self.assertEqual(run.traced.status, 3)
        self.assertEqual(run.kineto["out"], run.kineto_alone["out"], "its buffers came back")
        self.assertEqual(harness.lint(run.path), "")
        status, output = harness.tool("verify", run.path)
        self.assertEqual(status, 0, output)
        self.check_books(run)
        return run

    def check_books(self, run):
        """All written events happened; all events that were seen are written or counted."""
        ledger, operations = run.ledger, len(run.truth.operations)
        self.assertLessEqual(run.written(), operations)
        # the hooks do not see launches through the driver
        joined = run.written() - (ledger["gpu_ops_without_call"] if ledger["buffers_foreign"] else 0)
        self.assertLessEqual(joined + ledger["launches_without_record"], operations)
        self.assertEqual(ledger["capture_gaps"], len(run.notes("capture gap")))
        if not ledger["buffers_foreign"]:  # they have records from gaps, and of another tool's calls
            self.assertLessEqual(ledger["launches_in_gaps"], ledger["launches_without_record"])
        self.assertEqual(ledger["buffers_unread"], 0)

    def check_gaps(self, run, *reasons, resumed=None):
        gaps = run.notes("capture gap")
        self.assertEqual(len(gaps), len(reasons), gaps)
        for gap, reason in zip(gaps, reasons):
            self.assertIn(reason, gap)
        resumed = len(reasons) if resumed is None else resumed
        self.assertEqual(len(run.notes("capture resumed")), resumed)

    def check_switched_off(self, run):
        """Kinds are disabled one by one: this may be noticed, and undone, more than once."""
        gaps = len(run.notes("capture gap"))
        self.check_gaps(run, *["disabled activity kinds"] * max(gaps, 1))

    def check_detached(self, run):
        """What the tool had in CUPTI is gone, as after a real cuptiFinalize, and CUPTI is there."""
        self.assertEqual(run.kineto, run.kineto | {"late": 0, "refused": 0, "unknown": 0})
        self.assertLess(run.kineto["late_ticks"], 3, "one may have begun before")
        self.assertEqual(run.notes("CUPTI kept"),
                         ["cuptiFinalize detached libkineto_like_linked.so alone"])
        self.assertEqual(run.truth.faults["finalize"], 0)


class Coexist(Case):
    """--coexist=own and yield: one of the two has CUPTI."""

    def test_own_keeps_the_subscription(self):
        """CUPTI refuses the profiler's subscription: it gets no GPU events, we get all."""
        run = self.go("linked", "work=400 init start work=400 stop work=400")
        self.assertEqual(run.kineto["subscribe"], 39)
        self.assertEqual(run.kineto["kernels"], 0)
        self.assertEqual(run.kineto_alone["subscribe"], 0)
        self.check_gaps(run)
        self.assertEqual(run.written(), len(run.truth.operations))
        self.assertEqual(run.said, [])

    def test_buffers_taken_by_one_that_is_seen(self):
        """Two sessions of a tool that is linked with CUPTI and works without a subscription."""
        session = "start work=500 work-until stop rest-until work=500"
        run = self.go("linked", f"work=300 init {session} {session}", "capture gap=1",
                      "capture resumed=1", "capture gap=2", "capture resumed=2", KINETO_RUDE="1")
        self.check_gaps(run, *["libkineto_like_linked.so"] * 2)
        self.assertEqual(run.kineto["unknown"], 0, "it never got a buffer of ours")
        self.assertGreater(run.kineto["kernels"], 20)
        self.assertEqual(run.ledger["buffers_not_returned"], 0)
        self.assertEqual(len(run.said), 4)
        both = run.written() + sum(run.kineto[key] for key in KINETO_KEYS)
        self.assertGreater(both, 0.8 * len(run.truth.operations))

    def test_buffers_taken_by_one_that_is_not_seen(self):
        """By dlsym: noticed through missing records; --coexist=yield never attaches again."""
        run = self.go("dlsym", "work=400 init start work=400 work-until stop work=800",
                      "capture gap=1", KINETO_RUDE="1", options=["GPUTRACE_COEXIST=yield"])
        self.check_gaps(run, "took CUPTI's activity buffers", resumed=0)
        self.assertGreater(run.kineto["kernels"], 20)
        self.assertEqual(run.ledger["buffers_not_returned"], run.kineto["unknown"], "one for each thread with records")
        self.assertIn(run.kineto["unknown"], range(1, THREADS + 1))

    @unittest.skipIf(harness.preloading.RUNTIMES, "a sanitizer has a free() of its own")
    def test_buffers_freed_by_one_that_is_not_seen(self):
        """It frees every buffer it receives, including the one of ours that CUPTI was filling: harmless, with
        and without a spool, and the buffer is never used again."""
        for spool in ("off", "on"):
            with self.subTest(spool):
                run = self.go("dlsym", "work=400 init start work=400 work-until stop work=400",
                              "capture gap=1", KINETO_RUDE="1", KINETO_FREES="1",
                              options=["GPUTRACE_COEXIST=yield", "GPUTRACE_SPOOL=" + spool])
                self.assertIn(run.kineto["unknown"], range(1, THREADS + 1))
                self.assertEqual(run.ledger["buffers_not_returned"], run.kineto["unknown"])
                self.check_gaps(run, "took CUPTI's activity buffers", resumed=0)

    def test_buffers_taken_back_after_ten_seconds(self):
        run = self.go("dlsym", "work=300 init start work=400 stop work-until",
                      "capture resumed=1", KINETO_RUDE="1")
        self.check_gaps(run, "took CUPTI's activity buffers")

    def test_kinds_switched_off(self):
        for how in ("linked", "dlsym"):
            with self.subTest(how):
                run = self.go(how, "work=400 disable work-until", "capture resumed=1")
                self.check_switched_off(run)
                self.assertGreater(run.ledger["kernels_written"], 0)

    def test_finalized_by_one_that_is_not_seen(self):
        """We attach again; until then the hooks report the calls that they see."""
        run = self.go("dlsym", "work=400 finalize work-until work=400", "capture resumed=1")
        self.check_gaps(run, "cuptiFinalize")
        self.assertGreater(run.ledger["launches_in_gaps"], 0)
        # the driver's calls are seen by CUPTI alone
        self.assertLess(run.ledger["calls_written"], 4 * len(run.truth.operations))

    def test_finalized_by_one_that_is_seen(self):
        """Only the tool is detached: cuptiFinalize would destroy CUPTI while our thread may be in it."""
        run = self.go("linked", "work=400 finalize work=400 work-until", "CUPTI kept=1")
        self.check_detached(run)
        self.check_gaps(run)
        self.assertEqual(run.written(), len(run.truth.operations))

    def test_finalized_in_the_middle_of_a_session(self):
        """Subscribed or not, with its own buffers, kinds and clock in CUPTI, which are not called or written to
        afterwards."""
        session = "clock start work=400 finalize work-until"
        run = self.go("linked", f"work=300 init {session}", "capture resumed=1", KINETO_RUDE="1")
        self.check_detached(run)
        self.check_gaps(run, "libkineto_like_linked.so")
        self.assertGreater(run.ledger["buffers_foreign"], 0)
        run = self.go("linked", f"init work=20 rest-until {session}", "capture resumed=1",
                      "capture resumed=2")
        self.check_detached(run)
        self.check_gaps(run, *["libkineto_like_linked.so"] * 2)

    def test_finalized_before_anything_was_ours(self):
        """Then the call is passed on: nobody else uses CUPTI."""
        run = self.go("linked", "init start work=400 finalize work-until work=400",
                      "capture resumed=1")
        self.assertEqual(run.truth.faults["finalize"], 1)
        self.assertEqual(run.notes("CUPTI kept"), [])
        self.check_gaps(run, "libkineto_like_linked.so")
        self.assertGreater(run.ledger["kernels_written"], 20)

    def test_calls_do_not_wait_for_the_loader(self):
        """A library's constructor may wait for the thread that makes them."""
        plugin = os.path.join(harness.PROGRAMS, "libreliability_plugin.so")
        run = self.go("linked", f"work=300 init loading={plugin} work-until", "capture resumed=1")
        self.check_switched_off(run)

    def test_foreign_clock(self):
        """The processor's counter stamps all records: noticed, converted, at most 0.1 ms off."""
        run = self.go("linked", "work=300 clock work=400 work-until", "foreign clock=1")
        self.assertEqual(len(run.notes("foreign clock")), 1)
        self.assertEqual(run.written(), len(run.truth.operations))
        self.check_gaps(run)
        base = int(run.trace.root["baseTimeNanoseconds"])
        true = sorted(row["start"] for row in run.truth.operations if row["kind"] == "kernel")
        told = sorted(int(round(e["ts"] * 1000)) + base for e in run.trace.events
                      if e.get("cat") == "kernel")
        off = [abs(a - b) for a, b in zip(true, told)]
        self.assertLess(sorted(off)[len(off) * 9 // 10], 100000)

    def test_first_come(self):
        """A tool that subscribed before CUDA was used keeps the subscription: outside its sessions we get the
        GPU work, joined to the calls of the hooks, and after its teardown everything from CUPTI."""
        run = self.go("linked", "init once rest-until work=400 start work=400 work-until stop "
                      "rest-until work=400",
                      "capture resumed=1", "capture gap=2", "capture resumed=2")
        self.assertEqual(run.kineto, run.kineto | {"subscribe": 0, "refused": 0, "unknown": 0})
        self.assertGreater(run.kineto["kernels"], 20)
        self.check_gaps(run, *["libkineto_like_linked.so"] * 2)
        self.assertIn("another tool holds CUPTI", run.trace.root["metadata"]["mode_reason"])
        self.check_joined(run, unseen=2)
        run = self.go("linked", "init start work=500 stop teardown work-until work=400",
                      "capture resumed=1", TEARDOWN_CUPTI="1")
        # we subscribe as soon as the tool has left: its cuptiFinalize may still follow, and detaches us too
        again = len(run.notes("capture gap")) - 1
        self.assertLessEqual(again, 1)
        self.check_gaps(run, "libkineto_like_linked.so", *["detached CUPTI"] * again)
        self.assertGreater(run.kineto["kernels"], 20)
        self.assertGreater(run.ledger["kernels_written"], 20)

    def test_whole_graphs_only_from_the_start(self):
        """Graphs may have been made while CUPTI was the other tool's: they are recorded by nodes."""
        options = ["GPUTRACE_COEXIST=own", "GPUTRACE_GRAPHS=whole"]
        run = self.go("linked", "init once rest-until work=400", "capture resumed=1", options=options)
        self.assertEqual(run.trace.root["metadata"]["graphs"], "node: recording began after the start of the program")
        self.assertEqual(sum("--graphs=whole is not possible" in line for line in run.said), 1)
        session = "start work=400 work-until stop rest-until work=400"
        run = self.go("linked", f"work=300 init {session}", "capture gap=1", "capture resumed=1", KINETO_RUDE="1",
                      options=options)
        self.check_gaps(run, "libkineto_like_linked.so")
        self.assertEqual(run.trace.root["metadata"]["graphs"], "whole")
        self.assertGreater(run.ledger["kernels_written"], 20)
        run = self.go("dlsym", "work=400 finalize work-until work=400", "capture resumed=1", options=options)
        self.assertEqual(run.trace.root["metadata"]["graphs"],
                         "node: another tool detached CUPTI, and graphs may have been made since")
        self.assertGreater(run.ledger["kernels_written"], 20)

    def test_yield_gives_the_subscription(self):
        run = self.go("linked", "work=400 init start work=500 work-until stop work=400",
                      "capture gap=1", options=["GPUTRACE_COEXIST=yield"])
        self.check_given(run)
        # between the other tool's subscribing and its start the buffers may be ours for a moment
        self.assertLessEqual(len(run.notes("capture gap")), 2)

    def test_yield_has_the_buffers_beside_its_sessions(self):
        run = self.go("linked", "work=400 init rest-until work=400 start work=400 work-until stop "
                      "rest-until work=400",
                      "capture resumed=1", "capture gap=2", "capture resumed=2",
                      options=["GPUTRACE_COEXIST=yield"])
        self.check_given(run)
        self.check_gaps(run, "--coexist=yield", "libkineto_like_linked.so")
        self.check_joined(run)

    def test_its_last_buffer_comes_back(self):
        """A tool whose kinds are off still fetches its remaining records from CUPTI."""
        run = self.go("linked", "work=400 init rest-until work=400 start work=400 disable rest-until stop "
                      "work=400",
                      "capture resumed=1", "capture resumed=2", options=["GPUTRACE_COEXIST=yield"])
        self.check_given(run)
        self.assertEqual(run.kineto["kernels"], run.kineto["copies"])
        self.assertGreater(run.ledger["buffers_foreign"], 0)
        self.check_joined(run)

    def check_given(self, run):
        self.assertEqual(run.kineto, run.kineto | {"subscribe": 0, "refused": 0, "unknown": 0})
        self.assertGreater(run.kineto["kernels"], 20)
        self.assertIn("--coexist=yield", run.notes("capture gap")[0])

    def check_joined(self, run, unseen=0):
        """Copies and sets have the call that asked for them; kernels went through the driver, unseen. What
        is launched at the moment in which the buffers change hands may have none: then the program rests, or
        launches @unseen copies and sets. Work in a buffer of the other tool, which CUPTI returned when ours had
        been registered again, has none, either."""
        ledger = run.ledger
        self.assertGreater(ledger["memsets_written"], 50)
        calls = {e["args"]["correlation"]: e["name"] for e in run.trace.events
                 if e.get("cat") == "cuda_runtime"}
        asked = {"gpu_memset": "cudaMemsetAsync", "gpu_memcpy": "cudaMemcpyAsync"}
        wrong = [event for event in run.trace.events if event.get("cat") in asked
                 and calls.get(event["args"]["correlation"]) != asked[event["cat"]]]
        theirs = [event for event in wrong if self.is_in_gap(run, event)] if ledger["buffers_foreign"] else []
        self.assertLessEqual(len(wrong), len(theirs) + unseen, [event for event in wrong if event not in theirs])
        self.assertEqual([event for event in wrong if event["args"]["correlation"] in calls], [])
        self.assertLessEqual(ledger["gpu_ops_without_call"], ledger["kernels_written"] + len(wrong))

    def is_in_gap(self, run, event):
        times = {name: [e["ts"] for e in run.trace.events if e["name"] == name]
                 for name in ("capture gap", "capture resumed")}
        return any(gap < event["ts"] < resumed
                   for gap, resumed in zip(times["capture gap"], times["capture resumed"]))


CUPTI_ACTIVITY_KIND_RUNTIME = "5"
CATEGORIES = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


class Share(Case):
    """--coexist=share, the default: a tool that is linked with CUPTI gets what it asks for, and nothing is lost here."""

    def share(self, steps, *gates, options=("GPUTRACE_COEXIST=share",), **environment):
        run = self.go("linked", steps, *gates, options=options, **environment)
        self.check_gaps(run)
        self.assertEqual(run.written(), len(run.truth.operations))
        self.assertEqual(run.ledger["buffers_foreign"], 0)
        self.assertEqual(run.kineto, run.kineto | {"refused": 0, "unknown": 0, "late": 0})
        return run

    def check_last_session(self, run, exact=True):
        """All work between its begin and its end, and with @exact none from outside; in both files alike."""
        begin, end = run.kineto["begin"], run.kineto["end"]
        asked = {call["correlation"]: call["start"] for call in run.truth.calls}
        true = {(CATEGORIES[row["kind"]], row["correlation"]) for row in run.truth.operations
                if begin < asked[row["correlation"]] < end}
        got = [row[:2] for row in run.records if row[0] in CATEGORIES.values()]
        self.assertEqual(len(got), len(set(got)), "no record twice")
        self.assertGreater(len(true), 20)
        self.assertEqual(true - set(got), set())
        if exact:
            self.assertEqual(set(got) - true, set())
        self.check_alike(run)

    def check_alike(self, run):
        base = int(run.trace.root["baseTimeNanoseconds"])
        ours = {(e["cat"], e["args"]["correlation"]): int(round(e["ts"] * 1000)) + base
                for e in run.trace.events if e.get("cat") in CATEGORIES.values() and e["ph"] == "X"}
        off = [abs(ours[row[:2]] - row[2]) for row in run.records if row[0] in CATEGORIES.values()]
        self.assertLess(max(off), 1000000)

    def test_a_session(self):
        """Of a tool that subscribes; nothing is said about it."""
        run = self.share("work=300 init start work=300 stop work=300")
        self.assertEqual(run.kineto["subscribe"], 0)
        self.check_last_session(run)
        self.assertEqual(run.said, [])
        self.assertEqual(run.ledger["records_api"], 0, "a kind that only the tool has")
        self.assertIn(CUPTI_ACTIVITY_KIND_RUNTIME, {row[0] for row in run.records})

    def test_by_default(self):
        """A program with a profiler does what it does untraced, on stderr, too."""
        run = self.share("work=100 init start work=200 stop work=100", options=())
        self.assertEqual(run.kineto["subscribe"], 0)
        self.check_last_session(run)
        self.assertEqual(run.said, [])

    def test_two_subscriptions(self):
        """Beside ours one more is accepted; the next is refused, as by CUPTI."""
        run = self.share("work=50 init init work=50")
        self.assertEqual((run.kineto["subscribe"], run.kineto_alone["subscribe"]), (39, 39))

    def test_whole_graphs_by_default(self):
        """A tool that is served would get no kernels of graphs, so it is refused as with --coexist=own."""
        run = self.go("linked", "work=100 init start work=200 stop work=100", options=("GPUTRACE_GRAPHS=whole",))
        self.assertEqual((run.kineto["subscribe"], run.kineto["kernels"]), (39, 0))
        self.assertEqual(run.written(), len(run.truth.operations))
        self.assertEqual(run.trace.root["metadata"]["graphs"], "whole")

    def test_sessions_without_a_subscription(self):
        """As of today's PyTorch."""
        run = self.share("work=100 start work=200 stop work=100 start work=200 stop work=100",
                         KINETO_RUDE="1")
        self.check_last_session(run, exact=False)

    def test_a_session_before_the_device_is_used(self):
        run = self.share("start work=300 stop work=100", KINETO_RUDE="1")
        self.check_last_session(run)

    def test_finalized_in_a_session(self):
        run = self.share("work=100 init start work=300 finalize work-until", "CUPTI kept=1")
        self.check_detached(run)
        run = self.share("work=100 init start work=300 stop teardown work=100 work-until", "CUPTI kept=1",
                         TEARDOWN_CUPTI="1")
        self.check_last_session(run)
        self.check_detached(run)

    def test_its_clock(self):
        """It gets the counter's ticks, the trace has times."""
        run = self.share("work=200 init clock start work=300 stop work-until", "foreign clock=1")
        self.assertGreater(run.kineto["kernels"], 20)
        self.assertEqual(len(run.notes("foreign clock")), 1)

    def test_its_clock_while_work_is_under_way(self):
        """As PyTorch's profiler, whose user need not wait for the GPU before: CUPTI would give that work no times.
        With each session it registers its clock again."""
        session = "launch launch clock start once stop once"
        run = self.share(f"once init {session} {session} work-until", "foreign clock=1",
                         SIMCUDA_KERNEL_NS="50000000")
        self.assertEqual(run.ledger["kernels_untimed"], 0)
        self.assertEqual(run.said, [])


if __name__ == "__main__":
    sys.exit(unittest.main())
