#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`merge` brings the clocks of several hosts together, on jobs whose true times are known."""

import json
import random
import re

import cases
import rank_traces
import reference

MS = rank_traces.MS


def written(members):
    where = cases.folder()
    return [
        cases.write(rank.trace(len(members)), f"rank{i}.json", where) for i, rank in enumerate(members)
    ]


def merged(members, *words, expect=0):
    out, said = cases.run("merge", *words, *written(members), expect=expect)
    return (json.loads(out) if out else None), said


def slices(trace):
    """Rank -> slices of the host and of GPUs; (start, end, name) in ns of the job."""
    base = int(trace["baseTimeNanoseconds"]) - rank_traces.BASE
    rank_of, found = {}, {}
    for event in trace["traceEvents"]:
        args = event.get("args") or {}
        if event["name"] == "process_labels" and "rank" in args:
            rank_of[event["pid"]] = args["rank"]
        elif event.get("ph") == "X":
            start = base + reference.ns(event["ts"])
            end = start + reference.ns(event["dur"])
            found.setdefault(event["pid"], []).append((start, end, event["name"]))
    return {
        (rank_of[pid], "gpu" if pid < 64 else "host"): rows
        for pid, rows in found.items()
        if pid in rank_of
    }


def check_times(trace, rounds, error):
    """Each collective where it truly was."""
    rows = slices(trace)
    for number, members in enumerate(rounds):
        for rank, came, end in members:
            found = [row for row in rows[rank, "gpu"] if row[2].startswith("nccl")][number]
            assert abs(found[0] - came) <= error + 1000, (number, rank, found, came)
            assert abs(found[1] - end) <= error + 1000, (number, rank, found, end)


def check_nesting(trace):
    """What lies in a step still does."""
    for (_, kind), rows in slices(trace).items():
        steps = [row for row in rows if row[2].startswith("ProfilerStep")]
        loads = [row for row in rows if row[2] == "load_data"]
        if kind == "host":
            assert steps and len(steps) == len(loads)
        for step, load in zip(steps, loads):
            assert step[0] <= load[0] and load[1] <= step[1], (step, load)


def test_two_hosts():
    members, rounds = rank_traces.job(steps=60, ahead=-5 * MS, drift=50e-6)
    trace, said = merged(members)
    assert re.search(r"clocks of 4 processes related to that of the first by collectives, within", said)
    clocks = trace["clocks"]
    assert [row["by"] for row in clocks] == ["host"] * 8 or clocks[0]["by"] == "monotonic", clocks
    assert all(row["by"] == "collectives" for row in clocks[4:]), clocks
    error = max(row["error_ns"] for row in clocks)
    assert 0 < error < 10_000, clocks
    check_times(trace, rounds, error)
    check_nesting(trace)


def test_one_host_stays_as_it_is():
    members, rounds = rank_traces.job(ahead=0, drift=0)
    for rank in members:
        rank.host = "a"
    trace, said = merged(members)
    assert "clocks" not in trace and not said, said
    check_times(trace, rounds, 1)


def test_one_boot_whose_wall_clock_was_set():
    members, rounds = rank_traces.job(ranks=2, steps=20, ahead=7 * MS, drift=0)
    for rank in members:
        rank.metadata = {
            "boot": "b0",
            "clock_first_monotonic_ns": 1000,
            "clock_first_realtime_ns": str(rank_traces.BASE + rank.ahead),
        }
    trace, said = merged(members)
    assert not said and [row["by"] for row in trace["clocks"]] == ["monotonic"] * 2, said
    assert trace["clocks"][1]["ahead_ns"] == 7 * MS and trace["clocks"][1]["error_ns"] == 0
    check_times(trace, rounds, 1)


