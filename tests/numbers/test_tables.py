#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/STATS.md against an independent computation, over public and generated traces."""

import functools
import random
import statistics

import cases
import generate
import reference
import tables_reference as of

MOMENTS = (("Avg", statistics.fmean), ("Med", statistics.median), ("Min", min), ("Max", max))


@functools.lru_cache(maxsize=None)
def load(path):
    trace = reference.Trace(path)
    for op in trace.ops:
        op.trace = trace
    return trace


def report(name, *paths):
    return cases.tables("stats", "--report=" + name, *paths)[name]


def random_trace(seed, rank=0):
    """Steps on two streams and a communication stream, copies of known and unknown sizes, modules."""
    dice = random.Random(seed)
    events, at, ids, sequence = [], 0, 0, 0

    def work(make, begin, tid=4100, **args):
        nonlocal ids
        ids += 1
        events.append(generate.call("cudaLaunchKernel", begin, dice.randint(2, 8), ids, tid=tid))
        event = make(ids)
        event["args"].update(args)
        events.append(event)

    for step in range(dice.randint(2, 5)):
        begin = at
        for _ in range(dice.randint(3, 25)):
            at += dice.randint(10, 60)
            depth = dice.randint(0, 3)
            for level in range(depth):
                events.append(generate.function(f"nn.Module: Block_{level}_{dice.randint(0, 1)}", at - 3 + level * 0.5, 12 - level))
            start = at + dice.randint(5, 300)
            if dice.random() < 0.5:
                sequence += dice.randint(0, 1)  # no node of the graph: the number stays
                events.append(generate.operator("aten::mm", at - 1, 9, sequence))
            if dice.random() < 0.3:
                number, late = dice.randint(0, sequence + 1), at + dice.randint(0, 30)
                events.append(generate.operator("MmBackward0", late - 1, 6, number, tid=4200, forward=1))
                work(lambda i: generate.kernel("backward_gemm", start, dice.randint(1, 90), i), late, tid=4200, stream=7)
            kind = dice.random()
            if kind < 0.6:
                name = f"gemm_{dice.randint(0, 4)}"
                work(lambda i: generate.kernel(name, start, dice.randint(1, 90), i), at, stream=dice.choice((7, 20)))
            elif kind < 0.75:
                sized = {"dtype": "Float", "In msg nelems": 1 << dice.randint(8, 12), "Out msg nelems": 256}
                work(
                    lambda i: generate.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", start, dice.randint(20, 200), i),
                    at, stream=33, **(sized if dice.random() < 0.8 else {}),
                )
            else:
                size = {"bytes": dice.randint(1, 1 << 22)} if dice.random() < 0.8 else {}
                work(lambda i: generate.copy(start, dice.randint(1, 40), i), at, stream=7, **size)
        at += 40
        if dice.random() < 0.9:
            events.append(generate.range_(f"ProfilerStep#{step}", begin, at - begin))
    before = {"distributedInfo": {"rank": rank, "world_size": 2}, "baseTimeNanoseconds": generate.BASE}
    return generate.trace(events, before=before)


@functools.lru_cache(maxsize=None)
def traces():
    """Generated ones, and the public ones if they are here."""
    made = [cases.write(random_trace(seed)) for seed in range(12)]
    try:
        return made + cases.public()
    except cases.Skip:
        return made


def same_use(row, ops, what):
    want = of.use(ops)
    for column, value in want.items():
        assert row[column] == value, (what, column, row[column], value)
    assert abs(row["Busy (%)"] - want["Busy (ns)"] * 100 / max(want["Span (ns)"], 1)) <= 0.06, what


def use_by_stream():
    for path in traces():
        trace = load(path)
        streams = {}
        for op in trace.ops:
            streams.setdefault(f"GPU {of.device(op)} stream {of.stream(op)}", []).append(op)
        rows = report("gpu_stream_use", path)
        assert len(rows) == len(streams), path
        for row in rows:
            same_use(row, streams[row["Name"].split(" ", 2)[2]], (path, row["Name"]))


def use_by_step():
    for path in traces():
        trace = load(path)
        found, steps = of.steps(trace), {}
        for op in trace.ops:
            steps.setdefault(of.step_of(trace, found, op) or "(no step)", []).append(op)
        rows = report("gpu_step_use", path)
        assert {row["Name"] for row in rows} == set(steps), path
        for row in rows:
            same_use(row, steps[row["Name"]], (path, row["Name"]))


