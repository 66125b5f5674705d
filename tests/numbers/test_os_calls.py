#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`gputrace stats --report=osrt_sum` against a second computation, over random calls of several threads and ranks."""

import collections
import random
import statistics

import cases
import generate

US = 1000
STACKS = {number: [f"read (/usr/lib/libc.so.6+0x{number:x})", f"place_{number % 4} (/src/app.py:{number % 4})"] for number in range(1, 9)}


def random_calls(rng, count):
    """Tuples of name, start, duration, bytes (None: no number), failed, stack, in us."""
    at = collections.Counter()
    for _ in range(count):
        thread = rng.choice((4100, 4107, 4108))
        start, dur = at[thread] + rng.randint(1, 400), rng.randint(1, 10**rng.randint(1, 6))
        at[thread] = start + dur
        name = rng.choice(("read", "write", "poll", "pthread_mutex_lock"))
        failed = rng.random() < 0.2
        size = rng.randint(0, 1 << 24) if name in ("read", "write") and not failed else None
        yield thread, name, start, dur, size, failed, rng.choice((None, *STACKS))


def trace_of(calls, ops):
    """A stack has its frames where it is used first."""
    events, seen = [], set()
    for thread, name, start, dur, size, failed, stack in calls:
        args = {"result": -1, "errno": 4} if failed else {"result": 0} if size is None else {"bytes": size}
        if stack:
            args |= {"stack": stack} | ({} if stack in seen else {"frames": STACKS[stack]})
            seen.add(stack)
        events.append(generate.os_call(name, start, dur, tid=thread, **args))
    return generate.trace(events + ops)


def want_of(calls):
    """Name -> the numbers of its row."""
    rows = {}
    for name in {call[1] for call in calls}:
        mine = [call for call in calls if call[1] == name]
        durations = [call[3] * US for call in mine]
        sizes = [call[4] for call in mine if call[4] is not None]
        sites = collections.Counter()
        for call in mine:
            sites[f"place_{call[6] % 4} (/src/app.py:{call[6] % 4})" if call[6] else ""] += call[3] * US
        rows[name] = {
            "Total Time (ns)": sum(durations), "Num Calls": len(mine), "Min (ns)": min(durations), "Max (ns)": max(durations),
            "Avg (ns)": round(statistics.fmean(durations), 1), "Med (ns)": statistics.median(durations),
            "Total (MB)": sum(sizes) / 1e6 if sizes else None, "Failed": sum(call[5] for call in mine),
            "sites": sites}
    return rows


def check(rows, want):
    assert {row["Name"] for row in rows} == set(want), (rows, want)
    for row in rows:
        wanted = dict(want[row["Name"]])
        sites = wanted.pop("sites")
        for column, value in wanted.items():
            if value is None:
                assert row[column] is None, (row, column)
            else:
                cases.close(row[column], value, column, 1e-6)
        best = max(sites.values())
        assert sites[row["Top Call Site"] or ""] == best, (row, sites)
        assert row["Top Call Site (ns)"] == (best if row["Top Call Site"] else None), (row, sites)
    assert [row["Total Time (ns)"] for row in rows] == sorted((row["Total Time (ns)"] for row in rows), reverse=True)


def sums():
    for seed in range(30):
        rng = random.Random(seed)
        calls = list(random_calls(rng, rng.randint(1, 200)))
        path = cases.write(trace_of(calls, generate.launches(3)))
        check(cases.table("stats", "--report=osrt_sum", path), want_of(calls))


def of_all_ranks():
    """Equal names and places of several processes are one row."""
    where, calls = cases.folder(), []
    for rank in range(3):
        mine = list(random_calls(random.Random(100 + rank), 50))
        calls += mine
        cases.write(trace_of(mine, generate.launches(3)), f"rank{rank}.json", where)
    check(cases.table("stats", "--report=osrt_sum", where), want_of(calls))


def of_a_window():
    """A call belongs to the time in which it began."""
    calls = list(random_calls(random.Random(7), 300))
    path = cases.write(trace_of(calls, []))
    first = min(call[2] for call in calls)
    middle = sorted(call[2] for call in calls)[150]
    some = [call for call in calls if call[2] <= middle]
    rows = cases.table("stats", "--report=osrt_sum", f"--filter=time=0us..{middle - first}us", path)
    check(rows, want_of(some))


def sizes_that_lie():
    """A number of bytes that no call can have moved counts as none."""
    events = [generate.os_call("read", 10, 5, bytes=size) for size in (-3, 1 << 62, "many", 7)]
    (row,) = cases.table("stats", "--report=osrt_sum", cases.write(generate.trace(events + generate.launches(1))))
    assert row["Num Calls"] == 4 and row["Total (MB)"] == 7e-6, row


def names_that_lie():
    """A line break in a name is none between it and the place."""
    events = [generate.os_call("re\nad", 10, 5, stack=1, frames=["place (/src/app.py:1)"])]
    (row,) = cases.table("stats", "--report=osrt_sum", cases.write(generate.trace(events + generate.launches(1))))
    assert (row["Name"], row["Top Call Site"]) in (("re\nad", "place (/src/app.py:1)"), ("re?ad", "place (/src/app.py:1)")), row


cases.main([sums, of_all_ranks, of_a_window, sizes_that_lie, names_that_lie])
