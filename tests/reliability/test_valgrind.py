#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memcheck finds nothing in a traced program except what valgrind.supp explains."""

import os
import re
import shutil
import sys
import tempfile
import unittest

import harness

SUPPRESSIONS = os.path.join(harness.SOURCE, "tests", "reliability", "valgrind.supp")
FOUND = 99


class Valgrind(unittest.TestCase):
    def run_under(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            words = ["valgrind", "--quiet", f"--error-exitcode={FOUND}", *options,
                     harness.program("workload"), "rounds", "20"]
            result = harness.run(words, folder=folder, timeout=200)
            self.assertEqual(len(harness.traces(folder)), 1)
        return result.status, "\n".join(result.stderr)

    def test_nothing_else(self):
        status, text = self.run_under("--suppressions=" + SUPPRESSIONS)
        self.assertEqual(status, 3, text)

    def test_what_the_file_names_is_still_there(self):
        """A suppression that is not used must be removed."""
        _, text = self.run_under("--gen-suppressions=all")
        with open(SUPPRESSIONS, encoding="utf-8") as file:
            for function in re.findall(r"fun:(\w+)", file.read()):
                self.assertIn("fun:" + function, text)


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("valgrind is not installed")
        sys.exit(77)
    sys.exit(unittest.main())
