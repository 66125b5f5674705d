/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy by the toolkit's calculator, see the header. Integer results: percent and millionths.
 */
#include "collectors/cupti/records/occupancy.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wshadow"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

#define MICRO 1000000u

uint32_t gt_occupancy_shared_optin(uint32_t compute_major, uint32_t compute_minor,
				   uint32_t shared_per_sm, uint32_t shared_per_block)
{
	if (compute_major >= 8)
		return shared_per_sm > 1024 ? shared_per_sm - 1024 : shared_per_sm;
	return compute_major == 7 ? shared_per_sm : shared_per_block;
}

static cudaOccDeviceProp properties_of(const struct gt_device_event *device)
{
	cudaOccDeviceProp prop;

	memset(&prop, 0, sizeof(prop));
	prop.computeMajor = (int)device->compute_major;
	prop.computeMinor = (int)device->compute_minor;
	prop.maxThreadsPerBlock = (int)device->max_threads_per_block;
	prop.maxThreadsPerMultiprocessor = (int)device->max_threads_per_sm;
	prop.regsPerBlock = (int)device->registers_per_block;
	prop.regsPerMultiprocessor = (int)device->registers_per_sm;
	prop.warpSize = (int)device->warp_size;
	prop.sharedMemPerBlock = device->shared_per_block;
	prop.sharedMemPerMultiprocessor = device->shared_per_sm;
	prop.numSms = (int)device->sm_count;
	prop.sharedMemPerBlockOptin = device->shared_per_block_optin;
	prop.reservedSharedMemPerBlock = device->compute_major >= 8 ? 1024 : 0;
	return prop;
}

/* Far above any GPU, and small enough for the calculator's ints to be multiplied: records may hold
 * any value. */
#define THREADS_MAX   (1u << 16)
#define REGISTERS_MAX (1u << 20) /* of an SM */
#define REGISTERS_OF  (1u << 10) /* of a thread */
#define WARP_MAX      (1u << 8)
#define SHARED_MAX    (1u << 26)

static bool is_plausible(const struct gt_device_event *device, const struct gt_kernel_event *kernel)
{
	return device->warp_size <= WARP_MAX && device->max_threads_per_block <= THREADS_MAX &&
	       device->max_threads_per_sm <= THREADS_MAX &&
	       device->registers_per_block <= REGISTERS_MAX &&
	       device->registers_per_sm <= REGISTERS_MAX &&
	       device->shared_per_block <= SHARED_MAX && device->shared_per_sm <= SHARED_MAX &&
	       device->shared_per_block_optin <= SHARED_MAX && kernel->registers <= REGISTERS_OF &&
	       kernel->static_shared <= SHARED_MAX && kernel->dynamic_shared <= SHARED_MAX;
}

/* As a limit in the event: the calculator's "no limit" becomes 0. */
static uint16_t limit_of(int blocks)
{
	return blocks > 0 && blocks <= UINT16_MAX ? (uint16_t)blocks : 0;
}

/* Blocks that an SM can hold at once, or -1; also sets the limits of @kernel. */
static int calculate(const struct gt_device_event *device, struct gt_kernel_event *kernel,
		     uint64_t threads)
{
	cudaOccDeviceProp prop = properties_of(device);
	cudaOccDeviceState state;
	cudaOccFuncAttributes function;
	cudaOccResult result;

	memset(&state, 0, sizeof(state));
	state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
	memset(&function, 0, sizeof(function));
	function.maxThreadsPerBlock = INT_MAX;
	function.numRegs = (int)kernel->registers;
	function.sharedSizeBytes = kernel->static_shared;
	function.partitionedGCConfig = PARTITIONED_GC_OFF;
	function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
	function.maxDynamicSharedSizeBytes = kernel->dynamic_shared;
	if (threads > THREADS_MAX || !is_plausible(device, kernel) ||
	    cudaOccMaxActiveBlocksPerMultiprocessor(&result, &prop, &function, &state, (int)threads,
						    kernel->dynamic_shared) != CUDA_OCC_SUCCESS)
		return -1;
	kernel->resident_blocks = limit_of(result.activeBlocksPerMultiprocessor);
	kernel->limit_blocks = limit_of(result.blockLimitBlocks);
	kernel->limit_warps = limit_of(result.blockLimitWarps);
	kernel->limit_registers = limit_of(result.blockLimitRegs);
	kernel->limit_shared = limit_of(result.blockLimitSharedMem);
	return result.activeBlocksPerMultiprocessor;
}

