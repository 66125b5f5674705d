# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled by numba on streams, with events, pinned, managed and device arrays."""

import numpy
from numba import cuda


@cuda.jit
def add(a, b, total):
    i = cuda.grid(1)
    if i < total.size:
        total[i] = a[i] + b[i]


@cuda.jit("void(float32[:, :], float32)")
def scale(matrix, factor):
    x, y = cuda.grid(2)
    if x < matrix.shape[0] and y < matrix.shape[1]:
        matrix[x, y] *= factor


def main():
    numbers = numpy.arange(100000, dtype=numpy.float32)
    stream = cuda.stream()
    begin, end = cuda.event(), cuda.event()
    with cuda.pinned(numbers):
        a = cuda.to_device(numbers, stream=stream)
        b = cuda.to_device(numbers, stream=stream)
        total = cuda.device_array_like(a, stream=stream)
        begin.record(stream)
        for _ in range(10):
            add[400, 256, stream](a, b, total)
        end.record(stream)
        end.synchronize()
        back = b.copy_to_host(stream=stream)
        stream.synchronize()
    assert (back == numbers).all() and cuda.event_elapsed_time(begin, end) > 0
    matrix = cuda.to_device(numpy.ones((64, 64), dtype=numpy.float32))
    scale[(8, 8), (8, 8)](matrix, 2)
    a.copy_to_device(b)
    managed = cuda.managed_array(16, dtype=numpy.int32)
    managed[:] = 3
    cuda.synchronize()
    print(managed.sum(), matrix.copy_to_host().shape, cuda.get_current_device().name.decode()
          if isinstance(cuda.get_current_device().name, bytes) else cuda.get_current_device().name)


main()
