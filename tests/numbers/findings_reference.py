# SPDX-License-Identifier: Apache-2.0
"""What `gputrace analyze` should find, computed from the slices of a trace as docs/ANALYZE.md says."""

import fnmatch
import re

SYNC = {
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuEventSynchronize",
}
SYNC_COPY = {"cudaMemcpy", "cudaMemcpy2D", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"}
ALLOCATION = {"cudaMalloc", "cudaFree", "cudaMallocHost", "cudaFreeHost", "cudaHostAlloc", "cuMemAlloc_v2"}
SMALL = 65536


def device(op):
    return int(op.args.get("device", op.pid))


def size(op):
    return int(op.args["bytes"]) if "bytes" in op.args else None


def is_communication(op):
    return op.kind == "kernel" and op.name.lower().startswith("nccl")


def gaps(trace):
    """(start, end) of each time between the first and the last operation of a device without one."""
    found = []
    for number in sorted({device(op) for op in trace.ops}):
        end = None
        for op in sorted((o for o in trace.ops if device(o) == number), key=lambda o: o.start):
            if end is not None and op.start > end:
                found.append((end, op.start))
            end = op.end if end is None else max(end, op.end)
    return found


def wall(trace):
    total = 0
    for number in {device(op) for op in trace.ops}:
        ops = [op for op in trace.ops if device(op) == number]
        total += max(op.end for op in ops) - min(op.start for op in ops)
    return total


def outermost(trace):
    """The calls that lie in no other call of their thread."""
    kept, end = [], {}
    for call in sorted(trace.calls, key=lambda c: (c.start, -c.dur)):
        key = (call.pid, call.tid)
        if key in end and call.start < end[key]:
            end[key] = max(end[key], call.end)
            continue
        end[key] = call.end
        kept.append(call)
    return kept


def saved_by(trace, calls):
    """Of each gap the smaller one of its length and the time in calls that touch it."""
    total = 0
    for start, end in gaps(trace):
        touching = sum(c.dur for c in calls if c.start < end and c.end >= start)
        total += min(touching, end - start)
    return min(total, sum(c.dur for c in calls))


def calls_named(trace, names):
    return [c for c in outermost(trace) if re.sub(r"_(v\d+|pt[ds]z?)$", "", c.name) in names or c.name in names]


def steady(trace, steps):
    """From when on an allocation counts: the second step, without steps half of the launches."""
    if len(steps) > 1:
        return sorted(steps)[1]
    starts = sorted(c.start for op in trace.ops if op.kind == "kernel" for c in [trace.call_of(op)] if c)
    return starts[len(starts) // 2] if starts else None


def direction(op):
    return next((word for word in ("HtoD", "DtoH", "DtoD", "PtoP") if word in op.name), "")


def excess(own, good):
    """What copies take longer than their bytes at the rate of good ones, by direction."""
    total = 0
    for way in {direction(op) for op in own}:
        mine = [op for op in own if direction(op) == way]
        others = [op for op in good if direction(op) == way]
        taken, carried = sum(op.dur for op in mine), sum(size(op) or 0 for op in mine)
        ns, moved = sum(op.dur for op in others), sum(size(op) for op in others)
        ideal = carried * ns / moved if moved and ns else 0
        if taken > ideal:
            total += taken - int(ideal)
    return total


def small_copies(trace):
    copies = [op for op in trace.ops if op.kind == "copy" and size(op) is not None]
    small = [op for op in copies if size(op) <= SMALL]
    return excess(small, [op for op in copies if size(op) > SMALL and op.dur]), len(small)


def pageable_copies(trace):
    copies = [op for op in trace.ops if op.kind == "copy"]
    own = [op for op in copies if "Pageable" in op.name]
    good = [op for op in copies if "Pinned" in op.name and (size(op) or 0) > SMALL and op.dur]
    outer = outermost(trace)
    asked = {id(trace.call_of(op)) for op in own if trace.call_of(op)}
    calls = [
        o
        for o in outer
        if any(
            id(c) in asked and (c.pid, c.tid) == (o.pid, o.tid) and o.start <= c.start < max(o.end, o.start + 1)
            for c in (trace.calls if asked else [])
        )
    ]
    return excess(own, good) + saved_by(trace, calls)


def kernels(trace):
    """Name -> ns of kernels but communication."""
    names = {}
    for op in trace.ops:
        if op.kind == "kernel" and not is_communication(op):
            names[op.name] = names.get(op.name, 0) + op.dur
    return names


FP32 = ("*sgemm*", "*_scudnn_*", "*cutlass*simt*", "*grad*_engine<float,*", "*implicit_convolve*<float,*",
        "*conv2d_grouped_direct_kernel<*float,*", "*gemmsn*<float,*", "*fmha_cutlass[fb]_f32*")
NOT_FP32 = ("*softmax*", "*tensorop*", "*tf32*", "*[sh]884*", "*[shi]1688*", "*[shi]16816*", "*[hbw]mma*", "*nvjet*",
            "*flash_[fb]wd*")


def fits(name, globs):
    return any(fnmatch.fnmatchcase(name.lower(), glob) for glob in globs)


def fp32(trace):
    return sum(ns for name, ns in kernels(trace).items() if fits(name, FP32) and not fits(name, NOT_FP32))


def queues(trace):
    """(device, stream) -> (mean, most, first, last) of the operations that wait."""
    found = {}
    for op in trace.ops:
        call = trace.call_of(op)
        if call:
            found.setdefault((device(op), int(op.args.get("stream", op.tid))), []).append((call.start, op.start))
    rows = {}
    for key, waits in found.items():
        waits = [w for w in waits if w[1] > w[0]]
        if not waits:
            rows[key] = (0, 0, 0, 0)
            continue
        first, last = min(w[0] for w in waits), max(w[1] for w in waits)
        depth = most = 0
        changes = sorted([(w[0], 1) for w in waits] + [(w[1], -1) for w in waits])
        for _, by in changes:
            depth += by
            most = max(most, depth)
        rows[key] = (sum(w[1] - w[0] for w in waits), most, first, last)
    return rows


def steps(trace):
    return [
        int(float(e["ts"]) * 1000)
        for e in trace.whole["traceEvents"]
        if e.get("ph") == "X" and str(e.get("name", "")).startswith("ProfilerStep#")
        and e.get("cat") in ("user_annotation", "cpu_op")
    ]


ENQUEUES = re.compile(r"(cuda|cu)(Launch.*|Memcpy.*Async|Memset.*Async|GraphLaunch)(_v\d+|_pt[ds]z?)?")
SCHEDULING = 20_000  # ns from a launch to its work that are the launch's


def causes(trace):
    """Idle time before each operation that ends a gap: (operation, its call, host work, launches), ns. Host work
    is the time between the calls of the thread that launched it, launches that in calls that enqueue."""
    threads, found = {}, []
    for call in outermost(trace):
        threads.setdefault((call.pid, call.tid), []).append(call)
    ends = {}
    for op in sorted(trace.ops, key=lambda o: o.start):
        start = ends.get(device(op))
        ends[device(op)] = max(op.end, op.end if start is None else start)
        call = trace.call_of(op)
        if start is None or op.start <= start or not call:
            continue
        host = launch = 0
        begin = min(max(call.start, start), op.start)
        if begin > start:
            host = begin - start
            for other in threads[(call.pid, call.tid)]:
                inside = min(other.end, begin) - max(other.start, start)
                if inside > 0:
                    host -= inside
                    launch += inside if ENQUEUES.fullmatch(other.name) else 0
        if begin > start or call.start > start or call.end > start or op.start - start <= SCHEDULING:
            left, own = op.start - begin, max(call.end - begin, 0)
            own = own + SCHEDULING if left - own > SCHEDULING else left
            launch += own if ENQUEUES.fullmatch(call.name) else 0
        found.append((op, call, host, launch))
    return found


def before_tiny_kernels(trace):
    return sum(
        launch
        for op, call, _, launch in causes(trace)
        if op.kind == "kernel" and not is_communication(op) and op.dur < call.dur and "GraphLaunch" not in call.name
    )


def behind(trace):
    return sum(host + launch for _, _, host, launch in causes(trace))
