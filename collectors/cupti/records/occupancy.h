/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy of a kernel: Kineto's figures (blocks per SM, warps per SM, estimated achieved
 * occupancy), the theoretical occupancy and what limits it, from properties of the device and the
 * launch. Computed by the toolkit's cuda_occupancy.h. Pure; any thread.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_OCCUPANCY_H
#define GT_COLLECTORS_CUPTI_RECORDS_OCCUPANCY_H

#include "core/schema/event.h"

/* Fills the derived fields of @kernel (grid, block, registers and shared memory are set).
 * has_occupancy stays false when the device is unknown or the launch is impossible. */
void gt_occupancy_fill(const struct gt_device_event *device, struct gt_kernel_event *kernel);

/* Largest shared memory that a block may opt in to, bytes: not in CUPTI's record, but a function of
 * the compute capability and the SM's shared memory (CUDA programming guide, "Compute
 * Capabilities": the system reserves 1 KiB per block from 8.0 on). */
uint32_t gt_occupancy_shared_optin(uint32_t compute_major, uint32_t compute_minor,
				   uint32_t shared_per_sm, uint32_t shared_per_block);

#endif
