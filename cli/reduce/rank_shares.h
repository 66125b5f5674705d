/* SPDX-License-Identifier: Apache-2.0
 *
 * The collectives of all shares in one process, which compares their ranks. main only.
 */
#ifndef GT_CLI_REDUCE_RANK_SHARES_H
#define GT_CLI_REDUCE_RANK_SHARES_H

#include "analysis/ranks/excerpt.h"
#include "cli/reduce/shares.h"

/* With --mpi, behind gt_shares_reduce: @job becomes the whole job in the first process, with no
 * more than collectives and their excerpts, and empty in the others. Else nothing changes, and
 * *ret_excerpts is NULL. An exit status; free *ret_excerpts, of job->count, in any case. */
int gt_shares_gather_ranks(const struct gt_cmdline *args, const struct gt_filter *filter,
			   struct gt_job *job, struct gt_rank_excerpt **ret_excerpts);

#endif
