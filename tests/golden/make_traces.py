#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the small traces that the golden cases read: make_traces.py FOLDER STAMP

A training loop of three steps as gputrace would trace it: a data loader, two copies in, two kernels
and a collective, a copy out and a synchronization. Times are round, so that every sum in a golden
file can be checked by hand.
"""
import json
import os
import sys

BASE = 5_000_000_000_000  # ns of the first step
STACKS = {
    1: ["gemm_launch (model.cu:42)", "forward (/src/train/model.cu:80)", "step (/src/train/train.cu:12)",
        "main (/src/train/train.cu:30)"],
    2: ["relu_launch (model.cu:55)", "forward (/src/train/model.cu:83)", "step (/src/train/train.cu:12)",
        "main (/src/train/train.cu:30)"],
    3: ["copy_batch (loader.cu:9)", "load (/src/train/loader.cu:20)", "step (/src/train/train.cu:10)",
        "main (/src/train/train.cu:30)"],
    4: ["ncclAllReduce (libnccl.so.2)", "sync_grads (/src/train/train.cu:20)", "step (/src/train/train.cu:14)",
        "main (/src/train/train.cu:30)"],
    5: ["step (/src/train/train.cu:16)", "main (/src/train/train.cu:30)"],
    # Python: two lines of one function, a recursion, launches of a C extension
    6: ["Block.forward (/src/net.py:12)", "Net.forward (/src/net.py:30)", "step (/src/train.py:7)",
        "<module> (/src/train.py:20)"],
    7: ["Block.forward (/src/net.py:13)", "Net.forward (/src/net.py:30)", "step (/src/train.py:7)",
        "<module> (/src/train.py:20)"],
    8: ["fuse_launch (/opt/fuse.so+0x1a2b)", "Tree.walk (/src/tree.py:5)", "Tree.walk (/src/tree.py:6)",
        "Tree.walk (/src/tree.py:6)", "step (/src/train.py:8)", "<module> (/src/train.py:20)"],
}
# stacks of the main thread in samples
STACKS.update({
    20: ["gen_single_image (/src/dataset.py:41)", "gen_batch (/src/dataset.py:60)", "step (/src/train.py:7)",
         "<module> (/src/train.py:20)"],
    21: ["gen_single_image (/src/dataset.py:44)", "gen_batch (/src/dataset.py:60)", "step (/src/train.py:7)",
         "<module> (/src/train.py:20)"],
    22: ["read (/usr/lib/libc.so.6+0xf1)", "read_chunk (/opt/io.so+0x12)", "main (/opt/train+0x34)"],
})
# one caller at two places, loops, a recursion, code without names, two functions of one name, ctypes
STACKS.update({
    30: ["step (/opt/idle+0x10f5)", "main (/opt/idle+0x1200)"],
    31: ["step (/opt/idle+0x10f5)", "main (/opt/idle+0x1234)"],
    32: ["walk (/src/walk.c:9)", "walk (/src/walk.c:7)", "walk (/src/walk.c:7)", "main (/src/walk.c:20)"],
    33: ["walk (/src/walk.c:9)", "walk (/src/walk.c:7)", "main (/src/walk.c:20)"],
    34: ["/opt/bare+0x10", "/opt/bare+0x20", "run (/opt/bare+0x30)"],
    35: ["/opt/bare+0x10", "/opt/bare+0x28", "run (/opt/bare+0x30)"],
    36: ["forward (/src/a.py:3)", "train (/src/train.py:30)"],
    37: ["forward (/src/b.py:3)", "train (/src/train.py:30)"],
    38: ["/usr/lib/libffi.so.8.1.2+0x6f79", "ask (/src/q.py:5)", "<module> (/src/q.py:20)"],
    39: ["/usr/lib/libffi.so.8.1.2+0x6f79", "ask (/src/q.py:5)", "<module> (/src/q.py:23)"],
})
# where the thread is blocked
STACKS.update({
    40: ["read (/usr/lib/libc.so.6+0xf1)", "_io_read (/usr/bin/python3+0x34)", "load_batch (/src/loader.py:44)",
         "train (/src/train.py:12)", "<module> (/src/train.py:20)"],
    41: ["__pthread_cond_wait (/usr/lib/libc.so.6+0x93)", "Queue::pop (/src/train/queue.cc:31)", "step (/src/train/train.cu:10)",
         "main (/src/train/train.cu:30)"],
    42: ["handle_alarm (/src/train/signals.cc:7)", "Queue::pop (/src/train/queue.cc:31)", "main (/src/train/train.cu:30)"],
    43: ["FileDataset.__getitem__ (/src/dataset.py:9)", "train (/src/train.py:12)", "<module> (/src/train.py:20)"],
})
GEMM = "void gemm_kernel<float, 128, 64>(float const*, float const*, float*, int)"
RELU = "relu(float*, int)"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def us(ns):
    return "%d.%03d" % (ns // 1000, ns % 1000)


class Trace:
    """Events in the order of the file; times in ns."""

    def __init__(self, rank=0, world=1, pid=4100):
        self.rank, self.world, self.pid = rank, world, pid
        self.lines = []
        self.correlation = 0
        self.seen = set()
        self.counts = {"calls": 0, "kernels": 0, "memcpys": 0, "memsets": 0, "arrows": 0, "ranges": 0}
        for pid_, name, label in ((pid, "train", "CPU"), (0, "GPU 0 NVIDIA H200 (rank %d, train)" % rank, "GPU 0")):
            self.meta("process_name", pid_, 0, {"name": name})
            self.meta("process_labels", pid_, 0, {"labels": label})
        self.meta("thread_name", pid, pid, {"name": "main"})
        self.meta("thread_name", 0, 7, {"name": "stream 7"})
        self.meta("thread_name", 0, 20, {"name": "stream 20"})

    def meta(self, name, pid, tid, args):
        self.raw('{"ph": "M", "name": "%s", "pid": %d, "tid": %d, "ts": %s, "args": %s}'
                 % (name, pid, tid, us(BASE), json.dumps(args)))

    def raw(self, line):
        self.lines.append(line)

    def slice(self, cat, name, pid, tid, ts, dur, args):
        self.raw('{"ph": "X", "cat": "%s", "name": %s, "pid": %d, "tid": %d, "ts": %s, "dur": %s, "args": %s}'
                 % (cat, json.dumps(name), pid, tid, us(ts), us(dur), json.dumps(args)))

    def range(self, name, ts, dur):
        self.counts["ranges"] += 1
        self.slice("user_annotation", name, self.pid, self.pid, ts, dur, {"External id": 900000 + self.counts["ranges"]})

    def stack_args(self, stack):
        args = {"stack": stack}
        if stack not in self.seen:
            self.seen.add(stack)
            args["frames"] = STACKS[stack]
        return args

    def block(self, name, ts, operation, stack=None, result=0, **args):
        """A call that allocates or releases, of 5 us."""
        self.correlation += 1
        self.counts["calls"] += 1
        args = {"correlation": self.correlation, **({"result": result} if result else {}), "memory": operation,
                **{"memory " + key: value for key, value in args.items()}, "memory device": 0, "memory context": 1}
        self.slice("cuda_runtime", name, self.pid, self.pid, ts, 5_000, {**args, **(self.stack_args(stack) if stack else {})})

    def call(self, name, ts, dur, stack=None):
        self.correlation += 1
        self.counts["calls"] += 1
        args = {"cbid": 211, "correlation": self.correlation}
        if stack:
            args.update(self.stack_args(stack))
        self.slice("cuda_runtime", name, self.pid, self.pid, ts, dur, args)
        return self.correlation

    def launch(self, call, kind, name, ts, call_ns, gpu_ts, gpu_ns, stack, stream=7, **more):
        corr = self.call(call, ts, call_ns, stack)
        args = {"device": 0, "context": 1, "stream": stream, "correlation": corr}
        if stack:
            args["stack"] = stack
        if kind == "kernel":
            args = dict({"queued": 0}, **args, **{"registers per thread": 32, "shared memory": 0,
                        "blocks per SM": 1.5, "warps per SM": 12.0, "grid": [64, 1, 1], "block": [256, 1, 1],
                        "est. achieved occupancy %": 19})
            self.counts["kernels"] += 1
        elif kind == "gpu_graph":
            self.counts["graphs"] = self.counts.get("graphs", 0) + 1
        else:
            self.counts["memcpys" if kind == "gpu_memcpy" else "memsets"] += 1
        args.update(more)
        if stack:
            args["launched by"] = " < ".join(f.replace("/src/train/", "") for f in STACKS[stack])
        self.raw('{"ph": "s", "id": %d, "pid": %d, "tid": %d, "ts": %s, "cat": "ac2g", "name": "ac2g"}'
                 % (corr, self.pid, self.pid, us(ts)))
        self.slice(kind, name, 0, stream, gpu_ts, gpu_ns, args)
        self.raw('{"ph": "f", "id": %d, "pid": 0, "tid": %d, "ts": %s, "cat": "ac2g", "name": "ac2g", "bp": "e"}'
                 % (corr, stream, us(gpu_ts)))
        self.counts["arrows"] += 1

    def header(self):
        return ('{\n"schemaVersion": 1,\n"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150121545728,'
                ' "computeMajor": 9, "computeMinor": 0, "numSms": 132}],\n'
                '"distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d},\n'
                '"cupti_version": 130000, "cuda_runtime_version": 13000, "cuda_driver_version": 13000,\n'
                '"metadata": {"gputrace_version": "0.1.0", "hostname": "n3"},\n"displayTimeUnit": "ns",\n'
                '"baseTimeNanoseconds": 1782967788000000000,\n"traceEvents": [\n' % (self.rank, self.world))

    def ledger(self):
        counts = self.counts
        return json.dumps({
            "calls_seen": counts["calls"], "calls_written": counts["calls"],
            "records_kernel": counts["kernels"], "records_memcpy": counts["memcpys"],
            "records_memset": counts["memsets"], "kernels_written": counts["kernels"],
            "memcpys_written": counts["memcpys"], "memsets_written": counts["memsets"],
            "arrows_written": counts["arrows"], "ranges_written": counts["ranges"],
            **({"records_graph": counts["graphs"], "graphs_written": counts["graphs"], "graphs_untimed": 0,
                "graphs_not_written": 0, "graphs_left_out": 0} if "graphs" in counts else {}),
            **({"records_sync": counts["syncs"], "syncs_written": counts["syncs"]} if "syncs" in counts else {}),
            **({"samples_received": counts["samples"], "samples_written": counts["samples"],
                "samples_skipped": 3} if "samples" in counts else {})})

    def sample(self, ts, stack):
        self.counts["samples"] = self.counts.get("samples", 0) + 1
        frame = STACKS[stack][0].replace("/src/", "")
        self.raw('{"ph": "i", "s": "t", "cat": "cpu_sample", "name": %s, "pid": %d, "tid": %d, "ts": %s, "args": %s}'
                 % (json.dumps(frame), self.pid, 33554432 + self.pid, us(ts),
                    json.dumps(dict({"state": "running"}, **self.stack_args(stack)))))

    def closed(self):
        end = ('{"ph": "i", "s": "g", "cat": "gputrace", "name": "Record Window End", "pid": %d, "tid": %d, "ts": %s,'
               ' "args": {}}' % (self.pid, self.pid, us(BASE + 10**9)))
        return self.header() + ",\n".join(self.lines + [end]) + '\n], "ledger": %s, "traceName": "train"}\n' % self.ledger()

    def running(self):
        """The array form that a killed process leaves."""
        header = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
                  "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.world},
                  "displayTimeUnit": "ns", "baseTimeNanoseconds": 1782967788000000000}
        facts = {"name": "train", "header": header, "pad": ""}
        line = '{"ph": "M", "name": "process_name", "pid": %d, "tid": 0, "ts": %s, "args": %s}'
        text = line % (self.pid, us(BASE), json.dumps(facts))
        facts["pad"] = " " * (1000 - len(text))
        return "[" + line % (self.pid, us(BASE), json.dumps(facts)) + "\n," + "\n,".join(self.lines[1:]) + "\n"


def train(trace, steps=3, gemm_ns=200_000, load_ns=300_000, late_ns=0):
    """Each step lasts 1 ms, plus the time of loading beyond 300 us."""
    t = BASE + 1_000_000
    for step in range(steps):
        extra = load_ns - 300_000
        late = gemm_ns - 200_000 + step * 1000
        trace.range("ProfilerStep#%d" % step, t, 990_000 + extra)
        trace.range("load", t, load_ns)
        t += extra
        trace.launch("cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", t + 300_000, 5_000,
                     t + 310_000, 40_000, 3, bytes=1 << 20, **{"memory bandwidth (GB/s)": 26.2144})
        trace.range("forward", t + 320_000, 40_000)
        trace.launch("cudaLaunchKernel", "kernel", GEMM, t + 325_000, 4_000, t + 355_000, gemm_ns + step * 1000, 1)
        trace.launch("cudaLaunchKernel", "kernel", RELU, t + 335_000, 4_000, t + 560_000 + late, 50_000, 2)
        trace.launch("cudaLaunchKernelExC", "kernel", NCCL, t + 370_000, 6_000, t + 400_000 + late_ns, 250_000 - late_ns, 4, stream=20,
                     **{"Collective name": "allreduce", "Group size": 2})
        trace.launch("cudaMemsetAsync", "gpu_memset", "Memset (Device)", t + 380_000, 2_000, t + 660_000 + late, 10_000, 5,
                     bytes=4096, **{"memory bandwidth (GB/s)": 0.4096})
        trace.call("cudaStreamSynchronize", t + 390_000, 300_000 + late, 5)
        t += 1_000_000
    return trace


def whole_graphs(graph_ns=400_000):
    """Four steps of 1 ms, --graphs=whole: a copy of 40 us, a graph that begins 10 us behind it, a kernel of 50 us on
    another stream in the last 20 us of the graph. The last step replays another graph of 100 us instead."""
    trace, t = Trace(), BASE + 1_000_000
    for step in range(4):
        ns = graph_ns if step < 3 else 100_000
        trace.launch("cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", t + 300_000, 5_000,
                     t + 310_000, 40_000, 3, bytes=1 << 20, **{"memory bandwidth (GB/s)": 26.2144})
        trace.launch("cudaGraphLaunch", "gpu_graph", "Graph 7" if step < 3 else "Graph 9", t + 320_000, 9_000, t + 360_000, ns, 1,
                     **{"graph id": 7 if step < 3 else 9, "nodes": 120})
        trace.launch("cudaLaunchKernel", "kernel", RELU, t + 335_000, 4_000, t + 340_000 + ns, 50_000, 2, stream=20)
        trace.call("cudaStreamSynchronize", t + 345_000, 50_000 + ns, 5)
        t += 1_000_000
    return trace


def memory():
    """Three steps: weights of 64 MB stay, 16 MB of activations go (in the second step 96 MB), 1 MiB is forgotten in
    each. Then 4 GB too many, and two frees that are wrong."""
    trace, t, address = Trace(), BASE + 1_000_000, 0x7f0000000000
    trace.block("cudaMalloc", t, "allocate", 5, kind="device", address=address, bytes=64_000_000)
    trace.block("cudaHostAlloc", t + 10_000, "allocate", 3, kind="pinned", address=0x5000000, bytes=8_000_000)
    for step in range(3):
        t += 1_000_000
        trace.range("ProfilerStep#%d" % step, t, 900_000)
        trace.block("cudaMallocAsync", t + 100_000, "allocate", 1, kind="pool", address=address + 1,
                    bytes=96_000_000 if step == 1 else 16_000_000)
        trace.block("cudaMalloc", t + 200_000, "allocate", 2, kind="device", address=address + 16 + step, bytes=1 << 20)
        trace.block("cudaFreeAsync", t + 700_000, "release", address=address + 1)
    trace.block("cudaMalloc", t + 950_000, "allocate", 1, 2, kind="device", bytes=4_000_000_000)
    trace.block("cudaFree", t + 960_000, "release", None, 1, address=address + 1)
    trace.block("cudaFree", t + 970_000, "release", None, 1, address=0x1000)
    trace.block("cudaFree", t + 980_000, "release", address=0x2000)
    return trace


def sampled():
    """Loading takes 2.3 ms of each step; the first has no sample there. One sample is during GPU work."""
    trace, t = train(Trace(), load_ns=2_300_000), BASE + 1_000_000
    for step in (1, 2):
        for at, stack in ((200, 20), (700, 20), (1200, 21), (1700, 20), (2200, 22), (2700, 20)):
            trace.sample(t + step * 3_000_000 + at * 1000, stack)
    return trace


def python_program():
    """Python frames, operators, a range, and launches with incomplete data."""
    trace, t = Trace(), BASE + 1_000_000
    trace.counts["ranges"] += 2
    trace.slice("cpu_op", "aten::linear", trace.pid, trace.pid, t, 50_000, {"External id": 1})
    trace.slice("cpu_op", "aten::addmm", trace.pid, trace.pid, t + 1_000, 20_000, {"External id": 2})
    trace.range("forward", t, 100_000)
    for i, (stack, gpu_ns) in enumerate(((6, 10_000), (7, 20_000), (8, 40_000), (None, 5_000), (6, 25_000))):
        operator = {0: 2, 1: 1}.get(i)
        trace.launch("cudaLaunchKernel", "kernel", "kernel_%d" % (i % 3), t + 5_000 + i * 40_000, 2_000,
                     t + 10_000 + i * 50_000, gpu_ns, stack, **({"External id": operator} if operator else {}),
                     **({"nvtx": "forward"} if i < 3 else {}))
    return trace


def places():
    """Launches whose call stacks show where the host was between them: 1 ms, 2 ms, ... of idle time."""
    trace, t = Trace(), BASE + 1_000_000
    for i, stack in enumerate((30, 31, 31, 32, 33, 34, 35, 36, 37, 38, 39, 39)):
        t += i * 1_000_000
        trace.launch("cudaLaunchKernel", "kernel", "kernel", t, 2_000, t + 2_000, 10_000, stack)
    return trace


def asynchronous():
    """Calls that look like waits but are not, each 1 ms long before its copy or kernel; and calls that wait."""
    trace, t = Trace(), BASE + 1_000_000
    for name in ("cudaLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cudaMemcpy2DAsync", "cuMemsetD8Async"):
        trace.launch(name, "kernel", "work", t, 1_000_000, t + 990_000, 10_000, None)
        t += 1_000_000
    for name in ("cudaFreeAsync", "cudaFree", "cudaStreamSynchronize"):
        trace.call(name, t, 900_000)
        trace.launch("cudaLaunchKernel", "kernel", "work", t + 900_000, 5_000, t + 904_000, 10_000, None)
        t += 1_000_000
    return trace


def nested():
    """Calls inside calls: the host was in the outer one before, between and after the inner ones."""
    trace, t = Trace(), BASE + 1_000_000
    trace.launch("cudaLaunchKernel", "kernel", "work", t, 2_000, t + 1_000, 10_000, None)
    trace.call("cudaDeviceSynchronize", t + 5_000, 985_000)
    trace.call("cuCtxGetCurrent", t + 6_000, 1_000)
    trace.call("cuCtxSynchronize", t + 100_000, 300_000)
    trace.launch("cudaLaunchKernel", "kernel", "work", t + 1_000_000, 5_000, t + 1_010_000, 10_000, None)
    return trace


def waiting():
    """Kernels that begin 20 ms after their launch, which began in the gap, or before it and ended in it. And calls that wait."""
    trace, t = Trace(), BASE + 1_000_000
    trace.launch("cudaLaunchKernel", "kernel", "first", t, 5_000, t + 5_000, 10_000, None)
    trace.launch("cudaLaunchKernel", "kernel", "late", t + 20_000, 5_000, t + 20_025_000, 10_000, None)
    trace.launch("cudaLaunchKernel", "kernel", "slow", t + 20_030_000, 10_000, t + 40_040_000, 10_000, None)
    t += 41_000_000
    for name in ("cuMemFree_v2", "cudaMemcpy2D", "cudaMemcpyToSymbol", "cuMemFreeAsync", "cuMemcpyDtoD_v2"):
        trace.call(name, t, 900_000)
        trace.launch("cudaLaunchKernel", "kernel", "work", t + 900_000, 5_000, t + 904_000, 10_000, None)
        t += 1_000_000
    return trace


def host_functions():
    """Kernels on stream 7 behind host functions: of 5 ms; of two that overlap, 3 ms together; one that runs before the gap and
    into it; one without its call, into the next kernel; and one of another stream, which nothing waited for."""
    trace, t = Trace(), BASE + 1_000_000

    def wait(at, ns, corr, stream=7, **more):
        trace.slice("cuda_sync", "Host Function", 0, 1_000_000 + stream, at, ns, {
            "cuda_sync_kind": "Host Function", "stream": stream, "correlation": corr, "device": 0, "context": 1, "thread": 4107, **more})
        trace.counts["syncs"] = trace.counts.get("syncs", 0) + 1

    def kernel(at, gpu_at, gpu_ns=10_000):
        trace.launch("cudaLaunchKernel", "kernel", "work", at, 5_000, gpu_at, gpu_ns, 1)

    kernel(t, t + 5_000)
    corr = trace.call("cudaLaunchHostFunc", t + 20_000, 3_000, 2)
    kernel(t + 30_000, t + 5_050_000)
    wait(t + 40_000, 5_000_000, corr)
    t += 6_000_000
    kernel(t, t + 5_000)
    corr = trace.call("cudaGraphLaunch", t + 20_000, 3_000, 3)
    kernel(t + 25_000, t + 3_100_000)
    wait(t + 100_000, 2_000_000, corr, **{"graph id": 4, "graph node id": 1})
    wait(t + 200_000, 200_000, corr, **{"graph id": 4, "graph node id": 2})
    wait(t + 1_100_000, 2_000_000, corr, **{"graph id": 4, "graph node id": 3})
    t += 4_000_000
    corr = trace.call("cudaLaunchHostFunc", t, 3_000, 2)
    trace.launch("cudaLaunchKernel", "kernel", "other", t + 3_000, 5_000, t + 5_000, 500_000, 1, stream=20)
    kernel(t + 10_000, t + 1_000_000)
    wait(t + 5_000, 995_000, corr)
    t += 2_000_000
    kernel(t, t + 500_000)
    wait(t + 100_000, 500_000, 9999)
    t += 1_000_000
    corr = trace.call("cudaLaunchHostFunc", t, 3_000, 2)
    wait(t + 5_000, 800_000, corr, stream=20)
    kernel(t + 900_000, t + 905_000)
    return trace


def blocked():
    """Gaps of 2 ms and more in which the thread is in calls of the operating system; other threads are, too."""
    trace, t = Trace(), BASE + 1_000_000

    def block(name, ts, dur, stack, tid=trace.pid, **args):
        trace.counts["ranges"] += 1
        trace.slice("osrt", name, trace.pid, tid, ts, dur, {
            "External id": 0, **{key.replace("_", " "): value for key, value in args.items()}, **trace.stack_args(stack)})

    def kernel(at, stack=1):
        trace.launch("cudaLaunchKernel", "kernel", "work", at, 5_000, at + 5_000, 10_000, stack)

    kernel(t)
    # one place, two files; the larger one is named
    block("read", t + 100_000, 1_800_000, 40, bytes=1 << 20, descriptor=5, descriptor_kind="file", file="/data/shard-7")
    kernel(t + 2_000_000)
    block("read", t + 2_100_000, 800_000, 40, bytes=1 << 19, descriptor=6, descriptor_kind="file", file="/data/shard-8")
    block("read", t + 2_900_000, 50_000, 40, errno=4, result=-1, descriptor=6, descriptor_kind="file", file="/data/shard-8")
    kernel(t + 3_000_000)
    # a handler of a signal writes to a pipe while its thread waits, once; then the thread waits on, in a range
    t += 5_000_000
    block("write", t + 500_000, 200_000, 42, bytes=1, descriptor=3, descriptor_kind="pipe")
    block("pthread_cond_wait", t - 1_000_000, 2_500_000, 41, result=0)
    trace.range("fetch", t + 1_500_000, 400_000)
    kernel(t + 2_000_000)
    # the loader's range makes it loading; another thread's call is nothing of this one
    trace.range("dataloader", t + 2_050_000, 900_000)
    block("recv", t + 2_100_000, 800_000, 41, bytes=512, descriptor=9, descriptor_kind="socket")
    block("nanosleep", t + 2_000_000, 950_000, 41, tid=4107, result=0)
    kernel(t + 3_000_000)
    # a function on the stack loads data; a call inside a CUDA call is the CUDA call's
    block("open", t + 3_100_000, 300_000, 43, result=11, descriptor=11, descriptor_kind="file", file="/data/index \u00e9\n")
    trace.call("cudaDeviceSynchronize", t + 3_500_000, 400_000, 5)
    block("poll", t + 3_550_000, 300_000, 41, result=1)
    kernel(t + 4_000_000)
    return trace


def loading():
    """First launches in which the driver loads or compiles the kernel, calls that load, and launches that do not."""
    trace, t = Trace(), BASE + 1_000_000
    row = 8388608 + trace.pid

    def load(name, ts, dur, tid=row):
        trace.slice("overhead", name, trace.pid, tid, ts, dur, {})

    def kernel(name, at, ns, stack=1):
        trace.launch("cudaLaunchKernel", "kernel", name, at, ns, at + ns, 10_000, stack)

    trace.meta("thread_name", trace.pid, row, {"name": f"thread {trace.pid} tracing overhead"})
    kernel(GEMM, t, 5_000)
    load("Lazy Function Loading", t + 1_000_000, 40_000)
    kernel(RELU, t + 990_000, 1_500_000)
    # the tracer's own is no loading, nor what another thread's row has
    load("Buffer Flush", t + 3_010_000, 400_000)
    load("Lazy Function Loading", t + 3_010_000, 300_000, row + 7)
    kernel(GEMM, t + 3_000_000, 500_000)
    # compiled in a call of its own, and loaded at a question
    trace.call("cuModuleLoadData", t + 4_000_000, 700_000, 2)
    load("Runtime Triggered Module Loading", t + 5_000_000, 300_000)
    trace.call("cudaFuncGetAttributes", t + 4_990_000, 350_000, 2)
    kernel(GEMM, t + 6_000_000, 5_000)
    return trace


def mixed():
    """gemm 100 us, relu 1 ms, gemm 100 us without a gap; a gap of 50 us, gemm; a gap of 30 us, relu."""
    trace, t = Trace(), BASE + 1_000_000
    for name, at, dur in (("gemm", 0, 100), ("relu", 100, 1000), ("gemm", 1100, 100), ("gemm", 1250, 100), ("relu", 1380, 100)):
        trace.launch("cudaLaunchKernel", "kernel", name, t + at * 1000 - 4_000, 2_000, t + at * 1000, dur * 1000, None)
    return trace


def steps_elsewhere():
    """One thread launches, two others report steps: where both do, that of the first thread counts."""
    trace, t = Trace(), BASE + 1_000_000
    for i in range(4):
        trace.launch("cudaLaunchKernel", "kernel", "work", t + i * 100_000, 2_000, t + i * 100_000 + 1_000, 10_000, None)
    for tid, name, first, count in ((4200, "other", 0, 4), (4300, "ProfilerStep#7", 1, 3), (4400, "ProfilerStep#8", 0, 2)):
        trace.counts["ranges"] += 1
        trace.slice("user_annotation", name, trace.pid, tid, t + first * 100_000 - 1_000, count * 100_000,
                    {"External id": 900000 + tid})
    return trace


def lossy():
    trace = train(Trace(), steps=1)
    trace.raw('{"ph": "i", "s": "t", "cat": "gputrace", "name": "LOST", "pid": 4100, "tid": 4100, "ts": %s,'
              ' "args": {"count": 12, "cause": "ring full", "of what": "API calls"}}' % us(BASE + 1_500_000))
    text = trace.closed()
    return text.replace('"calls_seen": 6', '"calls_seen": 18, "calls_lost_ring_full": 12')


def with_books(trace, **more):
    """Adds more counts to the ledger."""
    return trace.closed().replace('"ledger": {', '"ledger": {' + json.dumps(more)[1:-1] + ", ")


def note(trace, name, **args):
    trace.raw('{"ph": "i", "s": "t", "cat": "gputrace", "name": "%s", "pid": 4100, "tid": 4100, "ts": %s, "args": %s}'
              % (name, us(BASE + 1_500_000), json.dumps(args)))


def noted():
    """The same losses many times, and very many different ones."""
    trace = train(Trace(), steps=1)
    for i in range(1000):
        note(trace, "kernel (untimed)", cause="no timestamp", count=1, what="CUPTI gave no usable time stamps")
        note(trace, "LOST", cause="ring full", **{"API calls": i, "what": "raise --ring-size"})
        note(trace, "LOST", cause="ring full", **{"NVTX ranges": 2, "what": "raise --ring-size"})
    for what in ("at address 0x8", "at address 0x8", 'said "7"'):
        note(trace, "crash", cause="SIGSEGV", what=what, stack=9)
    note(trace, "span", **{"duration (us)": 1.5})
    note(trace, "span", **{"duration (us)": 1.5})
    for i in range(70):
        note(trace, "odd", cause="cause %d" % i)
    return with_books(trace, kernels_untimed=1000)


FOREIGN = """[
{"ph": "B", "cat": "kernel", "name": "k1", "pid": 0, "tid": 7, "ts": 10, "args": {"device": 0, "stream": 7}},
{"ph": "E", "pid": 0, "tid": 7, "ts": 35.5},
{"ph": "X", "cat": "kernel", "name": "no duration", "pid": 0, "tid": 7, "ts": 40},
{"ph": "X", "cat": "kernel", "name": "overlaps", "pid": 0, "tid": 7, "ts": 30, "dur": 5.5},
{"ph": "X", "cat": "something else", "name": "unknown", "pid": "Spans", "tid": "x", "ts": 1, "dur": 99},
{"ph": "b", "cat": "async", "name": "a", "id": "0x1", "pid": 1, "tid": 1, "ts": 3},
{"name": "no phase", "pid": 1},
null,
]
"""


def overlapping():
    """Requests that overlap on the additional track of thread 100, all inside "whole"; A, B and C on thread 101. A kernel
    is named by the ranges open at its launch, which no event states."""
    def event(cat, name, tid, ts, dur, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 100, "tid": tid, "ts": ts, "dur": dur, "args": args}
    beside = 16777216 + 100
    events = [{"ph": "M", "name": "thread_name", "pid": 100, "tid": beside, "ts": 0, "args": {"name": "thread 100 ranges"}},
              event("user_annotation", "whole", beside, 0, 400)]
    events += [event("user_annotation", "req%d" % i, beside, i * 100, 150, domain="web") for i in range(3)]
    events += [event("user_annotation", name, tid, ts, dur) for name, tid, ts, dur in
               (("push", 100, 110, 30), ("A", 101, 0, 100), ("B", 101, 50, 100), ("C", 101, 120, 50))]
    for i, (name, tid, ts) in enumerate((("whole_req0", 100, 60), ("whole_req0_req1_push", 100, 120), ("whole_req2", 100, 260),
                                         ("B_C", 101, 130), ("none", 101, 300))):
        events.append(event("cuda_runtime", "cudaLaunchKernel", tid, ts, 2, correlation=i + 1))
        events.append(event("kernel", name, 7, ts + 10, 5, device=0, stream=7, correlation=i + 1))
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "X"}], "traceEvents": events})


# times before the clock's zero: a call at -50.5 us, its kernel at -20.25 us, a range around the call
BEFORE = """{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "baseTimeNanoseconds": 1782967788000000000, "traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": -50.5, "dur": 2, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": -20.25, "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "user_annotation", "name": "r", "pid": 100, "tid": 100, "ts": -60, "dur": 30, "args": {}}
]}
"""


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    folder = sys.argv[1]
    write(folder, "train.json", train(Trace()).closed())
    for rank in range(2):
        write(folder, "ranks/rank%d_n3_41%02d.1.pt.trace.json" % (rank, rank),
              train(Trace(rank, 2, 4100 + rank), gemm_ns=200_000 + rank * 50_000).closed())
    for rank, base in ((0, "1782967788000000000"), (1, "1782967788005000000")):
        write(folder, "clocks/rank%d.json" % rank, train(Trace(rank, 2, 4100 + rank)).closed().replace("1782967788000000000", base))
    # rank 1 comes 50 us late to each collective; the clock of its host is 5 ms ahead
    late = train(Trace(1, 2, 4101), late_ns=50_000).closed()
    for name, text in (("hosts/rank0.json", train(Trace(0, 2, 4100)).closed()),
                       ("hosts/rank1.json", late.replace("hostname\": \"n3", "hostname\": \"n4").replace("788000000000", "788005000000")),
                       ("hosts/helper.json", Trace(0, 2, 4102).closed())):
        write(folder, name, text)
    for pid in (4100, 4200):
        write(folder, "shared/n3_%d.1.pt.trace.json" % pid, train(Trace(pid=pid)).closed())
    write(folder, "python.json", python_program().closed())
    write(folder, "places.json", places().closed())
    write(folder, "slow_kernel.json", train(Trace(), gemm_ns=260_000).closed())
    write(folder, "slow_loader.json", train(Trace(), load_ns=2_300_000).closed())
    write(folder, "sampled.json", sampled().closed())
    write(folder, "memory.json", memory().closed())
    write(folder, "one_step.json", train(Trace(), steps=1).closed())
    write(folder, "graphs.json", whole_graphs().closed())
    write(folder, "slow_graphs.json", whole_graphs(graph_ns=500_000).closed())
    write(folder, "lossy.json", lossy())
    write(folder, "noted.json", noted())
    write(folder, "steps.json", steps_elsewhere().closed())
    write(folder, "asynchronous.json", asynchronous().closed())
    write(folder, "nested.json", nested().closed())
    write(folder, "waiting.json", waiting().closed())
    write(folder, "host_functions.json", host_functions().closed())
    write(folder, "blocked.json", blocked().closed())
    write(folder, "loading.json", loading().closed())
    write(folder, "mixed.json", mixed().closed())
    for key in ("times_reversed", "times_ahead", "times_unknown_clock", "gpu_before_launch", "stacks_refused"):
        write(folder, "books/%s.json" % key, with_books(train(Trace()), **{key: 1}))
    for key in ("launches_without_record", "calls_open_at_end"):
        for count in (1, 2):  # of 125 operations and 150 calls
            write(folder, "books/%s-%d.json" % (key, count), with_books(train(Trace(), steps=25), **{key: count}))
    write(folder, "books/none.json", train(Trace(), steps=25).closed())
    write(folder, "running.json", train(Trace(3, 8)).running())
    write(folder, "cut.json", train(Trace(3, 8)).running()[:-150])
    write(folder, "foreign.json", FOREIGN)
    write(folder, "before.json", BEFORE)
    write(folder, "overlapping.json", overlapping())
    write(folder, "wrong.json", '{"traceEvents": [\n{"ph": "X"},\n{"ph" "X"}\n]}\n')
    write(folder, "empty.json", "")
    write(folder, "no_gpu.json", '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}')
    write("", sys.argv[2], "")


main()
