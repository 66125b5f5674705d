#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading a trace of 1 M events costs: read.py CLI [LAUNCHES]

Makes the trace, as JSON and as .pftrace, then runs each command five times on one core and prints the median
processor time and the largest resident memory. Commands that write do so into the folder of the trace.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = ("stats JSON", "stats --report=all JSON", "gaps JSON", "stacks JSON", "diff JSON JSON", "verify JSON", "merge JSON",
            "report --output=- JSON", "export --csv=OUT JSON", "export --sqlite=OUT JSON", "convert JSON OUT.pftrace",
            "stats PFTRACE", "gaps PFTRACE", "verify PFTRACE", "convert PFTRACE OUT.json")


def run(cli, command, folder):
    """Processor time in s and largest resident memory in MiB of one child."""
    out = os.path.join(folder, "out")
    for name in os.listdir(folder):
        if name.startswith("out"):
            path = os.path.join(folder, name)
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
    names = {"JSON": os.path.join(folder, "trace.json"), "PFTRACE": os.path.join(folder, "trace.pftrace")}
    words = [cli, *(names.get(word, word.replace("OUT", out)) for word in command.split())]
    with open(os.devnull, "w", encoding="utf-8") as null:
        child = subprocess.Popen(words, stdout=null, stderr=null)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0 or command.startswith("verify"), (words, child.returncode)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli", metavar="GPUTRACE-CLI")
    parser.add_argument("launches", metavar="LAUNCHES", nargs="?", default="250000")
    options = parser.parse_args()
    cli, launches = options.cli, options.launches
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        subprocess.run([sys.executable, os.path.join(HERE, "generate_trace.py"), launches, path], check=True)
        packed = os.path.join(folder, "trace.pftrace")
        subprocess.run([cli, "convert", path, packed], check=True)
        print("%d bytes JSON, %d bytes .pftrace, %s launches"
              % (os.path.getsize(path), os.path.getsize(packed), launches))
        for command in COMMANDS:
            runs = sorted(run(cli, command, folder) for _ in range(5))
            print("%-25s %.2f s  %4.0f MiB" % (command, runs[2][0], max(mib for _, mib in runs)), flush=True)


main()
