# SPDX-License-Identifier: Apache-2.0
"""Installs a seccomp filter that kills for the calls that the tracer makes only without one, then uses CUDA.

    sandboxed.py LIBRARY {first, later}
"""
import ctypes
import os
import sys

sandbox = ctypes.CDLL(sys.argv[1])
cudart = ctypes.CDLL("libcudart.so.13")
ROUNDS = 30


def launch_in_sandbox(device):
    for _ in range(ROUNDS):
        assert cudart.cudaMemset(device, 0, ctypes.c_size_t(128)) == 0


def warm_up(device):
    for _ in range(ROUNDS):
        assert cudart.cudaMemset(device, 1, ctypes.c_size_t(64)) == 0


def main():
    device = ctypes.c_void_p()
    if sys.argv[2] == "first" and sandbox.sandbox_install():
        sys.exit(77)
    assert cudart.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(512)) == 0
    warm_up(device)
    if sys.argv[2] == "later" and sandbox.sandbox_install():
        sys.exit(77)
    launch_in_sandbox(device)
    assert cudart.cudaDeviceSynchronize() == 0
    print("done", flush=True)
    os._exit(6)


main()
