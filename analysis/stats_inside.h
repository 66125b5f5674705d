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

/* Number of the one that tells which frames launched it: bits, 0 where none did. */
#define GT_TAG_FRAME  4

/* Its bits. */
enum gt_tag_frame {
	GT_TAG_FRAME_USER = 1,    /* the user's, or all are as good (model->ranks NULL) */
	GT_TAG_FRAME_LIBRARY = 2, /* of stacks without a frame of the user's */
};

/* True for the keys that speak of frames. */
bool gt_stats_has_inside(enum gt_key key);

/* Adds the time of each operation to the groups of all frames of its stack, once to each; makes
 * groups for those that launch nothing themselves. -ENOMEM. */
int gt_stats_inside(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		    struct gt_groups *groups);

#endif
