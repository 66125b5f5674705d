/* SPDX-License-Identifier: Apache-2.0
 *
 * What changed between two jobs: busy and idle time, kernels, launching lines, operators, CUDA
 * calls. Repeated steps (ProfilerStep#N) tell the noise: a change counts when it is larger than the
 * steps' own spread allows (Welch's t, 95 %). With one step or none: "cannot tell". Pure over
 * constant models; one thread per table.
 */
#ifndef GT_ANALYSIS_DIFF_H
#define GT_ANALYSIS_DIFF_H

#include "analysis/table/table.h"
#include "trace/job.h"

/* How a measure of B compares with that of A. */
enum gt_verdict {
	GT_VERDICT_SAME,
	GT_VERDICT_SLOWER,
	GT_VERDICT_FASTER,
	GT_VERDICT_NEW,
	GT_VERDICT_GONE,
	GT_VERDICT_UNSURE, /* "cannot tell" */
};

/* The tables that a comparison has, in the order in which they are printed. */
enum gt_diff_table {
	GT_DIFF_OVERVIEW,
	GT_DIFF_KERNELS,
	GT_DIFF_LINES,
	GT_DIFF_OPS,
	GT_DIFF_CALLS,
	GT_DIFF_COUNT_,
};

/* A comparison, and what its tables are made of. Filled by gt_diff_build. */
struct gt_diff {
	struct gt_table
		tables[GT_DIFF_COUNT_]; /* those without rows say nothing about these traces */
	size_t samples[2];              /* steps on each side */
	bool stepped;                   /* values are per step, else of the whole trace */
	uint64_t regressions;           /* what a gate holds against B */
	char worst[512];                /* the largest of them, one line */
};

/*
 * Compares. @gate_percent: slower by more than this is a regression, if it is beyond the noise (or
 * the noise is not known) and at least 1 % of all; negative: no gate.
 */
int gt_diff_build(const struct gt_job *a, const struct gt_job *b, double gate_percent,
		  struct gt_diff *ret_diff);
void gt_diff_fini(struct gt_diff *diff);

#endif
