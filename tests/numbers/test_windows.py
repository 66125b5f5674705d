#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Idle time before the first and after the last operation, of the trace or of what
--filter leaves."""

import random
import re

import cases
import generate
import reference

HOST = ("cpu_op", "user_annotation", "python_function", "overhead", "Operator") + reference.CALLS


def extent(trace):
    """From the first to the last slice, host and devices."""
    slices = [
        (reference.ns(e["ts"]), reference.ns(e["ts"]) + max(reference.ns(e.get("dur", 0)), 0))
        for e in trace.whole["traceEvents"]
        if e.get("ph") == "X" and (e.get("cat") in HOST or e.get("cat") in reference.KINDS)
    ]
    return min(s for s, _ in slices), max(e for _, e in slices)


def idle(spans, start, end):
    """What no span covers between two times."""
    total = 0
    for a, b in sorted(spans):
        if a > start:
            total += max(min(a, end) - start, 0)
        start = max(start, b)
    return total + max(end - start, 0)


def busy(spans):
    return (
        sum(b - a for a, b in spans)
        if not spans
        else max(b for _, b in spans)
        - min(a for a, _ in spans)
        - idle(spans, min(a for a, _ in spans), max(b for _, b in spans))
    )


def compare(path, window=None):
    """All devices of a trace; window: (from, to) in ns behind its first slice."""
    trace = reference.Trace(path)
    first, last = extent(trace)
    start, end = (first + window[0], first + window[1]) if window else (first, last)
    options = ["--filter=time=%dns..%dns" % window] if window else []
    devices = {}
    for op in trace.ops:
        devices.setdefault(int(op.args.get("device", op.pid)), []).append(op)
    tables = cases.tables("gaps", "--top=0", *options, path)
    rows = {int(re.search(r"GPU (\d+)", row["Device"])[1]): row for row in tables["gpu_windows"]}
    assert set(rows) == set(devices), (set(rows), set(devices))
    edges = [0, 0]
    inside = {
        int(re.search(r"GPU (\d+)", row["Device"])[1]): row["Idle (ns)"]
        for row in tables["gpu_devices"]
    }
    for device, ops in devices.items():
        chosen = [(op.start, op.end) for op in ops if start <= op.start <= end]
        spans = [(op.start, op.end) for op in ops]
        if not chosen:
            continue
        one, other = min(a for a, _ in chosen), max(b for _, b in chosen)
        low, high = min(max(start, first), one), max(min(end, last), other)
        want = [idle(spans, low, one), idle(spans, other, high), high - low]
        row = rows[device]
        got = [row["Before First (ns)"], row["After Last (ns)"], row["Window (ns)"]]
        assert got == want, (path, device, window, got, want)
        assert abs(row["Busy (%)"] - busy(chosen) * 100 / (high - low)) <= 0.051, row
        assert (
            abs(row["Idle (%)"] - (want[0] + want[1] + inside[device]) * 100 / (high - low))
            <= 0.051
        ), row
        edges = [edges[0] + want[0], edges[1] + want[1]]
    causes = {row["Cause"]: row for row in tables["gpu_idle_causes"]}
    for cause, total in zip(("before first", "after last"), edges):
        assert causes.get(cause, {"Idle Time (ns)": 0})["Idle Time (ns)"] == total, (cause, total)
        assert total == 0 or causes[cause].get("Wall (%)") is None, causes[cause]


def the_whole_trace():
    """A second of set-up before the first kernel, half a second behind the last."""
    events = [generate.range_("setup", 0, 1_000_000)] + generate.launches(5, first=1_000_000)
    events.append(generate.range_("save", 1_000_500, 500_000))
    path = cases.write(generate.trace(events))
    compare(path)
    out = cases.run("stats", path)[0]
    assert re.search(
        r"busy 110\.000 us of 424\.000 us \(25\.9 %\), 0\.0 % of the window of 1\.50\d s,", out
    ), out
    events = [generate.kernel("k", 0, 10, 1), generate.kernel("k", 90, 10, 2)]
    out = cases.run("stats", cases.write(generate.trace(events)))[0]
    assert "window" not in out, out


def random_windows():
    chooser = random.Random(4)
    for _ in range(15):
        events = [generate.range_("all", 0, 5000)]
        for i in range(60):
            at = chooser.randrange(4000)
            events.append(generate.kernel("k", at, chooser.randrange(60), i + 1))
            events[-1]["args"]["device"] = chooser.randrange(2)
        path = cases.write(generate.trace(events))
        compare(path)
        for _ in range(3):
            low = chooser.randrange(4500)
            compare(path, (low * 1000, (low + chooser.randrange(1, 2000)) * 1000))


def steps():
    """With --filter=step the window is that of the steps."""
    events = []
    for i in range(4):
        events += [generate.range_(f"ProfilerStep#{i}", i * 1000, 900)]
        events += generate.launches(2, step=100, first=i * 1000 + 200, ids=1 + 2 * i)
    path = cases.write(generate.trace(events))
    (row,) = cases.tables("gaps", "--filter=step=ProfilerStep#2", path)["gpu_windows"]
    assert row["Window (ns)"] == 900_000, row
    assert row["Before First (ns)"] == 210_000 and row["After Last (ns)"] == 900_000 - 331_000, row


def work_launched_before_the_trace():
    """Its call is not in the trace, and it is of no step, in whichever it ran."""
    events = [generate.kernel("older", 100, 50, 3), generate.kernel("lost", 1160, 50, 12)]
    for i in range(2):
        events += [generate.range_(f"ProfilerStep#{i}", i * 1000, 900)]
        events += generate.launches(2, step=100, first=i * 1000 + 200, ids=10 + 3 * i)
    path = cases.write(generate.trace(events))
    (rows,) = cases.tables("stats", "--by=step", path).values()
    counts = {row["Name"]: row["Instances"] for row in rows}
    assert counts == {"ProfilerStep#0": 2, "ProfilerStep#1": 3, "(no step)": 1}, counts
    rows = cases.tables("stats", "--report=gpu_step_use", path)["gpu_step_use"]
    assert {row["Name"]: row["Operations"] for row in rows} == counts, rows


def gaps_are_counted_not_their_pieces():
    """The host comes back to a place within one gap."""
    events = [
        generate.call("cudaLaunchKernel", 0, 5, 1),
        generate.kernel("k", 10, 10, 1),
        generate.range_("work", 30, 900),
        generate.range_("inner", 100, 50),
        generate.range_("inner", 300, 70),
        generate.call("cudaLaunchKernel", 950, 5, 2),
        generate.kernel("k", 960, 10, 2),
    ]
    path = cases.write(generate.trace(events))
    rows = {row["Where"]: row for row in cases.tables("gaps", path)["gpu_idle_causes"]}
    for name, idle_us in (("work", 780), ("inner", 120)):
        (row,) = (row for where, row in rows.items() if where.endswith(": " + name))
        assert row["Gaps"] == 1 and row["Idle Time (ns)"] == idle_us * 1000, row
        assert row["Avg (ns)"] == row["Max (ns)"] == idle_us * 1000, row


def sample(number, ts, *frames):
    return {
        "ph": "i",
        "s": "t",
        "cat": "cpu_sample",
        "name": frames[0],
        "pid": 4100,
        "tid": 33554432 + 4100,
        "ts": ts,
        "args": {"state": "running", "stack": number, "frames": list(frames)},
    }


def sampled(*samples):
    """A gap of 1 ms between two launches, with samples in it: rows by place."""
    events = [
        generate.call("cudaLaunchKernel", 0, 5, 1),
        generate.kernel("k", 10, 10, 1),
        *samples,
        generate.call("cudaLaunchKernel", 1020, 5, 2),
        generate.kernel("k", 1030, 10, 2),
    ]
    rows = cases.tables("gaps", cases.write(generate.trace(events)))["gpu_idle_causes"]
    return {re.search("[^ ]* \\(.*", row["Where"])[0]: row for row in rows if row["Samples"]}


def late_samples_stand_for_more():
    """The sampler had no processor while the host computed: one sample of 800 us."""
    read, decode = "read (/src/a.py:1)", "decode (/src/a.py:2)"
    rows = sampled(*(sample(1, at, read) for at in range(30, 230, 20)), sample(2, 630, decode))
    # half of the way from the last read (210) to 630
    assert rows[read]["Idle Time (ns)"] == (420 - 20) * 1000, rows
    assert rows[decode]["Idle Time (ns)"] == (1020 - 420) * 1000, rows


def what_gputrace_adds_is_no_cause():
    ours = "watch.<locals>.on_event (/opt/gputrace/share/python/_gputrace/functions.py:109)"
    rows = sampled(sample(1, 500, ours, "step (/src/a.py:7)"))
    assert list(rows) == ["step (/src/a.py:7)"], rows


def public_traces():
    for path in cases.public():
        compare(path)
        compare(path, (1_000_000, 40_000_000))


cases.main(
    [the_whole_trace, random_windows, steps, work_launched_before_the_trace, gaps_are_counted_not_their_pieces,
     late_samples_stand_for_more, what_gputrace_adds_is_no_cause, public_traces]
)
