#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gputrace memory` against a second computation: every life of a block by itself, every sum over all blocks."""

import random

import cases
import generate

STACKS = {n: [f"alloc_{n} (/src/model.cu:{10 + n})", f"layer_{n % 3} (/src/net.cu:{n})", "main (/src/train.cu:9)"]
          for n in range(1, 7)}
CALLS = {"device": "cudaMalloc", "pool": "cudaMallocAsync", "managed": "cudaMallocManaged", "array": "cudaMallocArray",
         "pinned": "cudaHostAlloc", "physical": "cuMemCreate"}


class Script:
    """Calls of a program, and what each did, in the order of time."""

    def __init__(self, seed, rank=0):
        self.dice = random.Random(seed)
        self.rank, self.at, self.ids = rank, 1000, 0
        self.events, self.facts = [], []
        self.address = 0x7f0000000000
        self.seen = set()

    def call(self, name, operation, stack=None, result=0, **args):
        self.ids += 1
        self.at += self.dice.randint(5, 50)
        dur = self.dice.randint(1, 4)
        event = generate.call(name, self.at, dur, self.ids, cat="cuda_driver" if name.startswith("cuM") else "cuda_runtime")
        event["args"].update({"memory": operation, **{"memory " + key: value for key, value in args.items()}})
        if result:
            event["args"]["result"] = result
        if stack:
            event["args"]["stack"] = stack
            if stack not in self.seen:
                event["args"]["frames"] = STACKS[stack]
                self.seen.add(stack)
        self.events.append(event)
        late = operation in ("allocate", "map", "retain")
        self.facts.append({"ts": (self.at + (dur if late else 0)) * 1000, "op": operation, "stack": stack, "name": name,
                           "failed": bool(result), **args})
        self.at += dur

    def allocate(self, reuse=None):
        kind = self.dice.choice(list(CALLS))
        self.address += 1 << 24
        address = reuse or self.address
        self.call(CALLS[kind], "allocate", stack=self.dice.randint(1, 6), kind=kind, address=address,
                  bytes=self.dice.randint(1, 1 << 22), device=self.dice.randint(0, 1), context=self.dice.randint(1, 3))
        return address, kind


def script(seed, rank=0):
    s = Script(seed, rank)
    live, gone, mapped = {}, [], []
    for _ in range(s.dice.randint(40, 160)):
        action = s.dice.random()
        if action < 0.45 or not live:
            address, kind = s.allocate(gone.pop() if gone and s.dice.random() < 0.3 else None)
            live[address] = kind
        elif action < 0.75:
            address = s.dice.choice(list(live))
            s.call("cuMemRelease" if live[address] == "physical" else "cudaFree", "release", address=address, device=0)
            if live.pop(address) != "physical":
                gone.append(address)
        elif action < 0.80:
            s.call("cudaFree", "release", result=1, device=s.dice.randint(0, 1),
                   address=s.dice.choice(gone + [0x1000, *live]))
        elif action < 0.84:
            s.call("cudaMalloc", "allocate", stack=2, result=2, kind="device", bytes=1 << s.dice.choice((40, 63)),
                   device=s.dice.randint(0, 1), context=1)
        elif action < 0.92:
            physical = [a for a, kind in live.items() if kind == "physical"]
            if physical:
                handle = s.dice.choice(physical)
                mapped.append((s.address + (1 << 40), 1 << 20))
                s.address += 1 << 24
                s.call("cuMemMap", "map", address=mapped[-1][0], bytes=1 << 20, handle=handle, device=0)
                if s.dice.random() < 0.2:
                    s.call("cuMemRetainAllocationHandle", "retain", handle=handle, device=0)
        elif action < 0.97 and mapped:
            address, size = mapped.pop(s.dice.randrange(len(mapped)))
            s.call("cuMemUnmap", "unmap", address=address, bytes=size, device=0)
        elif action >= 0.985:
            s.call("cudaDeviceReset", "reset", device=0, context=s.dice.randint(1, 3))
        else:
            s.call("cudaFree", "release", address=0x666000, device=s.dice.randint(0, 1))  # allocated before
    begin = 990
    for n in range(5):
        length = (s.at - begin) // (5 - n)
        s.events.append(generate.range_(f"ProfilerStep#{n}", begin, length))
        begin += length + 1
    return s


