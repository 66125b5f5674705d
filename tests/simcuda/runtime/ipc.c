/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and events of other processes, pools by place, logs and libraries: one driver call each.
 * Any thread.
 */
#include "runtime/runtime.h"

#include <string.h>

cudaError_t rt_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *address)
{
	return RT_PLAIN(cuIpcGetMemHandle, (CUipcMemHandle *)handle, (CUdeviceptr)address);
}

cudaError_t rt_cudaIpcOpenMemHandle(void **address, cudaIpcMemHandle_t handle, unsigned int flags)
{
	CUipcMemHandle wanted;

	memcpy(&wanted, &handle, sizeof(wanted));
	return RT_PLAIN(cuIpcOpenMemHandle_v2, (CUdeviceptr *)address, wanted, flags);
}

cudaError_t rt_cudaIpcCloseMemHandle(void *address)
{
	return RT_PLAIN(cuIpcCloseMemHandle, (CUdeviceptr)address);
}

cudaError_t rt_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	return RT_PLAIN(cuIpcGetEventHandle, (CUipcEventHandle *)handle, event);
}

cudaError_t rt_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle wanted;

	memcpy(&wanted, &handle, sizeof(wanted));
	return RT_PLAIN(cuIpcOpenEventHandle, event, wanted);
}

cudaError_t rt_cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
					enum cudaMemAllocationType type)
{
	return RT_PLAIN(cuMemGetDefaultMemPool, pool, (CUmemLocation *)location,
			(CUmemAllocationType)type);
}

cudaError_t rt_cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location,
				 enum cudaMemAllocationType type)
{
	return RT_PLAIN(cuMemGetMemPool, pool, (CUmemLocation *)location,
			(CUmemAllocationType)type);
}

cudaError_t rt_cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
				 cudaMemPool_t pool)
{
	return RT_PLAIN(cuMemSetMemPool, (CUmemLocation *)location, (CUmemAllocationType)type,
			pool);
}

cudaError_t rt_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool,
				    struct cudaMemLocation *location)
{
	return RT_PLAIN(cuMemPoolGetAccess, (CUmemAccess_flags *)flags, pool,
			(CUmemLocation *)location);
}

cudaError_t rt_cudaLogsRegisterCallback(cudaLogsCallback_t function, void *data,
					cudaLogsCallbackHandle *handle)
{
	return RT_PLAIN(cuLogsRegisterCallback, (CUlogsCallback)function, data,
			(CUlogsCallbackHandle *)handle);
}

cudaError_t rt_cudaLogsUnregisterCallback(cudaLogsCallbackHandle handle)
{
	return RT_PLAIN(cuLogsUnregisterCallback, (CUlogsCallbackHandle)handle);
}

cudaError_t rt_cudaLogsCurrent(cudaLogIterator *iterator, unsigned int flags)
{
	return RT_PLAIN(cuLogsCurrent, iterator, flags);
}

cudaError_t rt_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *path, unsigned int flags)
{
	return RT_PLAIN(cuLogsDumpToFile, iterator, path, flags);
}

cudaError_t rt_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
				    unsigned int flags)
{
	return RT_PLAIN(cuLogsDumpToMemory, iterator, buffer, size, flags);
}

cudaError_t rt_cudaLibraryGetGlobal(void **address, size_t *bytes, cudaLibrary_t library,
				    const char *name)
{
	return RT_PLAIN(cuLibraryGetGlobal, (CUdeviceptr *)address, bytes, (CUlibrary)library,
			name);
}

cudaError_t rt_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute which,
					       int value, int device)
{
	return RT_PLAIN(cuKernelSetAttribute, (CUfunction_attribute)which, value, (CUkernel)kernel,
			device);
}

cudaError_t rt_cudaGetDeviceFlags(unsigned int *flags)
{
	int active;

	return RT_PLAIN(cuDevicePrimaryCtxGetState, rt_self.device, flags, &active);
}

cudaError_t rt_cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
	return RT_PLAIN(cuCtxGetCacheConfig, (CUfunc_cache *)config);
}

cudaError_t rt_cudaCtxResetPersistingL2Cache(void)
{
	return RT_PLAIN(cuCtxResetPersistingL2Cache);
}
