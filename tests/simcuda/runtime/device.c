/* SPDX-License-Identifier: Apache-2.0
 *
 * Devices, their properties, and the names of errors. Any thread.
 */
#include "runtime/runtime.h"

#include <string.h>

/* No context is made here; the next call that needs one makes it. */
cudaError_t rt_cudaSetDevice(int device)
{
	int count = 0;

	rt_cu.cuDeviceGetCount(&count);
	if (device < 0 || device >= count)
		return cudaErrorInvalidDevice;
	if (device != rt_self.device) {
		rt_cu.cuCtxSetCurrent(NULL);
		rt_self.bound = 0;
	}
	rt_self.device = device;
	return cudaSuccess;
}

cudaError_t rt_cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	return rt_cudaSetDevice(device);
}

cudaError_t rt_cudaGetDevice(int *device)
{
	*device = rt_self.device;
	return cudaSuccess;
}

cudaError_t rt_cudaGetDeviceCount(int *count)
{
	return RT_PLAIN(cuDeviceGetCount, count);
}

cudaError_t rt_cudaSetDeviceFlags(unsigned int flags)
{
	return RT_PLAIN(cuDevicePrimaryCtxSetFlags_v2, rt_self.device, flags);
}

cudaError_t rt_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	return RT_PLAIN(cuDeviceGetAttribute, value, (CUdevice_attribute)attribute, device);
}

static int attribute(int device, CUdevice_attribute which)
{
	int value = 0;

	rt_cu.cuDeviceGetAttribute(&value, which, device);
	return value;
}

cudaError_t rt_cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
	memset(p, 0, sizeof(*p));
	cudaError_t error = RT_PLAIN(cuDeviceGetName, p->name, sizeof(p->name), device);
	if (error)
		return error;
	rt_cu.cuDeviceGetUuid_v2((CUuuid *)&p->uuid, device);
	rt_cu.cuDeviceTotalMem_v2(&p->totalGlobalMem, device);
#define GET(name_) attribute(device, CU_DEVICE_ATTRIBUTE_##name_)
	p->sharedMemPerBlock = (size_t)GET(MAX_SHARED_MEMORY_PER_BLOCK);
	p->regsPerBlock = GET(MAX_REGISTERS_PER_BLOCK);
	p->warpSize = GET(WARP_SIZE);
	p->memPitch = (size_t)GET(MAX_PITCH);
	p->maxThreadsPerBlock = GET(MAX_THREADS_PER_BLOCK);
	p->maxThreadsDim[0] = GET(MAX_BLOCK_DIM_X);
	p->maxThreadsDim[1] = GET(MAX_BLOCK_DIM_Y);
	p->maxThreadsDim[2] = GET(MAX_BLOCK_DIM_Z);
	p->maxGridSize[0] = GET(MAX_GRID_DIM_X);
	p->maxGridSize[1] = GET(MAX_GRID_DIM_Y);
	p->maxGridSize[2] = GET(MAX_GRID_DIM_Z);
	p->totalConstMem = (size_t)GET(TOTAL_CONSTANT_MEMORY);
	p->major = GET(COMPUTE_CAPABILITY_MAJOR);
	p->minor = GET(COMPUTE_CAPABILITY_MINOR);
	p->multiProcessorCount = GET(MULTIPROCESSOR_COUNT);
	p->canMapHostMemory = GET(CAN_MAP_HOST_MEMORY);
	p->concurrentKernels = GET(CONCURRENT_KERNELS);
	p->ECCEnabled = GET(ECC_ENABLED);
	p->pciBusID = GET(PCI_BUS_ID);
	p->asyncEngineCount = GET(ASYNC_ENGINE_COUNT);
	p->unifiedAddressing = GET(UNIFIED_ADDRESSING);
	p->memoryBusWidth = GET(GLOBAL_MEMORY_BUS_WIDTH);
	p->l2CacheSize = GET(L2_CACHE_SIZE);
	p->maxThreadsPerMultiProcessor = GET(MAX_THREADS_PER_MULTIPROCESSOR);
	p->streamPrioritiesSupported = GET(STREAM_PRIORITIES_SUPPORTED);
	p->sharedMemPerMultiprocessor = (size_t)GET(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	p->regsPerMultiprocessor = GET(MAX_REGISTERS_PER_MULTIPROCESSOR);
	p->managedMemory = GET(MANAGED_MEMORY);
	p->concurrentManagedAccess = GET(CONCURRENT_MANAGED_ACCESS);
	p->cooperativeLaunch = GET(COOPERATIVE_LAUNCH);
	p->sharedMemPerBlockOptin = (size_t)GET(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	p->maxBlocksPerMultiProcessor = GET(MAX_BLOCKS_PER_MULTIPROCESSOR);
	p->reservedSharedMemPerBlock = (size_t)GET(RESERVED_SHARED_MEMORY_PER_BLOCK);
	p->memoryPoolsSupported = GET(MEMORY_POOLS_SUPPORTED);
#undef GET
	return cudaSuccess;
}

cudaError_t rt_cudaDeviceGetPCIBusId(char *id, int length, int device)
{
	return RT_PLAIN(cuDeviceGetPCIBusId, id, length, device);
}

cudaError_t rt_cudaDeviceGetByPCIBusId(int *device, const char *id)
{
	return RT_PLAIN(cuDeviceGetByPCIBusId, device, id);
}

cudaError_t rt_cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	return RT_PLAIN(cuDeviceCanAccessPeer, can, device, peer);
}

