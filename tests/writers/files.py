# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of whole files: making traces and linting them."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINT = os.path.join(ROOT, "tests", "lint", "trace_lint.py")
MAKE_TRACE = sys.argv[1] if len(sys.argv) > 1 else ""


def folder():
    """A new folder, removed at the end of the test."""
    path = tempfile.mkdtemp(prefix="gputrace-files-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def make(directory, steps, expect=0, **settings):
    """Runs make_trace; returns the path of the file and the ledger that the writer counted."""
    command = [MAKE_TRACE, directory, str(steps)] + [f"{k}={v}" for k, v in settings.items()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False)
    assert done.returncode == expect, (command, done.returncode, done.stderr)
    lines = done.stdout.splitlines()
    return lines[0], {key: int(value) for key, value in (line.split() for line in lines[1:])}


def lint(path, *options):
    """The findings of trace_lint.py."""
    done = subprocess.run([sys.executable, LINT, *options, path], stdout=subprocess.PIPE, text=True,
                          timeout=240, check=False)
    assert done.returncode == (1 if done.stdout else 0), (done.returncode, done.stdout)
    return done.stdout.splitlines()


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Skip(Exception):
    """The test cannot run on this machine."""


def main(tests):
    """Runs each test function; TAP on stdout."""
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} {test.__name__}", flush=True)
        except Skip as reason:
            print(f"ok {number} {test.__name__} # SKIP {reason}", flush=True)
        except AssertionError as error:
            failed += 1
            print(f"not ok {number} {test.__name__}\n# " + repr(error)[:3000].replace("\\n", "\n# "),
                  flush=True)
    sys.exit(1 if failed else 0)
