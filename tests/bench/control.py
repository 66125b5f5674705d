#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long gputrace start, stop and status take, from the start of the command to its end: the process answers when it
records, or when the file is closed. The program has three threads, each with 200 rounds of a kernel, a set and a copy a second.

    tests/bench/control.py BUILD [REPEATS]

Milliseconds, median, 95th of 100 and largest."""

import os
import statistics
import subprocess
import sys
import tempfile
import time


def measure(cli, word, env):
    before = time.monotonic_ns()
    subprocess.run([cli, word, "all"], env=env, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic_ns() - before) / 1e6


def main():
    build = os.path.realpath(sys.argv[1])
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    cli = os.path.join(build, "cli", "gputrace-cli")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as boxes:
        env = dict(os.environ, GPUTRACE_BUILD=build, GPUTRACE_CONTROL=boxes, GATE=os.path.join(folder, "gate"))
        command = [os.path.join(source, "scripts", "simcuda"), "env", "GPUTRACE_WAIT=yes", "GPUTRACE_OUTPUT=" + folder,
                   "LD_PRELOAD=" + os.path.join(build, "preload", "libgputrace.so"),
                   os.path.join(build, "tests", "reliability", "reliability_controlled")]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            times = {}
            for _ in range(repeats):
                for word in ("start", "status", "stop"):
                    times.setdefault(word, []).append(measure(cli, word, env))
            process.kill()
    for word, ms in times.items():
        print(f"{word}: median {statistics.median(ms):.1f}, 95 of 100 {sorted(ms)[len(ms) * 95 // 100]:.1f}, "
              f"largest {max(ms):.1f}")


if __name__ == "__main__":
    main()