def lives(facts):
    """Blocks as [fact, begin, end or None], and what the driver refused or did not know."""
    blocks, at, holders, places, odd = [], {}, {}, {}, []

    def drop(key, ts):
        if key not in at:
            return
        holders[key] -= 1
        if holders[key] == 0:
            at.pop(key)[2] = ts

    freed = set()
    for fact in sorted(facts, key=lambda f: f["ts"]):
        op, ts = fact["op"], fact["ts"]
        key = fact.get("address")
        if fact["failed"]:
            if op == "allocate":
                odd.append(("failed", "host" if fact["kind"] == "pinned" else fact["device"], fact))
            elif op == "release" and key not in at:
                odd.append(("double" if key in freed else "unknown", fact["device"], fact))
        elif op == "allocate":
            if key in at:
                at.pop(key)[2] = ts
            at[key], holders[key] = [fact, ts, None], 1
            freed.add(key)  # known from now on
            blocks.append(at[key])
        elif op == "release":
            if key not in at:
                odd.append(("before", fact["device"], fact))
            drop(key, ts)
        elif op == "map":
            places[key] = fact["handle"]
            if fact["handle"] in at:
                holders[fact["handle"]] += 1
        elif op == "unmap":
            drop(places.pop(key, None), ts)
        elif op == "retain":
            if fact["handle"] in at:
                holders[fact["handle"]] += 1
        elif op == "reset":
            for key in [k for k, b in at.items() if b[0]["context"] == fact["context"] and b[0]["kind"] != "physical"]:
                at.pop(key)[2] = ts
    return blocks, odd


def device_of(fact):
    return "host" if fact["kind"] == "pinned" else fact["device"]


def in_use(blocks, ts):
    return sum(b[0]["bytes"] for b in blocks if b[1] <= ts and (b[2] is None or b[2] > ts))


def label(rank, device):
    return f"rank {rank} host" if device == "host" else f"rank {rank} GPU {device}"


def same_places(rows, blocks, where, whole):
    want = {}
    for fact, _, _ in blocks:
        row = want.setdefault((STACKS[fact["stack"]][0], fact["kind"], fact["name"]), [0, 0])
        row[0] += fact["bytes"]
        row[1] += 1
    got = {(row["Allocated By"], row["Kind"], row["Call"]): [row["Bytes (B)"], row["Blocks"]] for row in rows
           if row["Where"] == where}
    assert {(place.split(" (")[0], kind, call): value for (place, kind, call), value in got.items()} == {
        (place.split(" (")[0], kind, call): value for (place, kind, call), value in want.items()}, (where, got, want)
    sizes = [row["Bytes (B)"] for row in rows if row["Where"] == where]
    assert sizes == sorted(sizes, reverse=True), where
    for row in rows:
        if row["Where"] == where:
            assert abs(row["Share (%)"] - row["Bytes (B)"] * 100 / whole) < 0.1, row


def check_summary(row, mine, odd, moments, origin):
    peak = max([in_use(mine, ts) for ts in moments] or [0])
    assert row["Peak (B)"] == peak, (row, peak)
    if moments:
        first = min(ts for ts in moments if in_use(mine, ts) == peak)
        assert row["Peak At (ns)"] == first - origin, (row, first - origin)
    assert row["At End (B)"] == sum(b[0]["bytes"] for b in mine if b[2] is None), row
    assert row["Allocations"] == len(mine) and row["Allocated (B)"] == sum(b[0]["bytes"] for b in mine), row
    assert row["Never Freed"] == sum(b[2] is None for b in mine), row
    for column, what in (("Failed", "failed"), ("Double Frees", "double"), ("Unknown Frees", "unknown"),
                         ("Allocated Before", "before")):
        assert row[column] == sum(o[0] == what for o in odd), (row, column, odd)
    return peak, first if moments else None


