# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program that launches kernels through ctypes from inside operators, and prints which:
"expect<TAB>operator<TAB>function that launches". Runs with PyTorch and with its stand-in (fake_torch/).
It does not refer to gputrace."""

import ctypes
import importlib.util
import queue
import sys
import threading

if importlib.util.find_spec("torch") is None:  # many libraries check this before importing it
    sys.exit("no torch")

import torch

cuda = ctypes.CDLL("libcuda.so.1")
IMAGE = (b".version 8.0\n.target sm_80\n.address_size 64\n"
         b".visible .entry tick(.param .u64 p) { ret; }\n")


def check(result):
    if result:
        sys.exit("CUDA error %d" % result)


def prepare():
    device, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    context, data = ctypes.c_void_p(), ctypes.c_uint64()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), IMAGE))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"tick"))
    check(cuda.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(64)))
    return function, context, (ctypes.c_void_p * 1)(ctypes.addressof(data)), data


function, context, arguments, data = prepare()


def launch():
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))


def allocate():
    """A call with a stack that launches nothing."""
    check(cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(64)))


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        launch()
        allocate()
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        check(cuda.cuCtxSetCurrent(context))
        launch()
        return grad * 2


if "sums" in sys._xoptions:
    Scale.sum_gradients = staticmethod(launch)


def step():
    x = torch.ones(3, 4, requires_grad=True)
    y = Scale.apply(x)
    y.sum().backward()


def on_thread():
    check(cuda.cuCtxSetCurrent(context))
    Scale.apply(torch.ones(3, 4))


def profiled():
    """The program's own profiler must not notice the tracer's."""
    with torch.autograd.profiler.profile():
        Scale.apply(torch.ones(3, 4))


def run_engine(tasks, profiler):
    """As PyTorch's engine: a thread of its own, with the profiler of the one that called backward."""
    torch.autograd.profiler.active.config = profiler
    for loss in iter(tasks.get, None):
        loss.backward()
        tasks.task_done()


def steps_of_an_engine(count):
    tasks = queue.Queue()
    engine = threading.Thread(target=run_engine, args=(tasks, torch.autograd.profiler.active.config))
    engine.start()
    for _ in range(count):
        tasks.put(Scale.apply(torch.ones(3, 4, requires_grad=True)).sum())
        tasks.join()
    tasks.put(None)
    engine.join()


if "engine" in sys._xoptions:
    steps_of_an_engine(400)
    sys.exit()

launch()  # outside all operators
step()
step()
thread = threading.Thread(target=on_thread)
thread.start()
thread.join()
profiled()
step()
for operator, of_function, often in (("", "launch", 2), ("Scale", "forward", 4),
                                     ("ScaleBackward", "backward", 3)):
    for _ in range(often):
        print("expect", operator, of_function, sep="\t")