static struct gt_occupancy_answer question_of(const struct gt_device_event *device,
					      const struct gt_kernel_event *kernel,
					      uint64_t threads)
{
	return (struct gt_occupancy_answer){.device = device->id,
					    .threads = threads,
					    .registers = kernel->registers,
					    .static_shared = kernel->static_shared,
					    .dynamic_shared = kernel->dynamic_shared};
}

static struct gt_occupancy_answer *slot_of(struct gt_occupancy_answers *answers,
					   const struct gt_device_event *device,
					   const struct gt_kernel_event *kernel, uint64_t threads)
{
	uint32_t hash = (uint32_t)threads + kernel->registers * 31 + kernel->static_shared * 7 +
			kernel->dynamic_shared + device->id;

	return &answers->slots[hash * 0x9e3779b9u >> 26];
}

static bool has_answer(const struct gt_occupancy_answer *slot, const struct gt_device_event *device,
		       const struct gt_kernel_event *kernel, uint64_t threads)
{
	return slot->active > 0 && slot->threads == threads && slot->device == device->id &&
	       slot->registers == kernel->registers &&
	       slot->static_shared == kernel->static_shared &&
	       slot->dynamic_shared == kernel->dynamic_shared;
}

_Static_assert(GT_OCCUPANCY_ANSWERS == 1u << (32 - 26), "a slot for each hash");

/* Asks the calculator. Apart, as what follows is asked of each kernel. */
static __attribute__((noinline)) void answer(struct gt_occupancy_answer *slot,
					     const struct gt_device_event *device,
					     struct gt_kernel_event *kernel, uint64_t threads)
{
	*slot = question_of(device, kernel, threads);
	slot->active = calculate(device, kernel, threads);
	slot->resident = kernel->resident_blocks;
	memcpy(slot->limits, &kernel->limit_blocks, sizeof(slot->limits));
}

_Static_assert(offsetof(struct gt_kernel_event, limit_shared) -
			       offsetof(struct gt_kernel_event, limit_blocks) ==
		       3 * sizeof(uint16_t),
	       "the limits");

/* Millionths of @a * @b / @parts, rounded; of records that hold anything the most there is. */
static uint64_t micro_of(uint64_t a, uint64_t b, uint64_t parts)
{
	unsigned __int128 micro;

	if ((a | b) >> 21 == 0) /* most times: no division of 128 bits */
		return (a * b * MICRO + parts / 2) / parts;
	micro = ((unsigned __int128)a * b * MICRO + parts / 2) / parts;
	return micro < UINT64_MAX ? (uint64_t)micro : UINT64_MAX;
}

/* Kineto: min(blocks per SM, active blocks) * threads / threads per SM, rounded. */
static __attribute__((noinline)) void rate(struct gt_occupancy_answer *slot,
					   const struct gt_device_event *device, uint64_t blocks)
{
	uint64_t threads = slot->threads, active = (uint64_t)slot->active, resident;

	slot->blocks = blocks;
	slot->blocks_micro = micro_of(blocks, 1, device->sm_count);
	slot->warps_micro =
		micro_of(blocks, threads, (uint64_t)device->sm_count * device->warp_size);
	if (slot->active < 0)
		return;
	resident = slot->blocks_micro < active * MICRO ? slot->blocks_micro : active * MICRO;
	slot->est_percent =
		(uint32_t)((resident * threads * 100 / device->max_threads_per_sm + MICRO / 2) /
			   MICRO);
	slot->percent = (uint32_t)((active * threads * 100 + device->max_threads_per_sm / 2) /
				   device->max_threads_per_sm);
}

void gt_occupancy_fill(const struct gt_device_event *device, struct gt_kernel_event *kernel,
		       struct gt_occupancy_answers *answers)
{
	uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
	uint64_t blocks = (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
	struct gt_occupancy_answer once, *slot = &once;

	if (!device->sm_count || !device->warp_size || !device->max_threads_per_sm || !threads)
		return;
	if (answers)
		slot = slot_of(answers, device, kernel, threads);
	if (!answers || !has_answer(slot, device, kernel, threads))
		answer(slot, device, kernel, threads);
	if (slot->blocks != blocks || !blocks)
		rate(slot, device, blocks);
	kernel->blocks_per_sm_micro = slot->blocks_micro;
	kernel->warps_per_sm_micro = slot->warps_micro;
	if (slot->active < 0)
		return;
	kernel->resident_blocks = slot->resident;
	memcpy(&kernel->limit_blocks, slot->limits, sizeof(slot->limits));
	kernel->est_occupancy_percent = slot->est_percent;
	kernel->theoretical_occupancy_percent = slot->percent;
	kernel->has_occupancy = true;
}
