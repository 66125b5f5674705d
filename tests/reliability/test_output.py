#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Places that cannot be written, or not for long: the program does not notice, a file that came to
be is whole, what is missing stands in its ledger, and it is said once."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import harness

ROUNDS = "400"
WORK = [harness.program("workload"), "rounds", ROUNDS]


def has_tmpfs():
    """A mount namespace of one's own, to fill a disk that is nobody else's."""
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs -o size=64k x /mnt"]
    return bool(shutil.which("unshare")) and subprocess.run(
        words, capture_output=True, check=False).returncode == 0


class Output(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-output-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.bare = harness.run(WORK)
        self.assertEqual(self.bare.status, 3)

    def same(self, **how):
        result = harness.run(WORK, **how)
        self.assertEqual(result[:3], self.bare[:3])
        return result

    def check_file(self, path):
        """Closed and within the format; its ledger."""
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        with open(path, encoding="utf-8") as file:
            return json.load(file)["ledger"]

    def told_once(self, result):
        self.assertEqual(len(result.said), 1, result.said)

    def test_size_limit_of_the_process(self):
        """RLIMIT_FSIZE would end the program by SIGXFSZ if an unguarded thread met it."""
        result = self.same(folder=self.folder, before=["prlimit", "--fsize=200000"])
        self.told_once(result)
        path = harness.traces(self.folder)[0]
        self.assertLessEqual(os.path.getsize(path), 200000)
        self.assertGreater(self.check_file(path)["events_lost_disk"], 0)

    def test_size_limit_of_the_trace(self):
        self.same(folder=self.folder, options=("GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=1"))
        path = harness.traces(self.folder)[0]
        self.assertLessEqual(os.path.getsize(path), 1 << 20)
        self.assertGreater(self.check_file(path)["events_lost_disk"], 0)

    def test_full_disk(self):
        if not has_tmpfs():
            self.skipTest("no mount namespace of one's own here")
        script = ("mount -t tmpfs -o size=256k x /mnt && \"$@\"; status=$?; cp -r /mnt/. "
                  f"'{self.folder}'; exit $status")
        result = self.same(folder="/mnt", before=["unshare", "--mount", "--map-root-user", "sh",
                                                  "-c", script, "sh"])
        self.told_once(result)
        path = harness.traces(self.folder)[0]
        self.assertGreater(self.check_file(path)["events_lost_disk"], 0)

    def test_folder_that_cannot_be_made(self):
        """A file stands in its place: the trace goes to the temporary folder, and that is said."""
        blocked = os.path.join(self.folder, "file")
        with open(blocked, "w", encoding="utf-8"):
            pass
        result = self.same(folder=os.path.join(blocked, "below"))
        self.assertEqual(len(result.said), 2, result.said)
        self.assertIn("instead", result.said[1])
        path = result.said[1].split("writing to ")[1].split(" instead")[0]
        self.addCleanup(os.unlink, path)
        self.check_file(path)
        self.assertEqual(os.path.getsize(blocked), 0)

    def test_folder_that_vanishes(self):
        """Removed while the program runs: nothing can be kept, the program does not notice."""
        words = [harness.program("workload"), "slow", "1200"]
        out = os.path.join(self.folder, "out")
        done = threading.Event()

        def remove():
            while not done.wait(0.02):
                if harness.traces(out):
                    shutil.rmtree(out, ignore_errors=True)
                    return

        thread = threading.Thread(target=remove)
        thread.start()
        traced = harness.run(words, folder=out)
        done.set()
        thread.join()
        self.assertEqual(traced[:3], harness.run(words)[:3])

    def test_fifo(self):
        """A pipe in the folder's place is streamed to; without a reader there is nothing to write."""
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        with open(os.path.join(self.folder, "read"), "wb") as file, \
                subprocess.Popen(["cat", pipe], stdout=file) as reader:
            self.same(folder=pipe)
            reader.wait(timeout=30)
        gpu = [e for e in harness.strict_lines(file.name)
               if e.get("cat") in harness.trace_file.GPU]
        self.assertEqual(len(gpu), 3 * 3 * int(ROUNDS))

    def test_fifo_without_reader(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        result = self.same(folder=pipe)
        self.assertTrue(result.said)
        for line in result.said:
            if "instead" in line:
                os.unlink(line.split("writing to ")[1].split(" instead")[0])

    def test_dev_full(self):
        result = self.same(folder="/dev/full")
        self.assertEqual(len(set(result.said)), len(result.said))
        self.assertIn("disk full", result.said[0])

    def test_planted_links(self):
        """Nothing that stands there already is followed or overwritten."""
        victim = os.path.join(self.folder, "victim")
        with open(victim, "w", encoding="utf-8") as file:
            file.write("keep")
        out = os.path.join(self.folder, "out")
        os.mkdir(out)
        os.symlink(victim, os.path.join(out, ".rank0.owner"))
        self.same(folder=out)
        link = os.path.join(self.folder, "link")
        os.symlink(out, link)
        self.same(folder=link)
        with open(victim, encoding="utf-8") as file:
            self.assertEqual(file.read(), "keep")

    def test_one_rank_twice(self):
        """Two processes of a rank in one folder, at once: one beside, one in a folder of its own."""
        options = ("RANK=1", "WORLD_SIZE=2")
        words = harness.command(WORK, folder=self.folder, options=options)
        pair = [subprocess.Popen(words, env=harness.environment(), stdout=subprocess.DEVNULL)
                for _ in range(2)]
        self.assertEqual([process.wait(timeout=60) for process in pair], [3, 3])
        paths = harness.traces(self.folder)
        self.assertEqual(len(paths), 2)
        self.assertEqual(sum(os.path.dirname(path) == self.folder for path in paths), 1)
        for path in paths:
            self.check_file(path)
        status, output = harness.tool("verify", self.folder)
        self.assertEqual((status, output.count(": ok")), (0, 2), output)

    @unittest.skipIf(harness.preloading.RUNTIMES, "the sanitizer's own mappings would fail")
    def test_no_memory(self):
        """Each of the tracer's mappings fails in turn, alone and with all that follow: the program
        runs on, what was written is whole."""
        shim = os.path.join(harness.PROGRAMS, "libfailmap.so")
        preload = f"LD_PRELOAD={shim}:{harness.LIBRARY}"
        count = self.count_mappings(preload)
        self.assertGreater(count, 20)
        for many in ("1", "100000"):
            for number in range(1, count + 1, 2 if many == "1" else 7):
                with self.subTest(number=number, many=many), \
                        tempfile.TemporaryDirectory() as folder:
                    self.same(folder=folder, options=(preload, f"FAILMAP_FROM={number}",
                                                      f"FAILMAP_COUNT={many}"))
                    for path in harness.traces(folder):
                        self.check_file(path)

    def count_mappings(self, preload):
        result = harness.run(WORK, folder=self.folder, options=(preload, "FAILMAP_FROM=1000000",
                                                                "FAILMAP_REPORT=1"))
        return int(result.stderr[-1].split(": ")[1])


if __name__ == "__main__":
    sys.exit(unittest.main())
