# SPDX-License-Identifier: Apache-2.0
"""Launches kernels from known lines of nested functions, and prints the slices expected of --stack-lane.

Each calling line is marked #NAME; the slices are printed as
"expect<TAB>depth<TAB>function<TAB>first line<TAB>last line<TAB>calls"; depth 0 is the outermost frame of
this program. The calls before the first launch are made from one line."""

import ctypes
import sys
import threading

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
    check(cuda.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(64)))  #prepare
    return function, context, (ctypes.c_void_p * 1)(ctypes.addressof(data)), data


def launch():
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))  #launch


def forward():
    launch()  #forward1
    launch()  #forward2


def backward():
    for _ in range(3):
        launch()  #backward


def step():
    forward()  #step1
    backward()  #step2


def on_thread():
    check(cuda.cuCtxSetCurrent(context))
    launch()  #thread


function, context, arguments, data = prepare()  #main1
for _ in range(2):
    step()  #main2
thread = threading.Thread(target=on_thread)
thread.start()
thread.join()
launch()  #main3

EXPECTED = [  # depth, function, first and last line, calls, slices
    (0, "<module>", "main1", "main3", 12, 1),
    (1, "prepare", "prepare", "prepare", 1, 1),
    (1, "step", "step1", "step2", 10, 1),
    (2, "forward", "forward1", "forward2", 2, 2),
    (3, "launch", "launch", "launch", 1, 4),
    (2, "backward", "backward", "backward", 3, 2),
    (3, "launch", "launch", "launch", 3, 2),
    (1, "launch", "launch", "launch", 1, 1),
    # the thread's track
    (0, "on_thread", "thread", "thread", 1, 1),
    (1, "launch", "launch", "launch", 1, 1),
]

with open(__file__, encoding="utf-8") as file:
    LINES = {line.split("#")[-1].strip(): number for number, line in enumerate(file, 1)
             if "  #" in line}
for depth, name, first, last, calls, often in EXPECTED:
    for _ in range(often):
        print("expect", depth, name, LINES[first], LINES[last], calls, sep="\t")
