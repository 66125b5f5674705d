/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the activity buffers: large blocks, from which pieces are cut one behind the other.
 * A block whose pieces have all come back is zeroed and used again, whatever sizes they had: no
 * size is ever short of room that another one holds, also in the spool, whose memory cannot be
 * given back.
 */
#ifndef GT_COLLECTORS_CUPTI_BLOCKS_H
#define GT_COLLECTORS_CUPTI_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces begin with a page. */
#define GT_CUPTI_PAGE_BYTES ((size_t)4096)

/* A piece of a block, used as one activity buffer. */
struct gt_cupti_piece {
	uint8_t *memory; /* zeroed */
	size_t bytes;    /* whole pages */
	uint32_t block;
};

/* Blocks of @bytes, rounded up to pages and below 4 GiB, at most @count of them. Session start. */
void gt_cupti_blocks_start(size_t bytes, size_t count);

/* A piece of @bytes or, if there is no room for so many, of at least @least; both are rounded up to
 * pages. False: there is none. Any thread, lock-free; a few system calls when no block is ready.
 * Give back with _return. */
bool gt_cupti_blocks_cut(size_t bytes, size_t least, struct gt_cupti_piece *ret_piece);

/* Nobody reads or writes a piece of @block any more. Any thread. */
void gt_cupti_blocks_return(uint32_t block);

/* How many pieces of @block have not come back. */
uint32_t gt_cupti_blocks_pieces(uint32_t block);

/* So many more blocks than there might be until now: those before may hold pieces that never come
 * back. */
void gt_cupti_blocks_allow(uint32_t more);

/* Drain thread: zeroes the blocks that came back whole. Returns how many are ready for _cut. */
uint32_t gt_cupti_blocks_reclaim(void);

/* Drain thread: one more is ready, its pages touched. False: there are as many as there may be, or
 * no memory. */
bool gt_cupti_blocks_add(void);

#endif
