# SPDX-License-Identifier: Apache-2.0
"""--libraries=cublas: the first calls of a library while the loader is busy wait for nothing, and go where they would without us.

    test_first_calls.py BUILD SOURCE ALONE LINKED
"""

import os
import subprocess
import sys
import unittest

from library_case import LibraryCase

BUILD, SOURCE, ALONE, LINKED = (os.path.realpath(path) for path in sys.argv[1:5])
del sys.argv[1:5]


class FirstCalls(LibraryCase):
    build, source, library = BUILD, SOURCE, "cublas"

    def check(self, expected, program, word, *parts):
        """The same is said without the tracer, and with it."""
        paths = [os.path.join(os.path.dirname(program), f"first_{part}.so") for part in parts]
        for traced in (False, True):
            front = self.tracer(["-q", "--libraries=cublas"]) if traced else []
            result = subprocess.run([os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *front, program, word, *paths],
                                    capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
                                    env=dict(os.environ, GPUTRACE_BUILD=BUILD))
            self.assertEqual((result.returncode, result.stdout), (0, expected), (traced, result.stderr))

    def test_constructor_waits(self):
        """A thread's first call, which another thread's dlopen waits for: of a plug-in's own library, and of the program's."""
        self.check("in time: 3\n", ALONE, "constructor", "plug_3", "waiting")
        self.check("in time: 3\n", LINKED, "constructor", "plug_5", "waiting")

    def test_own_constructor_waits(self):
        """The same of the plug-in that is being opened."""
        self.check("in time: 3\n", ALONE, "own", "own_3")

    def test_forks(self):
        """In children of a process whose other thread was in dlopen or dlclose."""
        self.check(f"{60 * 9}\n", ALONE, "fork", "plug_3", "waiting")
        self.check(f"{60 * 9}\n", LINKED, "fork", "plug_5", "waiting")

    def test_closings(self):
        """While other libraries come and go."""
        self.check(f"{60 * 5}\n", ALONE, "closing", "plug_5", "waiting")

    def test_scopes(self):
        """A plug-in's own library, and one that is there for all: it comes first, but for what has its functions already."""
        self.check("3\n5 3\n", ALONE, "scopes", "plug_3", "cublas_5", "plug_5")
        self.check("7\n5 7\n", ALONE, "scopes", "plug_7", "cublas_5", "plug_5")
        self.check("3\n3 3\n", LINKED, "scopes", "plug_5", "cublas_5", "plug_5")


if __name__ == "__main__":
    unittest.main()
