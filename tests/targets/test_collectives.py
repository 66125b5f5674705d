# SPDX-License-Identifier: Apache-2.0
"""--libraries=nccl on the simulated libnccl: the calls, their kernels, the tables of the ranks.

    test_collectives.py BUILD SOURCE PROGRAM PLUGIN
"""

import csv
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, PROGRAM, PLUGIN = (os.path.realpath(path) for path in sys.argv[1:5])
del sys.argv[1:5]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
RANKS = 4
STEPS = 12
COUNT = 262144
# the collectives of both communicators and the two groups of a rank, besides its steps
OTHERS = ["ncclBroadcast", "ncclBcast", "ncclReduce", "ncclAlltoAll", "ncclGather", "ncclScatter", "ncclGroupStart",
          "ncclReduceScatter", "ncclReduceScatter", "ncclGroupEnd", "ncclGroupStart", "ncclGroupStart", "ncclSend",
          "ncclGroupEnd", "ncclRecv", "ncclGroupEnd", "ncclCommDestroy", "ncclCommFinalize", "ncclCommDestroy"]
# of the last rank: arguments besides those of its communicator
ARGUMENTS = {
    "ncclAllReduce": {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": COUNT, "Out msg nelems": COUNT,
                      "message bytes": 4 * COUNT, "reduction": "sum"},
    "ncclAllGather": {"Collective name": "_allgather_base", "dtype": "BFloat16", "In msg nelems": COUNT // 4,
                      "Out msg nelems": COUNT, "message bytes": 2 * COUNT},
    "ncclBroadcast": {"Collective name": "broadcast", "dtype": "Double", "In msg nelems": 100, "Out msg nelems": 100,
                      "message bytes": 800, "Root Rank": 1},
    "ncclBcast": {"Collective name": "broadcast", "dtype": "Long", "In msg nelems": 100, "Out msg nelems": 100,
                  "message bytes": 800, "Root Rank": 0},
    "ncclReduce": {"Collective name": "reduce", "dtype": "Byte", "In msg nelems": 100, "Out msg nelems": 100,
                   "message bytes": 100, "reduction": "prod", "Root Rank": 2},
    "ncclAlltoAll": {"Collective name": "all_to_all", "dtype": "Float8_e4m3fn", "In msg nelems": 256,
                     "Out msg nelems": 256, "message bytes": 256},
    "ncclGather": {"Collective name": "gather", "dtype": "Int", "In msg nelems": 64, "Out msg nelems": 256,
                   "message bytes": 1024, "Root Rank": 0},
    "ncclScatter": {"Collective name": "scatter", "dtype": "UInt32", "In msg nelems": 256, "Out msg nelems": 64,
                    "message bytes": 1024, "Root Rank": 0},
    "ncclSend": {"Collective name": "send", "dtype": "Char", "In msg nelems": 512, "Out msg nelems": 512,
                 "message bytes": 512, "Dst Rank": 0, "Send Seq": 1},
    "ncclRecv": {"Collective name": "recv", "dtype": "Char", "In msg nelems": 512, "Out msg nelems": 512,
                 "message bytes": 512, "Src Rank": 2, "Recv Seq": 1},
}


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


def tracer(output, options):
    """(words in front of the job, words in front of each program) that trace it."""
    if not preloading.RUNTIMES:
        return [os.path.join(SOURCE, "scripts", "gputrace"), "run", "--output=" + output, *options], []
    # `gputrace run` finds a library with a sanitizer unfit for what it starts, and a shell has none
    libraries = [os.path.join(BUILD, "preload", f"libgputrace{name}.so")
                 for name in ("", "-libraries") if not name or any(o.startswith("--libraries=nccl") for o in options)]
    variables = dict(preloading.PATIENT, GPUTRACE_OUTPUT=output, LD_PRELOAD=preloading.with_tracer(":".join(libraries)))
    if "--libraries=nccl-profiler" in options:
        variables["NCCL_PROFILER_PLUGIN"] = os.path.join(BUILD, "preload", "libgputrace-nccl-profiler.so")
    for option in options:
        name, value = option[2:].split("=")
        variables["GPUTRACE_" + name.upper().replace("-", "_")] = value
    return [], ["env", *(f"{name}={value}" for name, value in variables.items())]


def start_ranks(late_ns=0, slow=20000, mode="train", network=None):
    """A shell's words that run the ranks of a job; rank 2 is late: its host, its kernels (@slow), its network (@network: the
    others', its own). Parameters: the folder, then the program and what is in front of it."""
    waits = f"SIMNCCL_NETWORK=$([ $r = 2 ] && echo {network[1]} || echo {network[0]}) " if network else ""
    each = (f'{waits}SIMCUDA_KERNEL_NS=$([ $r = 2 ] && echo {slow} || echo 20000) RANK=$r WORLD_SIZE={RANKS} '
            f'"$@" {mode} "$0/id" $r {RANKS} {STEPS} $([ $r = 2 ] && echo {late_ns} || echo 0) >"$0/said.$r" || echo $? >"$0/failed" &')
    return f"for r in {' '.join(map(str, range(RANKS)))}; do {each} done; wait"


