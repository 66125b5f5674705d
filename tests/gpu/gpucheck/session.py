# SPDX-License-Identifier: Apache-2.0
"""What every row gets: the clock, the folder of captures, what the preflight found."""
import os
import pathlib
import subprocess
import tempfile
import time

from gpucheck import judge, runs


class Session:
    def __init__(self, clock, scratch):
        self.clock = clock
        self.captures = pathlib.Path(scratch) / "captures"
        self.preflight = {}

    def bare(self, program, wanted=None, **variables):
        return runs.run_bare(program, self.clock.limit(wanted), **variables)

    def traced(self, program, *options, wanted=None, **variables):
        return runs.run_traced(program, self.clock.limit(wanted), *options, **variables)

    def capture_file(self, program):
        """Where the raw activity records of @program go."""
        self.captures.mkdir(parents=True, exist_ok=True)
        return self.captures / f"{program.split()[0]}.cupti"

    def injected(self, program):
        return runs.run_injected(program, self.clock.limit())


def result(verdict, reason="", **more):
    """A row's result; @reason is empty when all is well."""
    return {"verdict": verdict, "reason": reason} | more


def ended_badly(run):
    """The result of a run that did not end well, or None."""
    verdict, reason = judge.of_ended(run.ended)
    if verdict == judge.OK:
        return None
    more = {"stacks": run.ended.stacks} if run.ended.stacks else {}
    return result(verdict, reason, **more)


class IdleContext:
    """A CUDA context that stays open, so that programs do not wait for the driver
    to set up the device."""

    def __init__(self, limit):
        self.output = tempfile.TemporaryFile()
        try:
            self.child = subprocess.Popen(
                [*runs.program_words("driver"), "--count=1", "--hold=1"], stdin=subprocess.PIPE,
                stdout=self.output, stderr=self.output, env=runs.clean_environment(),
                start_new_session=True)
        except OSError:
            self.child = None
        end = time.monotonic() + limit
        while self.is_open() and not self.has_spoken() and time.monotonic() < end:
            time.sleep(0.05)

    def has_spoken(self):
        return os.fstat(self.output.fileno()).st_size > 0

    def is_open(self):
        return self.child is not None and self.child.poll() is None

    def close(self):
        if self.child is None:
            return
        self.child.stdin.close()
        try:
            self.child.wait(2)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait(2)
        self.output.close()
