/* SPDX-License-Identifier: Apache-2.0
 *
 * Which traces of a job are merged: by rank and by host. One thread.
 */
#ifndef GT_TRANSFORM_JOB_CHOICE_H
#define GT_TRANSFORM_JOB_CHOICE_H

#include "trace/job.h"

/* What is asked for; NULL: any. */
struct gt_merge_choice {
	const char *ranks; /* core/window/rank_list.h, checked */
	const char *host;  /* a pattern, core/window/glob.h */
};

/* Drops the paths of @job that are not of these. A file that is no trace stays, for the merge to
 * say so. -ENODATA: nothing else is left. */
int gt_merge_choose(struct gt_job *job, const struct gt_merge_choice *choice);

#endif
