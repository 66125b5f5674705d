/* SPDX-License-Identifier: Apache-2.0
 *
 * A window of time in a job of which each process has read a share. main only.
 */
#ifndef GT_CLI_REDUCE_WINDOW_H
#define GT_CLI_REDUCE_WINDOW_H

#include "cli/reduce/shares.h"

/* Whether the command line has --filter=time=. */
bool gt_window_is_asked(const struct gt_cmdline *args);

/* With --mpi, called by all processes: the origins of the models of @job, which a window counts
 * from, become those of the whole job. An exit status, after a line. */
int gt_window_place(struct gt_job *job);

#endif
