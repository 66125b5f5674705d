# SPDX-License-Identifier: Apache-2.0
"""--memory and PyTorch's allocator, replayed by libraries of the same names and symbols.

    test_tensors.py BUILD SOURCE PROGRAM LIBC10_CUDA OF_PYTORCH_1
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import trace_file

BUILD, SOURCE, PROGRAM, NEW, OLD = (os.path.realpath(path) for path in sys.argv[1:6])
del sys.argv[1:6]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
MB = 1 << 20
ARGS = ["Addr", "Bytes", "Device Id", "Device Type", "Total Allocated", "Total Reserved"]


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


class Tensors(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-tensors-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, *options, library=NEW):
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        result = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, os.path.join(SOURCE, "scripts", "gputrace"),
             "run", "--output=" + self.folder + "/out", *options, PROGRAM, library],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
            env=dict(os.environ, GPUTRACE_BUILD=BUILD))
        self.assertEqual(result.returncode, 0, result.stderr)
        # PyTorch's own function is called for each, too: two of the CPU, six given out, five taken back
        self.assertIn("13 4096\n", result.stdout)
        self.assertNotIn("wrong arguments", result.stderr)
        self.assertNotIn("cannot be preloaded", result.stderr)
        path, = (path for ending in ("json", "pftrace")
                 for path in glob.glob(f"{self.folder}/out/**/*.{ending}", recursive=True))
        return path

    def check_instants(self, path):
        trace = trace_file.Trace(path)
        found = sorted((e for e in trace.events if e.get("name") == "[memory]"), key=lambda e: e["ts"])
        self.assertEqual([int(e["args"]["Bytes"]) for e in found], [4096] + [2 * MB] * 5 + [-2 * MB] * 5)
        allocated = [4096 + 2 * MB * i for i in (0, 1, 2, 3, 4, 5, 4, 3, 2, 1, 0)]
        self.assertEqual([int(e["args"]["Total Allocated"]) for e in found], allocated)
        for event in found:
            self.assertEqual((event["ph"], event["s"], event["cat"]), ("i", "t", "cpu_instant_event"))
            self.assertEqual(sorted(set(event["args"]) - {"stack", "frames", "modules"}), ARGS)
            self.assertEqual([int(event["args"][key]) for key in ARGS[2:4] + ARGS[5:]], [0, 1, 20 * MB])
            self.assertIn("stack", event["args"])
        counters = sorted((e for e in trace.events if e["ph"] == "C" and e["name"] == "GPU 0 PyTorch"), key=lambda e: e["ts"])
        self.assertEqual([int(e["args"]["allocated"]) for e in counters if "allocated" in e["args"]], allocated)
        self.assertEqual([int(e["args"]["reserved"]) for e in counters if "reserved" in e["args"]], [20 * MB])
        self.assertEqual([int(e["args"]["Addr"]) for e in found[1:6]], [int(e["args"]["Addr"]) for e in found[6:]])
        self.assertEqual(int(trace.ledger["tensor_blocks_written"]), len(found))
        code, out, err = tool("verify", path)
        self.assertEqual(code, 0, out + err)

    def check_tables(self, path, has_lines=True):
        code, out, err = tool("memory", "--format=json", path)
        self.assertEqual(code, 0, err)
        tables = json.loads(out)
        rows = {row["Where"]: row for row in tables["memory_summary"]}
        self.assertEqual(rows["rank 0 GPU 0"]["Peak (B)"], 20 * MB)
        torch = rows["rank 0 GPU 0 PyTorch"]
        self.assertEqual((torch["Peak (B)"], torch["At End (B)"], torch["Never Freed"]), (10 * MB + 4096, 4096, 1))
        peak = {row["Allocated By"].split(" ")[0].split("(")[0]: row["Bytes (B)"] for row in tables["memory_at_peak"]
                if row["Where"] == "rank 0 GPU 0 PyTorch"}
        self.assertEqual(peak, {"give" if has_lines else "main": 10 * MB + 4096})
        segments = {row["When"]: (row["Segments"], row["Reserved (B)"], row["In Blocks (B)"], row["Free (B)"],
                                  row["Largest Hole (B)"]) for row in tables["memory_segments"]}
        self.assertEqual(segments, {"peak of blocks": (1, 20 * MB, 10 * MB + 4096, 10 * MB - 4096, 10 * MB - 4096),
                                    "end": (1, 20 * MB, 4096, 20 * MB - 4096, 20 * MB - 4096)})
        stacks = {row["Stack"].split(" < ")[1].split(" ")[0]: row["Bytes (B)"]
                  for row in json.loads(tool("memory", "--by=stack", "--format=json", path)[1])["memory_never_freed"]
                  if row["Where"] == "rank 0 GPU 0 PyTorch"}
        self.assertEqual(stacks, {"linear_weights": 4096})

    def test_pytorch_2(self):
        path = self.run_program("--memory")
        self.check_instants(path)
        self.check_tables(path)

    def test_memory_view(self):
        """TensorBoard's, by its plug-in: the same peak, blocks and reserved memory."""
        python = os.environ.get("GPUTRACE_PYTHON") or os.path.join(SOURCE, ".venv", "bin", "python")
        if subprocess.run([python, "-c", "import torch_tb_profiler"], capture_output=True, check=False).returncode \
                if os.path.exists(python) else True:
            self.skipTest("no torch_tb_profiler: scripts/setup --compat")
        path = self.run_program("--memory")
        done = subprocess.run([python, os.path.join(SOURCE, "tests", "compat", "reader_memory.py"), os.path.dirname(path)],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        view, = json.loads(done.stdout).values()
        self.assertIn("Memory", view["views"])
        self.assertEqual(view["peaks"], {"GPU0": 10 * MB + 4096})
        self.assertEqual({row[0] for row in view["curve"]["GPU0"]}, {4096 + 2 * MB * i for i in range(6)})
        self.assertEqual({row[1] for row in view["curve"]["GPU0"]}, {20 * MB})
        self.assertEqual(sorted(view["events"]["GPU0"]), [4096] + [2 * MB] * 5)

    def test_pytorch_1(self):
        self.check_instants(self.run_program("--memory", library=OLD))

    def test_other_form(self):
        path = self.run_program("--memory", "--format=perfetto")
        self.check_tables(path, has_lines=False)  # lines are put into JSON: the libraries' are not known
        converted = self.folder + "/out/converted.json"
        self.assertEqual(tool("convert", path, converted)[0], 0)
        self.check_instants(converted)

    def test_not_without_it(self):
        trace = trace_file.Trace(self.run_program())
        self.assertEqual([e for e in trace.events if e.get("name") == "[memory]"], [])

    def test_recorder(self):
        self.check_instants(self.run_program("--memory", "--flight-recorder=60s", "--dump-at-exit=always"))


if __name__ == "__main__":
    unittest.main()
