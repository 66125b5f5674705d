#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace start, stop and flush: each window is a trace of its own, of all that the device did in it."""

import fcntl
import glob
import os
import subprocess
import time
import unittest

import controlled
import harness

ROUNDS = int(os.environ.get("RELIABILITY_ROUNDS", "15"))


class Windows(controlled.Windows):
    def test_wait_start_stop(self):
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        self.assertIn("state                waiting", self.good("status", "all"))
        self.assertEqual(harness.traces(run.out), [])
        said = self.good("start", str(run.pid))
        self.assertRegex(said, rf"^{run.pid}: recording into {run.out}/.*\.pt\.trace\.json\n$")
        self.assertIn("is being recorded already", self.good("start", "all"))
        self.good("flush", "all")
        self.assertTrue(self.recorded(run))
        said = self.good("stop", "all")
        path, = harness.traces(run.out)
        self.assertEqual(said, f"{run.pid}: closed {path}\n")
        trace = harness.trace_file.Trace(path)  # while the program goes on
        self.assertGreater(len(trace.gpu), 0)
        self.assertGreater(trace.ledger["calls_passed"], 0)
        self.assertRegex(trace.root["metadata"]["window"], r"^from \d+ ms to \d+ ms, window 1$")
        self.assertEqual(self.ps()[0]["State"], "waiting")
        self.assertIn("is not being recorded", self.good("stop", "all"))
        self.assertIn("is not being recorded", self.good("flush", "all"))
        self.end(run)
        self.check("one", path)

    def test_never_started(self):
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        self.end(run)
        self.assertEqual(harness.traces(run.out), [])

    def test_stopped_from_the_start(self):
        """Two traces: until the stop, and from the start to the end of the program."""
        run = self.launch("one")
        self.assertTrue(self.recorded(run))
        self.good("stop", "all")
        self.good("start", "all")
        self.end(run)
        paths = harness.traces(run.out)
        self.assertEqual(len(paths), 2)
        traces = [self.check("one", path) for path in sorted(paths, key=controlled.started)]
        self.assertIn("window 1", traces[0].root["metadata"]["window"])
        self.assertRegex(traces[1].root["metadata"]["window"], r"^from \d+ ms on, window 2$")

    def test_ends_while_it_waits(self):
        run = self.launch("one")
        self.good("stop", "all")
        self.end(run)
        path, = harness.traces(run.out)
        self.check("one", path)

    def test_rounds(self):
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        for _ in range(ROUNDS):
            self.good("start", "all")
            self.good("stop", "all")
        self.end(run)
        paths = harness.traces(run.out)
        self.assertEqual(len(paths), ROUNDS)
        traces = [self.check("one", path) for path in sorted(paths, key=controlled.started)]
        self.assertGreater(sum(len(trace.gpu) for trace in traces), 0)
        ids = [event["args"]["correlation"] for trace in traces for event in trace.gpu]
        self.assertEqual(len(ids), len(set(ids)))
        for number, trace in enumerate(traces, 1):
            self.assertTrue(trace.root["metadata"]["window"].endswith(f", window {number}"))

    def test_graphs_made_while_nothing_is_recorded(self):
        """Their launch would crash in CUPTI if --graphs=whole switched its kind off and on."""
        truth, out = os.path.join(self.folder, "truth"), os.path.join(self.folder, "out")
        os.mkdir(truth)

        def replayed():
            return sum(row["truth"] == "op" and row["kind"] == "graph" for row in harness.truth_rows(truth)) == 5

        gates = [lambda: '"gpu_graph"' in "".join(harness.gate.texts(out)) and self.tell("stop", "all")[0] == 0,
                 lambda: replayed() and self.tell("start", "all")[0] == 0]
        result = harness.run([harness.program("ranges"), *"graph replay=2 rest-until graph replay=3 rest-until replay=4".split()],
                             gates=gates, truth=truth, folder=out,
                             options=(f"GPUTRACE_CONTROL={self.boxes}", "GPUTRACE_GRAPHS=whole", "GPUTRACE_FLUSH_PERIOD=100"))
        self.assertEqual((result.status, result.stderr), (3, []))
        traces = [self.check("", path) for path in sorted(harness.traces(out), key=controlled.started)]
        self.assertEqual([[event["cat"] for event in trace.gpu] for trace in traces], [["gpu_graph"] * 2, ["gpu_graph"] * 4])

    def test_eight_processes(self):
        runs = {f"run{rank}": self.launch(f"run{rank}", f"RANK={rank}", "WORLD_SIZE=8", "GPUTRACE_WAIT=yes")
                for rank in range(8)}
        for _ in range(2):
            self.assertEqual(self.good("start", "all").count("recording into"), 8)
            self.assertEqual({row["State"] for row in self.ps()}, {"recording"})
            self.assertEqual(self.good("stop", "all").count(": closed "), 8)
            self.assertEqual({row["State"] for row in self.ps()}, {"waiting"})
        for name, run in runs.items():
            self.end(run)
            self.assertEqual(len(harness.traces(run.out)), 2)
            for path in harness.traces(run.out):
                self.check(name, path)

    def test_named_twice(self):
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        for words, answer in (("start", "recording into"), ("status", "state"), ("stop", ": closed ")):
            self.assertEqual(self.good(words, str(run.pid), str(run.pid)).count(answer), 1)
        run.end()

    def test_timeout_while_another_command_speaks(self):
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        box, = glob.glob(os.path.join(self.boxes, "*"))
        with open(box, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            began = time.monotonic()
            status, said = self.tell("start", "--timeout=500ms", str(run.pid))
            self.assertLess(time.monotonic() - began, 20)  # without it half a minute
        self.assertEqual(status, 1)
        self.assertIn("other commands are speaking to it", said)
        run.end()

    def test_an_empty_window(self):
        """The threads wait at the gate of a program that does nothing meanwhile."""
        run = self.start("one", program=(harness.program("coexist_linked"), "work=20", "first", "rest-until", "work=5"),
                         options=("GPUTRACE_WAIT=yes",))
        self.good("start", "all")
        self.assertIn("there was no CUDA call in this window", self.good("stop", "all"))
        path, = harness.traces(run.out)
        status, output = harness.tool("verify", "--strict", path)
        self.assertEqual(status, 0, output)
        self.assertEqual(harness.trace_file.Trace(path).gpu, [])
        status, output = harness.tool("stats", path)
        self.assertEqual(status, 0, output)
        run.end()

    def test_duration(self):
        """Each window is so long."""
        run = self.launch("one", "GPUTRACE_WAIT=yes", "GPUTRACE_DURATION=100ms")
        for number in (1, 2):
            self.good("start", "all")
            self.assertTrue(harness.gate.wait_for(lambda: self.ps()[0]["State"] == "waiting"))
            self.assertEqual(len(harness.traces(run.out)), number)
        self.end(run)
        for path in harness.traces(run.out):
            self.check("one", path)

    def test_start_before_its_delay(self):
        run = self.launch("one", "GPUTRACE_DELAY=1h")
        self.assertIn("recording into", self.good("start", "all"))
        self.end(run)
        path, = harness.traces(run.out)
        self.check("one", path)

    def test_ranges_are_not_for_commands(self):
        run = self.launch("one", "GPUTRACE_CAPTURE_RANGE=cudaProfilerApi")
        for word in ("start", "stop"):
            status, output = self.tell(word, "all")
            self.assertEqual((status, output.count("\n")), (1, 1), output)
            self.assertIn("its windows are the ranges of --capture-range", output)
        self.end(run)

    def test_wait_without_a_mailbox(self):
        """The library alone says so, and records."""
        run = controlled.Running(self.folder, "one", "off", options=("GPUTRACE_WAIT=yes",))
        self.addCleanup(run.stop)
        self.assertTrue(harness.gate.wait_for(lambda: "first" in run.read()))
        status, said = run.end()
        self.assertEqual(status, 3)
        self.assertIn("gputrace: --wait: nobody can control this process", said)
        self.assertEqual(len(harness.traces(run.out)), 1)

    def wakes(self, pid):
        """How often our threads have gone to sleep so far."""
        total = 0
        for path in glob.glob(f"/proc/{pid}/task/*/status"):
            with open(path, encoding="utf-8") as file:
                fields = dict(line.split(":", 1) for line in file)
            if fields["Name"].strip().startswith("gputrace-"):
                total += int(fields["voluntary_ctxt_switches"])
        return total

    @unittest.skipUnless(tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (5, 16),
                         "the kernel cannot wait for two words")
    def test_rests_outside_of_windows(self):
        """A program that does nothing is hardly woken, and yet a command is answered."""
        run = controlled.Running(self.folder, "idle", self.boxes, program=(harness.program("hang"), "read"),
                      options=("GPUTRACE_WAIT=yes",))
        self.addCleanup(run.stop)
        self.assertTrue(harness.gate.wait_for(lambda: self.tell("status", str(run.pid))[0] == 0), run.read())
        time.sleep(5)
        before = self.wakes(run.pid)
        time.sleep(4)
        self.assertIn(self.wakes(run.pid) - before, range(1, 30))
        for words in ("start", "all"), ("flush", "all"), ("stop", "all"), ("status", "all"):
            self.good(*words)
        self.assertEqual(run.end(), (3, "read is over\n"))

    def test_wait_with_what_it_does_not_go_with(self):
        for option, text in (("--control=off", "nobody could start"), ("--schedule=1,1,1,1", "ranges begin"),
                             ("--capture-range=cudaProfilerApi", "ranges begin")):
            words = [os.path.join(harness.SOURCE, "scripts", "gputrace"), "run", "--wait", option, "true"]
            run = subprocess.run(words, env=harness.environment(), capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), run.stderr)
            self.assertIn(text, run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
