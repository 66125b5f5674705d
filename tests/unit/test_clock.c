/* SPDX-License-Identifier: Apache-2.0
 *
 * Clock conversion on made-up samples: steps of CLOCK_REALTIME do not reach the trace clock.
 */
#include "core/guest/clock.h"

#include <criterion/criterion.h>

#define SECOND 1000000000ull
#define EPOCH  (1790000000ull * SECOND)

static struct gt_clock made_up(void)
{
	struct gt_clock clock = {.count = 1};

	clock.first = (struct gt_clock_sample){
		.monotonic = 100 * SECOND, .realtime = EPOCH, .ticks = 1000000};
	clock.samples[0] = clock.first;
	clock.trace_offset = (int64_t)(EPOCH - 100 * SECOND);
	return clock;
}

static void add(struct gt_clock *clock, uint64_t monotonic, uint64_t realtime, uint64_t ticks)
{
	clock->samples[clock->count++] = (struct gt_clock_sample){
		.monotonic = monotonic, .realtime = realtime, .ticks = ticks};
}

Test(clock, without_steps_both_clocks_give_the_same_trace_time)
{
	struct gt_clock clock = made_up();

	cr_assert_eq(gt_clock_from_monotonic(&clock, 107 * SECOND), EPOCH + 7 * SECOND);
	cr_assert_eq(gt_clock_from_realtime(&clock, EPOCH + 7 * SECOND), EPOCH + 7 * SECOND);
}

Test(clock, a_step_forward_is_taken_out)
{
	struct gt_clock clock = made_up();

	add(&clock, 110 * SECOND, EPOCH + 3610 * SECOND, 0);
	cr_assert_eq(gt_clock_from_realtime(&clock, EPOCH + 3611 * SECOND), EPOCH + 11 * SECOND);
	cr_assert_eq(gt_clock_from_realtime(&clock, EPOCH + 9 * SECOND), EPOCH + 9 * SECOND);
}

Test(clock, a_step_back_is_taken_out)
{
	struct gt_clock clock = made_up();

	add(&clock, 110 * SECOND, EPOCH + 5 * SECOND, 0);
	cr_assert_eq(gt_clock_from_realtime(&clock, EPOCH + 6 * SECOND), EPOCH + 11 * SECOND);
}

Test(clock, ticks_need_a_known_rate)
{
	struct gt_clock clock = made_up();
	uint64_t ns = 42;

	cr_assert_not(gt_clock_from_ticks(&clock, 2000000, &ns));
	cr_assert_eq(ns, 42);
	add(&clock, 101 * SECOND, EPOCH + SECOND, 1000000 + 2 * SECOND); /* 2 ticks a ns */
	cr_assert(gt_clock_from_ticks(&clock, 1000000 + 5 * SECOND, &ns));
	cr_assert_eq(ns, EPOCH + 5 * SECOND / 2);
}

Test(clock, real_samples_find_no_step_and_keep_the_newest)
{
	struct gt_clock clock;
	int64_t step;

	gt_clock_init(&clock);
	for (int i = 0; i < GT_CLOCK_SAMPLES + 10; i++)
		gt_clock_sample(&clock, &step);
	cr_assert_eq(clock.count, GT_CLOCK_SAMPLES);
	cr_assert_geq(clock.samples[GT_CLOCK_SAMPLES - 1].monotonic, clock.samples[0].monotonic);
}

Test(clock, base_is_kinetos)
{
	/* the value of a Kineto trace of 2026-07: 226 periods of 7889238 s */
	cr_assert_eq(gt_clock_base(1782967788123456789ull), 226ull * 7889238ull * SECOND);
	cr_assert_eq(gt_clock_base(226ull * 7889238ull * SECOND), 226ull * 7889238ull * SECOND);
}

Test(clock, a_reading_that_was_interrupted_is_no_step)
{
	struct gt_clock clock;
	int64_t step = 1;

	gt_clock_init(&clock);
	clock.samples[0].realtime += 2 * GT_CLOCK_STEP_NS; /* anywhere in its wide bracket */
	clock.samples[0].error_ns = 4 * GT_CLOCK_STEP_NS;
	gt_clock_sample(&clock, &step);
	cr_assert_eq(step, 0);
	cr_assert_eq(clock.steps, 0);
}

Test(clock, a_sample_out_of_a_spool_may_be_anything)
{
	static const uint64_t words[] = {0, 1, 1ull << 63, UINT64_MAX / 2, UINT64_MAX};
	const size_t count = sizeof(words) / sizeof(words[0]);
	struct gt_clock clock;
	int64_t step;

	for (size_t i = 0; i < count * count * count; i++) {
		gt_clock_init(&clock);
		clock.samples[0] = (struct gt_clock_sample){.monotonic = words[i % count],
							    .realtime = words[i / count % count],
							    .error_ns = words[i / count / count]};
		gt_clock_sample(&clock, &step);
		cr_assert_eq(clock.count, 2);
		cr_assert_eq(clock.steps, step != 0);
	}
}
