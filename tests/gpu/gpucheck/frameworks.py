# SPDX-License-Identifier: Apache-2.0
"""Rows with PyTorch, Triton and JAX, where they are installed. Which kernels run is their choice:
the number to expect comes from their own profiler, or from what they launch by name."""
import re

from gpucheck import judge
from gpucheck.programs import counting, describe, judged, unable
from gpucheck.session import ended_badly, result

IMPORT_SECONDS = 60  # torch on a cold disk


def skipped_without(session, package):
    if package in session.preflight.get("packages", {}):
        return None
    return result(judge.SKIPPED, f"{package} is not installed")


def profiler_cost(session):
    """ms of a step under torch.profiler and without, in turns: beside live.step_cost, the same steps."""
    bare, row = alone(session, "torch_loop.py --profiler-rounds=4", "torch")
    if row:
        return row
    seen = "\n".join(f"{name}: {' '.join(str(ms) for ms in of)} ms" for name, of in bare.report.items())
    return result(judge.OK, seen=seen)


def fewer(name, wanted):
    def faults(run):
        found = run.traces[0].counts()["kernels"]
        return [] if found >= wanted else [f"{found} kernels in the trace, {wanted} {name}"]
    return faults


def counted(session, script, package="torch"):
    """A script that first counts its kernels with a profiler of its own, untraced. The trace also
    holds the kernels of its set-up."""
    bare, row = alone(session, f"{script} --count-with-profiler", package)
    if row:
        return row
    wanted = bare.report.get("profiled_kernels", 0)
    run = session.traced(script, *counting(session), wanted=IMPORT_SECONDS)
    row = judged(run, {}, fewer("counted by its own profiler", wanted))
    return row | {"profiled_kernels": wanted}


def alone(session, script, package):
    """(the script's own run without the tracer, None), or (None, the row that says why not)"""
    missing = skipped_without(session, package)
    if missing:
        return None, missing
    bare = session.bare(script, IMPORT_SECONDS)
    bad = unable(bare)
    return (None, bad) if bad else (bare, None)


def named(session, script, package):
    """A script that launches kernels of one name a known number of times."""
    bare, row = alone(session, script, package)
    if row:
        return row

    def faults(run):
        wanted = run.report.get("named_kernels")
        found = run.traces[0].kernels_named(run.report.get("kernel_name", ""))
        return [] if found == wanted else [f"{found} kernels of that name, {wanted} launched"]
    return judged(session.traced(script, *counting(session), wanted=IMPORT_SECONDS), {}, faults)


def at_least(session, script, package):
    """A script that knows the least number of its kernels; the compiler chooses their names."""
    bare, row = alone(session, script, package)
    if row:
        return row
    wanted = bare.report.get("least_kernels", 0)
    run = session.traced(script, *counting(session), wanted=IMPORT_SECONDS)
    return judged(run, {}, fewer("launched at least", wanted))


def complaints(text):
    """What libkineto and Python warn of on stderr, without times and process ids."""
    return {re.sub(r"[0-9]+", "N", line) for line in text.splitlines()
            if re.match(r"(INFO|WARNING|ERROR):|.*Warning: ", line) and not line.startswith("gputrace:")}


def inside_faults(run, bare, seen):
    """Both see all, with their times, and the program says what it says untraced."""
    wanted = seen["profiler alone"]
    faults = [f"{seen[whose]} kernels seen by {who}, {wanted} by the profiler alone"
              for who, whose in (("the profiler", "profiler inside"), ("gputrace", "trace"))
              if seen[whose] < wanted]
    faults += [f"said only when traced: {line}"
               for line in sorted(complaints(run.ended.err) - complaints(bare.ended.err))]
    return faults + run.traces[0].losses()


def inside(session, *options):
    """torch.profiler inside gputrace: what each of both saw. With --coexist=own one of them may lack
    the profiled steps, and say so (docs/ENVIRONMENTS.md): a reason, but no finding."""
    bare, row = alone(session, "torch_step.py --count-with-profiler", "torch")
    if row:
        return row
    run = session.traced("torch_step.py --count-with-profiler", *options,
                         *counting(session), wanted=IMPORT_SECONDS)
    bad = ended_badly(run)
    if bad:
        return bad
    seen = {"profiler alone": bare.report.get("profiled_kernels", 0),
            "profiler inside": run.report.get("profiled_kernels", 0),
            "trace": run.traces[0].counts()["kernels"] if run.traces else 0}
    if not run.traces:
        return result(judge.NOT_TRACED, run.untraced() or "no trace was written", kernels=seen)
    faults = inside_faults(run, bare, seen)
    is_bad = bool(faults) and "--coexist=own" not in options
    return result(judge.BAD if is_bad else judge.OK, "; ".join(faults[:3]), faults=faults, kernels=seen,
                  **describe(run))


def rank_faults(run, bare):
    """Each operation that the program asked for was told by NCCL and found its call, on both ranks."""
    faults = [] if len(run.traces) == 2 else [f"{len(run.traces)} traces of two ranks"]
    if run.report != bare.report:
        faults.append(f"the program printed {run.report}, untraced {bare.report}")
    for trace in run.traces:
        told = trace.ledger.get("nccl_operations_told", 0)
        if told < bare.report["operations"]:
            faults.append(f"NCCL reported {told} operations, {bare.report['operations']} were asked for")
        faults += [f"{name}: {trace.ledger[name]}" for name in
                   ("nccl_operations_unmatched", "nccl_events_untaken") if trace.ledger.get(name)]
        faults += trace.losses()
    return faults


def two_ranks(session):
    """NCCL's plug-in, by a job of two ranks on one GPU."""
    bare, row = alone(session, "torch_two_ranks.py", "torch")
    if row:
        return row
    run = session.traced("torch_two_ranks.py", "--libraries=nccl-profiler", wanted=IMPORT_SECONDS)
    bad = ended_badly(run)
    if bad:
        return bad
    if not run.traces:
        return result(judge.NOT_TRACED, run.untraced() or "no trace was written")
    faults = rank_faults(run, bare)
    return result(judge.BAD if faults else judge.OK, "; ".join(faults[:3]), faults=faults, **describe(run))
