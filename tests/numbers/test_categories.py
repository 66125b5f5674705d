#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of other vendors' devices and of other tools: mapped where the meaning is plain,
else named and counted."""

import os
import re
import sqlite3

import cases
import generate


def launches(cats, names):
    """Ten launches, each with its kernel, by a runtime of another name."""
    events = []
    for i in range(10):
        events += [
            generate.call(names[0], i * 100, 5, i + 1, cat=cats[0]),
            dict(generate.kernel("k", i * 100 + 10, 20, i + 1), cat=cats[1]),
        ]
    events.append(generate.call(names[1], 2000, 50, 99, cat=cats[0]))
    return events


def runtimes_of_other_vendors():
    for cats, names in (
        (("xpu_runtime", "kernel"), ("urEnqueueKernelLaunch", "urEventWait")),
        (("privateuse1_runtime", "kernel,gpu"), ("xyzLaunch", "xyzSync")),
        (("mtia_runtime", "viz, kernel"), ("mtiaLaunch", "mtiaSync")),
        (("cuda_runtime", "kernel"), ("hipExtModuleLaunchKernel", "hipDeviceSynchronize")),
    ):
        path = cases.write(generate.trace(launches(cats, names)))
        (row,) = cases.table("stats", "--report=cuda_kern_exec_sum", path)
        assert (row["Count"], row["API Name"]) == (10, names[0]), row
        calls = {
            row["Name"]: row["Num Calls"]
            for row in cases.table("stats", "--report=cuda_api_sum", path)
        }
        assert calls == {names[0]: 10, names[1]: 1}, calls
        assert "unknown" not in cases.run("stats", path)[0]
        target = os.path.join(cases.folder(), "t.sqlite")
        cases.run("export", "--sqlite=" + target, path)
        with sqlite3.connect(target) as db:
            counts = [
                db.execute(f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{t}").fetchone()[0]
                for t in ("KERNEL", "RUNTIME")
            ]
            assert counts == [10, 11], (cats, counts)


def causes(names):
    """Causes of idle time: launches that take long, and a synchronizing call before each."""
    events = []
    for i in range(5):
        at = i * 1000
        events += [
            generate.call(names[0], at, 300, i + 1, cat="cuda_runtime"),
            generate.kernel("k", at + 310, 90, i + 1),
            generate.call(names[1], at + 400, 500, 100 + i),
        ]
    rows = cases.tables("gaps", cases.write(generate.trace(events)))["gpu_idle_causes"]
    return {row["Cause"]: row["Idle Time (ns)"] for row in rows}


def idle_time_before_work_without_a_call():
    """The last of the causes, whose number has two digits."""
    events = [generate.kernel("k", at, 90, 1 + at) for at in (0, 100, 200)]
    rows = cases.tables("gaps", "--min=0", cases.write(generate.trace(events)))["gpu_idle_causes"]
    found = {row["Cause"]: (row["Idle Time (ns)"], row["Where"]) for row in rows}
    assert found == {"unknown": (20_000, "(the call is not in the trace)")}, found


def causes_of_idle_time():
    """The names of HIP and SYCL mean what CUDA's mean."""
    want = causes(("cudaLaunchKernel", "cudaDeviceSynchronize"))
    assert set(want) == {
        "before first",
        "launch latency",
        "synchronization",
        "host work",
        "after last",
    }, want
    for names in (
        ("hipLaunchKernel", "hipDeviceSynchronize"),
        ("hipModuleLaunchKernel", "hipStreamSynchronize"),
        ("urEnqueueKernelLaunch", "urQueueFinish"),
    ):
        assert causes(names) == want, (names, causes(names), want)


def unknown(path, expect=0):
    """Category -> slices, as the command reports them."""
    out = "".join(cases.run("stats", path, expect=expect))
    found = re.search(r"(\d+) slices? of unknown categories, in no table: (.*)", out)
    if not found:
        return {}, out
    counts = {
        name: int(count) for name, count in re.findall(r"([^,(][^(]*) \((\d+)\)(?:, )?", found[2])
    }
    assert sum(counts.values()) == int(found[1]), found[0]
    return counts, out


def unknown_categories():
    """All are named with their counts, also where there is GPU work."""
    events = generate.launches(3)
    for i in range(20):
        events.append(dict(generate.range_("x", i, 1), cat="cat%d" % (i % 5)))
    events.append(generate.range_("none", 5, 1))
    del events[-1]["cat"]
    counts, _ = unknown(cases.write(generate.trace(events)))
    assert counts == {"cat%d" % i: 4 for i in range(5)} | {"no category": 1}, counts
    many = events + [dict(generate.range_("x", i, 1), cat="c%d" % i) for i in range(100)]
    counts, _ = unknown(cases.write(generate.trace(many)))
    assert (
        len(counts) == 17 and counts["others"] == 121 - sum(counts.values()) + counts["others"]
    ), counts


