#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--watchdog: each kind of hang is named rightly, with the line that is to blame; the program goes on and
does what it does without the tracer; what is no hang is not reported."""

import glob
import json
import os
import re
import shutil
import sys
import tempfile
import time
import unittest

import harness
from controlled import Running

PROGRAM = harness.program("hang")
PYTHON = (sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "hang_python.py"))
SPIN_NS = 2000000000


class Hang(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")
        self.script = os.path.join(self.folder, "script")
        with open(self.script, "w", encoding="ascii") as file:
            file.write(f"_Z4spin* ns={SPIN_NS}\n")

    def reports(self):
        return sorted(glob.glob(os.path.join(self.out, "**", "*.hang*.txt"), recursive=True))

    def has_report(self):
        return bool(self.reports())

    def go(self, way, *options, fault="", gated=False, condition=None, watchdog="700ms", cupti="130000",
           program=(PROGRAM,)):
        gates = [condition or self.has_report] if gated else []
        # "beside" launches none of the kernels that the script names
        env = harness.environment(**({} if way == "beside" else {"SIMCUDA_SCRIPT": self.script}))
        traced = harness.run([*program, way], env=env, folder=self.out, fault=fault, gates=gates, cupti=cupti,
                             options=("GPUTRACE_WATCHDOG=" + watchdog, "GPUTRACE_EXIT_TIMEOUT=2000") + options)
        bare = harness.run([*program, way], gates=[lambda: True] * len(gates), cupti=cupti)
        self.assertEqual(traced[:3], bare[:3])
        self.assertEqual(traced.status, 0 if "python" in program[-1] else 3)
        self.stdout = traced.stdout
        self.said = traced.said
        self.path, = harness.traces(self.out)
        self.assertEqual(harness.lint(self.path), "")
        self.trace = harness.trace_file.Trace(self.path)
        self.notes = [event for event in self.trace.events if event["name"] == "stall"]

    def report(self):
        """The first one; it says what the note in the trace and the line on stderr say."""
        path = self.reports()[0]
        self.assertTrue(path.startswith(self.path.removesuffix(".pt.trace.json")), path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        note, line = self.notes[0], self.said[0]
        self.assertEqual(len(self.notes), len(self.said))
        verdict = text.splitlines()[1]
        self.assertEqual(note["args"]["what"], verdict)
        self.assertIn(path, line)
        self.assertIn(verdict[:200], line)
        ended = [event for event in self.trace.events if event["name"] == "stall ended"]
        with open(path.removesuffix(".txt") + ".jsonl", encoding="utf-8") as file:
            self.json, = map(json.loads, file)
        self.assertEqual((self.json["verdict"], self.json["text"]), (note["args"]["cause"], verdict))
        self.assertEqual(len(ended), len(self.notes))
        self.assertGreater(ended[0]["ts"], note["ts"])
        return note["args"]["cause"], verdict, text

    def check_frames(self, text, title, *functions):
        """The functions follow each other in the stack behind the title."""
        self.assertIn(title, text)
        stack = text[text.index(title):].split("\n\n")[0]
        at = -1
        for function in functions:
            self.assertIn("        " + function + " (", stack)
            self.assertGreater(stack.index("        " + function + " ("), at)
            at = stack.index("        " + function + " (")

    def test_kernel(self):
        for way in ("kernel", "first"):
            with self.subTest(way=way):
                self.setUp()
                self.go(way)
                cause, verdict, text = self.report()
                self.assertEqual(cause, "gpu")
                self.assertRegex(verdict, r"^the GPU never finished spin\(int\*\) on .*, launched [\d.]+ m?s ago, at "
                                          r"launch_spin \(.*\); thread \d+ \(.*\) waits in cudaStreamSynchronize$")
                self.assertEqual(text.count(" in flight, oldest first"), 1)
                self.assertIn(": 2 in flight, oldest first", text)
                self.check_frames(text, "launched from:", "launch_spin", "hang_kernel", "main")
                self.check_frames(text, "at the entry of the call:", "wait_for_stream", "main")
                self.check_frames(text, "now:", "cudaStreamSynchronize", "wait_for_stream", "main")

    def test_where_no_trace_is_open(self):
        """Outside of the window what is in flight is not known, and nothing is written but the report; --flight-recorder
        keeps the trace until there is a dump."""
        for option, verdict, traces in (("GPUTRACE_DELAY=60", "outside of the window", 0),
                                        ("GPUTRACE_FLIGHT_RECORDER=30s", "the GPU never finished spin", 1)):
            with self.subTest(option=option):
                self.setUp()
                traced = harness.run([PROGRAM, "kernel"], env=harness.environment(SIMCUDA_SCRIPT=self.script), folder=self.out,
                                     options=("GPUTRACE_WATCHDOG=700ms", "GPUTRACE_EXIT_TIMEOUT=2000", option))
                self.assertEqual(traced.status, 3)
                path, = self.reports()
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                self.assertIn(verdict, text.splitlines()[1])
                self.assertNotIn("nothing is in flight", text)
                with open(path.removesuffix(".txt") + ".jsonl", encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["gpu_work_is_recorded"], traces == 1)
                self.assertEqual(bool(harness.traces(self.out)), traces == 1)

    def test_work_that_was_launched_ahead(self):
        """CUPTI has the records of all of it until the last is done."""
        with open(self.script, "w", encoding="ascii") as file:
            file.write("_Z4spin* ns=100000000\n")
        self.go("ahead", watchdog="2s")
        self.assertEqual((self.reports(), self.notes), ([], []))

    def test_the_only_window_ends_behind_a_queue(self):
        """Its file is closed when the GPU has done what was launched."""
        with open(self.script, "w", encoding="ascii") as file:
            file.write("_Z4spin* ns=40000000\n")
        self.go("ahead", "GPUTRACE_DURATION=300ms", "GPUTRACE_CONTROL=off", watchdog="10s")
        self.assertEqual(self.trace.ledger["kernels_untimed"], 0)
        self.assertGreater(self.trace.ledger["kernels_written"], 40)

    def test_kernel_that_nobody_waits_for(self):
        self.go("unwaited", gated=True)
        cause, verdict, text = self.report()
        self.assertEqual(cause, "gpu")
        self.assertRegex(verdict, r"^the GPU never finished spin\(int\*\) .*; no thread waits for it$")
        self.check_frames(text, "now:", "hang_unwaited", "main")

    def test_stream_is_numbered(self):
        """By the records of earlier work, as the tracks of the trace are."""
        self.go("later", gated=True, condition=lambda: harness.gate.count(self.out, '"cat": "kernel"') > 0)
        cause, verdict, _ = self.report()
        self.assertEqual(cause, "gpu")
        number = next(event["args"]["stream"] for event in self.trace.gpu if event["name"].startswith("spin"))
        self.assertIn(f" on stream {number} of device 0, ", verdict)

    def test_call(self):
        """A wait that spins while the GPU has nothing to do."""
        self.go("device", fault=f"slow_sync={SPIN_NS}")
        cause, verdict, text = self.report()
        self.assertEqual(cause, "call")
        self.assertRegex(verdict, r"^the host never returned from cudaDeviceSynchronize: thread \d+ \(.*\) has been in it "
                                  r"for [\d.]+ m?s, at wait_for_device \(.*\); nothing is in flight on the GPU$")
        self.check_frames(text, "at the entry of the call:", "wait_for_device", "main")

    def test_call_without_cupti(self):
        self.go("device", "GPUTRACE_MODE=hooks", fault=f"slow_sync={SPIN_NS}")
        cause, verdict, _ = self.report()
        self.assertEqual(cause, "call")
        self.assertIn("never returned from cudaDeviceSynchronize", verdict)
        self.assertIn("GPU work is not recorded", verdict)

    def test_host(self):
        ways = {"lock": ("is in pthread_mutex_lock, called from take_lock (", "take_lock", "hang_lock"),
                "read": ("is in read, called from read_byte (", "read_byte", "hang_read"),
                "busy": ("is in ", "hang_busy", "main")}
        if harness.preloading.RUNTIMES: # a sanitizer keeps signals back while a thread computes
            del ways["busy"]
        for way, (where, *frames) in ways.items():
            with self.subTest(way=way):
                self.setUp()
                self.go(way, "GPUTRACE_WATCHDOG_IDLE=1", gated=True)
                cause, verdict, text = self.report()
                self.assertEqual(cause, "host")
                self.assertRegex(verdict, r"^nobody launched anything for [\d.]+ m?s: thread \d+ \(.*\) is in ")
                if "__interceptor_" not in verdict:  # a sanitizer is what called read
                    self.assertIn(where, verdict)
                self.assertIn("\nnothing is in flight on the GPU\n", text)
                self.assertRegex(text, r"in no CUDA call; the last one, cudaStreamSynchronize, returned [\d.]+ m?s ago")
                self.check_frames(text, "now:", *frames)

    def test_host_function(self):
        """No record says that it is done. The thread that runs it has never called CUDA."""
        for _ in range(4):  # it looks for its gate, and may be running when it is looked at
            self.setUp()
            self.go("function", gated=True)
            cause, verdict, text = self.report()
            running = [row for row in self.json["threads"] if any("wait_in_function (" in f for f in row.get("stack", ()))]
            if running:
                break
        self.assertEqual(cause, "call")
        self.assertRegex(verdict, r"never returned from cudaStreamSynchronize: .*; nothing is in flight on the GPU; the host "
                                  r"function of cudaLaunchHostFunc, launched [\d.]+ m?s ago, at launch_function \(.*\), "
                                  r"has perhaps not returned$")
        self.check_frames(text, "has perhaps not returned\n      launched from:", "launch_function", "main")
        if running or not harness.preloading.RUNTIMES:  # a sanitizer may keep the signal for its stack back
            self.assertEqual(len(running), 1)
            self.assertNotIn("last_call", running[0])
        self.assertEqual(self.json["host_function"]["call"], "cudaLaunchHostFunc")
        self.setUp()
        self.go("behind", gated=True)
        cause, verdict, _ = self.report()
        self.assertEqual(cause, "gpu")
        self.assertRegex(verdict, r"^the GPU never finished spin\(int\*\) on .*, or it waits for the host function of "
                                  r"cudaLaunchHostFunc, launched [\d.]+ m?s ago, at launch_function .*; thread \d+ .* waits in")

    def test_host_function_that_has_returned(self):
        """Who has waited for its stream, or for work behind it, knows."""
        self.go("kernel")
        self.report()
        self.assertNotIn("host_function", self.json)

    def test_threads_without_cuda(self):
        """The main thread is named if none that called CUDA is left."""
        self.go("beside", "GPUTRACE_WATCHDOG_IDLE=1", gated=True)
        cause, verdict, text = self.report()
        self.assertEqual(cause, "host")
        if "__interceptor_" not in verdict:
            self.assertIn("is in read, called from read_byte (", verdict)
        self.check_frames(text, "now:", "read_byte", "hang_read", "main")

    def test_idle_is_no_hang(self):
        """Nothing is in flight and no thread is in a call: reported only when asked for."""
        since = time.monotonic()
        # on a busy machine the first call, which makes the context, has taken 200 ms
        self.go("read", gated=True, watchdog="2s", condition=lambda: time.monotonic() > since + 5)
        self.assertEqual((self.reports(), self.notes, self.said), ([], [], []))

    def test_work_is_no_hang(self):
        since = time.monotonic()
        self.go("work", "GPUTRACE_WATCHDOG_IDLE=1", gated=True, watchdog="2s",
                condition=lambda: time.monotonic() > since + 5)
        self.assertEqual((self.reports(), self.notes, self.said), ([], [], []))

    def test_flush_hangs(self):
        """As it does in hung processes: what was waited for is known to be done all the same."""
        self.go("kernel", fault="flush=hang")
        cause, verdict, text = self.report()
        self.assertEqual(cause, "gpu")
        self.assertRegex(verdict, r"^the GPU never finished spin\(int\*\) or what was launched behind it on .*; "
                                  r"not certain: CUPTI's flush has not returned for [\d.]+ m?s$")
        self.assertIn(": 2 in flight, oldest first", text)
        self.setUp()
        self.go("device", fault=f"flush=hang,slow_sync={SPIN_NS}")
        self.assertEqual(self.report()[0], "call")
        self.setUp()
        self.go("kernel", "GPUTRACE_FLUSH_PERIOD=50", fault="flush=hang_locked")
        self.assertEqual(self.report()[0], "gpu")
        self.setUp()
        self.go("lock", "GPUTRACE_WATCHDOG_IDLE=1", fault="flush=hang", gated=True)
        cause, verdict, text = self.report()
        self.assertEqual(cause, "host")
        self.assertIn("pthread_mutex_lock, called from take_lock", verdict)
        self.assertIn("CUPTI's flush has not returned", text)

    def test_other_forms(self):
        """As .pftrace, with a CUPTI of CUDA 11.8 and 12.4."""
        for cupti in ("18", "22"):
            with self.subTest(cupti=cupti):
                self.setUp()
                self.go("kernel", cupti=cupti)
                self.assertEqual(self.report()[0], "gpu")
        self.setUp()
        env = harness.environment(SIMCUDA_SCRIPT=self.script)
        done = harness.run([PROGRAM, "kernel"], env=env, folder=self.out,
                           options=("GPUTRACE_WATCHDOG=700ms", "GPUTRACE_FORMAT=perfetto"))
        self.assertEqual(done.status, 3)
        path, = glob.glob(self.out + "/*.pftrace")
        self.assertEqual(len(self.reports()), 1)
        self.assertTrue(self.reports()[0].startswith(path.removesuffix(".pftrace")))
        status, output = harness.tool("verify", path)
        self.assertEqual(status, 0, output)

    def test_stats_tell_it(self):
        self.go("kernel")
        status, output = harness.tool("stats", self.path)
        self.assertEqual(status, 0, output)
        line, = re.findall(r"^  stall: .*$", output, re.M)
        self.assertIn("the GPU never finished spin(int*)", line)
        self.assertNotIn("frames", line)
        self.assertNotIn("stall ended", output)

    @unittest.skipIf(harness.preloading.RUNTIMES, "the simulated device does not fit an interpreter without a sanitizer")
    def test_python(self):
        """The Python lines: where the kernel was launched, who waits for it, where the host reads or computes."""
        ways = {"kernel": ("gpu", "launch"), "library": ("gpu", "library"), "read": ("host", "read"), "busy": ("host", None), "other": ("host", None)}
        for way, (cause, line) in ways.items():
            with self.subTest(way=way):
                self.setUp()
                self.go(way, "GPUTRACE_WATCHDOG_IDLE=1", gated=way not in ("kernel", "library"), program=PYTHON)
                lines = dict(re.findall(r"^line\t(\w+)\t(\d+)$", self.stdout, re.M))
                found, verdict, text = self.report()
                self.assertEqual(found, cause)
                if line:
                    self.assertIn(f" (hang_python.py:{lines[line]})", verdict)
                else:
                    self.assertRegex(verdict, r" (is in|called from) (compute|hang_busy|is_open|exists) \(" if way == "busy" else r"called from .* \(threading.py:")
                self.assertIn(f"hang_{way} (hang_python.py:", text)
                if way == "library":
                    self.assertIn(f", at launch (__init__.py:2), called from hang_library (hang_python.py:{lines['library']});", verdict)
                if way == "other":  # has never called CUDA
                    self.assertIn(f"hold (hang_python.py:{lines['hold']})", text)
                    self.assertIn("turn (hang_python.py:", text)
                    self.assertIn(f"hang_other (hang_python.py:{lines['join']})", text)
                if way == "kernel":
                    self.assertEqual(text.count(f"        wait (hang_python.py:{lines['wait']})\n"), 2)


@unittest.skipUnless(harness.has_shm(), "no /dev/shm")
class Command(unittest.TestCase):
    """gputrace hang: the same of a running process, asked for from outside."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.boxes = tempfile.mkdtemp(prefix="gputrace-test-hang.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.boxes)

    def start(self, way, *options, **how):
        running = Running(self.folder, way, self.boxes, program=(PROGRAM, way),
                          options=("GPUTRACE_EXIT_TIMEOUT=2000", *options), **how)
        self.addCleanup(running.stop)
        self.assertTrue(harness.gate.wait_for(lambda: self.tell("status", str(running.pid))[0] == 0), running.read())
        return running

    def tell(self, *words):
        return harness.tool(*words, GPUTRACE_CONTROL=self.boxes)

    def ask(self, running, verdict):
        """Its report, once it has the verdict; the program is on its way there."""
        def has_it():
            status, output = self.tell("hang", "--json", str(running.pid))
            self.assertEqual(status, 0, output)
            self.last = json.loads(output)
            return self.last["verdict"] == verdict

        self.assertTrue(harness.gate.wait_for(has_it), self.last)
        return self.last

    def end(self, running, way):
        self.assertEqual(running.end(), (3, f"{way} is over\n"))

    def test_host(self):
        running = self.start("lock")
        found = self.ask(running, "host")
        self.assertIn("pthread_mutex_lock, called from take_lock (", found["text"])
        thread, = (row for row in found["threads"] if row["tid"] == found["thread"])
        self.assertEqual((thread["state"], thread["system_call"], found["streams"]), ("waiting", "futex", []))
        self.assertTrue(any(frame.startswith("hang_lock (") for frame in thread["stack"]))
        status, output = self.tell("hang", str(running.pid))
        self.assertEqual(status, 0, output)
        self.assertIn(f"process {running.pid} (", output.splitlines()[0])
        self.assertTrue(output.splitlines()[1].startswith("nobody launched anything for "), output)
        self.end(running, "lock")

    def test_in_a_window_that_began_late(self):
        """What was launched before it may be in flight."""
        running = self.start("lock", "GPUTRACE_WAIT=yes")
        self.ask(running, "host")
        self.assertIn("GPU work is not recorded now", self.tell("hang", str(running.pid))[1])
        self.assertEqual(self.tell("start", str(running.pid))[0], 0)
        self.assertIn("\nnothing that was launched in the window is in flight on the GPU; work from before it is not known\n",
                      self.tell("hang", str(running.pid))[1])
        self.assertRegex(self.ask(running, "host")["text"], "; calls and work from before the window are not known$")
        self.end(running, "lock")

    def test_a_window_ends_behind_a_queue(self):
        """stop waits while the GPU does what was launched, though CUPTI delivers none of it until then."""
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="ascii") as file:
            file.write("_Z4spin* ns=40000000\n")
        running = self.start("ahead", before=["env", "SIMCUDA_SCRIPT=" + script])
        status, said = self.tell("stop", str(running.pid))
        self.assertEqual((status, "without times" in said), (0, False), said)
        running.end()
        ledger = harness.trace_file.Trace(harness.traces(running.out)[0]).ledger
        self.assertEqual(ledger["kernels_untimed"], 0)
        self.assertGreater(ledger["kernels_written"], 20)

    def test_flush_hangs(self):
        running = self.start("read", fault="flush=hang")
        found = self.ask(running, "host")
        if "__interceptor_" not in found["text"]:
            self.assertIn("read, called from read_byte (", found["text"])
        self.assertGreater(found["seconds_in_flush"], 0)
        self.end(running, "read")

    def test_flush_hangs_with_a_lock(self):
        """CUPTI is not asked meanwhile what it dropped: the thread that answers would wait, too."""
        running = self.start("read", "GPUTRACE_FLUSH_PERIOD=50", fault="flush=hang_locked")
        found = self.ask(running, "host")
        self.assertTrue(harness.gate.wait_for(lambda: self.ask(running, "host").get("seconds_in_flush", 0) > 1))
        self.assertGreater(found["seconds_in_flush"], 0)
        self.assertEqual(self.tell("status", str(running.pid))[0], 0)
        status, output = self.tell("stop", str(running.pid))
        self.assertEqual(status, 1)
        self.assertIn("CUPTI's flush has not returned for", output)
        self.end(running, "read")

    def test_many_threads(self):
        """A report that is longer than an answer is given in pieces."""
        running = self.start("many")
        found = self.ask(running, "host")
        idle = [row for row in found["threads"] if any(frame.startswith("idle (") for frame in row.get("stack", ()))]
        self.assertEqual(len(idle), 100)
        self.assertNotIn("threads_more", found)
        text = self.tell("hang", str(running.pid))[1]
        alike, = re.findall(r"^(\d+) threads with this stack \(.*\): [\d, to]+\n.*\n(?:    waits .*\n)?      now:\n(?:        .*\n)*?"
                            r"        idle \(", text, re.M)
        self.assertGreaterEqual(int(alike), 90)  # one may have been looked at on its way
        self.assertGreater(len(json.dumps(found)), 1 << 16)
        self.end(running, "many")

    def test_several(self):
        """One that works is no hang; one that is not there is said, and the others are answered."""
        working, reading = self.start("work"), self.start("read")
        self.ask(reading, "host")
        status, output = self.tell("hang", "--json", str(working.pid), str(reading.pid))
        self.assertEqual(status, 0, output)
        first, second = map(json.loads, output.splitlines())
        self.assertEqual((first["pid"], second["pid"]), (working.pid, reading.pid))
        self.assertEqual(second["verdict"], "host")
        self.assertIn("no hang: the last progress was ", self.ask(working, "none")["text"])
        self.assertEqual(len(re.findall(r"^process \d+ \(", self.tell("hang", "all")[1], re.M)), 2)
        status, output = self.tell("hang", str(reading.pid), "4194305")
        self.assertEqual(status, 1)
        self.assertIn("gputrace hang: 4194305: there is no such process", output)
        self.end(working, "work")
        self.end(reading, "read")

    def test_wrong_use(self):
        for words in ((), ("x",), ("--json=1", "1")):
            self.assertEqual(self.tell("hang", *words)[0], 2, words)


if __name__ == "__main__":
    unittest.main()
