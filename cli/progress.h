/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows on the terminal how far long work is: one line on stderr, rewritten in its place, from the
 * first second on, gone at the end. Nothing where stderr is no terminal, TERM is dumb or
 * GPUTRACE_QUIET is set. Call from one thread.
 */
#ifndef GT_CLI_PROGRESS_H
#define GT_CLI_PROGRESS_H

#include <stddef.h>

#include "readers/progress.h"

/* From here to gt_progress_stop work is shown, as readers/progress.h tells it. Nothing may be
 * printed on the terminal in between but through gt_progress_hide. */
void gt_progress_start(const char *what);
void gt_progress_stop(void);

/* Takes the line away, before something else is printed; it comes back. */
void gt_progress_hide(void);

/* The line, without an end: "reading 48 %, 103 of 216 MB, 310 MB/s". */
void gt_progress_print(const struct gt_progress *now, double seconds, char *out, size_t size);

#endif
