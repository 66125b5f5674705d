# SPDX-License-Identifier: Apache-2.0
"""--unified-memory: page faults and migrations, against the device's truth.

    test_unified.py BUILD SOURCE PROGRAM
"""

import collections
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import preloading
import trace_file

BUILD, SOURCE, PROGRAM = (os.path.realpath(path) for path in sys.argv[1:4])
del sys.argv[1:4]
CLI = os.path.join(BUILD, "cli", "gputrace-cli")
HTOD, DTOH, CPU_FAULT, GPU_FAULT, THRASHING, THROTTLING, REMOTE = range(1, 8)  # CUpti_Activity...CounterKind
NAMES = {HTOD: "migration HtoD", DTOH: "migration DtoH", CPU_FAULT: "CPU page fault", GPU_FAULT: "GPU page faults",
         THRASHING: "thrashing", THROTTLING: "throttling", REMOTE: "remote mapping"}
CAUSES = {1: "user", 2: "coherence"}


def tool(*words):
    result = subprocess.run([CLI, *words], capture_output=True, text=True, timeout=120, check=False)
    return result.returncode, result.stdout, result.stderr


def older_cupti(cupti):
    """The file of a CUPTI that is older than the program's runtime, which must be given by name."""
    if int(cupti) >= 130000:
        return []
    return [path for path in glob.glob(os.path.join(BUILD, "tests", "simcuda", cupti, "libcupti.so.1[0-9]*"))
            if os.path.isfile(path)][:1]


