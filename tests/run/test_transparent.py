#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program under `gputrace run` lives as it would without: exit status, signals, streams, terminal,
job control. Each case in every shell that can be /bin/sh here."""
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from harness import RunTest, environment

SHELLS = [[shell] for shell in ("dash", "bash") if shutil.which(shell)]

# Prints the signals it gets, ends with status 7 at "end" on stdin. Signals are waited for, not
# handled: Python would run a handler only after the system call that it came just before.
LISTENER = """
import os, signal, sys, threading
names = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM")
signals = {getattr(signal, "SIG" + name) for name in names}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
def wait_for_end():
    for line in sys.stdin:
        if line.strip() == "end":
            os._exit(7)
threading.Thread(target=wait_for_end, daemon=True).start()
os.write(1, b"ready\\n")
while True:
    os.write(1, signal.Signals(signal.sigwait(signals)).name.encode() + b"\\n")
"""

# Takes the suspend key as full-screen programs do, and stops by itself.
SUSPENDING = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTSTP})
os.write(1, b"ready\\n")
signal.sigwait({signal.SIGTSTP})
os.kill(os.getpid(), signal.SIGSTOP)
sys.stdin.readline()
os._exit(7)
"""

# Tells by its status that a hang-up came whole.
HUNG_UP = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP, signal.SIGCONT})
os.write(1, b"ready")
signal.sigwait({signal.SIGHUP})
signal.sigwait({signal.SIGCONT})
os._exit(7)
"""


def wait_for(condition, seconds=100):
    """Polls until the condition holds; False when it never did."""
    for _ in range(int(seconds * 100)):
        if condition():
            return True
        time.sleep(0.01)
    return False


def ended(pid):
    """The status of a child in a list, once there is one."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return [status] if found else []


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


class TestExit(RunTest):
    def each_shell(self):
        for (shell,) in SHELLS:
            with self.subTest(shell=shell):
                yield shell

    def test_exit_status(self):
        for shell in self.each_shell():
            for status in (0, 1, 2, 77, 126, 255):
                done = self.run_it("--", "sh", "-c", f"exit {status}", shell=shell)
                self.assertEqual(done.returncode, status)

    def test_death_by_signal(self):
        for shell in self.each_shell():
            for name in ("TERM", "KILL", "SEGV", "INT", "ABRT", "USR1"):
                done = self.run_it("sh", "-c", f"kill -{name} $$", shell=shell)
                self.assertEqual(done.returncode, -getattr(signal, "SIG" + name), name)

    def test_shell_sees_128_plus_n(self):
        words = " ".join(self.command("sh", "-c", "'kill -TERM $$'"))
        done = subprocess.run(["sh", "-c", words + "; echo $?"], capture_output=True, text=True,
                              check=False, cwd=self.scratch, env=environment())
        self.assertEqual(done.stdout.strip(), str(128 + signal.SIGTERM))

    def test_missing_and_not_executable(self):
        plain = self.scratch / "plain"
        plain.write_text("text", encoding="ascii")
        done = self.run_it("./no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"./no-such-program", done.stderr)
        self.assertEqual(self.run_it("./plain").returncode, 126)
        self.assertEqual(self.run_it("no-such-program").returncode, 127)

    def test_what_is_missing_has_a_name(self):
        script = self.scratch / "script"
        script.write_text("#!/nowhere/python\n", encoding="ascii")
        script.chmod(0o755)
        done = self.run_it("./script")
        self.assertEqual(done.returncode, 127)
        self.assertIn(b"cannot run './script': its interpreter '/nowhere/python' is not there", done.stderr)
        done = self.run_it(self.scratch)
        self.assertEqual(done.returncode, 126)
        self.assertIn(b"Is a directory", done.stderr)

    def test_arguments_arrive_as_they_are(self):
        words = ["", " ", "a b", "*", "$HOME", "--", "-x", "new\nline", "\\", "'\"", "--quiet"]
        done = self.run_it("--quiet", "--", *self.python("import sys; print(sys.argv[1:])"), *words)
        self.assertEqual(done.stdout.decode(), repr(words) + "\n")


class TestStreams(RunTest):
    def test_streams_are_untouched(self):
        data = bytes(range(256)) * 4096
        done = self.run_it("--quiet", "sh", "-c", "cat; echo to-stderr >&2; exit 4", input=data)
        self.assertEqual(done.stdout, data)
        self.assertEqual(done.stderr, b"to-stderr\n")
        self.assertEqual(done.returncode, 4)

    def test_stdout_is_the_programs_alone(self):
        done = self.run_it("echo", "hello")
        self.assertEqual(done.stdout, b"hello\n")

    def test_descriptors_and_signals_are_inherited_as_they_are(self):
        show = ("ls /proc/self/fd | wc -l; "
                "grep -E '^(SigBlk|SigIgn|SigCgt)' /proc/self/status")
        before = ["sh", "-c", "trap '' HUP; exec 5</dev/null; exec \"$@\"", "sh"]
        plain = subprocess.run([*before, "sh", "-c", show], capture_output=True, check=True,
                               stdin=subprocess.DEVNULL, cwd=self.scratch, env=environment())
        traced = subprocess.run([*before, *self.command("--quiet", "sh", "-c", show)],
                                capture_output=True, check=True, stdin=subprocess.DEVNULL,
                                cwd=self.scratch, env=environment())
        self.assertEqual(traced.stdout, plain.stdout)

    def test_streams_that_are_closed_stay_closed(self):
        show = 'exec 9>>seen; for i in 0 1 2 3 4 5 6 7 8; do test ! -e /proc/$$/fd/$i || echo "$i" >&9; done; exit 5'
        for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
            seen = []
            for words in ([], self.command("--quiet")):
                done = subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *words, "sh", "-c", show], check=False,
                                      capture_output=True, cwd=self.scratch, env=environment(), timeout=300)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (5, b"", b""), closed)
                seen.append((self.scratch / "seen").read_bytes())
                (self.scratch / "seen").unlink()
            self.assertEqual(*seen, closed)

    def test_what_the_program_closes_is_closed(self):
        """Who reads its output sees the end of it while the program runs on."""
        there, go_on = os.pipe()
        other, theirs = os.pipe()
        code = f"import os; os.close(0); os.close(1); os.close({theirs}); os.read({there}, 1); os._exit(7)"
        with subprocess.Popen(self.command("--quiet", *self.python(code)), cwd=self.scratch,
                              env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              pass_fds=(there, theirs)) as process:
            os.close(there)
            os.close(theirs)
            try:
                for end in (process.stdin.fileno(), process.stdout.fileno(), other):
                    poll = select.poll()
                    poll.register(end, 0)
                    self.assertTrue(poll.poll(60000), "somebody else has it open")
            finally:
                os.close(go_on)
                os.close(other)
            self.assertEqual(process.wait(60), 7)


