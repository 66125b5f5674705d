/* SPDX-License-Identifier: Apache-2.0
 *
 * Clock sampling and conversion, see the header. Drain thread only, except the inline functions.
 */
#include "core/guest/clock.h"

#include <string.h>

#include "core/arch/arch.h"

/* Kineto and torch floor the base to a quarter of a year: output_json.h,
 * _chrome_trace_export.py. */
#define BASE_PERIOD_S 7889238u
#define SAMPLE_TRIES  5

/* Minimum distance of two samples for computing the counter's rate. */
#define RATE_MIN_NS   10000000u

static uint64_t read_realtime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* REALTIME and the counter, bracketed by two MONOTONIC reads; the narrowest of a few brackets. */
static struct gt_clock_sample read_clocks(void)
{
	struct gt_clock_sample best = {.error_ns = UINT64_MAX};

	for (int i = 0; i < SAMPLE_TRIES; i++) {
		uint64_t before = gt_clock_now();
		uint64_t realtime = read_realtime();
		uint64_t ticks = gt_arch_ticks();
		uint64_t after = gt_clock_now();

		if (after - before < best.error_ns)
			best = (struct gt_clock_sample){.monotonic = before + (after - before) / 2,
							.realtime = realtime,
							.error_ns = after - before,
							.ticks = ticks};
	}
	return best;
}

static int64_t offset_of(const struct gt_clock_sample *sample)
{
	return (int64_t)(sample->realtime - sample->monotonic);
}

void gt_clock_init(struct gt_clock *clock)
{
	memset(clock, 0, sizeof(*clock));
	clock->first = read_clocks();
	clock->samples[0] = clock->first;
	clock->count = 1;
	clock->trace_offset = offset_of(&clock->first);
}

void gt_clock_sample(struct gt_clock *clock, int64_t *ret_step)
{
	const struct gt_clock_sample *last = &clock->samples[clock->count - 1];
	struct gt_clock_sample now = read_clocks();
	/* unsigned: a value from a spool may be anything */
	uint64_t step = (uint64_t)offset_of(&now) - (uint64_t)offset_of(last);
	uint64_t distance = step >> 63 ? -step : step;
	/* the uncertainty of two readings on a busy machine is no step */
	uint64_t least = GT_CLOCK_STEP_NS + (now.error_ns + last->error_ns) / 2;
	bool stepped = distance > least;

	clock->steps += stepped;
	*ret_step = stepped ? (int64_t)step : 0;
	if (clock->count == GT_CLOCK_SAMPLES) {
		clock->count--;
		memmove(&clock->samples[0], &clock->samples[1],
			clock->count * sizeof(clock->samples[0]));
	}
	clock->samples[clock->count++] = now;
}

struct gt_clock gt_clock_as_of(const struct gt_clock *clock, uint64_t newest)
{
	struct gt_clock then = *clock;

	while (then.count > 1 && gt_clock_newest(&then) > newest)
		then.count--;
	return then;
}

/* Converts a REALTIME stamp with the last sample before it. After a step back two samples qualify;
 * the newer one is right, because records are converted soon after they were made. */
uint64_t gt_clock_from_realtime(const struct gt_clock *clock, uint64_t ns)
{
	uint32_t i = clock->count - 1;

	while (i > 0 && ns < clock->samples[i].realtime)
		i--;
	/* unsigned: a value from a spool may be anything */
	return ns - (uint64_t)offset_of(&clock->samples[i]) + (uint64_t)clock->trace_offset;
}

bool gt_clock_from_ticks(const struct gt_clock *clock, uint64_t ticks, uint64_t *ret_ns)
{
	const struct gt_clock_sample *first = &clock->first;
	const struct gt_clock_sample *last = &clock->samples[clock->count - 1];
	uint64_t span_ns = last->monotonic - first->monotonic;
	uint64_t span_ticks = last->ticks - first->ticks;
	__int128 since;

	if (span_ns < RATE_MIN_NS || span_ticks == 0)
		return false;
	since = (__int128)(int64_t)(ticks - first->ticks) * (__int128)span_ns / span_ticks;
	*ret_ns = first->monotonic + (uint64_t)since + (uint64_t)clock->trace_offset;
	return true;
}

uint64_t gt_clock_base(uint64_t realtime_ns)
{
	uint64_t seconds = realtime_ns / 1000000000u;

	return (seconds - seconds % BASE_PERIOD_S) * 1000000000u;
}
