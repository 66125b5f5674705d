/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that is rewritten, and the folder with the names beside it, held by descriptors from the
 * first look at it to the last write: whoever may rename files and folders on the way to it, leads
 * nobody to another file. The paths below /proc/self/fd stand for the descriptors wherever a path
 * is wanted. One thread.
 */
#ifndef GT_RECOVER_PIN_H
#define GT_RECOVER_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* The file at a path. */
struct gt_pin {
	const char *path; /* as given: for its name and for messages; not to be opened */
	char content[40]; /* this file, whatever its name is by now */
	char beside[320]; /* its name in its folder: for files next to it, to replace or remove it
			   */
	char kin[320];    /* as beside, for the names of other files of the process; of a file that
			   * stands for a compressed one: that of it */
	struct stat status; /* of the file, when it was pinned */
	int file, folder;   /* O_PATH both */
	bool is_read_only;  /* set by the caller: the file is neither written nor replaced */
};

/* Pins the file at @path, which the caller keeps. Negative errno: -ELOOP: it is a symbolic link, or
 * its path has one of another user; -EOPNOTSUPP: there is no /proc. Unpin after success only. */
int gt_pin(struct gt_pin *ret_pin, const char *path);

/* Pins the folder of a file alone: @path may have no file yet, content is empty. */
int gt_pin_folder(struct gt_pin *ret_pin, const char *path);

/* Pins the file that has the name now. The same errors; the pin stays as it was then. */
int gt_pin_again(struct gt_pin *pin);

/* Words for such an error. */
const char *gt_pin_reason(int error);

/* Opens the file to write. A descriptor or a negative errno. */
int gt_pin_write(const struct gt_pin *pin);

/* Gives the file at @beside, next to it, its name, if that still is the name of the file. 0 or a
 * negative errno; -ESTALE: it is not. */
int gt_pin_replace(const struct gt_pin *pin, const char *beside);

/* Removes the name, if it still is that of the file. As gt_pin_replace. */
int gt_pin_remove(const struct gt_pin *pin);

/* A message about the file in which it has its path again. */
void gt_pin_words(const struct gt_pin *pin, const char *words, char *ret_words, size_t size);

/* Closes the descriptors. */
void gt_unpin(struct gt_pin *pin);

#endif
