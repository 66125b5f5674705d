#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Children of every kind: one trace for each process that used CUDA, with exactly its work according to the
truth file, no two of one rank in one folder, no child that hangs or keeps a thread of ours, and the program's
files untouched."""

import collections
import json
import os
import re
import shutil
import sys
import tempfile
import unittest

import harness
from happened import work_of

CHILDREN = harness.program("children")
PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "multiprocess.py")
# and no more, however many forks there are and however long they take; it says when that is full
ONE_FILE = ("GPUTRACE_MAX_SIZE=64M", "GPUTRACE_KEEP=1", "GPUTRACE_QUIET=1")
WORK = 30  # operations that a process of CHILDREN does at a time
FORKS = os.environ.get("RELIABILITY_FORKS", "100")
# GCC 12's keeps none of its locks over a fork: a child may wait for one that another thread held.
without_asan = unittest.skipIf("asan" in harness.preloading.RUNTIMES, "the sanitizer's own locks in a forked child")


def has_work(folder, processes, operations):
    """Whether the files of that many processes have that many operations."""
    kinds = [f'"cat": "{kind}"' for kind in harness.trace_file.GPU]
    return sum(sum(map(text.count, kinds)) >= operations for text in harness.gate.texts(folder)) >= processes


def pid_of(path):
    """The process of a trace, from its name HOST_PID or rankN_HOST_PID."""
    return int(re.search(r"_([0-9]+)\.", os.path.basename(path)).group(1))


def work_by_process(folder):
    """From the truth files: for each process with GPU work, the operations by (correlation, kind)."""
    found = collections.defaultdict(collections.Counter)
    for row in harness.truth_rows(folder):
        if row["truth"] == "op" and row["kind"] in harness.GPU_KINDS:
            found[row["pid"]][row["correlation"], row["kind"]] += 1
    return dict(found)


class Children(unittest.TestCase):
    def check_traces(self, folder, processes, truth):
        """As many files as processes, each complete, one of them in the folder itself. The files of a process
        (two after exec) contain all of its work and no other."""
        paths = harness.traces(folder)
        self.assertEqual(len(paths), processes, paths)
        beside = [path for path in paths if os.path.dirname(path) == folder]
        self.assertEqual(len(beside), 1, paths)
        written = collections.defaultdict(collections.Counter)
        for path in paths:
            events = harness.strict_lines(path)
            gpu = [e for e in events if e.get("cat") in harness.trace_file.GPU]
            keys = {(e["args"]["correlation"], e["cat"], e["ts"]) for e in gpu}
            self.assertEqual(len(keys), len(gpu), "an operation is there twice")
            self.assertTrue(gpu, path)
            written[pid_of(path)] += work_of(events)
        if truth:
            self.assertEqual(dict(written), work_by_process(truth))
        others = [name for name in os.listdir(folder) if name.endswith((".json", ".gz"))]
        self.assertEqual(len(others), 1, others)

    def check_worker(self, path):
        """All its work, with the launching Python line, however short it lived."""
        with open(path, encoding="utf-8") as file:
            root = json.load(file)
        self.assertEqual(root["ledger"]["memsets_written"], 10, path)
        sets = [e for e in root["traceEvents"] if e.get("cat") == "gpu_memset"]
        self.assertEqual([e for e in sets if "multiprocess.py:" not in e["args"]["launched by"]], [])

    def check(self, words, processes, options=(), at_gate=(), has_truth=True, fault="", each=None):
        """@at_gate: (processes, operations): the gate opens when the files of that many have that much. A storm
        does too much work for its file and for a truth file. @each checks each file."""
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as truth:
            folder = os.path.realpath(folder)
            traced = harness.run(words, folder=folder, options=options, fault=fault,
                                 truth=truth if has_truth else None,
                                 gates=[lambda: has_work(folder, *at_gate)] if at_gate else ())
            bare = harness.run(words, fault=fault)
            self.assertEqual((traced.status, sorted(traced.stdout.splitlines()), traced.stderr),
                             (bare.status, sorted(bare.stdout.splitlines()), bare.stderr))
            self.assertEqual(bare.status, 0, bare)
            self.assertEqual(traced.said, [])
            self.check_traces(folder, processes, truth if has_truth else None)
            for path in harness.traces(folder) if each else ():
                each(path)
            return traced

    def test_ways(self):
        for way, processes in (("before", 2), ("after", 1), ("vfork", 2), ("spawn", 2),
                               ("twice", 2), ("workers", 9), ("exec", 2)):
            with self.subTest(way=way):
                if way == "after" and "tsan" in harness.preloading.RUNTIMES:
                    self.skipTest("a child of a single thread has one of the sanitizer's own")
                self.check([CHILDREN, way], processes, at_gate=(1, WORK) if way == "exec" else ())

    def test_ways_while_a_lock_is_held(self):
        """CUPTI holds a lock while it calls us, which its flush takes too: waiting there would hang."""
        for way, processes in (("before", 2), ("vfork", 2), ("spawn", 2), ("twice", 2), ("workers", 9), ("exec", 2)):
            with self.subTest(way=way):
                self.check([CHILDREN, way], processes, at_gate=(1, WORK) if way == "exec" else (), fault="lock")

    def test_ways_while_nvml_is_asked(self):
        """A fork waits for the call of NVML that runs; what hangs there keeps no child."""
        for way, processes, fault in (("before", 2, "slow=2000"), ("workers", 9, "slow=2000"), ("twice", 2, "hang=0")):
            with self.subTest(way=way, fault=fault):
                self.check([CHILDREN, way], processes, options=("GPUTRACE_NVML=100", "SIMNVML_FAULT=" + fault))

    def test_workers_of_one_rank(self):
        """They inherit RANK: HolisticTraceAnalysis would treat each file of the folder as rank 3."""
        self.check([CHILDREN, "workers"], 9, options=("RANK=3", "WORLD_SIZE=4"))

    def test_daemon(self):
        traced = self.check([CHILDREN, "daemon"], 1)
        self.assertIn("the files of the program hold 0 bytes", traced.stdout)

    def test_no_descriptor_for_a_program_that_is_started(self):
        spools = tempfile.mkdtemp(dir="/dev/shm" if harness.has_shm() else None)
        self.addCleanup(shutil.rmtree, spools)  # it ends by _exit: its spool stays
        for options in ((), ("GPUTRACE_SAMPLE_CPU=200", "GPUTRACE_SPOOL=" + spools, "GPUTRACE_ON_CRASH=1")):
            with self.subTest(options=options):
                traced = self.check([CHILDREN, "list"], 1, options=options, at_gate=(1, WORK))
                open_there = [line for line in traced.stdout.splitlines() if line.isdigit()]
                self.assertEqual(open_there, ["0", "1", "2", "3"] * 3)  # 3: the listed folder

    def test_no_call_in_a_forked_child(self):
        """The tracer calls neither CUPTI nor CUDA there."""
        for way in ("idle", "after"):
            with self.subTest(way=way), tempfile.TemporaryDirectory() as folder:
                out, bare = os.path.join(folder, "out"), os.path.join(folder, "bare")
                os.mkdir(bare)
                traced = harness.run([CHILDREN, way], folder=out, truth=folder, gates=[lambda: has_work(out, 1, WORK)])
                self.assertEqual((traced.status, traced.said), (0, []))
                self.assertEqual(harness.run([CHILDREN, way], truth=bare).status, 0)
                faults, without = harness.Truth(folder).faults, harness.Truth(bare).faults
                self.assertEqual(faults, without)
                self.assertEqual(way == "after", faults["cuda_in_child"] > 0)  # the program's own call is noted

    @unittest.skipIf("tsan" in harness.preloading.RUNTIMES, "its runtime is too late in Python")
    def test_python(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method=method):
                self.check([sys.executable, PYTHON, method, "3"], 4, each=self.check_worker)

    @without_asan
    def test_storm(self):
        traced = self.check([CHILDREN, "storm", FORKS], 1, options=ONE_FILE, at_gate=(1, WORK), has_truth=False)
        self.assertIn(FORKS + " forks, 0 wrong", traced.stdout)

    @without_asan
    def test_storm_while_stacks_are_learned(self):
        """A child that inherits a lock of the loader, held on our behalf, hangs when it needs it."""
        traced = self.check([CHILDREN, "storm-again", FORKS], 1, options=ONE_FILE, at_gate=(1, WORK),
                            has_truth=False)
        self.assertIn(FORKS + " forks, 0 wrong", traced.stdout)

    @without_asan
    def test_storm_with_samples(self):
        traced = self.check([CHILDREN, "storm", FORKS], 1, at_gate=(1, WORK), has_truth=False,
                            options=ONE_FILE + ("GPUTRACE_SAMPLE_CPU=1000",))
        self.assertIn(FORKS + " forks, 0 wrong", traced.stdout)

    def test_workers_with_samples(self):
        self.check([CHILDREN, "workers"], 9, options=("GPUTRACE_SAMPLE_CPU=500",))


if __name__ == "__main__":
    sys.exit(unittest.main())
