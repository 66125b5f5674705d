/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place that writes files inside the traced process: creates the output folder and file
 * safely (REQ-86), appends and patches with pwrite, survives full disks and reused descriptors, and
 * respects --max-size. Drain thread only.
 */
#ifndef GT_WRITERS_SINK_H
#define GT_WRITERS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_sink_options {
	const char *directory;     /* created (also parents) if missing */
	const char *name;          /* file name; on a collision ".1", ".2"... goes before the suffix */
	const char *suffix;
	uint64_t max_size;         /* bytes, 0: no limit */
};

struct gt_sink;

/* Opens a new file O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC in the folder, descriptor kept high. When the
 * folder cannot be written tries $TMPDIR or /tmp (and says so in the log). NULL with -errno in
 * *ret_error when nothing can be written. */
struct gt_sink *gt_sink_open(const struct gt_sink_options *options, int *ret_error);

/* Writes @size bytes at @offset (whole, retrying short writes). After the first failure or at the
 * size limit nothing more is written and every call returns the same negative errno. */
int gt_sink_write(struct gt_sink *sink, uint64_t offset, const void *data, size_t size);

/* Cuts the file to @size bytes. */
int gt_sink_truncate(struct gt_sink *sink, uint64_t size);

/* False for a FIFO or pipe: only appending works. */
bool gt_sink_can_patch(const struct gt_sink *sink);

/* Bytes that may still be appended before --max-size. */
uint64_t gt_sink_room(const struct gt_sink *sink, uint64_t offset);

const char *gt_sink_path(const struct gt_sink *sink);
void gt_sink_close(struct gt_sink *sink);

#endif
