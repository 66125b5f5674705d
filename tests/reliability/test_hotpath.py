#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what a launch costs the launching thread: once a thread and its call sites are known, the
tracer makes no system call or allocation and takes no lock there (3000 calls in 1000 rounds)."""

import re
import sys
import tempfile
import unittest

import harness


def count(how, cupti, options=()):
    """System calls, allocations and locks of the tracer."""
    with tempfile.TemporaryDirectory() as folder:
        result = harness.run([harness.program("hotpath"), how], cupti=cupti, folder=folder,
                             options=options)
        if result.status:
            raise AssertionError(result)
        return tuple(map(int, re.findall(r"(\d+) (?:system calls|allocations|locks)",
                                         result.stdout)))


class HotPath(unittest.TestCase):
    def test_warm(self):
        for cupti in ("130000", "18", "none"):
            for stacks in ("short", "off"):
                with self.subTest(cupti=cupti, stacks=stacks):
                    self.assertEqual(count("warm", cupti, ("GPUTRACE_STACKS=" + stacks,)),
                                     (0, 0, 0))

    def test_the_count_can_fail(self):
        """The first call of a thread maps its ring, which is counted."""
        self.assertGreater(sum(count("cold", "130000")), 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
