/* SPDX-License-Identifier: Apache-2.0
 *
 * Defers pthread cancellation: a cancelled thread of the program ends at its next open, write or
 * wait. Inside our code that could leave a lock of ours, the driver's or CUPTI's held for ever. And
 * marks the thread: what it calls meanwhile, in libraries too, is not the program's.
 */
#ifndef GT_CORE_GUEST_UNCANCELLED_H
#define GT_CORE_GUEST_UNCANCELLED_H

#include <pthread.h>
#include <stdint.h>

/* Works of the tracer that the calling thread is in: between _begin and _end, or with the gate of
 * forkgate.h. 0: it runs the program, or a thread of ours elsewhere. */
extern __thread uint32_t gt_own_works;

/* Any thread; nests. The result goes to gt_uncancelled_end. */
static inline int gt_uncancelled_begin(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	gt_own_works++;
	return state;
}

/* Restores the state that gt_uncancelled_begin returned. */
static inline void gt_uncancelled_end(int state)
{
	gt_own_works--;
	pthread_setcancelstate(state, NULL);
}

#endif
