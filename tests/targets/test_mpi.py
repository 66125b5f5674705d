# SPDX-License-Identifier: Apache-2.0
"""--libraries=mpi under the launcher of an MPI that is installed: openmpi, mpich.

    test_mpi.py BUILD SOURCE MPI
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import preloading
import trace_file

BUILD, SOURCE = (os.path.realpath(path) for path in sys.argv[1:3])
MPI = sys.argv[3]
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
GPUTRACE = os.path.join(SOURCE, "scripts", "gputrace")
PROGRAM, TOOL, FORTRAN = (os.path.join(BUILD, "tests", "targets", f"target_mpi_{name}_{MPI}") for name in ("program", "tool", "fortran"))
OF_UNKNOWN = os.path.join(BUILD, "tests", "targets", "target_mpi_of_unknown")
LAUNCHER = "mpirun." + MPI
RANKS = 4
WORLD = "0x6d70695f776f726c"
D, I, F = 8, 4, 4
# of rank 3 of 4, the root of most: call, bytes that it gives, and gets
CALLS = [
    ("MPI_Isend", 1000 * D, None), ("MPI_Recv", None, 1000 * D), ("MPI_Wait", None, None), ("MPI_Sendrecv", 10 * I, 10 * I),
    ("MPI_Irecv", None, 5), ("MPI_Isend", 5, None), ("MPI_Waitall", None, None), ("MPI_Isend", F, None), ("MPI_Probe", None, None),
    ("MPI_Irecv", None, F), ("MPI_Testall", None, None), ("MPI_Send", None, None), ("MPI_Recv", None, None),  # of nobody
    ("MPI_Barrier", None, None),
    ("MPI_Bcast", I, None), ("MPI_Reduce", 4 * D, 4 * D), ("MPI_Allreduce", 8 * D, 8 * D), ("MPI_Gather", 2 * D, 8 * D),
    ("MPI_Gatherv", 2 * D, 6 * D), ("MPI_Scatter", 8 * F, 2 * F), ("MPI_Allgather", D, 4 * D), ("MPI_Allgatherv", 2 * D, 6 * D),
    ("MPI_Alltoall", 8 * I, 8 * I), ("MPI_Reduce_scatter", 6 * F, 2 * F), ("MPI_Reduce_scatter_block", 12 * F, 3 * F),
    ("MPI_Scan", 2 * D, 2 * D), ("MPI_Iallreduce", 4 * D, 4 * D), ("MPI_Wait", None, None), ("MPI_Bcast", None, 6 * D),
    ("MPI_Comm_split", None, None), ("MPI_Comm_split", None, None), ("MPI_Comm_split", None, None), ("MPI_Cart_create", None, None),
    ("MPI_Cart_sub", None, None), ("MPI_Allreduce", I, I), ("MPI_Allreduce", I, I), ("MPI_Allreduce", I, I),
    ("MPI_Comm_free", None, None), ("MPI_Comm_dup", None, None), ("MPI_Barrier", None, None), ("MPI_Comm_free", None, None),
    ("MPI_Comm_free", None, None), ("MPI_Comm_free", None, None), ("MPI_Comm_free", None, None), ("MPI_Send", I, None),
    ("MPI_Finalize", None, None),
]


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


def calls_of(trace):
    """The calls of MPI in order of time, without its start."""
    calls = sorted((e for e in trace.slices if e["cat"] == "library"), key=lambda e: e["ts"])
    return [e for e in calls if not e["name"].startswith("MPI_Init")]


@unittest.skipIf(preloading.RUNTIMES, "MPI and its launcher are not built for the sanitizer")
class Mpi(unittest.TestCase):
    def setUp(self):
        if not shutil.which(LAUNCHER) or not os.path.exists(PROGRAM):
            self.skipTest(f"{LAUNCHER} or mpicc.{MPI} is not installed")
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-mpi-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def words(self, *words, ranks=RANKS, program=PROGRAM, options=("--libraries=mpi",)):
        traced = [GPUTRACE, "run", "-q", "--output=" + self.folder + "/out", *options] if options else []
        more = ["--oversubscribe"] if MPI == "openmpi" else []
        return [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, *traced, LAUNCHER, *more, "-n", str(ranks),
                program, *words]

    def environment(self, **variables):
        return dict(os.environ, GPUTRACE_BUILD=BUILD, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                    HWLOC_COMPONENTS="-cuda,-nvml,-opencl,-gl", **variables)

    def run_program(self, *words, variables=None, **how):
        done = subprocess.run(self.words(*words, **how), capture_output=True, text=True, timeout=200, check=False,
                              stdin=subprocess.DEVNULL, env=self.environment(**(variables or {})))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("not recorded", done.stderr)
        return done.stdout

    def traces(self, ranks=RANKS):
        """By rank."""
        found = {}
        for path in trace_file.find(self.folder + "/out"):
            trace = trace_file.Trace(path)
            found[trace.root["distributedInfo"]["rank"]] = trace
        self.assertEqual(sorted(found), list(range(ranks)))
        code, out, err = tool("verify", *(trace.path for trace in found.values()))
        self.assertEqual(code, 0, out + err)
        return found

    def test_calls(self):
        plain = self.run_program("calls", options=())
        self.assertEqual(self.run_program("calls"), plain)
        traces = self.traces()
        calls = {rank: calls_of(trace) for rank, trace in traces.items()}
        found = [(e["name"], e["args"].get("sent bytes"), e["args"].get("received bytes")) for e in calls[3]]
        self.assertEqual(found, CALLS)
        for rank, trace in traces.items():
            self.assertEqual(trace.root["distributedInfo"]["backend"], "mpi")
            send, receive = calls[rank][:2]
            self.assertEqual((send["args"]["Dst Rank"], send["args"]["tag"]), ((rank + 1) % RANKS, 7))
            self.assertEqual(receive["args"]["Src Rank"], (rank - 1) % RANKS)  # the program asked for any
            self.check_collectives(calls[rank], rank)
        self.assertNotEqual(calls[0][-2]["args"]["result"], 0)
        self.check_communicators(calls)

    def check_collectives(self, calls, rank):
        of_world = [e["args"] for e in calls if "Seq" in e["args"] and e["args"]["Process Group Name"] == WORLD]
        self.assertEqual([args["Seq"] for args in of_world], list(range(1, 16)))
        for args in of_world:
            self.assertEqual((args["Group size"], args["Rank"]), (RANKS, rank))

    def check_communicators(self, calls):
        """Members name their communicator alike; two of the same members are two."""
        parts = {rank: [e["args"]["Process Group Name"] for e in of if e["name"] == "MPI_Allreduce"][1:] for rank, of in calls.items()}
        halves, again, rows = zip(*(parts[rank] for rank in range(RANKS)))
        for of in halves, again:
            self.assertEqual((of[0], of[1]), (of[2], of[3]))
            self.assertNotEqual(of[0], of[1])
        self.assertEqual((rows[0], rows[2]), (rows[1], rows[3]))
        self.assertEqual(len({WORLD, *halves, *again, *rows}), 7)

    def test_pftrace_says_the_same(self):
        self.run_program("calls", options=("--libraries=mpi", "--format=perfetto"))
        paths = [os.path.join(top, name) for top, _, names in os.walk(self.folder + "/out") for name in names if name.endswith(".pftrace")]
        self.assertEqual(len(paths), RANKS)
        path = next(path for path in paths if "rank3" in path)
        code, _, err = tool("convert", path, self.folder + "/back.pt.trace.json")
        self.assertEqual(code, 0, err)
        found = [(e["name"], e["args"].get("sent bytes"), e["args"].get("received bytes"))
                 for e in calls_of(trace_file.Trace(self.folder + "/back.pt.trace.json"))]
        self.assertEqual(found, CALLS)

    def test_threads(self):
        self.assertEqual(self.run_program("threads", "4", ranks=2), "")
        for trace in self.traces(2).values():
            calls = [e for e in calls_of(trace) if e["name"] == "MPI_Sendrecv_replace"]
            self.assertEqual(len(calls), 800)
            self.assertEqual(len({e["tid"] for e in calls}), 4)

    def test_polls(self):
        """What finds something is recorded, with the number of those that did not."""
        self.run_program("polls", "1000", ranks=1)
        calls = [e for e in calls_of(self.traces(1)[0]) if e["name"] == "MPI_Test"]
        self.assertEqual(sum(e["args"].get("polls before", 0) + 1 for e in calls), 1001)
        self.assertLess(len(calls), 500)

    def test_with_another_tool(self):
        """Both see each call of the program once, whichever comes first; what a tool in front calls itself is seen, too."""
        for name, variables, more in (("behind", {}, []), ("in front", {"LD_PRELOAD": TOOL}, ["MPI_Reduce"])):
            with self.subTest(name):
                shutil.rmtree(self.folder + "/out", ignore_errors=True)
                program = PROGRAM
                if name == "behind":  # the launcher hands the list on, and the tool is put behind it
                    program = self.folder + "/behind"
                    with open(program, "w", encoding="ascii") as file:
                        file.write(f'#!/bin/sh\nLD_PRELOAD="$LD_PRELOAD:{TOOL}" exec {PROGRAM} "$@"\n')
                    os.chmod(program, 0o755)
                said = self.run_program("train", "6", "-1", "0", ranks=2, program=program, variables=variables)
                self.assertEqual(said, "tool: 0 12\n")
                for trace in self.traces(2).values():
                    self.assertEqual([e["name"] for e in calls_of(trace)], ["MPI_Allreduce"] * 6 + more + ["MPI_Finalize"])

    def test_fortran(self):
        if not os.path.exists(FORTRAN):
            self.skipTest(f"mpifort.{MPI} is not installed")
        plain = self.run_program(program=FORTRAN, ranks=2, options=())
        self.assertEqual(self.run_program(program=FORTRAN, ranks=2), plain)
        for rank, trace in self.traces(2).items():
            calls = [(e["name"], e["args"].get("sent bytes"), e["args"].get("received bytes")) for e in calls_of(trace)]
            other = ("MPI_Recv", None, 80) if rank else ("MPI_Send", 80, None)
            self.assertEqual(calls, [("MPI_Allreduce", 80, 80), other, ("MPI_Finalize", None, None)])

    def test_who_is_late(self):
        """By MPI's collectives, without NCCL; and what MPI did in all."""
        self.run_program("train", "12", "2", "40000000")
        code, out, err = tool("ranks", "--format=json", self.folder + "/out")
        self.assertEqual(code, 0, err)
        tables = json.loads(out)
        code, _, err = tool("merge", "--output=" + self.folder + "/all.pftrace", self.folder + "/out")
        self.assertEqual(code, 0, err)
        merged = json.loads(tool("ranks", "--format=json", self.folder + "/all.pftrace")[1])
        self.assertEqual(*([(row["Rank"], row["Collectives"]) for row in of["rank_late"][:1]] for of in (tables, merged)))
        self.assertEqual({row["Rank"]: row["Collectives"] for row in tables["rank_late"]}, {f"rank {r}": 12 for r in range(RANKS)})
        self.assertEqual((tables["rank_late"][0]["Rank"], tables["rank_late"][0]["Cause"]), ("rank 2", "host"))
        code, out, err = tool("stats", "--report=mpi_sum", "--format=json", self.folder + "/out")
        self.assertEqual(code, 0, err)
        (row,) = [row for row in json.loads(out)["mpi_sum"] if row["Name"] == "MPI_Allreduce"]
        self.assertEqual((row["Num Calls"], row["Failed"]), (12 * RANKS, 0))
        self.assertAlmostEqual(row["Sent (MB)"], 12 * RANKS * 1000 * D / 1e6)

    @unittest.skipUnless(os.access("/dev/shm", os.W_OK), "no /dev/shm")
    def test_who_is_missing(self):
        boxes = tempfile.mkdtemp(prefix="gt-mpi.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, boxes, ignore_errors=True)
        go, control = self.folder + "/go", dict(GPUTRACE_CONTROL=boxes)
        job = subprocess.Popen(self.words("missing", "2", go), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               env=self.environment(GPUTRACE_FLUSH_PERIOD="100", **control))
        self.addCleanup(job.kill)
        (one,) = self.missing(control)
        self.assertEqual((one["collective"], one["call"], one["members"], one["is_in_flight"]), (10, "MPI_Allreduce", 2, True), one)
        self.assertEqual([[row["rank"] for row in one[key]] for key in ("waiting", "missing")], [[0], [2]], one)
        with open(go, "w", encoding="ascii"):
            pass
        self.assertEqual(job.wait(100), 0)

    def missing(self, control):
        """What gputrace hang says of the collectives that somebody waits in, once it does."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            done = subprocess.run([CLI, "hang", "--json", "all"], capture_output=True, text=True, timeout=100, check=False,
                                  env=dict(os.environ, **control))
            found = [json.loads(line) for line in done.stdout.splitlines()]
            found = [one for one in found if "collective" in one and one["missing"]]
            if found:
                return found
            time.sleep(0.1)
        return self.fail(done.stdout + done.stderr)

    def test_some_ranks(self):
        self.run_program("train", "2", "-1", "0", options=("--libraries=mpi", "--ranks=0,2-3"))
        ranks = {trace_file.Trace(path).root["distributedInfo"]["rank"] for path in trace_file.find(self.folder + "/out")}
        self.assertEqual(ranks, {0, 2, 3})


@unittest.skipIf(preloading.RUNTIMES, "see above")
@unittest.skipIf(MPI != "openmpi", "once is enough")
class Unknown(unittest.TestCase):
    def test_it_is_declined(self):
        with tempfile.TemporaryDirectory(prefix="gt-mpi-") as folder:
            done = subprocess.run([os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, GPUTRACE, "run", "--libraries=mpi",
                                   "--output=" + folder + "/out", OF_UNKNOWN], capture_output=True, text=True, timeout=100, check=False,
                                  env=dict(os.environ, GPUTRACE_BUILD=BUILD))
            self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "0 3 4"))
            self.assertEqual(done.stderr.count("is neither Open MPI nor of MPICH's ABI: its calls are not recorded"), 1, done.stderr)
            self.assertEqual(trace_file.find(folder + "/out"), [])  # it has done nothing else


if __name__ == "__main__":
    unittest.main(verbosity=2)
