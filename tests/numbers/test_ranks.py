#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gputrace ranks` against jobs whose true times are known."""

import statistics

import cases
import generate
import rank_traces

MS = rank_traces.MS

CAUSES = {
    "gpu": "slower GPU",
    "work": "more GPU work",
    "data": "loading data",
    "host": "host",
}


def written(members, world=None):
    where = cases.folder()
    for rank in members:
        cases.write(rank.trace(world or len(members)), f"rank{rank.number}.json", where)
    return where


def by_rank(rows):
    return {row["Rank"]: row for row in rows}


def waits(rounds):
    """What each rank waited, and what the others waited for it: true ns."""
    waited, cost = {}, {}
    for members in rounds:
        last, latest, _ = max(members, key=lambda member: member[1])
        for rank, came, end in members:
            wait = min(latest - came, end - came)
            waited[rank] = waited.get(rank, 0) + wait
            cost[last] = cost.get(last, 0) + wait
    return waited, cost


def check_waits(rows, rounds, error):
    waited, cost = waits(rounds)
    slack = len(rounds) * 2 * error
    for name, row in by_rank(rows).items():
        rank = int(name.split()[1])
        assert abs(row["Waited (ns)"] - waited[rank]) <= slack, (row, waited)
        assert abs(row["Cost Others (ns)"] - cost.get(rank, 0)) <= slack * 8, (row, cost)
        assert row["Collectives"] == len(rounds)


def check_clocks(rows, members):
    """The largest stated error, ns."""
    for rank in members:
        row = by_rank(rows)[f"rank {rank.number}"]
        if rank.host == "a":
            assert row["Ahead (ns)"] == 0 and row["Clock By"] != "collectives", row
            continue
        assert row["Clock By"] == "collectives", row
        off = row["Ahead (ns)"] - rank.ahead
        assert abs(off) <= row["Error (ns)"] + 100, (row, off)
        assert row["Error (ns)"] < 10_000, row
        assert abs(row["Drift (ppm)"] - rank.drift * 1e6) < 20, row
    return max(row["Error (ns)"] or 0 for row in rows)


def late_rank_and_cause(fault):
    members, rounds = rank_traces.job(fault)
    found = cases.tables("ranks", written(members))
    first = found["rank_late"][0]
    assert first["Rank"] == f"rank {rank_traces.LATE}", first
    assert first["Cause"] == CAUSES[fault], first
    assert first["Was Last"] >= 0.9 * len(rounds), first
    error = check_clocks(found["rank_clocks"], members)
    check_waits(found["rank_late"], rounds, error)


def test_a_slower_gpu():
    late_rank_and_cause("gpu")


def test_more_work():
    late_rank_and_cause("work")


def test_a_slow_loader():
    late_rank_and_cause("data")


def test_a_slow_host():
    late_rank_and_cause("host")


def test_a_slow_network_makes_nobody_late():
    members, rounds = rank_traces.job("network")
    found = cases.tables("ranks", written(members))
    (row,) = found["rank_collectives"]
    true = statistics.median(
        max(end for _, _, end in r) - max(came for _, came, _ in r) for r in rounds
    )
    cases.close(row["Med Transfer (ns)"], true, "transfer", 0.01)
    cases.close(row["Algorithm GB/s"], rank_traces.BYTES / true, "rate", 0.01)
    cases.close(row["Bus GB/s"], rank_traces.BYTES / true * 2 * 7 / 8, "bus", 0.01)
    shares = [line["Cost Others (ns)"] for line in found["rank_late"]]
    assert max(shares) < 0.6 * sum(shares), shares


def grid(slow, columns=True, steps=20, late=None):
    """8 ranks of one host: pairs and, with @columns, two columns of four. The sets of a @slow rank take 3 ms
    instead of 1, the rank @late computes 2 ms longer before its pair's. And the waits in ns that these cost."""
    members = [rank_traces.Rank(n, "a", 0, 0) for n in range(8)]
    cost = {"network": 0, "late": 0}

    def meet(sets, name):
        for numbers in sets:
            came = {n: members[n].now for n in numbers}
            hit = slow in numbers
            end = max(came.values()) + MS * (3 if hit else 1)
            cost["network"] += hit * 2 * MS * (len(numbers) - 1)
            for n in numbers:
                cost["late"] += max(came.values()) - came[n]
                members[n].slice(lambda *words, of=numbers: in_group(name + str(of[0]), of, *words), "", came[n], end)
                members[n].now = end + 1000

    for step in range(steps):
        begun = members[0].now
        for rank in members:
            length = 2 * MS + (2 * MS if rank.number == late else 0)
            rank.slice(generate.kernel, "gemm", rank.now, rank.now + length)
            rank.now += length + 1000
        meet([(n, n + 1) for n in range(0, 8, 2)], "pair")
        if columns:
            meet([range(n, 8, 2) for n in range(2)], "column")
        meet([range(8)], "world")
        for rank in members:
            rank.range(f"ProfilerStep#{step}", begun, rank.now - 500)
    return members, cost


