#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Killed inside a write of the file's first block: at the very beginning, after a change of the metadata, as the
last step of closing. `repair` makes it a strict object in each case, reports what is unknown, and completes it
from the spool if there is one; a second repair changes nothing."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

KILLWRITE = os.path.join(harness.PROGRAMS, "libkillwrite.so")
WORK = [harness.program("workload"), "rounds", "300"]
CUTS = (0, 1, 60, 1000, 4096, 16384, 16385, -1)


class Torn(unittest.TestCase):
    def kill(self, folder, first, at, size, spool="off"):
        """Returns the one file that is left."""
        result = harness.run(WORK, folder=folder, env=harness.environment(RANK="1", WORLD_SIZE="2"),
                             options=(f"LD_PRELOAD={KILLWRITE}:{harness.LIBRARY}",
                                      f"KILLWRITE_FIRST={first}", f"KILLWRITE_AT={at}",
                                      f"KILLWRITE_BYTES={size}", f"GPUTRACE_SPOOL={spool}"))
        self.assertIn(result.status, (-9, 137))
        path, = harness.traces(folder)
        return path

    def check(self, folder, path):
        """Checks that it is strict, valid and balanced, also after a second repair. Returns the object."""
        status, output = harness.tool("repair", folder)
        self.assertEqual(status, 0, output)
        with open(path, "rb") as file:
            text = file.read()
        root = json.loads(text)
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        status, output = harness.tool("repair", path)
        self.assertEqual((status, output), (0, f"{path}: closed already\n"))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), text)
        self.assertEqual(root["distributedInfo"]["rank"], 1)
        return root

    def each(self, first, at, sizes, spool="off"):
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = self.kill(folder, first, at, size, spool)
                yield size, self.check(folder, path)

    def test_first_block(self):
        for size, root in self.each("[", 1, CUTS):
            if size == 0:
                self.assertEqual(root["metadata"]["mode"], "unknown")
                self.assertIn("deviceProperties", root["header_unknown"])
            if size < 0:
                self.assertNotIn("header_unknown", root)
            # from the file's name if it is not in the header
            self.assertGreater(root["baseTimeNanoseconds"], 1_700_000_000 * 10**9)
            self.assertGreater(root["traceEvents"][0]["pid"], 0)

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
    def test_first_block_with_a_spool(self):
        spools = tempfile.mkdtemp(prefix="gt-torn-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, spools, ignore_errors=True)
        os.environ["GPUTRACE_SPOOL"] = spools  # for repair if no header names the spool
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL")
        for _, root in self.each("[", 1, CUTS, spools):
            self.assertIn("recovered_calls", root["repaired"])
            self.assertGreater(root["ledger"]["calls_written"], 0)
            self.assertEqual(root["metadata"]["mode"], "cupti")
            self.assertEqual(root.get("header_unknown", []), [])
            self.assertEqual(os.listdir(spools), [])

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
    def test_clock_of_cupti(self):
        """Killed in the round in which it was found to be ahead: times are those of the file."""
        spools = tempfile.mkdtemp(prefix="gt-torn-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, spools, ignore_errors=True)
        found = 0
        for at in range(3, 7):
            with self.subTest(write=at), tempfile.TemporaryDirectory() as folder:
                harness.run(WORK, folder=folder, fault="clock_ahead=7000000000",
                            options=(f"LD_PRELOAD={KILLWRITE}:{harness.LIBRARY}", f"KILLWRITE_AT={at}", "KILLWRITE_BYTES=-1",
                                     "GPUTRACE_SPOOL=" + spools, "GPUTRACE_FLUSH_PERIOD=100"))
                status, output = harness.tool("repair", "--spool=" + spools, folder)
                self.assertEqual(status, 0, output)
                path, = harness.traces(folder)
                with open(path, encoding="utf-8") as file:
                    root = json.load(file)
                slices = [event for event in root["traceEvents"] if event["ph"] == "X"]
                calls = [event["ts"] for event in slices if event["cat"] == "cuda_runtime"]
                late = [event for event in slices if event["cat"] == "kernel" and event["ts"] > max(calls) + 6e6]
                if "cupti_clock_offset_ns" in root["metadata"]:
                    found += 1
                    self.assertEqual(len(late), 0)
        self.assertGreater(found, 0)

    def test_changed_block(self):
        """A kernel cuts a write between two pages; cuts elsewhere may lose more."""
        for size, root in self.each("[", 2, CUTS[2:-2]):
            self.assertEqual(root["metadata"]["mode"] == "cupti" or 0 < size < 4096, True, size)

    def test_closing_block(self):
        """The file is complete, including its ledger."""
        for size, root in self.each("{", 1, CUTS[1:-2]):
            self.assertGreater(root["ledger"]["kernels_written"], 0)
            self.assertEqual(root["metadata"]["mode"] == "cupti" or size < 4096, True, size)

    def test_run_repairs_each(self):
        """`gputrace run` knows a torn file by its bytes."""
        words = [os.path.join(harness.SOURCE, "scripts", "simcuda"),
                 os.path.join(harness.SOURCE, "scripts", "gputrace"), "run"]
        for first, size in (("[", 0), ("[", 4096), ("{", 4096)):
            with self.subTest(first=first, size=size), tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "out")
                env = harness.environment(KILLWRITE_FIRST=first, KILLWRITE_AT="1",
                                          KILLWRITE_BYTES=str(size), LD_PRELOAD=KILLWRITE)
                subprocess.run([*words, "--output=" + out, "--spool=off", "--", *WORK], env=env,
                               capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
                path, = harness.traces(out)
                with open(path, encoding="utf-8") as file:
                    self.assertIsInstance(json.load(file), dict)

    def test_empty_file_of_any_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "some.json")
            with open(path, "w", encoding="utf-8"):
                pass
            status, output = harness.tool("repair", path)
            self.assertEqual((status, output.count("\n")), (1, 1), output)
            self.assertIn("is empty", output)
            self.assertEqual(os.path.getsize(path), 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
