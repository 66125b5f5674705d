/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact sums of whole numbers and of their squares, which no order of adding changes. Pure.
 */
#ifndef GT_ANALYSIS_REDUCE_SUMS_H
#define GT_ANALYSIS_REDUCE_SUMS_H

#include "analysis/reduce/dist.h"

/* Adds a value. */
void gt_sums_add(struct gt_sums *sums, int64_t value);

/* The sums of values that are short. */
struct gt_sums gt_sums_of_small(const uint32_t *values, size_t count);

/* Adds all of @from. */
void gt_sums_merge(struct gt_sums *sums, const struct gt_sums *from);

/* The standard deviation of a sample (n - 1); 0 of less than two values. */
double gt_sums_stddev(const struct gt_sums *sums);

#endif
