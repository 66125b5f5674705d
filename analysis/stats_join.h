/* SPDX-License-Identifier: Apache-2.0
 *
 * The reports of analysis/stats.h that join arrays of a model: ranges with the GPU work launched in
 * them, kernels with their calls. Reached through gt_reports.
 */
#ifndef GT_ANALYSIS_STATS_JOIN_H
#define GT_ANALYSIS_STATS_JOIN_H

#include "analysis/stats.h"

/* Ranges are grouped by style ("StartEnd": on an additional track of their thread), domain and
 * name; the key is all of them in one text, of which the other two give the parts. */
void gt_stats_range_key(const struct gt_model *model, const struct gt_model_range *range, char *ret,
			size_t size);
const char *gt_stats_range_style(const char *key);
const char *gt_stats_range_name(const char *key);

/* nvtx_gpu_proj_sum: NVTX ranges by the GPU work launched inside. 0 or a negative errno. */
int gt_stats_map_projection(const struct gt_report *report, const struct gt_job *job,
			    const struct gt_filter *filter, struct gt_groups *groups);
int gt_stats_fill_projection(const struct gt_report *report, struct gt_groups *groups,
			     struct gt_table *ret_table);
/* cuda_kern_exec_sum: calls with the kernels they launched. 0 or a negative errno. */
int gt_stats_map_execution(const struct gt_report *report, const struct gt_job *job,
			   const struct gt_filter *filter, struct gt_groups *groups);
int gt_stats_fill_execution(const struct gt_report *report, struct gt_groups *groups,
			    struct gt_table *ret_table);

#endif
