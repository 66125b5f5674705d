#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a trace in gputrace's own form: N launches, each an API slice, a kernel and their arrow.

usage: generate_trace.py LAUNCHES FILE [--cut] [--frames]

250000 launches make 1 M events. The numbers are a function of the launch's index, so the file is
the same on every machine. --cut writes the array form of a killed process instead of the object.
--frames adds call stacks: 2000 of 20 frames each, of 5000 different ones.
"""
import sys

KERNELS = [
    "void gemm_kernel<float, 128, 64>(float const*, float const*, float*, int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "softmax_warp_forward<float, 8>(float*, float const*, int)",
    "layer_norm_kernel(float const*, float*, int, float)",
]
HEADER = """{
"schemaVersion": 1,
"deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150121545728, "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1},
"metadata": {"gputrace_version": "0.1", "hostname": "n3"},
"displayTimeUnit": "ns",
"baseTimeNanoseconds": 1782967788000000000,
"traceEvents": [
"""
NAMES = [
    '{"ph": "M", "name": "process_name", "pid": 4100, "tid": 0, "ts": 5000000000.000, "args": {"name": "train"}}',
    '{"ph": "M", "name": "thread_name", "pid": 4100, "tid": 4100, "ts": 5000000000.000, "args": {"name": "train"}}',
    '{"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 5000000000.000, "args": {"name": "GPU 0"}}',
    '{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 5000000000.000, "args": {"name": "stream 7"}}',
]
LEDGER = ("calls_seen", "calls_received", "calls_written", "launches_seen", "records_kernel", "kernels_written",
          "arrows_written")
LAST = '{"ph": "i", "name": "Record Window End", "pid": 4100, "tid": 4100, "ts": %s, "s": "g"}'


def us(ns):
    return "%d.%03d" % (ns // 1000, ns % 1000)


FRAMES = [
    "forward (/venv/lib/python3.11/site-packages/torch/nn/modules/module%d.py:%d)",
    "at::native::op%d_kernel(at::TensorIteratorBase&) (/venv/lib/python3.11/site-packages/torch/lib/libtorch.so+0x%x)",
    "step (/src/project/train%d.py:%d)",
    "app::layer%d<float>::forward(Tensor const&) (/opt/app/src/layer.cu:%d)",
]


def frames(stack):
    numbers = (stack * 7919 + depth * 104729 for depth in range(20))
    return ", ".join('"%s"' % (FRAMES[n % 4] % (n % 5000 // 50, n % 5000)) for n in numbers)


def stack_of(index, with_frames):
    if not with_frames:
        return str(index % 50 + 1) + (', "frames": ["step (train.cu:%d)"]' % (index + 10) if index < 50 else "")
    return "%d" % (index % 2000 + 1) + (', "frames": [%s]' % frames(index) if index < 2000 else "")


def launch(index, with_frames):
    stack = stack_of(index, with_frames)
    name = KERNELS[index % len(KERNELS)]
    corr = index + 1
    call = 5000000000000 + index * 12000
    call_ns = 2900 + index * 37 % 1800
    start = call + 3059 + index * 13 % 500
    length = 4000 + index * 7919 % 4000
    return [
        '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4100, "tid": 4100, "ts": %s, "dur": %s,'
        ' "args": {"cbid": 211, "correlation": %d, "stack": %s}}' % (us(call), us(call_ns), corr, stack),
        '{"ph": "s", "id": %d, "pid": 4100, "tid": 4100, "ts": %s, "cat": "ac2g", "name": "ac2g"}' % (corr, us(call)),
        '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": %s, "dur": %s, "args": {"queued": 0,'
        ' "device": 0, "context": 1, "stream": 7, "correlation": %d, "registers per thread": 122, "shared memory": 49152,'
        ' "blocks per SM": 3.878788, "warps per SM": 31.030304, "grid": [64, 8, 1], "block": [256, 1, 1],'
        ' "est. achieved occupancy %%": 48, "graph id": 0, "graph node id": 0, "stack": %s}}'
        % (name, us(start), us(length), corr, stack.split(",")[0]),
        '{"ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": %s, "cat": "ac2g", "name": "ac2g", "bp": "e"}' % (corr, us(start)),
    ]


def main():
    count, path = int(sys.argv[1]), sys.argv[2]
    cut = "--cut" in sys.argv[3:]
    with open(path, "w", encoding="utf-8") as out:
        out.write(("[" if cut else HEADER) + ",\n".join(NAMES))
        for index in range(count):
            out.write(",\n" + ",\n".join(launch(index, "--frames" in sys.argv[3:])))
        if not cut:
            out.write(",\n" + LAST % us(5000000000000 + count * 12000))
            ledger = ", ".join('"%s": %d' % (key, count) for key in LEDGER)
            out.write('\n], "ledger": {%s}, "traceName": "train"}\n' % ledger)


main()
