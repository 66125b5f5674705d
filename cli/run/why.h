/* SPDX-License-Identifier: Apache-2.0
 *
 * Why there is no trace of a program that ran. Main thread.
 */
#ifndef GT_CLI_RUN_WHY_H
#define GT_CLI_RUN_WHY_H

#include "cli/run/folder.h"
#include "cli/run/target.h"

/* Prints the reason for @command, which is @target and ended with @wait_status, or likely ones if
 * none is found. */
void gt_why_say(const struct gt_folder *folder, const char *command, const struct gt_target *target,
		int wait_status);

#endif