def work_of_unknown_devices():
    """No GPU work, but slices that look like it: not the exit status of success."""
    work = [dict(generate.kernel("k", i * 50, 20, i + 1), cat="mtia_ccp_events") for i in range(30)]
    path = cases.write(generate.trace(work + [generate.range_("host", 0, 5)]))
    counts, out = unknown(path, expect=1)
    assert counts == {"mtia_ccp_events": 30}, counts
    assert "30 slices of unknown ones with a device, stream or correlation" in out, out
    for command in (["gaps"], ["stacks"], ["report", "--output=-"]):
        cases.run(*command, path, expect=1)
    said = cases.run("export", "--csv=" + cases.folder() + "/tables", path)[1]
    assert "30 slices of unknown categories, in no table" in said, said
    host = [dict(generate.range_("x", i, 1), cat="renderer") for i in range(5)]
    assert unknown(cases.write(generate.trace(host)))[0] == {"renderer": 5}


def jax():
    """Rows of JAX and TensorFlow: streams of devices, without categories."""

    def name(kind, pid, tid, text):
        return {"ph": "M", "name": kind + "_name", "pid": pid, "tid": tid, "args": {"name": text}}

    def slice_(pid, tid, ts, dur, text, **args):
        return {"ph": "X", "pid": pid, "tid": tid, "ts": ts, "dur": dur, "name": text, "args": args}

    events = [
        name("process", 1, 0, "/device:GPU:2"),
        name("thread", 1, 13, "Stream #13(Compute,MemcpyH2D)"),
        name("thread", 1, 20, "XLA Ops"),
        name("process", 7, 0, "/host:CPU"),
        name("thread", 7, 9, "python"),
    ]
    for i in range(4):
        events += [
            slice_(7, 9, i * 100, 5, "cuLaunchKernel", correlation_id=str(i + 1)),
            slice_(
                1, 13, i * 100 + 10, 30, "fusion_3", correlation_id=str(i + 1), hlo_op="fusion.3"
            ),
            slice_(1, 20, i * 100 + 10, 30, "fusion.3"),
            slice_(7, 9, i * 100 + 50, 9, "$a.py:3 f"),
        ]
    events.append(
        slice_(
            1,
            13,
            900,
            7,
            "MemcpyH2D",
            memcpy_details="kind_src:pinned kind_dst:device size:4096 dest:0",
        )
    )
    path = cases.write(generate.trace(events))
    (row,) = cases.table("stats", "--report=cuda_kern_exec_sum", path)
    assert (row["Count"], row["PID"], row["TID"], row["DevId"]) == (4, 7, 9, 2), row
    (row,) = cases.table("stats", "--report=cuda_gpu_mem_size_sum", path)
    cases.close(row["Total (MB)"], 0.004096, row)
    assert [row["Name"] for row in cases.table("stats", "--by=stream", path)] == [
        "rank 0 GPU 2 stream 13"
    ]
    assert unknown(path)[0] == {"no category": 8}
    tpu = [name("process", 3, 0, "/device:TPU:0")] + [
        slice_(3, 1, i, 1, "fusion") for i in range(9)
    ]
    assert unknown(cases.write(generate.trace(tpu)), expect=1)[0] == {"no category": 9}


def begins_and_ends():
    """Each kind of what cannot be taken as it stands has a line of its own."""

    def event(ph, ts, **more):
        return {"ph": ph, "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts, **more}

    big = 10**30
    events = [
        event("E", 1),
        event("B", 10),
        event("E", 5),
        event("B", 20),
        event("b", 1, id=1),
        event("e", 2, id=1),
        event("S", 3, id=2),
        event("F", 4, id=2),
        event("X", big, dur=1),
        event("X", 30, dur=big),
        event("X", 31),
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 1},
        {**event("X", 40, dur=9, args={"unfinished": True}), "cat": "user_annotation", "pid": 1},
    ]
    out = cases.run("stats", cases.write(generate.trace(events)))[0]
    for line in (
        "1 begin (ph B) without an end",
        "1 end (ph E) without a begin before it",
        "1 end (ph E) with an earlier time than its begin, counted as 0",
        "2 asynchronous slices (ph b, S), left out",
        "1 event without a time stamp, left out",
        "1 event whose time stamp is out of range or no number, left out",
        "1 slice whose duration is out of range or no number, counted as 0",
        "1 slice without a duration, counted as 0",
        "1 range without an end (unfinished), counted up to the end of the trace",
    ):
        assert line in out, (line, out)


def public_traces():
    for path in cases.public():
        assert unknown(path)[0] == {}, path


cases.main(
    [
        runtimes_of_other_vendors,
        idle_time_before_work_without_a_call,
        causes_of_idle_time,
        unknown_categories,
        work_of_unknown_devices,
        jax,
        begins_and_ends,
        public_traces,
    ]
)
