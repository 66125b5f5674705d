#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long gputrace start, stop and status take, from the start of the command to its end: the process answers when it
records, or when the file is closed. The program has three threads, each with 200 rounds of a kernel, a set and a copy a second.

    tests/bench/control.py BUILD [REPEATS]

Milliseconds, median, 95th of 100 and largest. Then the same of status for a program that does nothing, outside of a window, and how
often the tracer's threads wake in it."""

import collections
import glob
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


def count_wakes(pid):
    """By thread."""
    found = collections.Counter()
    for path in glob.glob(f"/proc/{pid}/task/*/status"):
        with open(path, encoding="utf-8") as file:
            fields = dict(line.split(":", 1) for line in file)
        if fields["Name"].strip().startswith("gputrace-"):
            found[fields["Name"].strip()] = int(fields["voluntary_ctxt_switches"])
    return found


def start(source, build, folder, env, *program):
    return subprocess.Popen([os.path.join(source, "scripts", "simcuda"), "env", "GPUTRACE_WAIT=yes", "GPUTRACE_OUTPUT=" + folder,
                             "LD_PRELOAD=" + os.path.join(build, "preload", "libgputrace.so"),
                             os.path.join(build, "tests", "reliability", program[0]), *program[1:]], env=env,
                            stdout=subprocess.PIPE)


def measure_idle(cli, process, env, seconds=20):
    time.sleep(8)
    before = count_wakes(process.pid)
    time.sleep(seconds)
    wakes = count_wakes(process.pid) - before
    times = []
    for _ in range(40):
        times.append(measure(cli, "status", env))
        time.sleep(0.13)
    return times, {name: count / seconds for name, count in wakes.items()}


def main():
    build = os.path.realpath(sys.argv[1])
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    cli = os.path.join(build, "cli", "gputrace-cli")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as boxes:
        env = dict(os.environ, GPUTRACE_BUILD=build, GPUTRACE_CONTROL=boxes, GATE=os.path.join(folder, "gate"))
        with start(source, build, folder, env, "reliability_controlled") as process:
            process.stdout.readline()
            times = {}
            for _ in range(repeats):
                for word in ("start", "status", "stop"):
                    times.setdefault(word, []).append(measure(cli, word, env))
            process.kill()
        with start(source, build, folder, env, "reliability_hang", "read") as process:
            times["status, idle"], wakes = measure_idle(cli, process, env)
            process.kill()
    for word, ms in times.items():
        print(f"{word}: median {statistics.median(ms):.1f}, 95 of 100 {sorted(ms)[len(ms) * 95 // 100]:.1f}, "
              f"largest {max(ms):.1f}")
    print("wakes a second:", ", ".join(f"{name} {rate:.1f}" for name, rate in sorted(wakes.items())))


if __name__ == "__main__":
    main()
