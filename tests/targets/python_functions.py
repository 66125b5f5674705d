# SPDX-License-Identifier: Apache-2.0
"""Calls functions, some of which are recorded by --python-functions=step,*.Model.*,numbers,spawned, and
prints the expected ranges: "expect<TAB>name<TAB>count"; last, sys.path."""

import ctypes
import os
import sys
import threading

cuda = ctypes.CDLL("libcuda.so.1")


def check(result):
    if result:
        sys.exit("CUDA error %d" % result)


def use_cuda():
    """Enough for a trace: one memory set."""
    device, context, data = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuMemAlloc_v2(ctypes.byref(data), ctypes.c_size_t(64)))
    return data


class Model:
    def forward(self):
        check(cuda.cuMemsetD8_v2(data, 0, ctypes.c_size_t(64)))
        return helper()

    @classmethod
    def make(cls):
        return cls()


def helper():
    return 1


def numbers():
    yield 1
    try:
        yield 2
    except ValueError:
        pass
    yield 3


def fail(depth):
    """Leaves step() through an exception."""
    if depth == 0:
        raise ValueError("on purpose")
    fail(depth - 1)


def step(bad):
    Model.make().forward()
    if bad:
        fail(3)


def spawned():
    helper()


data = use_cuda()
step(False)
try:
    step(True)
except ValueError:
    pass
generator = numbers()
next(generator)
next(generator)
generator.throw(ValueError())
list(generator)
thread = threading.Thread(target=spawned)
thread.start()
thread.join()
for name, often in (("step", 2), ("Model.forward", 2), ("Model.make", 2), ("numbers", 4),
                    ("spawned", 1)):
    print("expect", "__main__." + name, often, sep="\t")
print("path", any("share/python" in path for path in sys.path), getattr(sys, "was_customized", 0),
      "sitecustomize" in sys.modules, os.path.basename(sys.path[0]), sep="\t")
