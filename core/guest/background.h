/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracer's own threads: no signal handler of the program runs on them, they may use every
 * processor of the process, and they have no realtime priority.
 */
#ifndef GT_CORE_GUEST_BACKGROUND_H
#define GT_CORE_GUEST_BACKGROUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Records the processors that the process may use, from /proc/self/status. For the constructor,
 * before a thread of the program pins itself. */
void gt_background_save_affinity(const char *status);

/* Starts a detached thread that blocks all signals, and waits until it has entered, at most 0.2 s.
 * @stack_bytes: without its thread-local variables. Returns 0 or a negative errno. Any thread. */
int gt_background_start(void *(*run)(void *), void *argument, size_t stack_bytes);

/* The same without the wait. */
int gt_background_spawn(void *(*run)(void *), void *argument, size_t stack_bytes);

/* To be called first by the new thread, which now watches for seccomp filters. Makes all
 * thread-local variables that it may need: later there may be no memory. @name: at most 15
 * characters. */
void gt_background_enter(const char *name);

/* To be called last by the thread. */
void gt_background_leave(void);

/* Processor time of our threads since the start of the process, ns. A system call for each. Any
 * thread. */
uint64_t gt_background_time(void);

/* Whether all threads of the program have ended (the main one by pthread_exit, or by a system call)
 * and only the @ours threads of the tracer keep the process alive. The last of them to return ends
 * it with status 0, as the program's own would have. One system call while the main thread lives.
 * The tracer's threads. */
bool gt_background_is_alone(uint32_t ours);

/* Where that was so: ends the process with the status of a main thread that a system call ended, as
 * it would have ended without us. Returns where pthread_exit did, which has none. */
void gt_background_end_for_main(void);

#endif
