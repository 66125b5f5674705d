#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--compress=gzip while the trace is written: the file of a process that runs or was killed is one whole gzip
member, but for a write that was cut, and repair completes it from the spool: every call that had returned, all
work that CUPTI had reported, each once. A disk that is full, files of a process, and a file that was cut later."""

import errno
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

import harness
from happened import Happened

KILLWRITE = os.path.join(harness.PROGRAMS, "libkillwrite.so")
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
FLOOD = [harness.program("workload"), "flood"]
ROUNDS = [harness.program("workload"), "rounds", "300"]
FORMS = ("chrome", "perfetto")
wait_for = harness.gate.wait_for


def unpacked(path):
    """What can be unpacked, and whether it is one whole member with nothing behind it."""
    with open(path, "rb") as file:
        data = file.read()
    member = zlib.decompressobj(31)
    text = member.decompress(data)
    return text, member.eof and not member.unused_data


def compresses():
    with tempfile.TemporaryDirectory() as folder:
        result = harness.run(ROUNDS, folder=folder, options=["GPUTRACE_COMPRESS=gzip"])
        return "no ISA-L" not in result.stderr


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
@unittest.skipUnless(compresses(), "built without ISA-L")
class Packed(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-packed-"))
        self.spools = tempfile.mkdtemp(prefix="gt-packed-", dir="/dev/shm")
        self.out = os.path.join(self.folder, "out")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.spools, ignore_errors=True)
        os.environ["GPUTRACE_SPOOL"] = self.spools
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL")

    def forget(self):
        for folder in (self.folder, self.spools):
            shutil.rmtree(folder)
            os.mkdir(folder)

    def traces(self):
        """All that is in the folder."""
        found = glob.glob(os.path.join(self.out, "**", "[!.]*"), recursive=True)
        return sorted((path for path in found if os.path.isfile(path)), key=harness.number_of)

    def start(self, words, form, options=(), **how):
        options = ["GPUTRACE_COMPRESS=gzip", "GPUTRACE_SPOOL=" + self.spools, "GPUTRACE_FORMAT=" + form,
                   "GPUTRACE_FLUSH_PERIOD=20", *options]
        words = harness.command(words, folder=self.out, truth=self.folder, options=options)
        environment = harness.environment(SIMCUDA_KERNEL_NS="20000", **how.pop("env", {}))
        return subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, **how)

    def run_it(self, words, form, options):
        with self.start(words, form, options, stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(harness.gate.PATIENCE)
            except subprocess.TimeoutExpired:  # that write never came
                process.kill()

    def kill_in_write(self, form, at, size, options=()):
        self.run_it(FLOOD, form, [f"LD_PRELOAD={KILLWRITE}:{harness.LIBRARY}", f"KILLWRITE_AT={at}",
                                  f"KILLWRITE_BYTES={size}", "GPUTRACE_BUFFER_SIZE=1M", *options])
        self.assertTrue(self.traces())

    def root_of(self, path):
        text, is_whole = unpacked(path)
        self.assertTrue(is_whole, path)
        if not path.endswith(".json.gz"):
            back = os.path.join(self.folder, "back.pt.trace.json")
            status, output = harness.tool("convert", path, back)
            self.assertEqual(status, 0)
            self.assertTrue(output == "" or "the file was cut" in output and self.may_be_open(path), output)
            with open(back, "rb") as file:
                text = file.read()
            os.unlink(back)
        return json.loads(text)

    def lint(self, path):
        """Of what is packed in it."""
        if not path.endswith(".json.gz"):
            return ""
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, os.path.basename(path)[:-3])
            with open(plain, "wb") as file:
                file.write(unpacked(path)[0])
            return harness.lint(plain)

    def may_be_open(self, path):
        """A full .pftrace whose process was killed before it had its end, when the next one had begun."""
        return path.endswith(".pftrace.gz") and path in self.traces()[:-1]

    def check(self, is_complete=True):
        """Repaired, complete, and the same after a second repair. Returns the objects."""
        status, output = harness.tool("repair", self.out)
        self.assertEqual(status, 0, output)
        self.assertNotIn("not recovered", output)
        self.assertEqual({path[-3:] for path in self.traces()}, {".gz"})
        roots = [self.root_of(path) for path in self.traces()]
        for path in self.traces():
            status, output = harness.tool("verify", path)
            self.assertTrue(status == 0 or self.may_be_open(path) and "not closed" in output, output)
            self.assertEqual(self.lint(path), "")
        events = [event for root in roots for event in root["traceEvents"]]
        if is_complete:
            self.assertEqual(Happened(self.folder).wrong_in(events), [])
        self.assertEqual(os.listdir(self.spools), [])
        before = [unpacked(path) for path in self.traces()]
        status, output = harness.tool("repair", self.out)
        self.assertEqual(status, 0, output)
        self.assertEqual([unpacked(path) for path in self.traces()], before)
        return roots

    def test_killed_in_a_write(self):
        for form, cuts in (("chrome", ((1, 0), (1, 7), (2, 11), (3, -1), (9, 4097))),
                           ("perfetto", ((1, 7), (2, 11), (9, 100)))):
            for at, size in cuts:
                with self.subTest(form=form, write=at, bytes=size):
                    self.forget()
                    self.kill_in_write(form, at, size)
                    root, = self.check()
                    self.assertIn("recovered_calls", root["repaired"])

    def is_written(self):
        """A whole member with calls of a process that has nothing to do."""
        return any(is_whole and b"LaunchKernel" in text for text, is_whole in map(unpacked, self.traces()))

    def test_readable_while_it_runs(self):
        for form in FORMS:
            self.forget()
            with self.start([harness.program("workload"), "held", "40"], form, stdout=subprocess.PIPE,
                            env={"GATE": os.path.join(self.folder, "gate")}) as process:
                process.stdout.readline()
                self.assertEqual(process.stdout.readline(), b"held\n")
                self.assertTrue(wait_for(self.is_written))
                path, = self.traces()
                if form == "chrome":
                    json.loads(unpacked(path)[0])
                self.assertEqual(harness.tool("stats", path)[0], 0)
                self.assertIn("still writes it", harness.tool("repair", path)[1])
                process.kill()
            self.assertTrue(unpacked(path)[1])
            self.check()

    def test_killed_while_it_is_closed(self):
        """Between tail, header and the end of the member: one of the last writes."""
        for at in range(4, 8):
            with self.subTest(write=at):
                self.forget()
                self.run_it(ROUNDS, "chrome", [f"LD_PRELOAD={KILLWRITE}:{harness.LIBRARY}", f"KILLWRITE_AT={at}",
                                               "KILLWRITE_BYTES=5", "GPUTRACE_FLUSH_PERIOD=10000"])
                self.check(is_complete=False)  # rings may have overflown

    def test_several_files(self):
        for form, at in (("chrome", 60), ("perfetto", 90)):
            with self.subTest(form=form):
                self.forget()
                self.kill_in_write(form, at, 100, ["GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0"])
                roots = self.check()
                self.assertGreater(len(roots), 1)

    def test_full_disk(self):
        """What could not be written is counted, in a whole file."""
        for form in FORMS:
            for count in ((), ("FAILWRITE_COUNT=1",)):
                with self.subTest(form=form, count=count):
                    self.forget()
                    self.run_it(ROUNDS, form, [f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", "GPUTRACE_FLUSH_PERIOD=20",
                                               "FAILWRITE_FROM=4", f"FAILWRITE_ERRNO={errno.ENOSPC}", *count])
                    path, = self.traces()
                    if count:
                        status, output = harness.tool("verify", path)
                        self.assertEqual(status, 0, output)
                        self.root_of(path)
                    self.assertTrue(unpacked(path)[0])
                    self.check(is_complete=False)

    def test_a_file_that_was_cut(self):
        self.run_it(ROUNDS, "chrome", ["GPUTRACE_SPOOL=off"])
        path, = self.traces()
        with open(path, "rb") as file:
            whole = file.read()
        for size in (len(whole) - 4, len(whole) - 8, len(whole) - 300, 17500):
            with self.subTest(size=size):
                with open(path, "wb") as file:
                    file.write(whole[:size])
                status, output = harness.tool("verify", path)
                self.assertEqual(status, 1, output)
                self.assertIn("compressed data breaks off", output)
                status, output = harness.tool("repair", path)
                self.assertEqual(status, 0, output)
                self.assertGreater(len(self.root_of(path)["traceEvents"]), 3)
                self.assertEqual(self.lint(path), "")
        self.assertEqual(self.traces(), [path])

    def test_a_pftrace_that_was_cut(self):
        """Its packets are as they were, its compressed data gets an end."""
        self.run_it(ROUNDS, "perfetto", ["GPUTRACE_SPOOL=off"])
        path, = self.traces()
        os.truncate(path, os.path.getsize(path) - 300)
        for said in "its compressed data broke off; ended", "readable as it is":
            status, output = harness.tool("repair", path)
            self.assertEqual((status, output), (0, f"{path}: {said}, nothing to add\n"))
            self.assertTrue(unpacked(path)[1])

    def test_a_file_that_was_changed(self):
        """Repairing would give it a checksum that hides it."""
        self.run_it(ROUNDS, "chrome", ["GPUTRACE_SPOOL=off"])
        path, = self.traces()
        files = sorted(os.listdir(self.out))
        with open(path, "rb") as file:
            whole = file.read()
        for place in (-8, -1):
            with self.subTest(place=place):
                changed = bytearray(whole)
                changed[place] ^= 1
                with open(path, "wb") as file:
                    file.write(changed)
                status, output = harness.tool("repair", path)
                self.assertEqual(status, 1, output)
                self.assertIn("its contents have been changed", output)
                with open(path, "rb") as file:
                    self.assertEqual(file.read(), changed)
        self.assertEqual(sorted(os.listdir(self.out)), files)

    def test_no_room_for_the_repair(self):
        """It stays as it is, and nothing else stays."""
        self.kill_in_write("chrome", 9, -1)
        path, = self.traces()
        with open(path, "rb") as file:
            before = file.read()
        status, output = harness.tool("repair", path, before=["prlimit", "--fsize=4096"])
        self.assertEqual(status, 1, output)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(len(self.traces()), 1)
        self.assertEqual([name for name in os.listdir(self.out) if name.endswith((".plain", ".part"))], [])
        self.check()


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
