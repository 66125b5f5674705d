#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gputrace attach and detach: a program that was started without gputrace is recorded while they ask for it,
and sees nothing of it: it ends as it would have ended. Processes that cannot be attached to are named.

usage: test_attach.py [TEST...]    ATTACH_ROUNDS: how often (20)"""

import ctypes
import glob
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reliability"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
BUSY = os.path.join(harness.BUILD, "tests", "attach", "attach_busy")
ROUNDS = int(os.environ.get("ATTACH_ROUNDS", "20"))
GPUTRACE = os.path.join(harness.SOURCE, "scripts", "gputrace")
GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
# Its only thread waits for a socket with a time limit; prints how long it waited at most.
RECEIVES = """
import ctypes, select, socket, struct, sys, time
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
device = ctypes.c_void_p()
assert ctypes.CDLL(sys.argv[1]).cudaMalloc(ctypes.byref(device), ctypes.c_size_t(512)) == 0
here, there = socket.socketpair()
here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 500000))
print("ready", flush=True)
longest = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    began = time.monotonic()
    try:
        here.recv(1)
    except BlockingIOError:
        pass
    longest = max(longest, time.monotonic() - began)
print(longest, flush=True)
"""
PYTHON = [sys.executable, os.path.join(HERE, "busy.py"), "libcudart.so.13"]
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
LAST_THREAD = r"""
#include <pthread.h>
#include <unistd.h>
static void *run(void *end) { return read(0, end, 1) ? NULL : end; }
int main(void)
{
	static char end;
	pthread_t thread;

	pthread_create(&thread, NULL, run, &end);
	pthread_exit(NULL);
}
"""
EXECS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) /* as often as its argument says, then it waits */
{
	char left[16];

	usleep(200);
	snprintf(left, sizeof(left), "%d", atoi(argv[argc - 1]) - 1);
	if (*left != '-')
		execl("/proc/self/exe", argv[0], left, (char *)NULL);
	return (int)sleep(100);
}
"""


def gputrace(*words, **changes):
    """Status, and the line on stderr without its beginning."""
    done = subprocess.run([GPUTRACE, *words], capture_output=True, text=True, timeout=120, check=False,
                          env=harness.environment(**changes))
    return done.returncode, done.stderr.strip()


