#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way a process ends, with and without CUDA, with CUPTI and hooks only: status and output are as
without the tracer, the trace is readable and has everything that was flushed."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import gate
import preloading
import trace_file

BUILD = os.environ["TARGET_BUILD"]
SOURCE = os.environ["TARGET_SOURCE"]
PROGRAM = os.environ["TARGET_ENDINGS"]
LIBRARY = os.path.join(BUILD, "preload", "libgputrace.so")

SETS = 50
FIRST_CALLERS = 40
AFTER = {"device_reset": SETS, "fork": SETS, "vfork": SETS}  # sets that come after the gate
CLOSED = ("return", "exit", "_exit", "_Exit", "quick_exit", "main_pthread_exit", "device_reset", "fork", "vfork")
BROKEN_OFF = ("abort", "sigterm", "sigkill", "sigsegv", "exec")


def has_sets(folder, cupti):
    """Whether the first sets, or without CUPTI their calls, are in the file."""
    return gate.count(folder, '"cudaMemset"' if cupti == "none" else '"cat": "gpu_memset"') >= SETS


def run(way, cuda, cupti, folder=None):
    """A program that uses CUDA continues to its end once its work is in the file."""
    command = [os.path.join(SOURCE, "scripts", "simcuda"), "--cupti=" + cupti]
    environment = {**os.environ, "GPUTRACE_BUILD": BUILD, **preloading.PATIENT,
                   **preloading.without_tracer()}
    conditions = []
    if folder and cuda == "cuda":
        conditions = [lambda: has_sets(folder, cupti)]
    if folder:
        command += ["env", "GPUTRACE_OUTPUT=" + folder, "GPUTRACE_QUIET=1",
                    "LD_PRELOAD=" + preloading.with_tracer(LIBRARY)]
    command += [PROGRAM, way, cuda]
    result = gate.run(command, conditions, environment, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE)
    return result.returncode, result.stdout, result.stderr


def sets_in(path):
    """Memset slices of a file in either form: a closed object, or an array that ends anywhere."""
    count = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip().lstrip(",[")
            if '"cat": "gpu_memset"' in line:
                json.loads(line)
                count += 1
    return count


def ledger_of(path):
    """The ledger of a closed, possibly large file: the object after the events."""
    with open(path, "rb") as file:
        file.seek(-12288, os.SEEK_END)
        tail = file.read().decode()
    return json.JSONDecoder().raw_decode(tail, tail.index('"ledger": ') + 10)[0]


