#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace bench on the simulated device: every level is measured, what cannot be is reported. No figure is
held against a bound."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

from harness import BUILD, CLI, LIBRARY, ROOT, SCRIPT, RunTest, environment
from test_traced import simulated, wait_for

OWN = ["none", "preload", "floor", "hooks", "kernels", "minimal", "calls", "stacks", "python", "nvtx", "full",
       "pftrace"]
HAS_CUBLAS = (BUILD / "tests/simcuda/130000/libcublas.so.13").exists()
HAS_CUFFT = (BUILD / "tests/simcuda/130000/libcufft.so.12").exists()
HAS_CUDNN = (BUILD / "tests/simcuda/130000/libcudnn.so.9").exists()
HAS_CUSPARSE = (BUILD / "tests/simcuda/130000/libcusparse.so.12").exists()
HAS_CUSOLVER = (BUILD / "tests/simcuda/130000/libcusolver.so.12").exists()
PER_THREAD = 9  # CUpti_ActivityAttribute
FAKE_NSYS = """#!/bin/sh
[ "$1" != --version ] || exit 0
while [ "$1" != --output ]; do shift; done
echo report >"$2.nsys-rep"
shift 2
exec "$@"
"""
FAKE_TORCH = {
    "__init__.py": "from . import cuda, profiler\n",
    "cuda.py": "def init(): pass\n",
    "profiler.py": "class ProfilerActivity:\n    CPU = CUDA = 0\n"
                   "class profile:\n"
                   "    def __init__(self, activities, with_stack): self.stack = with_stack\n"
                   "    def __enter__(self): return self\n"
                   "    def __exit__(self, *what): pass\n"
                   "    def export_chrome_trace(self, path):\n"
                   "        open(path, 'w').write('x' * (2000 if self.stack else 1000))\n",
}


