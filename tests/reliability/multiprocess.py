# SPDX-License-Identifier: Apache-2.0
"""Python's multiprocessing: `multiprocess.py fork|spawn|forkserver PROCESSES`. Each process uses the
GPU through ctypes and prints one line. Workers end at once by os._exit."""
import ctypes
import multiprocessing
import sys


def use_cuda():
    runtime = ctypes.CDLL("libcudart.so.13")
    data = ctypes.c_void_p()
    if runtime.cudaMalloc(ctypes.byref(data), 4096):
        sys.exit(97)
    for _ in range(10):
        runtime.cudaMemset(data, 1, 256)
    runtime.cudaDeviceSynchronize()
    sys.stdout.write("used cuda\n")
    sys.stdout.flush()


def main():
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=use_cuda) for _ in range(int(sys.argv[2]))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    use_cuda()
    sys.exit(any(worker.exitcode for worker in workers))


if __name__ == "__main__":
    main()
