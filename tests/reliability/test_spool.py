#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The spool: created where allowed, given up elsewhere, and removed when no longer needed. The program never notices."""

import json
import os
import shutil
import sys
import tempfile
import unittest

import harness
import spooled


class Spool(spooled.Test):
    def test_clean_end_leaves_nothing(self):
        self.assertEqual(self.run_work(), "")
        self.assertEqual(self.left(), [])

    def test_program_that_changes_its_folder(self):
        """A relative folder: the spool is still extended and removed."""
        into = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", self.spools]
        result = harness.run([spooled.WORK[0], "moved", "300"], folder=self.folder, before=into,
                             options=["GPUTRACE_SPOOL=."])
        self.assertEqual(result[:3], harness.run(spooled.WORK)[:3])
        path, = harness.traces(self.folder)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["ledger"]["spool_refused_bytes"], 0)
        self.assertEqual(self.left(), [])

    def test_session_that_cannot_start(self):
        """Without the tracer's thread nothing would remove the spool."""
        shim = os.path.join(harness.PROGRAMS, "libnothread.so")
        result = harness.run(spooled.WORK, folder=self.folder, options=[
            "GPUTRACE_SPOOL=" + self.spools, f"LD_PRELOAD={shim}:{harness.LIBRARY}"])
        self.assertEqual(result[:3], harness.run(spooled.WORK)[:3])
        self.assertIn("the program runs on untraced", result.said[0])
        self.assertEqual(self.left(), [])
        self.assertEqual(harness.traces(self.folder), [])

    def test_off_without_run(self):
        self.assertEqual(self.run_work("auto"), "")

    def test_no_disk_and_no_network(self):
        self.assertIn("is no tmpfs", self.run_work(self.folder))

    def test_network_file_system(self):
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        spool = self.run_work("on", options=(f"LD_PRELOAD={shim}:{harness.LIBRARY}",))
        self.assertIn("is no tmpfs", spool)

    @unittest.skipUnless(spooled.has_namespaces(), "no mount namespaces")
    def test_small_shm(self):
        """A container's default /dev/shm is left to the program."""
        before = spooled.in_namespace("mount -t tmpfs -o size=64m x /dev/shm")
        self.assertIn("too little room", self.run_work("on", before=before))

    @unittest.skipUnless(spooled.has_namespaces(), "no mount namespaces")
    def test_full_shm(self):
        """Every touched page was reserved: a file system with less room than reported gives an error of
        fallocate, never a signal."""
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        before = spooled.in_namespace("mount -t tmpfs -o size=5m x /dev/shm")
        spool = self.run_work("on", before=before, options=(
            f"LD_PRELOAD={shim}:{harness.LIBRARY}", "NETFS_TYPE=0x01021994"))
        self.assertEqual(spool, "")

    def check_refused(self, trace, said):
        """What did not fit is counted in the ledger and reported."""
        ledger = trace["ledger"]
        for key in ("spool_refused_bytes", "spool_refused_threads"):
            self.assertGreater(ledger[key], 0)
            self.assertEqual(said.count(key), 2, said)
        told = [event["args"]["bytes"] for event in trace["traceEvents"]
                if event["name"] == "spool full"]
        self.assertEqual(sum(told), ledger["spool_refused_bytes"])

    def test_no_room_left(self):
        """Other files have used up the space since the spool was created."""
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        self.run_work("on", options=(f"LD_PRELOAD={shim}:{harness.LIBRARY}", "NETFS_ROOM=2000000",
                                     "NETFS_TYPE=0x01021994"))
        self.check_refused(self.trace, self.said)

    def test_killed_without_room(self):
        shim = os.path.join(harness.PROGRAMS, "libnetfs.so")
        process = self.start(spooled.FLOOD, before=["env", "NETFS_ROOM=2000000", "NETFS_TYPE=0x01021994"],
                             options=[f"LD_PRELOAD={shim}:{harness.LIBRARY}"])
        found = harness.gate.wait_for(lambda: [text for text in harness.gate.texts(self.folder)
                                  if '"cat": "kernel"' in text])  # a round is over
        self.assertTrue(found)
        process.kill()
        process.wait()
        path, = harness.traces(self.folder)
        self.assertEqual(harness.tool("repair", path)[0], 0)
        self.check_recovered(path)
        with open(path, encoding="utf-8") as file:
            ledger = json.load(file)["ledger"]
        self.assertGreater(ledger["spool_refused_bytes"], 0)
        self.assertGreater(ledger["spool_refused_threads"], 0)
        # records that the process had received are gone with its memory
        self.assertGreater(ledger["kernels_not_written"], 0)
        self.assertGreater(ledger["events_lost_at_kill"], 0)

    @unittest.skipUnless(spooled.has_namespaces(), "no mount namespaces")
    def test_read_only_shm(self):
        before = spooled.in_namespace("mount -t tmpfs -o ro,size=1g x /dev/shm")
        self.assertIn("cannot be written", self.run_work("on", before=before))

    def test_limit_of_file_sizes(self):
        """Growing a file beyond it would raise a signal."""
        self.assertIn("refused it", self.run_work("on", before=["prlimit", "--fsize=2000000"]))

    def test_limit_of_address_space(self):
        self.assertIn("address space", self.run_work("on", before=["prlimit", "--as=64000000000"]))

    def test_running_process_keeps_its_spool(self):
        process = self.start(spooled.FLOOD)
        found = harness.gate.wait_for(lambda: harness.traces(self.folder) and self.left())
        copy = os.path.join(self.folder, "copy")
        shutil.copy(harness.traces(self.folder)[0], copy)
        harness.tool("repair", copy)
        left = self.left()
        process.kill()
        process.wait()
        self.assertTrue(found)
        self.assertEqual(len(left), 1)

    def test_forked_children(self):
        """They neither touch nor remove it; the parent's trace is whole."""
        for how in ("before", "after", "vfork", "twice", "workers", "exec", "daemon"):
            with self.subTest(how=how):
                words = [harness.program("children"), how]
                bare = harness.run(words)
                with tempfile.TemporaryDirectory() as folder:
                    result = harness.run(words, folder=folder,
                                         options=["GPUTRACE_SPOOL=" + self.spools])
                    self.assertEqual(result[:3], bare[:3])


if __name__ == "__main__":
    sys.exit(unittest.main())