class Unified(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="gt-unified-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def run_program(self, cupti="130000", fault="", status=0, **options):
        """The trace's path, what the program says, the truth, what the tracer says."""
        out, truth = (f"{self.folder}/{name}-{cupti}" for name in ("out", "truth"))
        variables = {"GPUTRACE_OUTPUT": out, "GPUTRACE_BUILD": BUILD, "GPUTRACE_UNIFIED_MEMORY": "1",
                     "LD_PRELOAD": preloading.with_tracer(os.path.join(BUILD, "preload", "libgputrace.so")),
                     "SIMCUDA_FAULT": fault, **preloading.PATIENT, **options}
        variables.update(("GPUTRACE_CUPTI", path) for path in older_cupti(cupti))
        result = subprocess.run(
            [os.path.join(SOURCE, "scripts", "simcuda"), "--build=" + BUILD, "--cupti=" + cupti, "--truth=" + truth,
             "env", *(f"{name}={value}" for name, value in variables.items()), PROGRAM],
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
        self.assertIn(result.returncode, (status, 128 - status), result.stderr)
        if status:
            code, said, err = tool("repair", "--spool=" + options["GPUTRACE_SPOOL"], out)
            self.assertEqual(code, 0, said + err)
        path, = (path for ending in ("json", "pftrace") for path in glob.glob(f"{out}/**/*.{ending}", recursive=True))
        with open(truth, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        return path, json.loads(result.stdout or "null"), [line for line in lines if line["truth"] == "unified"], result.stderr

    def facts(self, event):
        args = event["args"]
        return (event["name"], args["address"], args.get("bytes", args.get("faults", args.get("pc", 0))),
                args.get("from", args.get("processor", args.get("processors"))), args.get("to"),
                args.get("cause", args.get("access")))

    def truth_of(self, line):
        ends = ["CPU" if line[end] == -1 else f"GPU {line[end]}" for end in ("from", "to")]
        kind = line["kind"]
        if kind in (HTOD, DTOH):
            return (NAMES[kind], line["address"], line["value"], *ends, CAUSES[line["flags"]])
        if kind == REMOTE:
            return (NAMES[kind], line["address"], line["value"], *ends, "thrashing")
        who = {CPU_FAULT: "CPU", THRASHING: "CPU, GPU 0"}.get(kind, ends[0])
        return (NAMES[kind], line["address"], line["value"], who, None,
                {CPU_FAULT: "read", GPU_FAULT: "write"}.get(kind))

    def check_trace(self, path, truth):
        trace = trace_file.Trace(path)
        events = [event for event in trace.events if event.get("cat") == "unified_memory"]
        self.assertEqual(collections.Counter(map(self.facts, events)), collections.Counter(map(self.truth_of, truth)))
        self.assertEqual(trace.ledger["records_unified"], len(truth))
        rows = {event["args"]["name"] for event in trace.events if event["name"] == "thread_name"}
        self.assertLessEqual({"GPU 0 unified memory", "CPU unified memory"}, rows)
        long = [event for event in events if event["name"].startswith(("migration", "GPU page"))]
        self.assertTrue(all(trace.duration(event) > 0 for event in long))

    def check_table(self, path, planted, truth):
        """By the line that allocated, and the kernel that ran then."""
        code, out, err = tool("memory", "--format=json", path)
        self.assertEqual(code, 0, err)
        rows = {row["Allocated By"].split("(")[0]: row for row in json.loads(out)["memory_unified"]}
        self.assertEqual(set(rows), {"allocate_input", "allocate_state"})
        self.assertEqual(rows["allocate_input"]["To GPU (B)"], planted["input"])
        self.assertEqual((rows["allocate_input"]["GPU Faults"], rows["allocate_input"]["Thrashing"]), (0, 0))
        state, of = rows["allocate_state"], collections.Counter(line["kind"] for line in truth)
        self.assertEqual(state["To CPU (B)"], planted["state"] * (of[DTOH] - 3))
        self.assertEqual((state["Thrashing"], state["CPU Faults"]), (of[THRASHING], of[CPU_FAULT] - 1))
        self.assertGreater(state["Thrashing"], 0)
        self.assertEqual((state["Kernel"].split("(")[0], state["Kernels"], state["Remote Mappings"]), ("use_state", 1, 1))

    def test_every_layout(self):
        for cupti in ("18", "26", "130401"):
            with self.subTest(cupti):
                path, planted, truth, said = self.run_program(cupti)
                self.assertEqual({line["kind"] for line in truth}, set(NAMES))
                self.assertEqual(said, "")
                self.check_trace(path, truth)
                self.check_table(path, planted, truth)
                self.assertEqual(tool("verify", path)[0], 0)

    def test_pftrace(self):
        path, planted, truth, _ = self.run_program(GPUTRACE_FORMAT="perfetto")
        self.check_table(path, planted, truth)
        self.assertEqual(tool("convert", path, self.folder + "/as.json")[0], 0)
        self.check_trace(self.folder + "/as.json", truth)

    def loadings(self, path):
        """What was loaded, and the kernel that waited for it; all kernels."""
        events = trace_file.Trace(path).events
        return (sorted((event["name"], event["args"].get("kernel", "")) for event in events
                       if event.get("cat") == "overhead" and "Loading" in event["name"]),
                {event["name"] for event in events if event.get("cat") == "kernel"})

    def test_loading(self):
        """The kernel whose launch waited is on the slice, where CUPTI tells the call."""
        for cupti, knows in (("18", False), ("22", True), ("130000", True)):
            with self.subTest(cupti):
                path, _, _, _ = self.run_program(cupti, fault="loading")
                found, kernels = self.loadings(path)
                self.assertEqual(len(kernels), 2)
                self.assertEqual(found, sorted(
                    [("Lazy Function Loading", name if knows else "") for name in kernels] +
                    [("Runtime Triggered Module Loading", "")] * 2))
                self.assertEqual(tool("verify", path)[0], 0)

    def test_loading_in_other_form(self):
        path, _, _, _ = self.run_program(fault="loading", GPUTRACE_FORMAT="perfetto")
        self.assertEqual(tool("convert", path, self.folder + "/as.json")[0], 0)
        found, kernels = self.loadings(self.folder + "/as.json")
        self.assertEqual({kernel for _, kernel in found}, {"", *kernels})

    def test_sqlite(self):
        """The tables that nsys has of it, and what its report um_sum asks them."""
        path, _, truth, _ = self.run_program()
        self.assertEqual(tool("export", f"--sqlite={self.folder}/a.sqlite", path)[0], 0)
        db = sqlite3.connect(self.folder + "/a.sqlite")
        self.addCleanup(db.close)
        of = collections.defaultdict(list)
        for line in truth:
            of[line["kind"]].append(line)
        for kind, number in ((HTOD, 11), (DTOH, 12)):
            rows = db.execute("SELECT virtualAddress, bytes, migrationCause, deviceId FROM CUPTI_ACTIVITY_KIND_MEMCPY "
                              "WHERE copyKind = ?", (number,)).fetchall()
            self.assertEqual(sorted(rows), sorted((line["address"], line["value"], line["flags"], 0) for line in of[kind]))
        rows = db.execute("SELECT address, sum(numberOfPageFaults), min(end > start), label FROM "
                          "CUDA_UM_GPU_PAGE_FAULT_EVENTS JOIN ENUM_CUDA_UNIF_MEM_ACCESS_TYPE ON id = faultAccessType "
                          "GROUP BY address").fetchall()
        self.assertEqual({row[0]: row[1] for row in rows}, collections.Counter(
            {address: sum(line["value"] for line in of[GPU_FAULT] if line["address"] == address)
             for address in {line["address"] for line in of[GPU_FAULT]}}))
        self.assertEqual({row[2:] for row in rows}, {(1, "Write")})
        rows = db.execute("SELECT address, originalFaultPc, value, p.pid FROM CUDA_UM_CPU_PAGE_FAULT_EVENTS f "
                          "JOIN StringIds ON id = CpuInstruction JOIN PROCESSES p USING (globalPid)").fetchall()
        self.assertEqual(sorted(row[:3] for row in rows),
                         sorted((line["address"], line["value"], hex(line["value"])) for line in of[CPU_FAULT]))
        self.assertEqual(len({row[3] for row in rows}), 1)

    def test_killed(self):
        """By SIGKILL and by a crash, in a launch: what was recorded is there, once, and the ledger adds up."""
        spools = tempfile.mkdtemp(prefix="gt-unified-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, spools, ignore_errors=True)
        for cupti, death, status, more in (("130000", "kill", -9, {}), ("22", "kill", -9, {"GPUTRACE_FORMAT": "perfetto"}),
                                           ("26", "segv", -11, {"GPUTRACE_ON_CRASH": "1"})):
            with self.subTest(death=death, more=more):
                path, _, truth, _ = self.run_program(cupti, fault=f"loading,die:{death}=7", status=status,
                                                     GPUTRACE_MEMORY="1", GPUTRACE_SPOOL=spools, **more)
                code, out, err = tool("verify", path)
                self.assertEqual(code, 0, out + err)
                if "GPUTRACE_FORMAT" in more:
                    self.assertEqual(tool("convert", path, path + ".json")[0], 0)
                    path += ".json"
                trace = trace_file.Trace(path)
                found = collections.Counter(self.facts(e) for e in trace.events if e.get("cat") == "unified_memory")
                self.assertEqual(found.total(), trace.ledger["records_unified"])
                self.assertGreaterEqual(found.total(), 10 if death == "kill" else 0)  # not what CUPTI still had
                self.assertEqual(found - collections.Counter(map(self.truth_of, truth)), collections.Counter())
                self.assertEqual(trace.ledger["records_overhead"], trace.ledger["overheads_written"])
                self.assertEqual([call["args"]["memory"] for call in trace.calls if "memory" in call["args"]],
                                 ["allocate", "release", "allocate"])

    def test_refused(self):
        """One line, and the rest goes on."""
        path, _, truth, said = self.run_program(fault="enable:25=28")
        self.assertEqual(truth, [])
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("unified memory is not recorded: ", said)
        self.assertIn("not possible on this system", said)
        trace = trace_file.Trace(path)
        self.assertEqual(len([event for event in trace.events if event.get("cat") == "kernel"]), 9)
        self.assertTrue([event for event in trace.events if event["name"] == "unified memory is not recorded"])

    def test_not_ready(self):
        """CUPTI accepts the counters late: when the first context is there, by the drain thread, or never."""
        path, planted, truth, said = self.run_program(fault="not_ready=1")
        self.assertEqual(said, "")
        self.check_trace(path, truth)
        self.check_table(path, planted, truth)
        path, _, truth, said = self.run_program("26", fault="not_ready=2")
        self.assertEqual(said, "")
        self.assertEqual(trace_file.Trace(path).ledger["records_unified"], len(truth))
        path, _, truth, said = self.run_program("130401", fault="not_ready=1000000000")
        self.assertEqual(truth, [])
        self.assertRegex(said, r"^gputrace: unified memory is not recorded: .* failed with CUPTI_ERROR_NOT_READY \(13\): .*\n$")
        trace = trace_file.Trace(path)
        self.assertEqual(len([event for event in trace.gpu if event.get("cat") == "kernel"]), 9)
        self.assertTrue([event for event in trace.events if event["name"] == "unified memory is not recorded"])

    def test_early(self):
        """CUPTI is not asked while the program is in cuInit, by no thread: here what is asked too early is refused for good."""
        for cupti in ("130000", "22"):
            with self.subTest(cupti=cupti):
                path, planted, truth, said = self.run_program(cupti, fault="early_counters=999,slow_init=500000000",
                                                              GPUTRACE_FLUSH_PERIOD="20")
                self.assertEqual(said, "")
                self.assertEqual(trace_file.Trace(path).ledger["records_unified"], len(truth))
                self.check_table(path, planted, truth)

    def test_hooks(self):
        """Without CUPTI one line says that there is nothing of it."""
        _, _, truth, said = self.run_program(GPUTRACE_MODE="hooks")
        self.assertEqual((truth, said), ([], "gputrace: --unified-memory records nothing without CUPTI: --mode=hooks\n"))


if __name__ == "__main__":
    unittest.main()
