#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of an event (a call, or a kernel with its arrow) in the writers, counted by callgrind: the same
on any machine at any load. The bounds are a fifth above what was measured when they were set.

    test_writer_instructions.py BENCH_WRITER
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FEW, MANY = 3000, 7000
BOUNDS = {"chrome": 1950, "chrome-all": 2050, "perfetto": 1520, "perfetto-known": 640}


def count(launches, form):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "out"),
             PROGRAM, "/dev/null", str(launches), form, "1"],
            capture_output=True, text=True, timeout=400, check=True)
    return max(int(n) for n in re.findall(r"Collected : (\d+)", result.stderr))


class Instructions(unittest.TestCase):
    def test_an_event(self):
        for form, bound in BOUNDS.items():
            with self.subTest(form=form):
                instructions = (count(MANY, form) - count(FEW, form)) / (MANY - FEW) / 2
                print("%s: %.0f instructions an event" % (form, instructions))
                self.assertLess(instructions, bound)
                self.assertGreater(instructions, 100, "nothing was written")


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("valgrind is not installed")
        sys.exit(77)
    PROGRAM = sys.argv.pop(1)
    unittest.main()
