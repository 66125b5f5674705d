#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes of copies and sets: what a trace does not tell is in no sum, and the table
says of how many there are."""

import os
import random
import sqlite3
import statistics

import cases
import generate
import reference


def compare(path):
    trace = reference.Trace(path)
    want = reference.sizes(trace)
    got = {
        row["Operation"]: row
        for row in cases.table("stats", "--report=cuda_gpu_mem_size_sum", "--top=0", path)
    }
    assert set(got) == set(want), set(got) ^ set(want)
    lacking = any(len(told) < count for told, count in want.values())
    for name, (told, count) in want.items():
        row = got[name]
        assert row["Count"] == len(told) and row.get("Operations") == (
            count if lacking else None
        ), (row, count)
        if not told:
            assert row.get("Total (MB)") is None and row.get("Avg (MB)") is None, row
            continue
        for title, value in (
            ("Total", sum(told)),
            ("Avg", statistics.mean(told)),
            ("Med", statistics.median(told)),
            ("Min", min(told)),
            ("Max", max(told)),
            ("StdDev", reference.spread(told)),
        ):
            cases.close(row[title + " (MB)"], value / 1e6, (name, title), 1e-6)
    export(path, trace)
    return lacking


def export(path, trace):
    target = os.path.join(cases.folder(), "t.sqlite")
    cases.run("export", "--sqlite=" + target, path)
    with sqlite3.connect(target) as db:
        for table, kind in (("MEMCPY", "copy"), ("MEMSET", "set")):
            got = sorted(
                db.execute(f"SELECT start, bytes FROM CUPTI_ACTIVITY_KIND_{table}"), key=str
            )
            want = sorted(
                (
                    (op.start, int(op.args["bytes"]) if "bytes" in op.args else None)
                    for op in trace.ops
                    if op.kind == kind
                ),
                key=str,
            )
            assert got == want, (table, got[:3], want[:3])


def some_without_a_size():
    """366 of 550 copies tell their size: the mean is of these."""
    chooser = random.Random(1)
    events = []
    for i in range(550):
        size = {"bytes": chooser.randrange(400_000)} if i < 366 else {}
        events += [
            generate.call("cudaMemcpyAsync", i * 50, 5, i + 1),
            generate.copy(i * 50 + 10, 9, i + 1, **size),
        ]
    for i in range(20):
        events.append(generate.copy(90000 + i * 50, 9, 1000 + i, "Memset (Device)", "gpu_memset"))
    path = cases.write(generate.trace(events))
    assert compare(path)
    out = cases.run("stats", "--report=cuda_gpu_mem_size_sum", path)[0]
    assert "204 sizes of copies and sets not told, in no sum" in out, out
    bars = cases.run("stacks", "--weight=bytes", path)[0]
    assert sum(int(line.rsplit(" ", 1)[1]) for line in bars.splitlines()) == sum(
        int(event["args"].get("bytes", 0)) for event in events
    ), bars


def kernels_without_arguments():
    """An export does not invent registers, grids and results either."""
    target = os.path.join(cases.folder(), "t.sqlite")
    cases.run("export", "--sqlite=" + target, cases.write(generate.trace(generate.launches(1))))
    with sqlite3.connect(target) as db:
        row = db.execute(
            "SELECT registersPerThread, gridX, blockZ, staticSharedMemory, dynamicSharedMemory, "
            "sharedMemoryExecuted FROM CUPTI_ACTIVITY_KIND_KERNEL"
        ).fetchone()
        assert row == (None,) * 6, row
        assert db.execute("SELECT returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME").fetchone() == (
            None,
        )


def public_traces():
    for path in cases.public():
        compare(path)


cases.main([some_without_a_size, kernels_without_arguments, public_traces])
