# SPDX-License-Identifier: Apache-2.0
"""Prints what one aten operator on small CPU tensors costs, least and median in ns of processor time.
--profiler: under torch.profiler, --profiler-shapes: with shapes."""
import ctypes
import statistics
import sys
import time

import torch

ctypes.CDLL("libcuda.so.1").cuInit(0)  # a trace begins with the first use of CUDA


def measure(times=1000, rounds=25):
    x = torch.ones(2, 2)
    costs = []
    for _ in range(rounds):
        start = time.thread_time_ns()
        for _ in range(times):
            torch.add(x, x)
        costs.append((time.thread_time_ns() - start) / times)
    return "%.0f %.0f" % (min(costs), statistics.median(costs))


if len(sys.argv) > 1:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                record_shapes=sys.argv[1].endswith("shapes")):
        print(measure())
else:
    print(measure())
