# SPDX-License-Identifier: Apache-2.0
"""--graphs: one slice for each launch of a graph (whole), none (off), or one for each node, which it falls back
to where CUPTI serves other tools.

    test_graphs.py BUILD SOURCE PROGRAM
"""

import collections
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import gate
import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
REPLAYS, GRAPHS = 20, 2
LAUNCHES = REPLAYS * GRAPHS
NODES = (11, 21)  # kernels and a memset
NODE_WORK = REPLAYS * sum(NODES)


def tool(*words, **changes):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False,
                            env=dict(os.environ, **changes))
    return result.returncode, result.stdout + result.stderr


def older_cupti(cupti):
    """The file of a CUPTI that is older than the program's runtime, which must be given by name."""
    if int(cupti) >= 130000:
        return []
    return [path for path in glob.glob(os.path.join(BUILD, "tests", "simcuda", cupti, "libcupti.so.1[0-9]*"))
            if os.path.isfile(path)][:1]


class Graphs(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-graphs-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def command(self, options, cupti, words, fault, replays=REPLAYS):
        command = [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--cupti=" + cupti,
                   "--truth=" + os.path.join(self.folder, "truth")]
        command += ["--fault=" + fault] if fault else []
        variables = {"GPUTRACE_OUTPUT": os.path.join(self.folder, "out"), "GPUTRACE_BUILD": BUILD,
                     "LD_PRELOAD": preloading.with_tracer(os.path.join(BUILD, "preload", "libgputrace.so")),
                     **preloading.PATIENT, **dict(option.split("=", 1) for option in options)}
        variables.update(("GPUTRACE_CUPTI", path) for path in older_cupti(cupti))
        return command + ["env", *(f"{name}={value}" for name, value in variables.items()), PROGRAM,
                          str(replays), *words]

    def files(self):
        return [path for ending in ("json", "pftrace")
                for path in glob.glob(f"{self.folder}/out/**/*.{ending}", recursive=True)]

    def read_truth(self):
        """The device's own operations, into self.truth; the file goes."""
        with open(os.path.join(self.folder, "truth"), encoding="utf-8") as file:
            self.truth = [row for row in map(json.loads, file) if row["truth"] == "op"]
        os.unlink(file.name)

    def run_program(self, *options, **how):
        """The trace file."""
        self.run_files(*options, **how)
        path, = self.files()
        return path

    def run_files(self, *options, cupti="130000", fault="", replays=REPLAYS):
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        result = subprocess.run(self.command(options, cupti, (), fault, replays), timeout=120, stdin=subprocess.DEVNULL,
                                env=dict(os.environ, **preloading.without_tracer()), capture_output=True, text=True,
                                check=False)
        self.assertEqual((result.returncode, result.stdout), (0, "done\n"), result.stderr)
        self.said = result.stderr
        self.read_truth()

    def kill_program(self, *options, early):
        """Killed when its first half is in the trace; @early: at once."""
        shutil.rmtree(self.folder + "/out", ignore_errors=True)
        with subprocess.Popen(self.command(options, "130000", ("kill",), ""), stdin=subprocess.PIPE,
                              env=dict(os.environ, **preloading.without_tracer()), stderr=subprocess.DEVNULL) as process:
            if not early:
                gate.wait_for(lambda: any(b"outside" in pathlib.Path(path).read_bytes() for path in self.files()))
            process.stdin.close()
            self.assertIn(process.wait(timeout=120), (-9, 128 + 9))
        self.read_truth()

    def check_file(self, path):
        status, output = tool("verify", "--strict", path)
        self.assertEqual(status, 0, output)
        if path.endswith(".json"):
            lint = subprocess.run([sys.executable, os.path.join(SOURCE, "tests", "lint", "trace_lint.py"), path],
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(lint.returncode, 0, lint.stdout + lint.stderr)

    def check_whole(self, path, launches=LAUNCHES):
        """A slice for each launch, as the device had it, and the kernels outside."""
        trace = trace_file.Trace(path)
        kinds = collections.Counter(event["cat"] for event in trace.gpu)
        self.assertEqual(kinds, {"gpu_graph": launches, "kernel": launches})
        graphs = [event for event in trace.gpu if event["cat"] == "gpu_graph"]
        got = {(event["args"]["correlation"], event["args"]["stream"], event["name"], trace.duration(event))
               for event in graphs}
        true = {(row["correlation"], row["stream"], "Graph %d" % row["graph"], row["end"] - row["start"])
                for row in self.truth if row["kind"] == "graph"}
        self.assertEqual(got, true)
        ledger = trace.ledger
        self.assertEqual((ledger["records_graph"], ledger["graphs_written"]), (launches, launches))
        for key in ("graphs_untimed", "graphs_not_written", "graphs_left_out", "gpu_ops_without_call",
                    "launches_without_record", "records_unknown_kind"):
            self.assertEqual(ledger[key], 0, key)
        return trace, graphs

    def check_details(self, trace, graphs):
        """The call that launched it, with its stack and a flow, and where the graph was captured."""
        calls = {event["args"]["correlation"]: event for event in trace.calls}
        ends = {(event["id"], event["tid"]) for event in trace.events if event["ph"] == "f"}
        for event in graphs:
            args = event["args"]
            self.assertEqual(calls[args["correlation"]]["name"], "cudaGraphLaunch")
            self.assertEqual(trace_file.frame_function(args["launched by"]),
                             "replay(CUgraphExec_st*, CUstream_st*)")
            self.assertEqual(trace_file.frame_function(args["created by"]), "capture_first(CUstream_st*, float*)")
            self.assertIn((args["correlation"], event["tid"]), ends)
            self.assertEqual("Graph %d" % args["graph id"], event["name"])
        self.assertEqual({event["args"]["nodes"] for event in graphs}, set(NODES))

    def test_whole_on_every_cupti(self):
        for cupti in ("18", "22", "26", "130000", "130200", "130300", "130401"):
            with self.subTest(cupti=cupti):
                path = self.run_program("GPUTRACE_GRAPHS=whole", cupti=cupti)
                self.check_file(path)
                trace, graphs = self.check_whole(path)
                self.check_details(trace, graphs)
                self.assertEqual(trace.root["metadata"]["graphs"], "whole")
                self.assertEqual(self.said, "")

    def test_whole_where_another_tool_is_injected(self):
        """Recording begins with the first call then, before the driver is up: CUPTI 13.2 is not asked before we have started it."""
        for cupti in ("130000", "130200"):
            with self.subTest(cupti=cupti):
                path = self.run_program("GPUTRACE_GRAPHS=whole", "CUDA_INJECTION64_PATH=/another/tool.so", cupti=cupti)
                self.check_file(path)
                trace, _ = self.check_whole(path)
                self.assertEqual(trace.root["metadata"]["graphs"], "whole")
                self.assertEqual(self.said, "")

    def test_nodes_by_default(self):
        trace = trace_file.Trace(self.run_program())
        self.assertEqual(len(trace.gpu), NODE_WORK + LAUNCHES)
        self.assertEqual((trace.ledger["records_graph"], trace.ledger["graphs_written"]), (0, 0))
        self.assertNotIn("graphs", trace.root["metadata"])

    def test_off(self):
        path = self.run_program("GPUTRACE_GRAPHS=off")
        self.check_file(path)
        trace = trace_file.Trace(path)
        self.assertEqual([event["name"] for event in trace.gpu], ["outside(float*)"] * LAUNCHES)
        self.assertEqual(sum(event["name"] == "cudaGraphLaunch" for event in trace.calls), LAUNCHES)
        self.assertEqual(trace.root["metadata"]["graphs"], "off")
        ledger = trace.ledger
        self.assertEqual((ledger["records_graph"], ledger["graphs_left_out"], ledger["graphs_written"]),
                         (LAUNCHES, LAUNCHES, 0))
        self.assertEqual((ledger["launches_without_record"], ledger["gpu_ops_without_call"]), (0, 0))
        self.assertIn(f"{LAUNCHES} graphs_left_out: ", tool("stats", path)[1])

    def test_refused_where_cupti_serves_other_tools(self):
        for how in ("share", "yield"):
            for graphs in ("whole", "off"):
                with self.subTest(how=how, graphs=graphs):
                    path = self.run_program("GPUTRACE_GRAPHS=" + graphs, "GPUTRACE_COEXIST=" + how)
                    self.check_file(path)
                    trace = trace_file.Trace(path)
                    self.assertEqual(len(trace.gpu), NODE_WORK + LAUNCHES)
                    self.assertTrue(trace.root["metadata"]["graphs"].startswith("node: with --coexist="))
                    line, = self.said.splitlines()
                    self.assertIn(f"--graphs={graphs} is not possible", line)

    def test_refused_by_cupti(self):
        """As with a driver before release 515."""
        path = self.run_program("GPUTRACE_GRAPHS=whole", fault="enable:51=27")
        self.check_file(path)
        trace = trace_file.Trace(path)
        self.assertEqual(len(trace.gpu), NODE_WORK + LAUNCHES)
        self.assertTrue(trace.root["metadata"]["graphs"].startswith("node: CUPTI refused GRAPH_TRACE"))
        line, = self.said.splitlines()
        self.assertIn("--graphs=whole is not possible", line)

    def test_level_minimal(self):
        path = self.run_program("GPUTRACE_LEVEL=minimal")
        self.check_file(path)
        _, graphs = self.check_whole(path)
        self.assertEqual({tuple(sorted(event["args"])) for event in graphs},
                         {("context", "correlation", "device", "stream")})
        trace = trace_file.Trace(self.run_program("GPUTRACE_LEVEL=minimal", "GPUTRACE_GRAPHS=node"))
        self.assertEqual(len(trace.gpu), NODE_WORK + LAUNCHES)

    def test_perfetto(self):
        """Both forms have the same, and become each other."""
        for level in ("default", "minimal"):
            with self.subTest(level=level):
                path = self.run_program("GPUTRACE_GRAPHS=whole", "GPUTRACE_FORMAT=perfetto", "GPUTRACE_LEVEL=" + level)
                self.check_file(path)
                json_path = self.folder + "/converted.1.pt.trace.json"
                self.assertEqual(tool("convert", path, json_path)[0], 0)
                self.check_file(json_path)
                trace, graphs = self.check_whole(json_path)
                if level == "default":
                    self.check_details(trace, graphs)
                back = self.folder + "/back.pftrace"
                self.assertEqual(tool("convert", json_path, back)[0], 0)
                for table in ("--report=all", "--by=stack"):
                    self.assertEqual(tool("stats", table, "--format=csv", path), tool("stats", table, "--format=csv", back))
                    self.assertEqual(tool("stats", table, "--format=csv", path), tool("stats", table, "--format=csv", json_path))
                for name in ("converted.1.pt.trace.json", "back.pftrace"):
                    os.unlink(os.path.join(self.folder, name))

    def test_tables(self):
        """Sums are the device's; graphs are busy time."""
        path = self.run_program("GPUTRACE_GRAPHS=whole")
        total = sum(row["end"] - row["start"] for row in self.truth if row["kind"] == "graph")
        rows = tool("stats", "--report=cuda_gpu_graph_sum", "--format=csv", path)[1].splitlines()[1:]
        self.assertEqual(sum(int(row.split(",")[1]) for row in rows), total)
        self.assertEqual(sum(int(row.split(",")[2]) for row in rows), LAUNCHES)
        outside = [row for row in self.truth if row["kind"] == "kernel" and not row["graph"]]
        edges = sorted((row["start"], row["end"])
                       for row in outside + [row for row in self.truth if row["kind"] == "graph"])
        busy, until = 0, 0
        for start, end in edges:
            busy += max(0, end - max(start, until))
            until = max(until, end)
        line = tool("gaps", "--format=csv", path)[1].split("\nDevice,")[1].splitlines()
        titles, values = ("Device," + line[0]).split(","), line[1].split(",")
        # kernels outside and graphs of the other stream share the GPU; times are converted once each
        self.assertAlmostEqual(int(values[titles.index("Busy (ns)")]), busy, delta=len(edges))
        self.assertIn("Graphs (ns)", titles)
        self.assertIn(f", {LAUNCHES} whole graphs", tool("stats", "--summary", path)[1])

    def test_untimed(self):
        path = self.run_program("GPUTRACE_GRAPHS=whole", fault="zero_ts=3")
        status, output = tool("verify", path)
        self.assertEqual(status, 0, output)
        ledger = trace_file.Trace(path).ledger
        self.assertGreater(ledger["graphs_untimed"], 0)
        self.assertEqual(ledger["records_graph"], LAUNCHES)
        self.assertEqual(ledger["graphs_written"] + ledger["graphs_untimed"], LAUNCHES)

    def test_files_of_a_process(self):
        """The ledger of each file is that of its own events; they add up."""
        for graphs, key in (("whole", "graphs_written"), ("off", "graphs_left_out")):
            with self.subTest(graphs=graphs):
                self.run_files("GPUTRACE_GRAPHS=" + graphs, "GPUTRACE_MAX_SIZE=1M", "GPUTRACE_KEEP=0", "GPUTRACE_RING_SIZE=16M",
                               replays=2000)
                self.assertGreater(len(self.files()), 2)
                ledgers = []
                for path in self.files():
                    self.check_file(path)
                    ledgers.append(trace_file.Trace(path).ledger)
                self.assertEqual(sum(ledger[key] for ledger in ledgers), 2000 * GRAPHS)
                self.assertEqual(sum(ledger["records_graph"] for ledger in ledgers), 2000 * GRAPHS)

    @unittest.skipUnless(os.path.ismount("/dev/shm"), "no /dev/shm")
    def test_killed(self):
        """What CUPTI had put into its buffers comes out of the spool."""
        spools = tempfile.mkdtemp(prefix="gt-graphs-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, spools, ignore_errors=True)
        for graphs, form, early in (("whole", "chrome", True), ("whole", "chrome", False), ("whole", "perfetto", False),
                                    ("off", "chrome", True), ("off", "chrome", False)):
            with self.subTest(graphs=graphs, form=form, early=early):
                self.kill_program("GPUTRACE_GRAPHS=" + graphs, "GPUTRACE_FORMAT=" + form, "GPUTRACE_SPOOL=" + spools,
                                  "GPUTRACE_FLUSH_PERIOD=" + ("60000" if early else "100"), early=early)
                status, output = tool("repair", self.folder + "/out", GPUTRACE_SPOOL=spools)
                self.assertEqual(status, 0, output)
                self.assertEqual(os.listdir(spools), [])
                path, = self.files()
                status, output = tool("verify", path)
                self.assertEqual(status, 0, output)
                if form == "perfetto":
                    self.assertEqual(tool("convert", path, path + ".1.pt.trace.json")[0], 0)
                    path += ".1.pt.trace.json"
                if graphs == "whole":
                    self.check_whole(path, 2 * LAUNCHES)
                    continue
                trace = trace_file.Trace(path)
                self.assertEqual(collections.Counter(event["cat"] for event in trace.gpu), {"kernel": 2 * LAUNCHES})
                self.assertEqual((trace.ledger["records_graph"], trace.ledger["graphs_left_out"],
                                  trace.ledger["launches_without_record"]), (2 * LAUNCHES, 2 * LAUNCHES, 0))


if __name__ == "__main__":
    unittest.main()
