/* SPDX-License-Identifier: Apache-2.0
 *
 * What libcudart.so.12 has and 13 dropped, as far as frameworks of CUDA 12 ask for it. Any thread.
 */
#include "runtime/runtime.h"

#include <stddef.h>
#include <string.h>

/* Its properties of a device; the limits of textures, which nothing here has, are one block. */
struct properties12 {
	char name[256];
	cudaUUID_t uuid;
	char luid[8];
	unsigned int luid_mask;
	size_t total_memory, shared_per_block;
	int registers_per_block, warp_size;
	size_t pitch;
	int threads_per_block, threads_dim[3], grid_size[3], clock_khz;
	size_t constant_memory;
	int major, minor;
	size_t texture_alignment, texture_pitch_alignment;
	int device_overlap, multiprocessors, timeout, integrated, map_host_memory, compute_mode;
	int texture_limits[40];
	size_t surface_alignment;
	int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines;
	int unified_addressing, memory_clock_khz, bus_width, l2_bytes, persisting_l2_bytes;
	int threads_per_multiprocessor, stream_priorities, global_l1, local_l1;
	size_t shared_per_multiprocessor;
	int registers_per_multiprocessor, managed, multi_gpu_board, board_group, native_atomics;
	int double_ratio, pageable_access, concurrent_managed, compute_preemption;
	int registered_pointers, cooperative, cooperative_multi;
	size_t shared_per_block_optin;
	int host_page_tables, direct_managed, blocks_per_multiprocessor, policy_window;
	size_t reserved_shared;
	int host_register, sparse_arrays, host_register_readonly, timeline_semaphores;
	int memory_pools, gpu_direct, gpu_direct_flush, gpu_direct_order, pool_handles;
	int deferred_arrays, ipc_events, clusters, unified_functions, reserved[63];
};
_Static_assert(offsetof(struct properties12, surface_alignment) == 568 &&
		       offsetof(struct properties12, reserved_shared) == 720 &&
		       sizeof(struct properties12) == 1032,
	       "laid out as in CUDA 12");

/* Its parameter is its own struct, under the name that 13 gives to another one. */
cudaError_t rt_cudaGetDeviceProperties_v2(struct cudaDeviceProp *ret, int device)
{
	struct properties12 *p = (struct properties12 *)ret;
	struct cudaDeviceProp from;
	cudaError_t error = rt_cudaGetDeviceProperties(&from, device);

	if (error)
		return error;
	memset(p, 0, sizeof(*p));
	memcpy(p->name, from.name, sizeof(p->name));
	p->uuid = from.uuid;
	p->total_memory = from.totalGlobalMem;
	p->shared_per_block = from.sharedMemPerBlock;
	p->registers_per_block = from.regsPerBlock;
	p->warp_size = from.warpSize;
	p->pitch = from.memPitch;
	p->threads_per_block = from.maxThreadsPerBlock;
	memcpy(p->threads_dim, from.maxThreadsDim, sizeof(p->threads_dim));
	memcpy(p->grid_size, from.maxGridSize, sizeof(p->grid_size));
	p->constant_memory = from.totalConstMem;
	p->major = from.major;
	p->minor = from.minor;
	p->multiprocessors = from.multiProcessorCount;
	p->map_host_memory = from.canMapHostMemory;
	p->concurrent_kernels = from.concurrentKernels;
	p->ecc = from.ECCEnabled;
	p->pci_bus = from.pciBusID;
	p->async_engines = from.asyncEngineCount;
	p->unified_addressing = from.unifiedAddressing;
	p->bus_width = from.memoryBusWidth;
	p->l2_bytes = from.l2CacheSize;
	p->threads_per_multiprocessor = from.maxThreadsPerMultiProcessor;
	p->stream_priorities = from.streamPrioritiesSupported;
	p->shared_per_multiprocessor = from.sharedMemPerMultiprocessor;
	p->registers_per_multiprocessor = from.regsPerMultiprocessor;
	p->managed = from.managedMemory;
	p->concurrent_managed = from.concurrentManagedAccess;
	p->cooperative = from.cooperativeLaunch;
	p->shared_per_block_optin = from.sharedMemPerBlockOptin;
	p->blocks_per_multiprocessor = from.maxBlocksPerMultiProcessor;
	p->reserved_shared = from.reservedSharedMemPerBlock;
	p->memory_pools = from.memoryPoolsSupported;
	return cudaSuccess;
}

cudaError_t rt_cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
					   enum cudaStreamCaptureStatus *status,
					   unsigned long long *id, cudaGraph_t *graph,
					   const cudaGraphNode_t **dependencies, size_t *count)
{
	return rt_cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count);
}
