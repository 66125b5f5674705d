/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a trace file, plain or gzip, as a window that moves forward: what was consumed is
 * forgotten, what is needed is read, and the window grows only when one token does not fit. Knows
 * at which line and byte it stands. One thread per input.
 */
#ifndef GT_READERS_INPUT_H
#define GT_READERS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Readable zero bytes that stand behind the window, and behind all memory that is scanned. */
#define GT_INPUT_PADDING 16

/* A file that is being read. */
struct gt_input {
	const char *path;
	const char *data; /* the window; GT_INPUT_PADDING zero bytes behind it */
	size_t size;
	bool ended; /* the window reaches to the end of the file */
	bool compressed;
	const char *damage; /* the compressed stream broke off: what zlib says, else NULL */
	/* private */
	void *gz;
	char *buffer;
	size_t room;
	size_t start;      /* of the window in the buffer */
	uint64_t bytes;    /* consumed before the window */
	uint64_t lines;    /* newlines consumed before the window */
	uint64_t reported; /* bytes of the file as it lies on disk, told as progress */
	bool silent;       /* nothing is reported */
};

/* Whether @path can be read once only: "-", a pipe, a device. */
bool gt_input_is_stream(const char *path);

/* Opens @path ("-" is the standard input); the string must outlive the input. Negative errno. */
int gt_input_open(struct gt_input *in, const char *path);

/* The same of an open descriptor, which is the input's from then on, also on failure. Reading is
 * not told as progress: it is another input's. */
int gt_input_open_fd(struct gt_input *in, const char *path, int fd);
void gt_input_close(struct gt_input *in);

/* Forgets the first @n bytes of the window. */
void gt_input_consume(struct gt_input *in, size_t n);

/* Reads on, keeping the window. 1: more bytes came, 0: the end, negative errno (-EFBIG: one token
 * is larger than 1 GiB). Pointers into the window become invalid. */
int gt_input_more(struct gt_input *in);

/* Whether the window begins as a .pftrace does, by its first bytes. */
bool gt_input_is_pftrace(const struct gt_input *in);

/* Where @offset of the window lies in the file (uncompressed): line and byte, counted from 1 and
 * 0. */
void gt_input_position(const struct gt_input *in, size_t offset, uint64_t *ret_line,
		       uint64_t *ret_byte);

#endif
