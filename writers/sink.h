/* SPDX-License-Identifier: Apache-2.0
 *
 * The only place that writes files in the traced process: creates the output folder and file so
 * that nothing planted there is followed or overwritten, writes with pwrite, survives full disks
 * and descriptors that the program closed or reused. Drain thread only, with SIGXFSZ and SIGPIPE
 * blocked (a file size limit or a closed pipe would end the program).
 */
#ifndef GT_WRITERS_SINK_H
#define GT_WRITERS_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writers/packed.h"

/* Where the file goes, and how large it may become. */
struct gt_sink_options {
	const char *
		directory; /* created (also parents) if missing; or a FIFO or device to stream to */
	const char *fallback; /* folder used when that one cannot be written; NULL: /tmp */
	const char *name;     /* file name; on a collision ".1", ".2"... is put before the suffix */
	const char *suffix;
	const char *owner; /* one process per key writes into the folder itself; NULL: all */
	const char *aside; /* sub-folder for the others */
	uint64_t max_size; /* bytes, 0: no limit */
	int known;         /* negative errno that was said before, and is not said again */
	uint64_t unsaved;  /* bytes that may wait in the page cache for the disk, 0: no limit */
	bool packs; /* a file is compressed, where that is possible: ".gz" behind the suffix */
};

struct gt_sink;

/* Offsets and sizes below are those of the text, also where the file is compressed: of such a one
 * only what was written at its end can be replaced, and the head of gt_sink_begin. */

/* Opens a new file O_CREAT|O_EXCL|O_NOFOLLOW|O_CLOEXEC in the folder, descriptor kept high. If the
 * folder is not writable, uses the fallback and logs it. NULL with -errno in *ret_error when
 * nothing can be written. The caller closes it. */
struct gt_sink *gt_sink_open(const struct gt_sink_options *options, int *ret_error);

/* A pipe opened by the caller for a reader in the same program, which is waited for without a
 * limit; the sink owns @fd from now on, also after a failure. Otherwise as gt_sink_open. */
struct gt_sink *gt_sink_open_pipe(int fd, int *ret_error);

/* An existing file, opened to write by the caller, to be rewritten or appended to; @path: what it
 * is called. The sink owns @fd from now on, also after a failure. Otherwise as gt_sink_open. */
struct gt_sink *gt_sink_open_file(int fd, const char *path, int *ret_error);

/* The file after a full one: in the same folder, "<name>.part<number>" before the suffix. NULL with
 * -errno in *ret_error when it cannot be created; nothing is logged. */
struct gt_sink *gt_sink_open_next(const struct gt_sink *before, unsigned int number,
				  int *ret_error);

/* Words for a negative errno of a sink: a literal, or its number in @text. */
const char *gt_sink_reason(int error, char *text, size_t size);

/* Closes the descriptor. The sink still knows its file, for gt_sink_discard, and cannot be
 * written. */
void gt_sink_retire(struct gt_sink *sink);

/* Writes all @size bytes at @offset, retrying short writes; a stream appends them. Negative errno
 * when something is missing, also when the descriptor is no longer ours and the file cannot be
 * reopened (-EBADF, permanent) or when the file would exceed its limit (-EFBIG, nothing is
 * written). */
int gt_sink_write(struct gt_sink *sink, uint64_t offset, const void *data, size_t size);

/* The same at the end, where the next write begins @overwritten bytes before the end of this one.
 */
int gt_sink_append(struct gt_sink *sink, uint64_t offset, const void *data, size_t size,
		   size_t overwritten);

/* The first write, of which @head bytes will be replaced by gt_sink_write at 0, and those behind
 * them by the next write. */
int gt_sink_begin(struct gt_sink *sink, const void *data, size_t head, size_t size);

/* Cuts the file to @size bytes; a compressed one behind the last append only. A stream: -ESPIPE. */
int gt_sink_truncate(struct gt_sink *sink, uint64_t size);

/* Where the next append begins, to cut the file there later. */
struct gt_packed_place gt_sink_place(const struct gt_sink *sink);
int gt_sink_go_back(struct gt_sink *sink, uint64_t size, const struct gt_packed_place *place);

/* Bytes of memory that the sink has for a compressed file. */
size_t gt_sink_bytes(const struct gt_sink *sink);

/* Whether the file is on tmpfs, where it takes memory until it is removed. */
bool gt_sink_is_in_memory(const struct gt_sink *sink);

/* Changes the size limit of the file and of those after it; @bytes as in the options. */
void gt_sink_set_max_size(struct gt_sink *sink, uint64_t bytes);

/* False for a FIFO, pipe or device: only appending works. */
bool gt_sink_can_patch(const struct gt_sink *sink);

/* Bytes that fit from @offset on before the size limit. */
uint64_t gt_sink_room(const struct gt_sink *sink, uint64_t offset);

/* Absolute path of the file. */
const char *gt_sink_path(const struct gt_sink *sink);

/* Why it is in the fallback folder: a negative errno of the one that was asked for; 0: it is not.
 */
int gt_sink_refused(const struct gt_sink *sink);

/* NULL is fine. */
void gt_sink_close(struct gt_sink *sink);

/* Closes and removes the file, which holds nothing useful. */
void gt_sink_discard(struct gt_sink *sink);

#endif
