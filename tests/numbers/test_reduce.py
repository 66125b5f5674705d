#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gputrace stats --mpi`, `gaps --mpi` and `ranks --mpi` against one process: all numbers are the same but quantiles, which are within 1/256.

test_reduce.py CLI [CLI_WITH_MPI]: the second one is left out where no MPI is installed.
"""

import json
import os
import re
import shutil
import subprocess
import sys

import cases
import generate
import rank_traces
import test_bad_ranks as bad_ranks

QUANTILES = re.compile(r"(Med|P90|P99)\b")
ERROR = 1 / 256
EXACT = 1024  # values of which the quantiles are exact

ALL = "cuda_gpu_kern_sum,cuda_api_sum,cuda_gpu_mem_time_sum,cuda_gpu_mem_size_sum,nvtx_sum,nvtx_gpu_proj_sum,"\
    "cuda_kern_exec_sum,cuda_gpu_graph_sum,gpu_comm_sum,gpu_rate_sum,mpi_sum,nn_module_sum"
KEYS = "line function step device nvtx".split()


def mpi(processes, *words, expect=0):
    """What `mpirun` prints: standard output, and what gputrace said."""
    if len(sys.argv) < 3 or not shutil.which("mpirun"):
        raise cases.Skip("no MPI is installed")
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", str(processes), sys.argv[2], *words], env=env,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == expect, (words, done.returncode, done.stdout[:500], done.stderr)
    return done.stdout, [line for line in done.stderr.splitlines() if line.startswith("gputrace")]


def written(ranks=6, steps=80):
    """A folder of ranks, one of whose kernels runs more than EXACT times, with launches and copies."""
    where = cases.folder()
    for rank in rank_traces.job(ranks=ranks, steps=steps)[0]:
        trace = rank.trace(ranks)
        for event in [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]:
            number = event["args"]["correlation"]
            trace["traceEvents"].append(generate.call("cudaLaunchKernel", event["ts"] - 9 - number % 7, 4.5, number))
        trace["traceEvents"] += [generate.copy(50000 + 900 * i, 11.25 + i, 90000 + i, bytes=4096 * i + rank.number)
                                 for i in range(20)]
        cases.write(trace, f"rank{rank.number}.json", where)
    return where


def compare(one, many):
    one, many = json.loads(one), json.loads(many)
    assert list(one) == list(many), (list(one), list(many))
    for name, rows in one.items():
        assert len(rows) == len(many[name]), name
        for mine, other in zip(rows, many[name]):
            assert list(mine) == list(other)
            count = max((mine[key] for key in ("Instances", "Num Calls", "Count", "Range Instances") if key in mine), default=0)
            for column, value in mine.items():
                if QUANTILES.search(column) and count > EXACT:
                    assert abs(value - other[column]) <= value * ERROR + 0.1, (name, column, mine, other)
                else:
                    assert value == other[column], (name, column, mine, other)


def same(where, *words, processes=4):
    """One process and several."""
    alone, warned = cases.run("stats", *words, where)
    together, said = mpi(processes, "stats", "--mpi", *words, where)
    assert said == warned.splitlines(), (said, warned)
    if "--format=json" in words:
        compare(alone, together)
    else:
        assert alone == together, (alone, together)


def test_what_people_read_is_the_same():
    where = written()
    same(where)
    same(where, processes=1)
    same(where, "--by=rank", "--sort=name")


def test_the_reports_of_nsys():
    same(written(), f"--report={ALL}", "--percentiles", "--format=json")


def test_windows_of_time():
    """Counted from the first slice of the job, on hosts whose clocks differ by 4 ms."""
    where = written_job(fault="gpu")
    for window in ("0..30ms", "30ms..90ms", "100ms.."):
        same(where, f"--filter=time={window}", f"--report={ALL}", "--format=json", processes=8)
        same_ranks(where, f"--filter=time={window}", processes=[3])
        gaps = f"--filter=time={window}", "--format=json", where
        assert cases.run("gaps", *gaps)[0] == mpi(4, "gaps", "--mpi", *gaps)[0]


def test_mangled_names():
    where = cases.folder()
    for rank, names in enumerate(({"a<int>()": "_Z1aIiEvv", "b()": "_Z1bv"}, {"a<int>()": "_Z1aIiEvv", "c()": "_Z1cv"},
                                  {"b()": "_ZL1bv", "d()": None}, {"c()": "_Z1cv", "d()": "_Z1dv"})):
        events = [generate.kernel(name, 100 * i, 50 - rank, i + 1, **({"mangled name": mangled} if mangled else {}))
                  for i, (name, mangled) in enumerate(names.items())]
        cases.write(generate.trace(events, {"distributedInfo": {"rank": rank, "world_size": 4}}), f"rank{rank}.json", where)
    same(where, "--by=kernel", "--names=mangled", "--format=csv")
    same(where, "--names=mangled")
    out = cases.run("stats", "--by=kernel", "--names=mangled", "--format=csv", where)[0]
    # two kernels of one name: it stands for itself, whichever ranks they are of
    assert all(name in out for name in ("_Z1aIiEvv", "_Z1cv", "_Z1dv", "b()")) and "1bv" not in out, out
    same_ranks(where, "--names=mangled", processes=[2])


def test_each_key():
    where = written(steps=20)
    for key in KEYS:
        same(where, f"--by={key}", "--histogram", "--format=json", processes=2)


def test_more_processes_than_ranks():
    same(written(ranks=2, steps=5), processes=4)


def test_a_real_job():
    public = os.path.dirname(cases.public()[0])
    same(os.path.join(os.path.dirname(public), "two_ranks"), processes=4)
    same(os.path.join(os.path.dirname(public), "two_ranks"), f"--report={ALL}", "--format=json", processes=2)


def test_gaps():
    where = written(steps=10)
    for processes in (1, 4):
        together, said = mpi(processes, "gaps", "--mpi", "--format=json", where)
        alone = cases.tables("gaps", where)
        assert list(alone) == ["gpu_idle_causes", "gpu_devices", "gpu_windows", "peer_wait"]
        assert json.loads(together) == alone and alone["peer_wait"], (together, alone)
        assert not said, said


def test_gaps_of_samples_and_calls():
    """Those that the host's samples, and calls of the operating system with files, tell."""
    where = cases.folder()
    for rank in range(4):
        events = []
        for i in range(12):
            at = 1000 + 400 * i
            events += [generate.os_call("read", at + 20 + rank, 150, path=f"/data/shard-{(i + rank) % 5}"),
                       generate.function("train.py(7): step", at, 390),
                       generate.call("cudaLaunchKernel", at + 200, 9, 100 + i),
                       generate.kernel(f"work_{i % 3}", at + 250 + rank, 100, 100 + i)]
        cases.write(generate.trace(events, {"distributedInfo": {"rank": rank, "world_size": 4}}), f"rank{rank}.json", where)
    alone = cases.run("gaps", where)
    together, said = mpi(4, "gaps", "--mpi", where)
    assert alone[0] == together and alone[1].splitlines() == said, (alone, together, said)
    assert "blocking" in alone[0] or "data loading" in alone[0], alone


