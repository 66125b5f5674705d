/* SPDX-License-Identifier: Apache-2.0
 *
 * CLOCK_MONOTONIC by the processor's counter, in about half the time of the vDSO: a straight line
 * from ticks to ns, which one thread steers after the clock. Used only where the kernel itself has
 * taken the counter for its clock, so that it is invariant and the same on all processors; given up
 * for good as soon as the two differ by more than GT_FAST_CLOCK_OFF_NS. On one thread no reading is
 * less than the one before, at the changes of the line and when it is given up, too.
 *
 * Readings: any thread, signal handlers. The pilot: one thread at a time.
 */
#ifndef GT_CORE_GUEST_FAST_CLOCK_H
#define GT_CORE_GUEST_FAST_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/arch/arch.h"

#define GT_FAST_CLOCK_LINES  16u
#define GT_FAST_CLOCK_OFF_NS 20000u

/* ns at @ticks, and ns per tick from there on, times 2^32. */
struct gt_fast_clock_line {
	_Atomic uint64_t ticks, ns, rate;
};

/* Zeroed: there is no line. */
struct gt_fast_clock {
	_Atomic uint64_t generation; /* of the line in use, lines[generation % LINES]; 0: none */
	_Atomic uint64_t floor;      /* ns: no reading of CLOCK_MONOTONIC counts as less */
	struct gt_fast_clock_line lines[GT_FAST_CLOCK_LINES];
};

/* Of this process. */
extern struct gt_fast_clock gt_fast_clock;

/* ns at @ticks, which may be before the line's start by what processors run ahead. */
static inline uint64_t gt_fast_clock_at(const struct gt_fast_clock_line *line, uint64_t ticks)
{
	uint64_t from = atomic_load_explicit(&line->ticks, memory_order_acquire);
	uint64_t ns = atomic_load_explicit(&line->ns, memory_order_acquire);
	uint64_t rate = atomic_load_explicit(&line->rate, memory_order_acquire);
	__int128 since = (__int128)(int64_t)(ticks - from) * (int64_t)rate;

	return ns + (uint64_t)(since >> 32);
}

/* False: there is no line. A line that is replaced meanwhile is read again: of LINES changes, all
 * but the first two half a second or more apart, the oldest is written over. */
static inline bool gt_fast_clock_read(const struct gt_fast_clock *clock, uint64_t *ret_ns)
{
	uint64_t generation = atomic_load_explicit(&clock->generation, memory_order_acquire);
	uint64_t now;

	do {
		if (__builtin_expect(!generation, 0))
			return false;
		now = generation;
		*ret_ns =
			gt_fast_clock_at(&clock->lines[now % GT_FAST_CLOCK_LINES], gt_arch_ticks());
		generation = atomic_load_explicit(&clock->generation, memory_order_acquire);
	} while (__builtin_expect(generation != now, 0));
	return true;
}

/* ---- steering ---- */

#define GT_FAST_CLOCK_SAMPLES 3u

/* @ticks were read at @ns of CLOCK_MONOTONIC, give or take @error / 2. */
struct gt_fast_clock_sample {
	uint64_t ticks, ns, error;
};

/* Of the pilot. */
enum gt_fast_clock_state {
	GT_FAST_CLOCK_UNUSED,   /* not wanted, or not to be had */
	GT_FAST_CLOCK_MEASURED, /* the rate is being measured */
	GT_FAST_CLOCK_USED,
	GT_FAST_CLOCK_LEFT, /* given up */
};

/* Who steers: what the line is made from. */
struct gt_fast_clock_pilot {
	struct gt_fast_clock *clock;
	enum gt_fast_clock_state state;
	const char *why_not; /* of UNUSED */
	uint32_t count;
	struct gt_fast_clock_sample samples[GT_FAST_CLOCK_SAMPLES]; /* the latest, in order */
	uint64_t worst; /* ns that line and clock differed by since the start, at most */
};

/* Readings are those of CLOCK_MONOTONIC, until the rate is known. @wanted: false, never others. */
void gt_fast_clock_start(struct gt_fast_clock_pilot *pilot, struct gt_fast_clock *clock,
			 bool wanted);

/* One sample: the narrowest of a few brackets. */
struct gt_fast_clock_sample gt_fast_clock_sample(void);

/* Steers the line by a sample, 20 ms or more behind the last. @ticks: now, so that a
 * thread which was interrupted behind the sample does not change what others have read. Returns
 * whether the state has changed. */
bool gt_fast_clock_steer(struct gt_fast_clock_pilot *pilot,
			 const struct gt_fast_clock_sample *sample, uint64_t ticks);

/* Readings are those of CLOCK_MONOTONIC, wherever the line is: in a child of fork, which has that
 * of a process that no longer steers it. */
void gt_fast_clock_forget(struct gt_fast_clock *clock);

/* Nobody steers it any more. */
void gt_fast_clock_stop(struct gt_fast_clock_pilot *pilot);

/* "the processor's counter, 41 ns off CLOCK_MONOTONIC at most", "CLOCK_MONOTONIC: why". */
void gt_fast_clock_describe(const struct gt_fast_clock_pilot *pilot, char *ret_text, size_t size);

#endif
