/* SPDX-License-Identifier: Apache-2.0
 *
 * The collectives of a job: which kernels of its processes are one and the same, and when each
 * member came and left, on one clock. Pure over constant models; one thread per set.
 */
#ifndef GT_ANALYSIS_RANKS_ROUNDS_H
#define GT_ANALYSIS_RANKS_ROUNDS_H

#include "analysis/ranks/excerpt.h"

/* One process in a collective. */
struct gt_round_member {
	uint32_t model;     /* index in the job */
	uint32_t op;        /* gt_meeting_op() */
	int64_t start, end; /* ns of the job's clock */
};

/* One collective: two members or more. */
struct gt_round {
	size_t first;     /* index in members */
	uint32_t count;   /* of them, by model */
	uint32_t last;    /* of its members the one that came last, from 0 */
	int64_t arrived;  /* when that one came */
	int64_t earliest; /* when the first one came */
	int64_t end;      /* when the last one left */
	bool is_together; /* none may leave before all have come */
};

/* The collectives of a job. */
struct gt_rounds {
	GT_VEC(struct gt_round) all; /* by end */
	GT_VEC(struct gt_round_member) members;
	size_t unmatched;  /* kernels without a peer */
	size_t impossible; /* that would have ended before a member came: clocks, or other groups */
	size_t processes;  /* that have collectives, and may have peers */
	size_t unclear;    /* pairs of these with collectives in common, of which it is not clear
			    * which belong together */
	size_t repeated;   /* that have collectives, but the rank of another one, which is taken */
	size_t repeats;    /* the first of these, an index in the job */
	bool *is_repeat;   /* by index in the job: of these */
	size_t restarted;  /* of these: the rank was started once more */
};

/* Finds those that @filter lets pass, or did where the excerpts, of each model or NULL, were made.
 * Processes that have the same rank are no peers. 0 or -ENOMEM; free with gt_rounds_fini in either
 * case. */
int gt_rounds_find(const struct gt_job *job, const struct gt_filter *filter,
		   const struct gt_rank_excerpt *excerpts, struct gt_rounds *ret_rounds);
void gt_rounds_fini(struct gt_rounds *rounds);

/* How long a member waited for the last one, ns: never longer than its kernel ran. */
int64_t gt_round_wait(const struct gt_round *round, const struct gt_round_member *member);

#endif
