/* SPDX-License-Identifier: Apache-2.0
 *
 * The one background thread: empties rings and activity buffers, writes, and at the end closes the
 * file. It never waits for the application, and the application never waits for it but at exit,
 * with a deadline.
 */
#ifndef GT_PRELOAD_DRAIN_H
#define GT_PRELOAD_DRAIN_H

#include <stdint.h>

struct gt_session;

/* Starts the thread, with all signals blocked. A negative errno. */
int gt_drain_start(struct gt_session *session);

/*
 * Ends the session: the thread fetches the last records and closes the file. Waits at most
 * @timeout_ns for it. If the thread is stuck inside CUPTI by then, the caller itself writes what
 * has been delivered. Any thread that may block; returns at once when there is no drain thread.
 */
void gt_drain_finish(uint64_t timeout_ns);

#endif
