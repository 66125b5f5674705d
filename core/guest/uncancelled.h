/* SPDX-License-Identifier: Apache-2.0
 *
 * Defers pthread cancellation: a cancelled thread of the program ends at its next open, write or
 * wait. Inside our code that could leave a lock of ours, the driver's or CUPTI's held for ever.
 */
#ifndef GT_CORE_GUEST_UNCANCELLED_H
#define GT_CORE_GUEST_UNCANCELLED_H

#include <pthread.h>

/* Any thread; nests. The result goes to gt_uncancelled_end. */
static inline int gt_uncancelled_begin(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

/* Restores the state that gt_uncancelled_begin returned. */
static inline void gt_uncancelled_end(int state)
{
	pthread_setcancelstate(state, NULL);
}

#endif
