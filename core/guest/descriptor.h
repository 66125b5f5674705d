/* SPDX-License-Identifier: Apache-2.0
 *
 * A file descriptor in somebody else's process. Programs close every number that they know of, and
 * open files under the lowest free ones. So a descriptor of ours moves to a high number at once,
 * and a number is closed only while it is still ours. Any thread; errno is kept.
 */
#ifndef GT_CORE_GUEST_DESCRIPTOR_H
#define GT_CORE_GUEST_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* A descriptor of the tracer. */
struct gt_descriptor {
	int fd;       /* -1: not open */
	dev_t device; /* what the number must still refer to */
	ino_t inode;
	mode_t mode; /* type and permissions of the file, from fstat */
};

#define GT_DESCRIPTOR_NONE ((struct gt_descriptor){.fd = -1})

/* As openat, close-on-exec. Negative errno; -ESTALE: the program took the number away while it was
 * being opened. Close with gt_descriptor_close, also after a failure. */
int gt_descriptor_open(struct gt_descriptor *ret_descriptor, int folder, const char *path,
		       int flags, mode_t rights);

/* Whether the number still refers to what was opened. */
bool gt_descriptor_is_ours(const struct gt_descriptor *descriptor);

/* Closes it, unless the number refers to something else by now. */
void gt_descriptor_close(struct gt_descriptor *descriptor);

/* The first bytes of a small file. Returns how many; 0 when it cannot be read, also of a FIFO. */
size_t gt_descriptor_read_file(const char *path, char *ret_text, size_t size);

/* The process has several threads, and the kernel's table room for @table descriptors: ours are to
 * fit. Until a table that is used by several threads has grown the kernel waits for all processors,
 * which was seen to take half a minute. */
void gt_descriptor_fit(uint32_t table);

#endif
