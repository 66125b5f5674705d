/* SPDX-License-Identifier: Apache-2.0
 *
 * What a native stack costs the calling thread: 40 frames of functions without frame pointers, by
 * how much of it is as it was the last time, beside libunwind's own fastest way.
 * Prints the best of several rounds, in processor time (others use the machine too); the calls of
 * the near functions themselves are taken off.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <stdio.h>
#include <time.h>

#include "collectors/unwind/unwind.h"
#include "core/guest/memory.h"

#define ROUNDS 25
#define STACKS 50000
#define COLD   500

typedef void take_fn(void);

static uint64_t processor_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct gt_unwind_thread *self;
static uint32_t frames;

static void take(void)
{
	const uint64_t *pcs;
	uint64_t key;

	frames = gt_unwind_capture(self, GT_UNWIND_DEPTH, &pcs, &key);
	__asm__ volatile("" : : "r"(pcs) : "memory");
}

static void take_anew(void)
{
	self->trail.frames = self->trail.loads = 0; /* nothing to take over */
	take();
}

static void take_by_libunwind(void)
{
	void *pcs[GT_UNWIND_DEPTH];

	frames = (uint32_t)unw_backtrace(pcs, GT_UNWIND_DEPTH);
	__asm__ volatile("" : : "r"(pcs) : "memory");
}

/* As when the outermost call site is another one: every frame is walked, at the addresses of
 * before. */
static void take_guessed(void)
{
	self->trail.loads = 0;
	take();
}

static void take_nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

/* Ten functions that call each other; two such chains. */
#define LINK(name, number, next)                                                                   \
	static __attribute__((noinline)) void name##number(take_fn *function)                      \
	{                                                                                          \
		name##next(function);                                                              \
		__asm__ volatile("" ::: "memory");                                                 \
	}
#define CHAIN(name, last)                                                                          \
	static __attribute__((noinline)) void name##0(take_fn * function)                          \
	{                                                                                          \
		last;                                                                              \
		__asm__ volatile("" ::: "memory");                                                 \
	}                                                                                          \
	LINK(name, 1, 0)                                                                           \
	LINK(name, 2, 1)                                                                           \
	LINK(name, 3, 2)                                                                           \
	LINK(name, 4, 3)                                                                           \
	LINK(name, 5, 4)                                                                           \
	LINK(name, 6, 5)                                                                           \
	LINK(name, 7, 6)                                                                           \
	LINK(name, 8, 7)                                                                           \
	LINK(name, 9, 8)

CHAIN(left, function())
CHAIN(right, function())

/* Nanoseconds of one @function under two chains in turn, or under one. */
static double measure(take_fn *function, bool in_turn)
{
	double best = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = processor_now();
		double ns;

		for (int i = 0; i < STACKS; i++) {
			if (in_turn && i % 2)
				right9(function);
			else
				left9(function);
		}
		ns = (double)(processor_now() - start) / STACKS;
		if (round == 0 || ns < best)
			best = ns;
	}
	return best;
}

static void report(const char *what, take_fn *function, bool in_turn)
{
	double ns = measure(function, in_turn) - measure(take_nothing, in_turn);

	printf("%-50s %3u frames %7.1f ns, %5.2f a frame\n", what, frames, ns, ns / frames);
}

/* Nanoseconds of forgetting all rules, and of learning those of one stack again. */
static uint64_t measure_cold(bool learns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < COLD; i++) {
		uint64_t start = processor_now();
		uint64_t ns;

		gt_unwind_forget(0, UINT64_MAX);
		if (learns)
			left9(take);
		ns = processor_now() - start;
		best = ns < best ? ns : best;
	}
	return best;
}

static void report_first_sight(void)
{
	uint64_t forgetting = measure_cold(false);
	uint64_t before = gt_unwind_get_counts().rules;
	uint64_t learning = measure_cold(true) - forgetting;
	uint64_t rules = (gt_unwind_get_counts().rules - before) / COLD;

	printf("%-50s %3u frames %7lu ns, %4lu for each of %lu addresses\n",
	       "every address is seen for the first time", frames, (unsigned long)learning,
	       (unsigned long)(learning / rules), (unsigned long)rules);
}

static void report_all(void)
{
	report("the same stack as before", take, false);
	report("10 near frames differ, the others are as before", take, true);
	report("every frame is walked, at known places", take_guessed, false);
	report("every frame is looked up", take_anew, false);
	report("libunwind's unw_backtrace, warm", take_by_libunwind, false);
	report_first_sight();
}

/* What stands below the near functions. */
CHAIN(far, report_all(); (void)function)
CHAIN(farther, far9(function))

int main(void)
{
	self = gt_memory_map(sizeof(*self));
	if (!self)
		return 1;
	gt_unwind_thread_init(self);
	farther9(take_nothing);
	return 0;
}
