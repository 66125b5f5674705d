/* SPDX-License-Identifier: Apache-2.0
 *
 * A file descriptor in a process that is not ours. Programs close every number that they know of
 * and open their own files under the lowest free ones: a descriptor of ours therefore moves to a
 * high number at once, and no number is ever closed that has become something of the program's. Any
 * thread; errno is kept.
 */
#ifndef GT_CORE_GUEST_DESCRIPTOR_H
#define GT_CORE_GUEST_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A file descriptor that the program does not use. */
struct gt_descriptor {
	int fd;       /* -1: not open */
	dev_t device; /* what the number must still lead to */
	ino_t inode;
	mode_t mode; /* kind and rights of the file, as fstat tells */
};

#define GT_DESCRIPTOR_NONE ((struct gt_descriptor){.fd = -1})

/* As openat, close-on-exec. Negative errno; -ESTALE: while it was being opened the number was taken
 * away from us. Close with gt_descriptor_close, which is fine for what did not open, too. */
int gt_descriptor_open(struct gt_descriptor *ret_descriptor, int folder, const char *path,
		       int flags, mode_t rights);

/* Whether the number still leads to what was opened. */
bool gt_descriptor_is_ours(const struct gt_descriptor *descriptor);

/* Closes it unless its number is something else by now. */
void gt_descriptor_close(struct gt_descriptor *descriptor);

/* The first bytes of a small file. Returns how many; 0 when it cannot be read. */
size_t gt_descriptor_read_file(const char *path, char *ret_text, size_t size);

#endif
