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


def events_of(path, ids=True):
    """Each event of a merged JSON with what tells it apart, also by the ids that merge gave: how often."""
    with open(path, encoding="utf-8") as file:
        merged = json.load(file)
    keys = ("ph", "cat", "name", "ts", "dur", "s", "pid", "tid") + (("id",) if ids else ())
    same = (("correlation", "stack", "External id") if ids else ()) + ("bytes", "stream", "device", "nvtx", "labels", "sort_index", "grid", "frames",
            "rank", "merged process", "merged pid")
    return collections.Counter(
        json.dumps([event.get(key) for key in keys] + [event.get("args", {}).get(key) for key in same]) for event in merged["traceEvents"])


def back_to_json():
    """The JSON of a merged .pftrace is the JSON that merge makes of the traces themselves: the same events on the same rows,
    the same header, the same counts of what was lost and written."""
    with open(MERGED, encoding="utf-8") as file:
        header = json.load(file)
    for source in (PFTRACE, CONVERTED):
        path = os.path.join(WHERE, "back.json")
        assert run("convert", source, path).stderr == ""
        wanted, there = (events_of(made, ids=source == PFTRACE) for made in (MERGED, path))
        assert there == wanted, (source, list((there - wanted).items())[:2], list((wanted - there).items())[:2])
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        for key in set(header) - {"traceEvents", "ledger"}:
            assert found.get(key) == header[key], (source, key, found.get(key), header[key])
        differ = {key for key in header["ledger"] if found["ledger"].get(key) != header["ledger"][key]} - {"bytes_written"}
        assert not differ, (source, differ)
        for words in [("stats", "--report=" + table) for table in TABLES] + [("gaps",)]:
            assert run(*words, "--format=csv", path).stdout == run(*words, "--format=csv", MERGED).stdout, words
        assert files.lint(path, "--merged") == [path + ":0: file name: back.json"]
        assert "ok, " in run("verify", path).stdout
        full, again = os.path.join(WHERE, "full.json"), os.path.join(WHERE, "again.json")
        run("convert", "--stacks=full", source, full)
        assert os.path.getsize(full) > os.path.getsize(path)
        run("merge", "--output=" + again, source)
        assert files.read(again) == files.read(path)
        for made in (path, full, again):
            os.unlink(made)


def window_and_export():
    """A window of time, and rows of a database: as of the traces themselves."""
    cuts = [os.path.join(WHERE, name) for name in ("of_all.json", "of_one.json")]
    for path, inputs in zip(cuts, (SOURCES, [PFTRACE])):
        run("merge", "--time=2ms..5ms", "--output=" + path, *inputs)
    assert sum(events_of(cuts[0]).values()) > 100 and events_of(cuts[0]) == events_of(cuts[1])
    tables = [os.path.join(WHERE, name) for name in ("tables_of_all", "tables_of_one")]
    for path, inputs in zip(tables, (SOURCES, [PFTRACE])):
        run("export", "--csv=" + path, *inputs)
    names = sorted(os.listdir(tables[0]))
    assert len(names) > 4 and names == sorted(os.listdir(tables[1])), names
    for name in names:
        wanted, there = (files.read(os.path.join(folder, name)).decode() for folder in tables)
        assert re.sub(r" \(rank \d\)", "", there) == wanted, name


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
    back = os.path.join(WHERE, "hosts_back.json")
    run("convert", pftrace, back)
    assert json_work(back)[0] == there
    moved = {rank: sorted(start for of, start, _ in there.elements() if of == rank) for rank in range(2)}
    assert max(abs(a - b) for a, b in zip(moved[0], moved[1])) < 50_000, (moved[0][:3], moved[1][:3])


