/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps what a file has in the page cache small: asks the kernel to write it to the disk while more
 * is written, waits where the disk is slower, and gives the written pages back. Without that, a
 * container with a memory limit fills with pages that cannot be reclaimed fast enough, and the
 * program is killed. Drain thread.
 */
#ifndef GT_WRITERS_WRITE_BEHIND_H
#define GT_WRITERS_WRITE_BEHIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One file; zero but for the first two at first. Offsets in bytes. */
struct gt_write_behind {
	uint64_t unsaved; /* bytes that may wait for the disk; 0: any number, nothing is done */
	bool stacked;     /* on overlayfs, whose files have their pages in those of another one */
	uint64_t saved;   /* up to here it is on the disk and out of the page cache */
	uint64_t started; /* up to here it is on its way there */
	uint64_t end;     /* of what was written */
};

/* @size bytes were written at @offset of @fd. Errors are ignored: the file is right without it. */
void gt_write_behind_note(struct gt_write_behind *behind, int fd, uint64_t offset, size_t size);

#endif
