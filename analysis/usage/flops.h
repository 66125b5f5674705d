/* SPDX-License-Identifier: Apache-2.0
 *
 * What was computed, summed under names. The FLOPs of a call are shared out to its kernels by their
 * durations. Pure over constant models; one thread per sum.
 */
#ifndef GT_ANALYSIS_USAGE_FLOPS_H
#define GT_ANALYSIS_USAGE_FLOPS_H

#include "analysis/group.h"
#include "analysis/key.h"
#include "analysis/usage/peaks.h"
#include "trace/job.h"

/* What is summed under a name. */
struct gt_flops_row {
	double flops, ns;
	double bytes;   /* of the calls, in the kernels' parts */
	double peak_ns; /* that the FLOPs would have taken at the device's peak */
	uint64_t calls, kernels;
	uint64_t last;          /* call that was counted last */
	bool no_bytes;          /* those of some call are not known */
	bool no_peak;           /* not known for some */
	bool mixed;             /* several types */
	enum gt_work_type type; /* of the first call */
};

/* All of them. */
struct gt_flops {
	struct gt_groups groups;          /* have the names */
	GT_VEC(struct gt_flops_row) rows; /* as the groups; kernels 0: there is none */
};

/* Sums what kernels of @job have computed that @filter lets pass, of all GPUs or of those like
 * @gpu (NULL: all). 0 or -ENOMEM; to be freed in any case. */
int gt_flops_build(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		   const struct gt_header_device *gpu, struct gt_flops *ret_flops);
void gt_flops_fini(struct gt_flops *flops);

/* The GPU of a device as the header has it; one without a name where it has none. */
const struct gt_header_device *gt_flops_gpu_of(const struct gt_model *model, uint16_t device);

/* They are of the same product and have as many SMs. */
bool gt_flops_gpus_are_like(const struct gt_header_device *a, const struct gt_header_device *b);

#endif
