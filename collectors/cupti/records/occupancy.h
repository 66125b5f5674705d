/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy of a kernel: Kineto's figures (blocks per SM, warps per SM, estimated achieved
 * occupancy), the theoretical occupancy and what limits it, from properties of the device and the
 * launch. Computed by the toolkit's cuda_occupancy.h. Any thread, an owner for answers.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_OCCUPANCY_H
#define GT_COLLECTORS_CUPTI_RECORDS_OCCUPANCY_H

#include "core/schema/event.h"

/* What the calculator said of a block of a kernel, and what followed for a grid. */
struct gt_occupancy_answer {
	uint64_t threads;
	uint32_t device, registers, static_shared, dynamic_shared;
	int32_t active; /* blocks that an SM holds at once; 0: none of these was asked */
	uint16_t resident, limits[4];
	uint32_t percent, est_percent;
	uint64_t blocks; /* of the last grid; 0: none */
	uint64_t blocks_micro, warps_micro;
};

#define GT_OCCUPANCY_ANSWERS 64u

/* The last ones. To be zeroed when the properties of a device change. */
struct gt_occupancy_answers {
	struct gt_occupancy_answer slots[GT_OCCUPANCY_ANSWERS];
};

/* Fills the derived fields of @kernel (grid, block, registers and shared memory are set).
 * has_occupancy stays false when the device is unknown or the launch is impossible. @answers: NULL:
 * the calculator is asked each time. */
void gt_occupancy_fill(const struct gt_device_event *device, struct gt_kernel_event *kernel,
		       struct gt_occupancy_answers *answers);

/* Largest shared memory that a block may opt in to, bytes: not in CUPTI's record, but a function of
 * the compute capability and the SM's shared memory (CUDA programming guide, "Compute
 * Capabilities": the system reserves 1 KiB per block from 8.0 on). */
uint32_t gt_occupancy_shared_optin(uint32_t compute_major, uint32_t compute_minor,
				   uint32_t shared_per_sm, uint32_t shared_per_block);

#endif
