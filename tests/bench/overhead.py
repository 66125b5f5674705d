#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracer's own figure of what it costs (metadata.cost) against the processor time of the same program with
and without it: interleaved runs, medians.

    tests/bench/overhead.py BUILD [RUNS]

The program does a fixed amount of work (overhead_loop.c). Without CUPTI the difference is the tracer alone; with
it, CUPTI's own cost is in the difference and not in the figure, so the base is a run with CUPTI alone (bench/floor.c). The
threads of the simulated CUPTI use more processor time than the tracer, and differently each time: row "threads" compares only
the program's launching threads, and takes the tracer's own threads by the kernel's clock; row "null" is a second run of the base
in place of the traced one: what the machine makes of no difference."""

import glob
import json
import os
import resource
import statistics
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


def row(name, mode, bases, outside, inside):
    quarters = statistics.quantiles(outside, n=4)
    told, found = statistics.median(inside), statistics.median(outside)
    print(f"| {name} | {mode} | {statistics.median(bases):.2f} | {found:.2f} | {quarters[0]:.2f} to {quarters[2]:.2f} "
          f"| {told:.2f} | {told - found:+.2f} |", flush=True)


def main():
    print("| program | mode | base, s | outside, % | spread | the tracer's figure, % | difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, *words in WORKLOADS:
        for mode, base, option in (("hooks", False, "GPUTRACE_MODE=hooks"), ("cupti", "floor", "GPUTRACE_MODE=auto")):
            outside, inside, bases, of_threads, null = [], [], [], [], []
            for _ in range(RUNS):
                cpu, threads, elapsed, _ = run(words, base)
                again = run(words, base)
                traced, traced_threads, _, ledger = run(words, True, option)
                whole = max(cpu, elapsed)
                outside.append(100 * (traced - cpu) / whole)
                of_threads.append(100 * (traced_threads - threads + ledger["cost_own_ns"] / 1e9) / whole)
                null.append(100 * (again[0] - cpu) / whole)
                inside.append(figure(ledger))
                bases.append(cpu)
            row(name, mode, bases, outside, inside)
            row(name, mode + ", threads", bases, of_threads, inside)
            row(name, mode + ", null", bases, null, [0])


if __name__ == "__main__":
    main()
