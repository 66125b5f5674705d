/* SPDX-License-Identifier: Apache-2.0
 *
 * One value of one GPU. A GPU that has no such sensor says so once and is not asked for it again.
 * The thread of gt_nvml_run alone.
 */
#ifndef GT_COLLECTORS_NVML_READ_H
#define GT_COLLECTORS_NVML_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/nvml/gpm.h"
#include "collectors/nvml/library.h"
#include "collectors/nvml/nvml.h"

/* A GPU that is read. Given: the handle; the rest is zero at first. */
struct gt_nvml_gpu {
	gt_nvml_device handle;
	uint32_t lacks; /* a bit for each reading that it does not have */
	/* of the readings of this round that come from one call */
	struct gt_nvml_utilization utilization;
	unsigned long long reasons;
	enum gt_nvml_result has_utilization, has_reasons;
	/* sums of NVLink at the last reading, KiB and CLOCK_MONOTONIC ns; sent, received */
	uint64_t links[2], links_at[2];
	uint64_t pcie_at[2]; /* last asked, likewise */
	struct gt_nvml_gpm gpm;
};

/* Asks @gpu, in NVML's units. False: it has no such sensor, it is not due yet, or *ret_result says
 * what went wrong. @now: CLOCK_MONOTONIC ns. */
bool gt_nvml_read(const struct gt_nvml_library *nvml, struct gt_nvml_gpu *gpu,
		  enum gt_health_reading reading, uint64_t now, uint64_t *ret_value,
		  enum gt_nvml_result *ret_result);

#endif
