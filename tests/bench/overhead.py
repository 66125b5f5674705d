#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracer's own figure of what it costs (metadata.cost) against the processor time of the same program with
and without it: interleaved runs, and of each kind the run that used least, since other programs only add.

    tests/bench/overhead.py BUILD [RUNS [ROW...]]     # rows: words of "CUPTI, a launch every 40 us"

The program does a fixed amount of work (overhead_loop.c); its arithmetic, which alone takes 1 to 3 % more or less
from run to run, is left out of the difference. Without CUPTI the difference is the tracer alone; with it, CUPTI's own
cost is in the difference and not in the figure, so the base is a run with CUPTI alone (bench/floor.c). The threads of
the simulated CUPTI use more processor time than the tracer, and differently each time: so there only the program's
launching threads are compared, and the tracer's threads taken by the kernel's clock. "base twice" is a second run of
the base in place of the traced one: what the machine makes of no difference.

The simulated device is 100 us behind the launches. With less, a launch now and then finds its queue empty and wakes a
thread of the simulated CUPTI, for 6 to 8 us of the launching thread: how often depends on when that thread last looked,
which the tracer changes (docs/benchmarks/overhead.md)."""

import glob
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 11
ROWS = sys.argv[3:]
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = BUILD + "/tests/bench/overhead_loop"
LIBRARY = BUILD + "/preload/libgputrace.so"
FLOOR = BUILD + "/bench/libgputrace-floor.so"

ROUNDS = 1000  # of arithmetic, by which the machine is measured

# name, threads, launches of each, us of arithmetic before each, depth, ranges, pause in us
WORKLOADS = [
    ("a launch every 40 us", 1, 50000, 40, 10, 0, 0),
    ("a launch every 10 us", 1, 200000, 10, 10, 0, 0),
    ("the same, 40 frames deep", 1, 200000, 10, 40, 0, 0),
    ("the same, in an NVTX range each", 1, 200000, 10, 10, 1, 0),
    ("two threads, each every 40 us", 2, 50000, 40, 10, 0, 0),
    ("100 launches, then 5 ms of rest", 1, 40000, 10, 10, 0, 5000),
]


def simulated(*command):
    return ["env", "SIMCUDA_TIME=real", "SIMCUDA_LATENCY_NS=100000", SOURCE + "/scripts/simcuda", "--build=" + BUILD,
            "--", "env", *command]


def rounds_per_us():
    """The most of some short runs: what the machine can."""
    words = [PROGRAM, "1", "1000", str(ROUNDS), "1", "0", "0"]
    done = [subprocess.run(simulated(*words), check=True, stdout=subprocess.PIPE).stdout for _ in range(7)]
    return ROUNDS * 1000 * 1000 / min(int(text.split()[2]) for text in done)


def run(words, traced, *options):
    """Processor time of a run, of its launching threads, of their arithmetic; elapsed time; its trace's ledger."""
    with tempfile.TemporaryDirectory() as folder:
        settings = []
        if traced == "floor":
            settings = ["CUDA_INJECTION64_PATH=" + FLOOR]
        elif traced:
            settings = ["LD_PRELOAD=" + LIBRARY, "GPUTRACE_OUTPUT=" + folder, *options]
        command = simulated(*settings, PROGRAM, *(str(word) for word in words))
        began = time.monotonic()
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        elapsed = time.monotonic() - began
        used, threads, spun = (int(word) / 1e9 for word in done.stdout.split())
        ledger = None
        for path in glob.glob(folder + "/*.json"):
            with open(path, encoding="utf-8") as file:
                ledger = json.load(file)["ledger"]
        return used, threads, spun, elapsed, ledger


def figure(ledger):
    """As docs/benchmarks/overhead.md defines it."""
    tracer = ledger["cost_added_ns"] + ledger["cost_own_ns"]
    slower = ledger["cost_added_ns"] / ledger["cost_threads_ns"]
    return 100 * tracer / max(ledger["cost_process_ns"] - tracer, ledger["cost_elapsed_ns"] * (1 - slower))


def least(runs):
    return min(runs, key=lambda run: run[0])


def compare(name, words, mode, base, option):
    plain, again, traced = [], [], []
    threads, launches, pace = words[0], words[0] * words[1], words.pop()
    for _ in range(RUNS):
        for runs, how in ((plain, base), (traced, True), (again, base)):
            process, used, spun, elapsed, ledger = run(words, how, *([option] if how is True else []))
            own = ledger["cost_own_ns"] / 1e9 if ledger else 0
            runs.append(((used + own if base else process) - spun, process, elapsed, ledger, own))
    (without, process, *_), (with_it, _, elapsed, ledger, own) = least(plain), least(traced)
    added, null = with_it - without, least(again)[0] - without
    counted = (ledger["cost_added_ns"] + ledger["cost_own_ns"]) / 1e9
    # what was added to a thread made the run longer
    share = 100 * added / max(process, elapsed - (added - own) / threads)
    a_launch = [1e9 * seconds / launches for seconds in (process, without, added, counted)]
    print(f"| {mode} | {name} | " + " | ".join(f"{ns:.0f}" for ns in a_launch)
          + f" | {(a_launch[3] - a_launch[2]) / pace / 10:+.2f} | {1e9 * null / launches / pace / 10:+.2f} "
          f"| {share:.2f} | {figure(ledger):.2f} |", flush=True)


def main():
    print("| mode | program | processor time of a launch without, ns | of it not arithmetic | outside, ns "
          "| the tracer's, ns | points at that pace | base twice | outside, % | the tracer's figure, % |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    speed = rounds_per_us()
    for mode, base, option in (("hooks", False, "GPUTRACE_MODE=hooks"), ("CUPTI", "floor", "GPUTRACE_MODE=auto")):
        for name, threads, launches, us, *words in WORKLOADS:
            if ROWS and not any(row in f"{mode}, {name}" for row in ROWS):
                continue
            pace = us + words[-1] / 100  # us of a launch, with the rest behind each 100th
            compare(name, [threads, launches, round(us * speed), *words, pace], mode, base, option)


if __name__ == "__main__":
    main()
