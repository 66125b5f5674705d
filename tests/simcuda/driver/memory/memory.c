/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory: all of it is host memory, so that copies really move bytes. A sorted table of what is
 * allocated answers what a pointer is. Any thread; table_mutex guards the table.
 */
#include "driver/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cupti_activity.h>

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sim_allocation *table; /* sorted by address */
static size_t table_count;
static size_t table_room;
static uint64_t last_id;

static size_t page_up(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

/* The first entry above the address. Caller holds table_mutex. */
static size_t find_above(uintptr_t address)
{
	size_t low = 0, high = table_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (table[middle].address > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

CUresult sim_memory_add(const struct sim_allocation *allocation)
{
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	pthread_mutex_lock(&table_mutex);
	if (table_count == table_room) {
		size_t room = table_room ? table_room * 2 : 256;
		void *bigger = realloc(table, room * sizeof(*table));

		if (!bigger)
			goto out;
		table = bigger;
		table_room = room;
	}
	size_t at = find_above(allocation->address);
	memmove(&table[at + 1], &table[at], (table_count - at) * sizeof(*table));
	table[at] = *allocation;
	table[at].id = ++last_id;
	table_count++;
	result = CUDA_SUCCESS;
out:
	pthread_mutex_unlock(&table_mutex);
	return result;
}

CUresult sim_memory_remove(uintptr_t address, struct sim_allocation *ret)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&table_mutex);
	size_t at = find_above(address);
	if (at && table[at - 1].address == address) {
		*ret = table[at - 1];
		memmove(&table[at - 1], &table[at], (table_count - at) * sizeof(*table));
		table_count--;
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&table_mutex);
	return result;
}

bool sim_memory_find(const void *address, struct sim_allocation *ret)
{
	bool found = false;

	pthread_mutex_lock(&table_mutex);
	size_t at = find_above((uintptr_t)address);
	if (at && (uintptr_t)address - table[at - 1].address < table[at - 1].bytes) {
		*ret = table[at - 1];
		found = true;
	}
	pthread_mutex_unlock(&table_mutex);
	return found;
}

uint8_t sim_memory_activity_kind(enum sim_memory_class kind)
{
	static const uint8_t kinds[] = {
		[SIM_MEMORY_NONE] = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
		[SIM_MEMORY_DEVICE] = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
		[SIM_MEMORY_HOST] = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
		[SIM_MEMORY_REGISTERED] = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
		[SIM_MEMORY_MANAGED] = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
		[SIM_MEMORY_ARRAY] = CUPTI_ACTIVITY_MEMORY_KIND_ARRAY,
	};

	return kinds[kind];
}

static bool on_device(enum sim_memory_class kind)
{
	return kind == SIM_MEMORY_DEVICE || kind == SIM_MEMORY_ARRAY;
}

void sim_memory_tell(const struct sim_allocation *memory, bool is_release)
{
	struct sim_memory what = {
		.operation = is_release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
					: CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
		.memory_kind = sim_memory_activity_kind(memory->kind),
		.correlation = sim_current_correlation(),
		.device = memory->context ? (uint32_t)memory->context->device->ordinal : 0,
		.context = memory->context ? memory->context->id : 0,
		.stream = UINT32_MAX,
		.address = memory->address,
		.bytes = memory->bytes,
		.timestamp = sim_now()};

	sim_client_memory(&what);
}

/* Lazily backed pages: a program may allocate as much as the simulated device has. */
CUresult sim_memory_new(enum sim_memory_class kind, size_t bytes, struct sim_allocation *ret)
{
	struct sim_allocation memory = {.bytes = bytes, .kind = kind};
	CUresult result = sim_check_context(&memory.context);

	if (result || !bytes)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	struct sim_device *device = memory.context->device;
	if (on_device(kind) && device->used_bytes + bytes > device->facts->memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *pages = mmap(NULL, page_up(bytes), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory.address = (uintptr_t)pages;
	result = sim_memory_add(&memory);
	if (result)
		return result;
	if (on_device(kind))
		atomic_fetch_add(&device->used_bytes, bytes);
	*ret = memory;
	return CUDA_SUCCESS;
}

static CUresult allocate(enum sim_memory_class kind, size_t bytes, void *ret_address)
{
	struct sim_allocation memory;
	CUresult result = sim_memory_new(kind, bytes, &memory);

	if (result)
		return result;
	sim_memory_tell(&memory, false);
	memcpy(ret_address, &memory.address, sizeof(memory.address));
	return CUDA_SUCCESS;
}

CUresult sim_memory_release(uintptr_t address)
{
	struct sim_allocation memory;
	CUresult result = sim_check_ready();

	if (result || !address)
		return result;
	if (!sim_memory_find((void *)address, &memory) || memory.is_mapped)
		return CUDA_ERROR_INVALID_VALUE;
	if (memory.in_graph)
		return CUDA_SUCCESS;
	result = sim_memory_remove(address, &memory);
	if (result)
		return result;
	sim_ipc_forget(address);
	if (memory.context && sim_context_valid(memory.context))
		sim_wait_until(atomic_load(&memory.context->tail));
	sim_memory_tell(&memory, true);
	if (on_device(memory.kind))
		atomic_fetch_sub(&memory.context->device->used_bytes, memory.bytes);
	if (memory.kind != SIM_MEMORY_REGISTERED)
		munmap((void *)address, page_up(memory.bytes));
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	return address ? allocate(SIM_MEMORY_DEVICE, bytes, address) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
				unsigned int element)
{
	*pitch = (width + 511) & ~(size_t)511;
	return allocate(SIM_MEMORY_DEVICE, *pitch * height, address);
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
	return allocate(SIM_MEMORY_MANAGED, bytes, address);
}

CUresult sim_cuMemAllocHost_v2(void **address, size_t bytes)
{
	return allocate(SIM_MEMORY_HOST, bytes, address);
}

CUresult sim_cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	return allocate(SIM_MEMORY_HOST, bytes, address);
}

CUresult sim_cuMemFree_v2(CUdeviceptr address)
{
	return sim_memory_release((uintptr_t)address);
}

CUresult sim_cuMemFreeHost(void *address)
{
	return sim_memory_release((uintptr_t)address);
}

CUresult sim_cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
	struct sim_allocation memory = {.address = (uintptr_t)address,
					.bytes = bytes,
					.kind = SIM_MEMORY_REGISTERED,
					.flags = flags};
	CUresult result = sim_check_context(&memory.context);

	return result ? result : sim_memory_add(&memory);
}

CUresult sim_cuMemHostUnregister(void *address)
{
	struct sim_allocation memory;

	return sim_memory_remove((uintptr_t)address, &memory);
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *host, unsigned int flags)
{
	*device = (CUdeviceptr)host;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetFlags(unsigned int *flags, void *address)
{
	struct sim_allocation memory;

	if (!sim_memory_find(address, &memory))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = memory.flags;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);

	if (result)
		return result;
	*total = context->device->facts->memory;
	*free_bytes = *total - atomic_load(&context->device->used_bytes);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
	struct sim_allocation memory;

	if (!sim_memory_find((void *)address, &memory))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = memory.address;
	if (bytes)
		*bytes = memory.bytes;
	return CUDA_SUCCESS;
}

static CUmemorytype memory_type(enum sim_memory_class kind)
{
	return kind == SIM_MEMORY_HOST || kind == SIM_MEMORY_REGISTERED ? CU_MEMORYTYPE_HOST
									: CU_MEMORYTYPE_DEVICE;
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct sim_allocation memory;

	if (!sim_memory_find((void *)address, &memory))
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = memory.context;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = memory_type(memory.kind);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(uintptr_t *)data = (uintptr_t)address;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = memory.id;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned int *)data = memory.kind == SIM_MEMORY_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = memory.context->device->ordinal;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(uintptr_t *)data = memory.address;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = memory.bytes;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
				    void **data, CUdeviceptr address)
{
	for (unsigned int i = 0; i < count; i++)
		if (sim_cuPointerGetAttribute(data[i], attributes[i], address))
			memset(data[i], 0, 4); /* an unknown pointer answers with zeros */
	return CUDA_SUCCESS;
}

/* All of the allocation moves, for those who count migrations. */
static void tell_prefetch(CUdeviceptr address, CUmemLocation location)
{
	struct sim_memory what = {.operation = SIM_MEMORY_PREFETCH,
				  .address = (uint64_t)address,
				  .device = location.type == CU_MEM_LOCATION_TYPE_DEVICE
						    ? (uint32_t)location.id
						    : UINT32_MAX,
				  .timestamp = sim_now()};

	sim_client_memory(&what);
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
				   unsigned int flags, CUstream handle)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);

	if (!result)
		tell_prefetch(address, location);
	return result;
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
			    CUmemLocation location)
{
	return sim_check_ready();
}

/* Nothing moves: pages are where everyone sees them. */
CUresult sim_cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
				     CUmemLocation *locations, size_t *indices,
				     size_t location_count, unsigned long long flags,
				     CUstream handle)
{
	struct CUstream_st *stream;

	if (!addresses || !sizes || !count || !locations || !location_count)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_stream_find(handle, &stream);
}
