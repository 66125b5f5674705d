/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracer's own threads: they get no signal of the program, may use every processor of it, and
 * have no realtime priority.
 */
#ifndef GT_CORE_GUEST_BACKGROUND_H
#define GT_CORE_GUEST_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Constructor: remembers the processors that the process may use, before a thread of the program
 * keeps to some of them. One system call. */
void gt_background_see_processors(void);

/* Starts a detached thread that blocks all signals. @stack_bytes: beside its thread-local
 * variables. Returns 0 or a negative errno. Any thread. */
int gt_background_start(void *(*run)(void *), void *argument, size_t stack_bytes);

/* First thing that the new thread does. @name: at most 15 characters. */
void gt_background_enter(const char *name);

/* Whether the program's threads have all ended, the main one by pthread_exit, and only the @ours of
 * the tracer keep the process from its end: the last one to return ends it with status 0, as the
 * program's would have. One system call while the main thread is there. The tracer's threads. */
bool gt_background_is_alone(uint32_t ours);

#endif
