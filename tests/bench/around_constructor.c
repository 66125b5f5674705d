/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before and behind libgputrace.so, two builds of this file stamp the clock around its
 * constructor (the loader initialises the last preload first) and print the difference:
 *
 *   LD_PRELOAD="libaround_after.so libgputrace.so libaround_before.so" true
 */
#include <stdio.h>
#include <time.h>

extern long gt_bench_before __attribute__((weak));

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#ifdef GT_BENCH_BEFORE
long gt_bench_before;
#endif

__attribute__((constructor)) static void stamp(void)
{
#ifdef GT_BENCH_BEFORE
	gt_bench_before = now();
#else
	if (&gt_bench_before)
		printf("%ld\n", now() - gt_bench_before);
#endif
}
