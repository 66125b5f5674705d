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
    missing = skipped_without(session, package)
    if missing:
        return missing
    bare = session.bare(f"{script} --count-with-profiler", IMPORT_SECONDS)
    bad = unable(bare)
    if bad:
        return bad
    wanted = bare.report.get("profiled_kernels", 0)
    run = session.traced(script, *counting(session), wanted=IMPORT_SECONDS)
    row = judged(run, {}, fewer("counted by its own profiler", wanted))
    return row | {"profiled_kernels": wanted}


def named(session, script, package):
    """A script that launches kernels of one name a known number of times."""
    missing = skipped_without(session, package)
    if missing:
        return missing
    bare = session.bare(script, IMPORT_SECONDS)
    bad = unable(bare)
    if bad:
        return bad

    def faults(run):
        wanted = run.report.get("named_kernels")
        found = run.traces[0].kernels_named(run.report.get("kernel_name", ""))
        return [] if found == wanted else [f"{found} kernels of that name, {wanted} launched"]
    return judged(session.traced(script, *counting(session), wanted=IMPORT_SECONDS), {}, faults)


def at_least(session, script, package):
    """A script that knows the least number of its kernels; the compiler chooses their names."""
    missing = skipped_without(session, package)
    if missing:
        return missing
    bare = session.bare(script, IMPORT_SECONDS)
    bad = unable(bare)
    if bad:
        return bad
    wanted = bare.report.get("least_kernels", 0)
    run = session.traced(script, *counting(session), wanted=IMPORT_SECONDS)
    return judged(run, {}, fewer("launched at least", wanted))


def inside(session, coexist):
    """torch.profiler inside gputrace: what each of both saw. With share both see all; with own
    one of them may lack the profiled steps (docs/ENVIRONMENTS.md): a reason, but no finding."""
    missing = skipped_without(session, "torch")
    if missing:
        return missing
    alone = session.bare("torch_step.py --count-with-profiler", IMPORT_SECONDS)
    bad = unable(alone)
    if bad:
        return bad
    run = session.traced("torch_step.py --count-with-profiler", f"--coexist={coexist}",
                         *counting(session), wanted=IMPORT_SECONDS)
    bad = ended_badly(run)
    if bad:
        return bad
    wanted = alone.report.get("profiled_kernels", 0)
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
