/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that a command line names. Single thread.
 */
#ifndef GT_CLI_ATTACH_TARGET_H
#define GT_CLI_ATTACH_TARGET_H

#include <sys/types.h>

#include "cli/cmdline.h"

/* The only word of the command line as a process id. An exit status: GT_EXIT_USAGE after a line on
 * stderr when it is none. */
int gt_attach_target(const struct gt_cmdline *args, pid_t *ret_pid);

#endif
