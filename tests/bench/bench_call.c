/* SPDX-License-Identifier: Apache-2.0
 *
 * What one call costs the application's thread: gt_call_enter and gt_call_exit together, with both
 * clock reads, into a ring that is emptied between the measured parts. Prints the median ns a call
 * over many parts, for 1, 2, 4 and 16 threads, without a stack and with a known stack of 40 frames,
 * the bytes of a record in the ring, and the cost of the two clock reads alone.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/call/call.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"
#include "tests/bench/use_clock.h"

#define PARTS       301
#define PER_PART    2000
#define CBID_LAUNCH 211

#define MOST        16

static int depth_wanted;
static _Atomic uint64_t bytes_each; /* of the last call */

static void empty_ring(void)
{
	struct gt_thread *self = gt_thread_get();
	const struct gt_ring_record *record;

	while ((record = gt_ring_next(&self->ring)))
		gt_ring_pass(&self->ring, record);
	gt_ring_release(&self->ring);
}

/* How many were put into this thread's ring. */
static uint64_t bytes_since(uint64_t *before)
{
	uint64_t last = *before;

	*before = gt_thread_self ? gt_ring_end(&gt_thread_self->ring) : 0;
	return *before - last;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static __attribute__((noinline)) double measure(void)
{
	static __thread double parts[PARTS];
	uint64_t before = 0;

	for (int part = 0; part < PARTS; part++) {
		uint64_t start = gt_clock_now();

		for (int i = 0; i < PER_PART; i++) {
			gt_call_enter(GT_API_RUNTIME, CBID_LAUNCH, (uint32_t)i + 1);
			gt_call_exit(GT_API_RUNTIME, CBID_LAUNCH, 0);
		}
		parts[part] = (double)(gt_clock_now() - start) / PER_PART;
		atomic_store(&bytes_each, bytes_since(&before) / PER_PART);
		empty_ring();
	}
	qsort(parts, PARTS, sizeof(parts[0]), compare);
	return parts[PARTS / 2];
}

#define FRAME(name, next)                                                                          \
	static __attribute__((noinline)) double name(int depth)                                    \
	{                                                                                          \
		double ns = depth > 0 ? next(depth - 1) : measure();                               \
		__asm__ volatile("" ::: "memory");                                                 \
		return ns;                                                                         \
	}
static double frame_a(int depth);
FRAME(frame_d, frame_a)
FRAME(frame_c, frame_d)
FRAME(frame_b, frame_c)
FRAME(frame_a, frame_b)

static void *run(void *result)
{
	*(double *)result = frame_a(depth_wanted);
	return NULL;
}

static double clock_reads(void)
{
	static double parts[PARTS];
	volatile uint64_t sum __attribute__((unused)) = 0;

	for (int part = 0; part < PARTS; part++) {
		uint64_t start = gt_clock_now();

		for (int i = 0; i < PER_PART; i++)
			sum += gt_clock_now() + gt_clock_now();
		parts[part] = (double)(gt_clock_now() - start) / PER_PART;
	}
	qsort(parts, PARTS, sizeof(parts[0]), compare);
	return parts[PARTS / 2];
}

static void row(const char *name, uint32_t stack_depth, int depth, int threads)
{
	double ns[MOST];
	pthread_t ids[MOST];

	gt_call_configure(stack_depth);
	depth_wanted = depth;
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, run, &ns[i]);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	qsort(ns, (size_t)threads, sizeof(ns[0]), compare);
	printf("| %s, %d thread(s) | %.0f (%.0f..%.0f) | %lu |\n", name, threads, ns[threads / 2],
	       ns[0], ns[threads - 1], (unsigned long)atomic_load(&bytes_each));
}

int main(void)
{
	struct gt_thread_limits limits = {
		.ring_bytes = 2 << 20, .extra_bytes = gt_call_state_bytes(), .max_bytes = 1 << 30};
	static const int threads[] = {1, 2, 4, MOST};

	gt_forkguard_arm();
	gt_threads_start(&limits);
	use_fast_clock();
	printf("| enter + exit | ns, median of %d parts (least and largest thread) | bytes |\n"
	       "| --- | --- | --- |\n",
	       PARTS);
	printf("| two clock reads alone | %.0f | |\n", clock_reads());
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		row("no stack", 0, 0, threads[i]);
		row("stack of 8 frames", 64, 3, threads[i]);
		row("stack of 40 frames", 64, 35, threads[i]);
	}
	return 0;
}
