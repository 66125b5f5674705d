#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at random moments under full load: the file is readable as it is, and has every call and operation
that had ended a second before. `repair` makes it a strict object and adds the content of the spool: every call
that had returned and every operation that CUPTI had reported, with the stacks of both; other launches are
counted as in flight, also those whose call a full ring lost.

RELIABILITY_KILLS is the number of kills (16; 1000 in the suite 'long'). A kernel takes 150 us, so the file has
some 20000 operations per second; in every tenth run it takes 20 us, for ten times as many."""

import collections
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
from happened import Happened, call_events, without_caller, work_of

KILLS = int(os.environ.get("RELIABILITY_KILLS", "16"))
SEED = int(os.environ.get("RELIABILITY_SEED", str(random.SystemRandom().randrange(1 << 30))))
PROGRESS = 50
LATE = 30  # seconds: when a machine or a sanitizer is so slow that nothing is written in the first few
SECOND = 1_000_000_000
PLAIN = not harness.preloading.RUNTIMES  # a sanitizer is too slow for some of it
OLD = SECOND if PLAIN else 4 * SECOND  # a sanitizer multiplies the tracer's work
# by a tracer without a processor: its rings fill up
LEFT_OUT = ("calls_lost_ring_full", "calls_thinned", "calls_thinned_later")
THREADS = 3  # of the program: this many calls may be in the trace and not yet in the truth file

How = collections.namedtuple("How", "text delay from_first spool hooks looks_for_begun kernel_ns")
# wrong: lines; happened: operations; kept: those in the file before repair; old: calls and operations older than
# OLD, which had to be there; without_file: there was none when the process was killed
Outcome = collections.namedtuple("Outcome", "wrong happened kept old without_file")


def how_of(number, delay):
    """One run in four has no spool, one has no CUPTI. Of eight, four are killed at any moment after their start,
    four (two with a sanitizer) after their first operation, when some events are older than OLD."""
    from_first = number % 8 >= (4 if PLAIN else 6)
    delay = delay or random.Random(SEED * 1000 + number).uniform(
        *((OLD / SECOND, OLD / SECOND + 1.5) if from_first else (0.05, 2.0)))
    return How(f"kill {number} of seed {SEED} after {delay:.3f} s", delay, from_first, number % 4 != 0,
               PLAIN and number % 4 == 3, number % 4 == 2, "20000" if number % 10 == 9 else "150000")


def has_worked(folder, process):
    """Whether the program has launched work, or has ended."""
    for path in glob.glob(os.path.join(folder, "truth.*")):
        with open(path, "rb") as file:
            if b'"truth":"op"' in file.read(1 << 16):
                return True
    return process.poll() is not None


def kill_at(folder, how, spools):
    """Runs the flood and kills it. Returns its status, the time of the kill in CLOCK_REALTIME nanoseconds, and
    how long the tracer's thread had to wait for a processor until then."""
    out = os.path.join(folder, "out")
    os.mkdir(out)
    words = harness.command([harness.program("workload"), "flood"], truth=folder, folder=out,
                            cupti="none" if how.hooks else "130000",
                            options=["GPUTRACE_SPOOL=" + (spools if how.spool else "off")])
    env = harness.environment(SIMCUDA_KERNEL_NS=how.kernel_ns)
    with subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
        if how.from_first:
            harness.gate.wait_for(lambda: has_worked(folder, process))
        time.sleep(how.delay)
        killed = time.time_ns()
        starved = waited_for_a_processor(process.pid)
        process.send_signal(signal.SIGKILL)
    return process.returncode, killed, starved


def waited_for_a_processor(pid):
    """Nanoseconds for which the tracer's thread was ready to run and had no processor: nothing is promised
    for that time."""
    for path in glob.glob(f"/proc/{pid}/task/*"):
        try:
            with open(path + "/comm", encoding="utf-8") as file:
                name = file.read().strip()
            with open(path + "/schedstat", encoding="ascii") as file:
                waited = int(file.read().split()[1])
        except (OSError, IndexError):  # it has just ended; not reported by the kernel
            continue
        if name == "gputrace-w":
            return waited
    return 0


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check_one(number, delay=None):
    """One kill, and the errors found after it."""
    how = how_of(number, delay)
    with tempfile.TemporaryDirectory() as folder, \
            tempfile.TemporaryDirectory(dir="/dev/shm" if harness.has_shm() else None) as spools:
        status, killed, starved = kill_at(folder, how, spools)
        happened = Happened(folder, how.hooks)
        outcome = check_files(how, folder, spools, happened, killed - OLD - 2 * starved)
    if how.from_first and how.delay * SECOND > OLD + 0.6 * SECOND + 2 * starved and not outcome.old:
        outcome.wrong.append("nothing was old enough to be looked for")
    if status != -signal.SIGKILL:
        outcome.wrong.append(f"ended with {status} before it was killed")
    return outcome._replace(wrong=[f"{how.text}, {starved / SECOND:.3f} s without a processor: {line}"
                                   for line in outcome.wrong])


