/* SPDX-License-Identifier: Apache-2.0
 *
 * What a gate holds against B, what keeps it from a verdict, and what is printed about the
 * evidence. One thread per comparison.
 */
#ifndef GT_ANALYSIS_DIFF_GATE_H
#define GT_ANALYSIS_DIFF_GATE_H

#include "analysis/diff/judge.h"
#include "analysis/diff/match.h"

/* One table more than is printed: kernels that only one side has, as one row. */
#define GT_DIFF_ONLY GT_DIFF_COUNT_
#define GT_DIFF_NAME 8192 /* bytes of a row's name */

/* A comparison on its way to tables. */
struct gt_compared {
	const struct gt_diff_request *request;
	struct gt_diff_sides sides;
	struct gt_diff_rows rows[GT_DIFF_COUNT_ + 1];
	struct gt_judged judged[GT_DIFF_COUNT_ + 1];
	struct gt_diff_matches matches[GT_DIFF_COUNT_];
};

/* The change (a part) that evidence must be able to show: four times the gate, at least 10 %. */
double gt_gate_enough(double gate_percent);

/* Fills regressions, worst and doubts. -ENOMEM. */
int gt_gate_hold(const struct gt_compared *compared, struct gt_diff *diff);

/* Fills extent and notes. -ENOMEM. */
int gt_gate_describe(const struct gt_compared *compared, struct gt_diff *diff);

/* The name that a row is shown with into @out. */
void gt_gate_name(const struct gt_compared *compared, int table, uint32_t row, char *out,
		  size_t size);

#endif
