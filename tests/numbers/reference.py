# SPDX-License-Identifier: Apache-2.0
"""What tables should say, computed from the JSON of a trace, simply: no index, no cleverness."""

import gzip
import json
import re
import statistics
from decimal import Decimal

KINDS = {
    "kernel": "kernel",
    "Kernel": "kernel",
    "gpu_memcpy": "copy",
    "Memcpy": "copy",
    "gpu_memset": "set",
    "Memset": "set",
    "gpu_graph": "graph",
}
CALLS = (
    "cuda_runtime",
    "cuda_driver",
    "Runtime",
    "xpu_runtime",
    "xpu_driver",
    "privateuse1_runtime",
    "privateuse1_driver",
    "mtia_runtime",
)
LAUNCHERS = {"kernel": "launch", "graph": "launch", "copy": "memcpy", "set": "memset"}


def load(path):
    """The object of a trace; an array becomes one."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        trace = json.loads(file.read(), parse_float=Decimal)
    return trace if isinstance(trace, dict) else {"traceEvents": trace}


def number(value):
    """A pid or tid: quotes do not matter."""
    return int(value) if re.fullmatch(r"-?\d+", str(value)) else value


def ns(value):
    return int((Decimal(str(value)) * 1000).to_integral_value())


class Slice:
    """A slice of a trace: times in ns."""

    def __init__(self, event, kind):
        self.kind, self.name, self.args = kind, event["name"], event.get("args") or {}
        self.pid, self.tid = number(event["pid"]), number(event["tid"])
        self.start = ns(event["ts"])
        self.dur = max(ns(event.get("dur", 0)), 0)
        self.end = self.start + self.dur
        self.correlation = int(self.args.get("correlation", 0))


class Trace:
    """The slices of a trace, by what they are."""

    def __init__(self, path):
        self.whole = load(path)
        self.ops, self.calls, self.functions = [], [], []
        for event in self.whole["traceEvents"]:
            if event.get("ph") != "X":
                continue
            cat = event.get("cat")
            if cat in KINDS:
                self.ops.append(Slice(event, KINDS[cat]))
            elif cat in CALLS:
                self.calls.append(Slice(event, "call"))
            elif cat == "python_function":
                self.functions.append(Slice(event, "function"))
        self.of_id = {}
        for call in self.calls:
            self.of_id.setdefault(call.correlation, []).append(call)

    def call_of(self, op):
        """The call of an operation where ids are unique; of calls in each other the outer one."""
        found = self.of_id.get(op.correlation) if op.correlation > 0 else None
        return min(found, key=lambda call: (call.start, -call.dur)) if found else None

    def functions_around(self, op):
        """The Python functions that are open when the operation is asked for, innermost first."""
        call = self.call_of(op)
        if not call:
            return []
        around = [
            f
            for f in self.functions
            if (f.pid, f.tid) == (call.pid, call.tid) and f.start <= call.start < f.end
        ]
        return sorted(around, key=lambda f: (-f.start, f.dur))


def place(name, by):
    """The row of a Python function: its line, function or module. None: it has no line."""
    found = re.fullmatch(r"(.+)\((\d+)\): (.*)", name)
    if not found:
        return None if by == "line" else re.sub(r" at 0x[0-9a-f]+>", ">", name)
    return {"line": f"{found[1]}:{found[2]}", "function": found[3], "module": found[1]}[by]


def by_code(trace, by):
    """Row -> [total, inside, count] of GPU time by launching line, function or module."""
    rows = {}
    for op in trace.ops:
        around = trace.functions_around(op)
        lined = [f for f in around if place(f.name, "line")]
        if around:
            nearest = (lined or around)[0]
            own = place(nearest.name, by) or re.sub(r" at 0x[0-9a-f]+>", ">", nearest.name)
            inside = {place(f.name, by) for f in around} - {None} | {own}
        else:
            own = "unknown (no call stack)"
            inside = {own}
        for row in inside:
            rows.setdefault(row, [0, 0, 0])[1] += op.dur
        rows[own][0] += op.dur
        rows[own][2] += 1
    return rows


def sizes(trace):
    """Operation -> (sizes that the trace tells, how many operations)."""
    rows = {}
    for op in trace.ops:
        if op.kind in ("copy", "set"):
            told, count = rows.get(op.name, ([], 0))
            if "bytes" in op.args:
                told.append(int(op.args["bytes"]))
            rows[op.name] = (told, count + 1)
    return rows


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0


def executions(trace, call_of):
    """(pid, tid, device, call, kernel) -> [kernels, those that waited, ns from call to end, of the
    call, of the kernel]."""
    rows = {}
    for op in trace.ops:
        call = call_of(op) if op.kind == "kernel" else None
        if not call:
            continue
        device = int(op.args.get("device", op.pid))
        row = rows.setdefault((call.pid, call.tid, device, call.name, op.name), [0, 0, 0, 0, 0])
        row[0] += 1
        row[1] += op.start > call.end
        row[2] += op.end - call.start
        row[3] += call.dur
        row[4] += op.dur
    return rows
