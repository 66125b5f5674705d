#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the spool costs a program: all that a process spends whose only call is the first one, and a
launch on the launching thread, with and without. Runs of both take turns; medians of processor time.
spool.py BUILD [--runs N]"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile


def run(build, spool, words):
    """(stdout, ms of processor time of all that was started)"""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, GPUTRACE_OUTPUT=folder, GPUTRACE_SPOOL=spool,
                           GPUTRACE_BUILD=build, SIMCUDA_TIME="virtual",
                           LD_LIBRARY_PATH=simulator(build),
                           LD_PRELOAD=os.path.join(build, "preload", "libgputrace.so"))
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL) as process:
            text = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        sys.exit("%s: status %d" % (words, process.returncode))
    return text, (usage.ru_utime + usage.ru_stime) * 1e3


def simulator(build):
    scripts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts")
    result = subprocess.run([os.path.join(scripts, "simcuda"), "--build=" + build, "--print-path"],
                            capture_output=True, text=True, check=True)
    return result.stdout.strip()


def launch_ns(text):
    values = dict(line.split(" ", 1) for line in text.splitlines() if " " in line)
    return float(values["cpu_ns"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=21)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    first = [os.path.join(build, "tests", "reliability", "reliability_workload"), "rounds", "0"]
    loop = [os.path.join(build, "bench", "gputrace-workload"), "loop", "20", "5000", "30"]
    processes, launches = {"off": [], "on": []}, {"off": [], "on": []}
    for _ in range(arguments.runs):
        for spool in ("off", "on"):
            processes[spool].append(run(build, spool, first)[1])
            launches[spool].append(launch_ns(run(build, spool, loop)[0]))
    print("| spool | a process with three threads that have the context, ms | a launch, ns |\n"
          "| --- | --- | --- |")
    for spool in ("off", "on"):
        print("| %s | %.1f | %.0f (%.0f .. %.0f) |" % (
            spool, statistics.median(processes[spool]), statistics.median(launches[spool]),
            min(launches[spool]), max(launches[spool])))


if __name__ == "__main__":
    main()
