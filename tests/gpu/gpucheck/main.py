# SPDX-License-Identifier: Apache-2.0
"""The command: preflight, then row by row until the deadline, the report rewritten after each."""
import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
import traceback

from gpucheck import bundle, judge, places, plan, preflight, programs, report, rows, runs
from gpucheck.session import IdleContext, Session

FIRST_SECONDS = 60   # a driver that was not in use sets up all devices
TRIAL_SECONDS = 20   # several may hang
INJECTED = ("hang-on-purpose", "crash-on-purpose")

ABOUT = """What needs a real GPU: CUPTI's behaviour by small probes, programs against their traces,
the cost of each level of tracing. Builds nothing. Exit status: 0 nothing found, 1 something found
or not finished, 2 the report or the bundle cannot be written, 77 no GPU here."""


def above_zero(kind):
    """A type of argparse."""
    def parse_number(text):
        number = kind(text)
        if number <= 0:
            raise argparse.ArgumentTypeError(f"{text}: more than 0 is needed")
        return number
    return parse_number


def parse(words):
    parser = argparse.ArgumentParser(prog="gpu-check", description=ABOUT)
    parser.add_argument("--bundle", metavar="DIR",
                        help="write all that a GPU machine needs into DIR (new or empty), and end; "
                             "there: DIR/run OUT")
    parser.add_argument("--cupti", metavar="FILE",
                        help="with --bundle: the libcupti to carry along, used where the machine "
                             "has none (the toolkit's; none: carry none)")
    parser.add_argument("--out", metavar="DIR", default=".",
                        help="folder of gpu-check-report.{txt,json} and the captures (here)")
    parser.add_argument("--deadline", type=above_zero(float), default=540, metavar="S",
                        help="seconds in all (540)")
    parser.add_argument("--run-limit", type=above_zero(float), default=25, metavar="S",
                        help="seconds of one program (25)")
    parser.add_argument("--rounds", type=above_zero(int), default=5, help="of the overhead (5)")
    parser.add_argument("--no-overhead", action="store_true", help="leave the overhead out")
    parser.add_argument("--only", metavar="TEXT", action="append", default=[],
                        help="only rows with TEXT in their name; may be repeated")
    parser.add_argument("--inject", action="store_true",
                        help="add a probe that hangs and one that crashes, to try this check")
    arguments = parser.parse_args(words)
    if arguments.cupti and not arguments.bundle:
        parser.error("--cupti goes with --bundle; GPUTRACE_CUPTI names the libcupti to use here")
    if not arguments.out:
        parser.error("--out needs the name of a folder")
    return arguments


