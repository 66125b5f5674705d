/* SPDX-License-Identifier: Apache-2.0
 *
 * The two sides of a comparison: one or more runs each, and the units of time that values are
 * summed over. A unit is a step (ProfilerStep#N, all ranks of the run together, as means of the
 * ranks) or, where not both sides have steps, one of GT_DIFF_BLOCKS equal parts of the time from a
 * rank's first to its last operation ("batch means": neighbours that depend on each other are in
 * one block). Pure over constant models; one thread.
 */
#ifndef GT_ANALYSIS_DIFF_SIDES_H
#define GT_ANALYSIS_DIFF_SIDES_H

#include "analysis/diff/diff.h"

#define GT_DIFF_BLOCKS 20

/* Why a unit is left out of all comparisons. */
enum gt_unit_out { GT_UNIT_KEPT, GT_UNIT_WARM_UP, GT_UNIT_OUTLIER };

/* A step or block of one run. */
struct gt_unit {
	uint32_t run;
	uint32_t index; /* in its run */
	uint32_t ranks; /* that have it */
	enum gt_unit_out out;
	double factor;    /* how much slower than the others, by the median of all kernels */
	const char *name; /* of the step; NULL: a block */
};

/* A process of a run: where its time goes. */
struct gt_diff_rank {
	const struct gt_model *model;
	uint32_t run, first;      /* first: number of the run's first unit */
	uint32_t units;           /* of this rank; 0: it is no part of the comparison */
	uint32_t *unit_of_range;  /* steps: index + 1 */
	int64_t ops[2], calls[2]; /* blocks: from the first to the last start */
	bool *is_out;             /* by operation: the filter leaves it out; NULL: none */
	struct gt_filter_calls chosen;
};

/* One side. */
struct gt_diff_side {
	GT_VEC(struct gt_unit) units;
	GT_VEC(struct gt_diff_rank) ranks;
	size_t runs, kept;
	uint64_t op_count;
};

/* What every rank of a side consists of. */
struct gt_diff_sides {
	struct gt_diff_side side[2];
	bool stepped;
	bool has_steps[2];
	bool lost_steps[2]; /* the filter leaves none of them, or none that it names is there */
	bool is_chosen;     /* the filter chooses among the operations of a step */
	double longer;      /* operations of B per operation of A, without steps; else 1 */
	bool is_mixed;      /* much of the GPU time is in kernels that do not follow that */
};

/* The runs of both sides, and what of them passes the filter. 0 or -ENOMEM; free with
 * gt_diff_sides_fini in any case. */
int gt_diff_sides_make(struct gt_diff_sides *ret_sides, const struct gt_diff_request *request);
void gt_diff_sides_fini(struct gt_diff_sides *sides);

/* Whether operation number @i counts. */
static inline bool gt_diff_counts(const struct gt_diff_rank *rank, size_t i)
{
	return !rank->is_out || !rank->is_out[i];
}

/* The unit that a call, or an operation, of a rank counts for, or -1: none. Calls and operations
 * have blocks of their own. */
int64_t gt_diff_unit_of_call(const struct gt_diff_sides *sides, const struct gt_diff_rank *rank,
			     const struct gt_call *call);
int64_t gt_diff_unit_of_op(const struct gt_diff_sides *sides, const struct gt_diff_rank *rank,
			   const struct gt_op *op);

#endif
