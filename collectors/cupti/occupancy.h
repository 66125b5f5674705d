/* SPDX-License-Identifier: Apache-2.0
 *
 * How full a kernel makes the GPU: the figures that Kineto gives (blocks per SM, warps per SM, the
 * estimate of achieved occupancy) and the theoretical occupancy, from the device's facts and
 * the launch's. The rules are the toolkit's own cuda_occupancy.h. Pure; any thread.
 */
#ifndef GT_COLLECTORS_CUPTI_OCCUPANCY_H
#define GT_COLLECTORS_CUPTI_OCCUPANCY_H

#include "core/schema/event.h"

/* Fills the derived fields of @kernel (grid, block, registers and shared memory are set). Leaves
 * has_occupancy false when the device is not known or the launch fits no rule. */
void gt_occupancy_fill(const struct gt_device_event *device, struct gt_kernel_event *kernel);

/* Most shared memory that one block may ask for, bytes: not in CUPTI's record, but a function of
 * the compute capability and the SM's shared memory (CUDA programming guide, "Compute
 * Capabilities": 1 KiB per block is the system's from 8.0 on). */
uint32_t gt_occupancy_shared_optin(uint32_t compute_major, uint32_t compute_minor,
				   uint32_t shared_per_sm, uint32_t shared_per_block);

#endif
