# SPDX-License-Identifier: Apache-2.0
"""--memory: each allocation and release of a program that plants a peak and a leak, against the device's truth.

    test_memory.py BUILD SOURCE PROGRAM
"""

import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
ALLOCATION, RELEASE, ARRAY = 1, 2, 4  # CUpti_ActivityMemoryOperationType, CUpti_ActivityMemoryKind


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


def older_cupti(cupti):
    """The file of a CUPTI that is older than the program's runtime, which must be given by name."""
    if int(cupti) >= 130000:
        return []
    return [path for path in glob.glob(os.path.join(BUILD, "tests", "simcuda", cupti, "libcupti.so.1[0-9]*"))
            if os.path.isfile(path)][:1]


class Memory(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-memory-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, cupti="130000", **options):
        """The trace, what the program planted, and the truth."""
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        truth = self.folder + "/truth"
        if os.path.exists(truth):
            os.remove(truth)
        variables = {"GPUTRACE_OUTPUT": self.folder + "/out", "GPUTRACE_BUILD": BUILD, "GPUTRACE_MEMORY": "1",
                     "GPUTRACE_STEP_RANGE": "step",
                     "LD_PRELOAD": preloading.with_tracer(os.path.join(BUILD, "preload", "libgputrace.so")),
                     **preloading.PATIENT, **options}
        variables.update(("GPUTRACE_CUPTI", path) for path in older_cupti(cupti))
        result = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--cupti=" + cupti, "--truth=" + truth,
             "env", *(f"{name}={value}" for name, value in variables.items()), PROGRAM],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 0, result.stderr)
        path, = (path for ending in ("json", "pftrace")
                 for path in glob.glob(f"{self.folder}/out/**/*.{ending}", recursive=True))
        with open(truth, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return path, json.loads(result.stdout), [line for line in lines if line["truth"] == "memory"]

    def blocks(self, trace):
        """(time, operation, arguments, call), in order of time."""
        found = []
        for call in trace.calls:
            operation = call["args"].get("memory")
            if operation:
                late = operation in ("allocate", "map", "retain")
                found.append((trace.start(call) + (trace.duration(call) if late else 0), operation, call["args"], call))
        return sorted(found, key=lambda row: row[0])

    def check_truth(self, trace, truth):
        """Each allocation and release is one call, no more: whatever the runtime calls of the driver. An array and
        physical memory go by their handles, which the truth has of the latter."""
        good = [row for row in self.blocks(trace) if "result" not in row[2]]
        arrays = {row[2]["memory address"] for row in good if row[2].get("memory kind") == "array"}
        handles = {row[2]["memory address"] for row in good if row[2].get("memory kind") == "physical"}
        self.assertEqual([(0 if row[2]["memory kind"] == "array" else row[2]["memory address"], row[2]["memory bytes"])
                          for row in good if row[1] == "allocate"],
                         [(0 if line["kind"] == ARRAY else line["address"], line["bytes"])
                          for line in truth if line["operation"] == ALLOCATION])
        self.assertEqual([0 if address in arrays else address for address in
                          (row[2]["memory address"] for row in good if row[1] == "release") if address not in handles],
                         [0 if line["kind"] == ARRAY else line["address"] for line in truth
                          if line["operation"] == RELEASE and line["address"] not in handles])
        self.assertEqual({row[2]["memory device"] for row in good}, {0})

    def check_failures(self, trace):
        bad = [row for row in self.blocks(trace) if "result" in row[2]]
        self.assertEqual([(row[1], row[2]["result"]) for row in bad], [("allocate", 2), ("release", 1), ("release", 1)])
        self.assertEqual(bad[0][2]["memory bytes"], 1 << 50)
        self.assertNotIn("memory address", bad[0][2])
        note, = (e for e in trace.events if e.get("name") == "allocation failed")
        self.assertEqual((note["args"]["bytes"], note["args"]["cause"]), (1 << 50, "out of memory"))
        self.assertEqual(note["args"]["stack"], bad[0][2]["stack"])
        return note["args"]["what"]

    def counters(self, trace, name, series):
        return [int(e["args"][series]) for e in
                sorted((e for e in trace.events if e["ph"] == "C" and e["name"] == name and series in e["args"]),
                       key=lambda e: e["ts"])]

    def check_counters(self, trace, planted):
        in_use = self.counters(trace, "GPU 0 memory", "allocated")
        self.assertEqual(max(in_use), planted["peak"])
        self.assertEqual(in_use[-1], planted["steps"] * planted["leak"])
        self.assertEqual(self.counters(trace, "pinned host memory", "bytes"), [5 << 20, 0])
        self.assertEqual(self.counters(trace, "GPU 0 memory", "physical"), [4 << 20, 0])
        self.assertEqual(self.counters(trace, "GPU 0 memory", "pool"), [3 << 20, 0])
        self.assertEqual(self.counters(trace, "GPU 0 memory", "pool reserved"), [3 << 20])
        self.assertEqual([row[2]["memory bytes"] for row in self.blocks(trace) if row[1] == "graph node"],
                         [6 << 20, 7 << 20])

    def test_every_cupti(self):
        for cupti in ("18", "22", "26", "130000", "130300"):
            with self.subTest(cupti):
                path, planted, truth = self.run_program(cupti)
                trace = trace_file.Trace(path)
                self.check_truth(trace, truth)
                self.check_counters(trace, planted)
                said = self.check_failures(trace)
                self.assertIn(f"held: {planted['weights']} bytes by load_weights()", said)
                self.assertIn(f"{planted['steps'] * planted['leak']} bytes by leak()", said)
                self.check_tables(path, planted)
                self.assertEqual(tool("verify", path)[0], 0)

    def check_tables(self, path, planted):
        """To the byte."""
        code, out, err = tool("memory", "--format=json", path)
        self.assertEqual(code, 0, err)
        tables = json.loads(out)
        row, host = tables["memory_summary"]
        leaked = planted["steps"] * planted["leak"]
        self.assertEqual((row["Peak (B)"], row["At End (B)"], row["Never Freed"]), (planted["peak"], leaked, planted["steps"]))
        self.assertEqual((row["Failed"], row["Double Frees"], row["Unknown Frees"], row["Allocated Before"]), (1, 1, 1, 0))
        self.assertEqual((row["Graph Nodes"], row["Graph Nodes (B)"]), (2, 13 << 20))
        self.assertEqual((host["Peak (B)"], host["At End (B)"]), (5 << 20, 0))
        peak = {row["Allocated By"].split(" ")[0].split("(")[0]: row["Bytes (B)"] for row in tables["memory_at_peak"]
                if "GPU" in row["Where"]}
        self.assertEqual(peak, {"activations": planted["activations"], "load_weights": planted["weights"],
                                "leak": planted["peak"] - planted["activations"] - planted["weights"]})
        never, = tables["memory_never_freed"]
        self.assertEqual((never["Bytes (B)"], never["Blocks"]), (leaked, planted["steps"]))
        self.assertEqual({(row["Where"], row["Growth (B)"]) for row in tables["memory_steps"]},
                         {("rank 0 GPU 0", planted["leak"])})
        self.assertEqual([row["Asked For (B)"] for row in tables["memory_failed"]], [1 << 50])
        self.assertIn("2 memory nodes of graphs (13.631 MB) are not counted", tool("memory", path)[1])

    def test_kinds(self):
        trace = trace_file.Trace(self.run_program()[0])
        kinds = collections.Counter(row[2]["memory kind"] for row in self.blocks(trace) if row[1] == "allocate")
        self.assertEqual(set(kinds), {"device", "pool", "managed", "pinned", "array", "physical"})

    def test_nothing_without_it(self):
        trace = trace_file.Trace(self.run_program(GPUTRACE_MEMORY="0")[0])
        self.assertEqual(self.blocks(trace), [])
        self.assertEqual([e for e in trace.events if e["ph"] == "C" and "memory" in e["name"]], [])

    def test_options_that_leave_calls_out(self):
        for options in ({"GPUTRACE_API": "none"}, {"GPUTRACE_CALLS": "cudaStream*"}, {"GPUTRACE_MIN_DURATION": "1s"},
                        {"GPUTRACE_STACK_THRESHOLD": "1s"}, {"GPUTRACE_LEVEL": "minimal", "GPUTRACE_STACKS": "short"}):
            with self.subTest(options):
                path, planted, truth = self.run_program(**options)
                trace = trace_file.Trace(path)
                self.check_truth(trace, truth)
                self.check_counters(trace, planted)
                self.assertTrue(all("stack" in row[2] for row in self.blocks(trace) if row[1] == "allocate"))
                self.assertEqual(tool("verify", path)[0], 0)

    def test_other_form(self):
        path, planted, truth = self.run_program(GPUTRACE_FORMAT="perfetto")
        self.assertEqual(tool("verify", path)[0], 0)
        self.check_tables(path, planted)
        converted = self.folder + "/out/converted.json"
        self.assertEqual(tool("convert", path, converted)[0], 0)
        trace = trace_file.Trace(converted)
        self.check_truth(trace, truth)
        self.check_counters(trace, planted)
        self.check_failures(trace)


if __name__ == "__main__":
    unittest.main()
