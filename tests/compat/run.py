#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one reader over traces.

usage: run.py READER MAKE_TRACE

Makes the traces of two ranks and gives their folder to reader_READER.py, run by the Python of .venv
(scripts/setup --compat). Exit 77, which is "skipped", when that is not there; a reader that cannot be
had for another reason says so and exits 77 by itself.
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = os.path.join(os.path.dirname(os.path.dirname(HERE)), ".venv", "bin", "python")
STEPS = 20


def main(reader, make_trace):
    if not os.path.exists(PYTHON):
        print("skipped: no .venv; scripts/setup --compat makes it")
        return 77
    with tempfile.TemporaryDirectory(prefix="gputrace-compat-") as scratch:
        folder = os.path.join(scratch, "train")
        for rank in (0, 1):
            subprocess.run([make_trace, folder, str(STEPS), f"rank={rank}", "world=2",
                            f"pid={4100 + 100 * rank}", f"seed={rank + 1}"],
                           check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([PYTHON, os.path.join(HERE, f"reader_{reader}.py"), folder],
                              cwd=scratch, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
