# SPDX-License-Identifier: Apache-2.0
"""Runs python_nvtx.py with a version of the nvtx package of the package index.

    with_nvtx_package.py FOLDER REQUIREMENT RUNNER RUNNER_ARGUMENT... -- PROGRAM

Exit 77 (skipped) with the reason if the package cannot be installed.
"""

import os
import subprocess
import sys

import packages


def main():
    folder, requirement, *runner, dashes, program = sys.argv[1:]
    if dashes != "--":
        sys.exit(__doc__)
    environment = dict(os.environ, PYTHONPATH=str(packages.get(folder, requirement)))
    command = [sys.executable, *runner, "--", sys.executable, program]
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)


main()
