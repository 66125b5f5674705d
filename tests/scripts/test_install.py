#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md tells users to do before they install: a build without tests asks for no test library, makes
nothing that only tests need, and installs each page that README.md links to."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["GT_SOURCE"])
MESON = os.environ.get("MESON", shutil.which("meson") or "meson")


class TestInstall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        done = subprocess.run([MESON, "setup", "-Dtests=false", "--prefix=/usr", cls.folder.name, str(ROOT)],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def ask(self, what):
        done = subprocess.run([MESON, "introspect", f"--{what}", self.folder.name], capture_output=True,
                              text=True, check=True)
        return json.loads(done.stdout)

    def test_without_tests_nothing_is_made_for_them(self):
        self.assertEqual(self.ask("tests"), [])
        self.assertNotIn("criterion", [row["name"] for row in self.ask("dependencies")])
        tests = f"{ROOT}/tests/"
        self.assertEqual([row["name"] for row in self.ask("targets") if row["defined_in"].startswith(tests)], [])

    def test_what_is_installed(self):
        places = set(self.ask("installed").values())
        for name in ("bin/gputrace", "share/man/man1/gputrace.1", "share/man/man1/gputrace-stats.1",
                     "share/bash-completion/completions/gputrace"):
            self.assertIn(f"/usr/{name}", places)
        for name in ("libgputrace.so", "gputrace-cli", "libgputrace-arrow.so", "gputrace_dataset.py"):
            self.assertTrue([place for place in places if place.endswith("/" + name)], name)

    def test_links_of_the_installed_page_lead_somewhere(self):
        places = set(self.ask("installed").values())
        page = (ROOT / "README.md").read_text(encoding="utf-8")
        links = set(re.findall(r"\]\((docs/[^)#]+)", page))
        self.assertGreater(len(links), 8)
        self.assertEqual({link for link in links if f"/usr/share/doc/gputrace/{link}" not in places}, set())


if __name__ == "__main__":
    unittest.main()
