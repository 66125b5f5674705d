/* SPDX-License-Identifier: Apache-2.0
 *
 * The session of this process: off until CUDA is used, then on until the end. Starts the
 * collectors, the writer and the drain thread in the fixed order of REQ-5.
 */
#ifndef GT_PRELOAD_START_H
#define GT_PRELOAD_START_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "pipeline/sources/state.h"

/* Starts the session if it is IDLE: from InitializeInjection, or from the first hooked call when
 * the driver did not call that (@from_hook: then CUDA may be up already). Never fails loudly. */
void gt_session_start(bool from_hook);

/* Starts the session of a program that uses CUDA already, with the options in @environment. 0, or a
 * negative errno with @ret_why: it may be tried again. A thread of ours. */
int gt_session_attach(char *const *environment, char *ret_why, size_t size);

/* Constructor: the program starts now. */
void gt_session_loaded(void);

/* Constructor: @expected when CUDA_INJECTION64_PATH is ours, so that the driver starts the session
 * inside the first call that brings it up. */
void gt_session_expect_driver(bool expected);

/* True when hooks have to record. Starts the session at the first call of all. */
static inline bool gt_session_hooks_record(void)
{
	int state = atomic_load_explicit(&gt_session_state, memory_order_acquire);

	if (__builtin_expect(state == GT_SESSION_IDLE, 0)) {
		gt_session_start(true);
		state = atomic_load_explicit(&gt_session_state, memory_order_acquire);
	}
	return state == GT_SESSION_HOOKS;
}

/* True while no session has begun: the driver may begin it inside the call that is about to be
 * made. */
static inline bool gt_session_is_idle(void)
{
	return atomic_load_explicit(&gt_session_state, memory_order_relaxed) == GT_SESSION_IDLE;
}

#endif
