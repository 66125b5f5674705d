/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of a benchmark, as the thread that writes steers it.
 */
#ifndef GT_TESTS_BENCH_USE_CLOCK_H
#define GT_TESTS_BENCH_USE_CLOCK_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/guest/clock.h"

/* Reads the processor's counter from now on, where it serves; GPUTRACE_CLOCK is set: never. */
static inline void use_fast_clock(void)
{
	struct timespec pause = {.tv_nsec = 200000000};
	struct gt_fast_clock_pilot pilot;
	struct gt_fast_clock_sample sample;
	char text[96];

	gt_fast_clock_start(&pilot, &gt_fast_clock, !getenv("GPUTRACE_CLOCK"));
	for (int i = 0; i < 2; i++) {
		sample = gt_fast_clock_sample();
		gt_fast_clock_steer(&pilot, &sample, gt_arch_ticks());
		nanosleep(&pause, NULL);
	}
	gt_fast_clock_describe(&pilot, text, sizeof(text));
	printf("clock: %s\n", text);
}

#endif
