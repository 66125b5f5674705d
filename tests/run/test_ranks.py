#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks of a job: under the launchers that are installed, and under what others would set; --ranks."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from harness import CLI, LIBRARY, ROOT
from test_traced import LAUNCHES, PIPELINE, TracedTest, simulated, wait_for

UUID = "GPU-73696d75-6c61-7465-642d-6770752d3030"  # of the first simulated device


def under_mpi(**variables):
    return simulated(OMPI_ALLOW_RUN_AS_ROOT=1, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, **variables)


class RanksTest(TracedTest):
    def ours(self, done):
        return [line for line in done.stderr.splitlines() if line.startswith("gputrace:")]

    def ranks(self):
        """Of the traces, all of which are complete and in one folder."""
        paths = self.traces()
        for path in paths:
            self.check_complete(path)
        self.assertEqual(len({path.parent for path in paths}), 1, paths)
        return sorted(self.load(path)["distributedInfo"]["rank"] for path in paths)


class LauncherTests:
    """With a launcher that is installed."""

    def setUp(self):
        super().setUp()
        if not shutil.which(self.start[0]):
            self.skipTest(f"{self.start[0]} is not installed")

    def test_one_wrapper_around_the_launcher(self):
        done = self.run_it(*self.start, PIPELINE, env=under_mpi(), text=True)
        self.assertEqual(self.ranks(), [0, 1, 2, 3])
        for path in self.traces():
            trace = self.load(path)
            rank = trace["distributedInfo"]["rank"]
            self.assertEqual(trace["distributedInfo"], {"rank": rank, "world_size": 4, "local_rank": rank})
            self.assertEqual(trace["metadata"]["hostname"], os.uname().nodename)
            self.assertEqual(trace["deviceProperties"][0]["uuid"], UUID)
        where, how = self.ours(done)
        self.assertEqual(where, f"gputrace: 4 traces of all 4 ranks in {self.traces()[0].parent}")
        self.assertIn("gputrace ranks ", how)

    def test_a_wrapper_per_rank(self):
        done = subprocess.run([*self.start, *self.command(PIPELINE)], check=False, capture_output=True, text=True,
                              cwd=self.scratch, env=under_mpi(), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ranks(), [0, 1, 2, 3])
        where, how = self.ours(done)
        self.assertRegex(where, r"^gputrace: trace: .*/rank0_.*json \(rank 0 of 4; the others write into the same folder\)$")
        self.assertIn("gputrace open ", how)
        read = subprocess.run([str(CLI), "stats", "--summary", str(self.traces()[0].parent)], check=True, capture_output=True,
                              text=True)
        self.assertEqual((re.findall(r"^rank (\d)", read.stdout, re.M), read.stderr), (list("0123"), ""))

    def test_the_library_alone(self):
        done = subprocess.run([*self.start, *self.variable, "LD_PRELOAD", *self.value(LIBRARY), PIPELINE], check=False,
                              cwd=self.scratch, capture_output=True, text=True, timeout=300,
                              env=under_mpi(**({} if self.value(LIBRARY) else {"LD_PRELOAD": LIBRARY})))
        self.assertEqual((done.returncode, self.ours(done)), (0, []), done.stderr)
        self.assertEqual(self.ranks(), [0, 1, 2, 3])

    def test_some_ranks_alone(self):
        done = self.run_it("--ranks=0,2-3", *self.start, PIPELINE, env=under_mpi(), text=True)
        self.assertEqual(done.stdout.count("done\n"), 4)
        self.assertEqual(self.ranks(), [0, 2, 3])
        self.assertIn("3 traces of 3 of 4 ranks in", self.ours(done)[0])

    def test_some_ranks_with_a_wrapper_each(self):
        done = subprocess.run([*self.start, *self.command("--ranks=1", PIPELINE)], check=False, capture_output=True,
                              text=True, cwd=self.scratch, env=under_mpi(), timeout=300)
        self.assertEqual((done.returncode, self.ranks()), (0, [1]), done.stderr)
        [line] = self.ours(done)
        self.assertEqual(line, f"gputrace: rank 0 ran untraced, by --ranks=1; those ranks write into {self.traces()[0].parent}")


