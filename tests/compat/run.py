#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one reader over traces.

usage: run.py READER MAKE_TRACE
       run.py READER --simcuda BUILD PROGRAM

Makes the traces of two ranks, once with steps and once without, or traces PROGRAM on the simulated device, and gives the folder to
reader_READER.py, run by the Python of .venv (scripts/setup --compat). Exit 77, which is "skipped", when that is not there; a reader that cannot be
had for another reason says so and exits 77 by itself.
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON = os.path.join(ROOT, ".venv", "bin", "python")
STEPS = 20
STEPPED = ("hta", "tensorboard")  # readers for which steps matter


def make_ranks(folder, make_trace, *settings):
    for rank in (0, 1):
        subprocess.run([make_trace, folder, str(STEPS), f"rank={rank}", "world=2",
                        f"pid={4100 + 100 * rank}", f"seed={rank + 1}", "brief=1", *settings],
                       check=True, stdout=subprocess.DEVNULL)


def trace_program(folder, build, program):
    scripts = os.path.join(ROOT, "scripts")
    subprocess.run([os.path.join(scripts, "simcuda"), os.path.join(scripts, "gputrace"), "run",
                    "--quiet", f"--output={folder}", program],
                   check=True, stdout=subprocess.DEVNULL, env={**os.environ, "GPUTRACE_BUILD": build, "GPUTRACE_STEP_RANGE": "auto", "GPUTRACE_EXIT_TIMEOUT": "60000"})


def main(reader, *what):
    if not os.path.exists(PYTHON):
        print("skipped: no .venv; scripts/setup --compat makes it")
        return 77
    with tempfile.TemporaryDirectory(prefix="gputrace-compat-") as scratch:
        folders = [os.path.join(scratch, "train")]
        if what[0] == "--simcuda":
            trace_program(folders[0], *what[1:])
        else:
            make_ranks(folders[0], *what)
        if what[0] != "--simcuda" and reader in STEPPED:
            folders.append(os.path.join(scratch, "stepless"))
            make_ranks(folders[1], *what, "stepless=1")
        done = subprocess.run([PYTHON, os.path.join(HERE, f"reader_{reader}.py"), *folders],
                              cwd=scratch, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
