/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of the time parts of a GPU were at work, by its performance monitor (GPM, from Hopper
 * on): a value is the mean between two samples. The thread of gt_nvml_run alone.
 */
#ifndef GT_COLLECTORS_NVML_GPM_H
#define GT_COLLECTORS_NVML_GPM_H

#include "collectors/nvml/library.h"

/* What is asked for, in this order. */
enum gt_nvml_gpm_metric {
	GT_NVML_GPM_SM,
	GT_NVML_GPM_OCCUPANCY,
	GT_NVML_GPM_TENSOR,
	GT_NVML_GPM_DRAM,
	GT_NVML_GPM_METRICS_
};

/* Of one GPU; zero at first. */
struct gt_nvml_gpm {
	gt_nvml_gpm_sample sample[2]; /* the newest, the one before */
	uint64_t at;                  /* of the newest, CLOCK_MONOTONIC ns; 0: there is none */
	enum gt_nvml_result result;   /* of the last time that it was asked */
	uint32_t given;               /* a bit for each value that was handed out since */
	enum gt_nvml_result has[GT_NVML_GPM_METRICS_];
	uint64_t value[GT_NVML_GPM_METRICS_]; /* hundredths of a percent */
};

/* The value between the last two samples; takes one when this one was handed out before. TIMEOUT:
 * none is due yet. */
enum gt_nvml_result gt_nvml_gpm_ask(const struct gt_nvml_library *nvml, struct gt_nvml_gpm *gpm,
				    gt_nvml_device device, enum gt_nvml_gpm_metric metric,
				    uint64_t now, uint64_t *ret_value);

#endif
