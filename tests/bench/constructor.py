#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What preloading costs a program that never uses CUDA: the constructor alone, and /bin/true as a
whole process with and without. constructor.py BUILD [--runs N]"""

import argparse
import os
import statistics
import subprocess
import time


def constructor_ns(build, library):
    bench = os.path.join(build, "tests", "bench")
    preload = " ".join([os.path.join(bench, "libaround_after.so"), library,
                        os.path.join(bench, "libaround_before.so")]).strip()
    text = subprocess.run(["true"], env={"PATH": "/bin:/usr/bin", "LD_PRELOAD": preload},
                          capture_output=True, text=True, check=True).stdout
    return int(text)


def process_us(environment):
    start = time.perf_counter()
    subprocess.run(["/bin/true"], env=environment, check=True)
    return (time.perf_counter() - start) * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=1000)
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    library = os.path.join(build, "preload", "libgputrace.so")
    nothing = statistics.median(constructor_ns(build, "") for _ in range(50))
    own = statistics.median(constructor_ns(build, library) for _ in range(200))
    print("constructor: %.1f us (two clock reads alone: %.1f us)" % (own / 1e3, nothing / 1e3))
    with_, without = [], []
    for _ in range(arguments.runs):
        without.append(process_us({}))
        with_.append(process_us({"LD_PRELOAD": library}))
    print("/bin/true x %d: %.0f us without, %.0f us with: %.0f us each" % (
        arguments.runs, statistics.median(without), statistics.median(with_),
        statistics.median(with_) - statistics.median(without)))


if __name__ == "__main__":
    main()
