#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that writes a .pftrace is killed inside one of its writes, at any byte: after repair from the spool
the file has every call that had returned and all work that CUPTI had reported, each once, and its ledger; a
second repair changes nothing. If repair itself is killed after appending any number of bytes, the next one gives
the same result."""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from happened import Happened, calls_of, work_of

KILLWRITE = os.path.join(harness.PROGRAMS, "libkillwrite.so")
FLOOD = [harness.program("workload"), "flood"]
wait_for = harness.gate.wait_for


def read(path):
    with open(path, "rb") as file:
        return file.read()


def as_json(path):
    """The file converted to JSON, and the messages."""
    with tempfile.TemporaryDirectory() as folder:
        converted = os.path.join(folder, "converted.pt.trace.json")
        status, output = harness.tool("convert", path, converted)
        if status:
            return None, output
        with open(converted, encoding="utf-8") as file:
            return json.load(file), output


def slices(root):
    return [event for event in root["traceEvents"] if event["ph"] == "X"]


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
class Pftrace(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-pftrace-"))
        self.spools = tempfile.mkdtemp(prefix="gt-pftrace-", dir="/dev/shm")
        self.out = os.path.join(self.folder, "out")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.spools, ignore_errors=True)
        os.environ["GPUTRACE_SPOOL"] = self.spools  # for repair if no header names the spool
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL")

    def forget(self):
        for folder in (self.folder, self.spools):
            shutil.rmtree(folder)
            os.mkdir(folder)

    def traces(self):
        return sorted(glob.glob(os.path.join(self.out, "**", "*.pftrace"), recursive=True),
                      key=harness.number_of)

    def start(self, words, options=(), form="perfetto", **how):
        options = ["GPUTRACE_SPOOL=" + self.spools, "GPUTRACE_FORMAT=" + form,
                   "GPUTRACE_FLUSH_PERIOD=100", *options]
        words = harness.command(words, folder=self.out, truth=self.folder, options=options)
        environment = harness.environment(SIMCUDA_KERNEL_NS="20000", **how.pop("env", {}))
        return subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL,
                                stdin=subprocess.DEVNULL, **how)

    def kill_in_write(self, at, size, options=()):
        """Kills it in the at-th write, after that many of its bytes."""
        options = [f"LD_PRELOAD={KILLWRITE}:{harness.LIBRARY}", f"KILLWRITE_AT={at}",
                   f"KILLWRITE_BYTES={size}", "KILLWRITE_FIRST=\n", "GPUTRACE_BUFFER_SIZE=1M", *options]
        with self.start(FLOOD, options, stdout=subprocess.DEVNULL) as process:
            try:
                process.wait(harness.gate.PATIENCE)
            except subprocess.TimeoutExpired:  # that write never came
                process.kill()
        self.assertTrue(self.traces())

    def repair(self, where):
        status, output = harness.tool("repair", where)
        self.assertEqual(status, 0, output)
        self.assertNotIn("not recovered", output)

    def check(self):
        """Repaired, complete, and the same after a second repair: all files as JSON. Of several, one is completed:
        the last, or the previous one if the last had not begun when the process was killed. A file that was not
        closed yet when the next one began gets a ledger of what is in it."""
        self.repair(self.out)
        roots = []
        for path in self.traces():
            status, output = harness.tool("verify", path)
            root, said = as_json(path)
            self.assertIsNotNone(root, said)
            roots.append(root)
            if "ledger" in root or "not closed" not in output:
                self.assertEqual((status, said), (0, ""), output)
        events = [event for root in roots for event in root["traceEvents"]]
        self.assertEqual(Happened(self.folder).wrong_in(events), [])
        repaired = [root for root in roots if "repaired" in root and "ledger" in root and slices(root)]
        self.assertIn(len(repaired), (1, 2))
        self.assertGreater(sum(root["ledger"]["calls_seen"] for root in repaired), 0)
        completed = [root for root in repaired
                     if root["repaired"]["recovered_calls"] or root["repaired"]["recovered_operations"]]
        self.assertLessEqual(len(completed), 1)
        self.assertEqual(os.listdir(self.spools), [])
        before = [read(path) for path in self.traces()]
        self.repair(self.out)
        self.assertEqual([read(path) for path in self.traces()], before)
        return roots

    def test_killed_in_a_write(self):
        for at, size in ((1, 0), (1, 1), (1, 70), (1, 1500), (1, -1), (2, 1), (3, 333), (6, 4096),
                         (12, 1001), (12, -1)):
            with self.subTest(write=at, bytes=size):
                self.forget()
                self.kill_in_write(at, size)
                root, = self.check()
                self.assertEqual(root["metadata"]["mode"], "cupti")
                self.assertGreater(len(slices(root)), 0)

    def check_parts(self):
        """The last one is completed, and earlier ones have none of its events."""
        roots = self.check()
        self.assertEqual([root["segment"]["number"] for root in roots[1:]],
                         list(range(2, len(roots) + 1)))

    def test_several_files(self):
        for at, size in ((40, 5), (80, -1), (120, 4097)):
            with self.subTest(write=at, bytes=size):
                self.forget()
                self.kill_in_write(at, size, ["GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0"])
                self.check_parts()

    def test_cut_before_its_metadata(self):
        """The process was killed as it began the file: the spool completes the previous one."""
        for at in (80, 160, 320):  # on a busy machine a second file begins later
            shutil.rmtree(self.out, ignore_errors=True)
            self.kill_in_write(at, -1, ["GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0"])
            if len(self.traces()) > 1:
                break
        before = len(self.check())
        self.assertGreater(before, 1)
        path = self.traces()[-1]
        whole = read(path)
        for size in (0, 1, 30, 100):
            with self.subTest(bytes=size):
                with open(path, "wb") as file:
                    file.write(whole[:size])
                self.repair(self.out)
                status, output = harness.tool("verify", path)
                self.assertEqual(status, 0, output)
                root, said = as_json(path)
                self.assertEqual(said, "")
                self.assertEqual((slices(root), root["segment"]["number"]), ([], before))
                self.assertEqual(harness.tool("stats", self.out)[0], 0)
        with open(path, "wb") as file:
            file.write(whole[:30])
        os.rename(path, path + ".alone.pftrace")
        status, output = harness.tool("repair", path + ".alone.pftrace")
        self.assertEqual(status, 1, output)
        self.assertIn("ends before its metadata, there is nothing to repair", output)

    def test_third_of_several_files(self):
        with self.start(FLOOD, ["GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0"],
                        stdout=subprocess.DEVNULL) as process:
            self.assertTrue(wait_for(
                lambda: any(harness.number_of(path) == 3 for path in self.traces())))
            process.kill()
        self.check_parts()

    def test_repair_is_killed(self):
        """It only appends: it may leave any prefix of its result."""
        self.kill_in_write(8, 500)
        path, = self.traces()
        spool, = glob.glob(os.path.join(self.spools, "*.spool"))
        before, kept = read(path), read(spool)
        first, = self.check()
        whole = read(path)
        places = {len(before), len(whole) - 1, len(whole) - 3000}
        places |= {len(before) + (len(whole) - len(before)) * part // 7 for part in range(7)}
        for size in sorted(places):
            with self.subTest(bytes=size):
                with open(path, "r+b") as file:
                    file.write(whole)
                    file.truncate(size)
                with open(spool, "wb") as file:
                    os.fchmod(file.fileno(), 0o600)
                    file.write(kept)
                root, = self.check()
                self.assertEqual(calls_of(root["traceEvents"]), calls_of(first["traceEvents"]))
                self.assertEqual(work_of(root["traceEvents"]), work_of(first["traceEvents"]))
                for key, count in first["ledger"].items():
                    if key != "bytes_written":
                        self.assertEqual((key, root["ledger"][key]), (key, count))

    def test_spool_of_another_build(self):
        """The trace stays as it is, and so does the spool."""
        self.kill_in_write(6, 100)
        path, = self.traces()
        before = read(path)
        spool, = glob.glob(os.path.join(self.spools, "*.spool"))
        with open(spool, "r+b") as file:
            file.seek(80)
            file.write(b"0123456789")
        status, output = harness.tool("repair", path)
        self.assertEqual(status, 1, output)
        self.assertIn("not recovered", output)
        self.assertEqual(read(path), before)
        self.assertTrue(os.path.exists(spool))

    def test_without_a_spool(self):
        """There is nothing to add, which is not a failure."""
        self.kill_in_write(6, 100, ["GPUTRACE_SPOOL=off"])
        path, = self.traces()
        before = read(path)
        status, output = harness.tool("repair", path)
        self.assertEqual(status, 0, output)
        self.assertIn("nothing to add", output)
        self.assertEqual(read(path), before)
        status, output = harness.tool("compress", path)
        self.assertEqual(status, 0, output)

    def test_not_packed_before_it_is_whole(self):
        """Neither while its process writes it, nor before repair has added the content of the spool."""
        with self.start([harness.program("workload"), "held", "40"], stdout=subprocess.PIPE,
                        env={"GATE": os.path.join(self.folder, "gate")}) as process:
            process.stdout.readline()
            self.assertEqual(process.stdout.readline(), b"held\n")
            self.assertTrue(wait_for(self.is_begun))
            path, = self.traces()
            while_it_runs = harness.tool("compress", path)
            process.kill()
        self.assertEqual(while_it_runs[0], 1)
        self.assertIn("still writes it", while_it_runs[1])
        status, output = harness.tool("compress", path)
        self.assertEqual(status, 1)
        self.assertIn("gputrace repair closes it", output)
        self.check()
        self.assertEqual(harness.tool("compress", path)[0], 0)

    def test_killed_before_there_was_a_file(self):
        """Then repair of the folder creates one in the requested format."""
        os.mkdir(self.out)
        with self.start(FLOOD, stdout=subprocess.DEVNULL) as process:
            self.assertTrue(wait_for(lambda: glob.glob(os.path.join(self.spools, "*.spool"))))
            process.kill()
        status, output = harness.tool("repair", "--begun", self.out)
        self.assertEqual(status, 0, output)
        self.assertEqual(harness.traces(self.out), [])
        for path in self.traces():
            self.assertEqual(harness.tool("verify", path)[0], 0)

    def is_begun(self):
        return any(os.path.getsize(path) for path in self.traces() + harness.traces(self.out))

    def hold(self, form):
        """The one trace of a program that was killed after its rounds, repaired, as JSON."""
        self.forget()
        with self.start([harness.program("workload"), "held", "40"], form=form,
                        stdout=subprocess.PIPE, env={"GATE": os.path.join(self.folder, "gate")}) as process:
            self.assertTrue(process.stdout.readline().startswith(b"descriptors"))
            self.assertEqual(process.stdout.readline(), b"held\n")
            self.assertTrue(wait_for(self.is_begun))
            process.kill()
        if form == "perfetto":
            return self.check()[0]
        self.repair(self.out)
        path, = harness.traces(self.out)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_as_the_other_form(self):
        """A run that is killed at the same place, recovered as JSON."""
        json_form, pftrace = self.hold("chrome"), self.hold("perfetto")
        self.assertEqual(calls_of(pftrace["traceEvents"]), calls_of(json_form["traceEvents"]))
        self.assertGreater(sum(calls_of(pftrace["traceEvents"]).values()), 100)
        for root in (json_form, pftrace):
            ledger = root["ledger"]
            self.assertEqual(ledger["calls_seen"] - ledger["calls_open_at_end"] - ledger["calls_nested"],
                             ledger["calls_written"])
        self.assertEqual(pftrace["ledger"]["calls_seen"], json_form["ledger"]["calls_seen"])
        self.assertEqual(set(pftrace["repaired"]), set(json_form["repaired"]))

    def test_facts_that_came_late(self):
        """Devices and clock are known only after the first event: commands that read once still print them."""
        with self.start([harness.program("workload"), "slow", "40"], stdout=subprocess.DEVNULL) as process:
            process.wait(harness.gate.PATIENCE)
        path, = self.traces()
        converted, said = as_json(path)
        self.assertEqual(said, "")
        status, output = harness.tool("merge", path)
        self.assertEqual(status, 0, output)
        device, = converted["deviceProperties"]
        self.assertEqual(device["name"], "NVIDIA H200")
        self.assertEqual(json.loads(output)["deviceProperties"], converted["deviceProperties"])
        tables = os.path.join(self.folder, "tables")
        self.assertEqual(harness.tool("export", "--csv=" + tables, path)[0], 0)
        self.assertIn("NVIDIA H200", "".join(read(found).decode() for found in glob.glob(tables + "/*")))

    def test_run_recovers_by_itself(self):
        script = (f""""$@" & until grep -qs . '{self.out}'/*.pftrace; do sleep 0.1; done; """
                  "kill -9 $!; wait $!; exit 5")
        words = [os.path.join(harness.SOURCE, "scripts", "simcuda"),
                 "--truth=" + os.path.join(self.folder, "truth.%p.jsonl"),
                 os.path.join(harness.SOURCE, "scripts", "gputrace"), "run", "--output=" + self.out,
                 "--format=perfetto", "--spool=" + self.spools, "--", "sh", "-c", script, "-", *FLOOD]
        result = subprocess.run(words, env=harness.environment(SIMCUDA_KERNEL_NS="150000"),
                                capture_output=True, text=True, timeout=300,
                                stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertIn("repaired", result.stderr)
        path, = self.traces()
        before = read(path)
        self.check()
        self.assertEqual(read(path), before)


if __name__ == "__main__":
    sys.exit(unittest.main())
