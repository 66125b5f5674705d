/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing on a thread of the program: a pipe without a reader or a file at its size limit raises
 * SIGPIPE or SIGXFSZ in the writing thread, which end the program by default.
 */
#ifndef GT_CORE_GUEST_WRITE_SIGNALS_H
#define GT_CORE_GUEST_WRITE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* The signal mask and the pending signals before _block. */
struct gt_write_signals {
	sigset_t mask, pending; /* as they were */
};

/* Between _block and _restore a write that would raise a signal only returns its error; signals
 * that were pending before stay pending. Any thread, any signal handler; no cancellation point.
 * errno may change. @failed: a write in between may have failed. */
void gt_write_signals_block(struct gt_write_signals *ret_before);
void gt_write_signals_restore(const struct gt_write_signals *before, bool failed);

#endif
