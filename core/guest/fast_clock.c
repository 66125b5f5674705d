/* SPDX-License-Identifier: Apache-2.0
 *
 * Steers the line, see the header.
 */
#include "core/guest/fast_clock.h"

#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/guest/descriptor.h"
#include "core/guest/seccomp.h"
#include "core/guest/text.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define TRIES        5
#define SPAN_NS      150000000u /* two samples tell the rate from here on */
#define SHORT_NS     15000000u  /* or from here on, if they are narrow: within 5 ppm */
#define NARROW_PART  100000u
#define WIDE_NS      2000u       /* the thread was interrupted: such a sample tells little */
#define PULL_NS      2000000000u /* time in which the line comes back to the clock */

/* Of the rate: a reader that was interrupted while the line changes is wrong by this part of the
 * interruption. */
#define PULL_PART    50000u

struct gt_fast_clock gt_fast_clock;

static uint64_t read_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct gt_fast_clock_sample gt_fast_clock_sample(void)
{
	struct gt_fast_clock_sample best = {.error = UINT64_MAX};

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = read_monotonic();
		uint64_t ticks = gt_arch_ticks();
		uint64_t after = read_monotonic();

		if (after - before < best.error)
			best = (struct gt_fast_clock_sample){.ticks = ticks,
							     .ns = before + (after - before) / 2,
							     .error = after - before};
	}
	return best;
}

/* ---- the line ---- */

static const struct gt_fast_clock_line *line_in_use(const struct gt_fast_clock *clock)
{
	return &clock->lines[atomic_load(&clock->generation) % GT_FAST_CLOCK_LINES];
}

static void set_line(struct gt_fast_clock *clock, uint64_t ticks, uint64_t ns, uint64_t rate)
{
	uint64_t generation = atomic_load(&clock->generation) + 1;
	struct gt_fast_clock_line *line = &clock->lines[generation % GT_FAST_CLOCK_LINES];

	atomic_store_explicit(&line->ticks, ticks, memory_order_relaxed);
	atomic_store_explicit(&line->ns, ns, memory_order_relaxed);
	atomic_store_explicit(&line->rate, rate, memory_order_relaxed);
	atomic_store(&clock->generation, generation);
}

/* No reading of a thread that has seen the line may be less, nor of one that sees it just now. */
static void leave_line(struct gt_fast_clock *clock)
{
	uint64_t now;

	if (!gt_fast_clock_read(clock, &now))
		return;
	if (now + GT_FAST_CLOCK_OFF_NS > atomic_load(&clock->floor))
		atomic_store(&clock->floor, now + GT_FAST_CLOCK_OFF_NS);
	atomic_store(&clock->generation, 0);
}

/* ---- the rate ---- */

static void keep(struct gt_fast_clock_pilot *pilot, const struct gt_fast_clock_sample *sample)
{
	if (pilot->count == GT_FAST_CLOCK_SAMPLES) {
		pilot->count--;
		memmove(&pilot->samples[0], &pilot->samples[1],
			pilot->count * sizeof(pilot->samples[0]));
	}
	pilot->samples[pilot->count++] = *sample;
}

/* A line by two samples that are close must serve until the next one, soon after. */
static bool are_apart(const struct gt_fast_clock_sample *first,
		      const struct gt_fast_clock_sample *last)
{
	uint64_t span = last->ns - first->ns;

	return span >= SPAN_NS ||
	       (span >= SHORT_NS && first->error + last->error <= span / NARROW_PART);
}

/* Between the oldest sample and the newest; 0: they are too close, or not in order. */
static uint64_t rate_of(const struct gt_fast_clock_pilot *pilot)
{
	const struct gt_fast_clock_sample *first = &pilot->samples[0];
	const struct gt_fast_clock_sample *last = &pilot->samples[pilot->count - 1];
	unsigned __int128 rate;

	if (last->ns <= first->ns || !are_apart(first, last) || last->ticks <= first->ticks)
		return 0;
	rate = ((unsigned __int128)(last->ns - first->ns) << 32) / (last->ticks - first->ticks);
	return rate >> 40 ? 0 : (uint64_t)rate;
}

/* @off: ns by which the clock is ahead of the line. */
static uint64_t pulled(uint64_t rate, int64_t off)
{
	int64_t most = (int64_t)(rate / PULL_PART);
	int64_t pull = (int64_t)((__int128)(int64_t)rate * off / (int64_t)PULL_NS);

	return (uint64_t)((int64_t)rate + (pull > most ? most : pull < -most ? -most : pull));
}

/* Begins at the upper end of the bracket: no reading before it was later. */
static bool begin(struct gt_fast_clock_pilot *pilot, const struct gt_fast_clock_sample *sample)
{
	uint64_t rate = rate_of(pilot);

	if (!rate)
		return false;
	set_line(pilot->clock, sample->ticks, sample->ns + (sample->error + 1) / 2, rate);
	pilot->state = GT_FAST_CLOCK_USED;
	return true;
}

