#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of ranks that are not what they should be: every command that takes one says so in a line, and does the rest."""

import gzip
import json
import os
import re

import cases
import generate
import rank_traces

SECOND = 1_000_000_000
HOUR = 3600 * SECOND


def members(**more):
    return rank_traces.job(ranks=4, steps=8, **more)[0]


def traces(**metadata):
    """Of a job of four ranks, two on each of two hosts, by name."""
    found = {}
    for rank in members():
        trace = rank.trace(4)
        trace["metadata"].update(pid=100 + rank.number, **metadata)
        found[f"rank{rank.number}.json"] = trace
    return found


def written(found):
    where = cases.folder()
    for name, trace in found.items():
        cases.write(trace, name, where)
    return where


def merged(where, expect=0):
    """The ranks with work in the merged trace, and what was said."""
    out, said = cases.run("merge", where, expect=expect)
    trace = json.loads(out)
    ranks = {
        event["pid"]: event["args"]["rank"]
        for event in trace["traceEvents"]
        if event["name"] == "process_labels"
    }
    return [
        sum(ranks[e["pid"]] == rank for e in trace["traceEvents"] if e.get("cat") == "kernel")
        for rank in range(8)
    ], said


def compared(where, expect=0):
    """How many collectives each rank has in common with others, and what was said."""
    out, said = cases.run("ranks", "--format=json", where, expect=expect)
    return {row["Rank"]: row["Collectives"] for row in json.loads(out)["rank_late"]}, said


def lines(said):
    usual = ("gputrace merge: clocks of", "Some collectives have no counterpart")
    return [line for line in said.splitlines() if not line.startswith(usual)]


def summed(where, *kept, expect=0):
    """What commands that add up or draw a folder say of it; of stats the kernels of all ranks, too."""
    found = {}
    for words in (("stats", "--format=json"), ("gaps", "--format=json"), ("report", "--output=-")):
        out, found[words[0]] = cases.run(*words, where, expect=expect)
        assert out, words
        if words[0] == "stats":
            (rows,) = (rows for name, rows in json.loads(out).items() if "kern" in name)
            kernels = sum(row["Instances"] for row in rows)
    for command, said in found.items():
        assert len(lines(said)) == len(kept), (command, said)
        for line, words in zip(lines(said), kept):
            assert words in line, (command, said)
    return kernels


KERNELS = 8 * 11  # of each rank
ALL = {f"rank {rank}": 8 for rank in range(4)}


def test_two_jobs_in_one_folder():
    """Of two jobs with ids the newer one is taken, as of two runs."""
    found = traces(job="77.0", clock_first_realtime_ns=generate.BASE)
    for name, trace in traces(job="77.1", clock_first_realtime_ns=generate.BASE + HOUR).items():
        trace["baseTimeNanoseconds"] += HOUR
        trace["metadata"]["pid"] += 100
        found["b" + name] = trace
    where = written(found)
    for of, said in (merged(where), compared(where)):
        assert of in ([KERNELS] * 4 + [0] * 4, ALL), of
        (line,) = lines(said)
        assert "2 runs wrote into this folder, only the newest is taken" in line, said
        assert os.path.join(where, "rank0.json") in line and "(and 3 more)" in line, said
    assert summed(where, "only the newest is taken") == 4 * KERNELS


def test_a_run_for_each_rank_of_a_job():
    """mpirun -n 4 gputrace run: the launcher's id holds them together, though the clock of one was last read before another began."""
    found = traces(job="77.0")
    for number, trace in enumerate(found.values()):
        first = generate.BASE + number * 1_000_000
        trace["metadata"] |= {"run": f"gputrace-run-{number}", "clock_first_realtime_ns": first, "clock_last_realtime_ns": first + 1000}
    found["old.json"] = json.loads(json.dumps(found["rank1.json"]))  # an older job, of which one rank is left
    found["old.json"]["metadata"] |= {"run": "gputrace-run-9", "job": "76.0", "clock_first_realtime_ns": generate.BASE - HOUR,
                                      "clock_last_realtime_ns": generate.BASE - HOUR + 1000, "pid": 900}
    found["old.json"]["baseTimeNanoseconds"] -= HOUR
    of, said = compared(written(found))
    assert of == ALL, of
    assert "2 runs wrote into this folder" in said and "old.json" in said, said