class TestOpenMpi(LauncherTests, RanksTest):
    start = ("mpirun.openmpi", "--oversubscribe", "-n", "4")
    variable = ("-x",)

    def value(self, _):
        return []


    def test_mpi_is_seen(self):
        """By readers of Kineto's distributedInfo; also in the other format."""
        libraries = list(pathlib.Path("/usr/lib").glob("*/libmpi.so.*"))
        if not libraries:
            self.skipTest("there is no libmpi")
        code = f"""
import ctypes, os
ctypes.CDLL("{libraries[0]}", ctypes.RTLD_GLOBAL)
runtime = ctypes.CDLL("libcudart.so.{os.environ.get('GT_TEST_CUDART', '13')}")
place = ctypes.c_void_p()
runtime.cudaMalloc(ctypes.byref(place), 4096)
runtime.cudaMemset(place, 0, 4096)
runtime.cudaDeviceSynchronize()
"""
        for form in "chrome", "perfetto":
            self.run_it(f"--format={form}", f"--output={form}", *self.start, *self.python(code), env=under_mpi(), text=True)
        for path in (self.scratch / "perfetto").rglob("*.pftrace"):
            subprocess.run([str(CLI), "convert", str(path), str(path.with_suffix(".pt.trace.json"))], check=True,
                           capture_output=True)
        for form in "chrome", "perfetto":
            found = [self.load(path)["distributedInfo"] for path in sorted((self.scratch / form).rglob("*.json"))]
            self.assertEqual(found, [{"backend": "mpi", "rank": r, "world_size": 4, "local_rank": r} for r in range(4)])


