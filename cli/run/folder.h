/* SPDX-License-Identifier: Apache-2.0
 *
 * The output folder of a run: finds its name and creates it. Main thread.
 */
#ifndef GT_CLI_RUN_FOLDER_H
#define GT_CLI_RUN_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What was found at the path of the folder. */
enum gt_folder_state {
	GT_FOLDER_KEPT,    /* a folder, or not looked at because nothing will be written */
	GT_FOLDER_MADE,    /* nothing: it was created, and is removed if it stays empty */
	GT_FOLDER_STREAM,  /* a pipe or a device */
	GT_FOLDER_REFUSED, /* it cannot be created or written */
};

/* Where the traces of a run go. */
struct gt_folder {
	char path[PATH_MAX]; /* absolute, unless the working folder was removed */
	enum gt_folder_state state;
	size_t above;         /* bytes of the path that were there when it was MADE */
	const char *fallback; /* where the library writes when it cannot write there */
};

/* Finds its path: pattern @given, expanded, or if empty gputrace-out/ with the name of the run.
 * -ENAMETOOLONG: the path is too long. */
int gt_folder_find(const char *given, struct gt_folder *ret_folder);

/* Creates it with its parents, and sets its state. Not for a run that writes nothing. 0, or the
 * negative errno for which it is refused. */
int gt_folder_make(struct gt_folder *folder);

/* Writes and removes a file of the size of a first block in folder @path. 0 or a negative errno. */
int gt_folder_try(const char *path);

/* Removes the folder if it was created and is empty, then those above it that were created with it,
 * and an empty gputrace-out/. */
void gt_folder_remove_empty(const struct gt_folder *folder);

#endif
