# SPDX-License-Identifier: Apache-2.0
"""A Python program that hangs until the file GATE.1 is there or for some seconds, and then goes on.

    hang_python.py kernel|library|read|busy|other

Prints "line<TAB>NAME<TAB>NUMBER" for each line that is marked #NAME."""

import ctypes
import os
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
IMAGE = (b".version 8.0\n.target sm_80\n.address_size 64\n"
         b".visible .entry _Z4spinPi(.param .u64 p) { ret; }\n"
         b".visible .entry tick(.param .u64 p) { ret; }\n")


def check(result):
    if result:
        sys.exit("CUDA error %d" % result)


def prepare():
    device, module, context, data = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
    tick, spin = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuModuleLoadData(ctypes.byref(module), IMAGE))
    check(cuda.cuModuleGetFunction(ctypes.byref(tick), module, b"tick"))
    check(cuda.cuModuleGetFunction(ctypes.byref(spin), module, b"_Z4spinPi"))
    check(cuda.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(64)))
    return tick, spin, (ctypes.c_void_p * 1)(ctypes.addressof(data)), data


def launch(function):
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))  #launch


def wait():
    check(cuda.cuCtxSynchronize())  #wait


def is_open():
    return "GATE" not in os.environ or os.path.exists(os.environ["GATE"] + ".1")


def hang_kernel():
    launch(spin)
    wait()


def hang_library():
    """The kernel is launched by a line of a package."""
    package = {"cuda": cuda}
    exec(compile("def launch(*words):\n    return cuda.cuLaunchKernel(*words)\n", "/opt/site-packages/other/__init__.py", "exec"), package)
    check(package["launch"](spin, 1, 1, 1, 32, 1, 1, 0, None, arguments, None))  #library
    wait()


def write_later(end):
    while not is_open():
        time.sleep(0.01)
    os.write(end, b"x")


def hang_read():
    ends = os.pipe()
    threading.Thread(target=write_later, args=(ends[1],)).start()
    os.read(ends[0], 1)  #read


def compute():
    total = 0
    for i in range(20000):
        total += i
    return total


def hang_busy():
    while not is_open():
        compute()


def hold(end):
    os.read(end, 1)  #hold


def turn():
    while not is_open():
        compute()


def hang_other():
    """Threads that have never called CUDA: one waits, one computes, and the main one for both."""
    ends = os.pipe()
    threads = [threading.Thread(target=hold, args=(ends[0],)), threading.Thread(target=turn)]
    for thread in threads:
        thread.start()
    threads[1].join()  #join
    os.write(ends[1], b"x")
    threads[0].join()


tick, spin, arguments, data = prepare()
launch(tick)
wait()
{"kernel": hang_kernel, "library": hang_library, "read": hang_read, "busy": hang_busy, "other": hang_other}[sys.argv[1]]()
launch(tick)
wait()
with open(__file__, encoding="utf-8") as source:
    for number, text in enumerate(source, 1):
        if text.rstrip().rpartition("#")[2].isidentifier() and "  #" in text:
            print("line\t%s\t%d" % (text.rstrip().rpartition("#")[2], number))
print("%s is over" % sys.argv[1])
