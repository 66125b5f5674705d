#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every script whose first line names sh parses in dash and in bash's POSIX mode, and shellcheck,
where it is installed, finds nothing in it."""
import pathlib
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def shell_scripts():
    for path in sorted([*ROOT.glob("scripts/*"), *ROOT.glob(".ci/*")]):
        if path.is_file() and path.read_bytes()[:20].splitlines()[:1] in ([b"#!/bin/sh"],
                                                                           [b"#!/bin/bash"]):
            yield path


class TestShell(unittest.TestCase):
    def check(self, *command):
        found = [path for path in shell_scripts()]
        self.assertGreater(len(found), 3)
        for path in found:
            done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, f"{path}:\n{done.stdout}{done.stderr}")

    def test_dash(self):
        self.check("dash" if shutil.which("dash") else "sh", "-n")

    def test_bash(self):
        self.check("bash", "--posix", "-n")

    @unittest.skipUnless(shutil.which("shellcheck"), "shellcheck is not installed")
    def test_shellcheck(self):
        self.check("shellcheck")


if __name__ == "__main__":
    unittest.main()
