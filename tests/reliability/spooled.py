# SPDX-License-Identifier: Apache-2.0
"""Processes with a spool, as the tests of the spool and of its recovery start and kill them."""

import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness

WORK = [harness.program("workload"), "rounds", "300"]
FLOOD = [harness.program("workload"), "flood"]


def has_namespaces():
    words = ["unshare", "--mount", "--map-root-user", "sh", "-c", "mount -t tmpfs x /mnt"]
    return bool(shutil.which("unshare")) and subprocess.run(
        words, capture_output=True, check=False).returncode == 0


def in_namespace(mount):
    """The argument prefix that runs a command with another /dev/shm."""
    return ["unshare", "--mount", "--map-root-user", "sh", "-c", mount + ' && exec "$@"', "-"]


def paths_in(folder):
    """The folder, if it is there, and all that is in it, outer ones first."""
    return [path for root, _, names in os.walk(folder)
            for path in [root] + [os.path.join(root, name) for name in names]]


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
class Test(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-spool-"))
        self.spools = tempfile.mkdtemp(prefix="gt-spool-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.spools, ignore_errors=True)
        os.environ["GPUTRACE_SPOOL"] = self.spools  # for repair if a file has no header yet
        self.addCleanup(os.environ.pop, "GPUTRACE_SPOOL")

    def left(self):
        return glob.glob(os.path.join(self.spools, "*.spool"))

    def left_with_header(self):
        """Spools that have their first bytes: without them it is not recognized."""
        found = []
        for path in self.left():
            with open(path, "rb") as file:
                found += [path] if any(file.read(16)) else []
        return found

    def begun(self):
        """A process killed before writing its first line leaves an empty file."""
        return [path for path in harness.traces(self.folder) if os.path.getsize(path)]

    def run_work(self, spool=None, **how):
        bare = harness.run(WORK)
        options = ("GPUTRACE_SPOOL=" + (spool or self.spools),) + tuple(how.pop("options", ()))
        result = harness.run(WORK, folder=self.folder, options=options, **how)
        self.assertEqual(result[:3], bare[:3])
        path, = harness.traces(self.folder)
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)
        with open(path, encoding="utf-8") as file:
            self.trace = json.load(file)
        self.said = output + harness.tool("stats", path)[1]
        return self.trace["metadata"].get("spool", "")

    def start(self, words, before=(), options=(), **changes):
        words = harness.command(words, folder=self.folder, before=before,
                                options=["GPUTRACE_SPOOL=" + self.spools, *options])
        environment = harness.environment(SIMCUDA_KERNEL_NS="150000", **changes)
        return subprocess.Popen(words, env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                stdin=subprocess.DEVNULL)

    def check_recovered(self, path):
        with open(path, encoding="utf-8") as file:
            root = json.load(file)
        self.assertIn("recovered_calls", root["repaired"])
        self.assertGreater(root["ledger"]["calls_written"], 0)
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)

    def kill_before_a_file(self):
        """Kills a process after its work and before the tracer has made a file. If it has, that is no such process:
        nothing is left of it."""
        for _ in range(100):
            there, spools = set(paths_in(self.folder)), set(self.left())
            self.kill_after_its_work()
            made = [path for path in paths_in(self.folder) if path not in there]
            if not made:
                return
            for path in made[::-1] + [path for path in self.left() if path not in spools]:
                (os.rmdir if os.path.isdir(path) else os.unlink)(path)
        self.fail("the tracer is always faster")

    def kill_after_its_work(self):
        words = harness.command([harness.program("workload"), "held", "4"], folder=self.folder,
                                options=["GPUTRACE_SPOOL=" + self.spools, "GPUTRACE_FLUSH_PERIOD=60000"])
        environment = harness.environment(GATE=os.path.join(self.spools, "gate"))
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL) as process:
            process.stdout.readline()
            self.assertEqual(process.stdout.readline(), b"held\n")
            process.kill()

    def finish_begun(self):
        status, output = harness.tool("repair", "--begun", self.folder)
        self.assertEqual(status, 0, output)
        for path in harness.traces(self.folder):
            harness.tool("repair", path)
            status, output = harness.tool("verify", path)
            self.assertEqual(status, 0, output)
        self.assertEqual(self.left(), [])
