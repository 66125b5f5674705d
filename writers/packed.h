/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that is one gzip member, complete after every write: each write ends with a last block and
 * the trailer, which the next write overwrites. Each batch is compressed on its own and starts on a
 * byte boundary. The head, which is rewritten now and then, is stored uncompressed and no match
 * refers to it (docs/FORMAT.md).
 * Drain thread.
 */
#ifndef GT_WRITERS_PACKED_H
#define GT_WRITERS_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Behind a batch. */
struct gt_packed_place {
	uint64_t offset; /* in what is packed */
	uint64_t stored; /* in the file */
	uint32_t crc;    /* of what is between the head and here */
};

/* The file; both return 0 or a negative errno. */
struct gt_packed_file {
	int (*write)(void *context, uint64_t offset, const void *data, size_t size);
	int (*truncate)(void *context, uint64_t size);
	void *context;
};

struct gt_packed;

/* For an empty file. NULL: no memory, or this build cannot compress. */
struct gt_packed *gt_packed_new(const struct gt_packed_file *file);
void gt_packed_free(struct gt_packed *packed); /* NULL is fine */

/* Bytes that gt_packed_new maps. */
size_t gt_packed_bytes(void);

/* Where the next batch begins. */
struct gt_packed_place gt_packed_place(const struct gt_packed *packed);

/* Begins with a head of @head bytes, 65535 at most; the rest of @size is replaced by what is
 * written next. These and those below: 0 or a negative errno. */
int gt_packed_begin(struct gt_packed *packed, const void *data, size_t head, size_t size);

/* Writes a batch of which the first @kept bytes stay, and the rest is replaced by what is written
 * next. */
int gt_packed_write(struct gt_packed *packed, const void *data, size_t kept, size_t size);

/* Writes the head again, of the same size. */
int gt_packed_rewrite(struct gt_packed *packed, const void *data, size_t head);

/* Drops what is behind @place. */
int gt_packed_go_back(struct gt_packed *packed, const struct gt_packed_place *place);

#endif