def ranks():
    """A folder of two generated ranks; also kernels per rank and per step of both."""
    for seed in range(6):
        where, ops, per_rank, per_step = cases.folder(), {}, {}, {}
        for rank in (0, 1):
            trace = load(cases.write(random_trace(seed * 2 + rank, rank), f"rank{rank}.json", where))
            found = of.steps(trace)
            ops[f"rank {rank}"] = trace.ops
            for op in trace.ops:
                if op.kind != "kernel":
                    continue
                cell = per_rank.setdefault(op.name, {})
                cell[f"rank {rank}"] = cell.get(f"rank {rank}", 0) + op.dur
                step = of.step_of(trace, found, op)
                if step:
                    cell = per_step.setdefault(op.name, {})
                    cell[f"rank {rank} {step}"] = cell.get(f"rank {rank} {step}", 0) + op.dur
        for row in report("gpu_rank_use", where):
            same_use(row, ops[row["Name"]], row["Name"])
        spread("gpu_kern_per_rank", "Rank", where, per_rank)
        spread("gpu_kern_per_step", "Step", where, per_step)


def spread(name, one, path, want):
    rows = report(name, path)
    assert {row["Name"] for row in rows} == set(want), (name, path)
    for row in rows:
        values = want[row["Name"]]
        assert row["Total Time (ns)"] == sum(values.values()) and row[one + "s"] == len(values), row
        for column, function in MOMENTS + (("StdDev", reference.spread),):
            got = row[f"{column} Per {one} (ns)"]
            assert abs(got - function(list(values.values()))) <= 0.06, (row, column)
        assert values[row["Most In"]] == max(values.values()), row


def kernels_per_step():
    for path in traces():
        trace = load(path)
        found, want = of.steps(trace), {}
        for op in trace.ops:
            step = of.step_of(trace, found, op) if op.kind == "kernel" else None
            if step:
                cell = want.setdefault(op.name, {})
                cell[step] = cell.get(step, 0) + op.dur
        spread("gpu_kern_per_step", "Step", path, want)


def communication():
    sized = 0
    for path in traces():
        trace = load(path)
        want = of.communication(trace)
        rows = report("gpu_comm_sum", path)
        assert len(rows) == len(want), (path, rows, want)
        keys = {(name, size and f"{size / 1e6:.6f}"): value for (name, size), value in want.items()}
        for row in rows:
            size = row["Size (MB)"] and f"{row['Size (MB)']:.6f}"
            time, exposed, count = keys[(row["Collective"], size)]
            assert (row["Total Time (ns)"], row["Exposed Time (ns)"], row["Instances"]) == (time, exposed, count), row
            if size:
                sized += 1
                assert abs(row["GB/s"] - float(size) * 1e6 * count / time) <= 6e-4, row
        # in total: what the ranks' table says, where collectives do not overlap each other
        total = sum(row["Communication (ns)"] for row in report("gpu_rank_use", path))
        if total == sum(row["Total Time (ns)"] for row in rows):
            assert sum(row["Exposed Time (ns)"] for row in rows) == sum(
                row["Exposed Communication (ns)"] for row in report("gpu_rank_use", path)
            ), path
    assert sized


def rates():
    for path in traces():
        want = of.rates(load(path))
        rows = report("gpu_rate_sum", path)
        assert {row["Operation"] for row in rows} == set(want), path
        for row in rows:
            size, time, values, count = want[row["Operation"]]
            assert abs(row["Total (MB)"] * 1e6 - size) < 1.1 and row["Total Time (ns)"] == time, row
            assert (row["Count"], row["Operations"]) == (len(values), count), row
            assert abs(row["GB/s"] - size / time) <= 6e-4, row
            for column, function in MOMENTS:
                assert abs(row[column + " (GB/s)"] - function(values) / 1e9) <= 6e-4, (row, column)


