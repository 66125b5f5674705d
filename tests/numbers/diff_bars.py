#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `gputrace diff --gate` is wrong, on generated traces with 3 % noise (docs/DIFF.md).

diff_bars.py CLI [--pairs=100] [--kernels=20,60,200] [--steps=3,10,30] [--noises=own,common]
                 [--firsts=1,1.5,3,10] [--gates=0,2,5] [--jobs=2] [--margin=0] [--check]

Without a change each pair is compared at every gate: exit status 3 is a false alarm. With a change
(+10 % of one kernel at 10 steps, +5 % at 30) it must be found at --gate=2%, by its name. Prints a
Markdown table; --check: exit status 1 where a bar is missed by more than --margin pairs.
"""

import argparse
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile

import diff_traces

CHANGES = {10: 1.10, 30: 1.05}
NO_VERDICT = 4


def diff(cli, gate, a, b):
    done = subprocess.run(
        [cli, "diff", f"--gate={gate}%", "--format=csv", a, b],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=250,
    )
    return done.returncode, done.stderr


def pair(job):
    """(alarms by gate, no verdict by gate, found): one pair of a combination."""
    cli, kernels, steps, noise, first, gates, number, folder = job
    rng = random.Random(f"{kernels} {steps} {noise} {first} {number}")
    paths = [os.path.join(folder, f"{os.getpid()}-{side}.json") for side in "abc"]
    for path in paths[:2]:
        diff_traces.write(path, diff_traces.steps_of(rng, kernels, steps, noise, first))
    codes = [diff(cli, gate, *paths[:2])[0] for gate in gates]
    assert set(codes) <= {0, 3, NO_VERDICT}, codes
    found = None
    if steps in CHANGES:
        slow = rng.randrange(kernels)
        lines = diff_traces.steps_of(rng, kernels, steps, noise, first, {slow: CHANGES[steps]})
        diff_traces.write(paths[2], lines)
        code, said = diff(cli, 2, paths[0], paths[2])
        found = code == 3 and f"kernel_{chr(97 + slow % 26)}{slow}:" in said
    return [c == 3 for c in codes], [c == NO_VERDICT for c in codes], found


def combination(pool, args, kernels, steps, noise, first, folder):
    jobs = [
        (args.cli, kernels, steps, noise, first, args.gates, number, folder)
        for number in range(args.pairs)
    ]
    results = list(pool.map(pair, jobs, chunksize=4))
    alarms = [sum(r[0][i] for r in results) for i in range(len(args.gates))]
    unsure = [sum(r[1][i] for r in results) for i in range(len(args.gates))]
    found = sum(bool(r[2]) for r in results) if steps in CHANGES else None
    return alarms, unsure, found


def numbers(kind):
    return lambda text: [kind(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--kernels", type=numbers(int), default=[20, 60, 200])
    parser.add_argument("--steps", type=numbers(int), default=[3, 10, 30])
    parser.add_argument("--noises", type=numbers(str), default=["own", "common"])
    parser.add_argument("--firsts", type=numbers(float), default=[1, 1.5, 3, 10])
    parser.add_argument("--gates", type=numbers(float), default=[0, 2, 5])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--margin", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    missed = 0
    gates = "/".join(f"{gate:g}" for gate in args.gates)
    print(f"| noise | first step | kernels | steps | false alarms at {gates} % | no verdict | found |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    with (
        tempfile.TemporaryDirectory(prefix="gputrace-bars-") as folder,
        concurrent.futures.ProcessPoolExecutor(args.jobs) as pool,
    ):
        for noise in args.noises:
            for first in args.firsts:
                for kernels in args.kernels:
                    for steps in args.steps:
                        alarms, unsure, found = combination(
                            pool, args, kernels, steps, noise, first, folder
                        )
                        missed += (max(alarms) - args.margin) * 100 > args.pairs
                        missed += (
                            found is not None and (found + args.margin) * 100 < 95 * args.pairs
                        )
                        print(
                            f"| {noise} | x{first:g} | {kernels} | {steps} "
                            f"| {'/'.join(map(str, alarms))} | {'/'.join(map(str, unsure))} "
                            f"| {'-' if found is None else found} |",
                            flush=True,
                        )
    print(f"\n{args.pairs} pairs a row; bars missed: {missed}")
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
