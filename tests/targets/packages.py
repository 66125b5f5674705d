# SPDX-License-Identifier: Apache-2.0
"""Installs packages from the package index for tests, each in its own folder."""

import pathlib
import subprocess
import sys


def get(folder, requirement):
    """The folder of @requirement below @folder. Skips the test (exit 77) if it cannot be installed."""
    target = pathlib.Path(folder, requirement)
    complete = target / ".complete"
    if complete.exists():
        return target
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade",
                           "--disable-pip-version-check", "--only-binary", ":all:", "--retries", "1",
                           "--target", target, requirement],
                          capture_output=True, text=True, timeout=240, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        print("skipped: no", requirement, *last)
        sys.exit(77)
    complete.touch()
    return target