class BenchTest(RunTest):
    def bench(self, *words, script=SCRIPT, **variables):
        env = simulated(SIMCUDA_TIME="virtual", TMPDIR=self.scratch, **variables)
        return subprocess.run(["sh", str(script), "bench", "--repetitions=1", "--quick", *words],
                              capture_output=True, text=True, check=False, env=env, timeout=240)

    def measure(self, *words, **options):
        done = self.bench("--format=json", *words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([p for p in self.scratch.iterdir() if "gputrace-bench" in p.name], [])
        return json.loads(done.stdout)

    @staticmethod
    def levels(told, workload):
        [found] = [w for w in told["workloads"] if w["name"] == workload]
        return {level["name"]: level for level in found["levels"]}


class TestBench(BenchTest):
    def test_every_level(self):
        told = self.measure("--workloads=sets,graph")
        self.assertIs(told["simulated"], True)
        self.assertEqual([w["name"] for w in told["workloads"]], ["sets", "graph"])
        for workload in ("sets", "graph"):
            levels = self.levels(told, workload)
            self.assertEqual(list(levels), OWN)
            for name, level in levels.items():
                self.assertNotIn("not measured", level, name)
                self.assertEqual(len(level["ns_per_launch"]["runs"]), 1)
                self.assertGreater(level["ns_per_launch"]["median"], 0)
            for name in ("none", "preload", "floor"):
                self.assertEqual(levels[name]["bytes_per_launch"]["median"], 0, name)
            for name in ("minimal", "stacks", "full"):
                self.assertGreater(levels[name]["drain_ns_per_launch"]["median"], 0, name)
            small = ("minimal", "pftrace") if workload == "graph" else ("pftrace", "minimal")  # whole graphs, or nodes
            sizes = [levels[n]["bytes_per_launch"]["median"] for n in (*small, "stacks", "full")]
            self.assertEqual(sizes, sorted(sizes))
        self.assertEqual(self.levels(told, "graph")["hooks"]["bytes_per_launch"]["median"], 0)
        self.assertGreater(self.levels(told, "sets")["hooks"]["bytes_per_launch"]["median"], 100)
        self.assertEqual(set(told["workloads"][0]["split"]),
                         {"hook", "record", "cupti", "callback", "unwinding", "python", "nvtx", "ring"})

    def test_floors(self):
        """How CUPTI is asked for activity buffers, and that it is."""
        levels = {"floor": 1, "floor-shared": 0, "floor-8K": 1, "floor-64K": 1, "floor-1M": 1}
        truth = self.scratch / "truth"
        told = self.measure("--workloads=loop", "--levels=" + ",".join(levels), SIMCUDA_TRUTH=str(truth))
        self.assertEqual(list(self.levels(told, "loop")), list(levels))
        rows = [json.loads(line) for line in truth.read_text().splitlines() if '"truth":"attribute"' in line]
        self.assertEqual([row["value"] for row in rows if row["attribute"] == PER_THREAD], list(levels.values()))

    def test_whole_graphs(self):
        levels = self.levels(self.measure("--workloads=graph", "--levels=stacks,whole"), "graph")
        self.assertEqual(list(levels), ["stacks", "whole"])
        nodes, whole = (levels[name]["bytes_per_launch"]["median"] for name in ("stacks", "whole"))
        self.assertGreater(whole, 0)
        self.assertLess(whole, nodes / 20)  # one slice and a call instead of 100 slices

    def test_calls_of_the_operating_system(self):
        """The library that --osrt needs is preloaded there, and only there."""
        for level, loaded in (("stacks", False), ("osrt", True)):
            told = self.levels(self.measure("--workloads=writes,locks", "--levels=" + level, LD_DEBUG="files",
                                            LD_DEBUG_OUTPUT=str(self.scratch / level)), "writes")[level]
            self.assertNotIn("not measured", told)
            files = "".join(path.read_text(errors="replace") for path in self.scratch.glob(level + ".*"))
            self.assertIn("libgputrace.so", files)
            self.assertEqual("calling init: " + str(LIBRARY.parent / "libgputrace-osrt.so") in files, loaded)

    @unittest.skipUnless(HAS_CUBLAS, "the simulated device has no cuBLAS")
    def test_products(self):
        """The library that --libraries=cublas needs is preloaded there, and the calls are in the file."""
        told = self.levels(self.measure("--workloads=products", "--levels=stacks,cublas"), "products")
        alone, recorded = (told[name]["bytes_per_launch"]["median"] for name in ("stacks", "cublas"))
        self.assertGreater(alone, 0)
        self.assertGreater(recorded, alone + 200)  # a slice with its arguments, which the kernel has, too

    @unittest.skipUnless(HAS_CUFFT, "the simulated device has no cuFFT")
    def test_transforms(self):
        told = self.levels(self.measure("--workloads=transforms", "--levels=stacks,cufft"), "transforms")
        alone, recorded = (told[name]["bytes_per_launch"]["median"] for name in ("stacks", "cufft"))
        self.assertGreater(alone, 0)
        self.assertGreater(recorded, alone + 200)

    @unittest.skipUnless(HAS_CUDNN, "the simulated device has no cuDNN")
    def test_convolutions(self):
        told = self.levels(self.measure("--workloads=convolutions", "--levels=stacks,cudnn"), "convolutions")
        alone, recorded = (told[name]["bytes_per_launch"]["median"] for name in ("stacks", "cudnn"))
        self.assertGreater(alone, 0)
        self.assertGreater(recorded, alone + 200)

    @unittest.skipUnless(HAS_CUSPARSE and HAS_CUSOLVER, "the simulated device has no cuSPARSE or no cuSOLVER")
    def test_solvers(self):
        for workload, level in (("sparse", "cusparse"), ("factors", "cusolver")):
            told = self.levels(self.measure("--workloads=" + workload, "--levels=stacks," + level), workload)
            alone, recorded = (told[name]["bytes_per_launch"]["median"] for name in ("stacks", level))
            self.assertGreater(alone, 0)
            self.assertGreater(recorded, alone + 100)

    def test_every_workload(self):
        names = "loop,loop4,loop16,sets,rate1k,rate10k,rate100k,rate200k,rate300k,rate400k,graph,copies"
        names += ",decode,cold,newstacks,writes,locks"
        names += ",products" if HAS_CUBLAS else ""
        names += ",transforms" if HAS_CUFFT else ""
        names += ",convolutions" if HAS_CUDNN else ""
        names += ",sparse" if HAS_CUSPARSE else ""
        names += ",factors" if HAS_CUSOLVER else ""
        told = self.measure("--levels=none,stacks", "--workloads=" + names, "--clock=cpu")
        for name in names.split(","):
            for level in self.levels(told, name).values():
                self.assertNotIn("not measured", level, name)
                self.assertGreater(level["ns_per_launch"]["median"], 0)

    def test_tables(self):
        for form, words in (("table", "x floor"), ("markdown", "|---|")):
            done = self.bench("--workloads=loop", "--levels=none,floor,stacks", "--format=" + form)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for wanted in (words, "simulated", "no tracer", "floor: CUPTI alone", "Unwind"):
                self.assertIn(wanted, done.stdout)
            self.assertNotIn("--level=full", done.stdout)
            # nothing becomes faster by what is added: a difference that says so is noise
            self.assertNotRegex(done.stdout, r"[ |]-[0-9]")

    def test_interrupted(self):
        """When the level behind the one without a file has begun, and before anything was measured."""
        for begun in ("gputrace-bench-*/out/*.json", "gputrace-bench-*"):
            with self.subTest(begun):
                self.interrupt(begun)

    def interrupt(self, begun):
        env = simulated(SIMCUDA_TIME="virtual", TMPDIR=self.scratch)
        process = subprocess.Popen(["sh", str(SCRIPT), "bench", "--format=json", "--repetitions=31",
                                    "--workloads=rate1k", "--levels=none,floor,stacks"], env=env, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertTrue(wait_for(lambda: list(self.scratch.glob(begun))))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        told, errors = process.communicate(timeout=200)
        self.assertEqual((process.returncode, errors), (1, ""))
        levels = self.levels(json.loads(told), "rate1k")
        self.assertEqual(list(levels), ["none", "floor", "stacks"])
        self.assertTrue(all("ns_per_launch" in level or level["not measured"] == "interrupted"
                            for level in levels.values()), levels)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_wrong_names(self):
        for words in ("--workloads=loop,nope", "--levels=nope"):
            done = self.bench(words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
            self.assertIn("'nope'", done.stderr)

    def test_without_a_driver(self):
        done = subprocess.run(["sh", str(SCRIPT), "bench"], capture_output=True, text=True, check=False,
                              env=environment(LD_LIBRARY_PATH=""), timeout=300)
        if "libcuda.so.1" not in done.stderr:
            self.skipTest("there is a driver here")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertIn("scripts/simcuda", done.stderr)

    def test_not_by_the_program_alone(self):
        done = subprocess.run([str(CLI), "bench"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))

    def test_installed(self):
        """The parts are found beside an installed command."""
        prefix = self.scratch / "prefix"
        for source, target in ((SCRIPT, "bin"), (CLI, "bin"), (LIBRARY, "lib/x86_64-linux-gnu"),
                               (BUILD / "bench" / "gputrace-workload", "libexec/gputrace"),
                               (BUILD / "bench" / "libgputrace-workload.so", "libexec/gputrace"),
                               (BUILD / "bench" / "libgputrace-floor.so", "libexec/gputrace")):
            (prefix / target).mkdir(parents=True, exist_ok=True)
            shutil.copy(source, prefix / target)
        told = self.measure("--workloads=loop", "--levels=floor,stacks,python", script=prefix / "bin" / "gputrace")
        for level in self.levels(told, "loop").values():
            self.assertNotIn("not measured", level)


class TestPeers(BenchTest):
    PEERS = ["torch", "torch-stack", "nsys", "nsys-stack"]

    def test_absent_ones_are_named(self):
        # a PATH with nothing but what the command itself needs
        tools = self.scratch / "tools"
        tools.mkdir()
        for name in ("sh", "readlink", "sed", "cut", "tr"):
            os.symlink(shutil.which(name), tools / name)
        told = self.measure("--workloads=loop", "--levels=none", "--peers", PATH=tools)
        levels = self.levels(told, "loop")
        self.assertEqual(list(levels), ["none"] + self.PEERS)
        self.assertIn("nsys is not on this machine", levels["nsys"]["not measured"])
        self.assertIn("no torch", levels["torch"]["not measured"])

    def test_present_ones_are_measured(self):
        tools, torch = self.scratch / "tools", self.scratch / "site" / "torch"
        tools.mkdir()
        torch.mkdir(parents=True)
        pathlib.Path(tools, "nsys").write_text(FAKE_NSYS, encoding="utf-8")
        pathlib.Path(tools, "nsys").chmod(0o755)
        for name, text in FAKE_TORCH.items():
            (torch / name).write_text(text, encoding="utf-8")
        told = self.measure("--workloads=loop", "--levels=none", "--peers", PYTHONPATH=torch.parent,
                            PATH=f"{tools}:{os.environ['PATH']}")
        levels = self.levels(told, "loop")
        sizes = {}
        for name in self.PEERS:
            self.assertNotIn("not measured", levels[name])
            self.assertGreater(levels[name]["ns_per_launch"]["median"], 0)
            sizes[name] = levels[name]["bytes_per_launch"]["median"]
        self.assertGreater(sizes["torch-stack"], sizes["torch"])
        self.assertGreater(sizes["nsys"], 0)


if __name__ == "__main__":
    if not (LIBRARY.exists() and (BUILD / "bench" / "gputrace-workload").exists()):
        print(f"{LIBRARY} or the workload is not built")
        sys.exit(77)
    unittest.main()
