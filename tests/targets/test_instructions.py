#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions of one recorded call on the application's thread, counted by callgrind: the same on any
machine at any load. The bounds are about twice what was measured when they were set."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["TARGET_INSTRUCTIONS"]
SAMPLED = os.environ["TARGET_SAMPLE_INSTRUCTIONS"]
FEW, MANY = 2000, 12000


def count(program, *arguments):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=" + os.path.join(folder, "out"),
             program, *map(str, arguments)],
            capture_output=True, text=True, timeout=400, check=True)
    return max(int(n) for n in re.findall(r"Collected : (\d+)", result.stderr))


def per_call(depth, frames, *more):
    return (count(PROGRAM, MANY, depth, frames, *more) - count(PROGRAM, FEW, depth, frames, *more)) / (MANY - FEW)


class Instructions(unittest.TestCase):
    def check(self, depth, frames, bound):
        instructions = per_call(depth, frames)
        print("depth %d, %d frames: %.0f instructions a call" % (depth, frames, instructions))
        self.assertLess(instructions, bound)
        self.assertGreater(instructions, 20, "nothing was recorded")

    def test_without_a_stack(self):
        self.check(0, 36, 430)

    def test_with_a_known_stack(self):
        self.check(64, 36, 960)

    def test_stream(self):
        """What the stream of a launch adds, for gputrace hang."""
        adds = per_call(0, 0, "stream") - per_call(0, 0)
        print("the stream adds %.0f instructions" % adds)
        self.assertLess(adds, 100)
        self.assertGreater(adds, 5, "nothing was recorded")

    def test_nvtx(self):
        """A range that is pushed and popped, with a name of 24 characters."""
        instructions = per_call(0, 0, "nvtx")
        print("%.0f instructions a range" % instructions)
        self.assertLess(instructions, 780)
        self.assertGreater(instructions, 100, "nothing was recorded")

    def test_sample(self):
        """A sample of a running thread, on a shallow stack and on one larger than the copy."""
        for frames, bound in ((2, 8000), (100, 50000)):
            some, more = (count(SAMPLED, samples, frames) for samples in (50, 250))
            print("%d KiB of stack: %.0f instructions a sample" % (frames, (more - some) / 200))
            self.assertLess((more - some) / 200, bound)
            self.assertGreater((more - some) / 200, 100, "nothing was copied")


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("valgrind is not installed")
        sys.exit(77)
    unittest.main()
