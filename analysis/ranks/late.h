/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a process came last to a collective: what it did since the one before, against what the other
 * members did meanwhile; and who had made it late before. Pure over constant models; one thread per
 * set.
 */
#ifndef GT_ANALYSIS_RANKS_LATE_H
#define GT_ANALYSIS_RANKS_LATE_H

#include "analysis/ranks/network.h"
#include "analysis/ranks/rounds.h"

/* What made a process late. */
enum gt_late_cause {
	GT_LATE_GPU,     /* its GPU took longer for as many operations */
	GT_LATE_WORK,    /* its GPU had more of them */
	GT_LATE_DATA,    /* its GPU was idle while the host loaded data */
	GT_LATE_HOST,    /* its GPU was idle for another reason */
	GT_LATE_NETWORK, /* collectives with it took longer than those without it */
	GT_LATE_COUNT_
};

/* For tables, indexed by enum gt_late_cause. */
extern const char *const gt_late_names[GT_LATE_COUNT_];

/* What a process did from the end of its collective before to the beginning of this one. */
struct gt_late_stretch {
	int64_t from, to; /* ns of its own clock */
	int64_t busy;     /* ns in which anything but communication ran on its GPUs */
	int64_t data;     /* ns in which its host loaded data and none of that ran */
	size_t ops;       /* that began */
	bool is_known;    /* there is a collective before, and it ended before this one began */
};

/* A process's sums over all collectives. */
struct gt_late {
	uint64_t count, last; /* collectives; those that it came last to */
	int64_t waited;       /* ns: for others */
	int64_t cost;         /* ns that others waited because of it, all of them */
	int64_t late;         /* ns: that it made the last one to come late, itself or another */
	int64_t by[GT_LATE_COUNT_]; /* of late */
	int64_t path, path_busy;    /* ns on the critical path; of them busy */
};

/* What a process is to blame for in one collective. */
struct gt_late_blame {
	size_t round;
	uint32_t model;
	int64_t late, cost, by[GT_LATE_COUNT_]; /* as of struct gt_late */
};

/* The processes' sums, in the order of the job. */
struct gt_lates {
	struct gt_late *of;
	struct gt_late_stretch *stretch; /* of each member of the rounds */
	size_t *before;                  /* of each member: the round before, + 1; 0: none */
	size_t count;
	struct gt_network network;
	GT_VEC(struct gt_late_blame) blames; /* by round */
};

/* @excerpts: of each model. 0 or -ENOMEM; free with gt_lates_fini in either case. */
int gt_lates_find(const struct gt_job *job, const struct gt_rank_excerpt *excerpts,
		  const struct gt_rounds *rounds, struct gt_lates *ret_lates);
void gt_lates_fini(struct gt_lates *lates);

/* How late the last member of a round came, ns behind the middle one of the others, and why: what
 * it did itself, and how much later than that of the others its collective before had ended
 * (inherited). The parts add up to it but for what is not explained. */
int64_t gt_late_of(const struct gt_rounds *rounds, const struct gt_lates *lates,
		   const struct gt_round *round, int64_t ret_by[GT_LATE_COUNT_],
		   int64_t *ret_inherited);

/* Fills lates->blames and sums them up, from the stretches and the network. 0 or -ENOMEM. */
int gt_lates_blame(const struct gt_rounds *rounds, struct gt_lates *lates);

#endif
