#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of strangers: nothing in a trace or a spool chooses what is loaded, read or written. The rows of
docs/THREATS.md."""

import fcntl
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import harness

EXAMPLE = os.path.join(harness.SOURCE, "examples", "traces", "killed.json")
MARKER = os.path.join(harness.PROGRAMS, "libmarker.so")
BUILD = "0123456789abcdef"
ACTIVE = "\x1b]0;evil\x07\x9b31m</script><script>evil()</script>]]>"


def spool_bytes(version, library, folder, trace):
    """A spool as the tracer begins it; version 1 named the library that had written it."""
    paths = ([library] if version == 1 else []) + [folder, trace]
    texts = b"".join(struct.pack("1024s", path.encode()) for path in paths)
    head = struct.pack("=16sIIQ40s72s", b"gputrace spool\n", version, 1 << 30, 1, b"another boot", BUILD.encode())
    return (head + texts + struct.pack("=11Q", 1 << 40, 8192, 8192, *8 * [0])).ljust(8192, b"\0")


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
class Strangers(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-strangers-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.spools = tempfile.mkdtemp(prefix="gt-strangers-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.spools, ignore_errors=True)
        self.marker = os.path.join(self.folder, "marker")
        self.trace = os.path.join(self.folder, "host_4100.1782967788000.pt.trace.json")
        self.spool = os.path.join(self.spools, "gputrace-4100.1782967788000.spool")

    def write_trace(self, spool):
        with open(EXAMPLE, encoding="utf-8") as file:
            text = file.read()
        text = text.replace('"displayTimeUnit"', f'"metadata": {{"spool": "{spool}", "pid": 4100}}, "displayTimeUnit"')
        with open(self.trace, "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(self.trace, (1, 1))  # nobody writes it any more
        return text

    def write_spool(self, path, version=3, **how):
        how = {"library": MARKER, "folder": self.folder, "trace": self.trace, **how}
        with open(path, "wb") as file:
            file.write(spool_bytes(version, **how))
        os.chmod(path, 0o600)
        return path

    def repair(self, *words, before=(), **changes):
        """Nothing is ever loaded."""
        status, output = harness.tool("repair", *words, before=before, MARKER=self.marker, **changes)
        self.assertFalse(os.path.exists(self.marker), output)
        return status, output

    def repair_named(self, *words):
        return self.repair("--spool=" + self.spools, *words)

    def check_used(self, used):
        """An accepted spool is asked for its build, which is none of this library's."""
        before = self.write_trace(self.spool)
        status, output = self.repair_named(self.trace)
        with open(self.trace, encoding="utf-8") as file:
            after = file.read()
        self.assertEqual((status, BUILD in output, after == before), (1, True, True) if used else (0, False, False),
                         output)

    def test_archive_with_a_library(self):
        """An unpacked archive whose trace names a spool beside it, which names a library."""
        for version in (1, 2):
            for name in (os.path.join(self.folder, "notes.bin"), "/proc/self/cwd/notes.bin"):
                with self.subTest(version=version, name=name):
                    self.write_spool(os.path.join(self.folder, "notes.bin"), version)
                    self.write_trace(name)
                    self.repair(self.trace, before=["env", "-C", self.folder])

    def test_spool_of_ours(self):
        """What the other cases differ from."""
        self.write_spool(self.spool)
        self.check_used(True)

    def test_old_spool_with_a_library(self):
        self.write_spool(self.spool, version=1)
        self.check_used(False)

    def test_folder_that_nobody_named(self):
        """The trace names it: that is said, and not followed."""
        self.write_spool(self.spool)
        before = self.write_trace(self.spool)
        status, output = self.repair(self.trace)
        with open(self.trace, encoding="utf-8") as file:
            self.assertEqual((status, file.read()), (1, before), output)
        self.assertIn("--spool", output)
        self.assertNotIn(BUILD, output)
        self.assertEqual(self.repair("--spool=off", self.trace)[0], 0)

    def test_folder_on_a_disk(self):
        self.spools, self.spool = self.folder, os.path.join(self.folder, os.path.basename(self.spool))
        self.write_spool(self.spool)
        self.check_used(False)

    def test_link(self):
        os.symlink(self.write_spool(os.path.join(self.spools, "elsewhere")), self.spool)
        self.check_used(False)

    def test_writable_by_others(self):
        self.write_spool(self.spool)
        for mode in (0o620, 0o602):
            with self.subTest(mode=oct(mode)):
                os.chmod(self.spool, mode)
                self.check_used(False)

    def test_folder_in_which_others_exchange_files(self):
        self.write_spool(self.spool)
        os.chmod(self.spools, 0o777)
        self.check_used(False)
        os.chmod(self.spools, 0o1777)
        self.check_used(True)

    def test_fifo(self):
        os.mkfifo(self.spool)
        self.check_used(False)

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_spool_of_another_user(self):
        self.write_spool(self.spool)
        os.chown(self.spool, 12345, -1)
        self.check_used(False)

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_lock_of_another_user(self):
        """Somebody who locks our spool for ever."""
        self.write_spool(self.spool)
        lock = os.path.join(self.spools, f".{os.path.basename(self.spool)}.repair")
        with open(lock, "w", encoding="utf-8") as file:
            os.chown(lock, 12345, -1)
            fcntl.lockf(file, fcntl.LOCK_EX)
            self.check_used(True)

    def test_folder_that_leads_elsewhere(self):
        """Traces that were not begun are made below the folder that the user names, and nowhere else."""
        inside = os.path.join(self.folder, "inside")
        os.mkdir(inside)
        for folder, used in ((inside, True), (inside + "/../../" + os.path.basename(self.folder), False)):
            with self.subTest(folder=folder):
                self.write_spool(self.spool, folder=folder, trace="")
                status, output = self.repair_named("--begun", inside)
                self.assertEqual((status, BUILD in output), (1, True) if used else (0, False), output)

    def test_run_with_a_strangers_trace(self):
        """`gputrace run` repairs by itself: files of its folder that look like its own."""
        self.trace = os.path.join(self.folder, f"host_4100.{9 * 10**12}.pt.trace.json")
        self.write_spool(os.path.join(self.folder, "notes.bin"), 1)
        self.write_trace("/proc/self/cwd/notes.bin")
        words = [os.path.join(harness.SOURCE, "scripts", "gputrace"), "run", "--output=" + self.folder, "true"]
        result = subprocess.run(words, cwd=self.folder, env=harness.environment(MARKER=self.marker), check=False,
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("repaired", result.stderr)
        self.assertFalse(os.path.exists(self.marker), result.stderr)

    def test_link_to_another_file(self):
        """What is named like a trace in a folder of others may lead to a file that is theirs no more."""
        self.write_trace("")
        real = os.path.join(self.folder, "real")
        os.rename(self.trace, real)
        os.symlink(real, self.trace)
        with open(real, "rb") as file:
            before = file.read()
        self.assertEqual(self.repair(self.trace)[0], 1)
        with open(real, "rb") as file:
            self.assertEqual(file.read(), before)

    def spoil(self, value, key=None):
        """@value with something in each text that a terminal or a browser would act on."""
        if isinstance(value, dict):
            return {name: self.spoil(part, name) for name, part in value.items()}
        if isinstance(value, list):
            return [self.spoil(part, key) for part in value]
        return value + ACTIVE if isinstance(value, str) and key not in ("ph", "cat") else value

    def test_text_for_people(self):
        """Names are shown as text: a terminal does not act on them, nor does a browser."""
        path, other = (os.path.join(self.folder, name) for name in ("a.json", "b.json"))
        for name, made in (("train", path), ("slow-kernel", other)):
            with gzip.open(os.path.join(os.path.dirname(EXAMPLE), name + ".json.gz")) as file:
                trace = self.spoil(json.load(file))
            with open(made, "w", encoding="utf-8") as file:
                json.dump(trace, file)
        page, picture = (os.path.join(self.folder, name) for name in ("page.html", "picture.svg"))
        for words in (["stats"], ["stats", "--by=line"], ["stats", "--format=markdown"], ["stacks"], ["gaps"],
                      ["verify"], ["stacks", "--svg=" + picture], ["report", "--output=" + page], ["diff", other]):
            with self.subTest(words=words):
                output = harness.tool(*words, path)[1]
                self.assertFalse(set("\x1b\x07\x9b") & set(output), output)
        for made in (page, picture):
            with open(made, encoding="utf-8") as file:
                text = file.read()
            self.assertIn("evil", text)
            self.assertNotIn("<script>evil", text)


if __name__ == "__main__":
    sys.exit(unittest.main())