/* The new line begins where the old one is now. */
static void turn(struct gt_fast_clock_pilot *pilot, int64_t off, uint64_t ticks)
{
	const struct gt_fast_clock_line *line = line_in_use(pilot->clock);
	uint64_t rate = rate_of(pilot);

	if (rate)
		set_line(pilot->clock, ticks, gt_fast_clock_at(line, ticks), pulled(rate, off));
}

static bool is_off(uint64_t distance, const struct gt_fast_clock_sample *sample)
{
	return distance > sample->error && distance - sample->error > GT_FAST_CLOCK_OFF_NS;
}

/* Returns whether the line is given up. */
static bool follow(struct gt_fast_clock_pilot *pilot, const struct gt_fast_clock_sample *sample,
		   uint64_t ticks)
{
	uint64_t line = gt_fast_clock_at(line_in_use(pilot->clock), sample->ticks);
	int64_t off = (int64_t)(sample->ns - line);
	uint64_t distance = off < 0 ? -(uint64_t)off : (uint64_t)off;

	if (is_off(distance, sample)) {
		leave_line(pilot->clock);
		pilot->worst = distance;
		pilot->state = GT_FAST_CLOCK_LEFT;
		return true;
	}
	if (sample->error > WIDE_NS)
		return false;
	if (distance > pilot->worst)
		pilot->worst = distance;
	keep(pilot, sample);
	turn(pilot, off, ticks);
	return false;
}

bool gt_fast_clock_steer(struct gt_fast_clock_pilot *pilot,
			 const struct gt_fast_clock_sample *sample, uint64_t ticks)
{
	if (pilot->state == GT_FAST_CLOCK_USED)
		return follow(pilot, sample, ticks);
	if (pilot->state != GT_FAST_CLOCK_MEASURED || sample->error > WIDE_NS)
		return false;
	keep(pilot, sample);
	return begin(pilot, sample);
}

/* ---- whether there may be one ---- */

static bool is_clock_source(void)
{
	static const char name[] = GT_ARCH_CLOCK_SOURCE "\n";
	char text[32] = "";
	size_t n = gt_descriptor_read_file(CLOCK_SOURCE, text, sizeof(text));

	return n == sizeof(name) - 1 && !memcmp(text, name, n);
}

static bool is_readable(void)
{
	int how = PR_TSC_ENABLE;

	return !gt_seccomp_permits(GT_SYS_prctl) || prctl(PR_GET_TSC, &how) || how == PR_TSC_ENABLE;
}

static const char *why_not(bool wanted)
{
	if (!wanted)
		return "--clock=monotonic";
	if (!gt_arch_ticks_are_steady())
		return "the processor's counter is not invariant";
	if (!is_clock_source())
		return "the kernel does not use the processor's counter as its clock";
	return is_readable() ? NULL : "the processor's counter is forbidden (PR_SET_TSC)";
}

void gt_fast_clock_start(struct gt_fast_clock_pilot *pilot, struct gt_fast_clock *clock,
			 bool wanted)
{
	*pilot = (struct gt_fast_clock_pilot){.clock = clock, .why_not = why_not(wanted)};
	gt_fast_clock_forget(clock);
	if (!pilot->why_not)
		pilot->state = GT_FAST_CLOCK_MEASURED;
}

void gt_fast_clock_forget(struct gt_fast_clock *clock)
{
	atomic_store(&clock->generation, 0);
}

void gt_fast_clock_stop(struct gt_fast_clock_pilot *pilot)
{
	if (pilot->state != GT_FAST_CLOCK_USED)
		return;
	leave_line(pilot->clock);
	pilot->state = GT_FAST_CLOCK_UNUSED;
	pilot->why_not = "the session is over";
}

void gt_fast_clock_describe(const struct gt_fast_clock_pilot *pilot, char *ret_text, size_t size)
{
	unsigned long worst = (unsigned long)pilot->worst;

	switch (pilot->state) {
	case GT_FAST_CLOCK_UNUSED:
		gt_text_format(ret_text, size, "CLOCK_MONOTONIC: %s", pilot->why_not);
		return;
	case GT_FAST_CLOCK_MEASURED:
		gt_text_format(ret_text, size, "CLOCK_MONOTONIC");
		return;
	case GT_FAST_CLOCK_USED:
		gt_text_format(ret_text, size,
			       "the processor's counter, %lu ns off CLOCK_MONOTONIC at most",
			       worst);
		return;
	case GT_FAST_CLOCK_LEFT:
		gt_text_format(ret_text, size,
			       "CLOCK_MONOTONIC: the processor's counter was %lu ns off it", worst);
		return;
	}
}
