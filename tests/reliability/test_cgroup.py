#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A container with little memory: the program is not killed because of the tracer. With a real control
group where one can be made; everywhere with a made-up limit, the memory of the tracer being measured."""

import ctypes
import contextlib
import itertools
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

FLOOD = [harness.program("workload"), "flood"]
GPUTRACE = os.path.join(harness.SOURCE, "scripts", "gputrace")
INTO = ["sh", "-c", 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"', "sh"]
MIB = 1 << 20
NUMBERS = itertools.count()


def tail_of(path):
    """The end of a large file."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - (64 << 10)))
        return file.read().decode("utf-8", "replace")


def ledger_of(path):
    tail = tail_of(path)
    return json.JSONDecoder().raw_decode(tail[tail.rindex('"ledger": ') + 10:])[0]


def metadata_of(path):
    """Of a large file, from its start."""
    with open(path, encoding="utf-8", errors="replace") as file:
        head = file.read(64 << 10)
    return json.JSONDecoder().raw_decode(head[head.index('"metadata": ') + 12:])[0]


def cached(path):
    """Bytes of the file in the page cache."""
    size = os.path.getsize(path)
    pages = (ctypes.c_ubyte * ((size + mmap.PAGESIZE - 1) // mmap.PAGESIZE))()
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), size) as memory:
        start = ctypes.c_ubyte.from_buffer(memory)
        error = ctypes.CDLL(None).mincore(ctypes.byref(start), ctypes.c_size_t(size), pages)
        del start
    if error:
        raise OSError("mincore")
    return sum(page & 1 for page in pages) * mmap.PAGESIZE


def anonymous(pid):
    """Bytes of its memory that belong to no file."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("RssAnon:"))


def is_in_memory(folder):
    return subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True,
                          check=True).stdout.strip() in ("tmpfs", "ramfs")


def hierarchies():
    """Mount point and name of the limit, of every hierarchy that may limit memory."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for words in (line.split() for line in file):
            kind = words[words.index("-") + 1]
            if kind == "cgroup2":
                yield words[4], "memory.max"
            elif kind == "cgroup" and "memory" in words[-1].split(","):
                yield words[4], "memory.limit_in_bytes"


def pids_in(group):
    with open(os.path.join(group, "cgroup.procs"), encoding="utf-8") as file:
        return [int(line) for line in file]


def make_group(limit):
    """A new group with that limit, or None."""
    for point, name in hierarchies():
        group = os.path.join(point, f"gputrace-test-{os.getpid()}-{next(NUMBERS)}")
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            with open(os.path.join(group, name), "r+", encoding="utf-8") as file:
                file.write(str(limit))
            subprocess.run([*INTO, group, "true"], check=True, capture_output=True)
            return group
        except (OSError, subprocess.CalledProcessError):
            os.rmdir(group)
    return None


def remove_group(group):
    def is_gone():
        try:
            os.rmdir(group)
        except OSError:
            return False
        return True
    harness.gate.wait_for(is_gone)


def can_make_group():
    group = make_group(1 << 30)
    if group:
        remove_group(group)
    return group is not None