class Endings(unittest.TestCase):
    def check(self, way, cuda, cupti):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run(way, cuda, cupti, folder), run(way, cuda, cupti))
            files = trace_file.find(folder)
            if cuda == "none":
                self.assertEqual(files, [])
                return
            self.assertEqual(len(files), 1, files)
            if cupti != "none":
                self.assertEqual(sets_in(files[0]), SETS + AFTER.get(way, 0))
            with open(files[0], encoding="utf-8") as file:
                root = json.load(file)  # strict JSON in both forms
            if way in CLOSED:
                self.assertIn("ledger", root)
            else:
                self.assertIsInstance(root, list)

    def test_with_cupti(self):
        for way in CLOSED + BROKEN_OFF:
            with self.subTest(way=way):
                self.check(way, "cuda", "130000")

    def test_while_a_lock_is_held(self):
        """CUPTI holds a lock while it calls us, which its flush takes too: waiting there would hang."""
        with unittest.mock.patch.dict(os.environ, SIMCUDA_FAULT="lock"):
            for way in CLOSED + BROKEN_OFF:
                with self.subTest(way=way):
                    self.check(way, "cuda", "130000")

    def test_hooks_only(self):
        for way in CLOSED + BROKEN_OFF:
            with self.subTest(way=way):
                self.check(way, "cuda", "none")

    def test_without_cuda(self):
        for way in CLOSED + BROKEN_OFF:
            if way not in AFTER:
                with self.subTest(way=way):
                    self.check(way, "none", "130000")

    def test_a_handler_that_ends_the_process(self):
        """Wherever it interrupts the program, usually in a CUDA call: it ends in bounded time, and earlier events are
        in the file, which is closed unless the tracer's thread waits for a lock that the call holds."""
        for cupti in ("130000", "none") * 3:
            with self.subTest(cupti=cupti), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(run("handler", "cuda", cupti, folder), run("handler", "cuda", cupti))
                path, = trace_file.find(folder)
                with open(path, encoding="utf-8") as file:
                    root = json.load(file)
                if cupti != "none":
                    self.assertGreaterEqual(sets_in(path), SETS)
                if isinstance(root, dict):
                    self.assertGreater(root["ledger"]["calls_written"], SETS)
                    # the call, and the driver call inside it until it is recognized as nested
                    self.assertLessEqual(root["ledger"]["calls_open_at_end"], 2)

    def test_first_calls_of_many_threads(self):
        """Whichever thread starts the session, the first calls of the others are in the trace."""
        for cupti in ("130000", "none") * 5:
            with self.subTest(cupti=cupti), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(run("first_calls", "none", cupti, folder),
                                 run("first_calls", "none", cupti))
                with open(trace_file.find(folder)[0], encoding="utf-8") as file:
                    events = json.load(file)["traceEvents"]
                calls = [event for event in events if event.get("name") == "cudaMemset"]
                self.assertEqual(len(calls), 2 * FIRST_CALLERS)
                if cupti != "none":
                    self.assertEqual(sets_in(trace_file.find(folder)[0]), 2 * FIRST_CALLERS)

    @unittest.skipIf("tsan" in preloading.RUNTIMES, "a thread of the sanitizer's own stays")
    def test_last_thread_returns(self):
        """The tracer's threads do not keep the process alive, nor give it another status. A worker of CUPTI would keep
        it alive, as the driver's do."""
        for way, hertz in (("last_return", "0"), ("last_return", "100"), ("system_call", "0")):
            with self.subTest(way=way, hertz=hertz), tempfile.TemporaryDirectory() as folder, \
                    unittest.mock.patch.dict(os.environ, GPUTRACE_SAMPLE_CPU=hertz):
                self.assertEqual(run(way, "cuda", "none", folder), run(way, "cuda", "none"))
                with open(trace_file.find(folder)[0], encoding="utf-8") as file:
                    self.assertIn("ledger", json.load(file))

    def test_reset_before_there_was_a_record(self):
        """A flush has been seen to hang there: CUPTI without the kinds that show it at once."""
        faults = "flush=unused,enable:8=14,enable:9=14,enable:37=14,enable:17=14"
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.dict(os.environ, SIMCUDA_FAULT=faults):
                status, _, _ = run("reset_first", "none", "130000", folder)
            self.assertEqual(status, 10)
            self.assertEqual(sets_in(trace_file.find(folder)[0]), SETS)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor")
    def test_a_pinned_thread_does_not_share_its_processor(self):
        with tempfile.TemporaryDirectory() as folder:
            _, out, _ = run("pinned", "none", "130000", folder)
        self.assertIn("the tracer's thread has all processors", out)

    def test_killed_without_calls(self):
        """GPU work whose calls are not recorded does not wait for them: it is in the file."""
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.dict(os.environ, GPUTRACE_API="none"):
                run("sigkill", "cuda", "130000", folder)
            self.assertEqual(sets_in(trace_file.find(folder)[0]), SETS)

    def test_reset_without_calls(self):
        """CUPTI's records are fetched before they are lost, by a call that is not recorded."""
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.dict(os.environ, GPUTRACE_API="none"):
                run("device_reset", "cuda", "130000", folder)
            path, = trace_file.find(folder)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            self.assertEqual([e["name"] for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")], [])
            self.assertEqual(sets_in(path), SETS + AFTER["device_reset"])

    def test_a_child_that_starts_anew_keeps_nothing_of_its_parent(self):
        with tempfile.TemporaryDirectory() as folder:
            run("fork_again", "cuda", "none", folder)
            names = []
            for path in trace_file.find(folder):
                with open(path, encoding="utf-8") as file:
                    events = json.load(file)["traceEvents"]
                names.append([e["name"] for e in events if e.get("cat") == "cuda_runtime"])
        self.assertIn(["cudaStreamCreate", "cudaEventCreate", "cudaFree", "cudaMalloc"], names)

    @unittest.skipIf(preloading.RUNTIMES, "too slow with a sanitizer to be closed in time")
    def test_exit_while_others_call(self):
        """Faster than the tracer can write: the file is still closed, with a correct ledger."""
        for cupti in ("130000", "none"):
            with self.subTest(cupti=cupti), tempfile.TemporaryDirectory() as folder:
                with unittest.mock.patch.dict(os.environ, GPUTRACE_API="all"):
                    status, _, _ = run("exit_among_callers", "cuda", cupti, folder)
                self.assertEqual(status, 11)
                books = ledger_of(trace_file.find(folder)[0])
                # calls since the rings were last read; never negative
                self.assertLess(books["calls_open_at_end"], books["calls_seen"], books)
                self.assertGreater(books["calls_written"], SETS)


class CommandLine(unittest.TestCase):
    """Arguments may hold secrets: they are in the trace on request only."""

    def command_in_trace(self, option):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GPUTRACE_RECORD_CMDLINE"] = option
            run("return", "cuda", "130000", folder)
            del os.environ["GPUTRACE_RECORD_CMDLINE"]
            with open(trace_file.find(folder)[0], encoding="utf-8") as file:
                text = file.read()
            return json.loads(text)["metadata"].get("command"), text

    def test_only_on_request(self):
        command, text = self.command_in_trace("no")
        self.assertIsNone(command)
        self.assertNotIn("return cuda", text)
        command, _ = self.command_in_trace("yes")
        self.assertEqual(command, PROGRAM + " return cuda")


if __name__ == "__main__":
    sys.exit(unittest.main())
