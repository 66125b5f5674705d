/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place that writes files inside the traced process: creates the output folder and file so
 * that nothing planted there is followed or overwritten, writes and patches with pwrite, survives
 * full disks and descriptors that the program closed or took over. Drain thread only, with SIGXFSZ
 * and SIGPIPE blocked (a file size limit or a closed pipe would end the program).
 */
#ifndef GT_WRITERS_SINK_H
#define GT_WRITERS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the file goes, and how large it may become. */
struct gt_sink_options {
	const char *
		directory; /* created (also parents) if missing; or a FIFO or device to stream to */
	const char *fallback; /* folder used when that one cannot be written; NULL: /tmp */
	const char *name;     /* file name; on a collision ".1", ".2"... goes before the suffix */
	const char *suffix;
	const char
		*owner; /* one process of each such key writes into the folder itself; NULL: all */
	const char *aside; /* sub-folder for the others */
	uint64_t max_size; /* bytes, 0: no limit */
};

struct gt_sink;

/* Opens a new file O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC in the folder, descriptor kept high. When
 * the folder cannot be written takes the fallback and says so in the log. NULL with -errno in
 * *ret_error when nothing can be written. The caller closes it. */
struct gt_sink *gt_sink_open(const struct gt_sink_options *options, int *ret_error);

/* A pipe that the caller opened for a reader in the same program, which is waited for as long as it
 * takes; @fd belongs to the sink from now on, also when this fails. As gt_sink_open else. */
struct gt_sink *gt_sink_open_pipe(int fd, int *ret_error);

/*
 * The file that follows a full one: in the same folder, "<name>.part<number>" before the suffix.
 * NULL with -errno in *ret_error when it cannot be made; nothing is said.
 */
struct gt_sink *gt_sink_open_next(const struct gt_sink *before, unsigned int number,
				  int *ret_error);

/* Closes the descriptor. What is left knows its file, for gt_sink_discard, and cannot be
 * written. */
void gt_sink_rest(struct gt_sink *sink);

/* Writes @size bytes at @offset (whole, retrying short writes); a stream appends them. Negative
 * errno when something is missing, also when the descriptor is no longer ours and the file cannot
 * be had back (-EBADF, for ever) or when the file would outgrow its limit (-EFBIG, nothing is
 * written). */
int gt_sink_write(struct gt_sink *sink, uint64_t offset, const void *data, size_t size);

/* Cuts the file to @size bytes. A stream: -ESPIPE. */
int gt_sink_truncate(struct gt_sink *sink, uint64_t size);

/* False for a FIFO, pipe or device: only appending works. */
bool gt_sink_can_patch(const struct gt_sink *sink);

/* Bytes that may still stand at @offset and behind before the size limit. */
uint64_t gt_sink_room(const struct gt_sink *sink, uint64_t offset);

/* Absolute path of what is written. */
const char *gt_sink_path(const struct gt_sink *sink);

/* NULL is fine. */
void gt_sink_close(struct gt_sink *sink);

/* Closes and removes the file: nothing of use came to stand in it. */
void gt_sink_discard(struct gt_sink *sink);

#endif
