/* SPDX-License-Identifier: Apache-2.0
 *
 * What changed between two jobs: busy and idle time, ranks, kernels, launching lines, operators,
 * CUDA calls, and whether that is more than noise (judge.h). Each side is one run or several. Pure
 * over constant models; one thread per comparison.
 */
#ifndef GT_ANALYSIS_DIFF_DIFF_H
#define GT_ANALYSIS_DIFF_DIFF_H

#include "analysis/key.h"
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
	GT_DIFF_RANKS,
	GT_DIFF_KERNELS,
	GT_DIFF_LINES,
	GT_DIFF_OPS,
	GT_DIFF_CALLS,
	GT_DIFF_COUNT_,
};

/* What is asked. */
struct gt_diff_request {
	const struct gt_job *runs[2]; /* one job each */
	size_t run_count[2];
	const struct gt_filter *filter;
	double gate;  /* %: what is slower by more is a regression; negative: no gate */
	double share; /* %: of the GPU time, below which the gate does not look at a row */
};

/* Lines of text, each owned. */
struct gt_diff_lines {
	GT_VEC(char *) list;
};

/* A comparison, and what its tables are made of. Filled by gt_diff_build. */
struct gt_diff {
	struct gt_table
		tables[GT_DIFF_COUNT_]; /* those without rows say nothing about these traces */
	char extent[2][128];            /* of each side: "10 steps", "3 runs, 8 ranks, 10 steps" */
	struct gt_diff_lines notes;     /* noise, what could have been shown, what was left out */
	uint64_t regressions;           /* what a gate holds against B */
	char worst[512];                /* the largest of them, one line */
	struct gt_diff_lines doubts;    /* with a gate: why there can be no verdict */
};

/* Compares. 0 or -ENOMEM; free with gt_diff_fini in any case. */
int gt_diff_build(const struct gt_diff_request *request, struct gt_diff *ret_diff);
void gt_diff_fini(struct gt_diff *diff);

#endif
