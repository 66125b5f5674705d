/* SPDX-License-Identifier: Apache-2.0
 *
 * The line from ticks to ns, steered by made-up samples: how far it is from the clock, that it
 * never goes back, and when it is given up.
 */
#include "core/guest/fast_clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/guest/clock.h"

#define S_NS 1000000000ull

/* A counter of @hz that was at @ticks when the clock was at 1000 s and @from. */
struct made_up {
	double hz, ppm; /* by which the clock runs faster than real time */
	uint64_t ticks, from;
	uint64_t random;
};

static struct gt_fast_clock clock_of_test;

static uint64_t ticks_at(const struct made_up *m, uint64_t ns)
{
	uint64_t since = ns - 1000 * S_NS - m->from;

	return m->ticks + (uint64_t)((double)since * (1 - m->ppm / 1e6) * m->hz / 1e9);
}

/* With the noise of a bracket of 60 ns. */
static struct gt_fast_clock_sample sample_at(struct made_up *m, uint64_t ns)
{
	m->random = m->random * 6364136223846793005u + 1442695040888963407u;
	return (struct gt_fast_clock_sample){
		.ticks = ticks_at(m, ns), .ns = ns + (m->random >> 33) % 60 - 30, .error = 60};
}

static struct gt_fast_clock_pilot ready(void)
{
	memset(&clock_of_test, 0, sizeof(clock_of_test));
	return (struct gt_fast_clock_pilot){.clock = &clock_of_test,
					    .state = GT_FAST_CLOCK_MEASURED};
}

/* What a thread would read at @ns. */
static uint64_t line_at(const struct made_up *m, uint64_t ns)
{
	uint64_t generation = atomic_load(&clock_of_test.generation);

	return gt_fast_clock_at(&clock_of_test.lines[generation % GT_FAST_CLOCK_LINES],
				ticks_at(m, ns));
}

static void steer(struct gt_fast_clock_pilot *pilot, struct made_up *m, uint64_t ns)
{
	struct gt_fast_clock_sample sample = sample_at(m, ns);

	gt_fast_clock_steer(pilot, &sample, sample.ticks);
}

/* Within a microsecond, and not before @last. */
static uint64_t read_at(const struct made_up *m, uint64_t at, uint64_t last)
{
	uint64_t read = line_at(m, at);
	int64_t off = (int64_t)(read - at);

	cr_assert(off < 1000 && off > -1000, "%ld ns", (long)off);
	cr_assert_geq(read, last);
	return read;
}

Test(fast_clock, it_begins_when_the_rate_is_known_and_at_no_earlier_time)
{
	struct made_up m = {.hz = 2.6e9, .ticks = 12345};
	struct gt_fast_clock_pilot pilot = ready();
	struct gt_fast_clock_sample sample;

	steer(&pilot, &m, 1000 * S_NS);
	steer(&pilot, &m, 1000 * S_NS + S_NS / 100);
	cr_assert_eq(pilot.state, GT_FAST_CLOCK_MEASURED);
	cr_assert_eq(atomic_load(&clock_of_test.generation), 0);
	sample = sample_at(&m, 1000 * S_NS + S_NS / 50);
	cr_assert(gt_fast_clock_steer(&pilot, &sample, sample.ticks));
	cr_assert_eq(pilot.state, GT_FAST_CLOCK_USED);
	cr_assert_eq(gt_fast_clock_at(&clock_of_test.lines[1], sample.ticks), sample.ns + 30);
}

Test(fast_clock, it_begins_late_on_a_busy_machine)
{
	struct made_up m = {.hz = 2.6e9};
	struct gt_fast_clock_pilot pilot = ready();
	struct gt_fast_clock_sample sample;

	for (int i = 0; i < 3; i++) {
		sample = sample_at(&m, 1000 * S_NS + (uint64_t)i * S_NS / 50);
		sample.error = 1000;
		cr_assert_not(gt_fast_clock_steer(&pilot, &sample, sample.ticks));
	}
	sample = sample_at(&m, 1000 * S_NS + S_NS / 5);
	sample.error = 1000;
	cr_assert(gt_fast_clock_steer(&pilot, &sample, sample.ticks));
}

/* In the first fifth of a second, sampled as the thread that writes does. */
Test(fast_clock, the_first_lines_are_close)
{
	static const uint64_t ms[] = {0, 20, 60, 200, 1200};

	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct made_up m = {.hz = 2.6e9, .ppm = 300, .random = seed};
		struct gt_fast_clock_pilot pilot = ready();
		uint64_t last = 0;

		for (size_t i = 0; i + 1 < sizeof(ms) / sizeof(ms[0]); i++) {
			steer(&pilot, &m, 1000 * S_NS + ms[i] * 1000000);
			for (uint64_t at = ms[i]; i && at <= ms[i + 1]; at += 10)
				last = read_at(&m, 1000 * S_NS + at * 1000000, last);
		}
	}
}

