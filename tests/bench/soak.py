#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches for long and watches the resident memory that the tracer adds: it must be flat.

    soak.py BUILD [--launches N] [--format null|chrome] [--threads N]

On the simulated device with virtual time. Prints the resident set over time without and with the
tracer, the rate, and what the trace says was lost.
"""

import argparse
import os
import re
import subprocess
import tempfile
import time


def resident_kib(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
    except (OSError, AttributeError):
        return 0




def run(arguments, folder, traced):
    command = [os.path.join(arguments.source, "scripts", "simcuda"), "--build=" + arguments.build,
               "--virtual", "--kernel-ns=100", os.path.join(arguments.build, "bench", "gputrace-workload"),
               {1: "loop", 4: "loop4", 16: "loop16"}[arguments.threads], "1", str(arguments.launches), "30"]
    environment = dict(os.environ, GPUTRACE_OUTPUT=folder, GPUTRACE_FORMAT=arguments.format,
                       GPUTRACE_VERBOSE="1")
    if traced:
        environment["CUDA_INJECTION64_PATH"] = os.path.join(arguments.build, "preload",
                                                            "libgputrace.so")
    start = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    samples = []
    while process.poll() is None:
        samples.append(resident_kib(process.pid))
        time.sleep(0.2)
    seconds = time.monotonic() - start
    samples = [s for s in samples if s] or [0]
    tenths = [samples[i * (len(samples) - 1) // 10] // 1024 for i in range(11)]
    rate = arguments.launches * arguments.threads / seconds
    print("%s: %.0f launches/s, resident MiB over time: %s" % (
        "traced" if traced else "bare", rate, " ".join(map(str, tenths))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--source", default=os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))))
    parser.add_argument("--launches", type=int, default=5000000)
    parser.add_argument("--threads", type=int, choices=(1, 4, 16), default=1)
    parser.add_argument("--format", default="null")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    with tempfile.TemporaryDirectory() as folder:
        run(arguments, folder, traced=False)
        run(arguments, folder, traced=True)
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                with open(path, "rb") as file:
                    file.seek(-4000, os.SEEK_END)
                    tail = file.read().decode()
                print("%d bytes; %s" % (os.path.getsize(path), tail[tail.rfind('"ledger"'):]))


if __name__ == "__main__":
    main()
