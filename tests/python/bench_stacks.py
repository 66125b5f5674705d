# SPDX-License-Identifier: Apache-2.0
"""Runs cost.py under every supported Python on this machine.

    bench_stacks.py PROBE_LIBRARY
"""
import pathlib
import subprocess
import sys

import interpreters

for about in interpreters.find():
    if interpreters.is_supported(about):
        subprocess.run([about["path"], str(pathlib.Path(__file__).parent / "cost.py"),
                        sys.argv[1]], check=False)
