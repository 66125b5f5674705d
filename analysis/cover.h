/* SPDX-License-Identifier: Apache-2.0
 *
 * Time that intervals cover, without keeping them: they come in order of their starts. Of a cover
 * all time from the start of the last interval to its end is covered, as what is open then has
 * begun before: that is what makes the common time of two covers known at once. Half open,
 * nanoseconds. Pure; one thread per cover.
 */
#ifndef GT_ANALYSIS_COVER_H
#define GT_ANALYSIS_COVER_H

#include <stdint.h>

/* The union of intervals so far. Zeroed it is empty, if no interval begins before 0; else begin
 * with GT_COVER_EMPTY. */
struct gt_cover {
	int64_t until; /* the greatest end so far */
	int64_t total; /* its length */
};

#define GT_COVER_EMPTY ((struct gt_cover){.until = INT64_MIN})

/* Adds [start, end), whose start is not before that of any interval of the covers used together.
 * Returns where what was not yet covered begins, @end: nothing. */
static inline int64_t gt_cover_add(struct gt_cover *cover, int64_t start, int64_t end)
{
	int64_t from = start > cover->until ? start : cover->until;

	if (from >= end)
		return end;
	cover->total += end - from;
	cover->until = end;
	return from;
}

/* How much of [from, end), which gt_cover_add has just added to another cover, @cover has, too. */
static inline int64_t gt_cover_common(const struct gt_cover *cover, int64_t from, int64_t end)
{
	int64_t until = cover->until < end ? cover->until : end;

	return until > from ? until - from : 0;
}

#endif
