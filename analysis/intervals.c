/* SPDX-License-Identifier: Apache-2.0
 *
 * See intervals.h. Pure; one thread per set.
 */
#include "analysis/intervals.h"

bool gt_intervals_add(struct gt_intervals *set, int64_t start, int64_t end)
{
	struct gt_interval *last = set->count ? &set->at[set->count - 1] : NULL;

	if (end <= start)
		return true;
	/* the usual order: most work of a stream follows the last one closely */
	if (last && start >= last->start && start <= last->end) {
		if (end > last->end)
			last->end = end;
		return true;
	}
	return gt_vec_push(set, ((struct gt_interval){start, end}));
}

static int by_start(const void *a, const void *b)
{
	const struct gt_interval *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void gt_intervals_merge(struct gt_intervals *set)
{
	size_t kept = 0, sorted = 1;

	if (!set->count)
		return;
	/* to sort takes as much memory again */
	while (sorted < set->count && set->at[sorted - 1].start <= set->at[sorted].start)
		sorted++;
	if (sorted < set->count)
		qsort(set->at, set->count, sizeof(*set->at), by_start);
	for (size_t i = 1; i < set->count; i++) {
		if (set->at[i].start > set->at[kept].end)
			set->at[++kept] = set->at[i];
		else if (set->at[i].end > set->at[kept].end)
			set->at[kept].end = set->at[i].end;
	}
	set->count = kept + 1;
}

int64_t gt_intervals_total(const struct gt_intervals *set)
{
	int64_t total = 0;

	for (size_t i = 0; i < set->count; i++)
		total += set->at[i].end - set->at[i].start;
	return total;
}

/* Index of the first interval that ends behind @t. */
static size_t first_after(const struct gt_intervals *set, int64_t t)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->at[middle].end <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t gt_intervals_within(const struct gt_intervals *set, int64_t start, int64_t end)
{
	int64_t total = 0;

	for (size_t i = first_after(set, start); i < set->count && set->at[i].start < end; i++) {
		int64_t from = set->at[i].start > start ? set->at[i].start : start;
		int64_t to = set->at[i].end < end ? set->at[i].end : end;

		total += to > from ? to - from : 0;
	}
	return total;
}

bool gt_intervals_common(const struct gt_intervals *a, const struct gt_intervals *b,
			 struct gt_intervals *ret_set)
{
	size_t i = 0, j = 0;

	while (i < a->count && j < b->count) {
		int64_t from = a->at[i].start > b->at[j].start ? a->at[i].start : b->at[j].start;
		int64_t to = a->at[i].end < b->at[j].end ? a->at[i].end : b->at[j].end;

		if (!gt_intervals_add(ret_set, from, to))
			return false;
		if (a->at[i].end < b->at[j].end)
			i++;
		else
			j++;
	}
	return true;
}

void gt_intervals_fini(struct gt_intervals *set)
{
	gt_vec_free(set);
}
