# SPDX-License-Identifier: Apache-2.0
"""Annotations by Python's nvtx package, in domains and with colours, around calls through ctypes."""

import ctypes

import nvtx

cudart = ctypes.CDLL("libcudart.so.13")
pointer = ctypes.c_void_p()


def clear():
    if cudart.cudaMemset(pointer, 0, ctypes.c_size_t(64)):
        raise SystemExit("cudaMemset failed")


@nvtx.annotate("decorated", color="green", domain="py")
def decorated():
    clear()


def main():
    if cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)):
        raise SystemExit("cudaMalloc failed")
    with nvtx.annotate("loop", color="blue"):
        for _ in range(3):
            decorated()
    nvtx.push_range("pushed", domain="py", category="io")
    nvtx.pop_range(domain="py")
    started = nvtx.start_range("started", color="red")
    clear()
    nvtx.end_range(started)
    nvtx.mark("marked", domain="py")
    for name, domain, count, shadows in (("decorated", "py", 3, 3), ("loop", "", 1, 1),
                                         ("pushed", "py", 1, 0), ("started", "", 1, 1)):
        print("expect", "range", name, domain, count, sep="\t")
        print("expect", "shadow", name, shadows, sep="\t")
    print("expect", "mark", "marked", 1, sep="\t")
    print("expect", "memset", 64, 4, "*", sep="\t")
    print("expect", "call", "cudaMemset", 4, sep="\t")


main()
