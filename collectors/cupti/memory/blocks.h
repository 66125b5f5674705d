/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the activity buffers: large blocks, from which pieces are cut one after the other. A
 * block whose pieces have all been returned is zeroed and reused, whatever their sizes. So memory
 * is never stuck in buffers of another size, which matters in the spool, whose memory cannot be
 * unmapped.
 */
#ifndef GT_COLLECTORS_CUPTI_MEMORY_BLOCKS_H
#define GT_COLLECTORS_CUPTI_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces start on a page. */
#define GT_CUPTI_PAGE_BYTES ((size_t)4096)

/* A piece of a block, used as one activity buffer. */
struct gt_cupti_piece {
	uint8_t *memory; /* zeroed */
	size_t bytes;    /* whole pages */
	uint32_t block;
};

/* Sets up blocks of @bytes each, rounded up to pages and below 4 GiB, at most @count of them.
 * Session start. */
void gt_cupti_blocks_start(size_t bytes, size_t count);

/* Cuts a piece of @bytes or, if there is no room, of at least @least; both are rounded up to pages.
 * False: none. Any thread, lock-free; a few system calls when no block is ready. Undo with
 * _return. */
bool gt_cupti_blocks_cut(size_t bytes, size_t least, struct gt_cupti_piece *ret_piece);

/* Returns a piece of @block, which nobody reads or writes any more. Any thread. */
void gt_cupti_blocks_return(uint32_t block);

/* Pieces of @block that have not been returned. */
uint32_t gt_cupti_blocks_pieces(uint32_t block);

/* Raises the maximum by @more blocks: pieces of the existing ones may never be returned. */
void gt_cupti_blocks_allow(uint32_t more);

/* Drain thread: zeroes blocks whose pieces have all been returned. Returns how many blocks are
 * ready. */
uint32_t gt_cupti_blocks_reclaim(void);

/* Drain thread: makes one more block ready, its pages touched. False: the maximum is reached, or no
 * memory. */
bool gt_cupti_blocks_add(void);

/* Session start: the same, but its pages are touched by the next _reclaim. */
bool gt_cupti_blocks_add_untouched(void);

#endif
