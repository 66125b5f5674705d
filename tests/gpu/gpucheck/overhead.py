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
STOPPED = "is not recorded"  # in what the tracer says then


def levels_of(program):
    """Hooks see the calls of a shared runtime only."""
    return [level for level in LEVELS if level[2] != HOOKS or "-shared" in program]


def smaller(program):
    """The same program with few launches, for the proof."""
    words = ["--count=20" if word.startswith("--count=") else word for word in program.split()]
    return " ".join(words)


def missing_work(run, options):
    """What the trace lacks of the GPU work that is measured; empty: nothing."""
    trace, told = run.traces[0], run.report
    wanted = {"graph launches": told.get("graph_launches", 0)}
    if "--graphs=whole" in options:
        found = {"graph launches": trace.counts()["graphs"]}
    elif "--graphs=off" in options:
        found = {"graph launches": trace.ledger.get("graphs_left_out", 0)}
    else:
        wanted = {"kernels": told.get("kernels", 0)}
        found = {"kernels": trace.counts()["kernels"]}
    return ", ".join(f"{found[name]} {name} in the trace, {count} in the program"
                     for name, count in wanted.items() if found[name] < count)


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
    if mode == "cupti":
        return missing_work(run, options)
    return "" if trace.calls else "no calls in the trace"


class Prover:
    """Remembers what was proven."""

    def __init__(self):
        self.known = {}

    def why_not(self, session, program, options, mode):
        key = (program, tuple(options))
        if key not in self.known:
            self.known[key] = prove(session, program, options, mode)
        return self.known[key]


def what_was_wrong(said):
    """Of a run that writes no file, by the lines that the tracer said; empty: nothing."""
    if WRITES_NOTHING not in said:
        return "the tracer did not say that it recorded"
    return next((line for line in said if STOPPED in line), "")


def traced_time(session, program, options, mode, prover):
    why = prover.why_not(session, program, options, mode)
    if why:
        return result(judge.NOT_TRACED, why)
    run = session.traced(program, "--verbose", *options)
    bad = ended_badly(run)
    if bad:
        return bad
    if NULL in options:
        why = run.untraced() or what_was_wrong(run.said())
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
    singles, levels = [], levels or levels_of(program)
    for level in levels:
        if session.clock.is_over():
            why = f"the deadline was reached before {level[0]}"
            return result(judge.NO_TIME, why, levels=singles)
        singles.append(measure(session, program, level, prover))
        if level[1] is None and singles[-1]["verdict"] != judge.OK:
            break
    bad = [one for one in singles if one["verdict"] != judge.OK]
    worst = next((one for one in bad if one["verdict"] in judge.FINDINGS), bad[0] if bad else None)
    if worst:
        return result(worst["verdict"], f"{worst['level']}: {worst['reason']}", levels=singles)
    return result(judge.OK, levels=singles)


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
