/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU time of everything that was launched inside a line, function or module, be it by what that
 * called: the inclusive time beside the exclusive one of gt_stats_by. One thread.
 */
#ifndef GT_ANALYSIS_STATS_INSIDE_H
#define GT_ANALYSIS_STATS_INSIDE_H

#include "analysis/group.h"
#include "analysis/key.h"
#include "trace/job.h"

/* Number of struct gt_group's tag that holds the time, ns. */
#define GT_TAG_INSIDE 0

/* True for the keys that speak of frames. */
bool gt_stats_has_inside(enum gt_key key);

/* Adds the time of each operation to the groups of all frames of its stack, once to each; makes
 * groups for those that launch nothing themselves. -ENOMEM. */
int gt_stats_inside(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		    struct gt_groups *groups);

#endif