def test_nothing_in_common_is_refused():
    """Without a collective in common the error has no bound: only with --force."""
    (one, _), (_, other) = (rank_traces.job(ranks=2, steps=20, seed=seed)[0] for seed in (1, 2))
    other.events = [event for event in other.events if not event["name"].startswith("nccl")]
    for rank in (one, other):
        rank.metadata = {
            "boot": rank.host,
            "clock_first_monotonic_ns": 1000,
            "clock_first_realtime_ns": str(rank_traces.BASE),
        }
    _, said = merged([one, other], expect=1)
    assert "cannot be related" in said and "--force" in said, said
    trace, said = merged([one, other], "--force")
    assert trace["clocks"][1] == {"process": 1, "by": "realtime", "ahead_ns": 0}, trace["clocks"]
    assert "error that is not known" in said, said


def test_other_tools_traces_are_merged_and_told():
    """Those have no samples of their clocks: no bound is to be had."""
    (one, _), (_, other) = (rank_traces.job(ranks=2, steps=20, seed=seed)[0] for seed in (1, 2))
    other.events = [event for event in other.events if not event["name"].startswith("nccl")]
    trace, said = merged([one, other])
    assert trace["clocks"][1]["by"] == "realtime" and "not known" in said, said


def test_the_reason_is_told():
    """Why collectives do not relate the clocks: each case its own words."""
    def two(other, steps=20):
        return [rank_traces.job(ranks=2, steps=steps)[0][0], other(rank_traces.job(ranks=2, steps=steps)[0][1])]

    def renamed(rank):
        for event in rank.events:
            event["name"] = event["name"].replace("AllReduce", "AllGather")
        return rank

    def silent(rank):
        rank.events = [event for event in rank.events if not event["name"].startswith("nccl")]
        return rank

    def same_rank(rank):
        rank.number = 0
        return rank

    def other_job(_):
        return rank_traces.job(ranks=2, steps=20, seed=9)[0][1]

    def longer_job(_):
        return rank_traces.job(ranks=2, steps=29, seed=9)[0][1]

    for other, steps, reason in (
        (silent, 20, "there are no collectives in which all ranks wait for all"),
        (renamed, 20, "they have no collective in common"),
        (lambda rank: rank, 2, "they have fewer than 3 collectives in common"),
        (same_rank, 20, "the traces with collectives are of the same rank"),
        (other_job, 20, "their collectives did not end together: the ends are off any line of two clocks, most by up to "),
        (longer_job, 20, "it is not clear which of their collectives belong together"),
    ):
        said = merged(two(other, steps))[1]
        assert f"1 process cannot be related to that of the first: {reason}" in said, (reason, said)
    for other, reason in (
        (silent, "no collective that two ranks have in common"),
        (other_job, "no collective ended together on two ranks"),
        (longer_job, "it is not clear which collectives of the ranks belong together"),
    ):
        said = cases.run("ranks", *written(two(other)))[1]
        assert f"gputrace: {reason}: who was late is not known" in said, (reason, said)


def test_a_rank_that_counts_from_nowhere():
    """Its collectives say where it belongs."""
    members, rounds = rank_traces.job(ranks=2, steps=30)
    for baseless in (0, 1):
        traces = [rank.trace(2) for rank in members]
        del traces[baseless]["baseTimeNanoseconds"]
        where = cases.folder()
        paths = [cases.write(t, f"rank{n}.json", where) for n, t in enumerate(traces)]
        out, said = cases.run("merge", *paths)
        assert "related to that of the first by collectives" in said, said
        trace = json.loads(out)
        rows = slices(trace)
        for number, pair in enumerate(rounds):
            ends = [
                [row for row in rows[rank, "gpu"] if row[2].startswith("nccl")][number][1]
                for rank in (0, 1)
            ]
            assert abs(ends[0] - ends[1] - (pair[0][2] - pair[1][2])) < 10_000, (number, ends)


def stamped(members, apart=300 * MS):
    """As gputrace has them: with samples of both clocks, which the ranks took one after the other."""
    for rank in members:
        start = rank.shown(-apart * (len(members) - rank.number))
        rank.metadata = {
            "gputrace_version": "1.0.0",
            "boot": f"boot of {rank.host}",
            "pid": 4100 + rank.number,
            "clock_first_monotonic_ns": str(10**13 + start),
            "clock_first_realtime_ns": str(rank_traces.BASE + start),
        }
    return members