def wall_clock_set():
    """A wall clock that was set between the starts of two processes of one boot: merged, their times are moved once."""
    sources = [files.make(os.path.join(WHERE, "boot"), 20, rank=rank, world=2, seed=rank + 1)[0] for rank in range(2)]
    begin_later(sources[1], 7_000_000)
    for source in sources:
        data = files.read(source).decode()
        base = int(re.search(r'"baseTimeNanoseconds": ([0-9]+)', data).group(1))
        with open(source, "w", encoding="utf-8") as file:
            file.write(data.replace('"clock_first_monotonic_ns": 0, "clock_first_realtime_ns": "0"',
                                    f'"boot": "b", "clock_first_monotonic_ns": 1, "clock_first_realtime_ns": "{base}"', 1))
    wanted = run("ranks", "--format=csv", *sources).stdout
    assert "rank 1,n3,same boot,7000000.0," in wanted, wanted
    paths = [os.path.join(WHERE, name) for name in ("boot.pftrace", "boot.json", "boot_back.json", "boot_back.pftrace")]
    for path in paths[:2]:
        run("merge", "--output=" + path, *sources)
    for path, made in zip(paths, paths[2:]):
        run("convert", path, made)
    for path in paths:
        there = run("ranks", "--format=csv", path).stdout
        assert there == wanted.replace("same boot,7000000.0,", "same boot,0.0,"), (path, wanted, there)


def arrows_of_legacy_viewer(path):
    """Arrows that catapult's importer makes: flows in order of time, by nothing but their ids, each gone at its first end."""
    with open(path, encoding="utf-8") as file:
        flows = [event for event in json.load(file)["traceEvents"] if event["ph"] in "sf"]
    is_open, arrows = set(), 0
    for event in sorted(flows, key=lambda event: event["ts"]):
        if event["ph"] == "s":
            is_open.add(event["id"])
        elif event["id"] in is_open:
            is_open.remove(event["id"])
            arrows += 1
    return arrows, sum(event["ph"] == "f" for event in flows)


def flows_of_their_own():
    """--details=all, also of convert: the legacy viewer draws the arrow of each node of a graph, in merged files, too; the
    tables are the same, and so is the file of a trace without it."""
    plain, own = ([files.make(os.path.join(WHERE, name), 10, rank=rank, world=2, devices=2, seed=rank + 1, **more)[0]
                   for rank in range(2)] for name, more in (("plain", {}), ("own", {"own": 1})))
    pftrace, merged = os.path.join(WHERE, "own.pftrace"), os.path.join(WHERE, "own.json")
    run("merge", "--output=" + pftrace, *plain)
    run("merge", "--output=" + merged, *own)
    drawn = []
    for number, source in enumerate((plain[0], pftrace, own[0])):
        for details in ("default", "all"):
            path = os.path.join(WHERE, f"own{number}{details}.pt.trace.json")
            run("convert", "--details=" + details, source, path)
            assert files.lint(path, *["--merged"] * (source == pftrace)) in ([], [path + ":0: file name: " + os.path.basename(path)])
            drawn.append(arrows_of_legacy_viewer(path))
            assert "ok, " in run("verify", path).stdout
    (few, all_of_one), one, (some, all_of_two), two, *asked = drawn
    assert few < all_of_one and some < all_of_two == 2 * all_of_one, drawn
    assert one == (all_of_one,) * 2 and two == (all_of_two,) * 2 and asked == [one, one], drawn
    assert arrows_of_legacy_viewer(merged) == two and "ok, " in run("verify", merged).stdout
    assert files.lint(merged, "--merged") == [merged + ":0: file name: own.json"]
    for words in [("stats", "--report=" + table) for table in TABLES] + [("gaps",)]:
        assert run(*words, "--format=csv", merged).stdout == run(*words, "--format=csv", *plain).stdout, words


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
    ranks = run("ranks", "--format=csv", *SOURCES).stdout
    for path in (MERGED, PFTRACE, CONVERTED):
        assert run("gaps", "--format=csv", path).stdout == gaps, path
        assert run("ranks", "--format=csv", path).stdout == ranks, path
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
    told = run("convert", MERGED, os.path.join(WHERE, "never.json"), status=1).stderr
    assert MERGED + ": holds several processes" in told and told.count("\n") == 1, told
    copy = os.path.join(WHERE, "copy.pftrace")
    shutil.copy(PFTRACE, copy)
    assert "(not touched)" in run("repair", copy, status=1).stderr
    assert files.read(copy) == files.read(PFTRACE)


