/* SPDX-License-Identifier: Apache-2.0
 *
 * Other options of a process that was attached to before: what gputrace set can change is changed,
 * the rest stays, and is said. One thread.
 */
#ifndef GT_CLI_CONTROL_CHANGE_H
#define GT_CLI_CONTROL_CHANGE_H

#include <stddef.h>
#include <sys/types.h>

#include "core/config.h"

/* Makes the options @before of process @pid, texts GPUTRACE_NAME=value each with its zero byte,
 * into those of @now: what is not there any more gets its default, or stays where it cannot change.
 * Calls @stays for each of these. --output stays. 0; -1: @ret_why says what cannot change; the
 * options are those of @before then. */
int gt_change_options(pid_t pid, const char *now, const char *before,
		      void (*stays)(enum gt_option_id id, const char *value), char *ret_why,
		      size_t size);

#endif
