#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One clone serves users and developers: what README.md builds to install has a folder of its own, and the scripts
that need the tests and the simulated device switch them on in a folder that was configured without."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTES = 'printf "%s\\n" "${0##*/} $*" >>"$NOTES"\n'


def commands(heading):
    """The shell lines below a heading line of README.md's part Build."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.search(heading + r":\n\n```sh\n(.*?)```", page, re.S).group(1)


class TestReadme(unittest.TestCase):
    def test_each_purpose_has_its_folder(self):
        used, worked = commands("To use it"), commands("To work on it")
        folder = re.search(r"meson setup (\S+) -Dtests=false", used).group(1)
        self.assertIn(f"meson install -C {folder}", used)
        self.assertNotEqual(folder, re.search(r"meson setup (\S+)", worked).group(1))
        ignored = subprocess.run(["git", "-C", str(ROOT), "check-ignore", "-q", folder + "/x"], check=False)
        self.assertIn(ignored.returncode, (0, 128), "git would list it; 128: no repository")


class TestScripts(unittest.TestCase):
    def setUp(self):
        """A tree with a configured build, and tools that only note how they are called; ninja then fails."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name).resolve()
        for name in ("build", "tools/bin", "scripts"):
            (self.tree / name).mkdir(parents=True)
        (self.tree / "build/build.ninja").touch()
        for name in ("demo", "test", "simcuda", "test_summary.py"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts" / name)
        self.tool("scripts/setup", "")
        self.tool("tools/bin/nvcc", "")
        self.tool("tools/bin/meson", NOTES)
        self.tool("tools/bin/ninja", NOTES + "exit 1\n")

    def tool(self, name, text):
        path = self.tree / name
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)

    def notes_of(self, *command):
        notes = self.tree / "notes"
        env = {**os.environ, "NOTES": str(notes), "CUDA_HOME": str(self.tree / "tools"),
               "PATH": f"{self.tree}/tools/bin:{os.environ['PATH']}"}
        done = subprocess.run(command, cwd=self.tree, env=env, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        return notes.read_text(encoding="utf-8"), done.stdout + done.stderr

    def test_they_switch_the_tests_on(self):
        for words in (("scripts/demo",), ("scripts/test", "--quick")):
            with self.subTest(script=words[0]):
                notes, said = self.notes_of(*words)
                self.assertRegex(notes, r"(?m)^meson configure build .*-Dtests=true", said)

    def test_they_set_up_what_is_not_there(self):
        (self.tree / "build/build.ninja").unlink()
        for words in (("scripts/demo",), ("scripts/test", "--quick")):
            with self.subTest(script=words[0]):
                notes, said = self.notes_of(*words)
                self.assertRegex(notes, r"(?m)^meson setup build", said)

    def advice(self):
        done = subprocess.run(["scripts/simcuda", "true"], cwd=self.tree, capture_output=True, text=True, check=False,
                              env={k: v for k, v in os.environ.items() if k != "GPUTRACE_BUILD"})
        self.assertEqual(done.returncode, 2)
        return done.stderr

    def test_advice_of_simcuda_fits_the_folder(self):
        self.assertIn(f"meson configure {self.tree}/build -Dtests=true", self.advice())
        (self.tree / "build/build.ninja").unlink()
        self.assertIn(f"meson setup {self.tree}/build", self.advice())


if __name__ == "__main__":
    unittest.main()
