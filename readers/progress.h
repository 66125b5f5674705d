/* SPDX-License-Identifier: Apache-2.0
 *
 * How far the work of this process is: what it does, and bytes of files as they lie on disk. Counts
 * only; cli/progress.h shows it. Any thread.
 */
#ifndef GT_READERS_PROGRESS_H
#define GT_READERS_PROGRESS_H

#include <stdint.h>

/* How much of the work is done. */
struct gt_progress {
	const char *what; /* "reading"; constant text */
	uint64_t done, total;
};

/* The next part of the work, @what a constant text; bytes count from 0 again. */
void gt_progress_begin(const char *what);

/* @bytes more are to be read, and have been read (fewer, if negative). */
void gt_progress_expect(uint64_t bytes);
void gt_progress_add(int64_t bytes);

/* Expects the file @path, once it has a size. */
void gt_progress_expect_file(const char *path);

/* The state now. Any thread. */
struct gt_progress gt_progress_now(void);

#endif