def in_group(name, numbers, *words):
    event = rank_traces.all_reduce(*words)
    event["args"].update({"Process Group Name": name, "Process Group Ranks": str(list(numbers)), "Group size": len(numbers)})
    return event


def test_whose_network_is_slow():
    """It is in each of the slow sets; and who comes late for that does not answer for it."""
    members, cost = grid(5)
    rows = cases.tables("ranks", written(members))["rank_late"]
    assert (rows[0]["Rank"], rows[0]["Cause"]) == ("rank 5", "network"), rows[0]
    cases.close(rows[0]["Cost Others (ns)"], cost["network"] - world(20, 8) + cost["late"], "cost", 0.01)
    assert not any(row["Network (ns)"] for row in rows[1:]), rows
    assert sum(row["Cost Others (ns)"] for row in rows) == sum(row["Waited (ns)"] for row in rows)


def world(steps, ranks):
    """The part of the network's cost that no other set shows: of what all ranks are in."""
    return steps * 2 * MS * (ranks - 1)


def test_two_that_are_always_together_share_it():
    rows = by_rank(cases.tables("ranks", written(grid(5, columns=False)[0]))["rank_late"])
    assert [name for name, row in rows.items() if row["Network (ns)"]] == ["rank 4", "rank 5"] or \
        [name for name, row in rows.items() if row["Network (ns)"]] == ["rank 5", "rank 4"], rows
    assert rows["rank 4"]["Network (ns)"] == rows["rank 5"]["Network (ns)"], rows


def test_nobody_s_network_is_slow():
    for slow, late in ((None, None), (None, 3)):
        rows = cases.tables("ranks", written(grid(slow, late=late)[0]))["rank_late"]
        assert not any(row["Network (ns)"] for row in rows), rows


def test_who_was_kept_is_not_to_blame():
    """Rank 3 keeps its pair, the pair its columns, these all: all of it is what rank 3 cost."""
    members, cost = grid(None, late=3)
    tables = cases.tables("ranks", written(members))
    rows, steps = tables["rank_late"], tables["rank_steps"]
    assert (rows[0]["Rank"], rows[0]["Cause"]) == ("rank 3", "slower GPU"), rows[0]
    assert [(row["Late Rank"], row["Cause"]) for row in steps[1:]] == [("rank 3", "slower GPU")] * 19, steps
    assert all(row["Collectives"] == 7 for row in steps), steps
    assert sum(row["Waited (ns)"] for row in steps) == sum(row["Waited (ns)"] for row in rows), steps
    cases.close(rows[0]["Cost Others (ns)"], cost["late"], "cost", 0.1)
    assert all(row["Cost Others (ns)"] < 0.05 * cost["late"] for row in rows[1:]), rows


def test_steps_and_kernels():
    members, rounds = rank_traces.job("gpu", steps=12)
    found = cases.tables("ranks", written(members))
    assert len(found["rank_steps"]) == 12
    late = [row["Late Rank"] for row in found["rank_steps"]]
    assert late.count("rank 5") >= 11, late
    for row, members_of in zip(found["rank_steps"], rounds):
        assert row["Ranks"] == 8 and row["Collectives"] == 1, row
        cases.close(row["Waited (ns)"], sum(waits([members_of])[0].values()), "waited", 0.02)
    kernels = {}
    for rank in members:
        for event in rank.events:
            if event.get("cat") == "kernel" and event["name"].startswith("gemm"):
                of = kernels.setdefault(event["name"], {})
                of[rank.number] = of.get(rank.number, 0) + event["dur"] * 1000
    assert len(found["rank_kernels"]) == len(kernels)
    for row in found["rank_kernels"]:
        of = kernels[row["Name"]]
        mean = sum(of.values()) / len(of)
        assert row["Slowest Rank"] == f"rank {max(of, key=of.get)}", (row, of)
        cases.close(row["Avg Per Rank (ns)"], mean, row["Name"], 1e-6)
        cases.close(row["Excess (ns)"], max(of.values()) - mean, row["Name"], 1e-4)


