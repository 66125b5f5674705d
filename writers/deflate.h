/* SPDX-License-Identifier: Apache-2.0
 *
 * Deflate with ISA-L, which is linked in where the build found it: ten times as fast as zlib's
 * fastest level, for the same size (docs/benchmarks/writing.md). Drain thread.
 */
#ifndef GT_WRITERS_DEFLATE_H
#define GT_WRITERS_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_deflate;

/* Whether this build can compress. Any thread. */
bool gt_deflate_is_there(void);

/* Memory of one, from core/guest/memory.h. NULL: none, or this build cannot. */
struct gt_deflate *gt_deflate_new(void);
void gt_deflate_free(struct gt_deflate *deflate); /* NULL is fine */

/* Bytes that gt_deflate_new maps. */
size_t gt_deflate_bytes(void);

/* Most bytes that @size ones become. */
size_t gt_deflate_most(size_t size);

/* Compresses @size bytes to whole blocks, none of them the last one, that refer to nothing before
 * them and end at a whole byte. Returns their size; 0: not possible. */
size_t gt_deflate_run(struct gt_deflate *deflate, const void *data, size_t size, void *out,
		      size_t room);

/* CRC-32 as in gzip, of what @crc is of and @data behind it. */
uint32_t gt_deflate_crc(uint32_t crc, const void *data, size_t size);

#endif
