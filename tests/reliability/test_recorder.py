#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--flight-recorder: nothing is written until there is a dump, and a dump has what is kept, all of it and
nothing else; its ledger says how much was older; the program does not notice."""

import errno
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness

PROGRAM = harness.program("ranges")
FAILWRITE = os.path.join(harness.PROGRAMS, "libfailwrite.so")
KILLWRITE = os.path.join(harness.PROGRAMS, "libkillwrite.so")
GPUTRACE = os.path.join(harness.SOURCE, "scripts", "gputrace")
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
MS = 1000000
ON = "GPUTRACE_FLIGHT_RECORDER="
SIGNAL = "GPUTRACE_DUMP_SIGNAL=USR2"
NEVER = "GPUTRACE_DUMP_AT_EXIT=never"


def closed(folder, count):
    return harness.gate.count(folder, '"ledger": {') >= count


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="gt-recorder-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = os.path.join(self.folder, "out")

    def traces(self):
        return sorted(harness.traces(self.out) if os.path.isdir(self.out) else [],
                      key=lambda path: path.rsplit(".dump", 1)[1])

    def gates(self, steps):
        """Each waits for the dump before it."""
        return [lambda count=i + 1: closed(self.out, count) for i in range(steps.count("rest-until"))]

    def go(self, steps, *options, keep="60s,64M", cupti="130000", program=PROGRAM):
        """Traces of a program that does these steps, as without us."""
        words = [program] + steps.split()
        traced = harness.run(words, truth=self.folder, folder=self.out, gates=self.gates(steps), cupti=cupti,
                             options=[ON + keep, *options])
        quiet = ["rest=0" if word == "USR2" and "handle" not in words else word for word in words]
        bare = harness.run(quiet, gates=[lambda: True] * steps.count("rest-until"), cupti=cupti)
        self.assertEqual(traced[:3], bare[:3])
        self.said = traced.said
        self.truth = harness.Truth(self.folder)
        return self.traces()

    def read(self, path, strict=True):
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", *["--strict"] * strict, path)
        self.assertEqual(status, 0, output)
        return harness.trace_file.Trace(path)

    def did(self):
        """What the device did, in the order of the launches."""
        return sorted(op["correlation"] for op in self.truth.operations)

    def told(self, trace):
        return sorted(event["args"]["correlation"] for event in trace.gpu if event["cat"] in GPU)

    def note(self, trace):
        found = [event for event in trace.events if event["ph"] == "i" and event["name"] == "dump"]
        self.assertEqual(len(found), 1)
        return found[0]

    def since(self, trace):
        """From when on all is there, in ms of the session."""
        return int(re.match(r"from (\d+) ms to \d+ ms, dump", trace.root["metadata"]["window"])[1])

    def named(self, trace, name):
        return [event for event in trace.slices if event["name"] == name and event["cat"] == "user_annotation"]


class Dumps(Base):
    def test_by_signal(self):
        """Two in a row: each has what came since the one before. A good end writes nothing."""
        for options in ((), ("GPUTRACE_MODE=hooks",)):
            with self.subTest(options=options):
                self.setUp()
                first, second = self.go("work=5 USR2 rest-until work=7 USR2 rest-until work=3 exit=0", SIGNAL, *options)
                one, two = self.read(first), self.read(second)
                self.assertEqual(len(self.said), 2)
                self.assertIn("dump 1 (SIGUSR2): " + first, self.said[0])
                self.assertRegex(two.root["metadata"]["window"], r"^from \d+ ms to \d+ ms, dump 2 \(SIGUSR2\)$")
                if options:
                    self.assertEqual([len(trace.calls) >= 10 for trace in (one, two)], [True, True])
                    continue
                self.assertEqual(self.told(one), self.did()[:15])
                self.assertEqual(self.told(two), self.did()[15:36])
                for trace in (one, two):
                    self.assertEqual(sum(event["ph"] == "s" for event in trace.events), len(trace.gpu))
                    self.assertEqual(self.note(trace)["args"]["what"], "SIGUSR2")
                    self.assertTrue(all("stack" in event["args"] for event in trace.gpu))
                named = [{(event["pid"], event["tid"], event["args"]["name"]) for event in trace.events
                          if event["name"] == "thread_name"} for trace in (one, two)]
                self.assertLessEqual(*named)

    def test_perfetto(self):
        def dumps():
            return glob.glob(os.path.join(self.out, "*.pftrace"))

        harness.run([PROGRAM] + "work=5 USR2 rest-until work=7 exit=1".split(), folder=self.out,
                    options=[ON + "60s", SIGNAL, "GPUTRACE_FORMAT=perfetto"],
                    gates=[lambda: any(harness.tool("verify", "--strict", path)[0] == 0 for path in dumps())])
        paths = dumps()
        self.assertEqual(len(paths), 2)
        for path in paths:
            status, output = harness.tool("verify", "--strict", path)
            self.assertEqual(status, 0, output)

    def test_exit_status(self):
        """A dump where the end is bad; --dump-at-exit says otherwise."""
        for end, option, count in (("exit=0", "", 0), ("exit=4", "", 1), ("_exit=5", "", 1), ("_exit=0", "", 0),
                                   ("exit=4", NEVER, 0), ("exit=0", "GPUTRACE_DUMP_AT_EXIT=always", 1)):
            with self.subTest(end=end, option=option):
                self.setUp()
                paths = self.go(f"push=outer work=6 {end}", *[option] * bool(option))
                self.assertEqual(len(paths), count)
                self.assertEqual(len(self.said), count)
                if count:
                    trace = self.read(paths[0])
                    self.assertEqual(self.told(trace), self.did())
                    self.assertEqual(self.note(trace)["args"]["what"], "exit status " + end.rsplit("=", 1)[1])
                    outer, = self.named(trace, "outer")
                    self.assertTrue(outer["args"]["unfinished"])

    @unittest.skipIf(os.environ.get("ASAN_OPTIONS"), "a sanitizer has the signal")
    def test_crash(self):
        path, = self.go("work=6 segv", "GPUTRACE_ON_CRASH=1")
        trace = self.read(path)
        self.assertEqual(self.told(trace), self.did())
        self.assertEqual(self.note(trace)["args"]["what"], "SIGSEGV")
        crash, = [event for event in trace.events if event["name"] == "crash"]
        self.assertIn("fault", crash["args"]["frames"][0])

    def test_nothing_in_it(self):
        path, = self.go("work=6 rest=400 USR2 rest-until exit=0", SIGNAL, keep="20ms,1M")
        trace = self.read(path)
        self.assertEqual(trace.gpu + trace.calls, [])
        self.assertEqual(len(self.said), 1)
        self.assertRegex(self.said[0], "dump 1 .*: nothing was recorded in that time$")
        self.assertEqual(trace.ledger["kernels_older"], 6)


class Asked(Base):
    """By gputrace dump, while the program rests."""

    def setUp(self):
        super().setUp()
        self.boxes = tempfile.mkdtemp(prefix="gt-recorder-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.boxes, ignore_errors=True)

    def dump(self):
        """Once there is a process to ask."""
        if not self.answers:
            self.answers.append(harness.tool("dump", "--control=" + self.boxes, "all"))
        return self.answers[0][0] == 0 or self.answers.clear()

    def test_command(self):
        self.answers = []
        result = harness.run([PROGRAM] + "push=outer work=5 rest-until work=4 exit=0".split(), folder=self.out,
                             truth=self.folder, gates=[self.dump],
                             options=[ON + "60s", "GPUTRACE_CONTROL=" + self.boxes])
        self.assertEqual(result.status, 0)
        path, = self.traces()
        self.assertIn(path, self.answers[0][1])
        trace = self.read(path)
        self.truth = harness.Truth(self.folder)
        self.assertEqual(self.told(trace), self.did()[:len(trace.gpu)])
        self.assertEqual(self.note(trace)["args"]["what"], "gputrace dump")

    def test_set(self):
        """The recorder has no window that --duration could end; what may change is noted in the next dump."""
        self.answers = []

        def set_and_dump():
            if not self.answers:
                self.answers.append(harness.tool("set", "--control=" + self.boxes, "duration=1ms", "all"))
            if "has no window that could end" not in self.answers[0][1]:
                return bool(self.answers.clear())
            self.answers.append(harness.tool("set", "--control=" + self.boxes, "flush-period=100", "all"))
            self.answers.append(harness.tool("dump", "--control=" + self.boxes, "all"))
            return True

        harness.run([PROGRAM] + "work=5 rest-until work=4 exit=3".split(), folder=self.out, truth=self.folder,
                    gates=[set_and_dump], options=[ON + "60s", "GPUTRACE_CONTROL=" + self.boxes])
        self.assertEqual([status for status, _ in self.answers], [1, 0, 0])
        one, two = map(self.read, self.traces())
        self.truth = harness.Truth(self.folder)
        self.assertEqual(self.told(one) + self.told(two), self.did())
        changed, = [event for event in one.events if event["name"] == "option changed"]
        self.assertEqual(changed["args"]["what"], "flush-period=100")

    def test_no_file(self):
        """What was to be dumped stays for a dump that can be written."""
        self.answers = []

        def pid():
            processes = json.loads(harness.tool("ps", "--format=json", "--control=" + self.boxes)[1])["processes"]
            return processes[0]["PID"] if processes else None

        def refused_then_dumped():
            if not pid():
                return False
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            limits = resource.prlimit(pid(), resource.RLIMIT_NOFILE, (3, most))
            self.answers.append(harness.tool("dump", "--control=" + self.boxes, "all"))
            resource.prlimit(pid(), resource.RLIMIT_NOFILE, limits)
            self.answers.append(harness.tool("dump", "--control=" + self.boxes, "all"))
            return True

        harness.run([PROGRAM] + "work=5 rest-until work=4 exit=0".split(), folder=self.out, truth=self.folder,
                    gates=[refused_then_dumped], options=[ON + "60s", "GPUTRACE_CONTROL=" + self.boxes])
        self.assertEqual([status for status, _ in self.answers], [1, 0])
        self.assertIn("(too many open files): what is kept stays", self.answers[0][1])
        path, = self.traces()
        trace = self.read(path)
        self.truth = harness.Truth(self.folder)
        self.assertEqual(self.told(trace), self.did()[:len(trace.gpu)])

    @unittest.skipIf(harness.preloading.RUNTIMES, "a library that is preloaded before the sanitizer's")
    def test_a_dump_that_cannot_be_closed(self):
        """Its header stands, the disk is full: what was to be dumped stays for the next one."""
        full, answers = os.path.join(self.folder, "full"), []

        def refused_then_dumped():
            if '"PID"' not in harness.tool("ps", "--format=json", "--control=" + self.boxes)[1]:
                return False
            with open(full, "w", encoding="ascii"):
                pass
            answers.append(harness.tool("dump", "--control=" + self.boxes, "all"))
            os.unlink(full)
            answers.append(harness.tool("dump", "--control=" + self.boxes, "all"))
            return True

        result = harness.run([PROGRAM] + "work=5 rest-until work=4 exit=0".split(), folder=self.out, truth=self.folder,
                             gates=[refused_then_dumped],
                             options=[ON + "60s", "GPUTRACE_CONTROL=" + self.boxes, "FAILWRITE_WHILE=" + full,
                                      f"LD_PRELOAD={FAILWRITE}:{harness.LIBRARY}", f"FAILWRITE_ERRNO={errno.ENOSPC}",
                                      "FAILWRITE_FROM=2"])
        self.assertEqual([status for status, _ in answers], [1, 0])
        self.assertIn("(disk full): what is kept stays", answers[0][1])
        self.assertIn("the next dump has what is in it", "".join(result.said))
        first, second = sorted(self.traces(), key=os.path.getmtime)
        trace = self.read(second)
        self.truth = harness.Truth(self.folder)
        self.assertEqual(self.told(trace), self.did()[:len(trace.gpu)])
        with open(first, encoding="utf-8") as file:
            self.assertNotIn('"ledger"', file.read())

    def test_no_file_at_the_end(self):
        """The spool has what could not be written."""
        def limited():
            """Once it has recorded the first work: the parts of the spool that it needs are made then."""
            said = harness.tool("status", "--control=" + self.boxes, "all")[1]
            if not re.search(r"^\s*kernels:? +5$", said, re.M):
                return False
            processes = json.loads(harness.tool("ps", "--format=json", "--control=" + self.boxes)[1])["processes"]
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.prlimit(processes[0]["PID"], resource.RLIMIT_NOFILE, (3, most))
            return True

        for spool in ("off", self.boxes):
            with self.subTest(spool=spool):
                shutil.rmtree(self.out, ignore_errors=True)
                result = harness.run([PROGRAM] + "work=5 rest-until work=4 exit=3".split(), folder=self.out,
                                     truth=self.folder, gates=[limited],
                                     options=[ON + "60s", "GPUTRACE_CONTROL=" + self.boxes, "GPUTRACE_SPOOL=" + spool])
                self.assertEqual(result.status, 3)
                self.assertIn("(too many open files)", result.said[0])
                if spool == "off":
                    self.assertEqual(len(result.said), 1)
                    continue
                self.assertIn("gputrace repair makes one", result.said[1])
                status, output = harness.tool("repair", "--begun", "--spool=" + spool, self.folder)
                self.assertEqual(status, 0, output)
                path, = self.traces()
                trace = self.read(path)
                self.assertEqual(len(self.told(trace)), 27)
                self.assertEqual(glob.glob(spool + "/*.spool"), [])

    def test_no_descriptor_from_early_on(self):
        """What cannot become part of the spool is lost at the end: repair says so, whenever that began."""
        def limited():
            processes = json.loads(harness.tool("ps", "--format=json", "--control=" + self.boxes)[1])["processes"]
            if processes:
                most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
                resource.prlimit(processes[0]["PID"], resource.RLIMIT_NOFILE, (3, most))
            return bool(processes)

        for _ in range(6):
            shutil.rmtree(self.out, ignore_errors=True)
            result = harness.run([PROGRAM] + "work=5 rest-until work=4 exit=3".split(), folder=self.out,
                                 truth=self.folder, gates=[limited],
                                 options=[ON + "60s", "GPUTRACE_CONTROL=" + self.boxes, "GPUTRACE_SPOOL=" + self.boxes])
            self.assertEqual(result.status, 3)
            status, output = harness.tool("repair", "--begun", "--spool=" + self.boxes, self.folder)
            if not self.traces():
                self.assertEqual(status, 1, output)
                self.assertRegex(output, r"nothing in it; [1-9]\d* bytes could not be put into it, and what they held is lost")
            self.assertEqual(glob.glob(self.boxes + "/*.spool"), [])

    def test_wait(self):
        """Kept from gputrace start on, and there is no stop."""
        def start_and_dump():
            self.answers = [harness.tool("dump", "--control=" + self.boxes, "all")]
            if self.answers[0][0]:  # it is not there yet: nothing may be started
                return False
            for word in ("start", "stop"):
                self.answers.append(harness.tool(word, "--control=" + self.boxes, "all"))
            return True

        harness.run([PROGRAM] + "work=5 rest-until work=4 exit=3".split(), folder=self.out, truth=self.folder,
                    gates=[start_and_dump], options=[ON + "60s", "GPUTRACE_WAIT=1", "GPUTRACE_CONTROL=" + self.boxes])
        self.assertEqual([status for status, _ in self.answers], [0, 0, 1])
        self.assertIn("has no window: gputrace dump writes", self.answers[2][1])
        one, two = map(self.read, self.traces())
        self.truth = harness.Truth(self.folder)
        self.assertEqual((self.told(one), self.told(two)), ([], self.did()[-len(two.gpu):]))
        self.assertGreaterEqual(len(two.gpu), 12)

    def test_no_recorder(self):
        self.answers = []

        def refused():
            self.answers.append(harness.tool("dump", "--control=" + self.boxes, "all"))
            return "has no --flight-recorder" in self.answers[-1][1]

        harness.run([PROGRAM] + "work=5 rest-until exit=0".split(), folder=self.out, gates=[refused],
                    options=["GPUTRACE_CONTROL=" + self.boxes])
        self.assertEqual(self.answers[-1][0], 1)
        self.assertIn("has no --flight-recorder", self.answers[-1][1])

    def test_stall(self):
        """Of --watchdog: its verdict is in the dump."""
        path, = self.go("work=5 rest-until exit=0", "GPUTRACE_WATCHDOG=1s", "GPUTRACE_WATCHDOG_IDLE=1")
        trace = self.read(path)
        self.assertEqual(self.told(trace), self.did())
        self.assertEqual(self.note(trace)["args"]["what"], "stall")
        self.assertEqual(sum(event["name"] == "stall" for event in trace.events), 1)


class Limits(Base):
    def test_time(self):
        """What ended before is older, by the device's clock and to the millisecond."""
        path, = self.go("work=9 rest=300 work=9 rest=300 work=9 exit=1", keep="400ms,64M")
        trace = self.read(path)
        since = trace.start(self.note(trace)) - 400 * MS
        told = set(self.told(trace))
        for op in self.truth.operations:
            if abs(op["end"] - since) > 2 * MS:
                self.assertEqual(op["correlation"] in told, op["end"] > since, op)
        ledger = trace.ledger
        self.assertEqual(ledger["kernels_older"] + ledger["kernels_written"], 27)
        self.assertGreaterEqual(ledger["kernels_older"], 9)

    def test_a_range_and_calls_from_before(self):
        """What is open has its true start; no flow comes from a call that is not there."""
        path, = self.go("push=outer launch=9 rest=400 launch=3 rest=50 exit=1", keep="300ms,64M")
        trace = self.read(path)
        outer, = self.named(trace, "outer")
        self.assertLess(trace.start(outer), trace.start(self.note(trace)) - 400 * MS)
        calls = {event["args"]["correlation"] for event in trace.calls}
        for event in trace.events:
            if event["ph"] == "s":
                self.assertIn(event["id"], calls)

    def test_memory(self):
        """However much happens: the newest is there, without a hole."""
        path, = self.go("work=40000 exit=1", "GPUTRACE_DETAILS=few", keep="600s,1M")
        trace = self.read(path)
        told, did = self.told(trace), self.did()
        self.assertEqual(told, did[-len(told):])
        self.assertGreater(len(told), 5000)
        self.assertGreater(trace.ledger["kernels_older"], 1000)


