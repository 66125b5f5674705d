/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory pools and stream-ordered allocation. Memory is there at once and goes at once: only the
 * order of calls matters to a program that uses it correctly. Any thread.
 */
#include "driver/driver.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <cupti_activity.h>

struct CUmemPoolHandle_st {
	struct sim_device *device;
	pthread_mutex_t mutex;
	_Atomic uint64_t used;
	_Atomic uint64_t used_high;
	_Atomic uint64_t reserved;
	_Atomic uint64_t reserved_high;
	_Atomic uint64_t threshold;
};

static pthread_mutex_t pools_mutex = PTHREAD_MUTEX_INITIALIZER;

static void tell_pool(struct CUmemPoolHandle_st *pool, uint32_t operation)
{
	struct sim_memory what = {.operation = operation,
				  .correlation = sim_current_correlation(),
				  .device = (uint32_t)pool->device->ordinal,
				  .timestamp = sim_now(),
				  .pool = (uintptr_t)pool,
				  .pool_size = pool->reserved,
				  .pool_used = pool->used,
				  .pool_threshold = pool->threshold,
				  .is_pool = true};

	sim_client_memory(&what);
}

static struct CUmemPoolHandle_st *pool_new(struct sim_device *device)
{
	struct CUmemPoolHandle_st *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->device = device;
	pthread_mutex_init(&pool->mutex, NULL);
	tell_pool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
	return pool;
}

static struct CUmemPoolHandle_st *default_pool(struct sim_device *device)
{
	pthread_mutex_lock(&pools_mutex);
	if (!device->default_pool)
		device->default_pool = pool_new(device);
	pthread_mutex_unlock(&pools_mutex);
	return device->default_pool;
}

static struct CUmemPoolHandle_st *current_pool(struct sim_device *device)
{
	return device->current_pool ? device->current_pool : default_pool(device);
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void tell_memory(const struct sim_allocation *memory, const struct CUstream_st *stream,
			uint32_t operation)
{
	struct sim_memory what = {.operation = operation,
				  .memory_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
				  .correlation = sim_current_correlation(),
				  .device = (uint32_t)stream->context->device->ordinal,
				  .context = stream->context->id,
				  .stream = stream->id,
				  .address = memory->address,
				  .bytes = memory->bytes,
				  .timestamp = sim_now(),
				  .pool = (uintptr_t)memory->pool,
				  .pool_size = memory->pool->reserved,
				  .pool_used = memory->pool->used,
				  .pool_threshold = memory->pool->threshold,
				  .async = true};

	sim_client_memory(&what);
}

static CUresult allocate(CUdeviceptr *ret_address, size_t bytes, struct CUmemPoolHandle_st *pool,
			 struct CUstream_st *stream)
{
	struct sim_allocation memory;
	CUresult result =
		pool ? sim_memory_new(SIM_MEMORY_DEVICE, bytes, &memory) : CUDA_ERROR_OUT_OF_MEMORY;

	if (result)
		return result;
	struct sim_allocation listed;
	sim_memory_remove(memory.address, &listed);
	listed.pool = memory.pool = pool;
	listed.in_graph = stream->capture != NULL;
	sim_memory_add(&listed);
	pthread_mutex_lock(&pool->mutex);
	pool->used += bytes;
	pool->used_high = most(pool->used, pool->used_high);
	pool->reserved = most(pool->used, pool->reserved);
	pool->reserved_high = most(pool->reserved, pool->reserved_high);
	pthread_mutex_unlock(&pool->mutex);
	*ret_address = memory.address;
	if (stream->capture) {
		struct sim_work work = {
			.kind = SIM_WORK_ALLOC,
			.memory = {memory.address, bytes, stream->context->device->ordinal}};

		return sim_capture_work(stream, &work);
	}
	tell_memory(&memory, stream, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result || !address)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	return allocate(address, bytes, current_pool(stream->context->device), stream);
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
				     CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (result || !address || !pool)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	return allocate(address, bytes, pool, stream);
}

CUresult sim_cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
	struct CUstream_st *stream;
	struct sim_allocation memory;
	CUresult result = sim_stream_find(handle, &stream);

	if (result || !address)
		return result;
	if (stream->capture) {
		struct sim_work work = {.kind = SIM_WORK_FREE, .memory = {address, 0, 0}};

		return sim_capture_work(stream, &work);
	}
	if (!sim_memory_find((void *)address, &memory) || memory.is_mapped)
		return CUDA_ERROR_INVALID_VALUE;
	if (memory.in_graph)
		return CUDA_SUCCESS;
	result = sim_memory_remove((uintptr_t)address, &memory);
	if (result)
		return result;
	sim_ipc_forget(memory.address);
	if (!memory.pool)
		memory.pool = default_pool(stream->context->device);
	pthread_mutex_lock(&memory.pool->mutex);
	memory.pool->used -= memory.pool->used < memory.bytes ? memory.pool->used : memory.bytes;
	pthread_mutex_unlock(&memory.pool->mutex);
	atomic_fetch_sub(&memory.context->device->used_bytes, memory.bytes);
	munmap((void *)memory.address, (memory.bytes + 4095) & ~(size_t)4095);
	tell_memory(&memory, stream, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	struct sim_device *device = props ? sim_device_find(props->location.id) : NULL;

	if (!pool || !device)
		return CUDA_ERROR_INVALID_VALUE;
	*pool = pool_new(device);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool pool)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	tell_pool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
	return CUDA_SUCCESS; /* kept: allocations may still point at it */
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&pool->mutex);
	pool->reserved = most(pool->used, keep < pool->reserved ? keep : pool->reserved);
	pthread_mutex_unlock(&pool->mutex);
	tell_pool(pool, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
	return CUDA_SUCCESS;
}

static _Atomic uint64_t *attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
	switch ((int)which) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return &pool->threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return &pool->reserved;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return &pool->reserved_high;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return &pool->used;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return &pool->used_high;
	default:
		return NULL;
	}
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value)
{
	_Atomic uint64_t *at = pool ? attribute(pool, which) : NULL;

	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	if (at)
		*(uint64_t *)value = *at;
	else
		*(int *)value = 1; /* the three reuse policies are on */
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute which, void *value)
{
	_Atomic uint64_t *at = pool ? attribute(pool, which) : NULL;

	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	if (at)
		*at = *(uint64_t *)value;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = default_pool(device);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = current_pool(device);
	return *pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult sim_cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool)
{
	struct sim_device *device = sim_device_find(ordinal);

	if (!device || !pool)
		return device ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
	device->current_pool = pool;
	return CUDA_SUCCESS;
}

/* The pool of a place: only devices have one here. */
static struct sim_device *device_at(const CUmemLocation *location, CUmemAllocationType type)
{
	if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return NULL;
	return sim_device_find(location->id);
}

CUresult sim_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
				    CUmemAllocationType type)
{
	struct sim_device *device = device_at(location, type);

	return pool && device ? sim_cuDeviceGetDefaultMemPool(pool, device->ordinal)
			      : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	struct sim_device *device = device_at(location, type);

	return pool && device ? sim_cuDeviceGetMemPool(pool, device->ordinal)
			      : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	struct sim_device *device = device_at(location, type);

	return device ? sim_cuDeviceSetMemPool(device->ordinal, pool) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				CUmemLocation *location)
{
	if (!flags || !pool || !location)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

/* All simulated devices share the host's memory: everyone has access already. */
CUresult sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	return pool ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