def same_ranks(where, *words, processes=(1, 2, 4), expect=0):
    """What `ranks` prints, and says on standard error."""
    alone = cases.run("ranks", *words, where, expect=expect)
    for count in processes:
        together, said = mpi(count, "ranks", "--mpi", *words, where, expect=expect)
        assert together == alone[0], (count, words, alone[0], together)
        assert said == [line for line in alone[1].splitlines() if line.startswith("gputrace")], (count, words, alone[1], said)
    return "".join(alone)


def written_job(**more):
    """Ranks of two hosts, the second of which has a clock that is ahead and runs away."""
    where = cases.folder()
    for rank in rank_traces.job(steps=12, **more)[0]:
        cases.write(rank.trace(8), f"rank{rank.number}.json", where)
    return where


def test_ranks():
    where = written_job(fault="gpu")
    assert "Cause: slower GPU" in same_ranks(where)
    same_ranks(where, "--format=json")
    same_ranks(where, "--format=csv", "--filter=step=3", processes=[2])
    assert "nothing in the traces passes" in same_ranks(where, "--filter=kernel=none", processes=[2])
    where = written_job(fault="host", mpi=True)
    assert "Cause: host" in same_ranks(where, processes=[4])


def test_a_real_job_of_ranks():
    same_ranks(os.path.join(os.path.dirname(os.path.dirname(cases.public()[0])), "two_ranks"), "--format=json", processes=[2])


