# SPDX-License-Identifier: Apache-2.0
"""A training loop with a slow data loader: for most of each step the GPU waits for decode_image, which
uses the processor, and for read_block, which sleeps.

    slow_loader.py STEPS

Prints "line<TAB>NAME<TAB>NUMBER" for each line that is marked #NAME."""

import ctypes
import sys
import time

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
    return function, (ctypes.c_void_p * 1)(ctypes.addressof(data)), data


def decode_image():
    until = time.monotonic() + 0.03
    value = 1
    while time.monotonic() < until:
        value = (value * 48271 + 11) % 2147483647  #burn
    return value


def read_block():
    time.sleep(0.01)  #sleep


def load_batch():
    read_block()
    return decode_image()


def train_step():
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))


function, arguments, data = prepare()
for _ in range(int(sys.argv[1])):
    load_batch()
    train_step()

with open(__file__, encoding="utf-8") as file:
    for number, line in enumerate(file, 1):
        if "  #" in line:
            print("line", line.split("#")[-1].strip(), number, sep="\t")
