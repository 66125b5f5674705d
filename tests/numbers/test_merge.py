#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`merge` brings the ranks of a job to one clock, wherever their headers stand."""

import gzip
import json
import os
import random
import zipfile

import cases
import generate
import reference

SECOND = 1_000_000_000


def header(rank, base):
    return {
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "baseTimeNanoseconds": base,
        "deviceProperties": [{"id": 0, "name": f"GPU of {rank}"}],
    }


def split(members, chooser):
    """The members of a header, some before and some behind the events."""
    before = {key for key in members if chooser.random() < 0.5}
    return (
        {key: members[key] for key in members if key in before},
        {key: members[key] for key in members if key not in before},
    )


def merged(paths):
    """The merged trace, and what was said."""
    out, said = cases.run("merge", *paths)
    return json.loads(out), said


def starts(trace):
    """When the operations of a trace began: ns since 1970 -> how often."""
    base = int(trace.get("baseTimeNanoseconds", 0))
    found = {}
    for event in trace["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in reference.KINDS:
            at = base + reference.ns(event["ts"])
            found[at] = found.get(at, 0) + 1
    return found


def labels(trace):
    return {
        event["args"]["rank"]
        for event in trace["traceEvents"]
        if event["name"] == "process_labels" and "rank" in (event.get("args") or {})
    }


def compare(paths, ranks):
    whole, said = merged(paths)
    want = {}
    for path in paths:
        for at, count in starts(reference.load(path)).items():
            want[at] = want.get(at, 0) + count
    assert starts(whole) == want, "the operations are not where they were"
    assert labels(whole) == ranks, labels(whole)
    assert "not aligned" not in said, said
    return whole


def members_behind_the_events():
    """A second apart before, a second apart behind; both ranks keep their numbers."""
    paths = [
        cases.write(
            generate.trace(generate.launches(4), behind=header(rank, generate.BASE + rank * SECOND))
        )
        for rank in (0, 1)
    ]
    whole = compare(paths, {0, 1})
    assert whole["baseTimeNanoseconds"] == generate.BASE, whole.get("baseTimeNanoseconds")
    assert [device["name"] for device in whole["deviceProperties"]] == ["GPU of 0", "GPU of 1"]


def names_in_gz():
    """Packed as the name says, or refused; symbolize writes through the same file."""
    path = cases.write(generate.trace(generate.launches(3), header(0, generate.BASE), {}))
    plain, packed = (os.path.join(cases.folder(), name) for name in ("all.json", "all.json.gz"))
    for words in (["merge"], ["symbolize"]):
        for out in (plain, packed):
            if os.path.exists(out):
                os.remove(out)
            cases.run(*words, f"--output={out}", path)
        with open(plain, "rb") as one, gzip.open(packed) as two:
            assert one.read() == two.read(), words
    for name in ("all.pftrace.gz", "all.zip.gz"):
        out = os.path.join(cases.folder(), name)
        said = cases.run("merge", f"--output={out}", path, expect=2)[1]
        assert "only JSON is packed as it is merged" in said and not os.path.exists(out), said


def members_anywhere():
    chooser = random.Random(3)
    for _ in range(20):
        paths = []
        for rank in (0, 1, 2):
            before, behind = split(
                header(rank, generate.BASE + chooser.randrange(-SECOND, SECOND) * 1000), chooser
            )
            paths.append(
                cases.write(
                    generate.trace(generate.launches(3), before, behind),
                    chooser.choice(("a.json", "a.json.gz")),
                )
            )
        compare(paths, {0, 1, 2})


def no_base_is_said():
    """Only a file that has none anywhere is reported as not aligned."""
    with_base = cases.write(generate.trace(generate.launches(2), behind=header(0, generate.BASE)))
    without = cases.write(
        generate.trace(generate.launches(2), behind={"distributedInfo": {"rank": 1}})
    )
    said = merged([with_base, without])[1]
    assert "1 file without baseTimeNanoseconds, not aligned" in said, said


def quoted_processes_stay_apart():
    """Numbers in quotes are numbers: two ranks of one pid get two rows."""
    paths = []
    for rank in (0, 1):
        events = [
            dict(event, pid=str(event["pid"]), tid=str(event["tid"]))
            for event in generate.launches(2)
        ]
        paths.append(cases.write(generate.trace(events, header(rank, generate.BASE))))
    whole = compare(paths, {0, 1})
    hosts = {event["pid"] for event in whole["traceEvents"] if event.get("cat") == "cuda_runtime"}
    devices = {event["pid"] for event in whole["traceEvents"] if event.get("cat") == "kernel"}
    assert len(hosts) == 2 and len(devices) == 2, (hosts, devices)


def public_traces():
    """Each public trace alone, and pairs of them."""
    paths = cases.public()
    for path in paths:
        base = reference.load(path).get("baseTimeNanoseconds")
        assert merged([path])[0].get("baseTimeNanoseconds") == base, path
    ranks = [path for path in paths if "two_ranks" in path]
    compare(ranks, {0, 1})


# ---- a window of time ----

FOREVER = 1 << 60  # ns


def flow(ph, pid, ts, number):
    return {"ph": ph, "cat": "ac2g", "name": "ac2g", "id": number, "pid": pid, "tid": 7 if ph == "f" else pid,
            "ts": ts, "bp": "e"}


def edged(rank, chooser):
    """A trace with something over each edge: slices of both forms, arrows, counters, frames that stand once."""
    pid, events = 4100 + rank, []
    for at in range(0, 4000, 50):
        number, ts = at // 50 + 1, 1000 + at + rank
        stack = number % 7 + 1
        frames = {} if number > 7 else {"frames": [f"f{stack} (x)"], "modules": {f"/lib/{stack}.so": "ab"}}
        call = generate.call("cudaLaunchKernel", ts, 5 + chooser.randrange(100), number, pid=pid, tid=pid)
        call["args"].update(stack=stack, **frames)
        begin = ts + 10 + chooser.randrange(700)
        work = generate.kernel("gemm", begin, 40 + chooser.randrange(60), number)
        events += [call, work, flow("s", pid, ts, number), flow("f", 0, begin, number)]
        events.append({"ph": "C", "name": f"memory {number % 3}", "pid": pid, "tid": 0, "ts": ts + 1,
                       "args": {"bytes": number}})
        events.append({"ph": "i", "s": "t", "cat": "user_annotation", "name": "mark", "pid": pid, "tid": pid,
                       "ts": ts + 2, "args": {}})
    for depth, (start, end) in enumerate(((1000, 5000), (1100, 2400), (2500, 3000), (3100, 5100))):
        row = {"pid": pid, "tid": 99 + (depth > 0), "cat": "user_annotation", "name": f"open {depth}"}
        events += [{"ph": "B", "ts": start, "args": {}, **row}, {"ph": "E", "ts": end, **row}]
    events.append({"ph": "B", "ts": 1500, "pid": pid, "tid": 98, "cat": "user_annotation", "name": "never ends"})
    events.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": pid, "ts": 0, "args": {"name": "main"}})
    behind = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": generate.BASE + rank * 7000}
    return generate.trace(events, behind)


def spans(trace):
    """Every slice: its name, begin and end since 1970; open ones end never."""
    found, opened = [], {}
    base = int(trace["baseTimeNanoseconds"])
    for event in sorted((e for e in trace["traceEvents"] if "ts" in e), key=lambda e: float(e["ts"])):
        at, row = base + reference.ns(event["ts"]), (event["pid"], event["tid"])
        if event["ph"] == "X":
            found.append((event["name"], at, at + reference.ns(event["dur"])))
        elif event["ph"] == "B":
            opened.setdefault(row, []).append((event["name"], at))
        elif event["ph"] == "E":
            found.append((*opened[row].pop(), at))
    return found + [(name, at, at + FOREVER) for rest in opened.values() for name, at in rest]


def values(trace, at):
    """What each counter shows at a moment."""
    base, shown = int(trace["baseTimeNanoseconds"]), {}
    for event in sorted((e for e in trace["traceEvents"] if e["ph"] == "C"), key=lambda e: float(e["ts"])):
        if base + reference.ns(event["ts"]) <= at:
            shown[event["pid"], event["name"]] = event["args"]["bytes"]
    return shown


def check_arrows(trace, traces, start, end):
    """No arrow lacks an end, and none is missing whose call and work are there."""
    def ends(ph):
        return {event["id"] for event in trace["traceEvents"] if event["ph"] == ph}

    assert ends("s") == ends("f"), ends("s") ^ ends("f")
    want = 0
    for each in traces:
        kept = {}
        for name, begin, stop, number in numbered(each):
            if begin <= end and stop >= start:
                kept.setdefault(number, set()).add(name)
        want += sum(len(names) == 2 for names in kept.values())
    assert len(ends("s")) == want, (len(ends("s")), want)


def numbered(trace):
    base = int(trace["baseTimeNanoseconds"])
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            at = base + reference.ns(event["ts"])
            yield event["name"], at, at + reference.ns(event["dur"]), event["args"]["correlation"]


def check_frames(trace):
    """Each stack of a process has its frames, on the first slice that has it, and its module."""
    known, modules = set(), set()
    for event in trace["traceEvents"]:
        args = event.get("args") or {}
        if "stack" in args:
            key = args["stack"]
            assert ("frames" in args) == (key not in known), (event, known)
            known.add(key)
            modules |= set(args.get("modules") or ())
    assert known and {f"/lib/{(stack - 1) % 7 + 1}.so" for stack in known} <= modules, (known, modules)


def window_of(paths, start, end, *options):
    """The merged window, counted from the job's first slice."""
    out, said = cases.run("merge", f"--time={start / 1e6:.6f}..{end / 1e6:.6f}", *options, *paths)
    return json.loads(out) if out else None, said


def windows_of_time():
    """Slices that reach into it, values before it, arrows with both ends; names and frames stay."""
    chooser = random.Random(5)
    for _ in range(12):
        traces = [edged(rank, chooser) for rank in (0, 1)]
        paths = [cases.write(trace) for trace in traces]
        first = min(begin for trace in traces for _, begin, _ in spans(trace))
        start = chooser.randrange(0, 3000) * 1000
        length = chooser.randrange(1, 1500) * 1000
        part, _ = window_of(paths, start, start + length)
        start, end = first + start, first + start + length
        want = sorted(span for trace in traces for span in spans(trace) if span[1] <= end and span[2] >= start)
        assert sorted(spans(part)) == want, (len(spans(part)), len(want))
        check_arrows(part, traces, start, end)
        check_frames(part)
        whole = merged(paths)[0]
        for at in (start, (start + end) // 2, end):
            assert values(part, at) == values(whole, at), at
        base = int(part["baseTimeNanoseconds"])
        marks = [base + reference.ns(e["ts"]) for e in part["traceEvents"] if e["ph"] == "i"]
        assert marks and all(start <= at <= end for at in marks)
        assert sum(e["name"] == "thread_name" for e in part["traceEvents"]) == 2


def windows_of_public_traces():
    """No arrow lacks an end, whatever the form of the trace."""
    for path in cases.public():
        trace = reference.load(path)
        if "baseTimeNanoseconds" not in trace:
            continue
        part, _ = window_of([path], 2_000_000, 9_000_000)  # 2 to 9 ms
        ends = {}
        for event in part["traceEvents"]:
            if event["ph"] in "sf":
                ends.setdefault((event.get("cat"), event["id"]), set()).add(event["ph"])
        whole = {}
        for event in trace["traceEvents"]:
            if event["ph"] in ("s", "f"):
                whole.setdefault((event.get("cat"), event["id"]), set()).add(event["ph"])
        loose = [key for key, both in ends.items() if both != whole[key]]
        assert not loose, (path, loose[:3])
        count = len(part["traceEvents"])
        assert count <= len(trace["traceEvents"]) + 40, (path, count)


def windows_of_both_forms():
    """The same in JSON, as .pftrace and of a .pftrace; nothing that verify finds; a line of a wrong one."""
    source = os.path.join(cases.ROOT, "tests", "golden", "traces-of-0.1", "closed.pftrace")
    where, tables = cases.folder(), []
    plain = os.path.join(where, "plain.json")
    cases.run("convert", source, plain)
    for number, (path, form) in enumerate(((source, "json"), (source, "pftrace"), (plain, "json"), (plain, "pftrace"))):
        out = os.path.join(where, f"{number}.{form}")
        cases.run("merge", "--time=20..60", f"--output={out}", path)
        cases.run("verify", out)
        reports = "cuda_api_sum,cuda_gpu_kern_sum,cuda_gpu_mem_time_sum,nvtx_sum"
        tables.append((cases.tables("stats", f"--report={reports}", out), cases.tables("stats", "--by=stack", out)))
    assert all(each == tables[0] for each in tables), tables
    assert "ends before it starts" in cases.run("merge", "--time=2..1", source, expect=2)[1]
    assert "nothing is in this window" in cases.run("merge", "--time=50s..60s", source)[1]


def windows_of_zips():
    """Nothing is rewritten: of the traces those with something in the window."""
    paths = [cases.write(generate.trace(generate.launches(4, first=1000 + rank * 10000), header(rank, generate.BASE)),
                         f"r{rank}.json") for rank in (0, 1)]
    out = os.path.join(cases.folder(), "all.zip")
    said = cases.run("merge", "--time=9..11", f"--output={out}", *paths)[1]
    assert "1 of 2 traces have something in the window; they are in the zip whole" in said, said
    with zipfile.ZipFile(out) as archive:
        (name,) = [name for name in archive.namelist() if "manifest" not in name]
        with open(paths[1], "rb") as file:
            assert archive.read(name) == file.read()
    none = os.path.join(cases.folder(), "none.zip")
    said = cases.run("merge", "--time=50s..60s", f"--output={none}", *paths, expect=1)[1]
    assert "no trace has anything in this window" in said, said


cases.main(
    [
        members_behind_the_events,
        members_anywhere,
        names_in_gz,
        no_base_is_said,
        quoted_processes_stay_apart,
        public_traces,
        windows_of_time,
        windows_of_public_traces,
        windows_of_both_forms,
        windows_of_zips,
    ]
)
