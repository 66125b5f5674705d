# SPDX-License-Identifier: Apache-2.0
"""Runs python_nvtx.py with the nvtx package of the package index, in a virtual environment.

    with_nvtx_package.py VENV RUNNER RUNNER_ARGUMENT... -- PROGRAM

Exit 77 (skipped) with the reason when the package cannot be had.
"""

import os
import subprocess
import sys


def make_environment(folder):
    python = os.path.join(folder, "bin", "python")
    if os.path.exists(python) and subprocess.run([python, "-c", "import nvtx"],
                                                 capture_output=True, check=False).returncode == 0:
        return python
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "--quiet", "--retries", "1", "nvtx"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            print("skipped: no nvtx package:", *last)
            sys.exit(77)
    return python


def main():
    split = len(sys.argv) - 2
    if sys.argv[split] != "--":
        sys.exit(__doc__)
    python = make_environment(sys.argv[1])
    command = [sys.executable, *sys.argv[2:split], "--", python, sys.argv[-1]]
    sys.exit(subprocess.run(command, check=False).returncode)


main()