def packets_of(path):
    """The packets of a file, each with its sequence and the place of that number in it."""
    data, at, found = files.read(path), 0, []
    while at < len(data):
        size, at = varint(data, at + 1)
        packet, place = data[at:at + size], 0
        at += size
        while place < len(packet):
            begin = place
            tag, place = varint(packet, place)
            if tag & 7 == 2:
                size, place = varint(packet, place)
                place += size
            elif tag & 7 in (1, 5):
                place += 8 if tag & 7 == 1 else 4
            else:
                value, place = varint(packet, place)
                if tag >> 3 == 10:
                    found.append((value, packet[:begin], packet[place:]))
                    break
    return found


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def put_varint(value):
    return bytes([value & 127 | 128]) + put_varint(value >> 7) if value > 127 else bytes([value])


def write_packets(path, packets):
    with open(path, "wb") as file:
        for sequence, before, behind in packets:
            packet = before + b"\x50" + put_varint(sequence) + behind
            file.write(b"\x0a" + put_varint(len(packet)) + packet)


def mixed_up():
    """Processes that are cut away, out of order, mixed, or under the numbers of others: one line and no file, or what there is
    before the damage, and the line says that it was cut."""
    packets = packets_of(PFTRACE)
    own = [[packet for packet in packets if (packet[0] - 1) // 2 == number] for number in range(RANKS)]

    def moved(number, by):
        return [(sequence + by, *rest) for sequence, *rest in own[number]]

    single, second = os.path.join(WHERE, "single.pftrace"), os.path.join(WHERE, "second.pftrace")
    run("convert", SOURCES[0], single)
    run("convert", SOURCES[1], second)
    cases = {
        "cut": (own[0] + own[1], "was cut"),
        "first only": (own[0], "was cut"),
        "no first": (own[1] + own[2], "not a .pftrace of gputrace"),
        "backwards": (own[2] + own[1] + own[0], "not a .pftrace of gputrace"),
        "mixed": ([packet for both in zip(*own) for packet in both], "not a .pftrace of gputrace"),
        "numbers of the first": (own[0] + moved(1, -2) + own[2], "damaged"),
        "numbers of the second": (own[0] + own[1] + moved(2, -2), "damaged"),
        "large numbers": (own[0] + moved(1, 1 << 31), "damaged"),
        "not told": (packets_of(single) + [(sequence + 2, *rest) for sequence, *rest in packets_of(second)], "damaged"),
    }
    path, target = os.path.join(WHERE, "mixed.pftrace"), os.path.join(WHERE, "mixed.json")
    for name, (made, words) in cases.items():
        write_packets(path, made)
        is_cut = words == "was cut"
        for command in (("convert", path, target), ("merge", "--output=" + target, path)):
            told = run(*command, status=not is_cut).stderr
            assert words in told and told.count("\n") == 1, (name, command, told)
            assert os.path.exists(target) == is_cut, (name, command)
            if is_cut:
                os.unlink(target)
        run("verify", path, status=1)
        run("export", "--sqlite=" + target, path, status=not is_cut)
        if is_cut:
            os.unlink(target)
            run("convert", path, second + ".pftrace")
            os.unlink(second + ".pftrace")
    for made in (single, second):
        os.unlink(made)


files.main([same_events, back_to_json, window_and_export, mixed_up, wall_clock_set, flows_of_their_own, clocks_of_hosts, rows_of_their_own, same_answers, again, cut_anywhere, packed_and_piped, refused])
