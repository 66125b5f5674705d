/* SPDX-License-Identifier: Apache-2.0
 *
 * When CUPTI is asked for its records.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "pipeline/pipeline.h"
#include "pipeline/turn.h"

#define MS 1000000u

static struct gt_pipeline pipeline;

/* ms until the next flush. */
static uint64_t period(const char *hw_trace, const char *given)
{
	gt_config_init(&pipeline.config);
	snprintf(pipeline.metadata.hw_trace, sizeof(pipeline.metadata.hw_trace), "%s", hw_trace);
	if (given)
		cr_assert_eq(gt_config_set(&pipeline.config, GT_CONFIG_FLUSH_PERIOD, given), 0);
	pipeline.next_flush = 0;
	pipeline.window.began = 1;
	cr_assert(gt_turn_flush_is_due(&pipeline, MS));
	cr_assert_not(gt_turn_flush_is_due(&pipeline, 2 * MS));
	return pipeline.next_flush / MS - 1;
}

Test(turn, flushes_in_the_period_given)
{
	cr_expect_eq(period("", NULL), 500);
	cr_expect_eq(period("off: why", NULL), 500);
	cr_expect_eq(period("", "1000"), 1000);
}

/* CUPTI overwrites what is not fetched in time. */
Test(turn, flushes_more_often_with_the_hardware_event_system)
{
	cr_expect_eq(period("on", NULL), 200);
	cr_expect_eq(period("on", "1000"), 1000);
	cr_expect_eq(period("on", "10"), 10);
}

/* Nothing is recorded: what CUPTI still has is no hurry. */
Test(turn, flushes_more_seldom_while_it_waits_for_a_window)
{
	cr_expect_eq(period("", "100"), 100);
	pipeline.window.began = 0;
	pipeline.next_flush = 0;
	cr_expect(gt_turn_flush_is_due(&pipeline, MS));
	cr_expect_eq(pipeline.next_flush / MS - 1, 400);
	pipeline.window.is_warm = true;
	pipeline.next_flush = 0;
	cr_expect(gt_turn_flush_is_due(&pipeline, MS));
	cr_expect_eq(pipeline.next_flush / MS - 1, 100);
}