def check(s, tables, rank, origin):
    blocks, odd = lives(s.facts)
    devices = {device_of(b[0]) for b in blocks} | {o[1] for o in odd}
    rows = {row["Where"]: row for row in tables["memory_summary"]}
    for device in devices:
        where = label(rank, device)
        mine = [b for b in blocks if device_of(b[0]) == device]
        moments = sorted({b[1] for b in mine} | {b[2] for b in mine if b[2] is not None})
        peak, at = check_summary(rows.pop(where), mine, [o for o in odd if o[1] == device], moments, origin)
        if at is not None:
            same_places(tables["memory_at_peak"], [b for b in mine if b[1] <= at and (b[2] is None or b[2] > at)], where, peak)
            same_places(tables["memory_never_freed"], [b for b in mine if b[2] is None], where,
                        max(1, sum(b[0]["bytes"] for b in mine if b[2] is None)))
        check_steps(s, [row for row in tables["memory_steps"] if row["Where"] == where], mine, moments)
    assert not [where for where in rows if where.startswith(f"rank {rank} ")], rows
    failed = sorted((row["Time (ns)"], row["Asked For (B)"], row["In Use (B)"]) for row in tables["memory_failed"]
                    if row["Where"].startswith(f"rank {rank} "))
    assert failed == sorted(
        (o[2]["ts"] - origin, o[2]["bytes"], in_use([b for b in blocks if device_of(b[0]) == o[1]], o[2]["ts"]))
        for o in odd if o[0] == "failed"), failed


def check_steps(s, rows, mine, moments):
    steps = {e["name"]: e for e in s.events if e["cat"] == "user_annotation"}
    spans = {name: (e["ts"] * 1000, (e["ts"] + e["dur"]) * 1000) for name, e in steps.items()}
    assert {row["Step"] for row in rows} == {
        name for name, (begin, end) in spans.items()
        if max(in_use(mine, ts) for ts in [begin] + [m for m in moments if begin < m <= end])}, rows
    for row in rows:
        begin = steps[row["Step"]]["ts"] * 1000
        end = begin + steps[row["Step"]]["dur"] * 1000
        assert row["At Begin (B)"] == in_use(mine, begin) and row["At End (B)"] == in_use(mine, end), row
        assert row["Growth (B)"] == in_use(mine, end) - in_use(mine, begin), row
        assert row["Peak (B)"] == max(in_use(mine, ts) for ts in [begin] + [m for m in moments if begin < m <= end]), row


def trace_of(s):
    before = {"distributedInfo": {"rank": s.rank, "world_size": 2}, "baseTimeNanoseconds": generate.BASE}
    return generate.trace(s.events, before=before)


def origin_of(scripts):
    return min(e["ts"] for s in scripts for e in s.events) * 1000


def generated():
    for seed in range(40):
        s = script(seed)
        check(s, cases.tables("memory", cases.write(trace_of(s))), 0, origin_of([s]))


def ranks():
    for seed in range(5):
        where, scripts = cases.folder(), [script(100 + seed * 2 + rank, rank) for rank in (0, 1)]
        for s in scripts:
            cases.write(trace_of(s), f"rank{s.rank}.json", where)
        tables = cases.tables("memory", where)
        for s in scripts:
            check(s, tables, s.rank, origin_of(scripts))