def use_programs_libraries():
    """Lets the programs with the shared runtime find it where the loader does not. In a bundle it
    lies beside them; a folder of our own in LD_LIBRARY_PATH would reach the traced programs."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folder = pathlib.Path(home) / "lib64"
    if places.MANIFEST.exists() or preflight.loader_paths("libcudart.so.13"):
        return
    if (folder / "libcudart.so.13").exists():
        before = os.environ.get("LD_LIBRARY_PATH")
        os.environ["LD_LIBRARY_PATH"] = f"{folder}:{before}" if before else str(folder)


def try_cupti(session):
    """Whether a small program is traced with a certain libcupti; what was seen of the last try."""
    def trial(path):
        variables = {"GPUTRACE_CUPTI": path} if path else {}
        run = session.traced("driver --count=10", wanted=TRIAL_SECONDS, **variables)
        why = programs.untraced(run)
        session.preflight["trial"] = programs.describe(run)
        session.preflight["why nothing is traced"] = why
        return not why
    return trial


def prepare(session):
    """The preflight. Returns why nothing can be checked and the exit status of that; "": something
    can."""
    found = session.preflight
    found.update(preflight.look())
    found["obstacles"] = preflight.obstacles(found, found["bundle"].get("needs_glibc", {}))
    first = session.bare("driver --count=1", FIRST_SECONDS)
    found["first program"] = first.ended.how() or "runs"
    if first.ended.timed_out:
        found["stacks"] = first.ended.stacks
    if first.status != 0:
        return preflight.refusal(found, first.ended.timed_out)
    found["offers --graphs"] = programs.offers(session, "--graphs=")
    chosen, why = preflight.choose_cupti(found, try_cupti(session))
    found["cupti in use"] = f"{chosen or 'as found'} ({why})"
    if chosen:
        os.environ["GPUTRACE_CUPTI"] = chosen
    return "", 0


def allow_execution():
    """What carried the bundle here may have lost the modes of its files."""
    for path in places.BUILD.rglob("*"):
        if path.is_file() and not os.access(path, os.X_OK):
            with contextlib.suppress(OSError):  # its programs say what is wrong
                path.chmod(0o755)


def do_row(session, row):
    began = time.monotonic()
    if session.clock.is_over():
        done = {"verdict": judge.NO_TIME, "reason": "the deadline was reached"}
    else:
        try:
            done = row.work(session)
        except Exception:  # pylint: disable=broad-except
            done = {"verdict": judge.BAD, "reason": "gpu-check itself failed",
                    "faults": traceback.format_exc().splitlines()[-6:]}
    return {"name": row.name, "group": row.group, "claim": row.claim,
            "seconds": round(time.monotonic() - began, 2)} | done


def wanted_rows(arguments, session):
    claims, why = programs.probe_claims(session.clock.limit())
    table = rows.table(claims, INJECTED if arguments.inject else (), arguments.rounds,
                       not arguments.no_overhead)
    if arguments.only:
        table = [row for row in table if any(text in row.name for text in arguments.only)]
    return table, why


def go_through(session, table, written):
    queue = plan.Queue(table, rows.SHARES)
    while queue:
        row = queue.next()
        done = do_row(session, row)
        queue.used(row, done["seconds"])
        written.seconds = session.clock.elapsed()
        written.add(done)
        print(f"{session.clock.elapsed():6.1f} s  {done['verdict']:10}  {row.name}", flush=True)


def open_idle(session):
    """None: beside it no other context is allowed (a compute mode), or it cannot be opened."""
    idle = IdleContext(session.clock.limit())
    if idle.is_open() and session.bare("driver --count=1").status == 0:
        return idle
    idle.close()
    session.preflight["idle context"] = "none: no other program could run beside it"
    return None


def how_it_ended(done):
    late = sum(1 for row in done if row["verdict"] == judge.NO_TIME)
    return f"at the deadline, {late} rows not tried" if late else "complete"


def stop(number, frame):
    raise SystemExit(128 + number)


def check(arguments, session, written):
    why, status = prepare(session)
    written.machine = session.preflight
    if why:
        written.finish(why)
        print(f"gpu-check: {why}: nothing was checked")
        return status
    table, why = wanted_rows(arguments, session)
    if arguments.only and not table:
        return refuse(f"--only={' --only='.join(arguments.only)}: no row has that in its name")
    if why:
        session.preflight["no probes"] = why
    written.plan(row.name for row in table)
    written.write()
    idle = open_idle(session)
    try:
        go_through(session, table, written)
    finally:
        if idle:
            how = "open to the end" if idle.is_open() else "it ended early"
            session.preflight["idle context"] = how
            idle.close()
        try:
            names, left_out = report.pack_captures(session.captures, arguments.out)
        except OSError as error:
            names, left_out = [], f"all: {error.strerror}"
        session.preflight["captures"] = {"files": names, "left out": left_out}
    print(written.finish(how_it_ended(written.rows)), end="")
    finished = not any(judge.is_open(row) for row in written.rows)
    return judge.exit_status(written.rows, finished) or int(bool(why))


def main(words=None):
    arguments = parse(words)
    if arguments.bundle:
        try:
            return bundle.make(arguments.bundle, arguments.cupti)
        except OSError as error:
            return refuse(f"{error.filename or arguments.bundle}: {error.strerror}")
    if not (places.PROGRAMS / "driver").exists():
        sys.exit(f"gpu-check: {places.PROGRAMS} is not built: ninja -C build gpu-programs")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    if places.MANIFEST.exists():
        allow_execution()
    try:
        written = report.Report(arguments.out)
    except OSError as error:
        return refuse(f"{error.filename}: {error.strerror}")
    written.write()
    if written.unwritten:
        return refuse(f"{written.unwritten}: name another folder for the report")
    scratch = tempfile.mkdtemp(prefix="gputrace-check-")
    session = Session(plan.Clock(arguments.deadline, arguments.run_limit), scratch)
    try:
        use_programs_libraries()
        status = check(arguments, session, written)
        return refuse(f"{written.unwritten}: the report is above") if written.unwritten else status
    except SystemExit as end:
        written.seconds = session.clock.elapsed()
        written.finish(f"by {reason_of(end.code)}")
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def refuse(why):
    print(f"gpu-check: {why}", file=sys.stderr)
    return 2


def reason_of(code):
    return signal.Signals(code - 128).name if isinstance(code, int) and code > 128 else str(code)


if __name__ == "__main__":
    sys.exit(main())