def test_messages():
    """Sends and receives belong together by rank and number, whichever process read them."""
    where = cases.folder()
    for rank in range(2):
        events = []
        for i in range(40):
            to = {"Dst Rank": 1, "Send Seq": i + 1} if rank == 0 else {"Src Rank": 0, "Recv Seq": i + 1}
            events.append(generate.kernel("ncclDevKernel_SendRecv", 10000 * i + 1000 * rank, 2000 - 1000 * rank, i + 1, **{
                "Collective name": "sendrecv", "Group size": 2, "Process Group Name": "0x12", "Rank": rank, **to}))
        cases.write(generate.trace(events, {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": generate.BASE}),
                    f"rank{rank}.json", where)
    assert "no counterpart" not in same_ranks(where, processes=[2])


def test_ranks_of_bad_folders():
    """What is wrong is said as by one process, once."""
    found = bad_ranks.traces()
    other = bad_ranks.members(seed=5)[2].trace(4)
    other["metadata"]["pid"] = 900
    said = same_ranks(bad_ranks.written({**found, "second.json": other}), processes=[3])
    assert "1 trace has a rank that another one has too" in said, said
    where = bad_ranks.written({**found, "copy.json": found["rank2.json"]})
    with open(os.path.join(where, "rank1.json"), "r+b") as file:
        file.truncate(os.path.getsize(file.name) * 3 // 4)
    said = same_ranks(where, processes=[3])
    assert "it is a copy of" in said and "cut at line 1" in said, said
    for trace in found.values():
        trace["traceEvents"] = [e for e in trace["traceEvents"] if "nccl" not in e["name"]]
    del found["rank3.json"]["baseTimeNanoseconds"], found["rank2.json"]["metadata"]
    said = same_ranks(bad_ranks.written(found), processes=[3])
    assert "no collective that two ranks have in common" in said and "not aligned" in said, said
    with open(os.path.join(where, "rank0.json"), "w", encoding="ascii") as file:
        file.write("hello")
    said = same_ranks(where, processes=[3], expect=1)
    assert "rank0.json" in said and "3 of 4 ranks are here" in said, said


def test_ranks_that_were_started_again():
    """Which start was the last is known in the messages, too: by its time, and by its number."""
    found = bad_ranks.started_again()
    for traces in found, bad_ranks.set_back(found):
        said = same_ranks(bad_ranks.written(traces), processes=[2])
        assert "4 traces are of ranks that were started once more" in said, said


def test_a_bad_file():
    where = written(ranks=4, steps=5)
    with open(os.path.join(where, "rank9.json"), "w", encoding="utf-8") as file:
        file.write('{"distributedInfo": {"rank": 9}, "traceEvents": 5}')
    alone, said = cases.run("stats", where, expect=1)
    together, lines = mpi(4, "stats", "--mpi", where, expect=1)
    assert alone == together
    assert lines == said.splitlines() and len(lines) == 1 and "rank9.json" in lines[0], (lines, said)


def test_nothing_to_read():
    where = cases.folder()
    said = cases.run("stats", where, expect=1)[1]
    assert mpi(3, "stats", "--mpi", where, expect=1) == ("", said.splitlines())


def test_what_is_refused():
    where = written(ranks=2, steps=2)
    for words in (["--report=gpu_queue_sum", where], ["--energy", where], ["--flops", where], ["-"]):
        out, lines = mpi(3, "stats", "--mpi", *words, expect=2)
        assert not out and len(lines) == 1 and "--mpi" in lines[0], (words, lines)


def test_without_mpi():
    if sys.argv[1:3] == sys.argv[1:2] * 2:
        raise cases.Skip("this build has MPI")
    out, said = cases.run("stats", "--mpi", cases.folder(), expect=2)
    assert not out and said.count("\n") == 1 and "-Dmpi=true" in said, said


if __name__ == "__main__":
    cases.main([test for name, test in list(globals().items()) if name.startswith("test_")])
