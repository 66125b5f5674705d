#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several ranks as one .pftrace, made by `gputrace merge` and by `gputrace convert` of merged JSON: what this test reads of its
packets by itself is what the JSON holds, and the answers of gputrace to both are the same."""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

import files

CLI = sys.argv[2]
sys.path.insert(0, os.path.join(files.ROOT, "tests", "lint"))
import pftrace_lint  # noqa: E402

RANKS = 3
WHERE = files.folder()
SOURCES = [files.make(os.path.join(WHERE, "ranks"), 10 + rank, rank=rank, world=RANKS, devices=2, sync=1)[0]
           for rank in range(RANKS)]
MERGED = os.path.join(WHERE, "all.json")
PFTRACE = os.path.join(WHERE, "all.pftrace")
CONVERTED = os.path.join(WHERE, "converted.pftrace")
GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync", "gpu_graph"}
TABLES = ("cuda_gpu_kern_sum", "cuda_api_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum", "nvtx_sum",
          "nvtx_gpu_proj_sum", "cuda_kern_exec_sum", "gpu_stream_use", "gpu_step_use", "gpu_rank_use", "gpu_comm_sum")


def begin_later(path, ns):
    """Moves a whole trace by its base, which has a fixed number of digits."""
    data = files.read(path)
    at = data.index(b'"baseTimeNanoseconds": ') + 23
    base = int(data[at:at + 19])
    with open(path, "wb") as file:
        file.write(data[:at] + b"%d" % (base + ns) + data[at + 19:])


def run(*words, status=0):
    done = subprocess.run([CLI, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    assert done.returncode == status, (words, done.returncode, done.stdout[-500:], done.stderr)
    return done


begin_later(SOURCES[1], 5_000_003)
run("merge", "--output=" + MERGED, *SOURCES)
run("merge", "--output=" + PFTRACE, *reversed(SOURCES))
run("convert", MERGED, CONVERTED)


class Packets(pftrace_lint.Lint):
    """What is in the packets, by sequence."""

    def __init__(self, path):
        super().__init__(path)
        self.processes, self.gpus, self.contexts, self.gpu_infos = [], collections.defaultdict(set), {}, 0
        self.work, self.slices_of, self.flows_of = collections.Counter(), collections.Counter(), collections.Counter()
        self.stacks = collections.Counter()
        self.threads = collections.defaultdict(set)
        assert self.check() == []

    def packet(self, packet):
        number = (packet[10][0] - 1) // 2
        for track in packet[60]:
            track = pftrace_lint.message(track)
            for process in track[3]:
                process = pftrace_lint.message(process)
                self.processes.append((process[1][0], process[3][0], process[8][0].decode()))
            for thread in track[4]:
                thread = pftrace_lint.message(thread)
                self.threads[number].add(thread[1][0])
        for data in packet[12]:
            for context in pftrace_lint.message(data)[23]:
                self.contexts[number] = pftrace_lint.message(context)[2][0]
        self.gpu_infos += len(packet[128])
        for event in packet[11]:
            event = pftrace_lint.message(event)
            self.slices_of[number] += event[9] == [1]
            self.stacks[number] += bool(event[56])
            self.flows_of[number] += len(event[3000])
        super().packet(packet)
        for stage in packet[53]:
            stage = pftrace_lint.message(stage)
            sequence = self.sequences[packet[10][0]]
            self.gpus[number].add(stage[11][0] if stage[11] else 0)
            self.work[number, sequence.clocks[64], stage[2][0] if stage[2] else 0] += 1


def json_work(path=MERGED):
    """(rank, start, duration): how often, of GPU work and GPU ranges; slices of the host; calls with a stack, by rank."""
    with open(path, encoding="utf-8") as file:
        merged = json.load(file)
    rank_of = {e["pid"]: e["args"]["rank"] for e in merged["traceEvents"]
               if e["name"] == "process_labels" and "merged process" in e["args"]}
    base = merged["baseTimeNanoseconds"]
    work, slices, stacks = collections.Counter(), collections.Counter(), collections.Counter()
    for event in merged["traceEvents"]:
        if event.get("ph") != "X":
            continue
        rank = rank_of[event["pid"]]
        if event["cat"] in GPU_WORK or event["cat"] == "gpu_user_annotation":
            work[rank, base + round(event["ts"] * 1000), round(event["dur"] * 1000)] += 1
        else:
            slices[rank] += 1
            stacks[rank] += "stack" in event["args"] and event["cat"] in ("cuda_runtime", "cuda_driver")
    return work, slices, stacks


def same_events():
    """Each piece of GPU work at its time on its rank, each slice of the host, stacks and flows."""
    work, slices, stacks = json_work()
    assert sum(work.values()) > 500 and min(stacks.values()) > 50
    for path in (PFTRACE, CONVERTED):
        there = Packets(path)
        assert there.work == work, (path, list((there.work - work).items())[:3], list((work - there.work).items())[:3])
        assert there.slices_of == slices, (path, there.slices_of, slices)
        assert all(there.stacks[rank] >= stacks[rank] for rank in range(RANKS)), (there.stacks, stacks)
        assert min(there.flows_of[rank] for rank in range(RANKS)) > 50
        submitted = set(there.submitted)
        assert sum(identity in submitted for identity, _ in there.stages) > 300


def clocks_of_hosts():
    """A second host whose clock is ahead by 5 ms and gains 200 ppm, as the ends of the collectives tell: both forms have its
    events at the same times of the first one's clock."""
    sources = [files.make(os.path.join(WHERE, "hosts"), 60, rank=rank, world=2)[0] for rank in range(2)]
    data = files.read(sources[1]).decode().replace('"hostname": "n3"', '"hostname": "n4"', 1)
    first = float(re.search(r'"ph": "X".*?"ts": ([0-9.]+)', data).group(1))
    data = re.sub(r'"ts": ([0-9.]+)', lambda ts: f'"ts": {first + 5000 + (float(ts.group(1)) - first) * 1.0002:.3f}', data)
    with open(sources[1], "w", encoding="utf-8") as file:
        file.write(data)
    merged, pftrace = os.path.join(WHERE, "hosts.json"), os.path.join(WHERE, "hosts.pftrace")
    told = [run("merge", "--output=" + path, *sources).stderr for path in (merged, pftrace)]
    assert "by collectives" in told[0] and told[0] == told[1], told
    wanted, there = json_work(merged)[0], Packets(pftrace).work
    starts = [sorted(start for _, start, _ in work.elements()) for work in (wanted, there)]
    assert len(starts[0]) == len(starts[1]) > 800
    assert max(abs(a - b) for a, b in zip(*starts)) <= 1, [list(work)[:3] for work in (wanted, there)]
    moved = {rank: sorted(start for of, start, _ in there.elements() if of == rank) for rank in range(2)}
    assert max(abs(a - b) for a, b in zip(moved[0], moved[1])) < 50_000, (moved[0][:3], moved[1][:3])