class TestSignals(RunTest):
    def start(self, *options, **popen):
        process = subprocess.Popen(self.command(*options, *self.python(LISTENER)),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.scratch,
                                   env=environment(), stderr=subprocess.DEVNULL, **popen)
        self.addCleanup(end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def finish(self, process):
        process.stdin.write(b"end\n")
        process.stdin.close()
        self.assertEqual(process.wait(60), 7)
        self.assertEqual(process.stdout.read(), b"")
        process.stdout.close()

    def test_signals_reach_the_program(self):
        process = self.start()
        for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM"):
            process.send_signal(getattr(signal, name))
            self.assertEqual(process.stdout.readline(), name.encode() + b"\n")
        self.finish(process)

    def test_signal_to_the_group_arrives_once(self):
        process = self.start(start_new_session=True)
        for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGALRM") * 5:
            os.killpg(process.pid, getattr(signal, name))
            self.assertEqual(process.stdout.readline(), name.encode() + b"\n")
            self.assertTrue(wait_for(lambda: has_attended(process.pid)))
        process.send_signal(signal.SIGTERM) # and the one that is for the wrapper alone still comes
        self.assertEqual(process.stdout.readline(), b"SIGTERM\n")
        self.finish(process)

    def test_signal_to_the_group_after_a_stop(self):
        process = self.start(start_new_session=True)
        child = program_of(process.pid)
        os.killpg(process.pid, signal.SIGSTOP)
        self.assertTrue(wait_for(lambda: state(process.pid) == "T" and state(child) == "T"))
        # the wrapper alone, which stops once more for the stop of the program that it sees
        self.assertTrue(wait_for(lambda: os.kill(process.pid, signal.SIGCONT) or
                                 state(child) == "S"))
        os.kill(process.pid, signal.SIGUSR1)
        self.assertEqual(process.stdout.readline(), b"SIGUSR1\n")
        self.finish(process)

    def test_default_action_ends_both(self):
        process = subprocess.Popen(self.command("sleep", "1000"), cwd=self.scratch,
                                   env=environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(end, process)
        self.assertTrue(wait_for(lambda: child_is(process.pid, "sleep")))
        process.terminate()
        self.assertEqual(process.wait(60), -signal.SIGTERM)

    def test_timers_that_ran_already_run_in_the_program(self):
        timers = "(signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)"
        show = f"import signal; print([round(signal.getitimer(t)[1]) for t in {timers}])"
        result = self.run_it("--quiet", *self.python(show), preexec_fn=set_timers)
        self.assertEqual(result.stdout, b"[2000, 2001, 2002]\n")

    def test_alarm_ends_both(self):
        result = self.run_it("--quiet", "sleep", "1000", preexec_fn=lambda: signal.alarm(3))
        self.assertEqual(result.returncode, -signal.SIGALRM)

    def test_stop_and_continue(self):
        process = self.start(start_new_session=True)
        child = program_of(process.pid)
        os.killpg(process.pid, signal.SIGSTOP)
        self.assertTrue(wait_for(lambda: state(process.pid) == "T" and state(child) == "T"))
        os.killpg(process.pid, signal.SIGCONT)
        self.assertTrue(wait_for(lambda: state(process.pid) == "S" and state(child) == "S"))
        os.kill(child, signal.SIGSTOP)
        self.assertTrue(wait_for(lambda: state(process.pid) == "T"))
        os.kill(process.pid, signal.SIGCONT)
        self.assertTrue(wait_for(lambda: state(process.pid) == "S" and state(child) == "S"))
        self.finish(process)

    def test_continued_by_another(self):
        process = self.start(start_new_session=True)
        child = program_of(process.pid)
        for _ in range(2):
            os.kill(child, signal.SIGSTOP)
            self.assertTrue(wait_for(lambda: state(process.pid) == "T"))
            os.kill(child, signal.SIGCONT)
            self.assertTrue(wait_for(lambda: state(process.pid) == "S" and state(child) == "S"))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.stdout.readline(), b"SIGTERM\n")
        self.finish(process)

    def test_ended_while_stopped(self):
        process = self.start(start_new_session=True)
        child = program_of(process.pid)
        os.kill(child, signal.SIGSTOP)
        self.assertTrue(wait_for(lambda: state(process.pid) == "T"))
        os.kill(child, signal.SIGKILL)
        self.assertEqual(process.wait(100), -signal.SIGKILL)
        process.stdin.close()
        process.stdout.close()


def set_timers():
    for after, which in enumerate((signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)):
        signal.setitimer(which, 1000, 2000 + after)


def pending(pid):
    """Signals that wait for the process, as a mask."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return sum(int(line.split()[1], 16) for line in status
                   if line.startswith(("SigPnd:", "ShdPnd:")))


def has_attended(pid):
    """The wrapper and its witness have taken every signal that they got, and sleep."""
    return all(pending(one) == 0 and state(one) == "S" for one in (pid, children(pid)[1]))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as listing:
        return [int(word) for word in listing.read().split()]


def program_of(pid):
    """The older one of the wrapper's two children."""
    return children(pid)[0]


def child_is(pid, name):
    """True once the process has become the wrapper's last part and its child the named program."""
    try:
        with open(f"/proc/{program_of(pid)}/comm", encoding="ascii") as comm:
            return comm.read().strip() == name
    except (OSError, IndexError):
        return False


def end(process):
    """Leaves nothing behind when a test fails half-way: the program first, then the wrapper."""
    if process.poll() is None:
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
        process.kill()
        process.wait()


def end_job(shell):
    """Ends a shell and what it started, all of the terminal's session."""
    if os.waitpid(shell, os.WNOHANG)[0] == 0:
        for child in children(shell):
            os.killpg(child, signal.SIGKILL)
        os.kill(shell, signal.SIGKILL)
        os.waitpid(shell, 0)


class TestTerminal(RunTest):
    """On a pseudo terminal, as session leader's child in the foreground."""

    def spawn(self, *words):
        pid, terminal = pty.fork()
        if pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, for its children too
            os.chdir(self.scratch)
            os.execvpe("sh", self.command(*words), environment())
        self.addCleanup(os.close, terminal)
        return pid, terminal

    def read_until(self, terminal, end):
        text = b""
        while end not in text:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                data = b""
            if not data:
                self.fail(f"{end!r} never came, only {text!r}")
            text += data
        return text

    def hang_up(self, *words):
        """The exit code of a program that has said "ready", once its terminal is gone."""
        pid, terminal = self.spawn("--quiet", *words)
        self.read_until(terminal, b"ready")
        with open(os.devnull, "rb") as null:
            os.dup2(null.fileno(), terminal)
        status = []
        if not wait_for(lambda: status or status.extend(ended(pid))):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self.fail("it goes on")
        return os.waitstatus_to_exitcode(status[0])

    def test_hang_up_ends_both(self):
        ready = "os.write(1, b'ready'); time.sleep(1000)"
        self.assertEqual(self.hang_up(*self.python(f"import os, time; {ready}")), -signal.SIGHUP)

    def test_hang_up_reaches_the_program(self):
        self.assertEqual(self.hang_up(*self.python(HUNG_UP)), 7)

    def test_reads_from_the_terminal(self):
        pid, terminal = self.spawn("--quiet", "sh", "-c",
                                   "test -t 0 && test -t 1 && read line && echo got:$line; exit 3")
        os.write(terminal, b"hello\n")
        self.read_until(terminal, b"got:hello")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 3)

    def test_interrupt_key_arrives_once(self):
        pid, terminal = self.spawn("--quiet", *self.python(LISTENER))
        self.read_until(terminal, b"ready")
        os.write(terminal, b"\x03")
        self.read_until(terminal, b"SIGINT")
        os.write(terminal, b"end\n")
        rest = b""
        try:
            while data := os.read(terminal, 4096):
                rest += data
        except OSError:
            pass
        self.assertNotIn(b"SIGINT", rest)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)

    def test_interrupt_key_ends_both(self):
        pid, terminal = self.spawn("--quiet", "sh", "-c", "echo up; exec sleep 1000")
        self.read_until(terminal, b"up")
        self.assertTrue(wait_for(lambda: child_is(pid, "sleep")))
        os.write(terminal, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), -signal.SIGINT)

    def job(self, shell, *words):
        """Words traced as a job of a shell, which says when it halts and goes on with it after a line."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.scratch)
            traced = " ".join(map(shlex.quote, self.command("--quiet", *words)))
            script = f"{traced}; echo halted:$?; read go; fg; echo ended:$?"
            os.execvpe(shell, [shell, "-mc", script], environment())
        self.addCleanup(os.close, terminal)
        self.addCleanup(end_job, pid)
        return pid, terminal

    def test_suspend_key(self):
        for (shell,) in SHELLS:
            for listener in (LISTENER, SUSPENDING):
                with self.subTest(shell=shell):
                    pid, terminal = self.job(shell, *self.python(listener))
                    self.read_until(terminal, b"ready")
                    wrapper = program_of(pid)
                    child = program_of(wrapper)
                    os.write(terminal, b"\x1a")
                    self.read_until(terminal, b"halted:")
                    time.sleep(0.5)  # nobody wakes them
                    self.assertEqual((state(wrapper), state(child)), ("T", "T"))
                    os.write(terminal, b"go\n")
                    self.assertTrue(wait_for(lambda: state(wrapper) == "S" and state(child) == "S"))
                    os.write(terminal, b"end\n")
                    self.read_until(terminal, b"ended:7")

    def test_continued_by_another_after_the_suspend_key(self):
        for (shell,) in SHELLS:
            with self.subTest(shell=shell):
                pid, terminal = self.job(shell, "sleep", "1000")
                self.assertTrue(wait_for(lambda: children(pid) and
                                         child_is(program_of(pid), "sleep")))
                wrapper = program_of(pid)
                child = program_of(wrapper)
                os.write(terminal, b"\x1a")
                self.read_until(terminal, b"halted:")
                os.kill(child, signal.SIGCONT)
                self.assertTrue(wait_for(lambda: state(wrapper) == "S" and state(child) == "S"))
                os.write(terminal, b"go\n")
                os.kill(child, signal.SIGTERM)
                self.read_until(terminal, b"ended:%d" % (128 + signal.SIGTERM))


if __name__ == "__main__":
    unittest.main()
