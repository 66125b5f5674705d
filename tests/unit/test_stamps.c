/* SPDX-License-Identifier: Apache-2.0
 *
 * Stamps of invented clocks that step: the time of each follows from the samples as they are then,
 * whatever stamps came before.
 */
#include "collectors/cupti/records/stamps.h"

#include <criterion/criterion.h>

#define SECOND 1000000000ull
#define EPOCH  (1790000000ull * SECOND)
#define FAR    (40 * SECOND) /* all of them are of CLOCK_REALTIME */

static uint64_t state = 88172645463325252ull;

static uint64_t below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static void add_sample(struct gt_clock *clock)
{
	struct gt_clock_sample sample = clock->samples[clock->count - 1];
	uint64_t passed = SECOND / 10 + below(SECOND);

	sample.monotonic += passed;
	sample.realtime += passed;
	if (!below(3))
		sample.realtime += below(4 * SECOND) - 2 * SECOND;
	if (clock->count == GT_CLOCK_SAMPLES)
		clock->count = 1;
	clock->samples[clock->count++] = sample;
	clock->first = clock->samples[0];
}

static void check(struct gt_translate *t)
{
	const struct gt_clock *clock = t->clock;
	uint64_t middle = clock->samples[clock->count / 2].realtime;
	uint64_t start = middle + below(FAR) - FAR / 2, length = below(2 * SECOND);
	struct gt_event event = {0};

	cr_assert(gt_stamps_set(t, &event, start, start + length));
	cr_assert_eq(event.start, gt_clock_from_realtime(clock, start));
	cr_assert_eq(event.end - event.start, length);
	cr_assert_eq(gt_stamp_or_none(t, start), event.start);
}

Test(stamps, the_span_of_earlier_stamps_does_not_matter)
{
	struct gt_clock clock = {.count = 1, .trace_offset = (int64_t)(EPOCH - 100 * SECOND)};
	struct gt_ledger ledger = {0};
	struct gt_translate t = {.clock = &clock, .ledger = &ledger, .session_start = EPOCH};

	clock.samples[0] = (struct gt_clock_sample){.monotonic = 100 * SECOND,
						    .realtime = EPOCH + 30 * SECOND};
	clock.first = clock.samples[0];
	for (int i = 0; i < 100000; i++) {
		if (!below(20))
			add_sample(&clock);
		t.session_start = clock.samples[0].realtime;
		check(&t);
	}
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_FOREIGN], 0);
	cr_assert_eq(ledger.count[GT_LEDGER_TIME_REVERSED], 0);
}
