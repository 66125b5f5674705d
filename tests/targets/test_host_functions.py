# SPDX-License-Identifier: Apache-2.0
"""--sync: host functions in streams and graphs are waits of their stream, and `gputrace gaps` names them.

    test_host_functions.py BUILD SOURCE PROGRAM
"""

import glob
import json
import os
import pathlib
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
SLEEP_NS = 5_000_000
RESERVED_NS = 50_000_000  # for a function on the timeline of the device: room for a late thread


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


def host_waits(trace):
    return [e for e in trace.slices if e["cat"] == "cuda_sync" and e["name"] == "Host Function"]


class HostFunctions(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-host-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, cupti, **options):
        """The trace file."""
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        variables = {"GPUTRACE_OUTPUT": self.folder + "/out", "GPUTRACE_BUILD": BUILD,
                     "LD_PRELOAD": preloading.with_tracer(os.path.join(BUILD, "preload", "libgputrace.so")),
                     "SIMCUDA_HOST_NS": str(RESERVED_NS), **preloading.PATIENT, **options}
        result = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--cupti=" + cupti, "env",
             *(f"{name}={value}" for name, value in variables.items()), PROGRAM],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stdout), (0, "no error\n"), result.stderr)
        self.said = result.stderr
        path, = (path for ending in ("json", "pftrace")
                 for path in glob.glob(f"{self.folder}/out/**/*.{ending}", recursive=True))
        return path

    def causes(self, path):
        code, out, err = tool("gaps", "--format=json", "--top=0", path)
        self.assertEqual(code, 0, err)
        return {row["Where"]: row for row in json.loads(out)["gpu_idle_causes"] if row["Cause"] == "host function"}

    def overlap(self, trace, wait):
        """ns of @wait between the kernels around it."""
        begin, end = trace.start(wait), trace.start(wait) + trace.duration(wait)
        last = max(trace.start(e) + trace.duration(e) for e in trace.gpu if trace.start(e) + trace.duration(e) <= begin)
        following = min(trace.start(e) for e in trace.gpu if trace.start(e) >= last)
        return min(end, following) - begin

    def check_waits(self, trace):
        calls = {e["args"]["correlation"]: e for e in trace.calls}
        waits = sorted(host_waits(trace), key=trace.start)
        self.assertEqual([calls[e["args"]["correlation"]]["name"] for e in waits],
                         ["cudaLaunchHostFunc", "cudaGraphLaunch"])
        self.assertEqual([trace_file.frame_function(e["args"]["launched by"]).split("(")[0] for e in waits],
                         ["launch_host", "replay"])
        streams = {e["args"]["stream"] for e in trace.gpu}
        for wait in waits:
            self.assertGreaterEqual(trace.duration(wait), SLEEP_NS)
            self.assertEqual({wait["args"]["stream"]}, streams)
            self.assertNotIn(wait["args"]["thread"], (0, calls[wait["args"]["correlation"]]["tid"]))
        graph = {e["args"]["graph id"] for e in trace.gpu if "graph id" in e["args"]}
        self.assertNotIn("graph id", waits[0]["args"])
        self.assertEqual({waits[1]["args"]["graph id"]}, graph)
        self.assertEqual(trace_file.frame_function(waits[1]["args"]["created by"]).split("(")[0], "launch_host")
        return waits

    def test_slices_and_cause(self):
        for cupti in ("130200", "130300"):
            with self.subTest(cupti=cupti):
                path = self.run_program(cupti, GPUTRACE_SYNC="1")
                trace = trace_file.Trace(path)
                waits = self.check_waits(trace)
                syncs = [e for e in trace.slices if e["cat"] == "cuda_sync"]
                self.assertEqual(trace.ledger["records_sync"], len(syncs))
                self.assertEqual(trace.ledger["syncs_written"], len(syncs))
                self.assertEqual(tool("verify", path)[0], 0, tool("verify", path))
                self.assertEqual(self.said, "")
                causes = self.causes(path)
                self.assertEqual([row.split("(")[0] for row in sorted(causes)],
                                 ["cudaGraphLaunch from replay", "cudaLaunchHostFunc from launch_host"])
                self.assertEqual([causes[row]["Idle Time (ns)"] for row in sorted(causes, reverse=True)],
                                 [self.overlap(trace, wait) for wait in waits])

    def test_pftrace(self):
        path = self.run_program("130300", GPUTRACE_SYNC="1", GPUTRACE_FORMAT="perfetto")
        causes = self.causes(path)
        self.assertEqual(tool("convert", path, self.folder + "/trace.json")[0], 0)
        self.check_waits(trace_file.Trace(self.folder + "/trace.json"))
        self.assertEqual(self.causes(self.folder + "/trace.json"), causes)
        self.assertEqual(len(causes), 2)

    def test_only_where_asked_for_and_possible(self):
        for cupti, sync in (("130300", "0"), ("130000", "1"), ("26", "1")):
            with self.subTest(cupti=cupti, sync=sync):
                options = {"GPUTRACE_SYNC": sync}
                if cupti == "26":
                    options["GPUTRACE_CUPTI"], = (
                        str(p) for p in pathlib.Path(BUILD, "tests", "simcuda", cupti).glob("libcupti.so.1[0-9]")
                        if p.is_file())
                path = self.run_program(cupti, **options)
                trace = trace_file.Trace(path)
                self.assertEqual(host_waits(trace), [])
                self.assertEqual(trace.ledger["records_unknown_kind"], 0)
                self.assertEqual(trace.root["metadata"].get("mode_reason", ""), "")  # no kind was refused
                self.assertEqual((self.said, self.causes(path)), ("", {}))


if __name__ == "__main__":
    unittest.main()
