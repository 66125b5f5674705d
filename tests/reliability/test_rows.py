#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records of one thread that come long after later ones of another: the work of their stream, which never overlaps,
stands on one row, whatever the form of the trace, and however it came to its end."""

import collections
import concurrent.futures
import glob
import gzip
import json
import os
import shutil
import sys
import tempfile
import unittest

import harness

TURNS = 600  # a ms each: records are written while those of the other thread are missing
WORK = [harness.program("workload"), "turns", str(TURNS)]
LATE = "late_threads=300000000"  # ns; what is older than 100 ms is written
KILLED_AT = 500


def rows_of(path):
    """How many operations each row of a stream has."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    return collections.Counter((event["args"]["stream"], event["tid"]) for event in events
                               if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))


class Rows(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-rows-"))
        self.spools = tempfile.mkdtemp(prefix="gt-rows-", dir="/dev/shm" if harness.has_shm() else None)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.spools, ignore_errors=True)

    def run_work(self, name, fault=LATE, **settings):
        """The folder of the traces."""
        folder = os.path.join(self.folder, name)
        options = [f"GPUTRACE_{key}={value}" for key, value in settings.items()]
        result = harness.run(WORK, folder=folder, fault=fault, options=["GPUTRACE_FLUSH_PERIOD=50", *options])
        self.assertEqual(result.status, -9 if "die" in fault else 3, result)
        return folder

    def check(self, path):
        """How many operations there are."""
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        (stream, row), = rows_of(path)
        self.assertEqual(stream, row)
        return rows_of(path)[stream, row]

    def as_json(self, path):
        """What a `.pftrace` is as JSON; other traces are as they are."""
        if not path.endswith(".pftrace"):
            return path
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        status, output = harness.tool("convert", path, path + ".json")
        self.assertEqual(status, 0, output)
        return path + ".json"

    def check_all(self, runs, is_killed=False):
        """They sleep most of the time: all at once. What ran when a process was killed is not known."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            started = {name: pool.submit(self.run_work, name, **how) for name, how in runs.items()}
        for name, run in started.items():
            with self.subTest(run=name):
                if is_killed:
                    status, output = harness.tool("repair", run.result(), GPUTRACE_SPOOL=self.spools)
                    self.assertEqual(status, 0, output)
                path, = glob.glob(os.path.join(run.result(), "*trace*"))
                count = self.check(self.as_json(path))
                self.assertTrue(count == 3 * TURNS or is_killed, count)

    def test_forms(self):
        self.check_all({
            "json": {"SPOOL": "off"},
            "gzip": {"SPOOL": "off", "COMPRESS": "gzip"},
            "pftrace": {"SPOOL": "off", "FORMAT": "perfetto"},
            "spool": {"SPOOL": self.spools},
        })

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
    def test_completed(self):
        """What only the spool has comes later still."""
        how = {"fault": f"{LATE},die:kill={KILLED_AT}", "SPOOL": self.spools}
        self.check_all({
            "json": how,
            "gzip": {"COMPRESS": "gzip", **how},
            "pftrace": {"FORMAT": "perfetto", **how},
        }, is_killed=True)


if __name__ == "__main__":
    sys.exit(unittest.main())
