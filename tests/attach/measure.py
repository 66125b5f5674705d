#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long gputrace attach and detach take, and how long the thread is kept that loads the library: the busy
program of the tests, on the simulated device.

usage: measure.py BUILD SOURCE [PROCESSES]    each is attached to, detached from, and both again"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("RELIABILITY_BUILD", sys.argv[1])
os.environ.setdefault("RELIABILITY_SOURCE", sys.argv[2])
import test_attach  # noqa: E402  pylint: disable=wrong-import-position
harness = test_attach.harness


def timed(*words):
    before = time.monotonic()
    status, said = test_attach.gputrace(*words)
    if status:
        sys.exit(said)
    return (time.monotonic() - before) * 1000, said


def measure(rows, folder):
    program = subprocess.Popen(harness.command([test_attach.BUSY]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, env=harness.environment(BUSY_SIMULATED="1"))
    program.stdout.readline()
    pid = str(program.pid)
    for name in ("attach", "attach again"):
        time.sleep(0.2)
        took, said = timed("attach", "--verbose", "--output=" + folder, pid)
        rows.setdefault(name, []).append(took)
        kept = re.search(r"kept for (\S+) ms", said)
        if kept:
            rows.setdefault("the thread is kept", []).append(float(kept[1]))
        time.sleep(0.2)
        rows.setdefault("detach", []).append(timed("detach", pid)[0])
    output, _ = program.communicate("")
    if program.returncode:
        sys.exit(output)


def main():
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 20):
            measure(rows, folder)
    print("| ms | median | longest | times |\n| --- | --- | --- | --- |")
    for name, values in rows.items():
        print(f"| {name} | {statistics.median(values):.1f} | {max(values):.1f} | {len(values)} |")


if __name__ == "__main__":
    main()
