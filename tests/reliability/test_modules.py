#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracer reads the files of the program's modules for their names: a program that closes every
descriptor keeps the files that it opens itself, and a truncated or malformed file does no harm."""

import os
import shutil
import struct
import sys
import tempfile
import unittest

import harness

PLUGIN = os.path.join(harness.PROGRAMS, "libreliability_plugin.so")
PT_NOTE = 4
NOWHERE = 1 << 46  # no mapping of a program is that far after a module
SLOW = os.path.join(harness.PROGRAMS, "libslowfiles.so")


def move_notes(path, address):
    """Sets the address of the notes in the file's program headers to where nothing is loaded."""
    with open(path, "r+b") as file:
        head = file.read(64)
        at, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        moved = 0
        for place in range(at, at + size * count, size):
            file.seek(place)
            if struct.unpack("<I", file.read(4))[0] == PT_NOTE:
                file.seek(place + 16)  # p_vaddr
                file.write(struct.pack("<Q", address))
                moved += 1
    return moved


class Modules(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-modules-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = os.path.join(self.folder, "out")

    def copies(self, count):
        """Separate files, so that each is read."""
        paths = []
        for number in range(count):
            paths.append(os.path.join(self.folder, f"plugin{number}.so"))
            shutil.copyfile(PLUGIN, paths[-1])
        return paths

    def run_closing(self, count, options=()):
        words = [harness.program("modules"), "close", self.folder, *self.copies(count)]
        result = harness.run(words, folder=self.out, options=options)
        self.assertEqual((result.status, result.stderr), (3, []))
        self.assertEqual(len(harness.traces(self.out)), 1, result)  # and not elsewhere

    def kernels(self):
        return harness.gate.count(self.out, '"cat": "kernel"')

    def test_program_that_closes_everything(self):
        self.run_closing(60)

    def test_the_same_when_every_step_of_the_tracer_takes_long(self):
        libraries = harness.preloading.with_tracer(f"{SLOW}:{harness.LIBRARY}")
        self.run_closing(20, options=("LD_PRELOAD=" + libraries,))

    def test_file_that_is_cut(self):
        path = self.copies(1)[0]
        size = os.path.getsize(path)
        gates = [lambda: harness.gate.count(self.out, "plugin_first (") > 0,
                 lambda: self.kernels() >= 2]
        result = harness.run([harness.program("modules"), "cut", path], folder=self.out, gates=gates,
                             options=("GPUTRACE_FLUSH_PERIOD=10",))
        self.assertEqual((result.status, result.stderr), (3, []))
        self.assertLess(os.path.getsize(path), size)
        trace = harness.traces(self.out)[0]
        self.assertEqual(harness.lint(trace), "")
        with open(trace, encoding="utf-8") as file:
            self.assertIn("plugin_first (", file.read())

    def test_notes_that_are_not_loaded(self):
        path = self.copies(1)[0]
        self.assertGreater(move_notes(path, NOWHERE), 0)
        result = harness.run([harness.program("modules"), "load", path], folder=self.out,
                             gates=[lambda: self.kernels() >= 1],
                             options=("GPUTRACE_FLUSH_PERIOD=10",))
        self.assertEqual((result.status, result.stderr), (3, []))
        trace = harness.traces(self.out)[0]
        self.assertEqual(harness.lint(trace), "")
        with open(trace, encoding="utf-8") as file:
            self.assertIn(os.path.basename(path), file.read())


if __name__ == "__main__":
    sys.exit(unittest.main())