def rows_of_their_own():
    """Ranks in order whatever the order of the files; no pid, GPU or call of one is another's; the GPUs are its process's."""
    for path in (PFTRACE, CONVERTED):
        there = Packets(path)
        assert [label for _, _, label in there.processes] == [f"rank {rank}" for rank in range(RANKS)]
        assert [place for _, place, _ in there.processes] == list(range(RANKS))
        pids = [pid for pid, _, _ in there.processes]
        assert len(set(pids)) == RANKS, pids
        assert [there.contexts[rank] for rank in range(RANKS)] == pids
        assert [there.threads[rank] for rank in range(RANKS)] == [{pid} for pid in pids]
        assert [there.gpus[rank] for rank in range(RANKS)] == [{2 * rank, 2 * rank + 1} for rank in range(RANKS)]
        assert there.gpu_infos == 1


def same_answers():
    """The tables of all forms are equal, and equal to those of the folder."""
    for table in TABLES:
        wanted = run("stats", "--report=" + table, "--format=csv", *SOURCES).stdout
        for path in (MERGED, PFTRACE, CONVERTED):
            assert run("stats", "--report=" + table, "--format=csv", path).stdout == wanted, (table, path)
    gaps = run("gaps", "--format=csv", *SOURCES).stdout
    assert run("gaps", "--format=csv", PFTRACE).stdout == gaps
    events = [int(run("verify", path).stdout.split("ok, ")[1].split()[0]) for path in SOURCES]
    pftrace = int(run("verify", PFTRACE).stdout.split("ok, ")[1].split()[0])
    singles = []
    for source in SOURCES:
        single = os.path.join(WHERE, "single.pftrace")
        run("convert", source, single)
        singles.append(int(run("verify", single).stdout.split("ok, ")[1].split()[0]))
        os.unlink(single)
    assert pftrace == sum(singles) and sum(events) > pftrace, (pftrace, singles, events)


