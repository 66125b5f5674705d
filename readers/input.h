/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a trace file, plain or gzip, as a window that moves forward: consumed bytes are
 * dropped, more are read on demand, and the window grows only if a token does not fit. Keeps track
 * of line and byte. One thread per input.
 */
#ifndef GT_READERS_INPUT_H
#define GT_READERS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Readable zero bytes after the window, and after all memory that is scanned. */
#define GT_INPUT_PADDING 32

/* A file that is being read. */
struct gt_input {
	const char *path;
	const char *data; /* the window, followed by GT_INPUT_PADDING zero bytes */
	size_t size;
	bool ended; /* the window reaches to the end of the file */
	bool compressed;
	const char *damage; /* zlib's error if the compressed stream is damaged, else NULL */
	int fd;             /* of a plain file, for reading beside the window; -1: there is none */
	/* private */
	void *gz;
	char *buffer;
	size_t room;
	size_t start;      /* of the window in the buffer */
	uint64_t skipped;  /* bytes behind the buffer that were consumed without being read */
	uint64_t bytes;    /* consumed before the window */
	uint64_t lines;    /* newlines consumed before the window */
	uint64_t reported; /* bytes of the file on disk, reported as progress */
	bool silent;       /* report no progress */
};

/* Whether @path can be read once only: "-", a pipe, a device. */
bool gt_input_is_stream(const char *path);

/* Opens @path ("-" is the standard input); the string must outlive the input. Negative errno. */
int gt_input_open(struct gt_input *in, const char *path);

/* The same for an open descriptor, which the input owns from now on, also on failure. Does not
 * report progress: the caller's input does. */
int gt_input_open_fd(struct gt_input *in, const char *path, int fd);
void gt_input_close(struct gt_input *in);

/* Drops the first @n bytes of the window. */
void gt_input_consume(struct gt_input *in, size_t n);

/* Drops the next @n bytes, whether the window holds them or not, in which are @lines newlines; of
 * plain files only. */
void gt_input_skip(struct gt_input *in, uint64_t n, uint64_t lines);

/* Appends more bytes to the window. 1: done, 0: end of file, negative errno (-EFBIG: a token is
 * larger than 1 GiB). Pointers into the window become invalid. */
int gt_input_more(struct gt_input *in);

/* Whether the first bytes of the window are those of a .pftrace. */
bool gt_input_is_pftrace(const struct gt_input *in);

/* The position of @offset of the window in the uncompressed file: line from 1, byte from 0. */
void gt_input_position(const struct gt_input *in, size_t offset, uint64_t *ret_line,
		       uint64_t *ret_byte);

#endif