def launched(number, at, ranks=4):
    """A launch of one wrapper per rank without a job id: programs of 20 ms that began 30 ms after each other."""
    found = {}
    for rank, (name, trace) in enumerate(list(traces().items())[:ranks]):
        first = generate.BASE + at + (rank * 3 + number) % 4 * 30_000_000
        trace["metadata"] |= {"run": f"gputrace-run-{number}-{rank}", "pid": number * 100 + rank,
                              "clock_first_realtime_ns": first, "clock_last_realtime_ns": first + 20_000_000}
        trace["baseTimeNanoseconds"] += at
        found[f"{number}{name}"] = trace
    return found


def read_of(found):
    """The ranks of @found that are read."""
    where = written(found)
    _, said = cases.run("stats", "--summary", where)
    out, _ = cases.run("ranks", "--format=json", where)
    return sorted(int(row["Rank"].removeprefix("rank ")) for row in json.loads(out)["rank_late"]), said


def test_ranks_that_ended_before_others_began():
    """Each with a run of its own: they are one job, whichever of them is missing."""
    whole, earlier = launched(2, 700_000_000), launched(1, 0)
    for found in whole, earlier | whole:
        ranks, said = read_of(found)
        assert ranks == [0, 1, 2, 3], (ranks, said)
        assert ("only the newest" in said) == (found != whole), said
        for missing in range(4):
            left = {name: trace for name, trace in found.items() if name != f"2rank{missing}.json"}
            assert read_of(left)[0] == [rank for rank in range(4) if rank != missing], missing


def test_how_many_launches():
    """Not how many wrappers."""
    found = launched(1, 0) | launched(2, HOUR) | launched(3, 2 * HOUR)
    ranks, said = read_of(found)
    assert ranks == [0, 1, 2, 3] and "3 runs wrote into this folder" in said and "(and 7 more)" in said, said


