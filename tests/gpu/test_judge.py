#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The parts of gpu-check without side effects: judgements, time, the report."""
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True

from gpucheck import frameworks, judge, live, pages, plan, preflight, process, report, rows, trace


def ended(status=0, timed_out=False, text=""):
    one = process.Ended()
    one.status, one.timed_out, one.out = status, timed_out, text
    return one


class TestCounts(unittest.TestCase):
    def test_equal(self):
        work = {"kernels": 3, "memsets": 1}
        self.assertEqual(judge.count_faults(work, work), [])

    def test_fewer(self):
        self.assertEqual(judge.count_faults({"kernels": 3}, {"kernels": 2}),
                         ["2 kernels in the trace, 3 in the program"])

    def test_sets_of_graphs_may_be_kernels(self):
        wanted = {"kernels": 90, "memsets": 10, "memcpys": 2, "graph_launches": 1}
        self.assertEqual(judge.count_faults(wanted, {"kernels": 100, "memcpys": 2}), [])
        self.assertEqual(judge.count_faults(wanted, {"kernels": 99, "memcpys": 2}),
                         ["99 kernels and memsets in the trace, 100 in the program"])
        self.assertEqual(judge.count_faults(wanted, {"kernels": 100}),
                         ["0 memcpys in the trace, 2 in the program"])

    def test_sets_without_graphs_are_no_kernels(self):
        wanted = {"kernels": 90, "memsets": 10, "graph_launches": 0}
        self.assertEqual(len(judge.count_faults(wanted, {"kernels": 100})), 2)


class TestPages(unittest.TestCase):
    REPORT = {"address": 4096, "bytes": 8192, "pages": 2, "counted": 2}

    def events(self, *places):
        return [{"name": name, "args": {"address": address, "bytes": 4096} | self.ends(name)} for name, address in places]

    def ends(self, name):
        return dict(zip(("from", "to"), pages.ENDS.get(name, ())))

    def test_both_ways_and_both_sides(self):
        found = pages.seen(self.events(*((kind, 8192) for kind in pages.KINDS)), self.REPORT)
        self.assertEqual(found["bytes"]["migration HtoD"], 4096)
        self.assertEqual(pages.faults_of(found, self.REPORT, True), [])

    def test_wrong_end(self):
        events = self.events(*((kind, 8192) for kind in pages.KINDS))
        events[0]["args"]["from"] = "GPU 0"
        self.assertEqual(pages.faults_of(pages.seen(events, self.REPORT), self.REPORT, True),
                         ["1 migration HtoD from GPU 0 to GPU 0"])

    def test_none_and_elsewhere(self):
        found = pages.seen(self.events(("migration HtoD", 12288), *((kind, 4096) for kind in pages.KINDS[1:])),
                           self.REPORT)
        self.assertEqual(pages.faults_of(found, self.REPORT | {"counted": 1}, True),
                         ["no migration HtoD in the program's managed memory", "1 migration HtoD elsewhere",
                          "the kernel counted 1 pages up instead of 2"])
        self.assertEqual(len(pages.faults_of(found, self.REPORT | {"counted": 0}, False)), 2)

    def test_table(self):
        found = {"bytes": {"migration HtoD": 5, "migration DtoH": 6}}
        row = {"Allocated By": "allocate_managed (managed)", "To GPU (B)": 5, "To CPU (B)": 6}
        for rows_there, faults in (([row], 0), ([row | {"To CPU (B)": 7}], 1), ([], 1), ([row, row], 1)):
            answer = ended(text=json.dumps({"memory_unified": rows_there}))
            self.assertEqual(len(pages.table_faults(answer, found)), faults)
        self.assertEqual(len(pages.table_faults(ended(1), found)), 1)


