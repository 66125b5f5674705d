# SPDX-License-Identifier: Apache-2.0
"""pycuda: a context that is detached at the end, launches, streams, events, arrays, textures, peers."""

import numpy
import pycuda.driver as cuda

IMAGE = b"\x7fELF" + bytes(252)  # the simulated device takes any


def main():
    cuda.init()
    context = cuda.Device(0).make_context()
    numbers = numpy.arange(4096, dtype=numpy.float32)
    memory, other = cuda.mem_alloc(numbers.nbytes), cuda.mem_alloc(numbers.nbytes)
    cuda.memcpy_htod(memory, numbers)
    step = cuda.module_from_buffer(IMAGE).get_function("step")
    step(memory, numpy.int32(4096), block=(128, 1, 1), grid=(32, 1))
    step.prepare("Pi")
    step.prepared_call((16, 2), (64, 2, 1), memory, 4096)
    stream, event = cuda.Stream(), cuda.Event()
    pinned = cuda.pagelocked_zeros(4096, numpy.float32)
    for _ in range(5):
        cuda.memcpy_dtod_async(other, memory, numbers.nbytes, stream)
        step.prepared_async_call((16, 1), (64, 1, 1), stream, other, 4096)
        cuda.memcpy_dtoh_async(pinned, other, stream)
    event.record(stream)
    event.synchronize()
    assert (pinned == numbers).all()
    cuda.memset_d32(memory, 7, 4096)
    picture = cuda.matrix_to_array(numbers.reshape(64, 64), "C")
    down = cuda.Memcpy2D()
    back = numpy.zeros((64, 64), numpy.float32)
    down.set_src_array(picture)
    down.set_dst_host(back)
    down.width_in_bytes = down.dst_pitch = back.strides[0]
    down.height = 64
    down(aligned=True)
    assert (back == numbers.reshape(64, 64)).all()
    context.synchronize()
    print(cuda.Device(0).name(), cuda.get_version())
    context.pop()
    context.detach()


main()