Test(fast_clock, it_stays_within_a_microsecond_and_never_goes_back)
{
	static const struct made_up cases[] = {
		{.hz = 2.6e9, .ticks = 1},
		{.hz = 24e6, .ticks = 1ull << 50},
		{.hz = 5.1e9, .ppm = 480},
		{.hz = 1e9, .ppm = -480, .ticks = UINT64_MAX / 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made_up m = cases[i];
		struct gt_fast_clock_pilot pilot = ready();
		uint64_t at = 1000 * S_NS, last = 0;

		for (int second = 0; second < 600; second++, at += S_NS) {
			steer(&pilot, &m, at);
			for (uint64_t part = 1; second && part <= 100; part++)
				last = read_at(&m, at + part * (S_NS / 100), last);
		}
		cr_assert_eq(pilot.state, GT_FAST_CLOCK_USED);
		cr_assert_lt(pilot.worst, 1000);
	}
}

Test(fast_clock, it_follows_a_clock_that_is_slewed)
{
	struct made_up m = {.hz = 3e9};
	struct gt_fast_clock_pilot pilot = ready();
	uint64_t at = 1000 * S_NS;

	for (int second = 0; second < 60; second++, at += S_NS)
		steer(&pilot, &m, at);
	/* 10 ppm from here on: 10 us in the first second */
	m.ticks = ticks_at(&m, at);
	m.from = at - 1000 * S_NS;
	m.ppm = 10;
	for (int second = 0; second < 60; second++, at += S_NS)
		steer(&pilot, &m, at);
	cr_assert_eq(pilot.state, GT_FAST_CLOCK_USED);
	cr_assert_lt(pilot.worst, 20000);
	cr_assert_lt((uint64_t)llabs((long long)(line_at(&m, at) - at)), 1000);
}

Test(fast_clock, a_counter_that_jumps_is_left_and_no_time_goes_back)
{
	struct made_up m = {.hz = 2e9};
	struct gt_fast_clock_pilot pilot = ready();
	uint64_t at = 1000 * S_NS, ns;
	char text[96];

	for (int second = 0; second < 10; second++, at += S_NS)
		steer(&pilot, &m, at);
	m.ticks += (uint64_t)(m.hz / 1000); /* 1 ms: another machine */
	at += S_NS;
	steer(&pilot, &m, at);
	cr_assert_eq(pilot.state, GT_FAST_CLOCK_LEFT);
	cr_assert_not(gt_fast_clock_read(&clock_of_test, &ns));
	cr_assert_gt(atomic_load(&clock_of_test.floor), 0);
	gt_fast_clock_describe(&pilot, text, sizeof(text));
	cr_assert_eq(strncmp(text, "CLOCK_MONOTONIC: the processor's counter was 999", 48), 0, "%s",
		     text);
	steer(&pilot, &m, at + S_NS);
	cr_assert_eq(pilot.state, GT_FAST_CLOCK_LEFT);
}

/* A child of fork, in which nobody has steered the line since. */
Test(fast_clock, a_new_session_does_not_wait_for_a_line_that_ran_ahead)
{
	static struct gt_fast_clock inherited, none;
	struct gt_fast_clock_pilot pilot;
	uint64_t now = gt_clock_now_by(&none);

	atomic_store(&inherited.lines[1].ticks, gt_arch_ticks());
	atomic_store(&inherited.lines[1].ns, now + 3600 * S_NS);
	atomic_store(&inherited.generation, 1);
	cr_assert_geq(gt_clock_now_by(&inherited), now + 3600 * S_NS);
	gt_fast_clock_start(&pilot, &inherited, true);
	cr_assert_lt(gt_clock_now_by(&inherited), now + 60 * S_NS);
}

Test(fast_clock, samples_of_a_busy_machine_change_nothing)
{
	struct made_up m = {.hz = 2e9};
	struct gt_fast_clock_pilot pilot = ready();
	struct gt_fast_clock_sample sample;
	uint64_t at = 1000 * S_NS, generation;

	for (int second = 0; second < 3; second++, at += S_NS)
		steer(&pilot, &m, at);
	generation = atomic_load(&clock_of_test.generation);
	sample = sample_at(&m, at);
	sample.ns += 4000000;
	sample.error = 8000000;
	gt_fast_clock_steer(&pilot, &sample, sample.ticks);
	cr_assert_eq(pilot.state, GT_FAST_CLOCK_USED);
	cr_assert_eq(atomic_load(&clock_of_test.generation), generation);
	cr_assert_lt(pilot.worst, 1000);
}

Test(fast_clock, the_real_counter_agrees_with_the_clock)
{
	static struct gt_fast_clock real;
	struct gt_fast_clock_pilot pilot;
	struct timespec pause = {.tv_nsec = 100000000};
	struct gt_fast_clock_sample sample;
	uint64_t last = 0;

	gt_fast_clock_start(&pilot, &real, true);
	for (int i = 0; i < 5; i++) {
		sample = gt_fast_clock_sample();
		gt_fast_clock_steer(&pilot, &sample, sample.ticks);
		for (int j = 0; j < 1000; j++) {
			uint64_t now = gt_clock_now_by(&real);

			cr_assert_geq(now, last);
			last = now;
		}
		nanosleep(&pause, NULL);
	}
	gt_fast_clock_stop(&pilot);
	cr_assert_geq(gt_clock_now_by(&real), last);
	gt_fast_clock_start(&pilot, &real, false);
	cr_assert_eq(pilot.state, GT_FAST_CLOCK_UNUSED);
}