def timeline():
    for seed in range(10):
        s = script(seed)
        rows = cases.tables("memory", "--timeline=7", cases.write(trace_of(s)))["memory_timeline"]
        blocks, _ = lives(s.facts)
        slices = [e for e in s.events if e["ph"] == "X"]
        length = max(e["ts"] + e["dur"] for e in slices) - min(e["ts"] for e in slices)
        for device in {device_of(b[0]) for b in blocks}:
            mine = [b for b in blocks if device_of(b[0]) == device]
            parts = [row for row in rows if row["Where"] == label(0, device)]
            moments = {b[1] for b in mine} | {b[2] for b in mine if b[2] is not None}
            assert len(parts) == 7 and max(row["Peak (B)"] for row in parts) == max(in_use(mine, ts) for ts in moments)
            assert parts[-1]["At End (B)"] == sum(b[0]["bytes"] for b in mine if b[2] is None)
            starts = [row["From (ns)"] for row in parts]
            assert starts == [length * 1000 * i // 7 for i in range(7)], (starts, length)


def blocks_in_segments(seed):
    """Three segments of cudaMalloc, blocks in them that come and go without overlapping, one failure in between."""
    s = Script(seed)
    s.call("cudaMalloc", "allocate", stack=1, kind="device", address=0x10000, bytes=512, device=0, context=1)  # no segment
    segments = [(0x7f0000000000 + i * 0x1000000, s.dice.randint(1, 8) * 4096) for i in range(3)]
    for address, size in segments:
        s.call("cudaMalloc", "allocate", stack=2, kind="device", address=address, bytes=size, device=0, context=1)
    live, log, failures = {}, [], []

    def instant(address, size):
        s.at += s.dice.randint(2, 9)
        total = sum(live.values())
        s.events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 4100, "tid": 4100,
                         "ts": s.at, "args": {"Addr": address, "Bytes": size, "Total Allocated": total,
                                              "Total Reserved": sum(b for _, b in segments), "Device Id": 0, "Device Type": 1}})
        log.append((s.at * 1000, dict(live)))

    for address, size in segments:  # each has a block once
        live[address] = 512
        instant(address, 512)
    for _ in range(s.dice.randint(5, 60)):
        address, size = s.dice.choice(segments)
        start = address + 512 * s.dice.randint(0, size // 512 - 1)
        length = min(512 * s.dice.randint(1, 4), address + size - start)
        if live and s.dice.random() < 0.45:
            gone = s.dice.choice(list(live))
            instant(gone, -live.pop(gone))
            log[-1] = (log[-1][0], dict(live))
        elif all(start + length <= a or a + b <= start for a, b in live.items()):
            live[start] = length
            instant(start, length)
        elif s.dice.random() < 0.2:
            s.call("cudaMalloc", "allocate", stack=3, result=2, kind="device", bytes=1 << 40, device=0, context=1)
            failures.append((s.at * 1000, dict(live)))
    return s, segments, log, failures


def filled(segments, live):
    holes = []
    for address, size in segments:
        inside = sorted((a, b) for a, b in live.items() if address <= a < address + size)
        edges = [address] + [edge for a, b in inside for edge in (a, a + b)] + [address + size]
        holes += [edges[i + 1] - edges[i] for i in range(0, len(edges), 2)]
    reserved, used = sum(b for _, b in segments), sum(live.values())
    free = reserved - used
    return [len(segments), reserved, used, free, max(holes), round(100 - max(holes) * 100 / free, 1) if free else 0.0]


def segments_of_pytorch():
    for seed in range(30):
        s, segments, log, failures = blocks_in_segments(seed)
        rows = cases.tables("memory", cases.write(trace_of(s)))["memory_segments"]
        most = max(sum(live.values()) for _, live in log)
        want = [("peak of blocks", next(live for _, live in log if sum(live.values()) == most))]
        want += [("allocation failed", live) for _, live in failures[:32]] + [("end", log[-1][1])]
        got = [(row["When"], [row[key] for key in ("Segments", "Reserved (B)", "In Blocks (B)", "Free (B)", "Largest Hole (B)",
                                                   "Fragmentation (%)")]) for row in rows]
        assert [when for when, _ in got] == [when for when, _ in want], (got, want)
        for (when, row), (_, live) in zip(got, want):
            mine = filled(segments, live)
            assert row[:5] == mine[:5] and abs(row[5] - mine[5]) < 0.11, (seed, when, row, mine)


def no_size():
    """What failed without a size on record: unknown for a pitch or an array, else nothing was asked for."""
    s, calls = Script(7), ("cudaMallocPitch", "cuMipmappedArrayCreate", "cudaMalloc")
    for name in calls:
        s.call(name, "allocate", result=1, kind="device", device=0, context=1)
    rows = cases.tables("memory", cases.write(trace_of(s)))["memory_failed"]
    assert [(row["Call"], row["Asked For (B)"]) for row in rows] == list(zip(calls, (None, None, 0))), rows


def processes():
    """Two of one rank that held memory of one GPU, without work for it."""
    where = cases.folder()
    for pid in (4100, 4200):
        event = generate.call("cudaMalloc", pid, 1, 1, pid=pid, tid=pid)
        event["args"].update({"memory": "allocate", "memory kind": "device", "memory address": pid, "memory bytes": pid, "memory device": 0})
        cases.write(generate.trace([event], before={"baseTimeNanoseconds": generate.BASE, "metadata": {"pid": pid}}), f"{pid}.json", where)
    rows = cases.tables("memory", where)["memory_summary"]
    assert [(row["Where"], row["Peak (B)"]) for row in rows] == [(f"rank 0 GPU 0 pid {pid}", pid) for pid in (4100, 4200)], rows


def nothing():
    path = cases.write(generate.trace([generate.call("cudaMalloc", 1, 1, 1)]))
    assert "run --memory" in cases.run("memory", path, expect=1)[1]
    path = cases.write(generate.trace([generate.call("cudaFree", 1, 1, 1)], before={"metadata": {"options": "quiet=yes memory=yes"}}))
    said = cases.run("memory", path, expect=1)[1]
    assert "allocated nothing" in said and "run --memory" not in said, said


def counter(ts, value):
    return {"ph": "C", "cat": "gputrace", "name": "GPU 0 memory", "pid": 0, "tid": 0, "ts": ts, "args": {"allocated": value}}


def calls_that_are_missing():
    """--keep has removed the oldest calls, of GPU 0 some or all: its counter is in the files that are there."""
    counters = [counter(10, 3000), counter(20, 9000), counter(30, 7000)]
    segment = {"segment": {"number": 3, "files_removed": 2, "calls_removed": 5440}}
    s = Script(7)
    s.call("cudaMalloc", "allocate", stack=1, kind="device", address=0x10000, bytes=512, device=0, context=1)
    for events, peak, end, shown in ((counters, None, None, "- "), (counters + s.events, 512, 512, "512 B")):
        path = cases.write(generate.trace(events, before={"distributedInfo": {"rank": 0}, **segment}))
        row = cases.tables("memory", path)["memory_summary"][0]
        assert [row[key] for key in ("Where", "Peak (B)", "At End (B)", "Counter Peak (B)", "Counter At End (B)",
                                     "Calls Not In Files")] == ["rank 0 GPU 0", peak, end, 9000, 7000, 5440], row
        text = cases.run("memory", path)[0]
        assert "rank 0 GPU 0: 5440 calls (removed by --keep) are not in the files" in text and "lower bounds" in text, text
        assert "9.000 kB at its peak, 7.000 kB at the end" in text and shown in text, text
    for calls, shown in ((0, [9000, 7000]), (1, [None, None])):  # what is back from the spool the counter does not tell
        repaired = {"repaired": {"events": 4, "cut_bytes": 0, "recovered_calls": calls, "recovered_operations": 0, "in_flight": 0}}
        path = cases.write(generate.trace(counters + s.events, before=repaired))
        row = cases.tables("memory", path)["memory_summary"][0]
        assert [row[key] for key in ("Peak (B)", "Counter Peak (B)", "Counter At End (B)")] == [512, *shown], row
    path = cases.write(generate.trace([generate.call("cudaMalloc", 1, 1, 1)], before=segment))
    said = cases.run("memory", path, expect=1)[1]
    assert "lack 5440 calls" in said and "run --memory" not in said, said


cases.main([generated, ranks, timeline, segments_of_pytorch, no_size, processes, nothing, calls_that_are_missing])
