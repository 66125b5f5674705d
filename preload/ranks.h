/* SPDX-License-Identifier: Apache-2.0
 *
 * --ranks: whether this process is one of those to be traced. Others run as if the library were not
 * there. Constructor, and the thread that starts the session.
 */
#ifndef GT_PRELOAD_RANKS_H
#define GT_PRELOAD_RANKS_H

#include <stdbool.h>

/* By the rank in the environment. A process that has none may get one before it uses CUDA, as the
 * workers of a pool do: it is rank 0 when it does (@at_last), and before that not left out. */
bool gt_ranks_leave_out(bool at_last);

/* For share/python/_gputrace, before it watches anything: the process is left out. */
int gputrace_is_left_out(void) __attribute__((visibility("default")));

#endif
