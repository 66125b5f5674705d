# SPDX-License-Identifier: Apache-2.0
"""Runs stacks.py under every Python on this machine.

    test_stacks.py PROBE_LIBRARY
"""
import pathlib
import subprocess
import sys
import unittest

import interpreters

HERE = pathlib.Path(__file__).parent
PROBE = sys.argv.pop(1)


class Stacks(unittest.TestCase):
    def test_every_interpreter(self):
        ran = 0
        for about in interpreters.find():
            if about["implementation"] == "CPython" and about["version"] < interpreters.OLDEST:
                continue
            with self.subTest(about["path"]):
                result = subprocess.run([about["path"], str(HERE / "stacks.py"), PROBE],
                                        capture_output=True, text=True, timeout=280, check=False)
                name = f"{about['implementation']} {'.'.join(map(str, about['version']))}"
                print(f"{name}: {result.stdout.strip()}", flush=True)
                if interpreters.is_supported(about):
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    ran += 1
                elif about["implementation"] == "CPython":
                    self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertGreater(ran, 0, "no supported CPython on this machine")


if __name__ == "__main__":
    unittest.main()
