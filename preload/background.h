/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracer's own threads: they get no signal of the program, and may use every processor of it.
 */
#ifndef GT_PRELOAD_BACKGROUND_H
#define GT_PRELOAD_BACKGROUND_H

#include <stddef.h>

/* Constructor: remembers the processors that the process may use, before a thread of the program keeps
 * to some of them. One system call. */
void gt_background_see_processors(void);

/* Starts a detached thread that blocks all signals. Returns 0 or a negative errno. Any thread. */
int gt_background_start(void *(*run)(void *), void *argument, size_t stack_bytes);

/* First thing that the new thread does. @name: at most 15 characters. */
void gt_background_enter(const char *name);

#endif
