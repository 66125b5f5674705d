/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that asks the sources for what their libraries hold back. CUPTI's flush may take long
 * and has been seen to hang; the rings are emptied meanwhile, and a process can end.
 */
#ifndef GT_PIPELINE_FLUSHER_H
#define GT_PIPELINE_FLUSHER_H

#include <stdbool.h>
#include <stdint.h>

struct gt_collectors;

/* Starts the thread, which flushes @collectors when asked, and calls @finished after each time:
 * what it brought should be read soon, as buffers may be short. A negative errno: there is none,
 * and gt_flusher_ask flushes on the calling thread. */
int gt_flusher_start(struct gt_collectors *collectors, void (*finished)(void));

/* Begins a flush, unless one is under way. @forced: of what is unfinished, too. The caller does not
 * hold the pipeline. Drain thread, as the rest. */
void gt_flusher_ask(bool forced);

/* Whether a flush is under way. */
bool gt_flusher_is_busy(void);

/* How long it has been, in ns; 0: none is under way. */
uint64_t gt_flusher_busy_ns(uint64_t now);

/* True once for each flush that is over: what had been complete at @ret_began (CLOCK_MONOTONIC ns)
 * has been delivered since. */
bool gt_flusher_take(uint64_t *ret_began);

/* Waits for the flush that is under way, however long. The caller does not hold the pipeline. */
void gt_flusher_await(void);

/* Has the thread fetch (gt_collectors_fetch), and waits for it, at most a second, or a tenth after
 * a wait in vain, and not at all while an earlier one that took longer is under way: for calls of
 * the program after which what the sources hold back is lost. False: not in time; it goes on.
 * Without a thread the calling one fetches. Any thread, also of a forked child, where it does
 * nothing. */
bool gt_flusher_fetch(bool forced);

/* Ends the thread, after the flush that is under way. */
void gt_flusher_stop(void);

/* Threads that it has: 0 or 1. */
uint32_t gt_flusher_threads(void);

#endif