def test_launches_that_are_no_job_together():
    """Other ranks in another launch, a minute later; and two jobs with ids, begun at once."""
    some, others = launched(1, 0), launched(2, HOUR // 60)
    found = {name: trace for name, trace in some.items() if name[-6] in "23"} | {
        name: trace for name, trace in others.items() if name[-6] in "01"}
    ranks, said = read_of(found)
    assert ranks == [0, 1] and "only the newest" in said, (ranks, said)
    found = {name: trace for name, trace in (launched(1, 0) | launched(2, 1_000_000)).items() if (name[0] == "1") == (name[-6] in "23")}
    for name, trace in found.items():
        trace["metadata"]["job"] = name[0]
    assert read_of(found)[0] == [2, 3], "rank 2 of the first job began last"


def at_once(**launches):
    """Two launches of one wrapper per rank, whose ranks began in turn; @launches: metadata of each, by its digit."""
    found = launched(1, 0) | launched(2, 5_000_000)
    for name, trace in found.items():
        trace["metadata"] |= {key: value[int(name[0]) - 1] for key, value in launches.items()}
        trace["metadata"]["clock_last_realtime_ns"] += HOUR
    return found


def test_two_launches_at_once():
    """Told apart by what started them: all of one, none of the other; by nothing but the time it is said that this may be wrong."""
    boots = ["0000-1", "0000-2"]
    for launches in ({"launch": ("hydra head:40001", "hydra head:40002")},
                     {"launch": ("hydra head:40001", "hydra head:40002"), "job": ("77", "77")},  # two mpiexec of a batch job
                     {"launch": ("torch 29500", "torch 29501")}, {"starts": (1, 2)}):
        found = at_once(**launches)
        for left in found, {name: trace for name, trace in found.items() if name != "2rank0.json"}:
            where = written(left)
            of, said = merged(where)
            assert of == [KERNELS if left is found else 0] + [KERNELS] * 3 + [0] * 4, (launches, of)
            assert "2 runs wrote into this folder" in said and "1rank" in said and "may be wrong" not in said, said
    found = at_once()
    for name, trace in found.items():  # a launcher of each job on each host
        on = name[-6] in "23"
        trace["metadata"] |= {"boot": boots[on], "hostname": "ab"[on], "launcher": f"mpispawn {name[0]}{on:d}-5"}
    said = merged(written(found))[1]
    assert "2 runs wrote into this folder" in said and "that may be wrong" in said, said  # the hosts by time alone
    said = merged(written(at_once()))[1]
    assert "that may be wrong; give each job an --output of its own" in said, said
    for run in launched(1, 0) | launched(2, 700_000_000), at_once(job=("76", "77")), launched(1, 0):
        assert "may be wrong" not in merged(written(run))[1]


def test_a_job_on_containers_of_one_machine():
    """One mpiexec, a proxy in each: one job, whenever its ranks began."""
    found = launched(1, 0)
    for name, trace in found.items():
        on = name[-6] in "23"
        trace["metadata"] |= {"boot": "0000-1", "hostname": "ab"[on], "launch": "hydra head:40001", "launcher": f"hydra_pmi_proxy 7{on:d}-5"}
        if on:
            trace["metadata"]["clock_first_realtime_ns"] += HOUR
            trace["metadata"]["clock_last_realtime_ns"] += HOUR
    of, said = merged(written(found))
    assert of == [KERNELS] * 4 + [0] * 4 and "runs wrote" not in said, (of, said)


def test_two_jobs_in_one_run():
    """gputrace run around a script that starts two: all is taken, and of merge it is said."""
    found = traces(run="gputrace-run-1", launch="hydra head:40001")
    for name, trace in traces(run="gputrace-run-1", launch="hydra head:40002").items():
        trace["metadata"]["pid"] += 100
        found["b" + name] = trace
    of, said = merged(written(found))
    assert of == [2 * KERNELS] * 4 + [0] * 4, of
    assert "two launchers: name the files of one job (3 more ranks are there twice)" in said, said
    for name, trace in found.items():
        trace["metadata"] |= {"launch": "torch 29500", "starts": 2 if name[0] == "b" else 1}
    assert "torchrun started the ranks again, and all starts are in it" in merged(written(found))[1]


def test_jobs_of_different_sizes():
    """Nothing else tells them apart."""
    found = traces()
    for rank in members(seed=2)[:2]:
        rank.number += 4
        found[f"b{rank.number}.json"] = rank.trace(8)
    where = written(found)
    for _, said in (merged(where), compared(where)):
        assert "traces of different jobs: " in lines(said)[0], said
        assert re.search("is of 4 ranks, .* of 8;|is of 8 ranks, .* of 4;", said), said
    assert summed(where, "traces of different jobs: ") == 6 * KERNELS


def test_ranks_of_no_known_number():
    """A launcher that gives no number of ranks makes no jobs of different sizes."""
    found = traces()
    for rank, trace in enumerate(found.values()):
        trace["distributedInfo"]["world_size"] = rank + 1
    where = written(found)
    assert lines(merged(where)[1]) == [] == lines(compared(where)[1])
    assert summed(where) == 4 * KERNELS


def test_a_rank_that_cannot_be():
    """It is no rank, and not the one that its last 32 bits would be."""
    for rank in (2**40, "1", None):
        found = traces()
        found["rank1.json"]["distributedInfo"]["rank"] = rank
        of, said = compared(written(found))
        assert sorted(of.values()) == [8] * 4 and "has a rank that another one has" not in said, (rank, of, said)


def test_a_copy():
    """Plain or packed."""
    for name in ("copy.json", "copy.json.gz"):
        where = written({**traces(), name: traces()["rank2.json"]})
        for of, said in (merged(where), compared(where)):
            assert of in ([KERNELS] * 4 + [0] * 4, ALL), of
            (line,) = lines(said)
            assert "left out, it is a copy of" in line, said
            assert "rank2.json" in line and name in line, said
        assert summed(where, "it is a copy of") == 4 * KERNELS


def test_a_merged_file_beside_its_ranks():
    """It is left out; where it holds more than they do, they are."""
    where = written(traces())
    cases.run("merge", f"--output={where}/all.json", where)
    assert summed(where, f"all.json: left out, its processes are also in {where}/rank0.json") == 4 * KERNELS
    assert len(lines(compared(where)[1])) == 1
    for rank, more in enumerate(["all.json (and 2 more)", "all.json (and 1 more)", "all.json"]):
        os.remove(f"{where}/rank{rank}.json")
        assert summed(where, f"rank{rank + 1}.json: left out, its processes are also in {where}/{more}") == 4 * KERNELS
    os.remove(where + "/rank3.json")
    assert summed(where) == 4 * KERNELS


def test_a_rank_twice():
    """Of two processes of a rank one is compared, and it is said."""
    other = members(seed=5)[2].trace(4)
    other["metadata"]["pid"] = 900
    where = written({**traces(), "second.json": other})
    of, said = merged(where)
    assert of == [KERNELS, KERNELS, 2 * KERNELS, KERNELS] + [0] * 4
    assert "rank 2: " in said and "two processes of a rank, or two jobs, which nothing tells apart" in said, said
    assert "twice" not in said and "rank 2" not in merged(written(traces()))[1]
    of, said = compared(where)
    assert of == {**{f"rank {r}": 8 for r in (0, 1, 3)}, "rank 2 pid 102": 8}, of
    assert "1 trace has a rank that another one has too" in said and "second.json first" in said, said
    kernels = json.loads(cases.run("ranks", "--format=json", where)[0])["rank_kernels"]
    assert kernels and {row["Ranks"] for row in kernels} == {4}, kernels


def started_again():
    """All ranks twice; the second ones have the number 2, later times and fewer collectives."""
    found = traces()
    for number, trace in enumerate(json.loads(json.dumps(list(found.values())))):
        trace["metadata"]["pid"] += 100
        trace["baseTimeNanoseconds"] += SECOND
        met = [e for e in trace["traceEvents"] if "nccl" in e["name"]]
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e not in met[3:]]
        found[f"again{number}.json"] = trace
    return found


