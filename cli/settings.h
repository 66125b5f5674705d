/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace.ini: defaults for the options of `gputrace run`, "option = value" a line. The user's in
 * $XDG_CONFIG_HOME/gputrace (~/.config/gputrace), a project's in the working folder. A project's
 * comes from whoever wrote the project: an option that names a path or a library is refused there,
 * and so is the file of another user. Single-threaded.
 */
#ifndef GT_CLI_SETTINGS_H
#define GT_CLI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

/* What a file sets, or the line that is wrong. */
struct gt_setting {
	const char *path; /* of the file */
	int line;         /* from 1; 0: the file itself */
	const char *text; /* "stacks=full"; why, where it is wrong */
	bool is_wrong;
};

/* Sets the variable of each setting, unless it is set: the command line and the environment win,
 * and the project's file over the user's. False after a line on stderr: one is wrong. */
bool gt_settings_apply(void);

/* Calls @see for each setting and each mistake, the project's first; changes nothing. */
void gt_settings_each(void (*see)(const struct gt_setting *setting, void *context), void *context);

#endif
