#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SIGKILL while a trace changes to its next file (--max-size): inside the last write of the full one, inside
the first write of the next one, between any two. `repair` of the folder makes each file a strict object, and
together they hold every call that had returned and all work that CUPTI had reported, each once.

RELIABILITY_KILLS is the number of kills (12), RELIABILITY_SEED repeats those of a run."""

import collections
import errno
import glob
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from happened import KINDS, Happened, work_of

KILLS = int(os.environ.get("RELIABILITY_KILLS", "12"))
SEED = int(os.environ.get("RELIABILITY_SEED", str(random.SystemRandom().randrange(1 << 30))))
KILLWRITE = os.path.join(harness.PROGRAMS, "libkillwrite.so")
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
# the third file has no room before the first one went, which is the second removal: its own is the first
FULL = (f"LD_PRELOAD={FAILWRITE}:{KILLWRITE}:{harness.LIBRARY}", "FAILWRITE_FILE=.part3.", "FAILWRITE_COUNT=1",
        f"FAILWRITE_ERRNO={errno.ENOSPC}", "KILLWRITE_UNLINK=2")
FLOOD = [harness.program("workload"), "flood"]
THREADS = 3  # of the program, each in one call when it dies
LOOP = ("cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaStreamSynchronize")  # which it calls again and again
SETUP = 10  # calls with names of their own, at most, all in the first file
PARTS = (0, 1, 300, 4096, 8192, 12288, 16383, 16384, -1)


def moment(number):
    """The write and how much of it: in turn one that closes a file, the first one of a file, any."""
    rng = random.Random(SEED * 1000 + number)
    first, highest = (("{", 4), ("[", 12), ("", 200))[number % 3]
    lowest = 40 if first == "" else 2 if first == "[" else 1
    return first, rng.randint(lowest, highest), rng.choice(PARTS)


def in_write(first, at, size):
    """What kills the program there, and how many files it keeps: all."""
    options = [f"KILLWRITE_AT={at}", f"KILLWRITE_BYTES={size}", "GPUTRACE_KEEP=0"]
    return options + ["KILLWRITE_FIRST=" + first] if first else options


def flood(folder, spools, *how, rounds=(), stderr=subprocess.DEVNULL):
    """Starts the program."""
    options = ["GPUTRACE_SPOOL=" + spools, "GPUTRACE_MAX_SIZE=1M", "GPUTRACE_FLUSH_PERIOD=100",
               "GPUTRACE_BUFFER_SIZE=1M", *how]
    words = harness.command([*FLOOD, *rounds], folder=os.path.join(folder, "out"), truth=folder, options=options)
    return subprocess.Popen(words, env=harness.environment(SIMCUDA_KERNEL_NS="20000"), stdout=subprocess.DEVNULL,
                            stderr=stderr, stdin=subprocess.DEVNULL)


def kill(folder, spools, *how):
    """Runs a program that kills itself or, if there is no such moment, is killed by us."""
    with flood(folder, spools, f"LD_PRELOAD={KILLWRITE}:{harness.LIBRARY}", *how) as process:
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def check_books(roots):
    """The ledgers add up to that of a single file."""
    ledgers = [root["ledger"] for root in roots if "ledger" in root]
    slices = [event for root in roots if "ledger" in root for event in root["traceEvents"]
              if event["ph"] == "X"]
    calls = sum(event["cat"] in ("cuda_runtime", "cuda_driver") for event in slices)
    seen = sum(ledger["calls_seen"] for ledger in ledgers)
    told = sum(ledger[key] for ledger in ledgers for key in
               ("calls_nested", "calls_lost_ring_full", "calls_lost_no_thread", "calls_open_at_end",
                "calls_thinned", "calls_thinned_later"))
    opened = sum(ledger["calls_open_at_end"] for ledger in ledgers)
    return {f"the ledger says {seen} calls, {calls} and {told} are there": seen != calls + told,
            # one per thread, and what the program did while it was dying
            f"{opened} calls are said to be open": opened > 50}


def check(folder, spools):
    """The errors, the number of operations, the number of files."""
    out = os.path.join(folder, "out")
    os.environ["GPUTRACE_SPOOL"] = spools  # for repair if no header names the spool
    status, output = harness.tool("repair", out)
    if status or "not recovered" in output:
        return [f"repair: {output}"], 0, 0
    paths = sorted(harness.traces(out), key=harness.number_of)
    roots, wrong = [], []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            roots.append(json.load(file))
        status, output = harness.tool("verify", path)
        if status or harness.lint(path):
            wrong.append(f"{os.path.basename(path)}: {output} {harness.lint(path)}")
    wrong += [os.path.basename(path) + ": no ledger" for path, root in zip(paths, roots)
              if "ledger" not in root and "header_unknown" not in root]
    happened = Happened(folder)
    wrong += happened.wrong_in([event for root in roots for event in root["traceEvents"]])
    if os.listdir(spools):
        wrong.append(f"a spool is left: {os.listdir(spools)}")
    wrong += [what for what, is_wrong in check_books(roots).items() if is_wrong]
    before = [os.path.getmtime(path) for path in paths]
    harness.tool("repair", out)
    if before != [os.path.getmtime(path) for path in paths]:
        wrong.append("a second repair changes something")
    return wrong, len(happened.ends), len(paths)


def count_kept(out):
    """Calls in the files by name, GPU operations in them, and what the newest file counts as removed."""
    files = {}
    for path in glob.glob(out + "/*.pt.trace.json") + glob.glob(out + "/*.pftrace"):
        text = path + ".json" if path.endswith(".pftrace") else path
        if text != path:
            harness.tool("convert", path, text)
        with open(text, encoding="utf-8") as file:
            files[harness.number_of(path)] = json.load(file)
    segment = files[max(files)]["segment"]
    events = [event for root in files.values() for event in root["traceEvents"]]
    there = collections.Counter(event["name"] for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver"))
    return there, sum(work_of(events).values()), segment, files


def size_of_truth(folder):
    return sum(map(os.path.getsize, glob.glob(folder + "/truth.*")))


def without_descriptors(folder, spools, rounds, form):
    """Runs the program, which may open no file any more once there are three. What the tracer says."""
    said = os.path.join(folder, "said")

    def has_said(word):
        with open(said, encoding="utf-8", errors="replace") as file:
            return word in file.read()

    with open(said, "w", encoding="utf-8") as stderr, \
            flood(folder, spools, "GPUTRACE_KEEP=3", "GPUTRACE_FORMAT=" + form, rounds=rounds, stderr=stderr) as process:
        harness.gate.wait_for(lambda: glob.glob(folder + "/out/*.part3.*"))
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, most))
        harness.gate.wait_for(lambda: has_said("later events are counted only"))
        if rounds:
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, most))
            process.wait(100)
        else:
            before = size_of_truth(folder)
            harness.gate.wait_for(lambda: size_of_truth(folder) > 2 * before)
        process.kill()
    with open(said, encoding="utf-8", errors="replace") as file:
        return file.read()


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
class Rotation(unittest.TestCase):
    def test_no_descriptor_for_the_next_file(self):
        """The oldest file stays, as it would go for nothing; each call is written, removed or lost, and the trace says why."""
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL", None)
        for rounds, form in (((), "chrome"), (("150",), "chrome"), ((), "perfetto"), (("150",), "perfetto")):
            with self.subTest(rounds=rounds, form=form), tempfile.TemporaryDirectory() as folder, \
                    tempfile.TemporaryDirectory(dir="/dev/shm") as spools:
                said = without_descriptors(folder, spools, rounds, form)
                self.assertIn("(too many open files)", said)
                os.environ["GPUTRACE_SPOOL"] = spools
                status, output = harness.tool("repair", folder + "/out")
                self.assertEqual(status, 0, output)
                there, _, segment, files = count_kept(folder + "/out")
                self.assertEqual((len(files), segment["files_removed"]), (3, segment["number"] - 3))
                lost = sum(root["ledger"][key] for root in files.values() for key in ("calls_not_written", "calls_lost_ring_full"))
                if rounds:  # else the spool may have had all of it
                    self.assertGreater(lost, 0)
                made = sum(call["name"] in LOOP and not call["nested"] for call in harness.Truth(folder).calls)
                missing = made - sum(there.values()) - segment["calls_removed"] - lost
                self.assertTrue(-SETUP <= missing <= THREADS, (made, there, segment, lost))
                causes = {event["args"]["cause"] for root in files.values() for event in root["traceEvents"]
                          if event["name"] == "LOST" and event["args"]["cause"] != "--keep"}
                self.assertEqual(causes, {"too many open files"} if lost else set())

    def test_while_the_oldest_goes(self):
        """Inside its removal, inside the first write of the file that counts it, and after that: what is there
        does not count as removed."""
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL", None)
        removed_at_all = 0
        for how in (["KILLWRITE_UNLINK=1"], ["KILLWRITE_UNLINK=3"], ["KILLWRITE_UNLINK=2", "GPUTRACE_FORMAT=perfetto"],
                    FULL, (*FULL, "GPUTRACE_FORMAT=perfetto"), in_write("[", 8, 300), in_write("[", 12, 16384), in_write("{", 4, 300), in_write("{", 5, -1)):
            with self.subTest(how=how), tempfile.TemporaryDirectory() as folder, \
                    tempfile.TemporaryDirectory(dir="/dev/shm") as spools:
                kill(folder, spools, *how, "GPUTRACE_KEEP=2")
                os.environ["GPUTRACE_SPOOL"] = spools
                status, output = harness.tool("repair", folder + "/out")
                self.assertEqual(status, 0, output)
                there, work, segment, files = count_kept(folder + "/out")
                self.assertEqual(len(files) + segment["files_removed"], segment["number"])
                removed = segment["calls_removed"]
                made = sum(call["name"] in LOOP and not call["nested"] for call in harness.Truth(folder).calls)
                # files go when the next one is on the disk: in a flood that may be after the kill
                self.assertEqual(removed > 0, segment["files_removed"] > 0, segment)
                removed_at_all += removed
                missing = made - sum(there.values()) - removed
                self.assertTrue(-SETUP <= missing <= THREADS, (made, there, removed))
                work += sum(segment[kind + "s_removed"] for kind in KINDS.values())
                self.assertLessEqual(work, len(Happened(folder).ends))
        self.assertGreater(removed_at_all, 0)

    def test_files_in_memory(self):
        """They go at once: repair tells what may be in the trace again."""
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL", None)
        for how in (["KILLWRITE_UNLINK=5"], ["KILLWRITE_UNLINK=8", "GPUTRACE_FORMAT=perfetto"], in_write("{", 5, 300)):
            with self.subTest(how=how), tempfile.TemporaryDirectory(dir="/dev/shm") as folder, \
                    tempfile.TemporaryDirectory(dir="/dev/shm") as spools:
                kill(folder, spools, *how, "GPUTRACE_KEEP=2", "GPUTRACE_FLUSH_PERIOD=1000", "GPUTRACE_BUFFER_SIZE=4M")
                os.environ["GPUTRACE_SPOOL"] = spools
                status, output = harness.tool("repair", folder + "/out")
                self.assertEqual(status, 0, output)
                there, work, segment, files = count_kept(folder + "/out")
                made = sum(call["name"] in LOOP and not call["nested"] for call in harness.Truth(folder).calls)
                more = max(0, sum(there.values()) + segment["calls_removed"] - made - SETUP)
                work += sum(segment[kind + "s_removed"] for kind in KINDS.values())
                more += max(0, work - len(Happened(folder).ends))
                told = sum(root.get("repaired", {}).get("maybe_removed", 0) for root in files.values())
                self.assertLessEqual(more, told)
                self.assertEqual("may be counted as removed" in output, told > 0, output)

    def test_between_two_files(self):
        """The next one has its header, or none yet; the full one is being closed: each whose header is whole has
        a ledger."""
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL", None)
        for how in (("[", 6, 300), ("[", 6, -1), ("{", 3, 0), ("{", 4, -1)):
            with self.subTest(how=how), tempfile.TemporaryDirectory() as folder, \
                    tempfile.TemporaryDirectory(dir="/dev/shm") as spools:
                kill(folder, spools, *in_write(*how))
                self.assertEqual(check(folder, spools)[0], [])

    def test_at_random_moments(self):
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL", None)
        operations = files = 0
        for number in range(KILLS):
            how = moment(number)
            folder = tempfile.mkdtemp(prefix="gt-rotation-")
            spools = tempfile.mkdtemp(prefix="gt-rotation-", dir="/dev/shm")
            try:
                with self.subTest(kill=number, seed=SEED, how=how):
                    kill(folder, spools, *in_write(*how))
                    wrong, happened, parts = check(folder, spools)
                    self.assertEqual(wrong, [])
                    operations += happened
                    files += parts
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                shutil.rmtree(spools, ignore_errors=True)
        print(f"{KILLS} kills, seed {SEED}: {operations} operations in {files} files")
        self.assertGreater(files, KILLS)


if __name__ == "__main__":
    sys.exit(unittest.main())
