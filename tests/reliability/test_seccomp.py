#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracer in a program with a seccomp filter: with one that kills for every system call that is not in the table
(core/guest/syscalls.def) as common, and without one, where every call that it makes is in the table."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

SANDBOXED = harness.program("sandboxed")
FILTER = os.path.join(harness.PROGRAMS, "libsandbox.so")
PYTHON = os.path.join(harness.SOURCE, "tests", "reliability", "sandboxed.py")
TABLE = os.path.join(harness.SOURCE, "core", "guest", "syscalls.def")
STATUS = {"return": 4, "_exit": 5}
ROUNDS = 200  # of sandboxed.c


def table():
    with open(TABLE, encoding="utf-8") as file:
        return dict(re.findall(r"^GT_SYSCALL\((\w+), (\w+),", file.read(), re.M))


TRIES = 5


def sample(*more):
    return ("GPUTRACE_SAMPLE_CPU=500", *more)


class Seccomp(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="seccomp-", dir=harness.BUILD)
        self.addCleanup(shutil.rmtree, self.folder)
        self.spools = tempfile.mkdtemp(prefix="gt-seccomp-", dir="/dev/shm" if harness.has_shm() else None)
        self.addCleanup(shutil.rmtree, self.spools)

    def run_both(self, words, options):
        shutil.rmtree(self.folder)
        os.mkdir(self.folder)
        bare = harness.run(words)
        traced = harness.run(words, folder=self.folder, options=options)
        self.assertEqual((traced.status, traced.stderr), (bare.status, bare.stderr), traced)
        for _ in range(TRIES):  # docs/reliability.md: a file that our threads open has a low number for a moment
            if traced.stdout == bare.stdout or "is another one" not in traced.stdout:
                break
            shutil.rmtree(self.folder)
            os.mkdir(self.folder)
            traced = harness.run(words, folder=self.folder, options=options)
            self.assertEqual((traced.status, traced.stderr), (bare.status, bare.stderr), traced)
        self.assertEqual(traced.stdout, bare.stdout)
        return traced

    def trace(self):
        """Its only trace as JSON, and the operations on the GPU by kind."""
        path, = (os.path.join(self.folder, name) for name in os.listdir(self.folder) if not name.startswith("."))
        self.assertEqual(harness.tool("verify", path)[0], 0)
        if path.endswith(".pftrace"):
            converted = os.path.join(self.folder, "converted.json")
            self.assertEqual(harness.tool("convert", path, converted)[0], 0)
            path = converted
        trace = harness.trace_file.Trace(path)
        return trace, harness.collections.Counter(event["cat"] for event in trace.gpu)

    def check(self, action, when, end, options=(), says="filter of the program"):
        traced = self.run_both([SANDBOXED, action, when, end], options)
        self.assertEqual(traced.status, STATUS[end])
        trace, work = self.trace()
        self.assertEqual([work[kind] for kind in ("kernel", "gpu_memcpy", "gpu_memset")], 3 * [ROUNDS])
        self.assertEqual(trace.ledger["launches_without_record"], 0)
        stacks = json.dumps([event["args"].get("frames") for event in trace.calls])
        for function in ("work (", "main (", "work_on_thread ("):
            self.assertIn(function, stacks)
        self.assertIn(says, trace.root["metadata"]["seccomp"])
        return trace

    def test_killing_filters(self):
        """Before the first call, after it, and on one thread alone; each with other ways to trace. A filter that comes
        between our check and a call of the sampler's kills (docs/reliability.md): samples only with the first."""
        spool = f"GPUTRACE_SPOOL={self.spools}"
        for when in ("first", "later", "thread"):
            for end, options in (("return", ()), ("_exit", (spool, "GPUTRACE_ON_CRASH=1")),
                                 ("return", ("GPUTRACE_FORMAT=perfetto", spool)), ("_exit", ())):
                options = sample(*options) if when == "first" else options
                with self.subTest(when=when, end=end, options=options):
                    self.check("kill", when, end, options)

    def test_other_actions(self):
        """A filter that returns an error, and one whose signal the program handles."""
        for action in ("errno", "trap"):
            for when in ("first", "later"):
                with self.subTest(action=action, when=when):
                    self.check(action, when, "return", (f"GPUTRACE_SPOOL={self.spools}",))

    def test_inherited(self):
        """As in a container: only what has a common call in its place is left out."""
        for action in ("kill", "errno"):
            with self.subTest(action=action):
                trace = self.check(action, "inherited", "return",
                                   sample(f"GPUTRACE_SPOOL={self.spools}", "GPUTRACE_ON_CRASH=1"),
                                   "filter since the start")
                self.assertNotIn("capture gap", {event["name"] for event in trace.root["traceEvents"]})
                self.assertEqual(os.listdir(self.spools), [])

    def test_python(self):
        """Python frames are recorded as without a filter."""
        for when in ("first", "later"):
            with self.subTest(when=when):
                self.run_both([sys.executable, PYTHON, FILTER, when], ())
                trace, work = self.trace()
                self.assertEqual(work["gpu_memset"], 60)
                self.assertIn("launch_in_sandbox", str(trace.root))
                self.assertNotIn("off", trace.root["metadata"]["python"])

    def test_a_missing_folder(self):
        """Nothing is created: the trace goes to the fallback folder, and a line says so."""
        missing = os.path.join(self.folder, "missing")
        traced = harness.run([SANDBOXED, "kill", "first", "return"], folder=missing,
                             options=(f"TMPDIR={self.folder}",))
        self.assertEqual(traced.status, 4)
        self.assertIn("a seccomp filter", " ".join(traced.said))
        self.assertFalse(os.path.exists(missing))

    def calls_of(self, words, options=None):
        """Names of the system calls of a program and its children."""
        log = os.path.join(self.folder, "strace")
        traced = [] if options is None else ["LD_PRELOAD=" + harness.LIBRARY, *options]
        command = harness.command(["strace", "-f", "-qq", "-c", "-U", "name", "-o", log, "env", *traced, *words])
        subprocess.run(command, env=harness.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=300, check=False)
        with open(log, encoding="utf-8") as file:
            names = set(re.findall(r"^ *(\w+)$", file.read(), re.M))
        os.unlink(log)
        return names - {"name", "syscall", "total"}

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_every_call_is_in_the_table(self):
        output = f"GPUTRACE_OUTPUT={self.folder}/out"
        spool = f"GPUTRACE_SPOOL={self.spools}"
        rows = table()
        words = [SANDBOXED, "none", "first", "return"]
        bare = self.calls_of(words)
        self.assertIn("wait4", bare)
        for options in ((), sample(spool, "GPUTRACE_ON_CRASH=1")):
            with self.subTest(options=options):
                added = self.calls_of(words, [output, *options]) - bare
                self.assertIn("fcntl", added)
                self.assertEqual(added - set(rows), set())

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_common_calls_suffice(self):
        """By number, and not only because the filter of the other tests permits what the program needs itself."""
        words = [SANDBOXED, "errno", "first", "return"]
        common = {name for name, when in table().items() if when == "COMMON"}
        added = self.calls_of(words, [f"GPUTRACE_OUTPUT={self.folder}"]) - self.calls_of(words)
        before = {"readlink", "getpgrp"}  # by the constructor, which runs before the filter is there
        self.assertEqual(added - common - before, set())


if __name__ == "__main__":
    sys.exit(unittest.main())
