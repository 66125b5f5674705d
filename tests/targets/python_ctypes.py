# SPDX-License-Identifier: Apache-2.0
"""CUDA from Python through ctypes: dlsym does not find the hooks, so everything comes from CUPTI."""

import ctypes
import sys

cudart = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libcudart.so.13")


def check(result):
    if result:
        sys.exit("CUDA error %d" % result)


def main():
    device = ctypes.c_void_p()
    host = ctypes.create_string_buffer(512)
    check(cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(512)))
    for _ in range(4):
        check(cudart.cudaMemcpy(device, host, ctypes.c_size_t(512), 1))
    check(cudart.cudaMemset(device, 0, ctypes.c_size_t(128)))
    check(cudart.cudaDeviceSynchronize())
    check(cudart.cudaFree(device))
    print("expect\tmemcpy\tHtoD\t512\t4\t*")
    print("expect\tmemset\t128\t1\t*")
    print("expect\tcall\tcudaMemcpy\t4")
    print("expect\tcall\tcudaMemset\t1")
    print("expect\tcall\tcudaMalloc\t1")


main()
