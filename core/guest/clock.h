/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace clock: CLOCK_REALTIME at the start of the session plus CLOCK_MONOTONIC since. It looks
 * like wall time, agrees between ranks, and never steps. Application threads stamp
 * gt_clock_now() (CLOCK_MONOTONIC, by the processor's counter where that serves); CUPTI stamps
 * CLOCK_REALTIME, converted through a table of (MONOTONIC, REALTIME) pairs that the drain thread
 * samples.
 */
#ifndef GT_CORE_GUEST_CLOCK_H
#define GT_CORE_GUEST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "core/guest/fast_clock.h"

/* ns of CLOCK_MONOTONIC, by @fast if it has a line. Any thread, no system call where the vDSO
 * serves. */
static inline uint64_t gt_clock_now_by(const struct gt_fast_clock *fast)
{
	uint64_t ns, floor;
	struct timespec ts;

	if (__builtin_expect(gt_fast_clock_read(fast, &ns), 1))
		return ns;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	floor = atomic_load_explicit(&fast->floor, memory_order_relaxed);
	return ns > floor ? ns : floor;
}

/* The same by the clock of this process. */
static inline uint64_t gt_clock_now(void)
{
	return gt_clock_now_by(&gt_fast_clock);
}

/* One simultaneous reading of both clocks; error_ns is the uncertainty (width of the bracket). */
struct gt_clock_sample {
	uint64_t monotonic;
	uint64_t realtime;
	uint64_t error_ns;
	uint64_t ticks; /* of the processor's counter, to convert a foreign clock (REQ-20) */
};

#define GT_CLOCK_SAMPLES 64

/* The clock of one trace: its origin, and samples of both clocks. */
struct gt_clock {
	int64_t trace_offset; /* trace time = MONOTONIC + this */
	uint32_t count;
	struct gt_clock_sample first;
	struct gt_clock_sample samples[GT_CLOCK_SAMPLES]; /* the latest, in order */
	uint64_t steps;                                   /* steps of REALTIME seen */
};

/* Smallest step of CLOCK_REALTIME that is reported, ns (REQ-45). */
#define GT_CLOCK_STEP_NS 50000

/* Takes the first sample and fixes the offset. */
void gt_clock_init(struct gt_clock *clock);

/* Adds a sample (best of 5). *ret_step: how far REALTIME stepped against MONOTONIC since the last
 * sample, ns; 0 when that is below GT_CLOCK_STEP_NS or within the uncertainty of the readings.
 * Drain thread. */
void gt_clock_sample(struct gt_clock *clock, int64_t *ret_step);

/* Tells the newest sample from others: its MONOTONIC ns. Drain thread. */
static inline uint64_t gt_clock_newest(const struct gt_clock *clock)
{
	return clock->samples[clock->count - 1].monotonic;
}

/* @clock as it was when gt_clock_newest was @newest: it converts to the same times again. Later
 * samples are left out, but for one. */
struct gt_clock gt_clock_as_of(const struct gt_clock *clock, uint64_t newest);

/* MONOTONIC ns -> trace ns. Any thread. */
static inline uint64_t gt_clock_from_monotonic(const struct gt_clock *clock, uint64_t ns)
{
	return ns + (uint64_t)clock->trace_offset;
}

/* CLOCK_REALTIME ns (a CUPTI time stamp) -> trace ns, by the nearest sample. Drain thread. */
uint64_t gt_clock_from_realtime(const struct gt_clock *clock, uint64_t ns);

/* Ticks of the processor's counter -> trace ns, by the rate between the first and the newest
 * sample; another tool may have switched CUPTI to this clock (Kineto does). False: the rate is not
 * known yet. Drain thread. */
bool gt_clock_from_ticks(const struct gt_clock *clock, uint64_t ticks, uint64_t *ret_ns);

/* The base that Kineto subtracts: REALTIME floored to 7889238 s. */
uint64_t gt_clock_base(uint64_t realtime_ns);

#endif
