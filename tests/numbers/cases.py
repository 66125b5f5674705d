# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of numbers: running the command, folders, the public traces, TAP."""

import atexit
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

CLI = sys.argv[1]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Skip(Exception):
    """The test cannot run on this machine."""


def folder():
    """A new folder, removed at the end of the test."""
    path = tempfile.mkdtemp(prefix="gputrace-numbers-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def write(trace, name="trace.json", where=None):
    """The path of a file that holds the trace."""
    path = os.path.join(where or folder(), name)
    with (
        gzip.open(path, "wt") if name.endswith(".gz") else open(path, "w", encoding="utf-8")
    ) as file:
        json.dump(trace, file)
    return path


def run(*words, expect=0):
    """What a command prints: standard output and standard error."""
    done = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == expect, (words, done.returncode, done.stderr)
    return done.stdout, done.stderr


def tables(*words, expect=0):
    """The tables of a command, by name: lists of rows."""
    return json.loads(run(*words, "--format=json", expect=expect)[0])


def table(*words):
    """The only table of a command."""
    (rows,) = tables(*words).values()
    return rows


def public():
    """The files of the public traces."""
    data = os.environ.get(
        "GPUTRACE_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data")
    )
    found = sorted(glob.glob(os.path.join(data, "kineto", "*", "*.json.gz")))
    if not found:
        raise Skip("no public traces (set GPUTRACE_TEST_DATA)")
    return found


def close(a, b, what, parts=1e-9):
    """Two numbers that must be equal but for the rounding of their last digit."""
    assert abs(a - b) <= max(abs(a), abs(b)) * parts + 1e-6, (what, a, b)


def main(tests):
    """Runs each test function; TAP on standard output."""
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
            print(f"# {str(error)[:2000]}\nnot ok {number} {test.__name__}", flush=True)
    sys.exit(1 if failed else 0)
