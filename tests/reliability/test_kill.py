#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments under full load: the file can be read as it is, `repair` makes a strict
object of it, and every operation that had ended a second before is there.

RELIABILITY_KILLS says how often (16; the suite 'long' does 1000), RELIABILITY_KERNEL_NS how long a
kernel takes, and so how many launches a second there are."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import harness

KILLS = int(os.environ.get("RELIABILITY_KILLS", "16"))
SEED = int(os.environ.get("RELIABILITY_SEED", str(random.SystemRandom().randrange(1 << 30))))
KERNEL_NS = os.environ.get("RELIABILITY_KERNEL_NS", "150000")
SECOND = 1_000_000_000
KINDS = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}


def kill_at(folder, delay):
    """Runs the flood and kills it; the time of the kill in CLOCK_REALTIME nanoseconds."""
    words = harness.command([harness.program("workload"), "flood"], truth=folder,
                            folder=os.path.join(folder, "out"))
    env = harness.environment(SIMCUDA_KERNEL_NS=KERNEL_NS)
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        time.sleep(delay)
        killed = time.time_ns()
        process.send_signal(signal.SIGKILL)
    return process.returncode, killed


def truth_of(folder):
    """(correlation, kind) -> end of each operation; the last line may be cut."""
    ends = {}
    for name in os.listdir(folder):
        if not name.startswith("truth."):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for line in file:
                if not line.endswith("\n"):
                    break
                row = json.loads(line) if '"op"' in line else {}
                if row.get("truth") == "op" and row["kind"] in harness.GPU_KINDS:
                    ends[row["correlation"], row["kind"]] = row["end"]
    return ends


def check_one(number):
    """One kill: a list of what is wrong, and how many operations, how many of them in the file."""
    delay = random.Random(SEED * 1000 + number).uniform(0.05, 2.0)
    what = f"kill {number} of seed {SEED} after {delay:.3f} s"
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        status, killed = kill_at(folder, delay)
        if status != -signal.SIGKILL:
            wrong.append(f"{what}: ended with {status} before it was killed")
        ends = truth_of(folder)
        old = {key for key, end in ends.items() if end < killed - SECOND}
        paths = harness.traces(os.path.join(folder, "out"))
        if len(paths) > 1 or (old and not paths):
            return wrong + [f"{what}: {len(paths)} files, {len(old)} old operations"], 0, 0
        if not paths:
            return wrong, len(ends), 0
        events = harness.strict_lines(paths[0])
        seen = {(e["args"]["correlation"], KINDS[e["cat"]]) for e in events
                if e["ph"] == "X" and e["cat"] in KINDS}
        missing, strange = old - seen, seen - set(ends)
        if missing:
            latest = max(ends[key] for key in missing)
            wrong.append(f"{what}: {len(missing)} of {len(old)} operations older than a second "
                         f"are missing, the latest by {(killed - latest) / SECOND:.3f} s")
        # the truth is written after the call's enter: a few of the very last may be missing there
        if len(strange) > 8:
            wrong.append(f"{what}: {len(strange)} operations never happened")
        wrong += check_repaired(what, paths[0], len(seen))
        return wrong, len(ends), len(seen)


def check_repaired(what, path, operations):
    status, output = harness.tool("repair", path)
    if status:
        return [f"{what}: repair: {output}"]
    with open(path, encoding="utf-8") as file:
        root = json.load(file)
    if not isinstance(root, dict):
        return [f"{what}: not an object after repair"]
    kept = sum(e["ph"] == "X" and e["cat"] in KINDS for e in root["traceEvents"])
    status, output = harness.tool("verify", path)
    wrong = [] if kept == operations else [f"{what}: repair kept {kept} of {operations}"]
    return wrong + ([f"{what}: verify: {output}"] if status else [])


class Kill(unittest.TestCase):
    def test_at_random_moments(self):
        with ThreadPoolExecutor(max_workers=2) as pool:
            results = list(pool.map(check_one, range(KILLS)))
        wrong = [line for result in results for line in result[0]]
        happened, kept = (sum(result[i] for result in results) for i in (1, 2))
        print(f"{KILLS} kills, seed {SEED}: {happened} operations, {kept} in the files")
        self.assertEqual(wrong, [])
        self.assertGreater(kept, 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
