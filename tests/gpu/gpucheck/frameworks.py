# SPDX-License-Identifier: Apache-2.0
"""Rows with PyTorch, Triton and JAX, where they are installed. Which kernels run is their choice:
the number to expect comes from their own profiler, or from what they launch by name."""
from gpucheck import judge
from gpucheck.programs import counting, describe, judged, unable
from gpucheck.session import ended_badly, result

IMPORT_SECONDS = 60  # torch on a cold disk


def skipped_without(session, package):
    if package in session.preflight.get("packages", {}):
        return None
    return result(judge.SKIPPED, f"{package} is not installed")


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


def inside(session, coexist):
    """torch.profiler inside gputrace: what each of both saw. With share both see all; with own
    one of them may lack the profiled steps (docs/ENVIRONMENTS.md): a reason, but no finding."""
    bare, row = alone(session, "torch_step.py --count-with-profiler", "torch")
    if row:
        return row
    run = session.traced("torch_step.py --count-with-profiler", f"--coexist={coexist}",
                         *counting(session), wanted=IMPORT_SECONDS)
    bad = ended_badly(run)
    if bad:
        return bad
    wanted = bare.report.get("profiled_kernels", 0)
    theirs = run.report.get("profiled_kernels", 0)
    ours = run.traces[0].counts()["kernels"] if run.traces else 0
    seen = {"profiler alone": wanted, "profiler inside": theirs, "trace": ours}
    if not run.traces:
        return result(judge.NOT_TRACED, run.untraced() or "no trace was written", kernels=seen)
    faults = [f"{found} kernels seen by {who}, {wanted} by the profiler alone"
              for who, found in (("the profiler", theirs), ("gputrace", ours)) if found < wanted]
    is_bad = bool(faults) and coexist == "share"
    return result(judge.BAD if is_bad else judge.OK, "; ".join(faults), kernels=seen,
                  **describe(run))
