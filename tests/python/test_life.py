# SPDX-License-Identifier: Apache-2.0
"""Interpreters that end, that may not look at memory, and interpreters that a C program loads, ends,
starts again and unloads.

    test_life.py PROBE_LIBRARY EMBED_PROGRAM
"""
import pathlib
import subprocess
import sys
import unittest

import interpreters

HERE = pathlib.Path(__file__).parent
PROBE, EMBED = sys.argv[1:3]
del sys.argv[1:3]


class Life(unittest.TestCase):
    def each(self, run):
        for about in filter(interpreters.is_supported, interpreters.find()):
            with self.subTest(about["path"]):
                run(about, "CPython " + ".".join(map(str, about["version"])))

    def test_ending(self):
        def run(about, name):
            for _ in range(5):
                result = subprocess.run([about["path"], str(HERE / "ending.py"), PROBE],
                                        capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
            print(f"{name}: ends", flush=True)
        self.each(run)

    def test_refused(self):
        def run(about, name):
            result = subprocess.run([about["path"], str(HERE / "refused.py"), PROBE],
                                    capture_output=True, text=True, timeout=300, check=False)
            self.assertIn(result.stdout, ("started\n", "no seccomp\n"), result.stderr)
            print(f"{name}: {result.stdout.strip()}", flush=True)
        self.each(run)

    def test_embedded(self):
        def run(about, name):
            found = interpreters.shared_library(about)
            if not found:
                print(f"{name}: no shared library", flush=True)
                return
            result = subprocess.run([EMBED, PROBE, *found], capture_output=True, text=True,
                                    timeout=300, check=False)
            self.assertEqual((result.returncode, result.stdout), (0, "ok\n"), result.stderr)
            print(f"{name}: embedded", flush=True)
        self.each(run)


if __name__ == "__main__":
    unittest.main()