def queues():
    for path in traces():
        want = of.waits(load(path))
        rows = report("gpu_queue_sum", path)
        assert len(rows) == len(want), path
        spells = {}
        for row in report("gpu_queue_time", path):
            spells.setdefault(row["Stream"], []).append(row)
        for row in rows:
            words = row["Stream"].split()
            queue = want[(int(words[3]), int(words[5]))]
            waiting = [w for w in queue if w[1] > w[0]]
            assert row["Launches"] == len(queue), (path, row)
            if not waiting:
                assert row["Max Depth"] == 0
                continue
            first, last = min(w[0] for w in waiting), max(w[1] for w in waiting)
            mean, most = of.depth(waiting, first, last)
            assert abs(row["Mean Depth"] - mean) <= 6e-4 and row["Max Depth"] == most, (path, row, mean, most)
            assert row["Empty (ns)"] == last - first - of.length(waiting), (path, row)
            cases.close(row["Avg Wait (ns)"], sum(w[1] - w[0] for w in waiting) / len(queue), row, 1e-1)
            check_spells(path, spells[row["Stream"]], waiting, first, last)


def check_spells(path, rows, waiting, first, last):
    """Each of the equal parts of a queue's time."""
    assert len(rows) == min(50, last - first), path
    zero = rows[0]["From (ns)"]
    for i, row in enumerate(rows):
        start = first + int((last - first) * i / len(rows))
        end = first + int((last - first) * (i + 1) / len(rows))
        mean, most = of.depth(waiting, start, end)
        assert row["From (ns)"] - zero == start - first, (path, row)
        assert abs(row["Mean Depth"] - mean) <= 6e-4 and row["Max Depth"] == most, (path, i, row, mean, most)


def modules():
    named = 0
    for path in traces():
        want = of.modules(load(path))
        rows = report("nn_module_sum", path)
        assert {row["Module"] for row in rows} == set(want), (path, rows)
        for row in rows:
            got = [row["Total Time (ns)"], row["Inside Time (ns)"], row["Instances"]]
            assert got == want[row["Module"]], (path, row)
            assert row["Level"] == row["Module"].count(" > ") + 1
            named += row["Level"] > 1
    assert named


def percentiles():
    """Of kernels, calls and copies; and by launching line."""
    for path in traces():
        trace = load(path)
        groups = {
            "cuda_gpu_kern_sum": (trace.ops, ("kernel",), "Name"),
            "cuda_gpu_mem_time_sum": (trace.ops, ("copy", "set"), "Operation"),
            "cuda_api_sum": (trace.calls, ("call",), "Name"),
        }
        for name, (slices, kinds, title) in groups.items():
            values = {}
            for one in slices:
                if one.kind in kinds:
                    values.setdefault(one.name, []).append(one.dur)
            (rows,) = cases.tables("stats", "--percentiles", "--report=" + name, path).values()
            assert len(rows) == len(values), (path, name)
            for row in rows:
                for got, want in zip((row["P90 (ns)"], row["P99 (ns)"]), of.percentiles(values[row[title]])):
                    assert abs(got - want) <= 0.06, (path, row)
    made = cases.write(random_trace(3))
    for by in ("kernel", "line", "op", "step", "stream"):
        (rows,) = cases.tables("stats", "--by=" + by, "--percentiles", made).values()
        (plain,) = cases.tables("stats", "--by=" + by, made).values()
        assert [{k: v for k, v in row.items() if not k.startswith("P9")} for row in rows] == plain
        assert all(row["Med (ns)"] <= row["P90 (ns)"] <= row["P99 (ns)"] <= row["Max (ns)"] for row in rows)


def histogram():
    for path in traces():
        want = {}
        for op in load(path).ops:
            want.setdefault(op.name, []).append(op.dur)
        got, order = {}, []
        for row in cases.tables("stats", "--histogram", path)["gpu_duration_hist"]:
            got.setdefault(row["Name"], {})[row["From (ns)"]] = row["Instances"]
            order.append(row["Name"])
            assert row["To (ns)"] == max(row["From (ns)"] * 2, 2), row
        assert got == {name: of.histogram(values) for name, values in want.items()}, path
        totals = [sum(want[name]) for name in dict.fromkeys(order)]
        assert totals == sorted(totals, reverse=True), path


cases.main(
    [
        use_by_stream,
        use_by_step,
        ranks,
        kernels_per_step,
        communication,
        rates,
        queues,
        modules,
        percentiles,
        histogram,
    ]
)
