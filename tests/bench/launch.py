#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tracing adds to one launch: interleaved repetitions of one loop under each tracer.

    launch.py BUILD [--rounds N] [--launches N] [--threads N] [--real]

Prints a table in Markdown: nanoseconds per launch, median over the rounds (lowest .. highest), and
what is added to no tracer and to the floor (callbacks that only count). On the simulated device, or
with --real on the GPU of this machine.
"""

import argparse
import os
import re
import statistics
import subprocess
import tempfile

CONFIGURATIONS = [
    # name, environment, injection library
    ("no tracer", {}, None),
    ("floor: callbacks that only count", {}, "floor"),
    ("gputrace --stacks=off", {"GPUTRACE_STACKS": "off"}, "gputrace"),
    ("gputrace, 40-frame stacks", {"GPUTRACE_STACK_DEPTH": "64"}, "gputrace"),
]
DEPTH = 36  # with main, the thread's start and the launch itself: 40 frames


def run(arguments, api, environment, library, output):
    command = [os.path.join(arguments.build, "tests", "bench", "launch_loop"), api,
               str(arguments.launches), str(DEPTH), str(arguments.threads)]
    if not arguments.real:
        command = [os.path.join(arguments.source, "scripts", "simcuda"),
                   "--build=" + arguments.build, "--virtual", "--kernel-ns=100"] + command
    env = dict(os.environ, GPUTRACE_OUTPUT=output, **environment)
    env["GPUTRACE_QUIET"] = "1"
    if library == "floor":
        env["CUDA_INJECTION64_PATH"] = os.path.join(arguments.build, "tests", "bench", "libfloor.so")
    elif library == "gputrace":
        env["CUDA_INJECTION64_PATH"] = os.path.join(arguments.build, "preload", "libgputrace.so")
    text = subprocess.run(command, env=env, capture_output=True, text=True, check=True,
                          timeout=600).stdout
    return statistics.median(float(line.split()[1]) for line in text.splitlines())


def lost(output):
    """Calls and records that the traces say were lost."""
    total = 0
    for folder, _, names in os.walk(output):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                tail = file.read()[-4000:]
            total += sum(int(n) for n in re.findall(
                r'"(?:calls_lost_ring_full|records_dropped_by_cupti|buffers_discarded)": (\d+)', tail))
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--source", default=os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--launches", type=int, default=200000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--format", default="null")
    parser.add_argument("--real", action="store_true")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    for api, what in (("driver", "cuLaunchKernel"), ("runtime", "cudaMemsetAsync")):
        times = {name: [] for name, _, _ in CONFIGURATIONS}
        with tempfile.TemporaryDirectory() as output:
            for _ in range(arguments.rounds):
                for name, environment, library in CONFIGURATIONS:
                    environment = dict(environment, GPUTRACE_FORMAT=arguments.format)
                    times[name].append(run(arguments, api, environment, library, output))
            gone = lost(output)
        bare = statistics.median(times["no tracer"])
        floor = statistics.median(times[CONFIGURATIONS[1][0]])
        print("| %s, %d thread(s) | ns per launch | lowest .. highest | added | over the floor |"
              % (what, arguments.threads))
        print("| --- | --- | --- | --- | --- |")
        for name, values in times.items():
            median = statistics.median(values)
            print("| %s | %.0f | %.0f .. %.0f | %.0f | %.0f |" % (
                name, median, min(values), max(values), median - bare, median - floor))
        print("\nlost: %d\n" % gone)


if __name__ == "__main__":
    main()
