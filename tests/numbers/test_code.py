#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stats --by=line|function|module` of traces whose stacks are Python ranges."""

import random

import cases
import generate
import reference

SOFTMAX = "<built-in method softmax of Tensor object at 0x%x>"


def compare(path):
    """All rows of all three tables."""
    trace = reference.Trace(path)
    rows = 0
    for by in ("line", "function", "module"):
        want = reference.by_code(trace, by)
        got = cases.table("stats", "--by=" + by, "--frame=innermost", "--top=0", path)
        assert {row["Name"] for row in got} == set(want), {row["Name"] for row in got} ^ set(want)
        for row in got:
            total, inside, count = want[row["Name"]]
            assert (row["Total Time (ns)"], row["Inside Time (ns)"], row["Instances"]) == (
                total,
                inside,
                count,
            ), row
        rows += len(got)
    return rows


def nested(address=0x7CE2):
    """main calls forward, which calls softmax and, recursively, itself."""
    return generate.trace(
        [
            generate.function("train.py(3): main", 0, 10000),
            generate.function("net.py(10): forward", 100, 5000),
            generate.function(SOFTMAX % address, 200, 300),
            generate.function("net.py(10): forward", 1000, 2000),
            generate.function(SOFTMAX % (address + 16), 1100, 300),
            generate.function("<built-in function copy>", 7000, 50, tid=5),
            generate.call("cudaLaunchKernel", 210, 5, 1),
            generate.kernel("softmax", 220, 100, 1),
            generate.call("cudaLaunchKernel", 1110, 5, 2),
            generate.kernel("softmax", 1120, 200, 2),
            generate.call("cudaLaunchKernel", 6000, 5, 3),
            generate.kernel("sum", 6010, 50, 3),
            generate.call("cudaLaunchKernel", 7001, 5, 4, tid=5),
            generate.kernel("copy", 7010, 7, 4),
            generate.call("cudaLaunchKernel", 20000, 5, 5),
            generate.kernel("late", 20010, 9, 5),
        ]
    )


def inside_counts_all_functions_around():
    path = cases.write(nested())
    compare(path)
    rows = {row["Name"]: row for row in cases.table("stats", "--by=function", path)}
    assert rows["forward"]["Inside Time (ns)"] == 300_000, rows
    assert rows["main"]["Inside Time (ns)"] == 350_000, rows
    lines = {row["Name"]: row for row in cases.table("stats", "--by=line", path)}
    assert lines["net.py:10"]["Total Time (ns)"] == 300_000, lines


def addresses_are_no_names():
    """Two runs of one program have the same rows."""
    where = [cases.write(nested(address)) for address in (0x7CE2, 0x55AA0)]
    for by in ("line", "function", "module", "stack"):
        first, second = (
            [row["Name"] for row in cases.table("stats", "--by=" + by, path)] for path in where
        )
        assert first == second and not any("0x" in name for name in first), (by, first, second)
    assert cases.run("stacks", where[0])[0] == cases.run("stacks", where[1])[0]


def functions(chooser, events, start, end, depth):
    """Functions that nest at random; on each level some launch."""
    at = start
    while at < end - 50:
        length = chooser.randrange(20, max(21, (end - at) // 2 + 1))
        name = chooser.choice(
            [
                "a.py(%d): f" % chooser.randrange(1, 4),
                "b.py(7): g",
                "<built-in function h>",
                SOFTMAX % chooser.randrange(1 << 40),
                "nn.Module: Linear_0",
            ]
        )
        events.append(generate.function(name, at, length))
        if depth:
            functions(chooser, events, at + 1, at + length - 1, depth - 1)
        at += length + chooser.randrange(1, 40)


def random_nests():
    chooser = random.Random(9)
    for _ in range(8):
        events = []
        functions(chooser, events, 0, 20000, 5)
        for i in range(300):
            at = chooser.randrange(20000)
            events += [
                generate.call("cudaLaunchKernel", at, 0, i + 1),
                generate.kernel(f"k{i % 7}", 30000 + i * 50, chooser.randrange(1, 40), i + 1),
            ]
        chooser.shuffle(events)
        assert compare(cases.write(generate.trace(events))) > 10


def public_traces():
    for path in cases.public():
        trace = reference.Trace(path)
        rows = cases.table("stats", "--by=line", "--top=0", path)
        assert sum(row["Total Time (ns)"] for row in rows) == sum(op.dur for op in trace.ops), path


cases.main(
    [inside_counts_all_functions_around, addresses_are_no_names, random_nests, public_traces]
)