class TestHydra(LauncherTests, RanksTest):
    """Each rank has a session of its own, and there is no id of the job."""
    start = ("mpiexec.hydra", "-n", "4")
    variable = ("-genv",)

    def value(self, value):
        return [value]

    def test_two_jobs_of_one_script(self):
        job = f"{' '.join(self.start)} -genv LD_PRELOAD {LIBRARY} {PIPELINE}"
        subprocess.run(["sh", "-c", f"{job}; {job}"], check=True, cwd=self.scratch, capture_output=True,
                       env=under_mpi(), timeout=300)
        self.assertEqual(sorted(len(list(folder.glob("*.json"))) for folder in (self.scratch / "gputrace-out").iterdir()),
                         [4, 4])

    def test_two_jobs_at_once(self):
        """In one folder, a wrapper for each rank: each has its own port of mpiexec, and all of one job are taken."""
        words = [*self.start, *self.command("--output=out", PIPELINE)]
        jobs = [subprocess.Popen(words, cwd=self.scratch, env=under_mpi(), stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([job.wait(300) for job in jobs], [0, 0])
        found = {}
        for path in self.traces():
            told = self.load(path)["metadata"]
            self.assertRegex(told["launcher"], r"^hydra_pmi_proxy \d+-\d+$")
            found.setdefault(told["launch"], []).append(told["pid"])
        self.assertEqual(sorted(map(len, found.values())), [4, 4], found)
        merged = subprocess.run([str(CLI), "merge", str(self.scratch / "out")], check=True, capture_output=True, text=True)
        taken = sorted(process["metadata"]["pid"] for process in json.loads(merged.stdout)["processes"])
        self.assertIn(taken, [sorted(job) for job in found.values()])
        self.assertIn("2 runs wrote into this folder", merged.stderr)
        self.assertNotIn("may be wrong", merged.stderr)


SPACES = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--uts", "--mount", "--pid", "--mount-proc", "--fork",
          "--kill-child"]

# What mpiexec calls in place of ssh: [-x] HOST COMMAND...
ENTER = f"""#!/bin/sh
[ "$1" != -x ] || shift
host=$1; shift
exec {' '.join(SPACES)} sh -c "hostname $host; mount --bind {{folder}}/boot.$host /proc/sys/kernel/random/boot_id; $*"
"""


class TestHydraHosts(RanksTest):
    """Two ranks on each of two hosts, which are namespaces."""

    def setUp(self):
        super().setUp()
        if not shutil.which("mpiexec.hydra"):
            self.skipTest("mpiexec.hydra is not installed")
        if subprocess.run([*SPACES, "hostname", "x"], check=False, capture_output=True).returncode:
            self.skipTest("no namespaces can be made")
        for host in "ab":
            (self.scratch / f"boot.{host}").write_text(f"0000000{host}-1111-2222-3333-444444444444\n", encoding="ascii")
        enter = self.scratch / "enter"
        enter.write_text(ENTER.format(folder=self.scratch), encoding="ascii")
        enter.chmod(0o755)
        self.start = ("mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", str(enter), "-localhost", "127.0.0.1", "-hosts", "a,b",
                      "-n", "4", "-ppn", "2")

    def check_traces(self):
        self.assertEqual(self.ranks(), [0, 1, 2, 3])
        for trace in map(self.load, self.traces()):
            rank = trace["distributedInfo"]["rank"]
            self.assertEqual(trace["distributedInfo"], {"rank": rank, "world_size": 4, "local_rank": rank % 2})
            self.assertEqual((trace["metadata"]["hostname"], trace["metadata"]["boot"][7]), ("ab"[rank // 2],) * 2)
        self.assertEqual(len({self.load(path)["metadata"]["launch"] for path in self.traces()}), 1)

    def test_one_wrapper_around_the_launcher(self):
        done = self.run_it("--output=out", *self.start, PIPELINE, env=under_mpi(), text=True)
        self.check_traces()
        self.assertIn("4 traces of all 4 ranks in", self.ours(done)[0])

    def test_a_wrapper_per_rank(self):
        """Hydra gives the job no id: the hosts have a folder in common by --output alone."""
        done = subprocess.run([*self.start, *self.command("--output=out", PIPELINE)], check=False, capture_output=True, text=True,
                              cwd=self.scratch, env=under_mpi(), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_traces()


class TestWhatLaunchersSet(RanksTest):
    """One launcher's rank; what it does not tell, from the one around it."""

    def test_each(self):
        slurm = {"SLURM_PROCID": 1, "SLURM_NTASKS": 8, "SLURM_LOCALID": 0, "SLURM_JOB_ID": 77}
        for variables, rank, world, local, folder in (
                ({"OMPI_COMM_WORLD_RANK": 2, "OMPI_COMM_WORLD_SIZE": 4, "OMPI_COMM_WORLD_LOCAL_RANK": 1,
                  "OMPI_MCA_ess_base_jobid": 9}, 2, 4, 1, "9"),
                ({"PMI_RANK": 3, "PMI_SIZE": 4, "MPI_LOCALRANKID": 1, "LSB_JOBID": 5}, 3, 4, 1, "5"),
                ({"PMI_RANK": 3, "PMI_SIZE": 4, "PMI_LOCAL_RANK": 2, "PALS_RANKID": 3, "PALS_APID": "a-1",
                  "PBS_JOBID": "6.host"}, 3, 4, 2, "a-1"),
                ({"PALS_RANKID": 3, "PALS_LOCAL_RANKID": 1, "PMI_SIZE": 4, "PALS_APID": "b"}, 3, 4, 1, "b"),
                ({"JSM_NAMESPACE_RANK": 1, "JSM_NAMESPACE_SIZE": 6, "JSM_NAMESPACE_LOCAL_RANK": 1, "PMIX_RANK": 1,
                  "PMIX_NAMESPACE": "3", "LSB_JOBID": 5}, 1, 6, 1, "3"),
                ({"MV2_COMM_WORLD_RANK": 1, "MV2_COMM_WORLD_SIZE": 3, "MV2_COMM_WORLD_LOCAL_RANK": 0,
                  "PBS_JOBID": "7"}, 1, 3, 0, "7"),
                ({"FLUX_TASK_RANK": 1, "FLUX_JOB_SIZE": 2, "FLUX_TASK_LOCAL_ID": 1, "FLUX_JOB_ID": "f23"}, 1, 2, 1, "f23"),
                (dict(slurm, SLURM_STEP_NUM_TASKS=4, SLURM_STEP_ID=2), 1, 4, 0, "77.2"),
                (dict(slurm, RANK=11, WORLD_SIZE=16, LOCAL_RANK=3), 11, 16, 3, "77")):
            with self.subTest(variables):
                place = self.scratch / folder
                place.mkdir()
                subprocess.run([str(PIPELINE)], check=True, cwd=place, capture_output=True, timeout=300,
                               env=simulated(LD_PRELOAD=LIBRARY, **variables))
                [path] = place.rglob("*.pt.trace.json")
                self.assertEqual(self.load(path)["distributedInfo"], {"rank": rank, "world_size": world, "local_rank": local})
                self.assertEqual(path.parent.name, folder)


    def test_the_start_of_torchrun(self):
        """Its port and how often it started the ranks, in either format; nothing of a process that is no rank."""
        variables = {"RANK": 1, "WORLD_SIZE": 2, "MASTER_PORT": 29501, "TORCHELASTIC_RESTART_COUNT": 2}
        for form in "chrome", "perfetto":
            self.run_it("--quiet", f"--output={form}", f"--format={form}", PIPELINE, env=simulated(**variables))
        self.run_it("--quiet", "--output=alone", PIPELINE, env=simulated(MASTER_PORT=29501))
        [path] = (self.scratch / "perfetto").rglob("*.pftrace")
        again = self.scratch / "perfetto" / "again.json"
        for made in again, self.scratch / "again.pftrace", again:
            made.unlink(missing_ok=True)
            subprocess.run([str(CLI), "convert", str(path), str(made)], check=True, capture_output=True)
            path = made
        for path in *self.scratch.glob("chrome/*.json"), again:
            told = self.load(path)["metadata"]
            self.assertEqual((told["launch"], told["starts"]), ("torch 29501", 3), path)
            self.assertRegex(told["launcher"], r"^\S+ \d+-\d+$")
        [path] = self.scratch.glob("alone/*.json")
        self.assertFalse({"launch", "launcher", "starts"} & set(self.load(path)["metadata"]))


class TestSomeRanks(RanksTest):
    def test_wrong_lists(self):
        for wrong in ("", "a", "3-1", "1,", "-1", "0..3", "1 2"):
            done = self.run_it(f"--ranks={wrong}", PIPELINE, env=simulated(), text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""), wrong)
            self.assertEqual(done.stderr, f"gputrace: --ranks={wrong}: it takes ranks and spans between commas, as 0,8-15\n")

    def test_a_wrong_list_for_the_library(self):
        """The program has to run; what is wrong leaves out nothing."""
        done = subprocess.run([str(PIPELINE)], check=False, cwd=self.scratch, capture_output=True, text=True, timeout=300,
                              env=simulated(LD_PRELOAD=LIBRARY, GPUTRACE_RANKS="4-", RANK=1, WORLD_SIZE=2))
        self.assertEqual((done.returncode, len(self.traces())), (0, 1))
        self.assertEqual(self.ours(done), ["gputrace: '4-' is no value for GPUTRACE_RANKS: it takes ranks and spans between "
                                           "commas, as 0,8-15; all ranks are traced"])

    def test_no_rank_is_rank_0(self):
        for ranks, count in (("0", 1), ("1-7", 0)):
            done = self.run_it(f"--ranks={ranks}", f"--output=out{ranks}", PIPELINE, env=simulated(), text=True)
            self.assertEqual(len(self.traces()), 1, done.stderr)
        self.assertEqual(self.ours(done), ["gputrace: no trace: no process that used CUDA had a rank of --ranks=1-7"])
        self.assertFalse((self.scratch / "out1-7").exists())

    def test_a_rank_that_comes_later(self):
        """As a pool gives it to its workers: fork, then the variable, then CUDA."""
        code = f"""
import ctypes, os
def work(rank):
    os.environ["RANK"] = str(rank)
    runtime = ctypes.CDLL("libcudart.so.{os.environ.get('GT_TEST_CUDART', '13')}")
    place = ctypes.c_void_p()
    runtime.cudaMalloc(ctypes.byref(place), 4096)
    runtime.cudaMemset(place, 0, 4096)
    runtime.cudaDeviceSynchronize()
children = []
for rank in range(3):
    child = os.fork()
    if not child:
        work(rank)
        raise SystemExit
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""
        done = self.run_it("--ranks=1", "--output=out", *self.python(code), env=simulated(WORLD_SIZE=3), text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name.split("_")[0] for path in self.traces()], ["rank1"], done.stderr)

    def test_others_run_as_without_the_library(self):
        """No thread, no variable, no file, not a word, no subscriber of CUPTI."""
        left_out = dict(LD_PRELOAD=LIBRARY, GPUTRACE_RANKS="1", RANK="0", GPUTRACE_VERBOSE="1", GPUTRACE_CONTROL="on",
                        GPUTRACE_SPOOL="on")
        shown = subprocess.run(["env"], check=True, capture_output=True, text=True, env=simulated(**left_out)).stdout
        self.assertNotIn("INJECTION", shown)
        self.assertNotIn("GPUTRACE_FIRST", shown)
        for variables in ({}, {"CUDA_INJECTION64_PATH": LIBRARY, "NVTX_INJECTION64_PATH": LIBRARY}):
            with subprocess.Popen([str(LAUNCHES), "--count=1000000000"], cwd=self.scratch, stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, env=simulated(**left_out, **variables)) as process:
                try:
                    proc = pathlib.Path(f"/proc/{process.pid}")
                    self.assertTrue(wait_for(lambda p=proc: "libcuda.so.1" in (p / "maps").read_text("ascii")))
                    names = {(task / "comm").read_text("utf-8").strip() for task in (proc / "task").iterdir()}
                    maps = (proc / "maps").read_text("ascii")
                finally:
                    process.kill()
                self.assertEqual(process.stderr.read(), b"")
            self.assertFalse([name for name in names if name.startswith("gputrace")], names)
            self.assertIn("libgputrace.so", maps)
            self.assertNotIn("libcupti", maps)
            self.assertEqual(list(self.scratch.iterdir()), [])

    def test_python_is_not_watched(self):
        """Neither functions nor operators of a rank that is left out."""
        code = "import sys; print([name for name in sys.modules if name.startswith('_gputrace.')])"
        words = [sys.executable, "-c", code]
        for rank, watched in ((0, True), (1, False)):
            done = self.run_it("--ranks=0", "--quiet", "--python-functions=x.y", *words, env=simulated(RANK=rank, WORLD_SIZE=2),
                               text=True)
            self.assertEqual("_gputrace.functions" in done.stdout, watched, done.stdout + done.stderr)


class TestDevices(RanksTest):
    def test_the_id_of_the_gpu(self):
        """In either format, through conversions, a merge and an export."""
        self.run_it("--quiet", "--output=out", "--format=perfetto", PIPELINE, env=simulated())
        [path] = self.scratch.rglob("*.pftrace")
        made = self.scratch / "made.json"
        subprocess.run([str(CLI), "convert", str(path), str(made)], check=True, capture_output=True)
        self.assertEqual(self.load(made)["deviceProperties"][0]["uuid"], UUID)
        subprocess.run([str(CLI), "convert", str(made), str(self.scratch / "again.pftrace")], check=True, capture_output=True)
        subprocess.run([str(CLI), "convert", str(self.scratch / "again.pftrace"), str(self.scratch / "again.json")],
                       check=True, capture_output=True)
        self.assertEqual(self.load(self.scratch / "again.json")["deviceProperties"][0]["uuid"], UUID)
        merged = subprocess.run([str(CLI), "merge", str(made), str(path)], check=True, capture_output=True, text=True).stdout
        self.assertEqual([device["uuid"] for device in json.loads(merged)["deviceProperties"]], [UUID, UUID])
        subprocess.run([str(CLI), "export", f"--csv={self.scratch}/csv", str(made)], check=True,
                       capture_output=True)
        [row] = [text.read_text(encoding="utf-8") for text in (self.scratch / "csv").glob("TARGET_INFO_CUDA_DEVICE*")]
        self.assertIn(UUID, row)


if __name__ == "__main__":
    if not (LIBRARY.exists() and PIPELINE.exists()):
        print(f"{LIBRARY} or {PIPELINE} is not built in {ROOT}")
        sys.exit(77)
    unittest.main()
