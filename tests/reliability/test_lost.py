#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace that had stopped, on a full disk or at its limit, and its process is killed: with what the spool
holds, the ledger says what was lost and why, the trace has a note at the hole, and each launch is written,
lost, or without a record."""

import errno
import glob
import itertools
import json
import os
import shutil
import sys
import tempfile
import unittest

import harness

FAST = 8000
SLOW = 1000  # rounds that follow, one a millisecond
ROUNDS = FAST + SLOW
THREADS = 3  # of `rounds`
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
NETFS = os.path.join(harness.PROGRAMS, "libnetfs.so")
BENCH = os.path.join(harness.BUILD, "bench/gputrace-workload")
KINDS = ("kernel", "memcpy", "memset")


def failing(first, error):
    """Writes of the tracer fail from the @first on; those of repair do not."""
    return (f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", f"FAILWRITE_FROM={first}", f"FAILWRITE_ERRNO={error}")


CASES = {  # what stops the file, and what its note says of that
    "disk full": failing(10, errno.ENOSPC),
    "size limit": ("GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=1"),
}
# Nothing is read from the second write of the trace on.
STALLED = (f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", "FAILWRITE_FROM=2", "FAILWRITE_HANG=/dev/null")
COUNTED = [  # what the ledger of a killed process counts, fast rounds, options
    ("calls_lost_ring_full", 1000, (*STALLED, "GPUTRACE_RING_SIZE=16K")),
    ("buffers_discarded", 20000, (*STALLED, "GPUTRACE_MAX_MEMORY=16M")),
]
FAULTS = {  # of CUPTI: how many the device has made are counted under these keys. A record without times in a buffer
    # that CUPTI still had is not there yet.
    "drop=7": ("launches_without_record",),
    "zero_ts=7": ("kernels_untimed", "memcpys_untimed", "memsets_untimed", "launches_without_record"),
    "reverse_ts=7": ("times_reversed",),
    "early=7": ("gpu_before_launch",),
    "null_corr=7": ("gpu_ops_without_call",),
    "unknown_kind=7": ("records_unknown_kind",),
}


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
class Lost(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gt-lost-")
        self.spools = tempfile.mkdtemp(prefix="gt-lost-", dir="/dev/shm")
        os.environ["GPUTRACE_SPOOL"] = self.spools  # where repair looks when there is no trace
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL")
        for folder in (self.folder, self.spools):
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)

    def repaired(self, *options, fast=FAST, words=None, status=-9, program=harness.program("workload"), **device):
        """The trace of a killed process, or of @words, as JSON, and what `stats` says of it."""
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        result = harness.run([program, *(words or ("dying", str(fast)))], folder=self.folder + "/out",
                             **device,
                             options=("GPUTRACE_SPOOL=" + self.spools, "GPUTRACE_FLUSH_PERIOD=20",
                                      "GPUTRACE_RING_SIZE=16M", *options))
        self.assertIn(result.status, (status, 128 - status), result.said)
        self.told = "".join(result.said)
        status, output = harness.tool("repair", self.folder + "/out")
        self.assertEqual(status, 0, output)
        self.assertEqual(os.listdir(self.spools), [])
        path, = (path for ending in ("json", "pftrace")
                 for path in glob.glob(f"{self.folder}/out/**/*.{ending}", recursive=True))
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        self.said = harness.tool("stats", path)[1]
        if path.endswith(".pftrace"):
            self.assertEqual(harness.tool("convert", path, path + ".pt.trace.json")[0], 0)
            path += ".pt.trace.json"
        else:
            self.assertEqual(harness.lint(path), "")
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def check_ledger(self, ledger):
        """Nothing is missing without a cause; a program that kills itself is in no call."""
        for kind in KINDS:
            self.assertEqual(ledger["records_" + kind],
                             ledger[kind + "s_written"] + ledger[kind + "s_not_written"], kind)
        self.assertEqual(sum(ledger[kind + how] for kind in KINDS for how in ("s_written", "s_not_written")) +
                         ledger["launches_without_record"], 3 * ROUNDS, ledger)
        self.assertEqual(ledger["calls_received"], ledger["calls_written"] + ledger["calls_not_written"])
        self.assertEqual(ledger["calls_open_at_end"], 0, ledger)
        self.assertEqual(ledger["launches_seen"], 3 * ROUNDS)

    def check_hole(self, root, cause):
        """One note, behind what was written before the file stopped and before what came out of the spool."""
        ledger, events = root["ledger"], root["traceEvents"]
        note, = (event for event in events if event["name"] == "LOST")
        self.assertEqual(note["args"], {"cause": cause, "events": ledger["events_lost_disk"]})
        calls = sorted(event["ts"] for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver"))
        self.assertTrue(calls[0] < note["ts"] < calls[-1], (calls[0], note, calls[-1]))
        for key in ("calls_not_written", "kernels_not_written"):
            self.assertGreater(ledger[key], 0)
        self.assertIn(f"{ledger['events_lost_disk']} events_lost_disk", self.said)
        self.assertIn(cause, self.said)

    def test_by_cause_and_form(self):
        for form in ("chrome", "perfetto"):
            for cause, options in CASES.items():
                with self.subTest(form=form, cause=cause):
                    root = self.repaired("GPUTRACE_FORMAT=" + form, *options)
                    self.check_ledger(root["ledger"])
                    self.check_hole(root, cause)

    def test_no_file_at_all(self):
        """It could never be written: the trace is made of the spool alone."""
        root = self.repaired(*failing(1, errno.ENOSPC))
        self.check_ledger(root["ledger"])
        self.assertGreater(root["ledger"]["events_lost_disk"], 0)

    def test_each_count(self):
        """`verify` finds that the ledger adds up."""
        for key, fast, options in COUNTED:
            with self.subTest(key=key):
                ledger = self.repaired(*options, fast=fast)["ledger"]
                self.assertGreater(ledger[key], 0, ledger)

    def test_work_of_lost_calls(self):
        """It waits for its call, in memory; the buffers that it was read from are needed again before."""
        with tempfile.TemporaryDirectory() as truth:
            ledger = self.repaired("GPUTRACE_RING_SIZE=16K", "GPUTRACE_MAX_MEMORY=16M", fast=20000, truth=truth)["ledger"]
            made = harness.Truth(truth)
        there = sum(ledger[kind + how] for kind in KINDS for how in ("s_written", "s_not_written"))
        early = ledger["gpu_ops_without_call"] - ledger["calls_lost_ring_full"]  # written while their call returned
        self.assertIn(early, range(4), ledger)
        # a launch of such work counts as without a record where the table of calls had no room for it
        self.assertIn(there + ledger["launches_without_record"] - len(made.operations), range(early + 1), ledger)

    def test_work_of_lost_calls_in_a_window(self):
        """It has no call when the window ends, and is of none that came later."""
        ledger = self.repaired("GPUTRACE_RING_SIZE=16K", "GPUTRACE_DURATION=60ms", words=("flood", "300"), status=3)["ledger"]
        outside = sum(ledger[kind + "s_outside_window"] for kind in KINDS)  # queued when the window ended
        self.assertGreater(ledger["launches_lost"], 1000)
        self.assertIn(ledger["launches_lost"] - ledger["gpu_ops_without_call"], range(-2 * THREADS, outside + 2 * THREADS), ledger)

    def test_launches_of_lost_calls(self):
        """What has no record is counted, whether the ring had room for its call or not: work that CUPTI lost, and
        work that is under way when the process dies, in a launch."""
        slow = harness.environment(SIMCUDA_KERNEL_NS="150000")
        cases = (("lost by CUPTI", (*STALLED, "GPUTRACE_THIN=off"), {"fast": 1000, "fault": "drop=7"}, 0),
                 ("under way", (), {"words": ["rounds", "20000"], "fault": "die:kill=3000", "env": slow}, THREADS))
        for case, options, how, in_calls in cases:
            with self.subTest(case=case), tempfile.TemporaryDirectory() as truth:
                ledger = self.repaired("GPUTRACE_RING_SIZE=16K", *options, truth=truth, **how)["ledger"]
                there = sum(ledger[kind + how] for kind in KINDS for how in ("s_written", "s_not_written"))
                made = len(harness.Truth(truth).operations)
                self.assertGreater(ledger["calls_lost_ring_full"], 0)
                self.assertLess(there, made)
                self.assertIn(made - there - ledger["launches_without_record"], range(in_calls + 1), ledger)
                self.assertIn(made - ledger["launches_seen"] - ledger["launches_lost"], range(in_calls + 1), ledger)

    def test_each_fault(self):
        forms = itertools.cycle(("chrome", "perfetto"))
        for form, (fault, keys) in zip(forms, FAULTS.items()):
            with self.subTest(fault=fault), tempfile.TemporaryDirectory() as truth:
                ledger = self.repaired("GPUTRACE_FORMAT=" + form, fast=0, fault=fault, truth=truth)["ledger"]
                made = harness.Truth(truth).faults[fault.split("=")[0]]
                self.assertGreater(made, 0)
                self.assertEqual(sum(ledger[key] for key in keys), made, ledger)
                self.assertEqual(ledger["launches_seen"], 3 * SLOW)

    def test_records_that_cannot_be_read(self):
        """Their own bytes count, whether the process reads the records before them or repair."""
        for case, how in (("at its end", {"words": ["rounds", "1000"], "status": 3}), ("killed", {"fast": 0}),
                          ("read by repair", {"fast": 0, "options": STALLED})):
            with self.subTest(case=case), tempfile.TemporaryDirectory() as truth:
                ledger = self.repaired(*how.pop("options", ()), fault="invalid_last", truth=truth, **how)["ledger"]
                rows = harness.Truth(truth).fault_rows
                self.assertGreater(len(rows), 0)
                self.assertEqual(ledger["unreadable_bytes"], sum(row["bytes"] for row in rows), ledger)

    def test_hooks_only(self):
        ledger = self.repaired(fast=0, fault="subscribe=39")["ledger"]
        for key in ("launches_seen", "launches_without_record"):
            self.assertEqual(ledger[key], 2 * SLOW, "of the runtime: " + key)

    def test_clean_end_without_room(self):
        """The ledger could not be written: the spool has the counts, and stays for repair."""
        for form, first in (("perfetto", 3), ("chrome", 3), ("chrome", 1)):
            with self.subTest(form=form, first=first):
                root = self.repaired("GPUTRACE_FORMAT=" + form, *failing(first, errno.ENOSPC),
                                     words=["rounds", "1000"], status=3)
                ledger = root["ledger"]
                self.assertGreater(ledger["events_lost_disk"], 0)
                self.assertEqual(ledger["launches_seen"], 9000)
                self.assertEqual(ledger["calls_received"], ledger["calls_written"] + ledger["calls_not_written"])
                self.assertEqual(sum(ledger[kind + how] for kind in KINDS for how in ("s_written", "s_not_written")) +
                                 ledger["launches_without_record"], 9000, ledger)
                self.assertIn("once there is room, gputrace repair", self.told)

    def test_clean_end_without_room_and_spool(self):
        for form in ("perfetto", "chrome"):
            with self.subTest(form=form):
                result = harness.run([harness.program("workload"), "rounds", "10"], folder=self.folder + "/" + form,
                                     options=("GPUTRACE_FORMAT=" + form, *failing(3, errno.ENOSPC)))
                self.assertEqual(result.status, 3)
                self.assertIn("has no ledger", result.said[-1])
                self.assertNotIn("gputrace repair", result.said[-1])

    def test_spool_without_room(self):
        """Activity buffers and the table of open launches lie outside of it, some of it is read when the process ends on
        its one core: each launch has one count."""
        self.addCleanup(os.sched_setaffinity, 0, os.sched_getaffinity(0))
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        ledger = self.repaired(f"LD_PRELOAD={NETFS}:{harness.LIBRARY}", "NETFS_TYPE=0x01021994", "NETFS_ROOM=16777216",
                               "GPUTRACE_EXIT_TIMEOUT=1", "GPUTRACE_THIN=off", "GPUTRACE_RING_SIZE=1M",
                               "SIMCUDA_TIME=virtual", words=("rate400k", "10", "4000", "40"), status=0,
                               program=BENCH)["ledger"]
        self.assertGreater(ledger["spool_refused_bytes"], 0)
        self.assertEqual(ledger["launches_seen"] + ledger["launches_lost"], 40001)
        self.assertEqual(ledger["kernels_written"] + ledger["kernels_not_written"] + ledger["launches_without_record"],
                         40001, ledger)

    def test_nothing_is_lost(self):
        ledger = self.repaired()["ledger"]
        self.check_ledger(ledger)
        for key in ("events_lost_disk", "events_lost_memory", "calls_not_written", "kernels_not_written"):
            self.assertEqual(ledger[key], 0, key)


if __name__ == "__main__":
    sys.exit(unittest.main())
