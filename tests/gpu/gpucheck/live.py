# SPDX-License-Identifier: Apache-2.0
"""Rows that speak to a program while it runs: attach, windows, a dump, a hang, a kill."""
import contextlib
import functools
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from gpucheck import judge, places, process, runs
from gpucheck.session import result
from gpucheck.trace import Trace

READY_SECONDS = 30
RECORDED_SECONDS = 1


class Live:
    """A program under way, with what it printed; @options None: without the tracer."""

    def __init__(self, session, program, options=None):
        self.session = session
        self.folder = tempfile.mkdtemp(prefix="gputrace-check-")
        words = runs.program_words(program)
        if options is not None:
            words = [*places.GPUTRACE, "run", f"--output={self.folder}/0", *options, "--", *words]
        self.printed = tempfile.TemporaryFile()
        self.child = subprocess.Popen(words, env=runs.clean_environment(), stdin=subprocess.DEVNULL,
                                      stdout=self.printed, stderr=self.printed,
                                      start_new_session=True)
        self.pid = self.await_ready()
        self.said = []

    def text(self):
        self.printed.seek(0)
        return self.printed.read(process.MOST_OUTPUT).decode(errors="replace")

    def await_ready(self):
        """Its process id, 0: it did not say so."""
        end = time.monotonic() + self.session.clock.limit(READY_SECONDS)
        while time.monotonic() < end and self.child.poll() is None:
            found = re.search(r"^ready (\d+)$", self.text(), re.M)
            if found:
                return int(found[1])
            time.sleep(0.05)
        return 0

    def command(self, name, *options):
        """A command of gputrace for this process; its output."""
        ended = process.run([*places.GPUTRACE, name, *options, str(self.pid)],
                            runs.clean_environment(), self.session.clock.limit())
        self.said.append(f"{name}: {ended.how() or ended.text.strip()[:2000]}")
        return ended

    def finish(self):
        """Waits for its end. The exit status, None: it did not end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.child.wait(self.session.clock.limit())
        return None

    def close(self):
        if self.child.poll() is None:
            process.end_session(self.child)
        self.printed.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def check_traces(live, wanted):
    """(faults, [counts of each trace])"""
    paths = sorted(pathlib.Path(live.folder).rglob("*.pt.trace.json"))
    faults = [] if len(paths) == wanted else [f"{len(paths)} traces, {wanted} were asked for"]
    counts = []
    for path in paths:
        ended = process.run([*places.GPUTRACE, "verify", str(path)], runs.clean_environment(),
                            live.session.clock.limit())
        if ended.status:
            faults.append(f"verify: {ended.text.strip()[:300]}")
        counts.append(Trace(path).counts())
    return faults + [f"a trace without kernels: {row}" for row in counts if not row["kernels"]], counts


def judged(live, wanted, status=0, faults=()):
    """The result of a program that ended, with so many traces."""
    ended = live.finish()
    found, counts = check_traces(live, wanted)
    if ended != status:
        found.insert(0, f"exit status {ended} in place of {status}: {live.text().strip()[-300:]}")
    found = [*faults, *found]
    return result(judge.BAD if found else judge.OK, "; ".join(found[:3]), faults=found,
                  traces=counts, said=live.said)


def with_program(session, program, options, work):
    """@work with the program when it is ready."""
    live = Live(session, program, options)
    try:
        if not live.pid:
            return result(judge.SKIPPED, f"the program did not begin: {live.text().strip()[-300:]}")
        return work(live)
    finally:
        live.close()


def refused(ended, *parts):
    """[what is wrong with a command's output]"""
    if ended.status:
        return [ended.how()]
    return [f"it does not say '{part}'" for part in parts if part not in ended.text]


def attach(session):
    """To a process that was never prepared, twice."""
    def work(live):
        faults = []
        for number in (1, 2):
            faults += refused(live.command("attach", f"--output={live.folder}/{number}"))
            time.sleep(RECORDED_SECONDS)
            faults += refused(live.command("detach"))
        return judged(live, 2, faults=faults)
    return with_program(session, "driver --seconds=6", None, work)


def windows(session):
    """gputrace start and stop, twice."""
    def work(live):
        faults = []
        for _ in range(2):
            faults += refused(live.command("start"))
            time.sleep(RECORDED_SECONDS)
            faults += refused(live.command("stop"))
        return judged(live, 2, faults=faults)
    return with_program(session, "driver --seconds=5", ["--wait"], work)


def dump(session):
    """The flight recorder, asked once; at the end of a program that ended well it writes nothing."""
    def work(live):
        time.sleep(RECORDED_SECONDS)
        return judged(live, 1, faults=refused(live.command("dump")))
    return with_program(session, "driver --seconds=3", ["--flight-recorder=20s"], work)


def hang(session):
    """A kernel that runs on: named, with its call."""
    def work(live):
        time.sleep(RECORDED_SECONDS)
        return judged(live, 1, faults=refused(live.command("hang"), "the GPU never finished driver_spin",
                                              "cuStreamSynchronize"))
    return with_program(session, "driver --spin=4 --count=10", [], work)


def kill(session):
    """SIGKILL in the middle: gputrace run closes the trace."""
    def work(live):
        time.sleep(RECORDED_SECONDS)
        os.kill(live.pid, signal.SIGKILL)
        return judged(live, 1, status=-signal.SIGKILL)
    return with_program(session, "driver --seconds=20", [], work)


STEP_ROUNDS = 4
STEP_LEVELS = ["minimal", "default", "full"]


def median_between(text, begin, end):
    """Of the ms of a step in the blocks of torch_loop.py that lie wholly between both moments."""
    rows = [tuple(map(float, line.split())) for line in text.splitlines() if line[:1].isdigit()]
    inside = [ms for moment, ms in rows if begin <= moment - ms / 100 and moment <= end]
    return statistics.median(inside) if inside else None


def step_cost(session):
    """ms of a step of PyTorch while it is recorded and while it is not, in turns in one process for each level:
    processes differ from each other by more than the tracer costs, and a level is for a process."""
    if "torch" not in session.preflight.get("packages", {}):
        return result(judge.SKIPPED, "torch is not installed")
    rows = [with_program(session, "torch_loop.py --seconds=60", None, functools.partial(steps_of, level))
            for level in STEP_LEVELS]
    faults = [row["reason"] for row in rows if row["verdict"] != judge.OK]
    return result(judge.BAD if faults else judge.OK, "; ".join(faults),
                  seen="\n".join(row.get("seen", "") for row in rows), said=[row.get("said") for row in rows])


def steps_of(level, live):
    """In turns not recorded and recorded."""
    spans, faults = {"not recorded": [], level: []}, []
    for number in range(STEP_ROUNDS):
        spans["not recorded"].append(rest())
        faults += refused(live.command("attach", f"--level={level}", f"--output={live.folder}/{number}"))
        spans[level].append(rest())
        faults += refused(live.command("detach"))
    text = live.text()
    rounds = {name: [median_between(text, *span) for span in of] for name, of in spans.items()}
    seen = "; ".join(f"{name}: {' '.join(str(ms) for ms in of)} ms" for name, of in rounds.items())
    return result(judge.BAD if faults else judge.OK, "; ".join(faults[:3]), seen=seen, said=live.said)


def rest():
    """A while; (its begin, its end)"""
    begin = time.time()
    time.sleep(RECORDED_SECONDS)
    return begin, time.time()
