# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/STATS.md, computed from the slices of a trace."""

import re
import statistics

SIZES = {"Float": 4, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Byte": 1, "Char": 1, "Double": 8}


def device(op):
    return int(op.args.get("device", op.pid))


def stream(op):
    return int(op.args.get("stream", op.tid))


def is_comm(op):
    return op.kind == "kernel" and (op.name.startswith("nccl") or "Collective name" in op.args)


def merged(spans):
    """Disjoint spans, in order."""
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        elif end > start:
            out.append([start, end])
    return out


def length(spans):
    return sum(end - start for start, end in merged(spans))


def common(a, b):
    """Time that both sets of spans cover: the lengths less that of their union."""
    return length(a) + length(b) - length(list(a) + list(b))


def spans(ops):
    return [(op.start, op.end) for op in ops]


def by_device(ops):
    found = {}
    for op in ops:
        found.setdefault((id(op.trace), device(op)), []).append(op)
    return list(found.values())


def use(ops):
    """One row of gpu_*_use."""
    row = {"Operations": len(ops), "Total Time (ns)": sum(op.dur for op in ops)}
    sums = dict.fromkeys(("Span (ns)", "Busy (ns)", "Compute (ns)", "Copies (ns)", "Communication (ns)"), 0)
    exposed = 0
    for mine in by_device(ops):
        compute = [op for op in mine if op.kind == "kernel" and not is_comm(op)]
        comm = [op for op in mine if is_comm(op)]
        sums["Span (ns)"] += max(op.end for op in mine) - min(op.start for op in mine)
        sums["Busy (ns)"] += length(spans(mine))
        sums["Compute (ns)"] += length(spans(compute))
        sums["Copies (ns)"] += length(spans(op for op in mine if op.kind in ("copy", "set")))
        sums["Communication (ns)"] += length(spans(comm))
        exposed += length(spans(comm)) - common(spans(comm), spans(compute))
    return {**row, **sums, "Exposed Communication (ns)": exposed}


def steps(trace):
    """(start, end, name) of each training step."""
    found = []
    for event in trace.whole["traceEvents"]:
        if event.get("ph") == "X" and str(event.get("name")).startswith("ProfilerStep#"):
            if event.get("cat") == "user_annotation":
                start = int(event["ts"] * 1000)
                found.append((start, start + int(event["dur"] * 1000), event["name"]))
    return sorted(found)


def step_of(trace, found, op):
    call = trace.call_of(op)
    if not call and 0 < op.correlation < min((i for i in trace.of_id if i > 0), default=0):
        return None  # launched before the trace
    at = call.start if call else op.start
    return next((name for start, end, name in reversed(found) if start <= at < end), None)


def size(op):
    """Bytes that the trace holds, None: it does not."""
    if op.kind in ("copy", "set"):
        return int(op.args["bytes"]) if "bytes" in op.args else None
    count = max(int(op.args.get("In msg nelems", 0)), int(op.args.get("Out msg nelems", 0)))
    return count * SIZES[op.args["dtype"]] if count and op.args.get("dtype") in SIZES else None


def collective(op):
    name = re.sub("_", "", op.name.split("(")[0]).lower()
    for word, kind in (
        ("allreduce", "AllReduce"),
        ("allgather", "AllGather"),
        ("reducescatter", "ReduceScatter"),
        ("sendrecv", "SendRecv"),
        ("broadcast", "Broadcast"),
    ):
        if word in name:
            return kind
    return "(other)"


def communication(trace):
    """(collective, size in MB) -> [time, exposed, count]."""
    rows = {}
    for op in filter(is_comm, trace.ops):
        others = [(o.start, o.end) for o in trace.ops if o.kind == "kernel" and not is_comm(o)
                  and device(o) == device(op) and o.start < op.end and o.end > op.start]
        row = rows.setdefault((collective(op), size(op)), [0, 0, 0])
        row[0] += op.dur
        row[1] += op.dur - common([(op.start, op.end)], others)
        row[2] += 1
    return rows


def rates(trace):
    """Name -> (bytes, time, bytes per second of each operation, operations)."""
    rows = {}
    for op in trace.ops:
        if op.kind == "graph":
            continue
        row = rows.setdefault(op.name, [0, 0, [], 0])
        row[3] += 1
        if size(op) is not None and op.dur > 0:
            row[0] += size(op)
            row[1] += op.dur
            row[2].append(size(op) * 1e9 / op.dur)
    return {name: row for name, row in rows.items() if row[2]}


def waits(trace):
    """(device, stream) -> [(from, until)], and the number of operations with a call."""
    found = {}
    for op in trace.ops:
        call = trace.call_of(op)
        if call:
            found.setdefault((device(op), stream(op)), []).append((call.start, op.start))
    return found


def depth(queue, start, end):
    """Mean and greatest depth of a queue between two times, by summing each wait's part."""
    area = sum(max(min(until, end) - max(begin, start), 0) for begin, until in queue if until > begin)
    inside = [(begin, until) for begin, until in queue if until > begin and begin < end and until > start]
    now = most = sum(begin <= start for begin, _ in inside)
    changes = [(begin, 1) for begin, _ in inside if begin > start] + [(until, -1) for _, until in inside if until < end]
    for _, by in sorted(changes):
        now += by
        most = max(most, now)
    return area / (end - start), most


def percentiles(values):
    """P90 and P99."""
    if len(values) == 1:
        return values[0], values[0]
    cut = statistics.quantiles(values, n=100, method="inclusive")
    return cut[89], cut[98]


def histogram(values):
    """Lower bound -> how many."""
    bins = {}
    for value in values:
        low = 0 if value < 2 else 1 << (value.bit_length() - 1)
        bins[low] = bins.get(low, 0) + 1
    return bins


def path_of(functions):
    return [f.name[11:] for f in functions if f.name.startswith("nn.Module: ")][::-1]


def numbered_operators(trace):
    """By number those of the forward pass, by thread those of the backward one, the last first."""
    if not hasattr(trace, "numbered"):
        forward, backward = trace.numbered = ({}, {})
        for event in trace.whole["traceEvents"]:
            if event.get("cat") != "cpu_op" or "Sequence number" not in event["args"]:
                continue
            if event["args"].get("Fwd thread id", 0) > 0:
                backward.setdefault(event["tid"], []).append(event)
            elif event["args"].get("Fwd thread id", 0) == 0:
                forward.setdefault(event["args"]["Sequence number"], []).append(event)
        for events in backward.values():
            events.sort(key=lambda e: -e["ts"])
    return trace.numbered


def forward_path(trace, op):
    """Of the forward operator with the number of a backward operator around the launch."""
    call = trace.call_of(op)
    if not call:
        return []
    forward, backward = numbered_operators(trace)
    for around in backward.get(call.tid, []):
        begin, number = around["ts"] * 1000, around["args"]["Sequence number"]
        if not begin <= call.start < begin + around["dur"] * 1000:
            continue
        same = [e for e in forward.get(number, []) if e["ts"] <= around["ts"]]
        if len({e["tid"] for e in same}) != 1:
            continue
        last = max(same, key=lambda e: e["ts"])
        open_then = [f for f in trace.functions if f.tid == last["tid"] and f.start <= last["ts"] * 1000 < f.end]
        return path_of(sorted(open_then, key=lambda f: (-f.start, f.dur)))
    return []


def modules(trace):
    """Path -> [own, inside, count]."""
    rows = {}
    for op in trace.ops:
        path = path_of(trace.functions_around(op)) or forward_path(trace, op) or ["(no module)"]
        for n in range(1, len(path) + 1):
            rows.setdefault(" > ".join(path[:n]), [0, 0, 0])[1] += op.dur
        row = rows[" > ".join(path)]
        row[0] += op.dur
        row[2] += 1
    return rows
