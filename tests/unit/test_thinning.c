/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law of --thin against made-up rings: no clock.
 */
#include "core/overhead/thinning.h"

#include <criterion/criterion.h>

static struct gt_thinning thinning;

/* Periods in which the fullest ring is so full at each level. Returns the number of changes. */
static uint32_t pass(const uint32_t fill[GT_THINNING_LEVELS_], uint32_t periods)
{
	uint32_t changes = 0;

	for (uint32_t i = 0; i < periods; i++)
		changes += gt_thinning_period(
			&thinning, &(struct gt_thinning_load){.rings = fill[thinning.level]});
	return changes;
}

static const uint32_t idle[] = {0, 0, 0, 0}, busy[] = {740, 740, 740, 740};
static const uint32_t flood[] = {1000, 1000, 1000, 1000}, ranges[] = {990, 120, 100, 50};
static const uint32_t nearly[] = {760, 760, 760, 760};
static const uint32_t between[] = {990, 400, 300, 300};

Test(thinning, leaves_out_in_order_while_rings_are_full)
{
	thinning = (struct gt_thinning){0};
	cr_assert_eq(pass(flood, 1), 0);
	cr_assert_eq(pass(flood, 1), 1);
	cr_assert_eq(thinning.level, GT_THINNING_RANGES);
	cr_assert_eq(pass(nearly, 3), 0);
	cr_assert_eq(pass(nearly, 1), 1);
	cr_assert_eq(pass(flood, 2), 1);
	cr_assert_eq(thinning.level, GT_THINNING_SLICES);
	cr_assert_eq(pass(flood, 1000), 0, "it is the last one");
}

/* What the tracer keeps up with is never thinned, nor when it had to wait once. */
Test(thinning, leaves_out_nothing_without_need)
{
	thinning = (struct gt_thinning){0};
	cr_assert_eq(pass(busy, 10000), 0);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(pass(flood, 1) + pass(busy, 2) + pass(nearly, 3) + pass(busy, 3), 0);
	cr_assert_eq(pass(idle, 10000), 0);
}

Test(thinning, ends_when_the_burst_is_over)
{
	thinning = (struct gt_thinning){0};
	pass(flood, 100);
	cr_assert_eq(pass(idle, 31), 0);
	cr_assert_eq(pass(idle, 1), 1);
	cr_assert_eq(pass(idle, 64), 2);
	cr_assert_eq(thinning.level, GT_THINNING_NONE);
}

/* A program that rests between its bursts. */
Test(thinning, sees_bursts)
{
	thinning = (struct gt_thinning){0};
	cr_assert_eq(pass(flood, 1) + pass(busy, 1), 0);
	cr_assert_eq(pass(flood, 1) + pass(busy, 1), 0);
	cr_assert_eq(pass(flood, 1), 1);
}

/* Between the two bounds it stays as it is. */
Test(thinning, has_hysteresis)
{
	thinning = (struct gt_thinning){0};
	cr_assert_eq(pass(between, 10000), 1);
	cr_assert_eq(thinning.level, GT_THINNING_RANGES);
}

/* A program that is too fast for its ranges all the time: they are tried again ever more rarely. */
Test(thinning, tries_again_ever_more_rarely)
{
	uint32_t early, late;

	thinning = (struct gt_thinning){0};
	early = pass(ranges, 1000);
	late = pass(ranges, 1000);
	cr_assert_gt(early, 4);
	cr_assert_leq(late, 4, "%u after %u", late, early);
	cr_assert_leq(thinning.level, GT_THINNING_RANGES);
}

static bool pass_load(uint32_t rings, uint32_t work, uint32_t of_ranges, bool has_lost)
{
	return gt_thinning_period(&thinning, &(struct gt_thinning_load){.rings = rings,
									.work = work,
									.ranges = of_ranges,
									.has_lost = has_lost});
}

/* What is lost, or has piled up, is no accident. */
Test(thinning, waits_for_nothing_when_it_is_late)
{
	thinning = (struct gt_thinning){0};
	for (uint32_t level = 1; level < GT_THINNING_LEVELS_; level++) {
		cr_assert(pass_load(100, 0, 0, true));
		cr_assert_eq(thinning.level, level);
	}
	thinning = (struct gt_thinning){0};
	cr_assert_not(pass_load(0, 490, 0, false));
	cr_assert(pass_load(0, 510, 0, false));
	cr_assert_not(pass_load(0, 505, 0, false), "it becomes less");
	cr_assert(pass_load(0, 520, 0, false));
	cr_assert_eq(thinning.level, GT_THINNING_CALLS);
	for (int i = 0; i < 100; i++)
		cr_assert_not(pass_load(0, 300, 0, false), "there is still much");
}

/* A large ring that fills up steadily. */
Test(thinning, sees_a_full_ring_coming)
{
	uint32_t fill = 0;

	thinning = (struct gt_thinning){0};
	while (!pass_load(fill, 0, 0, false))
		fill += 100;
	cr_assert_lt(fill, 1000);
}

/* Without their memory ranges have no shadows; less of calls would not help. */
Test(thinning, leaves_out_ranges_while_their_memory_lasts)
{
	thinning = (struct gt_thinning){0};
	cr_assert_not(pass_load(0, 0, 490, false));
	cr_assert(pass_load(0, 0, 800, false));
	for (int i = 0; i < 100; i++)
		cr_assert_not(pass_load(0, 0, 900, false));
	cr_assert_eq(thinning.level, GT_THINNING_RANGES);
}