cudaError_t rt_cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	return cudaSuccess;
}

cudaError_t rt_cudaDeviceDisablePeerAccess(int peer)
{
	return cudaSuccess;
}

cudaError_t rt_cudaDeviceSynchronize(void)
{
	return RT_PLAIN(cuCtxSynchronize);
}

cudaError_t rt_cudaDeviceReset(void)
{
	cudaError_t error = RT_PLAIN(cuDevicePrimaryCtxReset_v2, rt_self.device);

	rt_unbind_all();
	return error;
}

cudaError_t rt_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return RT_PLAIN(cuCtxGetStreamPriorityRange, least, greatest);
}

cudaError_t rt_cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	return RT_PLAIN(cuCtxGetLimit, value, (CUlimit)limit);
}

cudaError_t rt_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return RT_PLAIN(cuCtxSetLimit, (CUlimit)limit, value);
}

cudaError_t rt_cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	return cudaSuccess;
}

cudaError_t rt_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
	return RT_PLAIN(cuDeviceGetDefaultMemPool, pool, device);
}

cudaError_t rt_cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
	return RT_PLAIN(cuDeviceGetMemPool, pool, device);
}

cudaError_t rt_cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	return RT_PLAIN(cuDeviceSetMemPool, device, pool);
}

cudaError_t rt_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr which, int from, int to)
{
	return RT_PLAIN(cuDeviceGetP2PAttribute, value, (CUdevice_P2PAttribute)which, from, to);
}

cudaError_t rt_cudaGetDriverEntryPointByVersion(const char *name, void **address,
						unsigned int version, unsigned long long flags,
						enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cuuint64_t wanted = flags;

	if (rt_self.per_thread && !flags)
		wanted = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	rt_cu.cuGetProcAddress_v2(name, address, (int)version, wanted, &answer);
	if (status)
		*status = (enum cudaDriverEntryPointQueryResult)answer;
	return cudaSuccess;
}

cudaError_t rt_cudaGetDriverEntryPoint(const char *name, void **address, unsigned long long flags,
				       enum cudaDriverEntryPointQueryResult *status)
{
	return rt_cudaGetDriverEntryPointByVersion(name, address, (unsigned int)rt_version, flags,
						   status);
}

/* The first device will do: they are all alike. */
cudaError_t rt_cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
	*device = 0;
	return cudaSuccess;
}

struct cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w,
							     enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

static const struct {
	cudaError_t code;
	const char *name;
	const char *text;
} errors[] = {
	{cudaSuccess, "cudaSuccess", "no error"},
	{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
	{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
	{cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
	{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
	 "invalid configuration argument"},
	{cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
	{cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
	 "invalid copy direction for memcpy"},
	{cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
	 "CUDA driver version is insufficient for CUDA runtime version"},
	{cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration",
	 "__global__ function call is not configured"},
	{cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction",
	 "invalid device function"},
	{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
	{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
	{cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle",
	 "invalid resource handle"},
	{cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
	{cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
	{cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
	 "operation not permitted when stream is capturing"},
};

static size_t error_index(cudaError_t error)
{
	size_t i = 0;

	while (i < sizeof(errors) / sizeof(*errors) && errors[i].code != error)
		i++;
	return i;
}

const char *CUDARTAPI cudaGetErrorName(cudaError_t error)
{
	size_t i = error_index(error);

	return i < sizeof(errors) / sizeof(*errors) ? errors[i].name : "unrecognized error code";
}

const char *CUDARTAPI cudaGetErrorString(cudaError_t error)
{
	size_t i = error_index(error);

	return i < sizeof(errors) / sizeof(*errors) ? errors[i].text : "unrecognized error code";
}

cudaError_t CUDARTAPI cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
	return rt_missing("cudaGetExportTable");
}
