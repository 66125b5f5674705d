/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of time as sorted, disjoint intervals: busy time is the union of intervals, never their sum.
 * Half open, nanoseconds. Pure; one thread per set.
 */
#ifndef GT_ANALYSIS_INTERVALS_H
#define GT_ANALYSIS_INTERVALS_H

#include <stdint.h>

#include "readers/vec.h"

/* [start, end) in ns. */
struct gt_interval {
	int64_t start, end;
};

/* A set of intervals. */
struct gt_intervals {
	struct gt_interval *at;
	size_t count, room;
};

/* Adds [start, end); false: no memory. Out of order is fine until gt_intervals_merge. */
bool gt_intervals_add(struct gt_intervals *set, int64_t start, int64_t end);

/* Sorts and joins what overlaps or touches. */
void gt_intervals_merge(struct gt_intervals *set);

/* Sum of the lengths of a merged set. */
int64_t gt_intervals_total(const struct gt_intervals *set);

/* Length of the part of [start, end) that a merged set covers. */
int64_t gt_intervals_within(const struct gt_intervals *set, int64_t start, int64_t end);

/* Adds what two merged sets have in common to an empty one, merged. False: no memory. */
bool gt_intervals_common(const struct gt_intervals *a, const struct gt_intervals *b,
			 struct gt_intervals *ret_set);

/* Frees the set. Also of a zeroed struct. */
void gt_intervals_fini(struct gt_intervals *set);

#endif