def set_back(found):
    """Later starts have earlier times: the clock was set back meanwhile."""
    for name, trace in found.items():
        trace["metadata"]["starts"] = 2 if "again" in name else 1
        trace["baseTimeNanoseconds"] = generate.BASE - SECOND * ("again" in name)
    return found


def test_ranks_that_were_started_again():
    """By torchrun or otherwise: the last start is compared, whole, by its number or by the time."""
    found = started_again()
    again = {f"rank {rank} pid {200 + rank}": 3 for rank in range(4)}
    where = written(found)
    of, said = compared(where)
    assert of == again and "4 traces are of ranks that were started once more" in said and "rank0.json first" in said, (of, said)
    where = written(set_back(found))
    assert compared(where)[0] == again
    for name in found:
        if "again" in name:
            os.remove(f"{where}/{name}")
    assert compared(where)[0] == ALL


def test_a_newer_form():
    """It is read as far as it is known, and a line says so; of another tool the number means nothing."""
    found = traces(gputrace_version="9.0.0")
    found["rank1.json"]["schemaVersion"] = 99
    for _, said in merged(written(found)), compared(written(found)):
        assert "rank1.json: its schemaVersion is 99, that of a newer gputrace (1 is known)" in said, said
    summed(written(found), "its schemaVersion is 99")
    assert "schemaVersion" in cases.run("verify", os.path.join(written(found), "rank1.json"), expect=1)[0]
    where = cases.folder()
    cases.run("convert", os.path.join(written(found), "rank1.json"), os.path.join(where, "rank1.pftrace"))
    with open(os.path.join(where, "rank1.pftrace"), "rb+") as file:
        data = file.read()
        assert b"schema_version\x18\x01" in data
        file.seek(0)
        file.write(data.replace(b"schema_version\x18\x01", b"schema_version\x18\x63"))
    assert "rank1.pftrace: its schemaVersion is 99, that of a newer" in cases.run("stats", where)[1]
    cases.run("convert", os.path.join(where, "rank1.pftrace"), os.path.join(where, "as.json"))
    with open(os.path.join(where, "as.json"), encoding="utf-8") as file:
        assert json.load(file)["schemaVersion"] == 1
    del found["rank1.json"]["metadata"]["gputrace_version"]
    assert "schemaVersion" not in merged(written(found))[1]


def test_a_rank_whose_times_count_from_elsewhere():
    """Its collectives place it; a rank of the same host is not drawn along."""
    found = traces()
    del found["rank2.json"]["baseTimeNanoseconds"]
    where = written(found)
    assert compared(where)[0] == ALL
    rows = cases.tables("ranks", where)["rank_clocks"]
    ahead = {row["Rank"]: row["Ahead (ns)"] for row in rows}
    assert abs(ahead["rank 3"] - 4 * rank_traces.MS) < 100_000, ahead
    assert abs(ahead["rank 2"] + generate.BASE) < HOUR, ahead
    trace = json.loads(cases.run("merge", where)[0])
    ends = {}
    for event in trace["traceEvents"]:
        if event["name"].startswith("nccl"):
            ends.setdefault(event["pid"], []).append(event["ts"] + event["dur"])
    assert len(ends) == 4
    for together in zip(*ends.values()):
        assert max(together) - min(together) < 50, together  # us


