/* SPDX-License-Identifier: Apache-2.0
 *
 * The policy at the process's ends: exit, quick_exit, unloading, fork, exec.
 *
 *   exit, return    the final flush runs in an exit handler that is registered when the driver is
 *                   up, so that it runs before the driver's own; bounded by --exit-timeout
 *   quick_exit      the same
 *   _exit, _Exit    the same where they are ours (LD_PRELOAD, preload/exit_hooks.c), but the caller
 * only waits signals, exec, SIGKILL   nothing runs; what is older than the flush period is on disk
 *   fork            the child records nothing until it starts a session of its own; it never
 *                   touches the parent's file, thread, or CUPTI
 *   vfork, spawn    nothing to do: the child has its own constructor after exec
 */
#ifndef GT_PRELOAD_PROCESS_H
#define GT_PRELOAD_PROCESS_H

#include <stdbool.h>

struct gt_config;

/* What only the start can show: the processors and the seccomp filters that the program was started
 * with; @late: the library came after that. Not on a thread of a program that has several: a
 * descriptor above all others makes the kernel wait for all of them. */
void gt_process_look(bool late);

/* Session start: this process owns the session; how long its end may take; _watch_end. */
void gt_process_start(const struct gt_config *config);

/* Registers the exit handlers. May be called again: handlers that come later run earlier, and the
 * first that runs does the work. */
void gt_process_watch_end(void);

/* The process is about to end without exit handlers: has the drain thread close the trace, and
 * waits for it, for
 * --exit-timeout at most. @status: of the exit. Does nothing in a child, of vfork either.
 * Async-signal-safe. */
void gt_process_end_abruptly(int status);

/* True in a child that was forked after the session had started. */
bool gt_process_is_forked_child(void);

#endif
