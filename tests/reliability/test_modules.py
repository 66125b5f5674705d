#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of the program's modules, which the tracer reads for their names: a program that closes
every descriptor keeps those that it opens itself, and a file that is cut harms nobody."""

import os
import shutil
import sys
import tempfile
import unittest

import harness

PLUGIN = os.path.join(harness.PROGRAMS, "libreliability_plugin.so")
SLOW = os.path.join(harness.PROGRAMS, "libslowfiles.so")


class Modules(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-modules-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = os.path.join(self.folder, "out")

    def copies(self, count):
        """Files of their own, so that each is read."""
        paths = []
        for number in range(count):
            paths.append(os.path.join(self.folder, f"plugin{number}.so"))
            shutil.copyfile(PLUGIN, paths[-1])
        return paths

    def run_closing(self, count, options=()):
        words = [harness.program("modules"), "close", self.folder, *self.copies(count)]
        result = harness.run(words, folder=self.out, options=options)
        self.assertEqual((result.status, result.stderr), (3, []))

    def kernels(self):
        return harness.gate.count(self.out, '"cat": "kernel"')

    def test_program_that_closes_everything(self):
        self.run_closing(60)
        self.assertEqual(len(harness.traces(self.out)), 1)

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


if __name__ == "__main__":
    sys.exit(unittest.main())
