# SPDX-License-Identifier: Apache-2.0
"""All values of --nvtx, --nvtx with another tool, and uses of --step-range=auto.

    test_nvtx_options.py BUILD SOURCE CLIENT OTHER_TOOL NVTX

NVTX is the target nvtx.cu, or "none" where it could not be built."""

import contextlib
import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, CLIENT, OTHER, NVTX = sys.argv[1:6]
del sys.argv[1:6]
LIBRARY = os.path.join(BUILD, "preload", "libgputrace.so")
WAYS = "preload", "run"


class Options(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def trace(self, program, way="preload", tool=None, **options):
        """(path of the trace, its ranges, what the program wrote to stderr)"""
        output = os.path.join(self.folder.name, str(len(os.listdir(self.folder.name))))
        environment = {key: value for key, value in os.environ.items()
                       if key not in ("NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH")}
        environment.update({"GPUTRACE_" + key.upper(): value for key, value in options.items()},
                           GPUTRACE_OUTPUT=output, GPUTRACE_BUILD=BUILD, **preloading.PATIENT)
        if tool:
            environment["NVTX_INJECTION64_PATH"] = tool
        words = ["env", "LD_PRELOAD=" + LIBRARY]
        if way == "run":
            words = [os.path.join(SOURCE, "scripts", "gputrace"), "run", "--quiet", "--"]
        done = subprocess.run([os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *words,
                               program], env=environment, capture_output=True, text=True,
                              timeout=400, check=True)
        path, = trace_file.find(output)
        ranges = [e for e in trace_file.Trace(path).events
                  if e.get("cat") in ("user_annotation", "gpu_user_annotation")]
        return path, ranges, done.stderr

    def test_on(self):
        for way in WAYS:
            for tool in None, "none", LIBRARY:
                with self.subTest(way=way, tool=tool):
                    _, ranges, stderr = self.trace(CLIENT, way, tool)
                    self.assertTrue(ranges)
                    self.assertEqual(stderr, "")

    def rows_of_crossing(self, **options):
        """name -> track of the ranges that cross, counted from their thread's track"""
        path, _, _ = self.trace(CLIENT, **options)
        rows = {e["name"]: e["tid"] for e in trace_file.Trace(path).slices
                if e["cat"] in ("user_annotation", "cpu_op")}
        return {name: rows[name] - rows["outer"]
                for name in ("around both", "crossed", "test::crosses", "in what crosses")}

    def test_what_crosses_stands_beside_the_thread(self):
        self.assertEqual(self.rows_of_crossing(),
                         {"around both": 0, "crossed": 0, "test::crosses": 16777216, "in what crosses": 0})

    def test_operators_stay_on_the_thread(self):
        self.assertEqual(self.rows_of_crossing(pytorch="yes"),
                         {"around both": 0, "crossed": 16777216, "test::crosses": 0, "in what crosses": 0})

    def test_off(self):
        for way in WAYS:
            with self.subTest(way=way):
                _, ranges, stderr = self.trace(CLIENT, way, nvtx="off")
                self.assertEqual((ranges, stderr), ([], ""))

    def test_another_tool_keeps_its_place(self):
        for way in WAYS:
            for options in {}, {"nvtx": "off"}:
                with self.subTest(way=way, **options):
                    _, ranges, stderr = self.trace(CLIENT, way, OTHER, **options)
                    self.assertEqual((ranges, stderr), ([], "other tool\n"))

    def test_force_takes_it(self):
        for way in WAYS:
            with self.subTest(way=way):
                _, ranges, stderr = self.trace(CLIENT, way, OTHER, nvtx="force")
                self.assertTrue(ranges)
                self.assertEqual(stderr, "")

    def rows_of_report(self, path, report):
        text = self.cli("stats", "--report=" + report, "--format=csv", path)
        return {(row["Style"], row["Range"]) for row in csv.DictReader(io.StringIO(text))}

    def test_reports_tell_domain_and_style(self):
        path, _, _ = self.trace(CLIENT)
        with_work = {("PushPop", "outer"), ("PushPop", "old and new:in a domain"), ("StartEnd", "across")}
        self.assertLessEqual({*with_work, ("StartEnd", "old and new:registered")},
                             self.rows_of_report(path, "nvtx_sum"))
        self.assertLessEqual(with_work, self.rows_of_report(path, "nvtx_gpu_proj_sum"))

    def test_export_tells_style_and_value(self):
        path, _, _ = self.trace(CLIENT)
        target = os.path.join(self.folder.name, "trace.sqlite")
        self.cli("export", "--sqlite=" + target, path)
        with contextlib.closing(sqlite3.connect(target)) as base:
            styles = dict(base.execute("select text, eventType from NVTX_EVENTS"))
            self.assertEqual([styles[name] for name in ("outer", "across", "registered", "mark")], [59, 60, 60, 34])
            self.assertEqual({value for value, in base.execute("select value from CUPTI_ACTIVITY_KIND_MEMSET")}, {0})
            self.assertEqual(base.execute("select count(*), count(distinct globalTid) from ThreadNames").fetchall(),
                             [(1, 1)])

    # ---- steps that were found ----

    def cli(self, *words):
        return subprocess.run([os.path.join(BUILD, "cli", "gputrace-cli"), *words],
                              capture_output=True, text=True, check=True).stdout

    def test_commands_know_the_steps(self):
        if NVTX == "none":
            self.skipTest("no nvcc")
        path, _, _ = self.trace(NVTX, step_range="auto")
        rows = json.loads(self.cli("stats", "--by=step", "--format=json", path))
        text = json.dumps(rows)
        for name, wanted in ("#0", False), ("#1", True), ("#2", True), ("#3", False):
            self.assertEqual('"ProfilerStep%s"' % name in text, wanted, text)
        self.assertIn("(2 steps)", self.cli("diff", path, path))
        gaps = self.cli("gaps", "--filter=step=ProfilerStep#1", path)
        self.assertIn("100.0 %", gaps)  # the one kernel of the step


unittest.main()