def again():
    """What was merged can be merged with more; one file of the .pftrace form may be among them."""
    single, more = os.path.join(WHERE, "one.pftrace"), os.path.join(WHERE, "more.pftrace")
    first = os.path.join(WHERE, "first.pftrace")
    run("convert", SOURCES[2], single)
    run("merge", "--output=" + first, SOURCES[0], SOURCES[1])
    run("merge", "--output=" + more, first, single)
    for table in TABLES:
        assert run("stats", "--report=" + table, "--format=csv", more).stdout == \
            run("stats", "--report=" + table, "--format=csv", PFTRACE).stdout, table


def cut_anywhere():
    """A cut is reported, missing ranks too; the file is never changed."""
    data, path = files.read(PFTRACE), os.path.join(WHERE, "cut.pftrace")
    seen = set()
    for size in range(len(data) // 10, len(data), len(data) // 20):
        with open(path, "wb") as file:
            file.write(data[:size])
        told = run("verify", path, status=1).stdout
        assert "not closed" in told, (size, told)
        seen.add("processes that were merged it holds" in told)
        run("stats", path)
        run("repair", path, status=1)
        assert files.read(path) == data[:size]
    assert seen == {False, True}


def packed_and_piped():
    """Packed, and from a pipe, which can be read once only."""
    copy = os.path.join(WHERE, "packed.pftrace")
    shutil.copy(PFTRACE, copy)
    run("compress", copy)
    wanted = run("stats", "--report=cuda_gpu_kern_sum", "--format=csv", PFTRACE).stdout
    assert run("stats", "--report=cuda_gpu_kern_sum", "--format=csv", copy + ".gz").stdout == wanted
    with open(PFTRACE, "rb") as file:
        done = subprocess.run([CLI, "stats", "--report=cuda_gpu_kern_sum", "--format=csv", "-"], stdin=file,
                              stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    assert done.stdout == wanted


def refused():
    """One line that says what to do, and no file."""
    target = os.path.join(WHERE, "never.pftrace")
    kineto = os.path.join(WHERE, "kineto.json")
    with open(kineto, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "baseTimeNanoseconds": 1, "distributedInfo": {"rank": 3, "world_size": 4}, "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1,
             "args": {"device": 0, "stream": 7, "correlation": 1}}]}, file)
    told = run("merge", "--output=" + target, SOURCES[0], kineto, status=1).stderr
    assert kineto + ": not a trace of gputrace" in told and ".zip" in told and told.count("\n") == 1, told
    assert not os.path.exists(target)
    for words in (("export", "--sqlite=" + os.path.join(WHERE, "never.sqlite"), PFTRACE),
                  ("convert", PFTRACE, os.path.join(WHERE, "never.json")),
                  ("merge", "--output=" + os.path.join(WHERE, "never.json"), PFTRACE)):
        told = run(*words, status=1).stderr
        assert PFTRACE + ": holds several processes" in told and told.count("\n") == 1, (words, told)
        assert not os.path.exists(os.path.join(WHERE, "never.json")), words
    copy = os.path.join(WHERE, "copy.pftrace")
    shutil.copy(PFTRACE, copy)
    assert "(not touched)" in run("repair", copy, status=1).stderr
    assert files.read(copy) == files.read(PFTRACE)


files.main([same_events, clocks_of_hosts, rows_of_their_own, same_answers, again, cut_anywhere, packed_and_piped, refused])
