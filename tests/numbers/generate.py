# SPDX-License-Identifier: Apache-2.0
"""Traces as other tools write them. Times in microseconds."""

BASE = 1711964646000000000


def kernel(name, ts, dur, correlation, pid=0, tid=7, **args):
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {"device": 0, "stream": 7, "correlation": correlation, **args},
    }


def copy(ts, dur, correlation, name="Memcpy HtoD (Pinned -> Device)", cat="gpu_memcpy", **args):
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": ts,
        "dur": dur,
        "args": {"device": 0, "stream": 7, "correlation": correlation, **args},
    }


def call(name, ts, dur, correlation, pid=4100, tid=4100, cat="cuda_runtime"):
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {"correlation": correlation},
    }


def function(name, ts, dur, pid=4100, tid=4100):
    return {
        "ph": "X",
        "cat": "python_function",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {},
    }


def range_(name, ts, dur, pid=4100, tid=4100):
    return {
        "ph": "X",
        "cat": "user_annotation",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {},
    }


def os_call(name, ts, dur, pid=4100, tid=4100, **args):
    return dict(range_(name, ts, dur, pid, tid), cat="osrt", args=args)


def launches(count, step=100, first=1000, pid=4100, ids=1):
    """Pairs of a launch and its kernel."""
    events = []
    for i in range(count):
        at = first + i * step
        events.append(call("cudaLaunchKernel", at, 5, ids + i, pid=pid, tid=pid))
        events.append(kernel(f"gemm_{i % 3}", at + 10, 20 + i, ids + i))
    return events


def trace(events, before=None, behind=None):
    """The object of a trace: members before and behind the events."""
    return {"schemaVersion": 1, **(before or {}), "traceEvents": events, **(behind or {})}


def operator(name, ts, dur, sequence, pid=4100, tid=4100, forward=0):
    """An operator of PyTorch; forward: the thread of the forward pass that one of the backward pass has."""
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": {"Sequence number": sequence, "Fwd thread id": forward},
    }