class Signals(Base):
    def test_the_program_has_it(self):
        for steps, word in (("handle work=5 USR2 exit=0", "for itself: --dump-signal does nothing"),
                            ("work=5 handle USR2 rest=1500 exit=0", "it asks for no dump any more")):
            with self.subTest(steps=steps):
                self.setUp()
                self.assertEqual(self.go(steps, SIGNAL), [])
                self.assertEqual(len(self.said), 1)
                self.assertIn(word, self.said[0])

    def test_forked_children(self):
        """Of a signal to the whole job they do not end; what their parent sends them is the program's own use."""
        for how, said in (("other", "child: status 6"), ("own", f"child: signal {signal.SIGUSR2.value}")):
            result = harness.run([PROGRAM, "work=3", "child=" + how, "exit=0"], folder=self.out,
                                 options=[ON + "30s", SIGNAL])
            self.assertEqual((result.status, result.stdout, result.said), (0, said + "\n", []))

    def test_before_cuda(self):
        """The program goes on; there is a dump when there is something to dump of, if ever."""
        path, = self.go("USR2 rest=20 work=5 rest-until work=2 exit=0", SIGNAL)
        self.assertEqual(self.note(self.read(path))["args"]["what"], "SIGUSR2")
        self.setUp()
        self.assertEqual((self.go("USR2 exit=5", SIGNAL), self.said), ([], []))

    def test_no_recorder(self):
        """Then the signal is as without us."""
        for options in ((SIGNAL,), (SIGNAL, ON + "30s", "GPUTRACE_DURATION=60"), (SIGNAL, ON + "30s", "GPUTRACE_MODE=off")):
            with self.subTest(options=options):
                result = harness.run([PROGRAM, "work=3", "USR2", "exit=1"], folder=self.out, options=options)
                self.assertEqual(result.status, -signal.SIGUSR2)


