/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread registry: one block a thread, reused after its end, capped, refusing when stopped.
 */
#include "core/thread.h"

#include <criterion/criterion.h>
#include <pthread.h>

static void start(size_t max_bytes)
{
	struct gt_thread_limits limits = {
		.ring_bytes = 16384, .extra_bytes = 64, .max_bytes = max_bytes};

	cr_assert_eq(gt_threads_start(&limits), 0);
}

static void *touch(void *argument)
{
	struct gt_thread *thread = gt_thread_get();

	(void)argument;
	if (thread) {
		gt_thread_count(thread, GT_THREAD_CALLS_SEEN);
		thread->extra[0] = 1;
	}
	return thread;
}

static struct gt_thread *in_new_thread(void)
{
	pthread_t id;
	void *block;

	pthread_create(&id, NULL, touch, NULL);
	pthread_join(id, &block);
	return block;
}

Test(thread, a_thread_keeps_its_block)
{
	struct gt_thread *mine;

	start(1 << 20);
	mine = gt_thread_get();
	cr_assert_not_null(mine);
	cr_assert_eq(mine, gt_thread_get());
	cr_assert_neq(mine, in_new_thread());
}

Test(thread, an_ended_drained_block_serves_another_thread_with_clean_state)
{
	struct gt_thread *first, *second;

	start(1 << 20);
	first = in_new_thread();
	cr_assert_eq(atomic_load(&first->life), GT_THREAD_ENDED);
	cr_assert_neq(first, in_new_thread(), "not drained yet");
	atomic_store(&first->life, GT_THREAD_FREE);
	second = in_new_thread();
	cr_assert_eq(first, second);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_SEEN), 3, "counters go on");
}

Test(thread, over_the_cap_threads_are_refused)
{
	uint64_t refused = 0;

	start(3 * 20000);
	for (int i = 0; i < 10; i++)
		refused += !in_new_thread();
	cr_assert_gt(refused, 0);
	cr_assert_eq(refused + gt_threads_sum(GT_THREAD_CALLS_SEEN), 10);
}

Test(thread, after_the_stop_new_threads_get_nothing)
{
	start(1 << 20);
	gt_threads_stop();
	cr_assert_null(in_new_thread());
}

Test(thread, a_restart_makes_old_blocks_stale)
{
	struct gt_thread *old;

	start(1 << 20);
	old = gt_thread_get();
	start(1 << 20);
	cr_assert_neq(gt_thread_get(), old);
	cr_assert_eq(gt_thread_get(), gt_threads_first());
}
