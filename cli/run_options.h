/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of `gputrace run`: options out of core/config.def, then the program. Main
 * thread.
 */
#ifndef GT_CLI_RUN_OPTIONS_H
#define GT_CLI_RUN_OPTIONS_H

#include <stddef.h>

/* The variable "GPUTRACE_NAME=value" for an option "name=value", or "name" of a switch; to be
 * freed. NULL: it is wrong, @ret_wrong has the reason in one line. */
char *gt_run_option_variable(const char *option, char *ret_wrong, size_t size);

/* Sets the variables of the options from argv[1] on. Returns the index in @argv of the program's
 * name; 0 for --help; the negative exit status after a message when an option is wrong or there is
 * no program. */
int gt_run_options_take(int argc, char **argv);

/* Why there is no option @name of @length bytes, written with @dashes, and which one was meant. */
void gt_run_option_unknown(const char *dashes, const char *name, size_t length, char *ret_wrong,
			   size_t size);

#endif
