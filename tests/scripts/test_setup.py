#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/setup installs what the build asks for: every pkg-config module that a meson.build names
comes from a package of its list. A machine that has the package by chance would hide the omission."""
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NO_PACKAGE = {"threads", "dl"}  # parts of libc
OPTIONAL = {"cuda", "mpi"}  # the toolkit is looked for, never installed; -Dmpi is off unless asked for
FOLDERS = ("/usr/lib/x86_64-linux-gnu/pkgconfig", "/usr/lib/aarch64-linux-gnu/pkgconfig",
           "/usr/lib/pkgconfig", "/usr/share/pkgconfig")


def modules():
    """The names in dependency('...') of every meson.build of the source tree."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*meson.build"],
                            capture_output=True, text=True, check=False).stdout.split()
    files = [ROOT / name for name in listed] or [*ROOT.glob("*/meson.build"),
                                                 *ROOT.glob("*/*/meson.build")]
    found = set()
    for path in files:
        found.update(re.findall(r"\bdependency\('([^']+)'", path.read_text(encoding="utf-8")))
    return found - NO_PACKAGE - OPTIONAL


def packages_of_setup():
    text = (ROOT / "scripts" / "setup").read_text(encoding="utf-8")
    return set(" ".join(re.findall(r'^\w+_packages="([^"]*)"', text, re.M)).split())


def package_of(module):
    """The Debian package that holds the module's .pc file, or None."""
    for folder in FOLDERS:
        done = subprocess.run(["dpkg-query", "-S", f"{folder}/{module}.pc"], capture_output=True,
                              text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return None


@unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian machine")
class TestSetup(unittest.TestCase):
    def test_every_module_has_its_package(self):
        found = modules()
        self.assertGreater(len(found), 4)
        missing = {module: package_of(module) for module in found
                   if package_of(module) not in packages_of_setup()}
        self.assertEqual(missing, {}, "not in the lists of scripts/setup")


if __name__ == "__main__":
    unittest.main()
