# SPDX-License-Identifier: Apache-2.0
"""Prints what a call costs, least of some rounds in ns of processor time: of chosen(), of another Python
function, of a builtin. --python-functions=chosen decides."""
import ctypes
import time

ctypes.CDLL("libcuda.so.1").cuInit(0)  # a trace begins with the first use of CUDA


def chosen():
    pass


def other():
    pass


def loop(function, times):
    for _ in range(times):
        function()


def measure(function, times=20000, rounds=25):
    loop(function, times)
    costs = []
    for _ in range(rounds):
        start = time.thread_time_ns()
        loop(function, times)
        costs.append((time.thread_time_ns() - start) / times)
    return min(costs)


print(*("%.1f" % measure(function) for function in (chosen, other, dict)))
