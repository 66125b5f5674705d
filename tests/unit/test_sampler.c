/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler and the threads that it samples: they run, sleep, make calls, end, and are replaced
 * by others. Samples are read from its ring as by the drain thread.
 */
#include "collectors/sampler/sampler.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/call/records.h"
#include "collectors/sampler/signal.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"

#define HZ          1000
#define SECOND_NS   1000000000ull
#define STEP_NS     2000000
#define PATIENCE_NS (100 * SECOND_NS)

static pthread_t sampler;
static _Atomic bool done;
static uint64_t waiting, running;

static void start_with(size_t ring_bytes)
{
	struct gt_thread_limits limits = {.ring_bytes = ring_bytes,
					  .extra_bytes = gt_call_state_bytes(),
					  .max_bytes = 256 << 20};

	gt_forkguard_arm();
	gt_threads_start(&limits);
	gt_call_configure(0);
	gt_sampler_configure(HZ, 64);
	cr_assert_eq(pthread_create(&sampler, NULL, gt_sampler_run, NULL), 0);
}

static void start(void)
{
	start_with(1 << 20);
}

static void stop(void)
{
	gt_sampler_stop(PATIENCE_NS);
	pthread_join(sampler, NULL);
}

static void call(void)
{
	gt_call_enter(GT_API_RUNTIME, 211, 1);
	gt_call_exit(GT_API_RUNTIME, 211, 0);
}

static void burn(void)
{
	uint64_t until = gt_clock_now() + STEP_NS;

	while (gt_clock_now() < until)
		;
}

static void rest(void)
{
	struct timespec wait = {.tv_nsec = STEP_NS};

	nanosleep(&wait, NULL);
}

static void *work(void *steps)
{
	for (uintptr_t i = 0; i < (uintptr_t)steps && !atomic_load(&done); i++) {
		call();
		burn();
		rest();
	}
	return NULL;
}

/* As the drain thread: all rings, the blocks of threads that ended are free again. */
static void drain(void)
{
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next) {
		int ended = GT_THREAD_ENDED;
		bool was_ended = atomic_load(&t->life) == ended;
		const struct gt_ring_record *record;

		while ((record = gt_ring_next(&t->ring))) {
			const struct gt_call_record *sample = (const void *)record;

			if (record->type == GT_RECORD_SAMPLE) {
				cr_expect_gt(sample->frame_count, 0);
				cr_expect_neq(sample->tid, (uint32_t)getpid());
				if (record->flags & GT_CALL_WAITING)
					waiting++;
				else
					running++;
			}
			gt_ring_pass(&t->ring, record);
		}
		gt_ring_release(&t->ring);
		if (was_ended)
			atomic_compare_exchange_strong(&t->life, &ended, GT_THREAD_FREE);
	}
}

static bool has_both(void)
{
	return waiting > 20 && running > 5;
}

Test(sampler, threads_that_run_and_sleep)
{
	uint64_t until = gt_clock_now() + PATIENCE_NS;
	pthread_t threads[3];

	start();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, (void *)UINTPTR_MAX);
	while (!has_both() && gt_clock_now() < until) {
		rest();
		drain();
	}
	atomic_store(&done, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	stop();
	drain();
	cr_assert(has_both(), "%lu waiting, %lu running", (unsigned long)waiting,
		  (unsigned long)running);
	cr_assert(gt_sampler_count().has_signal);
	cr_assert_not(gt_sample_signal_is_ours(), "given back");
}

Test(sampler, threads_that_come_and_go)
{
	uint64_t until = gt_clock_now() + PATIENCE_NS;
	pthread_t threads[4];

	start();
	for (int round = 0; round < 15 || (!waiting && gt_clock_now() < until); round++) {
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, work, (void *)2);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		drain();
	}
	stop();
	drain();
	cr_assert_gt(waiting, 0);
}

/* Each that was due is in the ring or in one count. */
static void expect_all_counted(void)
{
	struct gt_sampler_counts counts = gt_sampler_count();
	uint64_t taken = waiting + running;

	cr_log_info("%lu due: %lu taken, %lu skipped, %lu lost, %lu late", counts.due, taken,
		    counts.skipped, counts.lost, counts.late);
	cr_assert_gt(counts.due, 0);
	cr_assert_eq(taken + counts.skipped + counts.lost + counts.late, counts.due);
}

/* Runs, does not let itself be interrupted, and ends while it runs. */
static void *end_at_once(void *steps)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGURG);
	call();
	for (uintptr_t i = 0; i < (uintptr_t)steps; i++) {
		burn();
		pthread_sigmask(SIG_BLOCK, &signals, NULL);
		burn();
		pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	}
	burn();
	return NULL;
}

static void run_and_end(int rounds, int drained_each)
{
	pthread_t threads[4];

	for (int round = 0; round < rounds; round++) {
		for (uintptr_t i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, end_at_once, (void *)(i % 3));
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		if (round % drained_each == 0)
			drain();
	}
	stop();
	drain();
	expect_all_counted();
}

Test(sampler, each_sample_of_threads_that_end_is_counted)
{
	start();
	run_and_end(100, 1);
}

Test(sampler, each_sample_that_found_the_ring_full_is_counted)
{
	start_with(16 << 10);
	run_and_end(100, 50);
	cr_assert_gt(gt_sampler_count().lost, 0);
}

/* Nobody asked: a stray signal finds nothing to do and nothing to harm. */
Test(sampler, signals_of_others)
{
	start();
	raise(SIGURG);
	call();
	raise(SIGURG);
	stop();
	raise(SIGURG);
	drain();
}

static _Atomic int own;

static void on_own(int signal)
{
	atomic_fetch_add(&own, 1);
}

Test(sampler, a_handler_of_the_program_stays)
{
	struct sigaction action = {.sa_handler = on_own}, now;

	sigaction(SIGURG, &action, NULL);
	start();
	cr_assert_not(gt_sampler_count().has_signal);
	raise(SIGURG);
	cr_assert_eq(atomic_load(&own), 1);
	stop();
	sigaction(SIGURG, NULL, &now);
	cr_assert_eq(now.sa_handler, on_own);
}
