# SPDX-License-Identifier: Apache-2.0
"""Launches kernels of the driver API from known lines and prints "launched<TAB>line<TAB>function" for each.

Three lines of one function, a method called in a loop, a thread, a generator; a graph, with "created"
for each of its nodes and "replayed" for each launch of the whole."""
import ctypes
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")
IMAGE = (b".version 8.0\n.target sm_80\n.address_size 64\n"
         b".visible .entry tick(.param .u64 p) { ret; }\n")


def check(result):
    if result:
        sys.exit(f"CUDA error {result}")


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
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(data))
    return function, context, arguments, data


function, context, arguments, data = prepare()
LAUNCH = (function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
launches = []


def note(what="launched"):
    """The line that calls this one, which also launches."""
    frame = sys._getframe(1)
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    launches.append(f"{what}\t{frame.f_lineno}\t{name}")


def three():
    check(cuda.cuLaunchKernel(*LAUNCH)), note()
    check(cuda.cuLaunchKernel(*LAUNCH)), note()
    if launches:
        check(cuda.cuLaunchKernel(*LAUNCH)), note()


class Model:
    def forward(self):
        for _ in range(3):
            check(cuda.cuLaunchKernel(*LAUNCH)), note()


def on_thread():
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuLaunchKernel(*LAUNCH)), note()


def steps():
    check(cuda.cuLaunchKernel(*LAUNCH)), note()
    yield 1
    check(cuda.cuLaunchKernel(*LAUNCH)), note()
    yield 2


def capture():
    """Three nodes from three lines; the launch of the whole graph is on a fourth."""
    stream, graph, executable = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    launch = LAUNCH[:8] + (stream,) + LAUNCH[9:]
    check(cuda.cuStreamBeginCapture_v2(stream, 0))
    check(cuda.cuLaunchKernel(*launch)), note("created")
    check(cuda.cuLaunchKernel(*launch)), note("created")
    check(cuda.cuLaunchKernel(*launch)), note("created")
    check(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
    check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(executable), graph, ctypes.c_ulonglong(0)))
    for _ in range(5):
        check(cuda.cuGraphLaunch(executable, stream)), note("replayed")


three()
Model().forward()
thread = threading.Thread(target=on_thread)
thread.start()
thread.join()
list(steps())
capture()
check(cuda.cuCtxSynchronize())
print("\n".join(launches))
