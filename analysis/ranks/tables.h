/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of `gputrace ranks`. Pure over constant models; one thread per table.
 */
#ifndef GT_ANALYSIS_RANKS_TABLES_H
#define GT_ANALYSIS_RANKS_TABLES_H

#include "analysis/ranks/late.h"
#include "analysis/table/table.h"

/* All that the tables are made of. */
struct gt_ranks {
	const struct gt_job *job;
	struct gt_rank_excerpt *excerpts; /* of each model */
	struct gt_rounds rounds;
	struct gt_lates lates;
};

/* Finds the collectives and who was late. 0 or -ENOMEM; free with gt_ranks_fini in either case. */
int gt_ranks_find(const struct gt_job *job, const struct gt_filter *filter,
		  struct gt_ranks *ret_ranks);
/* The same by excerpts of the models, of which then only what gt_rank_message_read knows is needed.
 * They are freed with the rest. */
int gt_ranks_compare(const struct gt_job *job, struct gt_rank_excerpt *excerpts,
		     struct gt_ranks *ret_ranks);
void gt_ranks_fini(struct gt_ranks *ranks);

/* One row per process with collectives, the one that cost the others most first. */
int gt_ranks_late(const struct gt_ranks *ranks, struct gt_table *ret_table);

/* One row per process: its host, and its clock against that of the job. */
int gt_ranks_clocks(const struct gt_ranks *ranks, struct gt_table *ret_table);

/* One row per training step. */
int gt_ranks_steps(const struct gt_ranks *ranks, struct gt_table *ret_table);

/* One row per collective and size: how far apart its members came, and its bandwidth. */
int gt_ranks_collectives(const struct gt_ranks *ranks, struct gt_table *ret_table);

/* One row per kernel that several ranks have, the one whose slowest rank loses most first. */
int gt_ranks_kernels(const struct gt_ranks *ranks, struct gt_table *ret_table);

/* One row per process whose transfers over the network are in its trace, the one whose sends wait
 * longest for their bytes first. */
int gt_ranks_network(const struct gt_ranks *ranks, struct gt_table *ret_table);

/* The processes that it has a row for. */
size_t gt_ranks_sending(const struct gt_ranks *ranks);

/* Whose sends wait longest for the network, *ret_ratio times as long as those of the middle one;
 * false: that is not clearly longer, is no matter, or there is no middle one. */
bool gt_ranks_slow_sender(const struct gt_ranks *ranks, size_t *ret_which, double *ret_ratio);

/* Processes of several ranks that ran on one GPU. */
struct gt_ranks_shared {
	size_t gpus;       /* that several ranks have; 0: none */
	char uuid[64];     /* of the first one */
	size_t one, other; /* its first and its last process */
	size_t count;      /* ranks that have it */
};

/* Of GPUs whose UUID is known, and processes that tell their rank. */
struct gt_ranks_shared gt_ranks_shared_gpu(const struct gt_ranks *ranks);

/* The main cause of @by, and its share of @late in %; NULL: nothing explains as much as half. */
const char *gt_ranks_cause(const int64_t by[GT_LATE_COUNT_], int64_t late, double *ret_share);

#endif
