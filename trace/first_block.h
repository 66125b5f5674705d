/* SPDX-License-Identifier: Apache-2.0
 *
 * The first block of a trace file (docs/FORMAT.md, "Two forms of one file"), and whether the write
 * of it was cut. Pure but for reading the file; any thread.
 */
#ifndef GT_TRACE_FIRST_BLOCK_H
#define GT_TRACE_FIRST_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/input.h"
#include "trace/file_name.h"

#define GT_FIRST_BLOCK 16384u /* bytes */

/* A first block, as it was read. */
struct gt_first_block {
	struct gt_file_name name;
	char text[GT_FIRST_BLOCK + 1 + GT_INPUT_PADDING]; /* one byte more than the block */
	size_t size;                                      /* bytes of text, that one included */
	uint64_t bytes;                                   /* of the whole file */
};

/* Reads the block of @path, a regular file. 0 or a negative errno: the name is parsed even then. */
int gt_first_block_read(struct gt_first_block *block, const char *path);

/* The same of a file whose name is @name, wherever @path leads (recover/pin.h). */
int gt_first_block_read_as(struct gt_first_block *block, const char *path, const char *name);

/* Bytes of the block itself. */
size_t gt_first_block_size(const struct gt_first_block *block);

/* The first @what in the block at @from or behind it; NULL: there is none. */
const char *gt_first_block_find(const struct gt_first_block *block, const char *from,
				const char *what);

/* A block of ours whose first event is cut, or an empty file with the name of a trace. */
bool gt_first_block_is_torn(const struct gt_first_block *block);

/* The same of the file at @path; false for what cannot be read. */
bool gt_first_block_file_is_torn(const char *path);
bool gt_first_block_file_is_torn_as(const char *path, const char *name);

#endif
