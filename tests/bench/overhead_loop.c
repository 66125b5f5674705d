/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with a fixed amount of work of its own, for tests/bench/overhead.py:
 *
 *   overhead_loop THREADS LAUNCHES SPINS DEPTH RANGES PAUSE
 *
 * Each thread launches LAUNCHES kernels, DEPTH own frames deep, with SPINS rounds of arithmetic
 * before each, inside an NVTX range if RANGES is 1, waits for the GPU after each 100th and then
 * sleeps PAUSE microseconds. Prints the processor time of the process meanwhile, of these threads,
 * and how much of the latter was arithmetic, in ns: that takes 1 to 3 % more or less from run to
 * run, by itself. A round that takes half as long again as most was interrupted, and counts as
 * one of those.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/reliability/device.h"

enum { BLOCK = 100 };

static long launches, spins, depth, ranges, pause_us;
static struct device device;
static _Atomic uint64_t used, spun;

static __attribute__((noinline)) long spin(void)
{
	volatile unsigned long sum = 1;

	for (long i = 0; i < spins; i++)
		sum = sum * 2862933555777941757ul + 3037000493ul;
	return (long)sum;
}

static void launch(void)
{
	check((int)cudaMemsetAsync(device.data, 1, 256, device.stream), "cudaMemsetAsync");
}

static __attribute__((noinline)) void deeper(long left)
{
	if (left > 0)
		deeper(left - 1);
	else
		launch();
	__asm__ volatile("" ::: "memory");
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t timed_spin(void)
{
	uint64_t start = read_clock(CLOCK_MONOTONIC);

	spin();
	return read_clock(CLOCK_MONOTONIC) - start;
}

static int by_time(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

static uint64_t sum_of(uint64_t block[BLOCK])
{
	uint64_t sum = 0, usual;

	qsort(block, BLOCK, sizeof(*block), by_time);
	usual = block[BLOCK / 2];
	for (int i = 0; i < BLOCK; i++)
		sum += block[i] < usual * 3 / 2 ? block[i] : usual;
	return sum;
}

static void *run(void *argument)
{
	uint64_t block[BLOCK];

	for (long i = 1; i <= launches; i++) {
		if (ranges)
			nvtxRangePushA("step");
		block[i % BLOCK] = timed_spin();
		deeper(depth);
		if (ranges)
			nvtxRangePop();
		if (i % BLOCK)
			continue;
		atomic_fetch_add(&spun, sum_of(block));
		check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
	atomic_fetch_add(&used, read_clock(CLOCK_THREAD_CPUTIME_ID));
	return argument;
}

int main(int argc, char **argv)
{
	long threads = atol(argv[1]);
	pthread_t ids[16];
	uint64_t began;

	if (argc != 7 || threads > 16)
		return 2;
	launches = atol(argv[2]);
	spins = atol(argv[3]);
	depth = atol(argv[4]);
	ranges = atol(argv[5]);
	pause_us = atol(argv[6]);
	open_device(&device);
	began = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	for (long i = 0; i < threads; i++)
		check(pthread_create(&ids[i], NULL, run, NULL), "pthread_create");
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%lu %lu %lu\n", (unsigned long)(read_clock(CLOCK_PROCESS_CPUTIME_ID) - began),
	       (unsigned long)used, (unsigned long)spun);
	return 0;
}
