/* SPDX-License-Identifier: Apache-2.0
 *
 * The control law of --max-overhead against made-up processes: no clock.
 */
#include "core/overhead/governor.h"

#include <criterion/criterion.h>
#include <errno.h>

static struct gt_governor governor;

/* Periods in which what is recorded costs so much at each level. Returns the number of changes. */
static uint32_t pass(const uint32_t cost[GT_GOVERNOR_LEVELS_], uint32_t periods)
{
	uint32_t changes = 0;

	for (uint32_t i = 0; i < periods; i++)
		changes += gt_governor_period(&governor, cost[governor.level], true);
	return changes;
}

static const uint32_t heavy[] = {900, 700, 500, 400, 210, 110, 60, 30, 20, 10};
static const uint32_t light[] = {50, 40, 30, 20, 10, 10, 10, 10, 10, 10};
static const uint32_t stacks[] = {900, 100, 90, 80, 70, 60, 50, 40, 30, 20};
static const uint32_t hopeless[] = {900, 900, 900, 900, 900, 900, 900, 900, 900, 900};

Test(governor, lowers_in_order_until_it_is_under)
{
	gt_governor_init(&governor, 200);
	cr_assert_eq(pass(heavy, 100), 5);
	cr_assert_eq(governor.level, GT_GOVERNOR_STEPS + 1);
	cr_assert_eq(gt_governor_steps(governor.level), 4);
	gt_governor_init(&governor, 200);
	pass(stacks, 100);
	cr_assert_eq(governor.level, GT_GOVERNOR_STACKS);
}

Test(governor, lowers_nothing_that_is_light)
{
	gt_governor_init(&governor, 200);
	cr_assert_eq(pass(light, 1000), 0);
	gt_governor_init(&governor, 0);
	cr_assert_eq(pass(heavy, 1000), 0, "no maximum");
}

Test(governor, an_accident_is_none)
{
	gt_governor_init(&governor, 200);
	pass(light, 50);
	cr_assert_not(gt_governor_period(&governor, 390, true));
	cr_assert_eq(pass(light, 50), 0);
}

Test(governor, the_start_does_not_count)
{
	gt_governor_init(&governor, 200);
	cr_assert_eq(pass(hopeless, 4), 0);
	cr_assert_eq(pass(light, 100), 0);
}

Test(governor, restores_when_there_is_room)
{
	gt_governor_init(&governor, 200);
	pass(heavy, 100);
	cr_assert_eq(pass(light, 1000), 5);
	cr_assert_eq(governor.level, GT_GOVERNOR_NONE);
}

/* What stacks cost is known: being under the maximum without them is no reason to take them. */
Test(governor, does_not_flap)
{
	gt_governor_init(&governor, 200);
	pass(stacks, 20);
	cr_assert_eq(governor.level, GT_GOVERNOR_STACKS);
	cr_assert_eq(pass(stacks, 100000), 0);
}

/* The load comes and goes: each restoring that was too early makes the next one wait longer. */
Test(governor, changes_get_rare_when_the_load_comes_and_goes)
{
	uint32_t early, late;

	gt_governor_init(&governor, 200);
	early = late = 0;
	for (int i = 0; i < 100; i++) {
		uint32_t changes = pass(heavy, 12) + pass(light, 24);

		*(i < 10 ? &early : &late) += changes;
	}
	cr_assert_gt(early, 5);
	cr_assert_lt(late, early * 3, "%u after %u", late, early);
}

Test(governor, ends_at_the_last_level)
{
	gt_governor_init(&governor, 200);
	cr_assert_eq(pass(hopeless, 10000), GT_GOVERNOR_LAST);
	cr_assert_eq(governor.level, GT_GOVERNOR_LAST);
	cr_assert_eq(gt_governor_steps(governor.level), 64);
}

Test(governor, learns_nothing_from_rest)
{
	gt_governor_init(&governor, 200);
	pass(stacks, 20);
	for (int i = 0; i < 1000; i++)
		cr_assert_not(gt_governor_period(&governor, 0, false));
	cr_assert_eq(governor.level, GT_GOVERNOR_STACKS);
}

Test(governor, values)
{
	static const struct {
		const char *text;
		int error;
		uint32_t max;
	} rows[] = {
		{"", 0, 0},           {"2%", 0, 200},      {"2", 0, 200},
		{"0.5%", 0, 50},      {"0.1", 0, 10},      {"100%", 0, 10000},
		{"1.25", 0, 125},     {"1.239", 0, 123},   {"0", -ERANGE, 0},
		{"0.09", -ERANGE, 0}, {"101", -ERANGE, 0}, {"99999999999", -ERANGE, 0},
		{"%", -EINVAL, 0},    {"-1", -EINVAL, 0},  {"2 %", -EINVAL, 0},
		{"2%%", -EINVAL, 0},  {"two", -EINVAL, 0}, {".5", -EINVAL, 0},
		{"1.", -EINVAL, 0},   {"1.%", -EINVAL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t max = 7;

		cr_expect_eq(gt_governor_parse(rows[i].text, &max), rows[i].error, "%s",
			     rows[i].text);
		cr_expect_eq(max, rows[i].max, "%s", rows[i].text);
	}
}