class Options(Base):
    def test_wrong(self):
        result = harness.run([PROGRAM, "work=3", "exit=1"], folder=self.out, options=[ON + "30x"])
        self.assertEqual(len(result.said), 1)
        self.assertIn("'30x' is no value for GPUTRACE_FLIGHT_RECORDER", result.said[0])
        self.assertEqual(len(harness.traces(self.out)), 1)

    def test_run_refuses(self):
        for words, line in (
                (["--flight-recorder=30x"], "'30x' is no value for --flight-recorder: it takes TIME[,BYTES]"),
                (["--flight-recorder=30s,1K"], "(10ms..1d, 1M..64G)"),
                (["--flight-recorder=30s", "--duration=3"], "--flight-recorder and --duration do not go together"),
                (["--schedule=1,1,1,1", "--flight-recorder=30s"], "--flight-recorder and --schedule"),
                (["--flight-recorder=30s", "--capture-range=nvtx:x"], "--flight-recorder and --capture-range"),
                (["--watchdog-idle"], "--watchdog-idle needs --watchdog=TIME"),
                (["--capture-range-end=repeat"], "--capture-range-end needs --capture-range=RANGE"),
                (["--dump-at-exit=always"], "--dump-at-exit needs --flight-recorder=TIME[,BYTES]"),
                (["--dump-signal=USR2"], "--dump-signal needs --flight-recorder=TIME[,BYTES]")):
            result = subprocess.run([GPUTRACE, "run", *words, "true"], capture_output=True, text=True, timeout=60,
                                    check=False, env=harness.environment())
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1))
            self.assertIn(line, result.stderr)

    def test_others_choose(self):
        result = harness.run([PROGRAM, "work=3", "exit=1"], folder=self.out,
                             options=[ON + "30s", "GPUTRACE_DURATION=60"])
        self.assertEqual(len(result.said), 1)
        self.assertIn("does nothing with GPUTRACE_DURATION", result.said[0])
        self.assertEqual(len(harness.traces(self.out)), 1)

    def test_delay(self):
        """What comes before is not kept."""
        path, = self.go("work=5 rest=500 work=5 exit=1", "GPUTRACE_DELAY=400ms")
        trace = self.read(path)
        told = self.told(trace)
        self.assertEqual(told, self.did()[-len(told):])
        self.assertIn(len(told), (15, 30) if not trace.ledger["calls_passed"] else (15,))
        if trace.ledger["calls_passed"]:  # the delay counts from the loading of the library, this from the first CUDA call
            self.assertGreater(self.since(trace), 0)


