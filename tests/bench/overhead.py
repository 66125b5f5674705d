#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracer's own figure of what it costs (metadata.cost) against the processor time of the same program with
and without it: interleaved runs, and of each kind the run that used least, since other programs only add.

    tests/bench/overhead.py BUILD [RUNS]

The program does a fixed amount of work (overhead_loop.c). Without CUPTI the difference is the tracer alone; with
it, CUPTI's own cost is in the difference and not in the figure, so the base is a run with CUPTI alone (bench/floor.c). The
threads of the simulated CUPTI use more processor time than the tracer, and differently each time: so there only the program's
launching threads are compared, and the tracer's threads taken by the kernel's clock. "base twice" is a second run of the base in
place of the traced one: what the machine makes of no difference."""

import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 11
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = BUILD + "/tests/bench/overhead_loop"
LIBRARY = BUILD + "/preload/libgputrace.so"
FLOOR = BUILD + "/bench/libgputrace-floor.so"

# name, threads, launches, spins, depth, ranges, pause in microseconds
WORKLOADS = [
    ("a launch every 40 us", 1, 50000, 20000, 10, 0, 0),
    ("a launch every 10 us", 1, 150000, 5000, 10, 0, 0),
    ("the same, 40 frames deep", 1, 150000, 5000, 40, 0, 0),
    ("the same, in an NVTX range each", 1, 150000, 5000, 10, 1, 0),
    ("two threads, each every 40 us", 2, 30000, 20000, 10, 0, 0),
    ("100 launches, then 5 ms of rest", 1, 40000, 5000, 10, 0, 5000),
]


def run(words, traced, *options):
    """Processor time of a run, of its launching threads, and elapsed time; and its trace's ledger, or None."""
    with tempfile.TemporaryDirectory() as folder:
        command = [SOURCE + "/scripts/simcuda", "env"]
        if traced == "floor":
            command += ["CUDA_INJECTION64_PATH=" + FLOOR]
        elif traced:
            command += ["LD_PRELOAD=" + LIBRARY, "GPUTRACE_OUTPUT=" + folder, *options]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command + [PROGRAM] + [str(word) for word in words], check=True, stdout=subprocess.PIPE)
        elapsed, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        ledger = None
        for path in glob.glob(folder + "/*.json"):
            with open(path, encoding="utf-8") as file:
                ledger = json.load(file)["ledger"]
        return used, int(done.stdout) / 1e9, elapsed, ledger


def figure(ledger):
    """As docs/benchmarks.md defines it."""
    tracer = ledger["cost_added_ns"] + ledger["cost_own_ns"]
    return 100 * tracer / max(ledger["cost_process_ns"] - tracer, ledger["cost_elapsed_ns"])


def least(runs):
    return min(runs, key=lambda run: run[0])


def compare(name, words, mode, base, option):
    plain, again, traced = [], [], []
    for _ in range(RUNS):
        for runs, how in ((plain, base), (traced, True), (again, base)):
            process, threads, elapsed, ledger = run(words, how, *([option] if how is True else []))
            own = ledger["cost_own_ns"] / 1e9 if ledger else 0
            runs.append((threads + own if base else process, max(process, elapsed), ledger))
    without = least(plain + again)
    found, told = 100 * (least(traced)[0] - without[0]) / without[1], figure(least(traced)[2])
    null = 100 * (least(again)[0] - least(plain)[0]) / without[1]
    launches = words[0] * words[1]
    print(f"| {mode} | {name} | {1e9 * without[0] / launches:.0f} | {found:.2f} | {told:.2f} | {told - found:+.2f} "
          f"| {null:+.2f} |", flush=True)


def main():
    print("| mode | program | a launch without, ns | outside, % | the tracer's figure, % | difference | base twice |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for mode, base, option in (("hooks", False, "GPUTRACE_MODE=hooks"), ("CUPTI", "floor", "GPUTRACE_MODE=auto")):
        for name, *words in WORKLOADS:
            compare(name, words, mode, base, option)


if __name__ == "__main__":
    main()
