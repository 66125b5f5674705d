#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches for long and watches the resident memory of the process: it must be flat.

    soak.py BUILD [--launches N] [--format null|chrome|perfetto] [--threads N] [--no-bare] [NAME=VALUE...]

On the simulated device with virtual time; NAME=VALUE are options of the tracer, as in MAX_SIZE=1G
KEEP=2. Prints the resident set over time without and with the tracer, the rate, how far it drifted
between the second and the last tenth, and the ledger of the newest file. Exit 1 when the traced
process grew by more than 5 %.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

DRIFT_PERCENT = 5
BOOKS = re.compile(rb'"(ledger|segment)": (\{[^{}]*\})')


def resident_kib(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))
    except (OSError, AttributeError):
        return 0


def run(arguments, folder, traced):
    """KiB in use over time, from start to end."""
    mode = {1: "loop", 4: "loop4", 16: "loop16"}[arguments.threads]
    command = [os.path.join(arguments.source, "scripts", "simcuda"), "--build=" + arguments.build,
               "--virtual", "--kernel-ns=100",
               os.path.join(arguments.build, "bench", "gputrace-workload"), mode, "1",
               str(arguments.launches), "30"]
    environment = dict(os.environ, GPUTRACE_OUTPUT=folder, GPUTRACE_FORMAT=arguments.format,
                       **{"GPUTRACE_" + name: value for name, value in arguments.options})
    if traced:
        environment["CUDA_INJECTION64_PATH"] = os.path.join(arguments.build, "preload",
                                                            "libgputrace.so")
    start = time.monotonic()
    samples = []
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            samples.append(resident_kib(process.pid))
            time.sleep(0.2)
    if process.returncode:
        sys.exit(f"the workload ended with {process.returncode}")
    rate = arguments.launches * arguments.threads / (time.monotonic() - start)
    samples = [sample for sample in samples if sample] or [0]
    tenths = [samples[i * (len(samples) - 1) // 10] // 1024 for i in range(11)]
    print(f"{'traced' if traced else 'bare'}: {rate:.0f} launches/s, resident MiB over time:",
          *tenths, flush=True)
    return samples


def drift(samples):
    """Percent by which the last tenth is above the second, both by their median."""
    size = max(len(samples) // 10, 1)
    early, late = (sorted(part)[len(part) // 2] for part in (samples[size:2 * size] or samples,
                                                              samples[-size:]))
    return 100 * (late - early) / early if early else 0


def print_books(folder):
    paths = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names
             if not name.startswith(".")]
    print(len(paths), "files,", sum(map(os.path.getsize, paths)), "bytes")
    newest = max(paths, key=os.path.getmtime, default=None)
    if not (newest or "").endswith(".json"):
        return
    with open(newest, "rb") as file:
        file.seek(-min(8000, os.path.getsize(newest)), os.SEEK_END)
        for key, text in BOOKS.findall(file.read()):
            books = {name: count for name, count in json.loads(text).items() if count}
            print(key.decode(), json.dumps(books))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("options", nargs="*", metavar="NAME=VALUE",
                        type=lambda text: tuple(text.split("=", 1)))
    parser.add_argument("--source", default=os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))))
    parser.add_argument("--launches", type=int, default=5000000, help="by each thread")
    parser.add_argument("--threads", type=int, choices=(1, 4, 16), default=1)
    parser.add_argument("--format", default="null")
    parser.add_argument("--no-bare", action="store_true", help="only the traced run")
    arguments = parser.parse_intermixed_args()
    arguments.build = os.path.abspath(arguments.build)
    with tempfile.TemporaryDirectory() as folder:
        if not arguments.no_bare:
            run(arguments, folder, traced=False)
        grown = drift(run(arguments, folder, traced=True))
        print(f"drift {grown:.1f} %")
        print_books(folder)
    return grown > DRIFT_PERCENT


if __name__ == "__main__":
    sys.exit(main())