class TestSpread(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(judge.spread([]), {"count": 0, "worst_ns": 0, "histogram": {}})

    def test_worst_and_buckets(self):
        self.assertEqual(judge.spread([5, -2_000, 999_999, 3_000_000_000]),
                         {"count": 4, "worst_ns": 3_000_000_000,
                          "histogram": {"< 1 us": 1, "< 10 us": 1, "< 1 ms": 1, ">= 1 s": 1}})

    def test_told(self):
        self.assertEqual(judge.time_faults([7, 9], [], [1]),
                         ["2 GPU operations before their call, the worst by 9 ns",
                          "1 GPU operations overlapping in one lane, the worst by 1 ns"])


class TestTraced(unittest.TestCase):
    def test_traced(self):
        self.assertEqual(judge.not_traced("", [], "cupti", "", 1), "")

    def test_command_says_so(self):
        said = "gputrace: the program runs untraced: libyajl"
        self.assertEqual(judge.not_traced(said, [], None, None, 0), said)

    def test_no_trace(self):
        self.assertEqual(judge.not_traced("", ["gputrace: why"], None, None, 0),
                         "no trace was written | gputrace: why")

    def test_other_mode(self):
        self.assertEqual(judge.not_traced("", [], "hooks", "refused with 39", 1),
                         "mode hooks: refused with 39")
        self.assertEqual(judge.not_traced("", [], "hooks", "", 1, "hooks"), "")


class TestEnded(unittest.TestCase):
    def test_verdicts(self):
        for one, verdict in ((ended(0), judge.OK), (ended(None, True), judge.HUNG),
                             (ended(-11), judge.CRASHED), (ended(139), judge.CRASHED),
                             (ended(77), judge.SKIPPED), (ended(1), judge.BAD)):
            self.assertEqual(judge.of_ended(one)[0], verdict)

    def test_names_the_signal(self):
        self.assertEqual(judge.of_ended(ended(-signal.SIGSEGV))[1], "killed by SIGSEGV")

    def test_probe(self):
        self.assertEqual(judge.of_probe(ended(1)), (judge.BAD, "does not hold"))
        self.assertEqual(judge.of_probe(ended(0)), (judge.OK, ""))

    def test_exit_status(self):
        fine = [{"verdict": judge.OK}, {"verdict": judge.SKIPPED}]
        self.assertEqual(judge.exit_status(fine, True), 0)
        self.assertEqual(judge.exit_status([], False), 1)
        for verdict in (judge.BAD, judge.HUNG, judge.CRASHED, judge.NOT_TRACED):
            self.assertEqual(judge.exit_status([{"verdict": verdict}], True), 1)

    def test_a_row_that_was_not_tried(self):
        """The later rounds of the overhead take what time there is."""
        for group, name, is_open in (("probes", "p", True), ("overhead", "overhead p, round 1", True),
                                     ("overhead", "overhead p, round 2", False)):
            row = {"verdict": judge.NO_TIME, "group": group, "name": name}
            self.assertEqual(judge.is_open(row), is_open)
            self.assertFalse(judge.is_open(row | {"verdict": judge.OK}))


class TestRanks(unittest.TestCase):
    @staticmethod
    def run_of(told, report, **ledger):
        one = types.SimpleNamespace(ledger={"nccl_operations_told": told} | ledger, losses=lambda: [])
        return types.SimpleNamespace(report=report, traces=[one, one])

    def test_faults(self):
        bare = self.run_of(9, {"operations": 9})
        self.assertEqual(frameworks.rank_faults(bare, bare), [])
        self.assertEqual(frameworks.rank_faults(self.run_of(8, bare.report), bare),
                         ["NCCL reported 8 operations, 9 were asked for"] * 2)
        unmatched = self.run_of(9, bare.report, nccl_operations_unmatched=1)
        self.assertEqual(frameworks.rank_faults(unmatched, bare), ["nccl_operations_unmatched: 1"] * 2)
        self.assertEqual(len(frameworks.rank_faults(self.run_of(9, {}), bare)), 1)
        unmatched.traces.pop()
        self.assertIn("1 traces of two ranks", frameworks.rank_faults(unmatched, bare))


class TestOverhead(unittest.TestCase):
    @staticmethod
    def row(level, ns=None, verdict=judge.OK):
        return {"program": "p", "level": level, "verdict": verdict, "ns_per_launch": ns,
                "reason": "why"}

    def test_adds_to_the_best(self):
        table = judge.overhead([self.row(judge.BASE, 100), self.row("kernels", 190),
                                self.row(judge.BASE, 90), self.row("kernels", 150)])
        self.assertEqual(table["p"]["kernels"],
                         {"best": 150, "median": 170, "all": [190, 150], "added": 60})

    def test_not_traced_has_no_number(self):
        table = judge.overhead([self.row(judge.BASE, 100), self.row("kernels", 101),
                                self.row("kernels", None, judge.NOT_TRACED)])
        self.assertEqual(table["p"]["kernels"], {"why": "not traced: why"})

    def test_without_an_untraced_run_nothing_is_added(self):
        self.assertNotIn("added", judge.overhead([self.row("kernels", 101)])["p"]["kernels"])


class TestPlan(unittest.TestCase):
    def test_limits(self):
        now = [1000.0]
        clock = plan.Clock(540, 25, lambda: now[0])
        self.assertEqual(clock.limit(), 25)
        self.assertEqual(clock.limit(60), 60)
        now[0] += 525
        self.assertEqual(clock.limit(), 10)
        self.assertFalse(clock.is_over())
        now[0] += 8
        self.assertTrue(clock.is_over())

    def test_a_group_over_its_share_comes_last(self):
        table = [rows.Row(name, group, None) for name, group in
                 (("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", "c"))]
        queue, order = plan.Queue(table, {"a": 10}), []
        while queue:
            row = queue.next()
            order.append(row.name)
            queue.used(row, 11)
        self.assertEqual(order, ["a1", "b1", "c1", "a2"])

    def test_table(self):
        table = rows.table([("one", "claim")], ["hang-on-purpose"])
        names = [row.name for row in table]
        self.assertEqual(names[:2], ["probe hang-on-purpose", "probe one"])
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue({row.group for row in table} <= set(rows.SHARES))


class TestMachine(unittest.TestCase):
    def test_glibc(self):
        self.assertTrue(preflight.older("2.31", "2.34"))
        self.assertFalse(preflight.older("2.36", "2.4"))
        self.assertFalse(preflight.older("unknown", "2.34"))
        self.assertEqual(preflight.obstacles({"glibc": "2.31"}, {"a": "2.34", "b": "2.17"}),
                         ["a needs glibc 2.34, the machine has 2.31"])

    def test_refusal(self):
        found = {"first program": "exit status 1", "obstacles": []}
        self.assertEqual(preflight.refusal(found, False), ("no usable GPU here: exit status 1", 77))
        self.assertEqual(preflight.refusal(found, True)[1], 1)
        found["obstacles"] = ["a needs glibc 2.34, the machine has 2.31"]
        self.assertEqual(preflight.refusal(found, False), (found["obstacles"][0], 1))

    def choose(self, works):
        tried = []

        def trial(path):
            tried.append(path)
            return path in works
        found = {"cupti": ["/usr/lib/x"], "bundled cupti": "/bundle/y"}
        return preflight.choose_cupti(found, trial), tried

    def test_cupti_by_itself(self):
        (chosen, _), tried = self.choose({""})
        self.assertEqual((chosen, tried), ("", [""]))

    def test_cupti_of_the_machine_before_that_of_the_bundle(self):
        self.assertEqual(self.choose({"/usr/lib/x", "/bundle/y"})[0][0], "/usr/lib/x")
        self.assertEqual(self.choose({"/bundle/y"})[0][0], "/bundle/y")
        self.assertEqual(self.choose(set())[0][0], "")


class TestProcess(unittest.TestCase):
    def test_limit(self):
        words = ["sh", "-c", "sleep 600 & wait"]
        one = process.run(words, dict(os.environ), 0.5)
        self.assertTrue(one.timed_out)
        self.assertIn("sleep 600", one.stacks)
        self.assertEqual(one.how(), "still running after 0.5 s")

    def test_what_it_leaves_behind_holds_nobody_up(self):
        one = process.run(["sh", "-c", "sleep 1000 & echo $!"], dict(os.environ), 600)
        os.kill(int(one.out), signal.SIGKILL)  # still there
        self.assertEqual(one.status, 0)

    def test_missing(self):
        self.assertEqual(process.run(["/nonexistent/program"], {}, 1).status, 127)


def slice_of(category, ts, dur, tid, correlation):
    return {"ph": "X", "cat": category, "name": "one", "pid": 0, "tid": tid, "ts": ts, "dur": dur,
            "args": {"correlation": correlation, "launched by": "main"}}


class TestTrace(unittest.TestCase):
    def read(self, *events):
        content = {"baseTimeNanoseconds": 1000, "metadata": {"mode": "cupti"}, "ledger": {},
                   "traceEvents": list(events)}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(content, file)
            file.flush()
            return trace.Trace(file.name)

    def test_good_times(self):
        one = self.read(slice_of("cuda_driver", 1.0, 1.0, 5, 1), slice_of("kernel", 2.0, 1.0, 7, 1),
                        slice_of("kernel", 3.0, 1.0, 7, 1))
        self.assertEqual(one.time_errors(2000, 5000), ([], [], []))
        self.assertEqual((one.counts()["kernels"], one.unlinked()), (2, []))

    def test_whole_graphs_are_work(self):
        one = self.read(slice_of("cuda_runtime", 1.0, 1.0, 5, 1), slice_of("gpu_graph", 2.0, 1.0, 7, 1))
        self.assertEqual((one.counts()["graphs"], one.counts()["kernels"], one.unlinked()), (1, 0, []))

    def test_by_how_much(self):
        one = self.read(slice_of("cuda_driver", 2.5, 1.0, 5, 1), slice_of("kernel", 2.0, 1.0, 7, 1),
                        slice_of("kernel", 2.9, 1.0, 7, 2))
        self.assertEqual(one.time_errors(3010, 4850), ([500], [10, 50], [100]))
        self.assertEqual(len(one.unlinked()), 1)

    def test_notes(self):
        note = {"ph": "i", "cat": "gputrace", "name": "capture gap", "ts": 1.0, "args": {}}
        self.assertEqual(self.read(note).notes, ["capture gap {}"])


class TestReport(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gputrace-report-")
        self.addCleanup(self.folder.cleanup)
        self.out = pathlib.Path(self.folder.name)

    def read(self):
        return json.loads((self.out / "gpu-check-report.json").read_text(encoding="utf-8"))

    def test_a_report_that_cannot_be_written(self):
        one = report.Report(self.out)
        shutil.rmtree(self.out)
        one.write()
        self.assertIn("No such file", one.unwritten)
        os.mkdir(self.out)
        one.write()
        self.assertEqual((one.unwritten, len(os.listdir(self.out))), ("", 2))

    def test_is_whole_after_each_row(self):
        one = report.Report(self.out)
        one.plan(["a", "b"])
        one.add({"name": "a", "group": "probes", "verdict": judge.HUNG, "seconds": 1.0,
                 "reason": "still running", "stacks": "thread 1"})
        content = self.read()
        self.assertEqual((content["ended"], content["not reached"], content["bad"]),
                         ("under way, or killed", ["b"], 1))
        text = (self.out / "gpu-check-report.txt").read_text(encoding="utf-8")
        self.assertIn("thread 1", text)
        self.assertIn("Not reached: b", text)
        one.finish("complete")
        self.assertEqual(self.read()["ended"], "complete")
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["gpu-check-report.json", "gpu-check-report.txt"])

    def test_too_large_captures_stay(self):
        captures = self.out / "captures"
        captures.mkdir()
        (captures / "small").write_bytes(b"x" * 100)
        with open(captures / "large", "wb") as file:
            file.truncate(report.MOST_FILE + 1)
        self.assertEqual(report.pack_captures(captures, self.out),
                         (["gpu-check-captures.tar.gz"], ["large"]))


class TestSteps(unittest.TestCase):
    def test_blocks_that_lie_in_a_span(self):
        text = "ready 3\n100.02 9.0\n100.5 8.0\n101.2 10.0\n101.95 12\n102.01 3"
        self.assertEqual(live.median_between(text, 100, 102), 10.0)
        self.assertIsNone(live.median_between(text, 200, 300))


if __name__ == "__main__":
    unittest.main()