def clock_rows(*paths):
    return cases.tables("ranks", *paths)["rank_clocks"]


def test_a_merged_file_tells_its_clocks():
    """Nothing is moved once more, however the clocks drifted, and how they were related is known."""
    members, _ = rank_traces.job(ranks=4, steps=40, ahead=5 * MS, drift=200e-6, jitter=50)
    members = stamped(members)
    before = clock_rows(*written(members))
    trace, _ = merged(members)
    where = cases.folder()
    cases.run("merge", "--output=" + f"{where}/m.pftrace", *written(members))
    first = cases.write(trace, "m.json", where)
    cases.run("merge", "--output=" + f"{where}/again.pftrace", f"{where}/m.pftrace")
    for path in (first, f"{where}/m.pftrace", f"{where}/again.pftrace"):
        rows = clock_rows(path)
        assert [row["Clock By"] for row in rows] == [row["Clock By"] for row in before], (path, rows)
        assert all(row["Ahead (ns)"] == 0 and row["Drift (ppm)"] == 0 for row in rows), (path, rows)
        assert [row["Error (ns)"] for row in rows] == [row["Error (ns)"] for row in before], (path, rows)
        late = cases.tables("ranks", path)["rank_late"]
        assert sum(row["Collectives"] for row in late) == 4 * 40, late
    for event in trace["traceEvents"]:  # as in a window of time without a collective
        event["name"] = event["name"].replace("nccl", "other")
    assert [row["Clock By"] for row in clock_rows(cases.write(trace))] == [row["Clock By"] for row in before]


def test_the_error_of_each_trace_counts():
    """The line is that of one rank of each host: the others' clocks are a constant apart, as their traces say."""
    members, _ = rank_traces.job(ranks=4, steps=40, ahead=5 * MS, drift=200e-6, jitter=0)
    for rank, off in zip(members, (0, 60, 0, -80)):
        for event in rank.events:
            event["ts"] = round(event["ts"] + off / 1000, 3)
    for rank in stamped(members):
        rank.metadata.update({"clock": "the processor's counter, 34 ns off CLOCK_MONOTONIC at most", "cupti_clock_error_ns": 80})
    trace, _ = merged(members)
    errors = [row["error_ns"] for row in trace["clocks"]]
    found = [
        [row[1] for row in rows if row[2].startswith("nccl")]
        for (_, kind), rows in slices(trace).items() if kind == "gpu"
    ]
    spread = max(max(ends) - min(ends) for ends in zip(*found))
    assert 70 < spread <= max(errors) < 200, (spread, errors)
    assert [row["Error (ns)"] for row in clock_rows(cases.write(trace))][1:] == errors[1:]
    for rank in members:  # however large it is
        rank.metadata["cupti_clock_error_ns"] = 25000
    coarse = [row["error_ns"] for row in merged(members)[0]["clocks"]]
    assert all(error >= 50000 for error in coarse[1:]), coarse


def under_load(rank, chooser):
    """The calls of MPI end when the host has time for it."""
    for event in rank.events:
        if event["name"] == "MPI_Allreduce":
            event["dur"] = round(event["dur"] + min(chooser.expovariate(1 / 4000), 8000), 3)
    return rank


def test_ends_that_scatter_bound_the_clocks():
    """By more than 1 ms, but the calls are numbered, and nobody leaves one before all have come."""
    for seed in range(5):
        chooser = random.Random(seed)
        members, rounds = rank_traces.job(ranks=4, steps=60, seed=seed, ahead=-5 * MS, drift=50e-6, jitter=0, mpi=True)
        members = stamped([under_load(rank, chooser) for rank in members])
        trace, said = merged(members)
        assert "by collectives, within" in said, said
        errors = [row["error_ns"] for row in trace["clocks"]]
        assert 100_000 < max(errors) < 5 * MS, errors
        starts = {}
        for event in trace["traceEvents"]:
            if event["name"] == "MPI_Allreduce":
                starts.setdefault(event["pid"], []).append(event["ts"] * 1000)
        for rank, found in enumerate(starts.values()):
            for came, start in zip(rounds, found):
                assert abs(start - came[rank][1]) <= errors[rank] + 1000, (seed, rank, start, came[rank], errors)


