/* SPDX-License-Identifier: Apache-2.0
 *
 * Does a row become steadily slower, or faster, while a run goes on? The mean of such a run tells
 * neither its end nor how it goes on. A line through the values (least squares), with the error
 * that what is left of them has; neighbours that depend on each other make it larger, as in
 * judge.h. Pure, any thread.
 */
#ifndef GT_ANALYSIS_DIFF_TREND_H
#define GT_ANALYSIS_DIFF_TREND_H

#include "analysis/diff/gate.h"

/* How much a row's line grows from the first to the last unit of a run, as a part of the row's
 * mean; of several runs together. Not known of few values. */
struct gt_test gt_trend_of(const struct gt_series *series, const struct gt_diff_side *side);

/* The part by which the end of such a line is above its start. */
double gt_trend_growth(const struct gt_test *trend);

/* A note for the rows of the kernels, and of the step as a whole, that grow in B and not as much in
 * A (or shrink), and a doubt where a gate would not allow that. -ENOMEM. */
int gt_trend_tell(const struct gt_compared *compared, struct gt_diff *diff);

#endif
