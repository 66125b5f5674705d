#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--control: commands speak to running processes of this user, through a file that nobody else can use; whatever lies
there, whoever dies half way, the program does not notice."""

import concurrent.futures
import errno
import fcntl
import functools
import glob
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import harness

PROGRAM = harness.program("busy")
REQUEST = 488  # bytes before the request of a mailbox, docs/internals/control.md


class Running:
    """A traced program that works until its gate is opened."""

    def __init__(self, folder, name, control, options=(), program=(PROGRAM,), **how):
        self.gate = os.path.join(folder, name + ".gate")
        self.out = os.path.join(folder, name + ".out")
        self.said = os.path.join(folder, name + ".said")
        with open(self.said, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                harness.command(program, folder=self.out, options=(f"GPUTRACE_CONTROL={control}", *options),
                                **how),
                env=harness.environment(GATE=self.gate), stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self.pid = self.process.pid  # simcuda and env have called exec

    def read(self):
        with open(self.said, encoding="utf-8") as said:
            return said.read()

    def open(self):
        with open(self.gate + ".1", "w", encoding="ascii"):
            pass

    def end(self):
        """Its exit status and what it printed."""
        self.open()
        return self.process.wait(timeout=300), self.read()

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


@unittest.skipUnless(harness.has_shm(), "no /dev/shm")
class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.boxes = tempfile.mkdtemp(prefix="gputrace-test-control.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.boxes)

    def start(self, name="one", **how):
        running = Running(self.folder, name, how.pop("control", self.boxes), **how)
        self.addCleanup(running.stop)
        harness.gate.wait_for(lambda: "first" in running.read() or running.process.poll() is not None)
        self.assertIn("first", running.read())
        return running

    def tell(self, *words):
        return harness.tool(*words, GPUTRACE_CONTROL=self.boxes)

    def ps(self):
        status, output = self.tell("ps", "--format=json")
        self.assertEqual(status, 0, output)
        return json.loads(output)["processes"]

    def box(self):
        found, = glob.glob(os.path.join(self.boxes, "*"))
        return found

    def write(self, offset, data):
        with open(self.box(), "r+b", buffering=0) as box:
            box.seek(offset)
            box.write(data)


class Control(Base):
    def test_ps(self):
        self.assertEqual(self.ps(), [])
        runs = [self.start(f"run{rank}", options=(f"RANK={rank}", "WORLD_SIZE=8", "GPUTRACE_RECORD_CMDLINE=no"))
                for rank in range(8)]
        rows = self.ps()
        self.assertEqual({row["PID"] for row in rows}, {run.pid for run in runs})
        for row in rows:
            run = next(run for run in runs if run.pid == row["PID"])
            self.assertEqual(row["State"], "recording")
            self.assertEqual(row["Rank"], runs.index(run))
            self.assertEqual(row["Command"], PROGRAM)
            self.assertTrue(row["File"].startswith(run.out) and os.path.exists(row["File"]), row)
            self.assertGreater(row["Memory (MB)"], 0)
        status, output = self.tell("status", "all")
        self.assertEqual((status, output.count("state                recording")), (0, 8), output)
        for run in runs:
            self.assertEqual(run.end(), (3, "first\n"))
        self.assertEqual(os.listdir(self.boxes), [])
        self.assertEqual(self.ps(), [])

    def test_rate(self):
        self.start()

        def rate():
            return self.ps()[0]["Kernels/s"]
        self.assertTrue(harness.gate.wait_for(lambda: rate() > 0))

    def test_off(self):
        for control in ("off", "auto"):
            run = self.start(control, control=control)
            self.assertEqual(self.ps(), [])
            status, output = self.tell("status", str(run.pid))
            self.assertEqual(status, 1)
            self.assertIn(f"gputrace status: {run.pid}: its tracer has no mailbox", output)
            self.assertEqual(output.count("\n"), 1, output)

    @unittest.skipIf(harness.preloading.RUNTIMES, "gputrace run does not preload a sanitizer's runtime")
    def test_run_makes_one(self):
        """The default under gputrace run, which also removes what a killed process leaves."""
        words = harness.command([os.path.join(harness.SOURCE, "scripts", "gputrace"), "run", "--quiet",
                                 f"--output={self.folder}/out", PROGRAM])
        before = set(glob.glob("/dev/shm/gputrace-*.control"))
        for how in ("end", "kill"):
            gate = os.path.join(self.folder, how)
            with subprocess.Popen(words, env=harness.environment(GATE=gate), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                def own():
                    return [path for path in set(glob.glob("/dev/shm/gputrace-*.control")) - before
                            if parent(pid_of(path)) == process.pid]
                if not harness.gate.wait_for(own):
                    process.kill()
                path, = own()
                if how == "kill":
                    os.kill(pid_of(path), signal.SIGKILL)
                else:
                    with open(gate + ".1", "w", encoding="ascii"):
                        pass
                process.wait(timeout=300)
            self.assertFalse(os.path.exists(path))

    def test_nothing_is_left_open(self):
        def count(run):
            return {name: len(os.listdir(f"/proc/{run.pid}/{name}")) for name in ("fd", "task")}
        one, other = self.start("with"), self.start("without", control="off")
        for run in (one, other):  # its trace is open, and nothing else for a moment
            self.assertTrue(harness.gate.wait_for(lambda run=run: harness.traces(run.out)))
        harness.gate.wait_for(lambda: count(one) == count(other), 20)
        self.assertEqual(count(one), count(other))

    def test_answers_while_a_flush_hangs(self):
        self.start(fault="flush=hang")
        self.assertTrue(harness.gate.wait_for(lambda: "flush_ms" in self.tell("status", "all")[1]))

    def test_stopped(self):
        run = self.start()
        os.kill(run.pid, signal.SIGSTOP)
        self.assertTrue(harness.gate.wait_for(lambda: self.ps()[0]["State"] == "stopped"))
        status, output = self.tell("status", str(run.pid))
        self.assertEqual(status, 1)
        self.assertIn("it is stopped, by a signal or a debugger", output)
        os.kill(run.pid, signal.SIGCONT)
        self.assertTrue(harness.gate.wait_for(lambda: self.ps()[0]["State"] == "recording"))
        self.assertEqual(run.end(), (3, "first\n"))

    def test_killed(self):
        run = self.start()
        run.stop()
        self.assertNotEqual(os.listdir(self.boxes), [])
        self.assertEqual(self.ps(), [])
        self.assertEqual(os.listdir(self.boxes), [])

    def test_who_is_no_traced_process(self):
        for word, text in (("1x", "'1x' is no process id"), ("-1", "-1"), ("0", "'0' is no process id")):
            status, output = self.tell("status", word)
            self.assertEqual((status, output.count("\n")), (2, 1), output)
            self.assertIn(text, output)
        for word, text in ((str(2**31 - 1), "there is no such process"), (str(os.getpid()), "it is not traced"),
                           ("all", "there is no traced process")):
            status, output = self.tell("status", word)
            self.assertEqual((status, output.count("\n")), (1, 1), output)
            self.assertIn(text, output)

    def test_garbage(self):
        run = self.start()
        for data in (os.urandom(1028), struct.pack("<I", 2) + b"load /tmp/evil.so\0", struct.pack("<I", 4) + b"\0",
                     struct.pack("<I", 6) + b"x" * 1024, struct.pack("<I", 9) + b"status\0"):
            self.write(REQUEST, data)
            self.assertEqual(self.tell("status", "all")[0], 0)
        self.write(REQUEST + 1028, os.urandom(60000))
        self.assertEqual(self.tell("status", "all")[0], 0)
        self.assertEqual(run.end(), (3, "first\n"))

    def test_cut_and_removed(self):
        for how in (lambda path: os.truncate(path, 0), os.unlink):
            run = self.start(f"run{how.__name__}")
            how(self.box())
            status, output = self.tell("status", str(run.pid))
            self.assertEqual((status, output.count("\n")), (1, 1), output)
            self.assertEqual(run.end(), (3, "first\n"))

    @unittest.skipUnless(os.geteuid() == 0, "must be root to be two users")
    def test_another_user(self):
        run = self.start()
        os.chown(self.box(), 65534, 65534)
        self.assertEqual([row["State"] for row in self.ps()], ["no mailbox"])
        status, output = self.tell("status", str(run.pid))
        self.assertEqual((status, output.count("\n")), (1, 1), output)
        self.assertIn("is no mailbox of this user", output)
        self.assertEqual(self.tell("status", "all")[0], 1)
        status, output = harness.tool("status", str(run.pid), GPUTRACE_CONTROL=self.boxes,
                                      before=["setpriv", "--reuid=65534", "--clear-groups"])
        self.assertEqual(status, 1, output)
        self.assertEqual(run.end(), (3, "first\n"))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "must be root to make a namespace")
    def test_container(self):
        """In another pid namespace, with the same /dev/shm."""
        run = Running(self.folder, "one", self.boxes, before=["unshare", "--pid", "--fork"])
        self.addCleanup(run.stop)
        self.assertTrue(harness.gate.wait_for(lambda: "first" in run.read()), run.read())
        row, = self.ps()
        self.assertEqual(row["State"], "other pid namespace")
        status, output = self.tell("status", str(row["PID"]))
        self.assertEqual((status, output.count("\n")), (1, 1), output)
        self.assertIn("run gputrace in its container", output)
        self.assertEqual(run.end(), (3, "first\n"))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "must be root to make a namespace")
    def test_another_shm(self):
        """Its mailbox cannot be found, which is said, with the remedy, which works."""
        script = 'mount -t tmpfs tmpfs /dev/shm && exec "$@"'
        run = Running(self.folder, "one", "on", before=["unshare", "--mount", "sh", "-c", script, "-"])
        self.addCleanup(run.stop)
        self.assertTrue(harness.gate.wait_for(lambda: "first" in run.read()), run.read())
        pid = str(run.pid)
        status, output = harness.tool("ps", "--format=json")
        row, = [row for row in json.loads(output)["processes"] if row["PID"] == run.pid]
        self.assertEqual((status, row["State"]), (0, "other /dev/shm"))
        status, output = harness.tool("status", pid)
        self.assertEqual((status, output.count("\n")), (1, 1), output)
        self.assertIn(f"its /dev/shm is another one (chroot, mount namespace): say --control=/proc/{pid}/root/dev/shm", output)
        status, output = harness.tool("status", f"--control=/proc/{pid}/root/dev/shm", pid)
        self.assertEqual(status, 0, output)
        self.assertEqual(run.end(), (3, "first\n"))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "must be root to make a namespace")
    def test_no_shm(self):
        """As in a chroot: it cannot be spoken to, which is said."""
        if subprocess.check_output(["stat", "-f", "-c", "%T", self.folder], text=True).strip() in ("tmpfs", "ramfs"):
            self.skipTest("the folder for temporary files is on tmpfs")
        script = 'mount --bind "$0" /dev/shm && exec "$@"'
        run = Running(self.folder, "one", "on", before=["unshare", "--mount", "sh", "-c", script, self.folder])
        self.addCleanup(run.stop)
        self.assertTrue(harness.gate.wait_for(lambda: "first" in run.read()), run.read())
        self.assertIn([run.pid, "no /dev/shm"], [[row["PID"], row["State"]] for row in json.loads(
            harness.tool("ps", "--format=json")[1])["processes"]])
        status, output = harness.tool("status", str(run.pid))
        self.assertEqual((status, output.count("\n")), (1, 1), output)
        self.assertIn("it has no tmpfs at /dev/shm (chroot): start it with --control=FOLDER", output)
        self.assertEqual(run.end()[0], 3)

    def test_copies(self):
        """Of a mailbox, by somebody: only what nobody reads is removed."""
        run, runtime = self.start(control="on"), os.path.join(self.boxes, "runtime")
        box, = glob.glob(f"/dev/shm/gputrace-{run.pid}.*.control")
        name = os.path.basename(box)
        os.mkdir(runtime, 0o700)
        copies = [os.path.join(runtime, name), box.replace(f"{run.pid}.", f"{run.pid}.9"),
                  box.replace(str(run.pid), "backup")]
        for path in copies:
            shutil.copy(box, path)
            self.addCleanup(os.unlink, path)
        for words in ("ps",), ("status", str(run.pid)), ("status", str(run.pid)):
            status, output = harness.tool(*words, XDG_RUNTIME_DIR=runtime)
            self.assertEqual(status, 0, output)
            self.assertEqual(output.count(str(run.pid)) > 0, True, output)
            self.assertTrue(all(os.path.exists(path) for path in (box, *copies)))
        self.assertEqual(run.end(), (3, "first\n"))

    def test_many_commands(self):
        """At once, and some die half way."""
        run = self.start()
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            def one(number):
                words = [harness.CLI, "status", "all"]
                with subprocess.Popen(words, env=harness.environment(GPUTRACE_CONTROL=self.boxes), text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
                    if number % 5 == 0:
                        client.kill()
                    output = client.communicate(timeout=300)[0]
                return number % 5 == 0 or "state                recording" in output
            self.assertEqual(list(pool.map(one, range(COMMANDS))), [True] * COMMANDS)
        self.assertEqual(run.end(), (3, "first\n"))


class Windows(Base):
    """start, stop, flush."""

    def launch(self, name="one", *options, **how):
        truth = os.path.join(self.folder, name + ".truth")
        os.mkdir(truth)
        return self.start(name, program=(CONTROLLED,), truth=truth, options=options, **how)

    def good(self, *words):
        status, output = self.tell(*words)
        self.assertEqual(status, 0, output)
        return output

    def check(self, name, path):
        """A file has one piece of what the device did, without a hole, and its ledger balances."""
        self.assertEqual(harness.lint(path), "")
        status, output = harness.tool("verify", "--strict", path)
        self.assertEqual(status, 0, output)
        trace = harness.trace_file.Trace(path)
        ledger = trace.ledger
        self.assertEqual(ledger["launches_without_record"] + ledger["gpu_ops_without_call"], 0)
        told = {event["args"]["correlation"] for event in trace.gpu}
        self.assertEqual(len(told), len(trace.gpu))
        for did in self.did(name):
            mine = [at for at, correlation in enumerate(did) if correlation in told]
            self.assertTrue(not mine or mine == list(range(mine[0], mine[-1] + 1)))
        return trace

    @functools.cache
    def did(self, name):
        """What the device did for a program that has ended, by stream."""
        by_stream = {}
        for op in harness.Truth(os.path.join(self.folder, name + ".truth")).operations:
            by_stream.setdefault(op["stream"], []).append(op["correlation"])
        return [sorted(did) for did in by_stream.values()]

    def end(self, run):
        self.assertEqual(run.end(), (3, "first\n0 wrong values\n"))

    def recorded(self, run):
        return harness.gate.wait_for(lambda: '"cat": "kernel"' in "".join(harness.gate.texts(run.out)))

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
        traces = [self.check("one", path) for path in sorted(paths, key=started)]
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
        traces = [self.check("one", path) for path in sorted(paths, key=started)]
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
        traces = [self.check("", path) for path in sorted(harness.traces(out), key=started)]
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

    def without_file(self, run):
        """A window that begins where nothing can be opened."""
        limits = resource.prlimit(run.pid, resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        for words in ("start", "start", "flush"):
            status, said = self.tell(words, str(run.pid))
            self.assertEqual(status, 1, said)
            self.assertRegex(said, rf"no trace can be written into {run.out} \(too many open files\)")
        return limits

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

    def test_a_file_elsewhere_says_why(self):
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        self.assertFalse(os.path.exists(run.out))
        open(run.out, "w", encoding="utf-8").close()
        said = self.good("start", "all")
        self.assertRegex(said, rf"recording into \S+ \(cannot write to {run.out}: not a folder\)")
        os.unlink(re.search(r"recording into (\S+)", said)[1])
        run.end()

    def test_no_file(self):
        """The next trace counts what comes meanwhile: by kind, with what was received. Why is said once."""
        run = self.launch("one", "GPUTRACE_WAIT=yes")
        self.good("start", "all")
        self.good("stop", "all")
        limits = self.without_file(run)
        harness.gate.wait_for(lambda: self.ps()[0]["Kernels/s"] > 0)
        for word in ("stop", "start", "stop"):
            status, said = self.tell(word, "all")
            self.assertEqual(status, 1, said)
            self.assertIn("no trace can be written into", said)
        resource.prlimit(run.pid, resource.RLIMIT_NOFILE, limits)
        self.good("start", "all")
        self.assertNotIn("without", self.good("flush", "all"))  # of the one before, and said then
        self.assertNotIn("without", self.good("stop", "all"))
        _, said = run.end()
        for line in (f"cannot write to {run.out} (too many open files)", "2 windows had no trace (too many open files)",
                     "window 2 has no trace (too many open files): what it recorded is lost, which the next trace counts"):
            self.assertEqual(said.count(line), 1, said)
        self.assertNotIn("repair", said)
        first, last = sorted(harness.traces(run.out), key=started)
        self.check("one", first)
        status, output = harness.tool("verify", last)
        self.assertEqual(status, 0, output)
        ledger = harness.trace_file.Trace(last).ledger
        self.assertGreater(ledger["kernels_not_written"], 0)
        self.assertGreater(ledger["calls_not_written"], 0)

    def test_killed_without_a_file(self):
        """Repair makes the trace that the process could not: beside that of the first window."""
        run = self.launch("one", "GPUTRACE_WAIT=yes", "GPUTRACE_SPOOL=" + self.boxes)
        self.good("start", "all")
        self.good("stop", "all")
        limits = self.without_file(run)
        self.assertTrue(limits)
        run.stop()
        status, output = harness.tool("repair", "--spool=" + self.boxes, run.out)
        self.assertEqual(status, 0, output)
        first, last = sorted(harness.traces(run.out), key=started)
        self.check("one", first)
        status, output = harness.tool("verify", last)
        self.assertEqual(status, 0, output)
        trace = harness.trace_file.Trace(last)
        self.assertIn("window 2", trace.root["metadata"]["window"])
        self.assertGreater(trace.ledger["calls_received"], 0)

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
        run = Running(self.folder, "one", "off", options=("GPUTRACE_WAIT=yes",))
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
        run = Running(self.folder, "idle", self.boxes, program=(harness.program("hang"), "read"),
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

    def test_set(self):
        run = self.launch("one")
        self.assertTrue(self.recorded(run))
        self.assertEqual(self.good("set", "stacks=off", str(run.pid)), f"{run.pid}: stacks=off\n")
        self.good("flush", "all")
        for setting in ("flush-period=100", "stack-threshold=1ms", "verbose=yes", "verbose=no"):
            self.good("set", setting, "all")
        self.assertIn("details=few from the next trace on", self.good("set", "details=few", "all"))
        self.assertIn("flush-period=100", self.good("status", "all"))
        self.good("stop", "all")
        self.assertNotIn("next trace", self.good("set", "stacks=full", "all"))
        self.assertIn("stacks=short from the next trace on", self.good("set", "stacks=short", "all"))
        self.good("set", "stack-threshold=0", "all")
        self.good("set", "duration=50ms", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.ps()[0]["State"] == "waiting"))
        run.open()
        self.assertEqual(run.process.wait(timeout=300), 3)
        first, second = [self.check("one", path) for path in sorted(harness.traces(run.out), key=started)]
        notes = [(event["ts"], event["args"]["what"]) for event in first.events if event["name"] == "option changed"]
        self.assertEqual([what for _, what in notes][:3], ["stacks=off", "flush-period=100", "stack-threshold=1ms"])
        off = notes[0][0]
        before = [call for call in first.calls if call["ts"] < off]
        after = [call for call in first.calls if call["ts"] > off + 20000]  # us
        self.assertTrue(any("stack" in call["args"] for call in before))
        self.assertFalse(any("stack" in call["args"] for call in after if call["dur"] < 1000))
        self.assertTrue(any("stack" in call["args"] for call in second.calls))
        self.assertNotIn("details=few", first.root["metadata"]["options"])  # it had its flows until the end
        self.assertIn("details=few", second.root["metadata"]["options"])

    def test_set_filters(self):
        """Of the next trace, which says so and counts what they leave out."""
        run = self.launch("one")
        self.assertTrue(self.recorded(run))
        self.assertIn("kernels=!* from the next trace on", self.good("set", "kernels=!*", "all"))
        self.good("stop", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.good("flush", "all") and any(
            '"cat": "gpu_mem' in text for text in harness.gate.texts(run.out) if "kernels=!*" in text)))
        self.good("set", "kernels=", "all")
        self.good("stop", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.good("flush", "all") and sum(
            '"cat": "kernel"' in text for text in harness.gate.texts(run.out)) == 2))
        self.end(run)
        traces = [harness.trace_file.Trace(path) for path in sorted(harness.traces(run.out), key=started)]
        for trace, kept in zip(traces, (True, False, True)):
            self.assertEqual(harness.tool("verify", "--strict", trace.path)[0], 0)
            self.assertEqual(any(event["cat"] == "kernel" for event in trace.gpu), kept)
            self.assertEqual(trace.ledger["kernels_filtered"] == 0, kept)
            self.assertEqual(trace.root["metadata"].get("filters"), None if kept else "kernels=!*")

    def test_set_the_rate_of_samples(self):
        self.launch("one", "GPUTRACE_SAMPLE_CPU=100")
        self.good("set", "sample-cpu=10", "all")
        status, output = self.tell("set", "sample-cpu=0", "all")
        self.assertEqual(status, 1)
        self.assertIn("1 a second is the least", output)
        self.assertIn("sample-cpu=10", self.good("status", "all"))

    def test_set_what_is_fixed(self):
        self.launch("one", "GPUTRACE_STACKS=off")
        for setting, why in (("output=/tmp", "one folder"), ("ring-size=1M", "memory is laid out by it"),
                             ("graphs=off", "CUPTI is set up by it"), ("level=full", "read when the process starts"),
                             ("calls=x", "a table that is made then"), ("kernels=a,,b", "patterns between commas"),
                             ("max-overhead=101%", "percentage from 0.1 to 100"),
                             ("sample-cpu=10", "started without --sample-cpu"), ("stacks=full", "started with --stacks=off")):
            status, output = self.tell("set", setting, "all")
            self.assertEqual((status, output.count("\n")), (1, 1), output)
            self.assertIn(why, output)
            if "cannot change" in output:
                self.assertIn("; gputrace set changes flush-period, duration, ", output)
        for setting, why in (("flush-period=1", "'1' is no value for flush-period"), ("colour=red", "no option colour"),
                             ("stacks", "no OPTION=VALUE")):
            status, output = self.tell("set", setting, "all")
            self.assertEqual((status, output.count("\n")), (2, 1), output)
            self.assertIn(why, output)

    def test_wait_with_what_it_does_not_go_with(self):
        for option, text in (("--control=off", "nobody could start"), ("--schedule=1,1,1,1", "ranges begin"),
                             ("--capture-range=cudaProfilerApi", "ranges begin")):
            words = [os.path.join(harness.SOURCE, "scripts", "gputrace"), "run", "--wait", option, "true"]
            run = subprocess.run(words, env=harness.environment(), capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr.count("\n")), (2, 1), run.stderr)
            self.assertIn(text, run.stderr)

    def test_while_a_flush_hangs(self):
        run = self.launch("one", fault="flush=hang")
        self.assertTrue(harness.gate.wait_for(lambda: "flush_ms" in self.tell("status", "all")[1]))
        status, output = self.tell("stop", "all")
        self.assertEqual(status, 1)
        self.assertIn("CUPTI's flush has not returned for", output)
        self.assertEqual(self.ps()[0]["State"], "recording")
        run.open()
        run.process.wait(timeout=300)

    @unittest.skipIf(harness.preloading.RUNTIMES, "the sanitizer's own write() is in front")
    def test_disk_full(self):
        """The commands say what the file lacks, and fail."""
        shim = os.path.join(harness.PROGRAMS, "libfailwrite.so")
        run = self.launch("one", f"LD_PRELOAD={shim}:{harness.LIBRARY}", f"FAILWRITE_ERRNO={errno.ENOSPC}",
                          "FAILWRITE_FROM=6")
        self.assertTrue(harness.gate.wait_for(lambda: "disk full" in run.read()))
        for word in "flush", "stop":
            status, output = self.tell(word, "all")
            self.assertEqual(status, 1, output)
            self.assertRegex(output, r"\.json without \d+ events? \(disk full\)$")
        run.open()
        run.process.wait(timeout=300)

    def test_its_own_flush_hangs(self):
        """The one that ends a window: the command says so, and the process answers others meanwhile."""
        run = self.launch("one", "GPUTRACE_FLUSH_PERIOD=60000", "GPUTRACE_WAIT=on",
                          "GPUTRACE_EXIT_TIMEOUT=500", fault="flush=hang")
        self.good("start", "all")
        status, output = self.tell("stop", "all")
        self.assertEqual(status, 1)
        self.assertIn("CUPTI's flush has not returned for", output)
        status, output = self.tell("status", "all")
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?s)closing.*flush")
        status, output = self.tell("hang", "all")
        self.assertEqual(status, 0, output)
        status, output = self.tell("start", "all")
        self.assertEqual(status, 1)
        self.assertIn("CUPTI's flush has not returned for", output)
        run.open()
        run.process.wait(timeout=300)

    def test_killed_after_a_stop(self):
        """What was closed stays as it is, and the spool of a process that waits has nothing for repair."""
        run = self.launch("one", f"GPUTRACE_SPOOL={self.boxes}")
        self.good("stop", "all")
        path, = harness.traces(run.out)
        with open(path, "rb") as file:
            before = file.read()
        run.stop()
        harness.tool("repair", run.out, f"--spool={self.boxes}")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(harness.traces(run.out), [path])

    def test_killed_in_a_later_window(self):
        run = self.launch("one", f"GPUTRACE_SPOOL={self.boxes}")
        self.good("stop", "all")
        self.good("start", "all")
        self.assertTrue(harness.gate.wait_for(lambda: self.ps()[0]["Kernels/s"] > 0))
        self.good("flush", "all")
        run.stop()
        harness.tool("repair", run.out, f"--spool={self.boxes}")
        paths = sorted(harness.traces(run.out), key=started)
        self.assertEqual(len(paths), 2)
        status, output = harness.tool("verify", *paths)
        self.assertEqual(status, 0, output)
        self.assertGreater(len(harness.trace_file.Trace(paths[1]).gpu), 0)


def started(path):
    """The ms in a file's name."""
    return int(path.split(".pt.trace")[0].rsplit(".", 1)[1])


CONTROLLED = harness.program("controlled")
ROUNDS = int(os.environ.get("RELIABILITY_ROUNDS", "15"))
COMMANDS = int(os.environ.get("RELIABILITY_COMMANDS", "100"))


def pid_of(path):
    return int(os.path.basename(path).split("-")[1].split(".")[0])


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


if __name__ == "__main__":
    unittest.main(verbosity=2)
