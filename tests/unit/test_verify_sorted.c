/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of verify: many items in any order come out in theirs, whole, and equal ones as they were
 * put in.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verify/sorted.h"

#define COUNT 100000 /* several runs */

static uint64_t state;

static uint64_t random_bits(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 20;
}

static int by_track(const struct gt_verify_item *x, const struct gt_verify_item *y)
{
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->ts > y->ts) - (x->ts < y->ts);
}

/* Line by line, what is equal keeps its order. */
static int by_place(const void *a, const void *b)
{
	const struct gt_verify_item *x = a, *y = b;
	int order = by_track(x, y);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Times that are equal now and then, and numbers of all sizes. */
static struct gt_verify_item item_of(size_t i, uint64_t tracks)
{
	struct gt_verify_item item = {.line = i + 1, .role = (uint32_t)(i % 11)};

	item.pid = (int64_t)(random_bits() % 3) - 1;
	item.tid = (int64_t)(random_bits() % tracks) - 5;
	item.ts = (int64_t)(i / 7 * 12000 + random_bits() % 4 * 1000);
	item.dur = (int64_t)(random_bits() >> random_bits() % 44);
	item.id = (int64_t)i;
	if (random_bits() % 1000 == 0) {
		item.ts = random_bits() % 2 ? INT64_MAX : INT64_MIN;
		item.tid = random_bits() % 2 ? INT64_MAX : INT64_MIN;
		item.id = random_bits() % 2 ? INT64_MAX : INT64_MIN;
		item.dur = INT64_MAX;
	}
	return item;
}

static uint64_t first_line_of(const struct gt_verify_item *items, size_t i)
{
	uint64_t line = items[i].line;

	for (size_t n = i;
	     n < COUNT && items[n].pid == items[i].pid && items[n].tid == items[i].tid; n++)
		line = items[n].line < line ? items[n].line : line;
	return line;
}

static void expect_item(const struct gt_verify_item *got, const struct gt_verify_item *want)
{
	cr_assert(got);
	cr_assert_eq(got->pid, want->pid);
	cr_assert_eq(got->tid, want->tid);
	cr_assert_eq(got->ts, want->ts);
	cr_assert_eq(got->dur, want->dur);
	cr_assert_eq(got->id, want->id);
	cr_assert_eq(got->line, want->line);
	cr_assert_eq(got->role, want->role);
}

static void expect_sorted(uint64_t tracks, bool parts)
{
	const struct gt_verify_order order = {by_track, true, true, parts};
	struct gt_verify_sorted sorted = {.order = &order};
	struct gt_verify_item *items = calloc(COUNT, sizeof(*items));

	cr_assert(items);
	for (size_t i = 0; i < COUNT; i++) {
		items[i] = item_of(i, tracks);
		cr_assert_eq(gt_verify_sorted_add(&sorted, &items[i]), 0);
	}
	cr_assert_eq(gt_verify_sorted_end(&sorted), 0);
	qsort(items, COUNT, sizeof(*items), by_place);
	for (size_t i = 0; i < COUNT; i++) {
		expect_item(gt_verify_sorted_next(&sorted), &items[i]);
		if (!i || items[i].pid != items[i - 1].pid || items[i].tid != items[i - 1].tid)
			cr_assert_eq(gt_verify_sorted_first_line(&sorted), first_line_of(items, i));
	}
	cr_assert_null(gt_verify_sorted_next(&sorted));
	cr_assert_null(gt_verify_sorted_next(&sorted));
	gt_verify_sorted_fini(&sorted);
	free(items);
}

Test(verify_sorted, of_few_tracks)
{
	expect_sorted(4, false);
	expect_sorted(4, true);
}

Test(verify_sorted, of_many_tracks)
{
	expect_sorted(30000, false);
	expect_sorted(30000, true);
}

Test(verify_sorted, of_nothing)
{
	static const struct gt_verify_order order = {.compare = by_track};
	struct gt_verify_sorted sorted = {.order = &order};

	cr_assert_eq(gt_verify_sorted_end(&sorted), 0);
	cr_assert_null(gt_verify_sorted_next(&sorted));
	gt_verify_sorted_fini(&sorted);
}
