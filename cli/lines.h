/* SPDX-License-Identifier: Apache-2.0
 *
 * Source lines for the frames of the traces that a command has read (--symbolize). main only.
 */
#ifndef GT_CLI_LINES_H
#define GT_CLI_LINES_H

#include "cli/cmdline.h"

/* Looks for them where the command shows frames and --symbolize=off is not given; what goes wrong
 * is said in one line and costs nothing else. 0 or -ENOMEM. */
int gt_cmdline_symbolize(const struct gt_cmdline *args, struct gt_job *jobs, size_t count);

#endif
