/* SPDX-License-Identifier: Apache-2.0
 *
 * Signal stacks that are lent to threads: only where there is none, and one memory for one thread
 * at a time.
 */
#include "core/guest/signal_stack.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "core/thread.h"

static stack_t current(void)
{
	stack_t stack;

	sigaltstack(NULL, &stack);
	return stack;
}

static void set(int flags, void *memory, size_t size)
{
	stack_t stack = {.ss_flags = flags, .ss_sp = memory, .ss_size = size};

	sigaltstack(&stack, NULL);
}

Test(signal_stack, is_lent_and_taken_back)
{
	void *memory = NULL, *first;

	set(SS_DISABLE, NULL, 0); /* a sanitizer makes one */
	errno = 7;
	gt_signal_stack_lend(&memory);
	first = memory;
	cr_assert_not_null(memory);
	cr_assert_eq(errno, 7);
	cr_assert_eq(current().ss_flags, 0);
	cr_assert(gt_signal_stack_holds(memory, current().ss_sp));
	cr_assert_geq(current().ss_size, 128u << 10);
	gt_signal_stack_reclaim(&memory);
	cr_assert_eq(memory, first);
	cr_assert_eq(current().ss_flags, SS_DISABLE);
	gt_signal_stack_lend(&memory);
	cr_assert_eq(memory, first);
	gt_signal_stack_reclaim(&memory);
}

Test(signal_stack, one_of_the_programs_is_left_alone)
{
	static char own[64 << 10];
	void *memory = NULL;

	set(0, own, sizeof(own));
	gt_signal_stack_lend(&memory);
	cr_assert_null(memory);
	cr_assert_eq(current().ss_sp, (void *)own);
	set(SS_DISABLE, NULL, 0);
	gt_signal_stack_lend(&memory);
	set(0, own, sizeof(own)); /* later */
	gt_signal_stack_reclaim(&memory);
	cr_assert_not_null(memory, "it serves the next thread");
	cr_assert_eq(current().ss_sp, (void *)own);
	set(SS_DISABLE, NULL, 0);
}

static void *last_words;

static void end_here(int number)
{
	(void)number;
	gt_signal_stack_reclaim(&last_words);
}

static void *end_on_it(void *unused)
{
	(void)unused;
	set(SS_DISABLE, NULL, 0);
	gt_signal_stack_lend(&last_words);
	raise(SIGUSR1);
	return NULL;
}

Test(signal_stack, one_in_use_is_given_up)
{
	struct sigaction action = {.sa_handler = end_here, .sa_flags = SA_ONSTACK};
	pthread_t thread;

	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, end_on_it, NULL);
	pthread_join(thread, NULL);
	cr_assert_null(last_words);
}

static void *see_it(void *ret_stack)
{
	set(SS_DISABLE, NULL, 0);
	gt_thread_get();
	*(stack_t *)ret_stack = current();
	return NULL;
}

Test(signal_stack, threads_have_one_only_when_asked_for)
{
	struct gt_thread_limits limits = {
		.ring_bytes = 16384, .extra_bytes = 64, .max_bytes = 1 << 20};
	stack_t stack[2];
	pthread_t thread;

	for (int i = 0; i < 2; i++) {
		limits.signal_stacks = i == 1;
		gt_threads_start(&limits);
		pthread_create(&thread, NULL, see_it, &stack[i]);
		pthread_join(thread, NULL);
	}
	cr_assert_eq(stack[0].ss_flags, SS_DISABLE);
	cr_assert_eq(stack[1].ss_flags, 0);
}
