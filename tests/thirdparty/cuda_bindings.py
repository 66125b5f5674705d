# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's cuda-bindings, the driver: what changed its signature in CUDA 13, graphs, mapped memory."""

from cuda.bindings import driver


def ok(answer):
    status, *values = answer
    assert status == driver.CUresult.CUDA_SUCCESS, status
    return values[0] if len(values) == 1 else values


def graph(function, memory, stream):
    made = ok(driver.cuGraphCreate(0))
    fill = driver.CUDA_MEMSET_NODE_PARAMS()
    fill.dst, fill.value, fill.elementSize, fill.width, fill.height = memory, 5, 4, 64, 1
    context = ok(driver.cuCtxGetCurrent())
    first = ok(driver.cuGraphAddMemsetNode(made, None, 0, fill, context))
    launch = driver.CUDA_KERNEL_NODE_PARAMS()
    launch.func = function
    launch.gridDimX = launch.gridDimY = launch.gridDimZ = 2
    launch.blockDimX, launch.blockDimY, launch.blockDimZ = 32, 1, 1
    second = ok(driver.cuGraphAddKernelNode(made, [first], 1, launch))
    nodes = driver.cuGraphNodeGetDependencies(second, 1)[1]
    assert [int(node) for node in nodes] == [int(first)]
    executable = ok(driver.cuGraphInstantiate(made, 0))
    for _ in range(10):
        ok(driver.cuGraphLaunch(executable, stream))
    ok(driver.cuStreamSynchronize(stream))


def mapped(device):
    wanted = driver.CUmemAllocationProp()
    wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    wanted.location.id = int(device)
    size = ok(driver.cuMemGetAllocationGranularity(
        wanted, driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM))
    address = ok(driver.cuMemAddressReserve(size, 0, 0, 0))
    handle = ok(driver.cuMemCreate(size, wanted, 0))
    ok(driver.cuMemMap(address, size, 0, handle, 0))
    access = driver.CUmemAccessDesc()
    access.location = wanted.location
    access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    ok(driver.cuMemSetAccess(address, size, [access], 1))
    ok(driver.cuMemsetD32(address, 9, size // 4))
    back = bytearray(16)
    ok(driver.cuMemcpyDtoH(back, address, 16))
    assert back == b"\x09\0\0\0" * 4
    ok(driver.cuMemUnmap(address, size))
    ok(driver.cuMemRelease(handle))
    ok(driver.cuMemAddressFree(address, size))


def main():
    ok(driver.cuInit(0))
    device = ok(driver.cuDeviceGet(0))
    context = ok(driver.cuDevicePrimaryCtxRetain(device))
    ok(driver.cuCtxSetCurrent(context))
    assert int(ok(driver.cuCtxGetDevice())) == 0
    stream = ok(driver.cuStreamCreate(0))
    assert int(ok(driver.cuStreamGetCtx(stream))) == int(context)
    memory = ok(driver.cuMemAlloc(1 << 16))
    data = bytes(range(256)) * 256
    ok(driver.cuMemcpyHtoDAsync(memory, data, len(data), stream))
    module = ok(driver.cuModuleLoadData(b"\x7fELF" + bytes(252)))
    function = ok(driver.cuModuleGetFunction(module, b"step"))
    for _ in range(3):
        ok(driver.cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, stream, 0, 0))
    back = bytearray(len(data))
    ok(driver.cuMemcpyDtoHAsync(back, memory, len(back), stream))
    ok(driver.cuStreamSynchronize(stream))
    assert back == data
    graph(function, memory, stream)
    mapped(device)
    ok(driver.cuCtxSynchronize())
    print(ok(driver.cuDriverGetVersion()), ok(driver.cuDeviceGetName(64, device)).rstrip(b"\0 "))


main()