class Attach(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.out = os.path.join(self.folder, "out")

    def start(self, words, fault="", truth=None, wait=True):
        program = subprocess.Popen(harness.command(words, fault=fault, truth=truth), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=harness.environment(BUSY_SIMULATED="1"))
        self.addCleanup(self.end, program)
        if wait:
            self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    @staticmethod
    def end(program):
        if program.poll() is None:
            program.kill()
        program.wait()
        for file in (program.stdin, program.stdout, program.stderr):
            file.close()

    def finish(self, program):
        """The program ends as without us; returns what it printed."""
        output, errors = program.communicate("", timeout=120)
        self.assertEqual(errors, "")
        self.assertRegex(output, r"\nerrors=0: ")
        self.assertEqual(program.returncode, 0)
        return output

    def attach(self, program, *options, folder=None):
        status, said = gputrace("attach", f"--output={folder or self.out}", *options, str(program.pid))
        self.assertEqual(status, 0, said)
        return said

    def detach(self, program):
        status, said = gputrace("detach", str(program.pid))
        self.assertEqual(status, 0, said)
        return said

    def read(self, path):
        status, output = harness.tool("verify", "--strict", path)
        self.assertEqual(status, 0, output)
        return harness.trace_file.Trace(path)

    def refused(self, said, pid, *options, status=1):
        got, line = gputrace("attach", f"--output={self.out}/inner", *options, str(pid))
        self.assertEqual(got, status, line)
        self.assertRegex(line, said)
        self.assertEqual(len(line.splitlines()), 1, line)
        self.assertFalse(os.path.exists(self.out))

    # ---- rounds ----

    def rounds(self, words):
        program = self.start(words)
        for number in range(ROUNDS):
            self.attach(program)
            time.sleep(random.random() * 0.05)
            self.detach(program)
            self.assertEqual(len(harness.traces(self.out)), number + 1)
        self.finish(program)
        with_work = 0
        for path in harness.traces(self.out):
            trace = self.read(path)
            with_work += any(event.get("cat") in GPU for event in trace.events)
            self.assertEqual(trace.ledger["gpu_ops_without_call"], 0)
        self.assertGreater(with_work, ROUNDS // 2)

    def test_rounds(self):
        self.rounds([BUSY])

    def test_rounds_in_python(self):
        self.rounds(PYTHON)

    def test_first_time_again_and_again(self):
        for words in ([BUSY], PYTHON):
            for _ in range(max(ROUNDS // 10, 2)):
                program = self.start(words)
                time.sleep(random.random() * 0.1)
                self.attach(program)
                self.finish(program)

    def test_the_command_is_killed(self):
        """At any point: the program goes on, and can be attached to later."""
        for _ in range(max(ROUNDS // 2, 5)):
            program = self.start([BUSY])
            command = subprocess.Popen([GPUTRACE, "attach", "--output=" + self.out, str(program.pid)],
                                       stderr=subprocess.DEVNULL, env=harness.environment())
            time.sleep(0.01 + random.random() * 0.12)
            command.kill()
            command.wait()
            time.sleep(0.05)
            with open(f"/proc/{program.pid}/status", encoding="utf-8") as status:
                self.assertIn("TracerPid:\t0\n", status.read())
            status, said = gputrace("attach", "--output=" + self.out, str(program.pid))
            self.assertTrue(status == 0 or "is being recorded already" in said, said)
            harness.gate.wait_for(lambda: gputrace("detach", str(program.pid))[0] == 0)
            self.finish(program)

    # ---- what is recorded ----

    def test_trace(self):
        program = self.start([BUSY], truth=self.folder)
        said = self.attach(program, "--stacks=full")
        path = re.search(r"into (/\S+\.json) until gputrace detach \d+$", said)[1]
        time.sleep(0.3)
        self.assertIn(f"{path} is closed", self.detach(program))
        self.finish(program)
        self.assertEqual(harness.traces(self.out), [path])
        trace = self.read(path)
        metadata = trace.root["metadata"]
        self.assertRegex(metadata["attached"], r"^\d+ ms after the start of the process$")
        self.assertIn("NVTX", metadata["not_recorded"])
        self.assertEqual(metadata["mode"], "cupti")
        truth = harness.Truth(self.folder)
        began = {call["correlation"]: call["start"] for call in truth.calls}
        did = [op["correlation"] for op in sorted(truth.operations, key=lambda op: began[op["correlation"]])]
        told = [event["args"]["correlation"] for event in trace.events if event.get("cat") in GPU]
        self.assertGreater(len(told), 5)
        first = did.index(min(told, key=did.index))
        self.assertEqual(sorted(told), sorted(did[first:first + len(told)]))
        self.assertTrue(any("busy.cu" in str(event) or "main" in str(event) for event in trace.events))

    def test_the_program_ends_first(self):
        program = self.start([BUSY])
        self.attach(program)
        time.sleep(0.1)
        self.finish(program)
        path, = harness.traces(self.out)
        self.read(path)

    def test_duration(self):
        program = self.start([BUSY])
        said = self.attach(program, "--duration=100ms")
        self.assertIn(f".json until --duration=100ms is over, or gputrace detach {program.pid}", said)
        harness.gate.wait_for(lambda: harness.gate.count(self.out, '"ledger": {') > 0)
        status, said = gputrace("detach", str(program.pid))
        self.assertEqual((status, said), (0, f"gputrace: process {program.pid} is not being recorded"))
        self.finish(program)

    def test_compressed(self):
        program = self.start([BUSY])
        self.attach(program, "--compress=gzip")
        self.detach(program)
        self.finish(program)
        path, = glob.glob(os.path.join(self.out, "*.pt.trace.json*"))
        status, said = harness.tool("verify", path)
        self.assertEqual(status, 0, said)
        with open(path, "rb") as file:  # a build without ISA-L leaves it plain
            self.assertEqual(file.read(2) == b"\x1f\x8b", path.endswith(".gz"))

    def test_another_folder(self):
        program = self.start([BUSY])
        self.attach(program)
        self.detach(program)
        other = os.path.join(self.folder, "other")
        self.attach(program, folder=other)
        self.detach(program)
        self.finish(program)
        self.assertEqual((len(harness.traces(self.out)), len(harness.traces(other))), (1, 1))

    def wakes(self, pid):
        """How often our threads have gone to sleep so far, by name."""
        found = {}
        for path in glob.glob(f"/proc/{pid}/task/*/status"):
            with open(path, encoding="utf-8") as file:
                fields = dict(line.split(":", 1) for line in file)
            if fields["Name"].strip().startswith("gputrace-"):
                found[path] = (fields["Name"].strip(), int(fields["voluntary_ctxt_switches"]))
        return found

    def test_rest(self):
        """Detached it wakes twice a second."""
        program = self.start([BUSY])
        self.attach(program)
        self.detach(program)
        time.sleep(1.5)
        before = self.wakes(program.pid)
        time.sleep(3)
        after = self.wakes(program.pid)
        self.assertTrue(before)
        self.assertLess(sum(after[path][1] - before[path][1] for path in before), 20, (before, after))
        self.finish(program)

    def test_slow_enabling(self):
        """Enabling takes long, work that is under way then has no record: the program waits for neither."""
        program = self.start([BUSY], fault="slow_enable=300000000")
        self.attach(program)
        time.sleep(0.1)
        self.detach(program)
        self.finish(program)
        trace = self.read(*harness.traces(self.out))
        self.assertEqual(trace.ledger["launches_without_record"], 0)

    def test_before_cuda(self):
        script = ("import ctypes, sys; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(2**64 - 1), 0, 0, 0);"
                  "print('ready', flush=True); sys.stdin.readline(); c = ctypes.CDLL('libcudart.so.13');"
                  "p = ctypes.c_void_p(); c.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(64)); print('up', flush=True);"
                  "sys.stdin.readline(); [c.cudaMemset(p, 0, ctypes.c_size_t(64)) for n in range(9)];"
                  "c.cudaDeviceSynchronize(); print('errors=0: ')")
        program = self.start([sys.executable, "-c", script])
        self.assertIn("does not use CUDA yet", self.attach(program))
        program.stdin.write("\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), "up\n")
        harness.gate.wait_for(lambda: harness.traces(self.out))
        output, _ = program.communicate("\n", timeout=60)
        self.assertEqual(output, "errors=0: \n")
        path, = harness.traces(self.out)
        trace = self.read(path)
        self.assertEqual(sum(event.get("cat") == "gpu_memset" for event in trace.events), 9)

    # ---- what is refused ----

    def test_twice(self):
        program = self.start([BUSY])
        self.attach(program)
        status, said = gputrace("attach", "--output=" + self.out, str(program.pid))
        self.assertEqual(status, 1)
        self.assertRegex(said, r"is being recorded already, into /\S+$")
        self.detach(program)
        self.assertIn("is not being recorded", self.detach(program))
        status, said = gputrace("attach", "--output=" + self.out, "--graphs=off", str(program.pid))
        self.assertEqual(status, 1)
        self.assertIn("--graphs cannot change in a running process: CUPTI is set up by it", said)
        self.finish(program)

    def test_other_options(self):
        """What gputrace set can change, another attachment can; what it does not name is as by default."""
        program, seen = self.start([BUSY]), set()
        for number, options in enumerate(((), ("--stacks=off", "--kernels=!*"), ("--details=few",))):
            self.attach(program, *options)
            time.sleep(0.5)
            self.detach(program)
            path, = set(harness.traces(self.out)) - seen
            seen.add(path)
            trace = self.read(path)
            self.assertEqual(any("stack" in event["args"] for event in trace.calls), number != 1)
            self.assertEqual(trace.ledger["kernels_filtered"] > 0, number == 1)
            self.assertEqual("details=few" in trace.root["metadata"]["options"], number == 2)
        self.finish(program)

    def options(self, program, *options, before=()):
        """Of the next trace."""
        self.attach(program, *options)
        self.detach(program)
        path, = set(harness.traces(self.out)) - set(before)
        return self.read(path).root["metadata"]["options"]

    def test_a_refused_option_leaves_none_of_the_others(self):
        program = self.start([BUSY])
        plain = self.options(program)
        before = harness.traces(self.out)
        status, said = gputrace("attach", "--output=" + self.out, "--kernels=none", "--stacks=off", "--ring-size=1M",
                                str(program.pid))
        self.assertEqual((status, said.count("\n")), (1, 0), said)
        self.assertIn("--ring-size cannot change", said)
        self.assertEqual(self.options(program, before=before), plain)
        self.finish(program)

    def test_what_cannot_change_stays(self):
        program = self.start([BUSY])
        first = self.options(program, "--ring-size=1M", "--sync", "--kernels=*")
        before = harness.traces(self.out)
        second = self.options(program, before=before)
        self.assertIn("ring-size=1M", second)
        self.assertEqual(first.replace(" kernels=*", ""), second)
        self.finish(program)

    def test_two_at_once(self):
        """The second one is refused, and changes nothing."""
        program = self.start([BUSY])
        self.attach(program)
        self.detach(program)
        for number in range(5):
            outs = [os.path.join(self.folder, f"{name}{number}") for name in "ab"]
            commands = [subprocess.Popen([GPUTRACE, "attach", "--output=" + out, "--kernels=" + out[-2:], str(program.pid)],
                                         stderr=subprocess.PIPE, text=True, env=harness.environment()) for out in outs]
            said = [command.communicate(timeout=120)[1] for command in commands]
            codes = [command.returncode for command in commands]
            self.assertEqual(sorted(codes), [0, 1], said)
            self.assertIn("is being recorded already", said[codes.index(1)])
            self.detach(program)
            first = outs[codes.index(0)]
            path, = harness.traces(first)
            options = self.read(path).root["metadata"]["options"]
            self.assertIn("kernels=" + first[-2:], options)
            self.assertIn("output=" + first + " ", options)
            self.assertFalse(os.path.exists(outs[codes.index(1)]))
        self.finish(program)

    def test_prepared(self):
        out = os.path.join(self.folder, "prepared")
        program = subprocess.Popen(harness.command([BUSY], folder=out), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=harness.environment(BUSY_SIMULATED="1"))
        self.addCleanup(self.end, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        self.refused(f"was started with gputrace: use gputrace start {program.pid}$", program.pid)
        status, said = gputrace("detach", str(program.pid))
        self.assertEqual(status, 1)
        self.assertIn(f"use gputrace stop {program.pid}", said)

    def test_words(self):
        for words, said in ((("x",), "'x' is no process id"), (("-1",), "-1"), (("0",), "'0' is no process id"),
                            (("--delay=3", "1"), "--delay needs a program that is started by gputrace run"),
                            (("--flight-recorder=9s", "1"), "--flight-recorder needs a program that is started by"),
                            (("--stacks=some", "1"), "--stacks=some: must be one of off|short|full"),
                            ((), "too few arguments")):
            status, line = gputrace("attach", *words)
            self.assertEqual(status, 2, line)
            self.assertIn(said, line)
        with open("/proc/sys/kernel/pid_max", encoding="utf-8") as most:
            self.refused("there is no process", int(most.read()))

    def sleeper(self, words=("sleep", "100"), settle=0.2, **how):
        program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        self.addCleanup(self.end, program)
        time.sleep(settle)
        return program

    def scripted(self, script):
        """A sleeper that has done this before."""
        program = self.sleeper([sys.executable, "-c", script + "; import time; print('ready', flush=True); time.sleep(100)"],
                               settle=0)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        return program

    def test_thread(self):
        program = self.start([BUSY])
        thread = max(int(tid) for tid in os.listdir(f"/proc/{program.pid}/task"))
        self.refused(f"is a thread of process {program.pid}", thread)
        self.finish(program)

    def test_stopped(self):
        program = self.sleeper()
        program.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        self.refused(f"is stopped: continue it first \\(kill -CONT {program.pid}\\)", program.pid)

    def test_was_stopped(self):
        program = self.sleeper()
        program.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        program.send_signal(signal.SIGCONT)
        time.sleep(0.1)
        self.assertIn("does not use CUDA yet", self.attach(program))
        self.assertIsNone(program.poll())

    def test_debugged(self):
        program = self.sleeper()
        ptrace = ctypes.CDLL(None, use_errno=True).ptrace
        ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
        self.assertEqual(ptrace(PTRACE_SEIZE, program.pid, None, None), 0)
        self.refused(rf"is being traced by process {os.getpid()} \(\S+\): end that first", program.pid)

    def build(self, *options, text="#include <unistd.h>\nint main(void) { sleep(100); return 0; }\n"):
        source, path = os.path.join(self.folder, "p.c"), os.path.join(self.folder, "p")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(["cc", *options, "-o", path, source], capture_output=True, check=False)
        return path if done.returncode == 0 else None

    def test_first_thread_has_ended(self):
        """Such a process is no zombie."""
        path = self.build("-pthread", text=LAST_THREAD)
        program = self.sleeper([path])
        self.refused("its first thread has ended, and others go on: no library can be loaded into it", program.pid)
        program.stdin.close()
        self.assertEqual(program.wait(timeout=60), 0)

    def test_static(self):
        path = self.build("-static")
        if not path:
            self.skipTest("static programs cannot be linked")
        self.refused("is a static program, into which no library can be loaded", self.sleeper([path]).pid)

    def test_during_exec(self):
        path = self.build(text=EXECS)
        for _ in range(10):
            program = self.sleeper([path, "150"], settle=0.01)
            _, said = gputrace("attach", f"--output={self.out}", str(program.pid))
            self.assertRegex(said, "does not use CUDA yet|has started another program$")
            self.assertIsNone(program.poll())

    def test_32_bit(self):
        path = self.build("-m32")
        if not path:
            self.skipTest("32-bit programs cannot be linked")
        self.refused("runs a 32-bit program", self.sleeper([path]).pid)

    def test_sealed(self):
        script = ("import ctypes; c = ctypes.CDLL(None); c.prctl(38, 1, 0, 0, 0);"
                  "f = (ctypes.c_uint64 * 1)(0x7fff000000000006);"
                  "p = (ctypes.c_uint64 * 2)(1, ctypes.addressof(f)); assert c.prctl(22, 2, p, 0, 0) == 0")
        self.refused("has a seccomp filter of its own", self.scripted(script).pid)

    def test_undumpable(self):
        if os.geteuid() == 0:
            self.skipTest("root may look at it")
        self.refused("cannot be inspected", self.scripted("import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)").pid)

    def test_another_user(self):
        if os.geteuid():
            self.skipTest("only root can start a process of another user")
        self.refused(r"belongs to user \S+: run gputrace as that user \(sudo -u", self.sleeper(user=65534).pid)

    def test_container(self):
        program = self.sleeper(["unshare", "--mount", "--pid", "--fork", "sleep", "100"])
        if program.poll() is not None:
            self.skipTest("no namespaces can be made here")

        def children():
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="utf-8") as file:
                return file.read().split()
        self.assertTrue(harness.gate.wait_for(children))
        child = int(children()[0])
        self.addCleanup(os.kill, child, signal.SIGKILL)
        self.refused("runs in a container", child)

    @unittest.skipUnless(os.geteuid() == 0, "only root can change its root folder")
    def test_chroot(self):
        script = "import os, sys, time; os.chroot(sys.argv[1]); time.sleep(100)"
        program = self.sleeper([sys.executable, "-c", script, self.folder])
        harness.gate.wait_for(lambda: os.readlink(f"/proc/{program.pid}/root") != "/")
        self.refused("has another root folder \\(chroot\\): run gputrace in it", program.pid)

    def test_no_place(self):
        """A thread that never waits is not disturbed."""
        program = self.start([sys.executable, "-c", "import ctypes\nctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)"
                                               "\nprint('ready', flush=True)\nwhile True: pass"])
        self.refused("no thread of process .* waits in a system call", program.pid)
        self.assertIsNone(program.poll())

    def test_time_limit_of_a_socket(self):
        """It begins again once, with all of its time, however long a place is looked for."""
        program = self.start([sys.executable, "-c", RECEIVES, "libcudart.so.13"])
        self.attach(program)
        self.detach(program)
        program.stdin.close()
        longest = float(program.stdout.readline())
        self.assertEqual(program.wait(30), 0)
        self.assertGreaterEqual(longest, 0.5)
        self.assertLess(longest, 5)

    def test_not_attached(self):
        status, said = gputrace("detach", str(self.sleeper().pid))
        self.assertEqual(status, 1)
        self.assertIn("was not attached to", said)


if __name__ == "__main__":
    unittest.main()
