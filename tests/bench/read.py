#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading a trace of 1 M events costs: read.py CLI [LAUNCHES]

Makes the trace, then runs each command five times on one core and prints the median processor time and
the largest resident memory.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = (["stats"], ["stats", "--report=all"], ["gaps"], ["stacks"], ["verify"], ["merge"], ["report", "--output=-"])


def run(words):
    """Processor time in s and largest resident memory in MiB of one child."""
    with open(os.devnull, "w", encoding="utf-8") as null:
        child = subprocess.Popen(words, stdout=null, stderr=null)
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    cli, launches = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "250000"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        subprocess.run([sys.executable, os.path.join(HERE, "generate_trace.py"), launches, path], check=True)
        print("%d bytes, %s launches" % (os.path.getsize(path), launches))
        for command in COMMANDS:
            runs = sorted(run([cli, *command, path]) for _ in range(5))
            print("%-22s %.2f s  %4.0f MiB" % (" ".join(command), runs[2][0], max(mib for _, mib in runs)))


main()