def test_the_critical_path_is_the_whole_time():
    members, rounds = rank_traces.job("host", steps=20)
    rows = cases.tables("ranks", written(members))["rank_late"]
    path = sum(row["Critical Path (ns)"] for row in rows)
    transfer = sum(max(e for _, _, e in r) - max(c for _, c, _ in r) for r in rounds)
    whole = max(e for _, _, e in rounds[-1]) - max(e for _, _, e in rounds[0])
    first = max(e for _, _, e in rounds[0]) - max(c for _, c, _ in rounds[0])
    cases.close(path, whole - transfer + first, "path", 0.02)


def mpi_in(name, group, size, seq):
    args = {"Group size": size, "Process Group Name": group, "Seq": seq}
    if name != "MPI_Barrier":
        args.update({"sent bytes": 8, "received bytes": 8})
    return lambda _, ts, dur, correlation: rank_traces.mpi_call(name, ts, dur, **args)


def halves(steps, root_leaves_first):
    """Rank 2 comes 5 ms late to what all are in, then each half meets; rank 3 leaves late, when the other half has
    met. Or rank 2 is late to a broadcast of its half whose root, rank 0, has left before."""
    members = [rank_traces.Rank(n, "a", 0, 0) for n in range(4)]
    for step in range(steps):
        begin = step * 10 * MS
        for rank in members:
            came = begin + MS + 1000 * rank.number + (5 * MS if rank.number == 2 else 0)
            left = begin + 6_100_000 + (500_000 if rank.number == 3 else 0)
            if root_leaves_first:
                came = begin + MS + 1000 * (3 - rank.number)
                left = begin + 1_100_000
            rank.slice(mpi_in("MPI_Allreduce", "0x1", 4, step + 1), "", came, left)
            met = (left + 20_000 + 1000 * rank.number, begin + (6_150_000 if rank.number % 2 == 0 else 6_800_000))
            name = "MPI_Barrier"
            if root_leaves_first and rank.number % 2:
                met = (met[0], begin + 1_200_000)
            elif root_leaves_first:
                at = begin + MS * (5 if rank.number else 2)
                name, met = "MPI_Bcast", (at, at + MS)
            rank.slice(mpi_in(name, f"0x{2 + rank.number % 2}", 2, step + 1), "", *met)
    return members


def test_the_critical_path_goes_through_groups():
    """What the way comes from may have ended later, for a rank of another group. Rank 2's stretches, and those of the
    last one to each half, are on it."""
    found = by_rank(cases.tables("ranks", written(halves(20, False)))["rank_late"])
    path = {number: found[f"rank {number}"]["Critical Path (ns)"] for number in range(4)}
    last = 20_000 + 1000 * 3  # of rank 3 at the end of the job
    between = 20_000 + 1000 * 2  # rank 2 comes last to its half
    to_next = 10 * MS + MS + 2000 + 5 * MS - 6_150_000
    assert path == {0: 0, 1: 0, 2: 19 * (between + to_next), 3: last}, path


def test_the_critical_path_goes_back_in_time():
    """A root that has left before another came has not waited for it: the way stays with the root, or a late rank
    would be on it that nobody waited for."""
    found = by_rank(cases.tables("ranks", written(halves(20, True)))["rank_late"])
    path = {number: found[f"rank {number}"]["Critical Path (ns)"] for number in range(4)}
    to_next = 10 * MS + MS + 3000 - 3 * MS  # from the root's leaving on; and then to the broadcast
    assert path == {0: 19 * (to_next + 900_000), 1: 0, 2: 3_900_000, 3: 0}, path


def test_clocks_that_nothing_relates_are_told():
    """Of broadcasts no clock can be set right: their members do not end together."""
    members, _ = rank_traces.job("gpu", steps=12)
    for rank in members:
        for event in rank.events:
            event["name"] = event["name"].replace("AllReduce", "Broadcast")
    _, said = cases.run("ranks", "--format=json", written(members))
    assert "clocks of 4 of the ranks are taken as they are" in said, said
    _, said = cases.run("ranks", "--format=json", written(rank_traces.job("gpu", steps=12)[0]))
    assert "taken as they are" not in said, said


def test_a_rank_that_is_missing_is_told():
    members, _ = rank_traces.job("gpu", steps=12)
    _, said = cases.run("ranks", "--format=json", written(members[:5] + members[6:], 8))
    assert "7 of 8 ranks are here" in said, said


def test_a_rank_that_lost_collectives():
    members, rounds = rank_traces.job("gpu", steps=60)
    lost = 0
    for event in list(members[2].events):
        if event["name"].startswith("nccl"):
            lost += 1
            if lost in (7, 8, 40):
                members[2].events.remove(event)
    found = cases.tables("ranks", written(members))
    assert by_rank(found["rank_late"])["rank 2"]["Collectives"] == len(rounds) - 3
    assert by_rank(found["rank_late"])["rank 1"]["Collectives"] == len(rounds)
    assert found["rank_late"][0]["Rank"] == "rank 5"


