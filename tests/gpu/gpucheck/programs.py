# SPDX-License-Identifier: Apache-2.0
"""Rows that compare a program with its trace."""
from gpucheck import judge, places, runs
from gpucheck.session import ended_badly, result


def describe(run):
    """All that the trace says of itself: mode and its reason, options, counts, losses; and what the
    tracer said on stderr: quirks, kinds that CUPTI refused."""
    said = run.said()[:40]
    if not run.traces:
        return {"expected": run.report, "tracer said": said}
    trace = run.traces[0]
    return {"expected": run.report, "found": trace.counts(), "metadata": trace.metadata,
            "tracer said": said, "notes": trace.notes,
            "cupti_version": trace.cupti_version, "driver_version": trace.driver_version,
            "runtime_version": trace.runtime_version,
            "ledger": {name: count for name, count in trace.ledger.items() if count}}


def untraced(run, wanted="cupti"):
    """Why @run is no traced run; empty: it is one."""
    metadata = run.traces[0].metadata if run.traces else {}
    return judge.not_traced(run.untraced(), run.said(), metadata.get("mode"),
                            metadata.get("mode_reason"), len(run.traces), wanted)


def judge_trace(run, expected):
    """(faults, distributions) of a run that was traced."""
    faults = list(run.spoiled)
    if len(run.traces) != 1:
        faults.append(f"{len(run.traces)} traces instead of one")
    trace = run.traces[0]
    errors = trace.time_errors(run.ended.began_ns, run.ended.ended_ns)
    names = ("before their call", "outside the program's life", "overlapping")
    faults += judge.count_faults(expected, trace.counts()) + judge.time_faults(*errors)
    faults += trace.unlinked() + trace.without_stack() + trace.losses()
    return faults, {name: judge.spread(values) for name, values in zip(names, errors)}


def judged(run, expected, extra_faults=lambda run: []):
    """The result of a traced run."""
    bad = ended_badly(run)
    if bad:
        return bad | describe(run)
    why = untraced(run)
    if why:
        return result(judge.NOT_TRACED, why, **describe(run))
    faults, times = judge_trace(run, expected)
    faults += extra_faults(run)
    return result(judge.BAD if faults else judge.OK, "; ".join(faults[:3]), faults=faults,
                  times=times, **describe(run))


def offers(session, option):
    """True when `gputrace run` has @option."""
    ended = runs.Run([*places.GPUTRACE, "run", "--help"], runs.clean_environment(),
                     session.clock.limit()).ended
    return option in ended.out


def counting(session):
    """Options with which each node of a graph is counted, and the tracer says what it does."""
    by_node = ["--graphs=node"] if session.preflight["offers --graphs"] else []
    return ["--verbose", *by_node]


def unable(run):
    """The result of a program that does not even run untraced: no fault of the tracer. Or None."""
    bad = ended_badly(run)
    if bad and bad["verdict"] == judge.BAD:
        bad["verdict"] = judge.SKIPPED
    return bad and bad | {"reason": f"untraced: {bad['reason']}"}


def compare(session, program, way="run"):
    """A program that tells what it did."""
    bad = unable(session.bare(program))
    if bad:
        return bad
    if way == "injection alone":
        run = session.injected(program)
    else:
        run = session.traced(program, *counting(session))
    return judged(run, run.report)


def sensor_faults(run):
    """--nvml: that it found the GPU, and that its energy grows. What a GPU has no sensor for is none."""
    trace = run.traces[0]
    if not trace.sensors:
        return [f"no sensor was read: {trace.metadata.get('nvml', 'nothing is said')}"]
    grown = [row[2] - row[1] for name, row in trace.sensors.items() if name.endswith("energy: J")]
    return ["the energy of a GPU did not grow"] if grown and not min(grown) > 0 else []


def sensors(session, program):
    """Power, clocks and the like, by --nvml."""
    bad = unable(session.bare(program))
    if bad:
        return bad
    run = session.traced(program, "--nvml=20", *counting(session))
    said = run.traces[0].metadata.get("nvml", "") if run.traces else ""
    if "cannot open shared object file" in said:
        return result(judge.SKIPPED, said)
    more = {"sensors": run.traces[0].sensors} if run.traces else {}
    return judged(run, run.report, sensor_faults) | more


def capture(session, program):
    """The raw activity records of a small run, to be replayed in tests."""
    bad = unable(session.bare(program))
    if bad:
        return bad
    path = session.capture_file(program)
    run = session.traced(program, *counting(session),
                         GPUTRACE_CAPTURE_BUFFERS=str(path))
    bad = ended_badly(run)
    size = path.stat().st_size if path.exists() else 0
    if bad:
        return bad | {"bytes": size}
    why = untraced(run)
    if why or not size:
        return result(judge.NOT_TRACED, why or "no activity buffer was written", bytes=size)
    return result(judge.OK, bytes=size, file=path.name, **describe(run))


def probed_cupti(session):
    """The probes ask the CUPTI that the tracer found, unless one was chosen for all."""
    path = session.preflight.get("trial", {}).get("metadata", {}).get("cupti_path", "")
    chosen = runs.clean_environment().get("GPUTRACE_CUPTI") or path
    return {"GPUTRACE_CUPTI": chosen} if chosen else {}


def probe(session, name):
    """One behaviour of CUPTI, tried without the tracer."""
    ended = session.bare(f"probes {name}", **probed_cupti(session)).ended
    verdict, reason = judge.of_probe(ended)
    more = {"stacks": ended.stacks} if ended.stacks else {}
    return result(verdict, reason, seen=ended.out.strip()[-4000:], said=ended.err.strip()[:2000],
                  **more)


def probe_claims(limit):
    """[(name, claim)] as the built program lists them, and why there are none."""
    ended = runs.Run([str(places.PROGRAMS / "probes"), "--list"], runs.clean_environment(),
                     limit).ended
    rows = [tuple(line.split("\t", 1)) for line in ended.out.splitlines() if "\t" in line]
    return rows, "" if rows else ended.how() or "the program of the probes lists none"
