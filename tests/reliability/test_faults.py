#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every misbehaviour of CUPTI that the simulated device can simulate: the program's output, status and
descriptors are as without the tracer, it ends, the trace is readable, and the ledger reports what was lost
and why, in agreement with the truth file. The same for calls lost because a ring was full."""

import collections
import json
import os
import sys
import tempfile
import unittest

import harness
from happened import Happened, work_of

ROUNDS = 40
WORK = [harness.program("workload"), "rounds", str(ROUNDS)]
THREADS = 3
OPERATIONS = 3 * THREADS * ROUNDS
BEFORE_DEATH = 100  # kernels
DYING = [harness.program("workload"), "again", str(BEFORE_DEATH)]

WRITTEN = ("kernels_written", "memcpys_written", "memsets_written")
UNTIMED = ("kernels_untimed", "memcpys_untimed", "memsets_untimed")

# The ledger's keys for losses and oddities: those that a row does not name must be 0.
LOSSES = UNTIMED + (
    "calls_lost_ring_full", "calls_lost_no_thread", "calls_open_at_end", "records_unknown_kind",
    "records_insane", "records_dropped_by_cupti", "unreadable_bytes", "buffers_foreign",
    "buffers_discarded", "buffers_discarded_bytes", "gpu_ops_without_call",
    "launches_without_record", "times_reversed", "gpu_before_launch", "times_ahead",
    "times_unknown_clock", "times_foreign_clock", "clock_steps", "correlation_evicted",
    "events_lost_disk", "events_lost_before_file", "events_lost_memory",
    "events_lost_at_kill", "strings_refused",
    "stacks_refused", "ranges_lost", "buffers_not_returned", "buffers_unread")


class Case:
    """One run under a fault: the trace, the truth file, the messages."""

    def __init__(self, folder, fault, cupti, traced):
        self.fault, self.cupti, self.said = fault, cupti, traced.said
        self.truth = harness.Truth(folder)
        paths = harness.traces(os.path.join(folder, "out"))
        if len(paths) != 1:
            raise AssertionError(f"{len(paths)} files")
        self.path = paths[0]
        self.trace = harness.trace_file.Trace(self.path)
        self.ledger = self.trace.ledger
        self.notes = [e for e in self.trace.events if e["ph"] == "i" and e["cat"] == "gputrace"]

    def written(self):
        return sum(self.ledger[key] for key in WRITTEN)

    def untimed(self):
        return sum(self.ledger[key] for key in UNTIMED)

    def faults(self, name):
        return self.truth.faults[name]


def nothing_lost(case):
    return {"written": OPERATIONS}


def hooks_only(case):
    return {"written": 0, "launches_without_record": case.ledger["launches_seen"], "said": 1,
            "mode": "hooks only"}


def held_by_another(case):
    """From 13.0 on CUPTI reports the other subscriber."""
    name = ": simulated tool" if case.cupti == "130000" else ""
    return {**hooks_only(case), "gap notes": 1,
            "gap": "cuptiSubscribe failed with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39): another tool holds CUPTI in this process "
                   "(nsys, ncu, cuda-gdb, torch.profiler)" + name}


def kinds_missing(*kinds):
    def expect(case):
        lost = sum(row["kind"] in kinds for row in case.truth.operations)
        return {"written": OPERATIONS - lost, "launches_without_record": lost, "said": 1}
    return expect


def dropped(case):
    return {"written": OPERATIONS - case.faults("drop"),
            "launches_without_record": case.faults("drop")}


def dropped_and_counted(case):
    return {"written": OPERATIONS - case.faults("dropped"), "records_dropped_by_cupti": case.faults("dropped"),
            "launches_without_record": case.faults("dropped"), "told as dropped": case.faults("dropped")}


def zeroed(case):
    return {"written": OPERATIONS - case.faults("zero_ts"), "untimed": case.faults("zero_ts"),
            "notes of untimed": case.faults("zero_ts")}


def reversed_times(case):
    return {"written": OPERATIONS, "times_reversed": case.faults("reverse_ts")}


def early(case):
    return {"written": OPERATIONS, "gpu_before_launch": case.faults("early")}


def no_correlation(case):
    return {"written": OPERATIONS, "gpu_ops_without_call": case.faults("null_corr"),
            "launches_without_record": case.faults("null_corr")}


def unknown_kind(case):
    return {"written": OPERATIONS, "records_unknown_kind": case.faults("unknown_kind")}


def stepped(key, after):
    return lambda case: {"written": OPERATIONS, key: OPERATIONS - after}


def no_clock(after):
    """Time stamps of an unknown clock: instants, not slices at an invented time."""
    return lambda case: {"written": after, "untimed": OPERATIONS - after,
                         "times_unknown_clock": case.ledger["times_unknown_clock"],
                         "notes of untimed": OPERATIONS - after}


def another_clock(case):
    """Its distance was measured: the times are right."""
    offset = int(case.trace.root["metadata"]["cupti_clock_offset_ns"])
    base = case.trace.root["baseTimeNanoseconds"]
    starts = sorted(round(event["ts"] * 1000) + base for event in case.trace.gpu)
    true = sorted(op["start"] for op in case.truth.operations)
    return {"written": OPERATIONS, "times_foreign_clock": case.ledger["times_foreign_clock"] or "more than 0",
            "clock": True if abs(offset - int(case.fault.split("=")[1])) < 10**5 else offset,
            "off by": max(abs(a - b) for a, b in zip(starts, true)) // 10**5}


def many_overheads(case):
    """As many as a real one has, and more."""
    return {"written": OPERATIONS, "overheads": True}


def enabled_early(case):
    """Before there is a context, when it costs nothing."""
    return {"written": OPERATIONS, "slow_enable": 0}


def invalid_last(case):
    lost = sum(row["fault"] == "invalid_last" and row["kind"] in (1, 2, 10)
               for row in case.truth.fault_rows)
    return {"unreadable_bytes": sum(row["bytes"] for row in case.truth.fault_rows),
            "written": OPERATIONS - lost, "launches_without_record": lost}


def never_delivered(case):
    lost, kept = OPERATIONS - case.written(), case.ledger["buffers_not_returned"]
    some = "more than 0" if "steal" in case.fault else 0  # full buffers were delivered without a flush
    return {"written": OPERATIONS - lost, "launches_without_record": lost or some,
            "buffers_not_returned": kept or some}


def fatal(case):
    """Delivered records are in the trace; launches are reported by CUPTI until then, and by the hooks of the
    runtime afterwards. Each thread may have been in a launch at that moment."""
    written, seen = len(case.truth.delivered), case.ledger["launches_seen"]
    told, later = case.truth.launches_before("fatal")
    expected = told + sum(name.startswith("cuda") for name in later)
    open_calls, unlinked = case.ledger["calls_open_at_end"], case.ledger["gpu_ops_without_call"]
    return {"written": written, "launches_without_record": seen - written + unlinked, "said": 1,
            "launches_seen": seen if abs(seen - expected) <= THREADS else expected,
            "calls_open_at_end": open_calls,
            "gpu_ops_without_call": min(unlinked, open_calls),  # their work was delivered before
            "gap notes": 1}


def mixture(case):
    zero, null, drop = (case.faults(name) for name in ("zero_ts", "null_corr", "drop"))
    unlinked = case.ledger["gpu_ops_without_call"]
    return {"written": OPERATIONS - zero - drop, "untimed": zero,
            "notes of untimed": zero, "launches_without_record": drop + null,
            "gpu_ops_without_call": unlinked, "times_reversed": case.ledger["times_reversed"]}


MATRIX = [
    ("", nothing_lost),
    ("subscribe=39", held_by_another),
    ("subscribe=35", hooks_only),
    ("subscribe=15", hooks_only),
    ("subscribe=999", hooks_only),
    ("enable:10=14", kinds_missing("kernel")),
    ("enable:1=999", kinds_missing("memcpy")),
    ("enable:2=35", kinds_missing("memset")),
    ("drop=7", dropped),
    ("dropped=7", dropped_and_counted),
    ("zero_ts=7", zeroed),
    ("reverse_ts=7", reversed_times),
    ("early=7", early),
    ("null_corr=7", no_correlation),
    ("unknown_kind=7", unknown_kind),
    ("clock_step=30000000000@20", stepped("times_ahead", 20)),
    ("clock_step=-30000000000@20", stepped("gpu_before_launch", 20)),
    ("clock_step=3600000000000@20", no_clock(20)),
    ("clock_step=-3600000000000@20", no_clock(20)),
    ("tsc", no_clock(0)),
    ("clock_ahead=604800000000000", another_clock),
    ("clock_ahead=1000000", another_clock),
    ("clock_ahead=-5000000000", another_clock),
    ("clock_ahead=-604800000000000", another_clock),
    ("linger=100", nothing_lost),  # records arrive before their call has returned
    ("linger=100,clock_step=30000000000@20", stepped("times_ahead", 20)),
    ("linger=100,clock_step=-30000000000@20", stepped("gpu_before_launch", 20)),
    ("linger=100,clock_step=-3600000000000@20", no_clock(20)),
    ("overheads=5", many_overheads),
    ("slow_enable=2000000000", enabled_early),
    ("invalid_last", invalid_last),
    ("shuffle", nothing_lost),
    ("poison", nothing_lost),
    ("lock", nothing_lost),
    ("lock,shuffle,poison", nothing_lost),
    ("flush=hang", never_delivered),
    ("steal=10", never_delivered),
    ("fatal=60", fatal),
    ("drop=11,zero_ts=7,reverse_ts=5,null_corr=13,shuffle", mixture),
]


def found(case, key):
    values = {"written": case.written, "untimed": case.untimed,
              "slow_enable": lambda: case.faults("slow_enable"),
              "overheads": lambda: case.ledger["overheads_written"] == case.ledger["records_overhead"] >=
              5 * OPERATIONS,
              "clock": lambda: True,
              "off by": lambda: 0,
              "said": lambda: len(case.said),
              "mode": lambda: case.trace.root["metadata"]["mode"],
              "notes of untimed": lambda: sum(e["name"].endswith("(untimed)") for e in case.notes),
              "gap notes": lambda: sum(e["name"] == "capture gap" for e in case.notes),
              "gap": lambda: "".join(e["args"]["what"] for e in case.notes if e["name"] == "capture gap"),
              "told as dropped": lambda: sum(e["args"]["GPU records"] for e in case.notes
                                             if e["args"].get("cause") == "dropped by CUPTI")}
    return values[key]() if key in values else case.ledger[key]


def has_word(path, word):
    with open(path, encoding="utf-8") as file:
        return word in file.read()


class Faults(unittest.TestCase):
    def bare(self, fault, cupti):
        return harness.run(WORK, fault=fault, cupti=cupti)

    def check_books(self, case, expected):
        self.assertEqual(len(case.truth.operations), OPERATIONS)
        for key, value in expected.items():
            self.assertEqual(found(case, key), value, key)
        named = set(expected) | (set(UNTIMED) if "untimed" in expected else set())
        for key in LOSSES:
            if key not in named:
                self.assertEqual(case.ledger[key], 0, key)
        if "said" not in expected:
            self.assertEqual(case.said, [])

    def check(self, fault, expect, cupti):
        with tempfile.TemporaryDirectory() as folder:
            # waiting for a flush that hangs ends sooner
            options = ("GPUTRACE_EXIT_TIMEOUT=5000",) if "flush=hang" in fault else ()
            traced = harness.run(WORK, fault=fault, cupti=cupti, truth=folder, options=options,
                                 folder=os.path.join(folder, "out"))
            bare = self.bare(fault, cupti)
            self.assertEqual(traced[:3], bare[:3])
            case = Case(folder, fault, cupti, traced)
            self.check_books(case, expect(case))
            self.assertEqual(harness.lint(case.path), "")
            status, output = harness.tool("verify", case.path)
            self.assertEqual(status, 0, output)
            for key in LOSSES:  # verify names each loss
                if case.ledger[key]:
                    self.assertIn(key, output)

    def test_every_fault(self):
        for fault, expect in MATRIX:
            with self.subTest(fault=fault or "none"):
                self.check(fault, expect, "130000")

    def test_memset_of_a_graph_by_a_kernel(self):
        """Kernels and memsets together are what was launched; the kernel has the node of the memset."""
        words = [harness.program("workload"), "mixed", "50"]
        with tempfile.TemporaryDirectory() as folder:
            traced = harness.run(words, fault="memset_kernels", truth=folder, folder=os.path.join(folder, "out"))
            self.assertEqual(traced[:3], harness.run(words)[:3])
            case = Case(folder, "memset_kernels", "130000", traced)
            self.assertEqual(harness.tool("verify", case.path)[0], 0)
        self.assertEqual([case.ledger[key] for key in WRITTEN], [100, 50, 0])
        self.assertEqual([case.ledger[key] for key in LOSSES if case.ledger[key]], [])
        nodes = {kind: {op["node"] % 2**32 for op in case.truth.operations if op["kind"] == kind}
                 for kind in ("kernel", "memset")}
        found = {(e["name"], e["args"]["graph node id"]) for e in case.trace.gpu if e["cat"] == "kernel"}
        self.assertEqual({node for _, node in found}, nodes["kernel"] | nodes["memset"])
        self.assertEqual({node for name, node in found if name == "memset32_post"}, nodes["memset"])

    def test_an_old_cupti(self):
        for fault, expect in MATRIX:
            if fault in ("", "subscribe=39", "drop=7", "dropped=7", "zero_ts=7", "tsc", "invalid_last", "shuffle"):
                with self.subTest(fault=fault or "none"):
                    self.check(fault, expect, "18")

    def test_no_cupti(self):
        self.check("", hooks_only, "none")

    def test_a_cupti_that_cannot_be_loaded(self):
        """The loader's reason is reported, once."""
        with tempfile.TemporaryDirectory() as folder:
            damaged = os.path.join(folder, "libcupti.so.13")
            with open(damaged, "w", encoding="utf-8") as file:
                file.write("no library")
            traced = harness.run(WORK, options=("GPUTRACE_CUPTI=" + damaged,),
                                 folder=os.path.join(folder, "out"))
            self.assertEqual(traced[:3], self.bare("", "130000")[:3])
            said, = traced.said
            self.assertIn(f"given by --cupti: {damaged}: file too short", said)

    @unittest.skipIf(harness.preloading.RUNTIMES, "the sanitizer's own write() is in front")
    def test_calls_faster_than_they_are_taken(self):
        """While the tracer's thread waits for its disk, a ring of minimum size overflows. Each call in the truth file
        is written or counted, and each operation, also where CUPTI has lost the record of a lost call's."""
        for fault in ("", "drop=7"):
            with self.subTest(fault=fault):
                self.check_fast_calls(fault)

    def check_fast_calls(self, fault):
        work = [harness.program("workload"), "held", "1000"]
        shim = os.path.join(harness.PROGRAMS, "libfailwrite.so")
        options = (f"LD_PRELOAD={shim}:{harness.LIBRARY}", "FAILWRITE_FROM=2", "FAILWRITE_GATE=1", "GPUTRACE_RING_SIZE=16K")
        with tempfile.TemporaryDirectory() as folder:
            told, out = os.path.join(folder, "told"), os.path.join(folder, "out")
            traced = harness.run_into(told, work, folder=out, truth=folder, options=options, fault=fault,
                                      gates=[lambda: has_word(told, "held")])
            self.assertEqual(traced[:3], harness.run_into(told, work)[:3])
            path, = harness.traces(out)
            self.check_calls(harness.trace_file.Trace(path), harness.Truth(folder))
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
            self.assertIn("calls_lost_ring_full", output)
            self.assertEqual(harness.lint(path), "")

    def check_calls(self, trace, truth):
        lost = trace.ledger["calls_lost_ring_full"]
        thinned = trace.ledger["calls_thinned"] + trace.ledger["calls_thinned_later"]
        there = collections.Counter(call["name"] for call in trace.calls)
        made = collections.Counter(call["name"] for call in truth.calls if not call["nested"])
        of_those = {*there, "cudaDeviceSynchronize"}  # other calls are not recorded
        self.assertGreater(lost, 0)
        self.assertEqual(sum(made[name] - there[name] for name in of_those), lost + thinned)
        notes = [e["args"] for e in trace.events if e["name"] == "LOST"]
        self.assertEqual({note["cause"] for note in notes}, {"ring full"})
        self.assertEqual(sum(note["API calls"] for note in notes), lost)
        self.assertEqual(len(trace.gpu) + trace.ledger["launches_without_record"], len(truth.operations))

    def leave_one_running(self, folder, cupti, options=(), fault=""):
        """The program ends as without the tracer. Returns its traces, closed by repair if necessary."""
        work, out = [harness.program("workload"), "unending", str(ROUNDS)], os.path.join(folder, "out")
        traced = harness.run(work, folder=out, truth=folder, cupti=cupti, options=options, fault=fault)
        self.assertEqual(traced[:3], harness.run(work, cupti=cupti)[:3])
        self.assertEqual(traced.status, 3)
        paths = harness.traces(out)
        for path in paths:
            status, output = harness.tool("repair", path)
            self.assertEqual(status, 0, output)
            self.assertEqual(harness.lint(path), "")
        return paths

    def test_kernel_that_never_ends(self):
        """Work that was waited for is in the trace, the kernel is counted."""
        for cupti, fault, key in (("130000", "", "records_unfinished"), ("18", "", "records_unfinished"),
                                  ("130000", "unreadable", "launches_without_record")):
            with self.subTest(cupti=cupti, fault=fault), tempfile.TemporaryDirectory() as folder:
                path, = self.leave_one_running(folder, cupti, fault=fault)
                trace, truth = harness.trace_file.Trace(path), harness.Truth(folder)
                self.assertEqual((len(trace.gpu), len(truth.operations)), (3 * ROUNDS, 3 * ROUNDS + 1))
                self.assertEqual(trace.ledger[key], 1)
                status, output = harness.tool("verify", path)
                self.assertEqual(status, 0, output)
                self.assertIn({"records_unfinished": "1 kernels_untimed"}.get(key, "1 " + key), output)

    def test_kernel_that_never_ends_and_little_time(self):
        """With the default time limit; on a busy machine repair then has to close the file."""
        with tempfile.TemporaryDirectory() as folder:
            self.leave_one_running(folder, "130000", options=("GPUTRACE_EXIT_TIMEOUT=2000",))

    def test_no_device(self):
        """The driver finds no GPU: the program sees its error, nothing is written."""
        env = harness.environment(SIMCUDA_DEVICES="0")
        with tempfile.TemporaryDirectory() as folder:
            traced = harness.run(WORK, env=env, folder=folder)
            bare = harness.run(WORK, env=env)
            self.assertEqual(bare.status, 97)
            self.assertEqual(traced[:3], bare[:3])
            self.assertEqual(harness.traces(folder), [])

    def test_death_in_a_launch(self):
        """The process dies inside a launch: the same status, one file, complete and with a correct ledger after repair."""
        for fault in ("die:abort=150", "die:exit=150", "die:kill=150", "die:segv=150"):
            with self.subTest(fault=fault), tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "out")
                traced = harness.run(DYING, fault=fault, truth=folder, folder=out,
                                     gates=[lambda: harness.gate.count(out, '"cat": "kernel"') >= BEFORE_DEATH])
                bare = harness.run(DYING, fault=fault)
                self.assertEqual(traced[:3], bare[:3])
                self.assertNotEqual(bare.status, 3)
                path, = harness.traces(out)
                harness.strict_lines(path)
                status, output = harness.tool("repair", path)
                self.assertEqual((status, "not recovered" in output), (0, False), output)
                self.assertEqual(harness.lint(path), "")
                status, output = harness.tool("verify", path)
                self.assertEqual(status, 0, output)
                self.check_dead(path, Happened(folder))

    def check_dead(self, path, happened):
        """The file has all earlier events, and none that did not happen."""
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        kernels = [key for key in work_of(events) if key[1] == "kernel"]
        self.assertGreaterEqual(len(kernels), BEFORE_DEATH)
        self.assertEqual(set(work_of(events)) - set(happened.ends), set())
        self.assertEqual(happened.wrong_in(events, has_spool=False), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
