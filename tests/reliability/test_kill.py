#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments under full load: the file can be read as it is, and every operation that
had ended a second before is there. `repair` makes a strict object of it and adds what the spool holds:
every call that had returned and every operation of whose end CUPTI had told.

RELIABILITY_KILLS says how often (16; the suite 'long' does 1000). A kernel takes 150 us, so the file has
some 20000 operations a second; every tenth time 20 us, ten times as many."""

import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ProcessPoolExecutor

import harness
from happened import Happened, work_of

KILLS = int(os.environ.get("RELIABILITY_KILLS", "16"))
SEED = int(os.environ.get("RELIABILITY_SEED", str(random.SystemRandom().randrange(1 << 30))))
PROGRESS = 50
LATE = 30  # seconds: when a machine or a sanitizer is so slow that nothing is written in the first two
SECOND = 1_000_000_000


def kernel_ns(number):
    return "20000" if number % 10 == 9 else "150000"


def kill_at(folder, delay, spool, kernel):
    """Runs the flood and kills it: its status, the time of the kill in CLOCK_REALTIME nanoseconds, and
    how long the tracer's thread was kept from running until then."""
    words = harness.command([harness.program("workload"), "flood"], truth=folder,
                            folder=os.path.join(folder, "out"),
                            options=["GPUTRACE_SPOOL=" + spool])
    env = harness.environment(SIMCUDA_KERNEL_NS=kernel)
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        time.sleep(delay)
        killed = time.time_ns()
        starved = waited_for_a_processor(process.pid)
        process.send_signal(signal.SIGKILL)
    return process.returncode, killed, starved


def waited_for_a_processor(pid):
    """Nanoseconds that the tracer's thread was ready to run and had no processor: on a crowded machine
    nothing is promised for that time."""
    for path in glob.glob(f"/proc/{pid}/task/*"):
        try:
            with open(path + "/comm", encoding="utf-8") as file:
                name = file.read().strip()
            with open(path + "/schedstat", encoding="ascii") as file:
                waited = int(file.read().split()[1])
        except (OSError, IndexError):  # it has just ended; a kernel that does not tell
            continue
        if name == "gputrace-w":
            return waited
    return 0


def check_one(number, delay=None):
    """One kill: a list of what is wrong, and how many operations, how many of them in the file."""
    delay = delay or random.Random(SEED * 1000 + number).uniform(0.05, 2.0)
    what = f"kill {number} of seed {SEED} after {delay:.3f} s"
    wrong = []
    shm = "/dev/shm" if os.path.ismount("/dev/shm") else None
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=shm) as spools:
        status, killed, starved = kill_at(folder, delay, "off" if number % 4 == 0 else spools,
                                          kernel_ns(number))
        if status != -signal.SIGKILL:
            wrong.append(f"{what}: ended with {status} before it was killed")
        happened = Happened(folder)
        ends = happened.ends
        old = {key for key, end in ends.items() if end < killed - SECOND - 2 * starved}
        paths = harness.traces(os.path.join(folder, "out"))
        if len(paths) > 1 or (old and not paths):
            return wrong + [f"{what}: {len(paths)} files, {len(old)} old operations"], 0, 0
        if not paths:
            return wrong, len(ends), 0
        events = harness.strict_lines(paths[0])
        seen = set(work_of(events))
        missing, strange = old - seen, seen - set(ends)
        if missing:
            latest = max(ends[key] for key in missing)
            wrong.append(f"{what}: {len(missing)} of {len(old)} operations older than a second "
                         f"are missing, the latest by {(killed - latest) / SECOND:.3f} s, "
                         f"{starved / SECOND:.3f} s without a processor")
        # the truth is written after the call's enter: a few of the very last may be missing there
        if len(strange) > 8:
            wrong.append(f"{what}: {len(strange)} operations never happened")
        wrong += check_repaired(what, paths[0], seen, happened)
        return wrong, len(ends), len(seen)


def check_repaired(what, path, seen, happened):
    """Whole again: every call that had returned, all work whose record had been handed over."""
    status, output = harness.tool("repair", path)
    if status or "not recovered" in output:
        return [f"{what}: repair: {output}"]
    with open(path, encoding="utf-8") as file:
        root = json.load(file)
    if not isinstance(root, dict):
        return [f"{what}: not an object after repair"]
    events, spool = root["traceEvents"], root["metadata"].get("spool", "")
    work = set(work_of(events))
    status, output = harness.tool("verify", path)
    problems = {
        f"verify: {output}": status,
        "repair lost operations": seen - work,
        f"spool left: {spool}": os.path.exists(spool),
    }
    if spool.startswith("/"):
        in_flight = root["ledger"]["launches_without_record"]
        problems[f"only {in_flight} in flight in the books"] = \
            in_flight < len(set(happened.ends) - work) - 8
    wrong = [text for text, is_wrong in problems.items() if is_wrong]
    wrong += happened.wrong_in(events, spool.startswith("/"))
    return [f"{what}: {text}" for text in wrong]


class Kill(unittest.TestCase):
    def test_at_random_moments(self):
        results = []
        with ProcessPoolExecutor(max_workers=2) as pool:
            for result in pool.map(check_one, range(KILLS)):
                results.append(result)
                if result[0] or len(results) % PROGRESS == 0:
                    print(f"{len(results)} of {KILLS} kills", *result[0], sep="\n  ", flush=True)
        if not any(kept for _, _, kept in results):
            results.append(check_one(KILLS, LATE))
        wrong = [line for result in results for line in result[0]]
        happened, kept = (sum(result[i] for result in results) for i in (1, 2))
        print(f"{KILLS} kills, seed {SEED}: {happened} operations, {kept} in the files")
        self.assertEqual(wrong, [])
        self.assertGreater(kept, 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
