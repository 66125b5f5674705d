/* SPDX-License-Identifier: Apache-2.0
 *
 * What the comparison of ranks needs of one process besides its collectives: made where its trace
 * was read, a few numbers for each collective, so that the trace itself may be elsewhere. Pure over
 * constant models; one thread per set.
 */
#ifndef GT_ANALYSIS_RANKS_EXCERPT_H
#define GT_ANALYSIS_RANKS_EXCERPT_H

#include "analysis/key.h"
#include "trace/job.h"

/* What a process had done up to a moment; two of them tell what it did between. */
struct gt_rank_mark {
	uint64_t busy; /* ns in which anything but communication ran on its GPUs */
	uint64_t data; /* ns in which its host loaded data and none of that ran */
	uint64_t ops;  /* that began */
};

/* A collective, whether or not it has a counterpart. */
struct gt_rank_meeting {
	struct gt_rank_mark came, left;
	uint32_t op;   /* gt_meeting_op() */
	uint32_t step; /* name of the training step it is in, GT_NONE */
	bool passes;   /* the filter */
};

/* A training step, or all times of one kernel: a name of the model and ns. */
struct gt_rank_time {
	uint32_t name;
	int64_t time;
};

/* Several. */
struct gt_rank_times {
	struct gt_rank_time *at;
	size_t count, room;
};

/* Of one process. */
struct gt_rank_excerpt {
	GT_VEC(struct gt_rank_meeting) meetings; /* by op */
	struct gt_rank_times steps;
	struct gt_rank_times kernels; /* that pass the filter, by first sight */
	char host[256];               /* "": not known */
	char throttled[200];          /* what kept the clocks of its GPUs down; "": nothing */
	char gpus[512];               /* UUIDs of the GPUs that it used, with blanks between */
	int64_t starts;               /* by torchrun, of its ranks, with this one; 0: not known */
	struct gt_model_network network;
};

/* One for each model of @job. 0 or -ENOMEM; free with gt_rank_excerpts_fini in either case. */
int gt_rank_excerpts_take(const struct gt_job *job, const struct gt_filter *filter,
			  struct gt_rank_excerpt **ret_excerpts);
/* Frees @count of them. NULL is fine. */
void gt_rank_excerpts_fini(struct gt_rank_excerpt *excerpts, size_t count);

/* The collective of that number of gt_meeting_op(), which must be one. */
const struct gt_rank_meeting *gt_rank_meeting_of(const struct gt_rank_excerpt *excerpt,
						 uint32_t op);

#endif
