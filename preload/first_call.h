/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the threads that make a process's first CUDA calls starts the session. The others wait
 * for it: what they launched meanwhile nobody would have recorded, or counted. The first of all is
 * left to the driver, which starts the session inside that call; when it has returned and there is
 * no session, this driver does not inject, and the next hooked call starts it.
 *
 * Application threads, before the session's state has changed from idle; never after.
 */
#ifndef GT_PRELOAD_FIRST_CALL_H
#define GT_PRELOAD_FIRST_CALL_H

#include <stdbool.h>

/* A hooked call finds no session. False: it is the first one, and the driver will start the session
 * (@driver_injects). Else waits while another thread is in that first call or starts the session,
 * in any case not for ever: that thread may wait for this one. */
bool gt_first_call_may_start(bool driver_injects);

/* A hooked call that found no session has returned. */
void gt_first_call_returned(void);

/* True for one thread of the process, which starts the session and then calls _started. */
bool gt_first_call_claim(void);
void gt_first_call_started(void);

/* A forked child that uses CUDA by itself: nobody of the parent's is waited for. */
void gt_first_call_forget(void);

#endif
