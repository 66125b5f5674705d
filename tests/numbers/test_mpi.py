#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of `run --libraries=mpi`: the ranks and their clocks by MPI's collectives, and the tables of its calls."""

import collections
import os
import random
import statistics

import cases
import generate
import rank_traces
import test_ranks


def test_who_is_late_and_why():
    for fault, cause in test_ranks.CAUSES.items():
        members, rounds = rank_traces.job(fault, mpi=True)
        found = cases.tables("ranks", test_ranks.written(members))
        first = found["rank_late"][0]
        assert (first["Rank"], first["Cause"]) == (f"rank {rank_traces.LATE}", cause), first
        error = test_ranks.check_clocks(found["rank_clocks"], members)
        test_ranks.check_waits(found["rank_late"], rounds, error)
        (row,) = found["rank_collectives"]
        assert row["Collective"] == "AllReduce" and row["Size (MB)"] == rank_traces.BYTES / 1e6, row


def test_merged():
    """The clocks of the hosts are related by MPI, and the tables are those of the files."""
    members, _ = rank_traces.job("host", ranks=4, steps=12, mpi=True)
    where, merged = test_ranks.written(members), os.path.join(cases.folder(), "all.json")
    _, said = cases.run("merge", "--output=" + merged, where)
    assert "related to that of the first by collectives" in said, said
    one, other = (cases.tables("ranks", path)["rank_late"] for path in (where, merged))
    assert [(row["Rank"], row["Collectives"], row["Cause"]) for row in one] == [
        (row["Rank"], row["Collectives"], row["Cause"]) for row in other], (one, other)


def test_what_is_no_meeting():
    """A failed call, one that goes on with a request, one of a communicator of its own, one without a byte, one without an end."""
    members, _ = rank_traces.job(ranks=2, steps=12, mpi=True)
    same = {"Group size": 2, "Process Group Name": "0x1"}
    for rank in members:
        for i, (name, args) in enumerate([
                ("MPI_Allreduce", {"Seq": 1, "result": 5, "sent bytes": 8}), ("MPI_Iallreduce", {"Seq": 2, "sent bytes": 8}),
                ("MPI_Allreduce", {"Seq": 3, "Group size": 1, "sent bytes": 8}), ("MPI_Allreduce", {"Seq": 4}),
                ("MPI_Allreduce", {"Seq": 5, "sent bytes": 8, "unfinished": True})]):
            rank.events.append(rank_traces.mpi_call(name, 10 + 10 * i, 5, **{**same, **args}))
    found = cases.tables("ranks", test_ranks.written(members))
    assert [row["Collectives"] for row in found["rank_late"]] == [12, 12], found["rank_late"]


def random_calls(rng, rank, ranks, count):
    """Tuples of name, start, duration, bytes that it gives and gets, peer, failed, in us."""
    at = 0
    for _ in range(count):
        start, dur = at + rng.randint(1, 400), rng.randint(1, 10**rng.randint(1, 5))
        at = start + dur
        name = rng.choice(("MPI_Send", "MPI_Isend", "MPI_Recv", "MPI_Wait", "MPI_Bcast"))
        sent = rng.randint(1, 1 << 24) if "end" in name or name == "MPI_Bcast" and rng.random() < 0.5 else 0
        got = rng.randint(1, 1 << 24) if name == "MPI_Recv" else 0
        yield name, start, dur, sent, got, rng.choice([p for p in range(ranks) if p != rank]), rng.random() < 0.1


def trace_of(calls, rank, ranks):
    events = []
    for name, start, dur, sent, got, peer, failed in calls:
        args = {"Group size": ranks, "Process Group Name": "0x6d70695f776f726c", "Rank": rank}
        args |= ({"sent bytes": sent} if sent else {}) | ({"received bytes": got} if got else {}) | ({"result": 3} if failed else {})
        args |= {"Dst Rank": peer} if "end" in name else {"Src Rank": peer} if name == "MPI_Recv" else {}
        events.append(rank_traces.mpi_call(name, start, dur, **args))
    return generate.trace(events + generate.launches(2), {"distributedInfo": {"rank": rank, "world_size": ranks}})


def test_the_tables_of_calls():
    rng = random.Random(7)
    of = {rank: list(random_calls(rng, rank, 3, 300)) for rank in range(3)}
    where = cases.folder()
    for rank, calls in of.items():
        cases.write(trace_of(calls, rank, 3), f"rank{rank}.json", where)
    rows = {row["Name"]: row for row in cases.table("stats", "--report=mpi_sum", where)}
    everything = [call for calls in of.values() for call in calls]
    assert set(rows) == {call[0] for call in everything}
    for name, row in rows.items():
        mine = [call for call in everything if call[0] == name]
        durations, good = [call[2] * 1000 for call in mine], [call for call in mine if not call[6]]
        assert (row["Total Time (ns)"], row["Num Calls"]) == (sum(durations), len(mine)), row
        assert (row["Med (ns)"], row["Max (ns)"]) == (statistics.median(durations), max(durations)), row
        assert abs(row["Sent (MB)"] - sum(call[3] for call in good) / 1e6) < 1e-3, row
        assert abs(row["Received (MB)"] - sum(call[4] for call in good) / 1e6) < 1e-3, row
        assert row["Failed"] == len(mine) - len(good), row
    want = collections.defaultdict(list)
    for rank, calls in of.items():
        for name, _, _, sent, _, peer, failed in calls:
            if "end" in name and not failed:
                want[f"rank {rank}", f"rank {peer}"].append(sent)
    found = {(row["Rank"], row["To"]): row for row in cases.table("stats", "--report=mpi_peer_sum", where)}
    assert set(found) == set(want)
    for pair, sizes in want.items():
        assert found[pair]["Messages"] == len(sizes) and abs(found[pair]["Sent (MB)"] - sum(sizes) / 1e6) < 1e-3, found[pair]


cases.main([
    test_who_is_late_and_why,
    test_merged,
    test_what_is_no_meeting,
    test_the_tables_of_calls,
])
