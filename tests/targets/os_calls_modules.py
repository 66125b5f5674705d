# SPDX-License-Identifier: Apache-2.0
"""Blocks in code of modules, which is gone right after it has run: os_calls_modules.py N."""
import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
memory = ctypes.c_uint64()


def check(result):
    if result:
        sys.exit(f"CUDA error {result}")


def prepare():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)))


def train():
    check(cuda.cuMemsetD8_v2(memory, 0, ctypes.c_size_t(64)))
    check(cuda.cuCtxSynchronize())


prepare()
train()
others = []
for number in range(int(sys.argv[1])):
    source = "import time\n" + "\n" * number + "time.sleep(0.03)\n"
    exec(compile(source, f"/modules/gone{number}.py", "exec"), {})
    others.append([compile(f"a = {i}\nb = {number}\n", f"/modules/other{number}-{i}.py", "exec") for i in range(100)])
train()
time.sleep(0.1)