def test_two_jobs_are_not_compared():
    one, _ = rank_traces.job(steps=30, ranks=2)
    other, _ = rank_traces.job(steps=30, ranks=2, seed=2)
    out, said = cases.run("ranks", "--format=json", written([one[0], other[1]]))
    assert '"rank_late": []' in out or "would have ended" in said or "in common" in said, said


def test_throttled():
    """run --nvml: what kept the clocks of the slower GPU down is named with the cause."""
    for fault, cause in (("gpu", "slower GPU, throttled: temperature 50 %"), ("host", "host")):
        members, _ = rank_traces.job(fault)
        slow = members[rank_traces.LATE]
        for part, value in ((0, 1), (0.5, 0), (1, 0)):
            slow.events.append({"ph": "C", "cat": "gputrace", "name": "throttled", "pid": 0, "tid": 0,
                                "ts": slow.shown(slow.now * part) / 1000, "args": {"temperature": value}})
        first = cases.tables("ranks", written(members))["rank_late"][0]
        assert (first["Rank"], first["Cause"]) == (f"rank {rank_traces.LATE}", cause), first


def network_of(rank, sent, waits):
    """A slice of what NCCL's proxies waited for: MB sent, and ms for the GPU, the peer, the send, the receive."""
    args = dict(zip(("GPU wait (ns)", "peer wait (ns)", "send wait (ns)", "receive wait (ns)"), (w * MS for w in waits)))
    args.update({"Collective name": "allreduce", "sent bytes": sent * 1000000, "transfers": 16, "Group size": 3})
    rank.slice(lambda _, ts, dur, correlation: rank_traces.mpi_call("NCCL network", ts, dur, **args), "", rank.now - MS, rank.now)


def test_whose_network():
    """As two ranks on one H100 over loopback: the one waits twice as long for the network as the other, but a hundredth of
    what its transfers wait for in all."""
    said = "sends waits 2.0 times as long for the network as one of the middle rank"
    for ranks, waits, expected in ((3, ((90, 0, 10, 80), (80, 0, 20, 80), (90, 0, 10, 80)), True),
                                   (2, ((90, 0, 10, 80), (80, 0, 20, 80)), False),  # nobody is in the middle
                                   (3, ((890, 0, 10, 500), (880, 0, 20, 509), (890, 0, 10, 500)), False),
                                   (3, ((9, 0, 1, 8), (8, 0, 2, 8), (9, 0, 1, 8)), False)):  # 1 ms of 400
        members, _ = rank_traces.job(ranks=ranks)
        for rank, of in zip(members, waits):
            network_of(rank, 10, of)
        where = written(members)
        out, _ = cases.run("ranks", where)
        assert ("a byte that rank 1 " + said in " ".join(out.split())) == expected, (waits, out)
        rows = by_rank(cases.tables("ranks", where)["rank_network"])
        assert rows["rank 1"]["Send Wait (ns)"] == waits[1][2] * MS
        assert rows["rank 1"]["Times the Middle Rank"] == (2 if ranks > 2 else None), rows


def test_ranks_on_one_gpu():
    """Kernels of several processes take turns on a GPU, which its UUID tells."""
    for gpus, expected in ((("a", "a", "b", "c"), "rank 0 and rank 1 run on one GPU (GPU-a):"),
                           (("a", "b", "a", "a"), "rank 0 and rank 3 (and 1 more) run on one GPU (GPU-a):"),
                           (("a", "b", "a", "b"), "rank 0 and rank 2 run on one GPU (GPU-a), and others on 1 more:"),
                           (("a", "b", "c", "d"), None), ((None,) * 4, None)):
        members, _ = rank_traces.job(ranks=4, steps=5)
        where = cases.folder()
        for rank, gpu in zip(members, gpus):
            trace = rank.trace(4)
            # a second one that it did not use
            trace["deviceProperties"] = [{"id": n, "name": "H100", **({"uuid": f"GPU-{gpu if not n else 'z'}"} if gpu else {})}
                                         for n in range(2)]
            cases.write(trace, f"rank{rank.number}.json", where)
        out = " ".join(cases.run("ranks", where)[0].split())
        assert (expected in out) if expected else ("one GPU" not in out), (gpus, out[:600])


if __name__ == "__main__":
    cases.main([test for name, test in list(globals().items()) if name.startswith("test_")])
