/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel launches, kernel attributes and occupancy. Kernels compute nothing; they take time.
 */
#include "driver/driver.h"

#include <string.h>

#include <cupti_activity.h>

static bool is_launchable(const struct sim_kernel_facts *facts)
{
	uint64_t threads = 1;

	for (int i = 0; i < 3; i++) {
		if (!facts->grid[i] || !facts->block[i])
			return false;
		threads *= facts->block[i];
	}
	return threads <= 1024;
}

static CUresult launch(struct CUfunc_st *function, const struct sim_kernel_facts *wanted,
		       CUstream handle, void **params, void **extra)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);
	struct sim_work work;

	if (sim_unlikely(result))
		return result;
	if (sim_unlikely(!function || function->magic != SIM_FUNCTION_MAGIC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (sim_unlikely(!is_launchable(wanted)))
		return CUDA_ERROR_INVALID_VALUE;
	work.kind = SIM_WORK_KERNEL;
	work.kernel.function = function;
	work.kernel.facts = *wanted;
	work.kernel.facts.name = function->name;
	work.kernel.facts.registers = function->registers;
	work.kernel.facts.static_shared = function->static_shared;
	work.kernel.facts.local_per_thread = function->local_per_thread;
	work.kernel.meeting = sim_self.meeting;
	sim_self.meeting.end = NULL;
	work.kernel.params = params;
	work.kernel.extra = extra;
	work.ns = sim_kernel_ns(function, wanted);
	return sim_submit(stream, &work);
}

CUresult sim_cuLaunchKernel(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
			    unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			    CUstream stream, void **params, void **extra)
{
	struct sim_kernel_facts facts = {
		.grid = {gx, gy, gz}, .block = {bx, by, bz}, .dynamic_shared = shared};

	return launch(function, &facts, stream, params, extra);
}

CUresult sim_cuLaunchCooperativeKernel(CUfunction function, unsigned int gx, unsigned int gy,
				       unsigned int gz, unsigned int bx, unsigned int by,
				       unsigned int bz, unsigned int shared, CUstream stream,
				       void **params)
{
	struct sim_kernel_facts facts = {
		.grid = {gx, gy, gz},
		.block = {bx, by, bz},
		.dynamic_shared = shared,
		.launch_type = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE};

	return launch(function, &facts, stream, params, NULL);
}

static void apply_attribute(const CUlaunchAttribute *attribute, struct sim_kernel_facts *facts)
{
	if (attribute->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute->value.cooperative)
		facts->launch_type = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
	if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		facts->cluster[0] = attribute->value.clusterDim.x;
		facts->cluster[1] = attribute->value.clusterDim.y;
		facts->cluster[2] = attribute->value.clusterDim.z;
	}
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
			      void **extra)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	struct sim_kernel_facts facts = {
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.dynamic_shared = config->sharedMemBytes};
	for (unsigned int i = 0; i < config->numAttrs; i++)
		apply_attribute(&config->attrs[i], &facts);
	return launch(function, &facts, config->hStream, params, extra);
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	if (!function || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = 1024;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = (int)function->static_shared;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = (int)function->local_per_thread;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = (int)function->registers;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = (int)(sim_options.facts->major * 10 + sim_options.facts->minor);
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = function->max_dynamic_shared ? function->max_dynamic_shared : 49152;
		break;
	default:
		*value = 0;
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		function->max_dynamic_shared = value;
	return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
				  CUdevice device)
{
	return sim_cuFuncGetAttribute(value, attribute, (CUfunction)kernel);
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
				  CUdevice device)
{
	return sim_cuFuncSetAttribute((CUfunction)kernel, attribute, value);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Threads, registers and shared memory decide, in whole blocks. */
static int blocks_per_multiprocessor(const struct CUfunc_st *function, int threads, size_t shared)
{
	const struct sim_device_facts *device = sim_options.facts;
	uint32_t warps = ((uint32_t)threads + 31) / 32;
	uint32_t blocks = device->threads_per_multiprocessor / (warps * 32);
	uint32_t by_registers =
		device->registers_per_multiprocessor / (function->registers * warps * 32);
	uint64_t per_block = function->static_shared + shared + 1024;

	blocks = by_registers < blocks ? by_registers : blocks;
	if (device->shared_per_multiprocessor / per_block < blocks)
		blocks = (uint32_t)(device->shared_per_multiprocessor / per_block);
	return (int)(blocks < device->blocks_per_multiprocessor
			     ? blocks
			     : device->blocks_per_multiprocessor);
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
								  int threads, size_t shared,
								  unsigned int flags)
{
	if (!function || threads <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = blocks_per_multiprocessor(function, threads, shared);
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
							 int threads, size_t shared)
{
	return sim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
									shared, 0);
}

CUresult sim_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
					      CUoccupancyB2DSize shared_of, size_t shared,
					      int limit)
{
	*block = limit > 0 && limit < 256 ? limit : 256;
	*grid = (int)sim_options.facts->multiprocessors *
		blocks_per_multiprocessor(function, *block, shared_of ? shared_of(*block) : shared);
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks,
						     int threads)
{
	if (!function || blocks <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	uint64_t each = sim_options.facts->shared_per_multiprocessor / (uint32_t)blocks;
	uint64_t taken = function->static_shared + 1024u;

	*bytes = each > taken ? each - taken : 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
						       CUoccupancyB2DSize shared_of, size_t shared,
						       int limit, unsigned int flags)
{
	return sim_cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, shared,
						    limit);
}

/* A cluster lies in a group of multiprocessors; each of the device's has eight of them here. */
CUresult sim_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function,
						const CUlaunchConfig *config)
{
	if (!size || !function || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*size = 8;
	return CUDA_SUCCESS;
}

CUresult sim_cuOccupancyMaxActiveClusters(int *clusters, CUfunction function,
					  const CUlaunchConfig *config)
{
	unsigned int size = 1;

	if (!clusters || !function || !config)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			size = config->attrs[i].value.clusterDim.x *
			       config->attrs[i].value.clusterDim.y *
			       config->attrs[i].value.clusterDim.z;
	unsigned int threads = config->blockDimX * config->blockDimY * config->blockDimZ;
	if (!size || !threads)
		return CUDA_ERROR_INVALID_VALUE;
	int blocks = blocks_per_multiprocessor(function, (int)threads, config->sharedMemBytes);
	*clusters = (int)sim_options.facts->multiprocessors * blocks / (int)size;
	return CUDA_SUCCESS;
}