def test_no_collective_in_common():
    """Hosts that nothing relates are not put on one line unasked; the ranks are listed all the same."""
    found = {}
    for name, trace in traces(clock_first_monotonic_ns=10**12, clock_first_realtime_ns=generate.BASE).items():
        trace["metadata"]["boot"] = trace["metadata"]["hostname"]
        trace["traceEvents"] = [e for e in trace["traceEvents"] if "nccl" not in e["name"]]
        found[name] = trace
    where = written(found)
    _, said = cases.run("merge", where, expect=1)
    assert said.count("\n") == 1 and "--force merges by their wall clocks" in said, said
    assert json.loads(cases.run("merge", "--force", where)[0])["traceEvents"]
    of, said = compared(where)
    assert not any(of.values()) and "no collective that two ranks have in common" in said, (of, said)


def test_a_rank_without_collectives():
    found = traces()
    events = found["rank3.json"]["traceEvents"]
    found["rank3.json"]["traceEvents"] = [e for e in events if "nccl" not in e["name"]]
    of, said = compared(written(found))
    assert {name: n for name, n in of.items() if n} == {f"rank {r}": 8 for r in range(3)}, of
    assert lines(said) == ["rank 3 has no collective in common with the others: what it did is not compared."], said


def test_torch_profiler():
    """No clock samples, no host: the error is what the collectives tell, without them it is not known."""
    found = traces()
    for trace in found.values():
        del trace["metadata"]
    assert compared(written(found))[0] == ALL
    for trace in found.values():
        trace["traceEvents"] = [e for e in trace["traceEvents"] if "nccl" not in e["name"]]
    where = written(found)
    rows = cases.tables("ranks", where)["rank_clocks"]
    assert [row["Error (ns)"] for row in rows] == [0, None, None, None], rows
    assert "with an error that is not known" in merged(where)[1]


def test_mixed_versions():
    found = traces(gputrace_version="0.1.0")
    found["rank1.json"]["metadata"]["gputrace_version"] = "0.0.9"
    where = written(found)
    for of, said in (merged(where), compared(where)):
        assert of in ([KERNELS] * 4 + [0] * 4, ALL), of
        (line,) = lines(said)
        assert "traces of different versions of gputrace: " in line and "0.0.9" in line, said
    assert summed(where, "traces of different versions of gputrace: ") == 4 * KERNELS


def test_one_file_cut():
    """Its beginning counts."""
    for pack in (False, True):
        where = written(traces())
        path = os.path.join(where, "rank1.json")
        with open(path, "rb") as file:
            data = file.read()
        if pack:
            os.remove(path)
            path += ".gz"
            data = gzip.compress(data)
        with open(path, "wb") as file:
            file.write(data[: len(data) * 3 // 4])
        of, said = merged(where)
        assert of[0] == of[2] == of[3] == KERNELS and 0 < of[1] < KERNELS, of
        assert lines(said) == [f"gputrace: {path}: the file was cut; merging the part before the cut"], said
        out, said = cases.run("ranks", where)
        assert f"{path}:\n  cut at line 1" in out, out + said
        for command in ("stats", "gaps"):
            assert f"{path}:\n  cut at line 1" in cases.run(command, where)[0], command
        page = cases.run("report", "--output=-", where)[0]
        assert "cut at line 1" in page


def test_files_that_are_no_traces():
    where = written({**traces(), "a.json": {"a": 1}, "b.json": 5})
    with open(os.path.join(where, "rank1.json"), "w", encoding="ascii") as file:
        file.write("hello")
    of, said = merged(where, expect=1)
    assert of == [KERNELS, 0, KERNELS, KERNELS] + [0] * 4, of
    (line,) = lines(said)
    assert "a.json" in line and line.endswith("; left out, and 2 more"), said
    of, said = compared(where, expect=1)
    assert {name: n for name, n in of.items() if n} == {f"rank {r}": 8 for r in (0, 2, 3)}, of
    assert "3 of 4 ranks are here" in said, said
    left_out = [os.path.join(where, name) for name in ("a.json", "b.json", "rank1.json")]
    assert summed(where, *left_out, expect=1) == 3 * KERNELS
    where = written({"a.json": {"a": 1}})
    assert cases.run("merge", where, expect=1)[0] == ""


if __name__ == "__main__":
    cases.main([test for name, test in list(globals().items()) if name.startswith("test_")])
