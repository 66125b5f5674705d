#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--control: commands speak to running processes of this user, through a file that nobody else can use; whatever lies
there, whoever dies half way, the program does not notice."""

import concurrent.futures
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

import harness

PROGRAM = harness.program("busy")
REQUEST = 488  # bytes before the request of a mailbox, docs/internals/control.md


class Running:
    """A traced program that works until its gate is opened."""

    def __init__(self, folder, name, control, options=(), fault="", before=(), program=(PROGRAM,)):
        self.gate = os.path.join(folder, name + ".gate")
        self.out = os.path.join(folder, name + ".out")
        self.said = os.path.join(folder, name + ".said")
        with open(self.said, "w", encoding="utf-8") as said:
            self.process = subprocess.Popen(
                harness.command(program, folder=self.out, options=(f"GPUTRACE_CONTROL={control}", *options),
                                fault=fault, before=before),
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
class Control(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.boxes = tempfile.mkdtemp(prefix="gputrace-test-control.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, self.boxes)

    def start(self, name="one", **how):
        running = Running(self.folder, name, how.pop("control", self.boxes), **how)
        self.addCleanup(running.stop)
        self.assertTrue(harness.gate.wait_for(lambda: "first" in running.read()), running.read())
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
                self.assertTrue(harness.gate.wait_for(own))
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
        self.assertEqual(count(self.start("with")), count(self.start("without", control="off")))

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


COMMANDS = int(os.environ.get("RELIABILITY_COMMANDS", "100"))


def pid_of(path):
    return int(os.path.basename(path).split("-")[1].split(".")[0])


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[1])
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    unittest.main(verbosity=2)
