# SPDX-License-Identifier: Apache-2.0
"""One program with a limit: what it printed, how it ended, and its stacks if it did not."""
import os
import signal
import subprocess
import tempfile
import time

from gpucheck import stacks

MOST_OUTPUT = 8 << 20
KILL_SECONDS = 5


class Ended:
    """out, err, status (None: it was killed by us), seconds, stacks, began_ns, ended_ns."""

    def __init__(self):
        self.out = self.err = self.stacks = ""
        self.status = None
        self.began_ns = time.time_ns()
        self.ended_ns = self.began_ns
        self.timed_out = False
        self.limit = 0.0

    @property
    def seconds(self):
        return (self.ended_ns - self.began_ns) / 1e9

    @property
    def text(self):
        return self.out + self.err

    def how(self):
        """How it ended, in words; empty: as it should."""
        if self.timed_out:
            return f"still running after {self.limit:g} s"
        if self.status is not None and self.status < 0:
            return f"killed by {name_of_signal(-self.status)}"
        if self.status:
            return f"exit status {self.status}: {self.text.strip()[-300:]}"
        return ""

    @property
    def crashed(self):
        """By a signal, its own or that of a program that it ran."""
        return not self.timed_out and self.status is not None and (
            self.status < 0 or 128 < self.status < 128 + signal.NSIG)


def name_of_signal(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def end_session(child):
    """All of its processes; one inside the kernel's driver may survive that."""
    for member in stacks.session_of(child.pid) or [child.pid]:
        try:
            os.kill(member, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    try:
        child.wait(KILL_SECONDS)
    except subprocess.TimeoutExpired:
        pass


def head(file):
    file.seek(0)
    return file.read(MOST_OUTPUT).decode(errors="replace")


def run(words, environment, limit, folder=None):
    """Runs @words for at most @limit seconds. Its output goes to files: a pipe that a process left
    behind keeps open would hold us up."""
    ended = Ended()
    ended.limit = limit
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=err, cwd=folder, start_new_session=True)
        except OSError as error:
            ended.status, ended.err = 127, str(error)
            return ended
        try:
            ended.status = child.wait(limit)
        except subprocess.TimeoutExpired:
            ended.timed_out = True
            ended.stacks = stacks.of_session(child.pid)
        finally:
            if child.returncode is None:
                end_session(child)
        ended.ended_ns = time.time_ns()
        ended.out, ended.err = head(out), head(err)
    return ended
