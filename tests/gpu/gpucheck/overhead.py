# SPDX-License-Identifier: Apache-2.0
"""What a launch costs at each level of tracing. A level is proven first: a run that was not traced
has no number."""
import json

from gpucheck import judge, places, programs, runs
from gpucheck.session import ended_badly, result

NULL = "--format=null"
HOOKS = "hooks only"  # as the trace calls that mode
# Level, its options (None: not traced at all), the mode that its trace has to name.
LEVELS = [
    (judge.BASE, None, ""),
    ("calls only", ["--mode=hooks", "--stacks=off", NULL], HOOKS),
    ("kernels", ["--api=none", "--stacks=off", NULL], "cupti"),
    ("kernels and calls", ["--stacks=off", NULL], "cupti"),
    ("kernels, calls, stacks", ["--stacks=short", NULL], "cupti"),
    ("kernels, calls, stacks, file", ["--stacks=short"], "cupti"),
]
LEVELS_OF_GRAPHS = [(f"graphs: {kind}", ["--stacks=off", f"--graphs={kind}", NULL], "cupti")
                    for kind in ("node", "whole", "off")]
WRITES_NOTHING = "gputrace: writing nothing"


def levels_of(program):
    """Hooks see the calls of a shared runtime only."""
    return [level for level in LEVELS if level[2] != HOOKS or "-shared" in program]


def smaller(program):
    """The same program with few launches, for the proof."""
    words = ["--count=20" if word.startswith("--count=") else word for word in program.split()]
    return " ".join(words)


def prove(session, program, options, mode):
    """Why @options do not trace @program; empty: they do. Tried with a file in place of null."""
    run = session.traced(smaller(program), *[word for word in options if word != NULL])
    bad = ended_badly(run)
    if bad:
        return bad["reason"]
    why = programs.untraced(run, mode)
    if why:
        return why
    trace = run.traces[0]
    work = sum(trace.counts().values())
    if mode == "cupti" and not work and "--graphs=off" not in options:
        return "no GPU work in the trace"
    return "" if work or trace.calls or "--graphs=off" in options else "no calls in the trace"


class Prover:
    """Remembers what was proven."""

    def __init__(self):
        self.known = {}

    def why_not(self, session, program, options, mode):
        key = (program, tuple(options))
        if key not in self.known:
            self.known[key] = prove(session, program, options, mode)
        return self.known[key]


def traced_time(session, program, options, mode, prover):
    why = prover.why_not(session, program, options, mode)
    if why:
        return result(judge.NOT_TRACED, why)
    run = session.traced(program, "--verbose", *options)
    bad = ended_badly(run)
    if bad:
        return bad
    if NULL in options:
        why = run.untraced() or ("" if WRITES_NOTHING in run.ended.err
                                 else "the tracer did not say that it recorded")
    else:
        why = programs.untraced(run, mode)
    return result(judge.NOT_TRACED, why) if why else timed(run)


def timed(run):
    value = run.report.get("ns_per_launch")
    if not value:
        return result(judge.BAD, "the program told no time")
    return result(judge.OK, ns_per_launch=value)


def measure(session, program, level, prover):
    """One run of @program at one level."""
    name, options, mode = level
    if options is None:
        run = session.bare(program)
        one = ended_badly(run) or timed(run)
        if one["verdict"] == judge.BAD:  # as programs.compare: it cannot run here
            one["verdict"] = judge.SKIPPED
    else:
        one = traced_time(session, program, options, mode, prover)
    return one | {"program": program, "level": name}


def measure_round(session, program, prover, levels=None):
    """One round: each level once. A program that cannot run untraced is not tried traced."""
    singles = []
    for level in levels or levels_of(program):
        if session.clock.is_over():
            break
        singles.append(measure(session, program, level, prover))
        if level[1] is None and singles[-1]["verdict"] != judge.OK:
            break
    bad = [one for one in singles if one["verdict"] != judge.OK]
    worst = next((one for one in bad if one["verdict"] in judge.FINDINGS), bad[0] if bad else None)
    if worst:
        return result(worst["verdict"], f"{worst['level']}: {worst['reason']}", levels=singles)
    return result(judge.OK if singles else judge.NO_TIME, levels=singles)


def measure_graphs(session, program, prover):
    if not session.preflight["offers --graphs"]:
        return result(judge.SKIPPED, "not offered: `gputrace run` has no --graphs")
    return measure_round(session, program, prover, [LEVELS[0], *LEVELS_OF_GRAPHS])


def bench(session, options, wanted):
    """`gputrace bench` as it is; its own report is kept."""
    why = session.preflight.get("why nothing is traced", "")
    if why:
        return result(judge.NOT_TRACED, why)
    words = [*places.GPUTRACE, "bench", "--format=json", *options]
    ended = runs.Run(words, runs.clean_environment(), session.clock.limit(wanted)).ended
    verdict, reason = judge.of_ended(ended)
    try:
        table = json.loads(ended.out)
    except ValueError:
        table = {}
    if verdict == judge.OK and not table:
        verdict, reason = judge.BAD, "its output is no JSON"
    more = {"stacks": ended.stacks} if ended.stacks else {}
    return result(verdict, reason, options=list(options), bench=table,
                  said=ended.err.strip()[-500:], **more)
