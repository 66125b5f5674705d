/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory management: addresses are reserved, memory is a memfd, mapping one to the other
 * makes it memory of the device. A descriptor of it is a shareable handle. Any thread.
 */
#include "driver/driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cupti_activity.h>

#define GRANULARITY ((size_t)2 << 20)
#define VMM_MAGIC   0x564d4d31u

struct handle {
	_Atomic uint32_t magic;
	int fd;
	size_t bytes;
	CUmemAllocationProp prop;
	_Atomic int references; /* the program's, and one for each mapping */
	struct sim_device *device;
};

struct mapping {
	uintptr_t address;
	size_t bytes;
	struct handle *handle;
	unsigned long long access; /* CUmemAccess_flags */
	struct mapping *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

static struct handle *find(CUmemGenericAllocationHandle generic)
{
	struct handle *handle = (struct handle *)(uintptr_t)generic;

	return handle && handle->magic == VMM_MAGIC ? handle : NULL;
}

/* For the truth alone: CUPTI has no record of physical memory. */
static void tell(const struct handle *handle, uint32_t operation)
{
	struct sim_memory what = {.operation = operation,
				  .memory_kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
				  .correlation = sim_current_correlation(),
				  .device = (uint32_t)handle->device->ordinal,
				  .address = (uintptr_t)handle,
				  .bytes = handle->bytes,
				  .timestamp = sim_now()};

	sim_truth_memory(&what);
}

static void drop(struct handle *handle)
{
	if (atomic_fetch_sub(&handle->references, 1) > 1)
		return;
	handle->magic = 0; /* kept: stale handles must be recognisable */
	close(handle->fd);
	atomic_fetch_sub(&handle->device->used_bytes, handle->bytes);
	tell(handle, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
}

/* Takes the descriptor. */
static CUresult handle_new(int fd, size_t bytes, const CUmemAllocationProp *prop,
			   CUmemGenericAllocationHandle *ret_handle)
{
	struct sim_device *device = sim_device_find(prop->location.id);
	struct handle *handle = fd >= 0 && device ? calloc(1, sizeof(*handle)) : NULL;

	if (!handle) {
		if (fd >= 0)
			close(fd);
		return device ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_DEVICE;
	}
	*handle = (struct handle){VMM_MAGIC, fd, bytes, *prop, 1, device};
	atomic_fetch_add(&device->used_bytes, bytes);
	*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)handle;
	tell(handle, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
					   CUmemAllocationGranularity_flags option)
{
	if (!bytes || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = GRANULARITY;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
			 const CUmemAllocationProp *prop, unsigned long long flags)
{
	CUresult result = sim_check_ready();

	if (result || !handle || !prop || !bytes || bytes % GRANULARITY || flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	struct sim_device *device = sim_device_find(prop->location.id);
	if (device && device->used_bytes + bytes > device->facts->memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	int fd = memfd_create("simcuda", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)bytes)) {
		close(fd);
		fd = -1;
	}
	return handle_new(fd, bytes, prop, handle);
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle generic)
{
	struct handle *handle = find(generic);

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	drop(handle);
	return CUDA_SUCCESS;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						    CUmemGenericAllocationHandle generic)
{
	struct handle *handle = find(generic);

	if (!handle || !prop)
		return CUDA_ERROR_INVALID_VALUE;
	*prop = handle->prop;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *ret_address, size_t bytes, size_t alignment,
				 CUdeviceptr wanted, unsigned long long flags)
{
	CUresult result = sim_check_ready();
	size_t align = alignment > GRANULARITY ? alignment : GRANULARITY;

	if (result || !ret_address || !bytes || bytes % GRANULARITY || align & (align - 1))
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	char *pages = mmap((void *)wanted, bytes + align, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *aligned = (char *)(((uintptr_t)pages + align - 1) & ~(uintptr_t)(align - 1));
	if (aligned > pages)
		munmap(pages, (size_t)(aligned - pages));
	if (aligned + bytes < pages + bytes + align)
		munmap(aligned + bytes, (size_t)(pages + align - aligned));
	*ret_address = (CUdeviceptr)aligned;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	if (!address || !bytes || address % GRANULARITY || bytes % GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	return munmap((void *)address, bytes) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult list(uintptr_t address, size_t bytes, struct handle *handle)
{
	struct sim_allocation memory = {.address = address,
					.bytes = bytes,
					.kind = SIM_MEMORY_DEVICE,
					.context = sim_context_current(),
					.is_mapped = true};
	struct mapping *mapping = malloc(sizeof(*mapping));

	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*mapping = (struct mapping){address, bytes, handle, 0, NULL};
	pthread_mutex_lock(&mutex);
	mapping->next = mappings;
	mappings = mapping;
	pthread_mutex_unlock(&mutex);
	atomic_fetch_add(&handle->references, 1);
	return sim_memory_add(&memory);
}

CUresult sim_cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
		      CUmemGenericAllocationHandle generic, unsigned long long flags)
{
	struct handle *handle = find(generic);

	if (!handle || !address || !bytes || flags || offset > handle->bytes ||
	    bytes > handle->bytes - offset || (address | bytes | offset) % GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	if (mmap((void *)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, handle->fd,
		 (off_t)offset) == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return list(address, bytes, handle);
}

/* Mappings within a range, one after the other. Caller holds the mutex. */
static struct mapping **inside(struct mapping **from, uintptr_t address, size_t bytes)
{
	while (*from &&
	       ((*from)->address < address || (*from)->address + (*from)->bytes > address + bytes))
		from = &(*from)->next;
	return from;
}

CUresult sim_cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	struct sim_allocation gone;
	size_t left = bytes;

	pthread_mutex_lock(&mutex);
	for (struct mapping **at = inside(&mappings, address, bytes); *at;
	     at = inside(at, address, bytes)) {
		struct mapping *mapping = *at;

		*at = mapping->next;
		left -= mapping->bytes;
		sim_memory_remove(mapping->address, &gone);
		mmap((void *)mapping->address, mapping->bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		drop(mapping->handle);
		free(mapping);
	}
	pthread_mutex_unlock(&mutex);
	return left ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Any device's rights are everyone's: all share the host's memory. */
CUresult sim_cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
			    size_t count)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	int protection = 0;

	if (!access || !count)
		return result;
	if (access[0].flags & 1)
		protection |= PROT_READ;
	if (access[0].flags & 2)
		protection |= PROT_WRITE;
	pthread_mutex_lock(&mutex);
	for (struct mapping **at = inside(&mappings, address, bytes); *at;
	     at = inside(&(*at)->next, address, bytes)) {
		(*at)->access = access[0].flags;
		mprotect((void *)(*at)->address, (*at)->bytes, protection);
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

/* The mapping of an address. Caller holds the mutex. */
static struct mapping *mapping_of(uintptr_t address)
{
	struct mapping *at = mappings;

	while (at && address - at->address >= at->bytes)
		at = at->next;
	return at;
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
			    CUdeviceptr address)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&mutex);
	struct mapping *mapping = mapping_of(address);
	if (mapping && flags) {
		*flags = mapping->access;
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&mutex);
	struct mapping *mapping = mapping_of((uintptr_t)address);
	if (mapping && ret_handle) {
		atomic_fetch_add(&mapping->handle->references, 1);
		*ret_handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->handle;
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&mutex);
	return result;
}

CUresult sim_cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle generic,
					  CUmemAllocationHandleType type, unsigned long long flags)
{
	struct handle *handle = find(generic);

	if (!handle || !shareable || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	int fd = fcntl(handle->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	*(int *)shareable = fd;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret_handle,
					    void *shareable, CUmemAllocationHandleType type)
{
	struct CUctx_st *context;
	CUresult result = sim_check_context(&context);
	struct stat st;

	if (result || !ret_handle)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	int fd = fcntl((int)(intptr_t)shareable, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st))
		return CUDA_ERROR_INVALID_VALUE;
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = context->device->ordinal}};
	return handle_new(fd, (size_t)st.st_size, &prop, ret_handle);
}