class Collectives(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-collectives-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, *words, options=None, devices=1, shell=(), **variables):
        """Untraced if there are no options. Returns what the program said."""
        job, each = ([], []) if options is None else tracer(self.folder + "/out", options)
        result = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, f"--devices={devices}", *job, *shell, *each,
             PROGRAM, *words], capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
            env=dict(os.environ, GPUTRACE_BUILD=BUILD, **variables))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.said_wrong = result.stderr
        self.assertNotIn("cannot be preloaded", result.stderr)
        self.assertNotIn("not recorded", result.stderr)
        return result.stdout

    def train(self, *options, libraries="nccl", job=None, **variables):
        """The traces of a job, by rank."""
        self.run_program(options=[*(["--libraries=" + libraries] if libraries else []), *options],
                         shell=["sh", "-c", start_ranks(**(job or {})), self.folder], **variables)
        self.assertFalse(os.path.exists(self.folder + "/failed"))
        found = {}
        for path in glob.glob(self.folder + "/out/**/rank*", recursive=True):
            found[int(os.path.basename(path)[4])] = path
        self.assertEqual(sorted(found), list(range(RANKS)))
        code, out, err = tool("verify", *found.values())
        self.assertEqual(code, 0, out + err)
        return found

    def calls(self, trace):
        return sorted((e for e in trace.slices if e["cat"] == "library"), key=lambda e: e["ts"])

    def check_calls(self, trace, rank):
        calls = self.calls(trace)
        names = ["ncclCommInitRank", "ncclCommSplit"] + ["ncclAllReduce", "ncclAllGather"] * STEPS + OTHERS
        if rank == 0:
            names.insert(0, "ncclGetUniqueId")
        self.assertEqual([e["name"] for e in calls], names)
        groups, sequences = {}, {}
        for event in calls:
            args = dict(event["args"])
            if "Rank" not in args:
                self.assertEqual(args, {}, event["name"])
                continue
            size, group = args.pop("Group size"), args.pop("Process Group Name")
            self.assertEqual(args.pop("Rank"), rank if size == RANKS else rank // 2)
            self.assertEqual(groups.setdefault(size, group), group)
            if "Seq" in args:
                sequences.setdefault(size, []).append(args.pop("Seq"))
            if rank == RANKS - 1 and event["name"] in ARGUMENTS:
                self.assertEqual(args, ARGUMENTS[event["name"]], event["name"])
        self.assertEqual(sequences, {RANKS: list(range(1, 2 * STEPS + 8)), RANKS // 2: [1]})
        return groups

    def check_kernels(self, trace, groups):
        """Each has what its call has, if it has only one."""
        kernels = sorted((e for e in trace.gpu if e["name"].startswith("nccl")), key=lambda e: e["ts"])
        self.assertEqual(len(kernels), 2 * STEPS + 8)
        keys = {"Collective name", "dtype", "In msg nelems", "Out msg nelems", "reduction", "Group size",
                "Process Group Name", "Rank", "Root Rank", "Seq", "fused operations", "Src Rank", "Dst Rank",
                "Send Seq", "Recv Seq"}
        alone = [e for e in self.calls(trace) if "Seq" in e["args"] and e["name"] != "ncclReduceScatter"]
        for kernel, call in zip(kernels, alone):
            self.assertEqual({k: v for k, v in kernel["args"].items() if k in keys},
                             {k: v for k, v in call["args"].items() if k in keys}, call["name"])
            self.assertGreaterEqual(trace.start(kernel), trace.start(call))
        fused = [{k: v for k, v in kernel["args"].items() if k in keys} for kernel in kernels[-2:]]
        group = {"Group size": RANKS, "Process Group Name": groups[RANKS], "Rank": fused[0]["Rank"],
                 "fused operations": 2}
        self.assertEqual(fused[0], {"Collective name": "_reduce_scatter_base", "dtype": "Half", "reduction": "max",
                                    "Seq": 2 * STEPS + 6, **group})
        rank = group["Rank"]
        self.assertEqual(fused[1], {"dtype": "Char", "Dst Rank": (rank + 1) % RANKS, "Src Rank": (rank - 1) % RANKS,
                                    "Send Seq": 1, "Recv Seq": 1, **group})

    def test_calls_and_kernels(self):
        traces = {rank: trace_file.Trace(path) for rank, path in self.train().items()}
        groups = [self.check_calls(traces[rank], rank) for rank in range(RANKS)]
        self.assertEqual(len({g[RANKS] for g in groups}), 1)
        self.assertEqual(groups[0], groups[2])
        self.assertEqual(groups[1], groups[3])
        self.assertEqual(len({g[RANKS // 2] for g in groups}), 2)
        for rank in range(RANKS):
            self.check_kernels(traces[rank], groups[rank])
            # NCCL's own ranges are in these calls: they add nothing
            own = [e for e in traces[rank].slices if e["cat"] == "user_annotation" and e["args"].get("domain") == "NCCL"]
            self.assertGreater(len(own), 2 * STEPS)
            self.assertEqual([e for e in own if "Collective name" in e["args"] or "Rank" in e["args"]], [])
            # kernels of one collective end together in all ranks
        ends = [[t.start(e) + t.duration(e) for e in t.gpu if e["args"].get("Seq") == 1 and e["args"]["Group size"] == RANKS]
                for t in traces.values()]
        self.assertLess(max(max(ends)) - min(min(ends)), 100000)

    def test_perfetto(self):
        """The same calls and kernels come back from the other format."""
        for rank, path in self.train("--format=perfetto").items():
            code, out, err = tool("convert", path, self.folder + f"/{rank}.pt.trace.json")
            self.assertEqual(code, 0, out + err)
            trace = trace_file.Trace(self.folder + f"/{rank}.pt.trace.json")
            self.check_kernels(trace, self.check_calls(trace, rank))

    def check_network(self, trace, calls):
        """One slice for each operation that has gone over the network, with its place and all that was waited."""
        slices = [e for e in trace.slices if e["name"] == "NCCL network"]
        self.assertEqual({e["cat"] for e in slices}, {"library"})
        self.assertEqual(len(slices), trace.ledger["nccl_operations_told"])
        self.assertEqual(sum(e["args"]["transfers"] for e in slices), trace.ledger["nccl_network_transfers"])
        place = ("Process Group Name", "Seq", "Rank", "Group size")
        places = {tuple(e["args"].get(k) for k in place) for e in calls if "Collective name" in e["args"]}
        for event in slices:
            args, sends, receives = event["args"], "sent bytes" in event["args"], "received bytes" in event["args"]
            fused = args["Collective name"] == "_reduce_scatter_base"
            self.assertTrue(fused or tuple(args.get(k) for k in place) in places, args)
            self.assertEqual((sends, receives), (args["Collective name"] != "recv", args["Collective name"] != "send"))
            self.assertEqual(args["transfers"], 6 * sends + 6 * receives)
            waits = {w: args[w + " wait (ns)"] for w in ("GPU", "peer", "send", "receive")}
            least = {"GPU": 6 * sends + 12 * receives, "peer": 6 * sends, "send": 6 * sends, "receive": 6 * receives}
            for wait, times in least.items():
                self.assertGreaterEqual(waits[wait], 5000 * times, args)
            self.assertEqual([w for w in waits if not least[w] and waits[w]], [])
            self.assertEqual(args.get("sent bytes", 0) + args.get("received bytes", 0), 4096 * args["transfers"])

    def check_told(self, trace):
        """How each operation is done, on its call and its kernels; the counts of the ledger."""
        calls = [e for e in self.calls(trace) if e["name"] != "NCCL network"]
        how = {e["name"]: tuple(e["args"].get(k) for k in ("algorithm", "protocol", "channels")) for e in calls}
        self.assertEqual(how["ncclAllReduce"], ("TREE", "SIMPLE", 2))
        self.assertEqual(how["ncclAllGather"], ("RING", "SIMPLE", 1))
        self.assertEqual(how["ncclBroadcast"], ("RING", "LL", 1))
        self.assertEqual(how["ncclReduceScatter"], (None, None, None))
        kernels = sorted((e for e in trace.gpu if e["name"].startswith("nccl")), key=lambda e: e["ts"])
        for kernel in kernels[:2 * STEPS]:
            name = {"allreduce": "ncclAllReduce", "_allgather_base": "ncclAllGather"}[kernel["args"]["Collective name"]]
            self.assertEqual(tuple(kernel["args"].get(k) for k in ("algorithm", "protocol", "channels")), how[name])
        # two in one kernel, of which one is larger: what they have in common
        fused = [e["args"] for e in kernels if e["args"].get("fused operations") == 2 and "Collective name" in e["args"]]
        self.assertEqual([(a["algorithm"], a.get("protocol"), a["channels"]) for a in fused], [("RING", None, 1)])
        self.assertEqual(trace.ledger["nccl_operations_told"], 2 * STEPS + 10)
        self.assertEqual(trace.ledger["nccl_operations_unmatched"], 0)
        return calls

    def check_rank_network(self, sums):
        """`gputrace ranks` has the sums of each rank, and names the one whose sends wait longest."""
        tables, _ = self.ranks_tables()
        rows = {int(row["Rank"].split()[1]): row for row in tables["rank_network"]}
        keys = ["Transfers", "Sent (MB)", "Received (MB)", "GPU Wait (ns)", "Peer Wait (ns)", "Send Wait (ns)", "Receive Wait (ns)"]
        self.assertEqual({rank: [row["Transfers"], *(round(row[k] * 1e6) for k in keys[1:3]), *(row[k] for k in keys[3:])]
                          for rank, row in rows.items()}, sums)
        rates = {rank: s[5] / s[1] for rank, s in sums.items()}
        middle = sorted(rates.values())[(RANKS - 1) // 2]
        for rank, row in rows.items():
            self.assertAlmostEqual(row["Times the Middle Rank"], rates[rank] / middle, delta=0.01)
        slowest = max(rates, key=rates.get)
        self.assertEqual(tables["rank_network"][0]["Rank"].split()[1], str(slowest))
        code, out, err = tool("ranks", self.folder + "/out")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(f"a byte that rank {slowest} " in out, rates[slowest] / middle >= 1.25)
        return slowest

    def test_profiler(self):
        """NCCL loads the plug-in and tells it how operations are done, and what its proxies wait for."""
        sums, args = {}, ("transfers", "sent bytes", "received bytes", *(f"{w} wait (ns)" for w in ("GPU", "peer", "send", "receive")))
        for rank, path in self.train(libraries="nccl-profiler", job={"network": (5000, 500000)}).items():
            trace = trace_file.Trace(path)
            network = [e["args"] for e in trace.slices if e["name"] == "NCCL network"]
            sums[rank] = [sum(a.get(key, 0) for a in network) for key in args]
            calls = self.check_told(trace)
            self.check_network(trace, calls)
            # proxy operations of another process, one for each operation
            self.assertEqual(trace.ledger["nccl_events_untaken"], trace.ledger["nccl_operations_told"])
            for event in calls:
                for key in ("algorithm", "protocol", "channels"):
                    event["args"].pop(key, None)
            trace.slices = [e for e in trace.slices if e["name"] != "NCCL network"]
            self.check_kernels(trace, self.check_calls(trace, rank))
        self.check_rank_network(sums)

    def run_pipe(self, *options):
        """The traces of a job whose ranks send and receive, by rank."""
        self.run_program(options=["--libraries=nccl", *options], shell=["sh", "-c", start_ranks(mode="pipe"), self.folder])
        self.assertFalse(os.path.exists(self.folder + "/failed"))
        return {int(os.path.basename(path)[4]): path for path in glob.glob(self.folder + "/out/**/rank*", recursive=True)}

    def check_messages(self, folder, rounds, alone, ranks=2, fused=False):
        """How many kernels of two ranks @ranks said are one, and how many have no counterpart."""
        code, out, err = tool("ranks", "--format=json", folder)
        self.assertEqual(code, 0, out + err)
        rows = [row for row in json.loads(out)["rank_collectives"] if row["Collective"] == "SendRecv" and
                (not fused or row["Size (MB)"] is None)]
        self.assertEqual({row["Ranks"] for row in rows}, {ranks})
        self.assertEqual(sum(row["Count"] for row in rows), rounds, rows)
        self.assertEqual(f"{alone} collective kernels have no counterpart" in err, alone > 0, err)

    def test_messages(self):
        """The nth that one rank sends to another is the nth that the other receives from it: single ones, exchanges and two
        in a group, of which only one side makes one kernel; whatever clocks say, what was lost, and when a trace begins."""
        traces = self.run_pipe()
        kernels = {rank: [e["args"] for e in trace_file.Trace(path).gpu if e["name"].startswith("nccl")] for rank, path in traces.items()}
        for rank, of_rank in kernels.items():
            for peer in range(RANKS):
                sent = [k["Send Seq"] for k in of_rank if k.get("Dst Rank") == peer]
                received = [k["Recv Seq"] for k in kernels[peer] if k.get("Src Rank") == rank]
                pair = rank ^ 1 == peer
                # a step: one down or back, an exchange, and two that one side sends in one kernel
                step = [1, 2, 3] if pair and rank % 2 == 0 else [1, 2] if pair else [1] if abs(rank - peer) == 1 else []
                last = 4 if pair and rank % 2 == 0 else len(step)
                self.assertEqual(sorted(sent), [last * i + n for i in range(STEPS) for n in step], (rank, peer))
                self.assertEqual(sorted(received), [last * i + n for i in range(STEPS) for n in range(1, last + 1)], (rank, peer))
        self.check_messages(self.folder + "/out", 10 * STEPS, 2 * STEPS)
        # rank 1 lost two messages to rank 2, rank 2 began late
        os.mkdir(self.folder + "/cut")
        for rank, path in traces.items():
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
            lost = [e for e in trace["traceEvents"] if e.get("cat") == "kernel" and e["name"].startswith("nccl") and
                    (rank == 1 and e["args"].get("Dst Rank") == 2 and e["args"]["Send Seq"] in (3, 7) or
                     rank == 2 and e["args"].get("Src Rank") == 1 and e["args"]["Recv Seq"] < 3)]
            self.assertEqual(len(lost), 2 if rank in (1, 2) else 0)
            trace["traceEvents"] = [e for e in trace["traceEvents"] if e not in lost]
            with open(self.folder + f"/cut/{os.path.basename(path)}", "w", encoding="utf-8") as file:
                json.dump(trace, file)
        self.check_messages(self.folder + "/cut", 10 * STEPS - 4, 2 * STEPS + 4)

    def test_messages_of_a_ring(self):
        """Each sends to the next one and receives from the one before, in one kernel: they are one."""
        self.train()
        self.check_messages(self.folder + "/out", 1, 0, ranks=RANKS, fused=True)

    def test_messages_of_perfetto(self):
        self.run_pipe("--format=perfetto")
        self.check_messages(self.folder + "/out", 10 * STEPS, 2 * STEPS)

    def test_profiler_perfetto(self):
        path = self.train("--format=perfetto", libraries="nccl-profiler", SIMNCCL_NETWORK="5000")[1]
        code, out, err = tool("convert", path, self.folder + "/1.pt.trace.json")
        self.assertEqual(code, 0, out + err)
        trace = trace_file.Trace(self.folder + "/1.pt.trace.json")
        self.check_network(trace, self.check_told(trace))

    def test_profiler_versions(self):
        """NCCL asks for the newest version that it knows: all of the plug-in's are used, also by a newer NCCL; an older
        one finds none, and goes on."""
        for version, algorithm in (("2", "TREE"), ("3", "TREE"), ("4", "TREE"), ("5", "TREE"), ("9", "TREE"), ("1", None)):
            shutil.rmtree(self.folder + "/out", ignore_errors=True)
            self.run_program("device", "2", options=["--libraries=nccl-profiler"], devices=2, SIMNCCL_PROFILER=version)
            trace = trace_file.Trace(trace_file.find(self.folder)[0])
            kernels = [e["args"] for e in trace.gpu if e["name"].startswith("nccl")]
            self.assertEqual([(k.get("algorithm"), k.get("protocol")) for k in kernels],
                             [(algorithm, "SIMPLE" if algorithm else None)] * 2, version)
            self.assertEqual([k.get("channels") for k in kernels], [2 if version > "3" else None] * 2)
            self.assertEqual([(k["Rank"], k["Seq"], k["Group size"]) for k in kernels], [(k["device"], 1, 2) for k in kernels])
            self.assertEqual(trace.ledger["nccl_operations_told"], 2 if algorithm else 0)

    def test_old_profiler(self):
        """Version 3 tells no bytes of a transfer, and no number of channels."""
        trace = trace_file.Trace(self.train(libraries="nccl-profiler", SIMNCCL_NETWORK="5000", SIMNCCL_PROFILER="3",
                                            SIMNCCL_AHEAD="40000000")[3])
        network = [e for e in trace.slices if e["name"] == "NCCL network"]
        # proxy operations are begun at the launch: that they wait for the kernels before theirs is no network
        self.assertLess(statistics.median(trace.duration(e) for e in network), 20000000)
        network = [e["args"] for e in network]
        self.assertEqual(len(network), trace.ledger["nccl_operations_told"])
        self.assertEqual(sum(a["transfers"] for a in network), trace.ledger["nccl_network_transfers"])
        self.assertEqual({a["Rank"] for a in network if a["Group size"] == RANKS}, {3})
        self.assertEqual([a for a in network if "sent bytes" in a or "channels" in a], [])
        self.assertGreater(min(a["GPU wait (ns)"] for a in network), 0)
        # without bytes there is no rate to compare
        rows = self.ranks_tables()[0]["rank_network"]
        self.assertEqual([row["Times the Middle Rank"] for row in rows], [None] * RANKS)

    def test_own_profiler(self):
        """NCCL loads one plug-in only: the program's stays, and that is said."""
        words = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--devices=2"]
        if preloading.RUNTIMES:
            self.skipTest("gputrace run does not start programs with a sanitizer")
        job, _ = tracer(self.folder + "/out", ["--libraries=nccl-profiler"])
        said = []
        for traced in ([], job):
            result = subprocess.run(
                [*words, *traced, PROGRAM, "device", "2"], capture_output=True, text=True, timeout=120, check=False,
                env=dict(os.environ, GPUTRACE_BUILD=BUILD, NCCL_PROFILER_PLUGIN=PLUGIN, OWN_PROFILER=self.folder + "/said"))
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(self.folder + "/said", encoding="utf-8") as told:
                said.append((result.stdout, told.read()))
        self.assertEqual(said[0], said[1])
        self.assertIn("AllReduce", said[0][1])
        self.assertIn(f"NCCL_PROFILER_PLUGIN belongs to {PLUGIN} and stays", result.stderr)
        trace = trace_file.Trace(trace_file.find(self.folder)[0])
        self.assertEqual([e["args"].get("algorithm") for e in trace.gpu if e["name"].startswith("nccl")], [None] * 2)
        self.assertEqual(trace.ledger["nccl_operations_told"], 0)
        self.assertNotIn("NCCL_PROFILER_PLUGIN is", result.stderr)
        result = subprocess.run(
            [*words, *job, "env", "NCCL_PROFILER_PLUGIN=" + PLUGIN, PROGRAM, "device", "2"], capture_output=True, text=True,
            timeout=120, check=False, env=dict(os.environ, GPUTRACE_BUILD=BUILD, OWN_PROFILER=self.folder + "/said"))
        self.assertEqual(result.stdout, said[0][0])
        self.assertEqual(result.stderr.count(f"NCCL_PROFILER_PLUGIN is {PLUGIN} here, which gputrace run has not done"), 1,
                         result.stderr)

    def test_one_process(self):
        said = self.run_program("device", "3", devices=3)
        self.assertEqual(self.run_program("device", "3", options=["--libraries=nccl"], devices=3), said)
        trace = trace_file.Trace(trace_file.find(self.folder)[0])
        kernels = [e for e in trace.gpu if e["name"].startswith("nccl")]
        self.assertEqual(len(kernels), 3)
        for kernel in kernels:
            self.assertEqual(kernel["args"]["Rank"], kernel["args"]["device"])
            self.assertEqual((kernel["args"]["Seq"], kernel["args"]["reduction"], kernel["args"]["Group size"]), (1, "avg", 3))
            self.assertNotIn("fused operations", kernel["args"])

    def test_results_are_the_program_s(self):
        said = self.run_program("errors")
        self.assertIn("ncclGroupEnd: 4\n", said)
        self.assertEqual(self.run_program("errors", options=["--libraries=nccl"]), said)
        trace = trace_file.Trace(trace_file.find(self.folder)[0])
        shown = [f"{e['name']}: {e['args'].get('result', 0)}" for e in self.calls(trace)]
        expected = [line for line in said.splitlines() if ":" in line and "ncclGetVersion" not in line]
        self.assertEqual(shown[-len(expected):], expected)
        # what fails has no place among the collectives; the end of a group comes too late for that
        counted = [e["args"]["Seq"] for e in self.calls(trace) if "Seq" in e["args"] and "result" not in e["args"]]
        self.assertEqual(counted, [1, 2, 3])
        kernels = [e["args"] for e in trace.gpu if e["name"].startswith("nccl")]
        self.assertEqual([(k["Seq"], k["In msg nelems"]) for k in kernels], [(2, 3)])

    def test_not_without_the_option(self):
        self.run_program("device", "1", options=[], NCCL_NVTX_DISABLE="1")
        trace = trace_file.Trace(trace_file.find(self.folder)[0])
        self.assertEqual(self.calls(trace), [])
        self.assertEqual([e["args"].get("Group size") for e in trace.gpu], [None])

    def test_communicators_made_in_all_ways(self):
        """Without blocking, in a group, parts of both, with fewer and with more ranks: who is in them, and that they are the same."""
        gathers = {}
        for rank, path in self.train(job={"mode": "parts"}).items():
            trace = trace_file.Trace(path)
            calls = self.calls(trace)
            sizes = [1, 2, 4, 8, 16, 32] if rank != RANKS - 1 else [1, 2, 4, 8, 32]
            members = {1: RANKS, 2: 2, 4: RANKS, 8: 2, 16: RANKS - 1, 32: RANKS}
            own = {1: rank, 2: rank // 2, 4: rank, 8: rank % 2, 16: rank, 32: rank}
            found = [e["args"] for e in calls if e["name"] == "ncclAllGather"]
            kernels = [e["args"] for e in sorted(trace.gpu, key=lambda e: e["ts"]) if "AllGather" in e["name"]]
            self.assertEqual([a["In msg nelems"] for a in found], sizes)
            for size, args, kernel in zip(sizes, found, kernels):
                self.assertEqual((args["Group size"], args["Rank"], args["Out msg nelems"]), (members[size], own[size], size * members[size]))
                self.assertEqual(args["Seq"], 1, args)
                gathers.setdefault(size, {})[rank] = args.get("Process Group Name")
                self.assertEqual({k: v for k, v in kernel.items() if k in args}, {k: v for k, v in args.items() if k in kernel})
            self.assertEqual({k: v for k, v in next(e["args"] for e in calls if e["name"] == "ncclPutSignal").items() if k != "Process Group Name"},
                             {"Collective name": "put", "dtype": "Half", "In msg nelems": 64, "Out msg nelems": 64, "message bytes": 128,
                              "Group size": RANKS, "Rank": rank, "Dst Rank": (rank + 1) % RANKS})
            self.assertIn("ncclWaitSignal", [e["name"] for e in calls])
        groups = {size: [{r for r in ranks if ranks[r] == name} for name in set(ranks.values())] for size, ranks in gathers.items()}
        everyone = set(range(RANKS))
        self.assertEqual([groups[size] for size in (1, 4, 16)], [[everyone], [everyone], [everyone - {RANKS - 1}]])
        self.assertEqual(sorted(map(sorted, groups[2])), [[0, 2], [1, 3]])
        self.assertEqual(sorted(map(sorted, groups[8])), [[0, 1], [2, 3]])
        self.assertEqual(set(gathers[32].values()), {None})
        # what the program does too early NCCL complains of once: nothing was asked in between
        self.assertEqual(self.said_wrong.count("NCCL WARN"), 1, self.said_wrong)

    def test_communicators_at_one_address(self):
        """A new one is known though its variable holds the one that went; and kernels share activity buffers."""
        self.run_program("again", options=["--libraries=nccl"])
        trace = trace_file.Trace(glob.glob(self.folder + "/out/**/*.json", recursive=True)[0])
        for events in ([e for e in self.calls(trace) if e["name"] == "ncclAllReduce"], trace.gpu):
            places = sorted((e["args"].get("Process Group Name", ""), e["args"].get("Seq", 0)) for e in events)
            groups = sorted({group for group, _ in places} - {""})
            self.assertEqual(len(groups), 12)
            self.assertEqual(places, [(group, i + 1) for group in groups for i in range(100)])
        self.assertEqual(trace.ledger["launches_without_record"], 0)
        self.assertLess(trace.ledger["buffers_completed"], 600)

    def ranks_tables(self):
        code, out, err = tool("ranks", "--format=json", self.folder + "/out")
        self.assertEqual(code, 0, out + err)
        return json.loads(out), err

    def test_by_sequence(self):
        """A rank that lost all but two of its collectives, too few to find their places by their times."""
        for form in ("perfetto", "chrome"):
            with self.subTest(form):
                shutil.rmtree(self.folder + "/out", ignore_errors=True)
                for file in glob.glob(self.folder + "/*id*"):
                    os.remove(file)
                path = self.train()[1]
                with open(path, encoding="utf-8") as file:
                    lines = file.readlines()
                arguments = [line.replace(" ", "") for line in lines]  # with blanks or without them, by --details
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(line for line, args in zip(lines, arguments) if '"kernel"' not in line or "ncclDev" not in line or
                                    f'"Groupsize":{RANKS},' in args and ('"Seq":9' in args or '"Seq":4' in args))
                if form == "perfetto":
                    self.assertEqual(tool("convert", path, self.folder + "/one.pftrace")[0], 0)
                    os.rename(self.folder + "/one.pftrace", path.replace(".pt.trace.json", ".pftrace"))
                    os.remove(path)
                tables, _ = self.ranks_tables()
                rows = {row["Rank"]: row["Collectives"] for row in tables["rank_late"]}
                self.assertEqual(rows["rank 1"], 2, rows)
        for path in glob.glob(self.folder + "/out/**/*.json", recursive=True):  # and it is their numbers that tell
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r', ?"Seq": ?\d+', "", text))
        self.assertNotIn("rank 1", {row["Rank"] for row in self.ranks_tables()[0]["rank_late"]})

    def test_bandwidth(self):
        """By nccl-tests' formulas, of the communicator's members: also of a part of the ranks."""
        self.train()
        rows = {(row["Collective"], row["Ranks"]): row for row in self.ranks_tables()[0]["rank_collectives"]}
        for key, size, factor in ((("AllReduce", RANKS), 4 * COUNT, 2 * (RANKS - 1) / RANKS),
                                  (("AllGather", RANKS), 2 * COUNT, (RANKS - 1) / RANKS),
                                  (("Broadcast", RANKS // 2), 800, 1)):
            self.check_rate(rows[key], size, factor)

    def check_rate(self, row, size, factor):
        rate = size / row["Med Transfer (ns)"]
        off = 0.001 + rate / row["Med Transfer (ns)"]  # printed in whole ns
        self.assertAlmostEqual(row["Algorithm GB/s"], rate, delta=off, msg=row)
        self.assertAlmostEqual(row["Bus GB/s"], rate * factor, delta=off, msg=row)

    # ---- NCCL's own NVTX ranges, without the option ----

    def check_own_ranges(self, trace, rank):
        """Each kernel has what its range says: bytes, or elements where its name says the type."""
        self.assertEqual(self.calls(trace), [])
        kernels = sorted((e for e in trace.gpu if e["name"].startswith("nccl")), key=lambda e: e["ts"])
        names = ["ncclAllReduce", "ncclAllGather"] * STEPS + [n for n in OTHERS[:6]] + ["ncclReduceScatter", "ncclSend"]
        self.assertEqual(len(kernels), len(names))
        places = []
        for name, kernel in zip(names, kernels):
            args = kernel["args"]
            of_half = name == "ncclBroadcast"
            self.assertEqual(args.get("Group size"), None if of_half else RANKS, name)  # not known of a split
            self.assertEqual(args.get("Rank"), None if of_half else rank)
            places.append(args.get("Seq"))
            if "fused operations" in args:
                self.assertEqual((args["fused operations"], args.get("Collective name")),
                                 (2, "_reduce_scatter_base" if name == "ncclReduceScatter" else None))
                continue
            expected = ARGUMENTS[name]
            for key in ("Collective name", "Root Rank", "reduction"):
                self.assertEqual(args.get(key), expected.get(key), (name, key))
            if name == "ncclAllReduce":
                self.assertEqual([args[key] for key in ("dtype", "In msg nelems", "Out msg nelems")], ["Float", COUNT, COUNT])
                continue
            self.assertNotIn("In msg nelems", args)
            width = expected["message bytes"] // max(expected["In msg nelems"], expected["Out msg nelems"])
            self.assertEqual([args["sent bytes"], args["received bytes"]],
                             [expected["In msg nelems"] * width, expected["Out msg nelems"] * width], name)
        # the collectives of all, in order; one that is written while its thread's ring is read may lack its place
        numbers = [*range(1, 2 * STEPS + 1), 1, *range(2 * STEPS + 1, 2 * STEPS + 7), None]
        self.assertEqual([(n, p) for n, p in zip(numbers, places) if p not in (n, None)], [])
        self.assertGreater(len([p for p in places if p]), STEPS, places)
        own = {e["name"]: e["args"] for e in trace.slices if e["cat"] == "user_annotation" and e["args"].get("domain") == "NCCL"}
        for name in ("ncclCommInitRank", "ncclAllReduce", "ncclSend"):
            self.assertEqual((own[name]["Group size"], own[name]["Rank"]), (RANKS, rank), name)
        self.assertEqual((own["ncclRecv"]["sent bytes"], own["ncclRecv"]["Src Rank"]), (512, (rank + RANKS - 1) % RANKS))
        return own["ncclCommInitRank"]["Process Group Name"]

    def test_own_ranges(self):
        """The late rank is found, and how fast the network is, by what NCCL itself tells."""
        traces = self.train(libraries=None, job={"late_ns": 3000000})
        groups = {self.check_own_ranges(trace_file.Trace(path), rank) for rank, path in traces.items()}
        self.assertEqual(len(groups), 1)
        tables = self.ranks_tables()[0]
        first = tables["rank_late"][0]
        self.assertEqual((first["Rank"], first["Cause"]), ("rank 2", "host"), first)
        rows = {(row["Collective"], row["Ranks"]): row for row in tables["rank_collectives"]}
        self.check_rate(rows["AllReduce", RANKS], 4 * COUNT, 2 * (RANKS - 1) / RANKS)
        self.check_rate(rows["AllGather", RANKS], 2 * COUNT, (RANKS - 1) / RANKS)

    def test_places_that_end(self):
        """A rank that lost something has no places from there on, or until there: the clocks tell."""
        path = self.train(libraries=None, job={"late_ns": 3000000})[1]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        before = {row["Rank"]: row["Collectives"] for row in self.ranks_tables()[0]["rank_late"]}
        self.assertGreater(before["rank 1"], 2 * STEPS)
        for gone in (range(10, 100), range(1, 20)):
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r', ?"Seq": ?(\d+)', lambda found, gone=gone: "" if int(found[1]) in gone else found[0], text))
            self.assertEqual({row["Rank"]: row["Collectives"] for row in self.ranks_tables()[0]["rank_late"]}, before)

    def test_own_ranges_in_perfetto(self):
        for rank, path in self.train("--format=perfetto", libraries=None).items():
            code, out, err = tool("convert", path, self.folder + f"/{rank}.pt.trace.json")
            self.assertEqual(code, 0, out + err)
            self.check_own_ranges(trace_file.Trace(self.folder + f"/{rank}.pt.trace.json"), rank)

    def test_own_ranges_of_one_process(self):
        """NCCL has one id for all of its ranks: which of them a kernel is of nobody tells."""
        self.run_program("device", "3", options=[], devices=3)
        trace = trace_file.Trace(trace_file.find(self.folder)[0])
        kernels = [e["args"] for e in trace.gpu if e["name"].startswith("nccl")]
        keys = ("Collective name", "Group size", "reduction", "Rank", "Seq", "fused operations")
        self.assertEqual([[k.get(key) for key in keys] for k in kernels], [["allreduce", 3, "avg", None, None, None]] * 3)

    def test_ranges_of_older_nccl(self):
        """Before 2.25: sizes, and no communicator."""
        trace = trace_file.Trace(self.train(libraries=None, SIMNCCL_NVTX="2.18")[1])
        kernels = sorted((e for e in trace.gpu if e["name"].startswith("nccl")), key=lambda e: e["ts"])
        first, second = ({k: e["args"].get(k) for k in ("In msg nelems", "sent bytes", "received bytes", "Group size", "Seq")}
                         for e in kernels[:2])
        self.assertEqual(list(first.values()), [COUNT, None, None, None, None])
        self.assertEqual(list(second.values()), [None, COUNT // 2, None, None, None])
        root = next(e["args"] for e in kernels if "_Reduce_" in e["name"])
        self.assertEqual((root["Root Rank"], root["sent bytes"], root["reduction"]), (2, 100, "prod"))

    def test_ranges_that_do_not_fit(self):
        """Payloads that are shorter than their schema, of another type, of no schema."""
        for path in self.train(libraries=None, SIMNCCL_NVTX="wrong").values():
            trace = trace_file.Trace(path)
            kernels = [e for e in trace.gpu if e["name"].startswith("nccl")]
            self.assertEqual(len(kernels), 2 * STEPS + 8)
            for kernel in kernels:
                told = {k for k in kernel["args"] if k in ("In msg nelems", "sent bytes", "received bytes", "Seq")}
                self.assertEqual(told, set(), kernel)

    def late_rank(self, **how):
        self.train(job=how)
        code, out, err = tool("ranks", "--format=csv", "--output=" + self.folder + "/tables", self.folder + "/out")
        self.assertEqual(code, 0, out + err)
        with open(self.folder + "/tables/rank_late.csv", encoding="utf-8") as file:
            first = next(csv.DictReader(file))
        return {key.split(" (")[0]: value for key, value in first.items()}

    def test_late_by_host(self):
        row = self.late_rank(late_ns=5000000)
        self.assertEqual((row["Rank"], row["Cause"]), ("rank 2", "host"), row)

    def test_late_by_gpu(self):
        row = self.late_rank(slow=20000000, late_ns=-1)  # its host is never late
        self.assertEqual((row["Rank"], row["Cause"]), ("rank 2", "slower GPU"), row)


if __name__ == "__main__":
    unittest.main()