def check_files(how, folder, spools, happened, old_before):
    """Checks the files of the process, before and after `repair`."""
    out = os.path.join(folder, "out")
    paths = [path for path in harness.traces(out) if os.path.getsize(path)]
    events = harness.strict_lines(paths[0]) if paths else []
    old = {key for key, end in happened.ends.items() if end < old_before and not how.hooks}
    old_calls = sum(call.end < old_before and call.name in happened.launches for call in happened.calls.values())
    seen = set(work_of(events))
    wrong = []
    if old - seen:
        wrong.append(f"{len(old - seen)} of {len(old)} operations older than {OLD // SECOND} s are missing, the latest "
                     f"by {(old_before - max(happened.ends[key] for key in old - seen)) / SECOND:.3f} s")
    missing = happened.missing_calls(events, old_before) if PLAIN else []
    if missing:
        wrong.append(f"{len(missing)} of {old_calls} calls older than {OLD // SECOND} s are missing: {missing[:5]}")
    # the truth file is written after the call's enter: a few of the last ones may be missing in it
    if len(seen - set(happened.ends)) > THREADS:
        wrong.append(f"{len(seen - set(happened.ends))} operations never happened")
    if len(paths) > 1:
        wrong.append(f"{len(paths)} files")
    wrong += check_begun(how, out, spools, paths)
    for path in harness.traces(out)[:1]:
        wrong += check_repaired(how, path, spools, seen, happened)
    return Outcome(wrong, len(happened.ends), len(seen), len(old) + old_calls, not paths)


def check_begun(how, out, spools, paths):
    """`repair --begun` creates the file if the process had not, and leaves an existing one alone."""
    if not how.looks_for_begun and (paths or not how.spool):
        return []
    was = [read(path) for path in paths]
    status, output = harness.tool("repair", "--begun", out, GPUTRACE_SPOOL=spools)
    problems = {f"repair --begun: {output}": status or "not recovered" in output,
                "repair --begun changed a file": was != [read(path) for path in paths]}
    return [text for text, is_wrong in problems.items() if is_wrong]


def check_repaired(how, path, spools, seen, happened):
    """Complete: every call that had returned, all work whose record had been delivered."""
    status, output = harness.tool("repair", path, GPUTRACE_SPOOL=spools)
    if status or "not recovered" in output:
        return [f"repair: {output}"]
    with open(path, encoding="utf-8") as file:
        root = json.load(file)
    if not isinstance(root, dict):
        return ["not an object after repair"]
    events = root["traceEvents"]
    work = set(work_of(events))
    status, output = harness.tool("verify", path)
    strangers = without_caller(events, "flood") if PLAIN else []
    problems = {
        f"verify: {output}": status,
        "repair lost operations": seen - work,
        f"a spool is left: {os.listdir(spools)}": os.listdir(spools),
        f"{len(strangers)} launches and operations without their caller: {strangers[:1]}": strangers,
        "more calls than were made": len(call_events(events)) > len(happened.calls) + 2 * THREADS,
    }
    if how.spool and not how.hooks:
        in_flight, lost = root["ledger"]["launches_without_record"], len(set(happened.ends) - work)
        problems[f"{in_flight} in flight in the ledger, {lost} had no record"] = \
            in_flight < lost - 8 or PLAIN and in_flight > lost + THREADS
    counted = sum(root.get("ledger", {}).get(key, 0) for key in LEFT_OUT)
    return [text for text, is_wrong in problems.items() if is_wrong] + happened.wrong_in(events, how.spool, counted)


class Kill(unittest.TestCase):
    def test_at_random_moments(self):
        results = []
        with ProcessPoolExecutor(max_workers=2) as pool:
            for result in pool.map(check_one, range(KILLS)):
                results.append(result)
                if result.wrong or len(results) % PROGRESS == 0:
                    print(f"{len(results)} of {KILLS} kills", *result.wrong, sep="\n  ", flush=True)
        if not any(result.kept for result in results):
            results.append(check_one(KILLS, LATE))
        happened, kept, old = (sum(result[i] for result in results) for i in (1, 2, 3))
        without_file = sum(result.without_file for result in results)
        nothing_old = sum(not result.old for result in results)
        print(f"{len(results)} kills, seed {SEED}: {happened} operations, {kept} in the files, {old} calls and "
              f"operations had to be; {without_file} before there was a file, {nothing_old} before anything was old")
        self.assertEqual([line for result in results for line in result.wrong], [])
        self.assertGreater(kept, 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