def told(path):
    """How each rank's clock came to that of the job, and how many collectives it has."""
    rows = {row["Rank"]: (row["Clock By"], row["Error (ns)"]) for row in clock_rows(path)}
    late = {row["Rank"]: row["Collectives"] for row in cases.tables("ranks", path)["rank_late"]}
    return [(*rows[f"rank {rank}"], late.get(f"rank {rank}")) for rank in range(4)]


def test_a_merged_file_is_merged_again():
    """Alone, with another trace, in each form: every process stays one, and how its clock was moved stays known."""
    members, _ = rank_traces.job(ranks=4, steps=40, ahead=5 * MS, drift=200e-6, jitter=50)
    members = stamped(members, apart=0)
    paths = written(members)
    where = cases.folder()

    def make(name, *inputs):
        cases.run("merge", f"--output={where}/{name}", *inputs)
        return f"{where}/{name}"

    whole = make("all.json", *paths)
    expected = told(whole)
    assert [row[0] for row in expected] == ["reference", "same boot", "collectives", "collectives"], expected
    again = make("again.json", whole)
    assert told(again) == expected
    one, other = (json.loads(open(path, encoding="utf-8").read()) for path in (whole, again))
    for key in "clocks", "processes", "metadata", "distributedInfo":
        assert one[key] == other[key], key
    for name in "again.pftrace", "back.json":  # there and back
        again = make(name, again)
        assert told(again) == expected, name
    some = make("some.json", *paths[:3])
    for form in "json", "pftrace":
        part = make("part." + form, some)
        for made in "json", "pftrace":
            found = told(make(f"{form}and3.{made}", part, paths[3]))
            assert found[:3] == expected[:3], (form, made, found)
            assert found[3][0] == "collectives" and 0 < found[3][1] < 500 and found[3][2] == 40, found
    rows = json.loads(open(make("last.json", some, paths[3]), encoding="utf-8").read())["clocks"]
    for row, was in zip(rows, one["clocks"]):
        assert abs(row["ahead_ns"] - was["ahead_ns"]) < 200, (row, was)


def test_another_time_is_less_sure():
    """The line is through the collectives of one process of a host; of one that ran a minute later it holds less well."""
    members = stamped(rank_traces.job(ranks=2, steps=20)[0])
    later = rank_traces.Rank(1, "b", members[1].ahead, members[1].drift)
    later.now = 60_000 * MS
    later.slice(rank_traces.generate.kernel, "gemm", later.now, later.now + MS)
    later.metadata = dict(members[1].metadata, pid=900)
    rows = clock_rows(*written([*members, later]))
    near, far = [row["Error (ns)"] for row in rows if row["Rank"].startswith("rank 1")]
    assert 10 * near < far, rows


def test_ends_are_corrected_as_moments():
    """Not by a start and a duration of a clock that runs too fast, which 9 ms of waiting make 1.8 us too long."""
    members, rounds = rank_traces.job(ranks=2, steps=20, ahead=5 * MS, drift=200e-6, jitter=0)
    for event in members[1].events:
        if event["name"].startswith("nccl"):
            event["ts"], event["dur"] = round(event["ts"] - 9000, 3), round(event["dur"] + 9000, 3)
    (row,) = cases.tables("ranks", *written(members))["rank_collectives"]
    transfers = [members[0][2] - members[0][1] for members in rounds]
    cases.close(row["Min Transfer (ns)"], min(transfers), "transfer", 1e-5)


def test_a_merged_file_stays_as_it_is():
    members, rounds = rank_traces.job(steps=40)
    trace, _ = merged(members)
    path = cases.write(trace)
    rows = cases.tables("ranks", path)["rank_late"]
    assert sum(row["Collectives"] for row in rows) == 8 * len(rounds), rows
    again = cases.tables("gaps", path)["peer_wait"]
    assert len(again) == 8


if __name__ == "__main__":
    cases.main([test for name, test in list(globals().items()) if name.startswith("test_")])
