#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A trace in several files (--max-size, --keep): each is a valid trace and within the limit, together they
hold the events of a single file, and removed events are counted by kind."""

import collections
import errno
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

ROUNDS = 2000
WORK = [harness.program("workload"), "rounds", str(ROUNDS)]
OPERATIONS = 3 * 3 * ROUNDS
LIMIT = 1 << 20
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
REPLAYS = 6000
KINDS = ("calls", "kernels", "memcpys", "memsets")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def is_stopped(pid):
    """Whether all its threads are stopped: a stop signal reaches them one by one."""
    states = []
    for path in glob.glob(f"/proc/{pid}/task/*/stat"):
        with open(path, encoding="ascii", errors="replace") as stat:
            states.append(stat.read().rsplit(")", 1)[1].split()[0])
    return set(states) == {"T"}


class Segments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gt-segments-")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "out")
        self.beside = folder.name

    def trace(self, *options, words=WORK, fault=""):
        result = harness.run(words, folder=self.folder, truth=self.beside, fault=fault,
                             options=("GPUTRACE_MAX_SIZE=1M", *options))
        self.assertEqual((result.status, result.stderr), (3, []))
        return result

    def files(self):
        """In the order in which they were written."""
        paths = [os.path.join(self.folder, name) for name in os.listdir(self.folder)
                 if not name.startswith(".")]
        for path in paths:
            self.assertLessEqual(os.path.getsize(path), LIMIT, path)
        return sorted(paths, key=harness.number_of)

    def numbers(self):
        """Numbers of the existing files, in order."""
        return sorted(map(harness.number_of, harness.traces(self.folder)))

    def check_each(self):
        """Checks that each is closed, valid and balanced. Returns their headers and ledgers."""
        loaded = []
        for path in self.files():
            self.assertEqual(harness.lint(path), "")
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
            loaded.append(load(path))
        return loaded

    def written(self, loaded):
        return {kind: sum(trace["ledger"].get(kind + "_written", 0) for trace in loaded)
                for kind in KINDS}

    def test_all_are_kept(self):
        self.assertEqual(self.trace("GPUTRACE_KEEP=0").said, [])
        loaded = self.check_each()
        self.assertGreater(len(loaded), 5)
        self.assertEqual([trace["segment"]["number"] for trace in loaded],
                         list(range(1, len(loaded) + 1)))
        self.assertEqual([trace["segment"]["last"] for trace in loaded],
                         [0] * (len(loaded) - 1) + [1])
        written = self.written(loaded)
        calls = written.pop("calls")
        self.assertEqual(sum(written.values()), OPERATIONS)
        self.assertGreaterEqual(calls, OPERATIONS)
        self.assertEqual(sum(trace["ledger"]["calls_seen"] for trace in loaded),
                         calls + sum(trace["ledger"]["calls_nested"] for trace in loaded))

    def test_together_they_are_one_trace(self):
        """Even if a call is in one file and its work in another."""
        self.trace("GPUTRACE_KEEP=0")
        merged = os.path.join(self.beside, "merged.pt.trace.json")
        self.assertEqual(harness.tool("merge", "--output=" + merged, self.folder), (0, ""))
        status, output = harness.tool("verify", merged)
        self.assertEqual(status, 0, output)
        arrows = collections.Counter(event["ph"] for event in load(merged)["traceEvents"]
                                     if event.get("cat") == "ac2g")
        self.assertEqual(arrows, {"s": OPERATIONS, "f": OPERATIONS})
        for where in (self.folder, merged):
            status, output = harness.tool("stats", "--by=kernel", "--format=csv", where)
            self.assertEqual(status, 0, output)
            self.assertIn(f",{3 * ROUNDS},", output)

    def ledgers(self):
        """Of both forms, once each file is verified."""
        found = []
        for path in self.files():
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
            if path.endswith(".pftrace"):
                self.assertEqual(harness.tool("convert", path, path + ".json")[0], 0)
                path += ".json"
            found.append(load(path)["ledger"])
        return found

    @unittest.skipIf(harness.preloading.RUNTIMES, "a library that is preloaded before the sanitizer's")
    def test_disk_full_at_the_change(self):
        """What the last write of the full file loses is counted once, and no call is in two ledgers."""
        # which write is the last one of the first file depends on how the threads are scheduled
        for form, likely, others in (("chrome", range(50, 57), range(30, 80)),
                                     ("perfetto", range(16, 20), range(6, 30))):
            lost = 0
            for write in (*likely, *others):
                if lost and write not in likely:
                    break
                with self.subTest(form=form, write=write):
                    shutil.rmtree(self.folder, ignore_errors=True)
                    self.trace("GPUTRACE_KEEP=0", "GPUTRACE_FORMAT=" + form, f"FAILWRITE_FROM={write}",
                               f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", f"FAILWRITE_ERRNO={errno.ENOSPC}",
                               "FAILWRITE_COUNT=1")
                    self.assertEqual(harness.tool("repair", self.folder)[0], 0)  # if the write was that of an end
                    ledgers = self.ledgers()
                    total = {key: sum(ledger[key] for ledger in ledgers) for key in ledgers[0]}
                    self.assertEqual(total["calls_seen"],
                                     total["calls_written"] + total["calls_not_written"] + total["calls_nested"])
                    self.assertEqual(total["launches_seen"], OPERATIONS)
                    lost += total["events_lost_disk"] * (len(ledgers) > 1)
            self.assertGreater(lost, 0)

    def count_work(self, kinds=KINDS[1:]):
        """Operations in the ledgers, and in files that have none; launches in the ledgers; files without one."""
        work = launches = unclosed = 0
        for path in self.files():
            other = path
            if path.endswith(".pftrace"):
                other = path + ".json"
                harness.tool("convert", path, other)
            trace = load(other)
            ledger = trace.get("ledger")
            unclosed += not ledger
            if not ledger:
                work += sum(event.get("cat") in harness.trace_file.GPU for event in trace["traceEvents"])
                continue
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
            work += sum(ledger[kind + what] for kind in kinds for what in ("_written", "_not_written"))
            launches += ledger["launches_seen"]
        return work, launches, unclosed

    @unittest.skipIf(harness.preloading.RUNTIMES, "a library that is preloaded before the sanitizer's")
    def test_a_full_file_that_cannot_be_closed(self):
        """Its end fails, and once more with less in it: the next file counts what it lacks."""
        for form, writes in (("chrome", range(46, 62)), ("perfetto", range(12, 24))):
            unclosed = 0
            for write in writes:
                with self.subTest(form=form, write=write):
                    shutil.rmtree(self.folder, ignore_errors=True)
                    result = self.trace("GPUTRACE_KEEP=0", "GPUTRACE_FORMAT=" + form, f"FAILWRITE_FROM={write}",
                                        f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}",
                                        f"FAILWRITE_ERRNO={errno.ENOSPC}", "FAILWRITE_COUNT=3")
                    said = "".join(result.said)
                    if "could not be closed" not in said or "is lost" in said:  # that was the last file
                        continue
                    self.assertEqual(harness.tool("repair", self.folder)[0], 0)
                    work, launches, found = self.count_work()
                    self.assertEqual((work, launches), (OPERATIONS, OPERATIONS))
                    unclosed += found
            self.assertGreater(unclosed, 0)

    def test_newest_are_kept(self):
        result = self.trace("GPUTRACE_KEEP=3")
        self.assertEqual(len(result.said), 1, result.said)
        self.assertIn("--keep", result.said[0])
        loaded = self.check_each()
        self.assertEqual(len(loaded), 3)
        told = loaded[-1]["segment"]
        self.assertEqual(told["files_removed"], told["number"] - 3)
        written = self.written(loaded)
        for kind in KINDS[1:]:
            self.assertEqual(written[kind] + told[kind + "_removed"], 3 * ROUNDS, kind)
        self.assertEqual(sum(event["args"]["events"] for trace in loaded[-1:]
                             for event in trace["traceEvents"] if event["name"] == "LOST") > 0,
                         True)
        status, output = harness.tool("stats", self.folder)
        self.assertEqual(status, 0, output)
        self.assertIn(f"{told['files_removed']} older files removed by --keep: "
                      f"{told['calls_removed']} calls, {told['kernels_removed']} kernels", output)
        self.assertNotIn("LOST", output)

    def test_losses_of_removed_files(self):
        """A file that stays reports them, too."""
        graphs = [WORK[0], "graph", str(REPLAYS)]
        for fault, options, words, keys in (
                ("zero_ts=7", (), WORK, ("kernels_untimed", "memcpys_untimed", "memsets_untimed")),
                ("dropped=7", (), WORK, ("records_dropped_by_cupti",)),
                ("reverse_ts=7", (), WORK, ("times_reversed",)),
                ("early=7", (), WORK, ("gpu_before_launch",)),
                ("zero_ts=7", (), graphs, ("kernels_untimed",)),
                ("zero_ts=7", ("GPUTRACE_GRAPHS=whole",), graphs, ("graphs_untimed",)),
                ("", ("GPUTRACE_GRAPHS=off",), graphs, ("graphs_left_out",))):
            with self.subTest(fault=fault, options=options, words=words[1:]):
                self.trace("GPUTRACE_KEEP=2", *options, words=words, fault=fault)
                found = self.check_each()
                told = sum(root["ledger"][key] for root in found for key in keys)
                self.assertEqual(told, harness.Truth(self.beside).faults[fault.split("=")[0]] if fault else REPLAYS)
                self.assertGreater(found[-1]["segment"]["files_removed"], 0)
                shutil.rmtree(self.folder)
                for path in glob.glob(self.beside + "/truth.*"):
                    os.unlink(path)

    def test_one_file_and_no_more(self):
        result = self.trace("GPUTRACE_KEEP=1")
        self.assertEqual(len(result.said), 1, result.said)
        loaded = self.check_each()
        self.assertEqual(len(loaded), 1)
        self.assertNotIn("segment", loaded[0])
        self.assertGreater(loaded[0]["ledger"]["events_lost_disk"], 0)

    def test_perfettos_form(self):
        self.trace("GPUTRACE_KEEP=0", "GPUTRACE_FORMAT=perfetto")
        paths = self.files()
        self.assertGreater(len(paths), 1)
        operations = 0
        for number, path in enumerate(paths, 1):
            other = os.path.join(self.beside, f"{number}.pt.trace.json")
            self.assertEqual(harness.tool("convert", path, other)[0], 0)
            trace = load(other)
            self.assertEqual(trace["segment"]["number"], number)
            operations += sum(event.get("cat") in harness.trace_file.GPU
                              for event in trace["traceEvents"])
        self.assertEqual(operations, OPERATIONS)
        status, output = harness.tool("stats", "--by=kernel", "--format=csv", self.folder)
        self.assertEqual(status, 0, output)
        self.assertIn(f",{3 * ROUNDS},", output)

    def test_killed(self):
        words = harness.command([harness.program("workload"), "flood"], folder=self.folder,
                                options=("GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=4",
                                         "GPUTRACE_FLUSH_PERIOD=20"))
        with subprocess.Popen(words, env=harness.environment(), stdout=subprocess.DEVNULL) as process:
            harness.gate.wait_for(lambda: self.numbers()[-1:] > [6])
            process.send_signal(signal.SIGKILL)
        paths = self.files()
        self.assertLessEqual(len(paths), 5) # one may just have begun
        self.assertGreater(len(paths), 2)
        for path in paths[:-2]:
            self.assertEqual(harness.lint(path), "")
        for path in paths[-2:]:
            harness.strict_lines(path)

    def test_claim_of_a_rank_follows_the_files(self):
        """The first file is removed, the claim stays: another process of the rank uses its own folder."""
        self.trace("GPUTRACE_KEEP=2", "RANK=0", "WORLD_SIZE=1")
        with open(os.path.join(self.folder, ".rank0.owner"), encoding="ascii") as file:
            self.assertEqual(file.read(), os.path.basename(self.files()[-1]))

    def test_planted_names(self):
        """A link where the next file would be is not followed; the file takes another name."""
        victim = os.path.join(self.beside, "victim")
        os.mkdir(self.folder)
        words = harness.command([harness.program("workload"), "flood"], folder=self.folder,
                                options=("GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0"))
        with subprocess.Popen(words, env=harness.environment(), stdout=subprocess.DEVNULL) as process:
            harness.gate.wait_for(self.numbers)
            process.send_signal(signal.SIGSTOP)
            harness.gate.wait_for(lambda: is_stopped(process.pid))
            base = re.sub(r"(\.part\d+)?\.pt\.trace\.json$", "", harness.traces(self.folder)[0])
            newest = self.numbers()[-1]
            for number in range(newest + 1, newest + 4):
                os.symlink(victim, f"{base}.part{number}.pt.trace.json")
            process.send_signal(signal.SIGCONT)
            harness.gate.wait_for(self.has_evasive_name)
            process.send_signal(signal.SIGKILL)
        self.assertFalse(os.path.exists(victim))
        self.assertTrue(self.has_evasive_name(), os.listdir(self.folder))

    def has_evasive_name(self):
        return any(re.search(r"\.part\d+\.1\.pt\.trace\.json$", name)
                   for name in os.listdir(self.folder))


if __name__ == "__main__":
    sys.exit(unittest.main())
