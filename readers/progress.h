/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress of this process: the current step, and bytes of files on disk. Only counts;
 * cli/progress.h displays it. Any thread.
 */
#ifndef GT_READERS_PROGRESS_H
#define GT_READERS_PROGRESS_H

#include <stdint.h>

/* The state of the current step. */
struct gt_progress {
	const char *what; /* "reading"; a literal */
	uint64_t done, total;
};

/* Begins the next step, @what a literal; bytes count from 0 again. */
void gt_progress_begin(const char *what);

/* Add to the bytes to read, and to the bytes read (@bytes may be negative). */
void gt_progress_expect(uint64_t bytes);
void gt_progress_add(int64_t bytes);

/* Adds the size of the file @path, if it has one, to the bytes to read. */
void gt_progress_expect_file(const char *path);

/* The current state. Any thread. */
struct gt_progress gt_progress_now(void);

#endif