class Folders(unittest.TestCase):
    def setUp(self):
        self.folder = self.make()

    def make(self, **where):
        folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-cgroup-", **where))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def wait_for_trace(self, size):
        """Of a program that runs on until it is killed."""
        self.assertTrue(harness.gate.wait_for(
            lambda: any(os.path.getsize(path) > size for path in harness.traces(self.folder))))
        path, = harness.traces(self.folder)
        return path

    def check_file(self, path, limit):
        """It ends well, and names the limit and what was dropped because of it."""
        self.assertTrue(metadata_of(path)["memory"].startswith(f"{limit} MiB in "))
        ledger = ledger_of(path)
        self.assertGreater(ledger["kernels_written"], 0)
        self.assertGreater(ledger["calls_written"], 0)
        self.assertEqual(ledger["memory_refused"], 0)
        self.assertLessEqual(ledger["memory_peak_bytes"], max(limit * MIB // 8, 24 * MIB))


@unittest.skipUnless(can_make_group(), "no control group with a memory limit can be made here")
class RealLimit(Folders):
    def run_flood(self, limit, bursts, folder, **how):
        """In a group of so many MiB."""
        group = make_group(limit * MIB)
        self.addCleanup(remove_group, group)
        words = [*FLOOD, str(bursts)]
        result = harness.run(words, folder=folder, before=[*INTO, group], **how)
        self.assertEqual(result[:3], harness.run(words)[:3])
        return result.said

    def test_flood(self):
        """Before, the page cache of the trace alone was more than each limit."""
        for limit, bursts in (64, 600), (100, 600), (200, 1500):
            spool = "on" if harness.has_shm() else "off"
            with self.subTest(limit=limit):
                folder = self.make()
                self.assertEqual(self.run_flood(limit, bursts, folder,
                                                options=["GPUTRACE_SPOOL=" + spool]), [])
                path, = harness.traces(folder)
                self.check_file(path, limit)
                if limit == 64:
                    status, output = harness.tool("verify", path)
                    self.assertEqual(status, 0, output)
                shutil.rmtree(folder)

    def test_too_small(self):
        said, = self.run_flood(20, 10, self.folder)
        self.assertIn("20480 KiB", said)
        self.assertIn("the program runs on untraced", said)
        self.assertEqual(harness.traces(self.folder), [])

    def test_run(self):
        """What follows the program must not be killed either."""
        group = make_group(64 * MIB)
        self.addCleanup(remove_group, group)
        words = harness.command(
            [GPUTRACE, "run", "--spool=off", "--output=" + self.folder, *FLOOD],
            before=[*INTO, group])
        with subprocess.Popen(words, env=harness.environment(), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as run:
            path = self.wait_for_trace(3 * 64 * MIB)
            for pid in pids_in(group):
                with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    if file.read().startswith("reliability_wor"):
                        os.kill(pid, signal.SIGKILL)
            said = run.stderr.read()
        self.assertIn(run.returncode, (-signal.SIGKILL, 128 + signal.SIGKILL))
        self.assertIn("no summary: the trace is too large", said)
        self.assertIn('"repaired"', tail_of(path))

    @unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
    def test_trace_in_memory(self):
        """It is part of what is limited: of little size, and only its end is kept."""
        folder = self.make(dir="/dev/shm")
        said, removed = self.run_flood(64, 600, folder)
        self.assertIn("is in memory (tmpfs)", said)
        self.assertIn("files of 2 MiB, the newest 4 are kept", said)
        self.assertIn("(--keep)", removed)
        paths = harness.traces(folder)
        self.assertLessEqual(sum(map(os.path.getsize, paths)), 8 * MIB)
        self.assertEqual(harness.tool("verify", folder)[0], 0)


class MadeUpLimit(Folders):
    LIMIT = 64

    def house(self, groups, mount):
        """The tracer's /proc and a group with a limit."""
        house = self.make()
        for name, text in {"cgroup": groups, "mountinfo": mount.replace("HOUSE", house)}.items():
            with open(os.path.join(house, name), "w", encoding="utf-8") as file:
                file.write(text)
        group = os.path.join(house, "groups", "pod", "app")
        os.makedirs(group)
        name = "memory.max" if "cgroup2" in mount else "memory.limit_in_bytes"
        with open(os.path.join(house, "groups", "pod", name), "w", encoding="utf-8") as file:
            file.write(f"{self.LIMIT * MIB}\n")
        return house

    def how(self, groups, mount):
        shim = os.path.join(harness.PROGRAMS, "libhouse.so")
        preloads = harness.preloading.with_tracer(f"{shim}:{harness.LIBRARY}")
        return {"env": harness.environment(HOUSE=self.house(groups, mount)),
                "options": ["LD_PRELOAD=" + preloads]}

    def check(self, groups, mount):
        """The program goes on, and what it has in memory is little."""
        how = self.how(groups, mount)
        words = harness.command(FLOOD, folder=self.folder, options=how["options"])
        with subprocess.Popen(words, env=how["env"], stdout=subprocess.DEVNULL) as flood:
            try:
                path = self.wait_for_trace(2 * self.LIMIT * MIB)
                in_cache, own = cached(path), anonymous(flood.pid)
            finally:
                flood.kill()
        self.assertLess(in_cache, self.LIMIT * MIB // 8)
        self.assertLess(own, self.LIMIT * MIB // 2)
        self.assertTrue(metadata_of(path)["memory"].startswith(f"{self.LIMIT} MiB in "))

    @unittest.skipIf(is_in_memory(tempfile.gettempdir()), "the temporary folder is tmpfs")
    def test_version_2(self):
        self.check("0::/pod/app\n", "30 1 0:26 / HOUSE/groups rw - cgroup2 cgroup2 rw\n")

    @unittest.skipIf(is_in_memory(tempfile.gettempdir()), "the temporary folder is tmpfs")
    def test_version_1(self):
        self.check("4:cpu,memory:/pod/app\n0::/\n",
                   "30 1 0:26 / HOUSE/groups rw - cgroup cgroup rw,memory\n")

    def test_limits_with_ranges(self):
        """The file has its memory: the tables of ranges fitted from 352 MiB on, and left too little."""
        words = [harness.program("ranges"), *"push=step work=1 pop".split()]
        for self.LIMIT in (64, 336, 352, 384, 416, 448, 464):
            with self.subTest(limit=self.LIMIT):
                folder = self.make()
                result = harness.run(words, folder=folder, **self.how(
                    "0::/pod/app\n", "30 1 0:26 / HOUSE/groups rw - cgroup2 cgroup2 rw\n"))
                self.assertEqual((result.status, result.said), (3, []))
                path, = harness.traces(folder)
                self.check_file(path, self.LIMIT)
                self.assertGreater(ledger_of(path)["ranges_written"], 0)

    def test_files_that_make_no_sense(self):
        """As without a limit."""
        how = self.how("0::/pod/../../../app\n" + "x" * 100000,
                       "30 1 0:26 /\\0 HOUSE/groups\n- - - -\n" * 100)
        words = [*FLOOD, "2"]
        result = harness.run(words, folder=self.folder, **how)
        self.assertEqual(result[:3], harness.run(words)[:3])
        self.assertEqual(result.said, [])
        path, = harness.traces(self.folder)
        self.assertNotIn("memory", metadata_of(path))
        self.assertEqual(ledger_of(path)["memory_refused_cgroup"], 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
