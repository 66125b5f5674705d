/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain thread: empties rings and activity buffers, writes, and at the end closes the
 * file. It never waits for the application, and the application never waits for it but at exit,
 * with a deadline.
 */
#ifndef GT_PIPELINE_DRAIN_H
#define GT_PIPELINE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

struct gt_collectors;
struct gt_crash_report;
struct gt_pipeline;

/* Starts the thread, with all signals blocked; from then on @pipeline, whose sources @collectors
 * are, is its. A negative errno. */
int gt_drain_start(struct gt_pipeline *pipeline, struct gt_collectors *collectors);

/*
 * Ends the session: stops the sources, the thread fetches the last records and closes the file.
 * Waits at most @timeout_ns for it. If the thread is stuck inside CUPTI by then, the caller itself
 * writes what has been delivered. Any thread that may block; returns at once when there is no drain
 * thread. @status: of the exit, for --dump-at-exit, 0 if it is not known.
 */
void gt_drain_finish(uint64_t timeout_ns, int status);

/*
 * The same for a caller that may not do more than wait: what the thread has not done in time stays
 * undone, which a line says.
 * @ask_cupti: false when the caller may hold locks of CUPTI's. Async-signal-safe.
 */
void gt_drain_finish_abruptly(uint64_t timeout_ns, int status, bool ask_cupti);

/*
 * The thread writes what was recorded and delivered so far; CUPTI is asked for the rest only when
 * @crash->thread is in no call, or its locks may be held. Waits at most @timeout_ns; @crash must
 * stay for ever. Async-signal-safe.
 */
void gt_drain_crash(const struct gt_crash_report *crash, uint64_t timeout_ns);

#endif
