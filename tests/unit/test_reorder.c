/* SPDX-License-Identifier: Apache-2.0
 *
 * The window: sorted by start as far as it reaches, nothing lost, nothing twice.
 */
#include <criterion/criterion.h>

#include "writers/reorder.h"

static void push(struct gt_reorder *window, uint64_t start, uint64_t end, uint32_t correlation)
{
	struct gt_event event = {
		.kind = GT_EVENT_KERNEL, .start = start, .end = end, .correlation = correlation};

	gt_reorder_push(window, &event);
}

Test(window, order_of_start_then_longer_then_arrival)
{
	struct gt_reorder *window = gt_reorder_new(8);

	push(window, 30, 40, 1);
	push(window, 10, 20, 2);
	push(window, 10, 25, 3);
	push(window, 10, 20, 4);
	cr_assert_eq(gt_reorder_pop(window, 29)->correlation, 3);
	cr_assert_eq(gt_reorder_pop(window, 29)->correlation, 2);
	cr_assert_eq(gt_reorder_pop(window, 29)->correlation, 4);
	cr_assert_null(gt_reorder_pop(window, 29));
	cr_assert_eq(gt_reorder_pop(window, 30)->correlation, 1);
	cr_assert_null(gt_reorder_pop(window, UINT64_MAX));
	gt_reorder_free(window);
}

Test(window, what_comes_late_by_less_than_the_window_comes_out_sorted)
{
	enum { CAPACITY = 512, COUNT = 50000 };
	struct gt_reorder *window = gt_reorder_new(CAPACITY);
	static unsigned char seen[COUNT];
	uint64_t seed = 9, last = 0;
	const struct gt_event *event;
	uint32_t pushed = 0, popped = 0;

	while (popped < COUNT) {
		if (pushed < COUNT && !gt_reorder_full(window)) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			/* late by up to CAPACITY / 2 places */
			push(window,
			     (uint64_t)pushed * 10 + 10000 - (seed >> 33) % (CAPACITY / 2 * 10), 0,
			     pushed);
			pushed++;
			continue;
		}
		event = gt_reorder_pop(window, UINT64_MAX);
		cr_assert_not_null(event);
		cr_assert_geq(event->start, last);
		cr_assert_eq(seen[event->correlation]++, 0);
		last = event->start;
		popped++;
	}
	cr_assert_null(gt_reorder_pop(window, UINT64_MAX));
	gt_reorder_free(window);
}
