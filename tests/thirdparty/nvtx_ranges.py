# SPDX-License-Identifier: Apache-2.0
"""Python's nvtx around launches by cuda-bindings."""

import nvtx
from cuda.bindings import driver


def ok(answer):
    status, *values = answer
    assert status == driver.CUresult.CUDA_SUCCESS, status
    return values[0] if values else None


@nvtx.annotate("epoch", color="green", domain="trainer")
def epoch(function, stream):
    for i in range(3):
        with nvtx.annotate(f"step {i}"):
            ok(driver.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream, 0, 0))
        nvtx.mark("between")
    outer = nvtx.start_range("wait")
    ok(driver.cuStreamSynchronize(stream))
    nvtx.end_range(outer)


def main():
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(ok(driver.cuDeviceGet(0))))))
    module = ok(driver.cuModuleLoadData(b"\x7fELF" + bytes(252)))
    function = ok(driver.cuModuleGetFunction(module, b"step"))
    stream = ok(driver.cuStreamCreate(0))
    for _ in range(4):
        epoch(function, stream)
    print("ranges")


main()
