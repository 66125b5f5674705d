/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread of the program that is cancelled leaves at the next open, write or wait: inside a part
 * of ours that would be with locks held that are ours, the driver's or CUPTI's. These parts put it
 * off.
 */
#ifndef GT_CORE_GUEST_UNCANCELLED_H
#define GT_CORE_GUEST_UNCANCELLED_H

#include <pthread.h>

/* Any thread; nests. Returns what the other takes. */
static inline int gt_uncancelled_begin(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void gt_uncancelled_end(int state)
{
	pthread_setcancelstate(state, NULL);
}

#endif