@unittest.skipUnless(harness.has_shm(), "no /dev/shm with a gigabyte")
@unittest.skipIf(harness.preloading.RUNTIMES, "gputrace run does not preload a sanitizer's runtime")
class Killed(Base):
    def run_killed(self, steps, *options, keep="60s,64M", gates=None, **env):
        """Under gputrace run, with a spool of its own."""
        spools = tempfile.mkdtemp(prefix="gt-recorder-", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, spools, ignore_errors=True)
        words = [GPUTRACE, "run", "--output=" + self.out, "--spool=" + spools, "--flight-recorder=" + keep,
                 "--dump-signal=USR2", *options, PROGRAM] + steps.split()
        result = harness.run(words, truth=self.folder, gates=gates or self.gates(steps),
                             env=harness.environment(GPUTRACE_SPOOL=spools, **env))
        self.assertEqual(glob.glob(spools + "/*.spool"), [])
        self.truth = harness.Truth(self.folder)
        self.said = result.said
        return result, self.traces()

    def test_killed(self):
        """What the spool has is a trace of the last seconds, with the range that was open."""
        for format_ in ((), ("--format=perfetto",)):
            with self.subTest(format_=format_):
                self.setUp()
                result, paths = self.run_killed("push=outer work=50 rest=300 work=3 kill", *format_)
                self.assertEqual(result.status, -9)
                if format_:
                    path, = glob.glob(self.out + "/*.pftrace")
                    self.assertEqual(harness.tool("verify", path)[0], 0)
                    continue
                path, = paths
                trace = self.read(path)
                self.assertEqual(self.told(trace), self.did())
                self.assertRegex(trace.root["metadata"]["window"], r"dump 1 \(killed\)$")
                outer, = self.named(trace, "outer")
                self.assertTrue(outer["args"]["unfinished"])
                self.assertEqual(sum(event["ph"] == "s" for event in trace.events), len(trace.gpu))

    def test_killed_after_a_dump(self):
        _, paths = self.run_killed("work=5 USR2 rest-until work=7 rest=300 work=2 kill")
        one, two = map(self.read, paths)
        self.assertEqual(self.told(one), self.did()[:15])
        self.assertEqual(self.told(two), self.did()[15:])
        self.assertIn("dump 2 (killed)", two.root["metadata"]["window"])

    def test_killed_soon_after_a_dump(self):
        """Buffers and rings may still have what is in the dump: it is in no other one."""
        for count in range(3):
            with self.subTest(count=count):
                self.setUp()
                _, paths = self.run_killed(f"work=50 USR2 rest-until rest={count} work=2 kill")
                one, two = map(self.read, paths)
                self.assertEqual(self.told(one) + self.told(two), self.did())
                self.assertGreater(self.since(two), 0)

    def test_killed_in_the_last_write_of_a_dump(self):
        """The dump is whole, or can be made so; what came while it was written is in the next one."""
        def has_begun():
            return os.path.isdir(self.out) and any(name.endswith(".json") for name in os.listdir(self.out))

        for part in ("-1", "0", "4096"):
            with self.subTest(part=part):
                self.setUp()
                result, paths = self.run_killed(
                    "push=outer work=5 USR2 rest-until work=7 pop rest=60000", gates=[has_begun],
                    LD_PRELOAD=KILLWRITE, KILLWRITE_FIRST="{", KILLWRITE_AT="1", KILLWRITE_BYTES=part,
                    KILLWRITE_REST="500")
                self.assertEqual(result.status, -9)
                self.assertEqual(len(paths), 2, self.said)
                one, two = map(self.read, paths)
                self.assertEqual(self.told(one), self.did()[:15])
                self.assertEqual(self.told(two), self.did()[15:])
                self.assertIn("dump 2 (killed)", two.root["metadata"]["window"])
                outer, = self.named(two, "outer")
                self.assertNotIn("unfinished", outer["args"])
                self.assertIn("closed already", harness.tool("repair", self.out)[1])

    def test_older_when_killed(self):
        """The buffers may still have it: it is counted, and not written."""
        _, (path,) = self.run_killed("work=30 rest=60 work=5 kill", keep="20ms,64M")
        trace = self.read(path)
        told = self.told(trace)
        self.assertEqual(told, self.did()[-len(told):] if told else [])
        self.assertEqual(trace.ledger["kernels_older"] + trace.ledger["kernels_written"], 35)
        self.assertGreaterEqual(trace.ledger["kernels_older"], 30)

    def test_names_of_any_length(self):
        """Of ranges that only the ring has."""
        names = ["n" * length for length in range(1, 18)]
        _, (path,) = self.run_killed("work=1 " + " ".join(f"push={name} pop" for name in names) + " work=1 kill")
        trace = self.read(path)
        self.assertEqual([len(self.named(trace, name)) for name in names], [1] * len(names))

    def test_a_good_end(self):
        result, paths = self.run_killed("work=5 exit=0")
        self.assertEqual((result.status, paths), (0, []))
        self.assertIn("nothing asked --flight-recorder for one", result.said[-1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
