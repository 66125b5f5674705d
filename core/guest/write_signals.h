/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing on a thread of the program's: a pipe without a reader, or a file at its limit, brings a
 * signal upon the thread that writes (SIGPIPE, SIGXFSZ), and the default of both ends the program.
 */
#ifndef GT_CORE_GUEST_WRITE_SIGNALS_H
#define GT_CORE_GUEST_WRITE_SIGNALS_H

#include <signal.h>

/* The signal mask to restore, and which signals were pending. */
struct gt_write_signals {
	sigset_t mask, pending; /* as they were */
};

/* Between the two a write that would bring a signal returns its error code alone; signals that were
 * pending before stay the program's. Any thread, any signal handler; no cancellation point. errno
 * may change. */
void gt_write_signals_hold(struct gt_write_signals *ret_before);
void gt_write_signals_let(const struct gt_write_signals *before);

#endif
