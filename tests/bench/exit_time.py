#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tracer adds to the time from exit() to the end of the process, while other threads launch.

    tests/bench/exit_time.py BUILD [REPEATS] [CUPTI...]

Milliseconds, median and largest: without the tracer, with it."""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

LOADS = {"no thread": ("0", "0"), "1 thread, a round each 0.1 ms": ("1", "100"),
         "4 threads, a round each 0.1 ms": ("4", "100")}


def exit_ms(build, load, cupti, folder):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    command = [os.path.join(source, "scripts", "simcuda"), "--cupti=" + cupti]
    if folder:
        command += ["env", "GPUTRACE_OUTPUT=" + folder, "LD_PRELOAD=" + os.path.join(build, "preload", "libgputrace.so")]
    with subprocess.Popen(command + [os.path.join(build, "tests", "reliability", "reliability_leaving"), "exit", *load],
                          stdout=subprocess.PIPE, text=True, env={**os.environ, "GPUTRACE_BUILD": build}) as process:
        process.wait(60)
        ended = time.monotonic_ns()
        return (ended - int(re.search(r"leaving at (\d+)", process.stdout.read())[1])) / 1e6


def main():
    build = os.path.realpath(sys.argv[1])
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 21
    for cupti in sys.argv[3:] or ["130000", "26"]:
        for name, load in LOADS.items():
            times = {"without": [], "with": []}
            for _ in range(repeats):
                times["without"].append(exit_ms(build, load, cupti, None))
                with tempfile.TemporaryDirectory() as folder:
                    times["with"].append(exit_ms(build, load, cupti, folder))
            print(f"CUPTI {cupti}, {name}:", ", ".join(f"{how} {statistics.median(ms):.1f} ({max(ms):.1f})"
                                                         for how, ms in times.items()), flush=True)


if __name__ == "__main__":
    main()
