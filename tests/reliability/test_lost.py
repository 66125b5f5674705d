#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace that had stopped, on a full disk or at its limit, and its process is killed: with what the spool
holds, the ledger says what was lost and why, the trace has a note at the hole, and each launch is written,
lost, or without a record."""

import errno
import glob
import json
import os
import shutil
import sys
import tempfile
import unittest

import harness

FAST = 8000
ROUNDS = FAST + 1000
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
KINDS = ("kernel", "memcpy", "memset")


def failing(first, error):
    """Writes of the tracer fail from the @first on; those of repair do not."""
    return (f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", f"FAILWRITE_FROM={first}", f"FAILWRITE_ERRNO={error}")


CASES = {  # what stops the file, and what its note says of that
    "disk full": failing(10, errno.ENOSPC),
    "size limit": ("GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=1"),
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

    def repaired(self, *options):
        """The trace of a killed process, as JSON, and what `stats` says of it."""
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        result = harness.run([harness.program("workload"), "dying", str(FAST)], folder=self.folder + "/out",
                             options=("GPUTRACE_SPOOL=" + self.spools, "GPUTRACE_FLUSH_PERIOD=20",
                                      "GPUTRACE_RING_SIZE=16M", *options))
        self.assertEqual(result.status, -9 if result.status < 0 else 137, result.said)
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

    def test_nothing_is_lost(self):
        ledger = self.repaired()["ledger"]
        self.check_ledger(ledger)
        for key in ("events_lost_disk", "events_lost_memory", "calls_not_written", "kernels_not_written"):
            self.assertEqual(ledger[key], 0, key)


if __name__ == "__main__":
    sys.exit(unittest.main())
