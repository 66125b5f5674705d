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
import unittest

import controlled
import harness

COMMANDS = int(os.environ.get("RELIABILITY_COMMANDS", "100"))
REQUEST, ANSWERED = 488, 1520  # places in a mailbox: request.number, answer.number; docs/internals/control.md


def pid_of(path):
    return int(os.path.basename(path).split("-")[1].split(".")[0])


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Control(controlled.Test):
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
            self.assertEqual(row["Command"], controlled.BUSY)
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

    def test_answers_and_ends(self):
        """While the command sleeps: it has the answer."""
        run = self.start(fault="slow_flush=300000000", options=("GPUTRACE_FLUSH_PERIOD=100000",))  # it does not answer at once

        def number(at):
            with open(self.box(), "rb") as box:
                return struct.unpack_from("=I", box.read(), at)[0]
        naps = os.path.join(self.folder, "naps")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            told = pool.submit(
                harness.tool, "flush", str(run.pid), GPUTRACE_CONTROL=self.boxes, NAP_UNTIL_ENDED=str(run.pid), NAP_BEGINS=naps,
                LD_PRELOAD=harness.preloading.with_tracer(os.path.join(harness.PROGRAMS, "liblongnap.so")))
            harness.gate.wait_for(lambda: os.path.exists(naps) or told.done())
            harness.gate.wait_for(lambda: number(REQUEST) == number(ANSWERED))
            run.end()
            status, said = told.result()
        self.assertIn(": written into ", said)
        self.assertEqual(status, 0)

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
                                 f"--output={self.folder}/out", controlled.BUSY])
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
        run = controlled.Running(self.folder, "one", self.boxes, before=["unshare", "--pid", "--fork"])
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
        run = controlled.Running(self.folder, "one", "on", before=["unshare", "--mount", "sh", "-c", script, "-"])
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
        run = controlled.Running(self.folder, "one", "on", before=["unshare", "--mount", "sh", "-c", script, self.folder])
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
