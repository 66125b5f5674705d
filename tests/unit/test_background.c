/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracer's threads in programs that leave few resources to a new thread.
 */
#include "core/guest/background.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "core/guest/futex.h"

#define STACK_BYTES (1u << 20)
#define USED_BYTES  (900u << 10)

static __thread char large[4u << 20]; /* glibc places it in each thread's stack */

static _Atomic uint32_t done;
static int policy_now, policy_set;

/* Replaces libc's: whether a realtime priority is allowed depends on the machine. */
int sched_getscheduler(pid_t thread)
{
	cr_assert_eq(thread, 0);
	return policy_now;
}

int sched_setscheduler(pid_t thread, int policy, const struct sched_param *param)
{
	cr_assert_eq(thread, 0);
	cr_assert_eq(param->sched_priority, 0);
	policy_set = policy;
	return 0;
}

static void *use_stack(void *argument)
{
	volatile char bytes[USED_BYTES];

	for (size_t i = 0; i < sizeof(bytes); i += 1024)
		bytes[i] = 1;
	large[0] = bytes[0];
	atomic_store(&done, 1);
	gt_futex_wake(&done);
	return argument;
}

Test(background, a_thread_has_its_stack_beside_large_thread_local_variables)
{
	cr_assert_eq(gt_background_start(use_stack, NULL, STACK_BYTES), 0);
	while (!atomic_load(&done))
		gt_futex_wait(&done, 0, 1000000000u);
	cr_assert_eq(large[0], 0, "each thread has its own");
}

static int policy_after(int before)
{
	policy_now = before;
	policy_set = -1;
	gt_background_enter("test");
	return policy_set;
}

Test(background, threads_of_ours_have_no_realtime_priority)
{
	cr_assert_eq(policy_after(SCHED_FIFO), SCHED_OTHER);
	cr_assert_eq(policy_after(SCHED_RR | SCHED_RESET_ON_FORK), SCHED_OTHER);
	cr_assert_eq(policy_after(SCHED_OTHER), -1);
	cr_assert_eq(policy_after(SCHED_BATCH), -1);
	cr_assert_eq(policy_after(-1), -1);
}
