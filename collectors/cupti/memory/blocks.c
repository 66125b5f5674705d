/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks and pieces, see the header. Pieces are cut from the current block; when it is full, a
 * ready block replaces it and it is closed. A closed block without pieces is dirty and belongs to
 * the drain thread.
 */
#include "collectors/cupti/memory/blocks.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/guest/clock.h"
#include "core/guest/memory.h"
#include "core/spool.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define MAX_BLOCKS 1024u

/* Ready blocks beyond this are unmapped: a burst does not stay resident. */
#define KEEP       4u

#define RETRY_NS   1000000000u

/* State word of a block in use: bytes cut, pieces not returned, and whether more may be cut. */
#define CUT_BYTES  UINT32_MAX
#define ONE_PIECE  ((uint64_t)1 << 32)
#define PIECES     (((uint64_t)1 << 63) - ONE_PIECE)
#define OPEN       ((uint64_t)1 << 63)

enum block_state {
	BLOCK_UNMAPPED,
	BLOCK_BUSY, /* being mapped, opened or zeroed */
	BLOCK_READY,
	BLOCK_USED,
};

struct block {
	_Atomic int state;
	_Atomic uint64_t word;
	uint8_t *memory;
	bool untouched; /* since the session's start; drain thread */
};

static struct {
	struct block block[MAX_BLOCKS];
	size_t bytes;
	_Atomic uint32_t count;
	_Atomic uint32_t current;  /* index; MAX_BLOCKS: none yet */
	_Atomic uint64_t next_try; /* to map one, CLOCK_MONOTONIC ns */
} blocks;

static size_t whole_pages(size_t bytes)
{
	return (bytes + GT_CUPTI_PAGE_BYTES - 1) & ~(GT_CUPTI_PAGE_BYTES - 1);
}

void gt_cupti_blocks_start(size_t bytes, size_t count)
{
	memset(&blocks, 0, sizeof(blocks)); /* in a forked child the blocks are the parent's */
	blocks.bytes = whole_pages(bytes);
	blocks.count = (uint32_t)(count < MAX_BLOCKS ? count : MAX_BLOCKS);
	blocks.current = MAX_BLOCKS;
}

/* Claims a block in state @from: it becomes BUSY. NULL: none. */
static struct block *claim(int from)
{
	uint32_t count = atomic_load(&blocks.count);

	for (uint32_t i = 0; i < count; i++) {
		struct block *block = &blocks.block[i];
		int expected = from;

		if (atomic_load_explicit(&block->state, memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&block->state, &expected, BLOCK_BUSY))
			return block;
	}
	return NULL;
}

/* After a refusal memory is not requested again at once: each refusal is counted and costs time. */
static struct block *map(void)
{
	uint64_t now = gt_clock_now();
	struct block *block;

	if (now < atomic_load(&blocks.next_try))
		return NULL;
	block = claim(BLOCK_UNMAPPED);
	if (!block)
		return NULL;
	block->memory = gt_spool_map(blocks.bytes);
	if (block->memory)
		return block;
	atomic_store(&blocks.next_try, now + RETRY_NS);
	atomic_store(&block->state, BLOCK_UNMAPPED);
	return NULL;
}

static struct gt_cupti_piece piece_of(const struct block *block, size_t at, size_t bytes)
{
	return (struct gt_cupti_piece){
		.memory = block->memory + at,
		.bytes = bytes,
		.block = (uint32_t)(block - blocks.block),
	};
}

/* False: @block has no room for @least, or is closed. */
static bool cut(struct block *block, size_t bytes, size_t least, struct gt_cupti_piece *ret_piece)
{
	uint64_t word = atomic_load(&block->word);
	size_t left, size;

	do {
		left = blocks.bytes - (size_t)(word & CUT_BYTES);
		size = left < bytes ? left : bytes;
		if (!(word & OPEN) || size < least)
			return false;
	} while (!atomic_compare_exchange_weak(&block->word, &word, word + ONE_PIECE + size));
	*ret_piece = piece_of(block, (size_t)(word & CUT_BYTES), size);
	return true;
}

static bool cut_from(uint32_t index, size_t bytes, size_t least, struct gt_cupti_piece *ret_piece)
{
	return index < MAX_BLOCKS && cut(&blocks.block[index], bytes, least, ret_piece);
}

static void close_block(struct block *block)
{
	atomic_fetch_and(&block->word, ~OPEN);
}

/* Makes @block the current one in place of @before and cuts its first piece. If another thread was
 * faster, the block keeps only that piece. */
static void open_block(struct block *block, uint32_t before, size_t bytes,
		       struct gt_cupti_piece *ret_piece)
{
	atomic_store(&block->word, OPEN + ONE_PIECE + bytes);
	atomic_store(&block->state, BLOCK_USED);
	*ret_piece = piece_of(block, 0, bytes);
	if (before == ret_piece->block) /* it was current before it was reclaimed */
		return;
	if (!atomic_compare_exchange_strong(&blocks.current, &before, ret_piece->block))
		close_block(block);
	else if (before < MAX_BLOCKS)
		close_block(&blocks.block[before]);
}

static struct block *claim_or_map(void)
{
	struct block *block = claim(BLOCK_READY);

	return block ? block : map();
}

bool gt_cupti_blocks_cut(size_t bytes, size_t least, struct gt_cupti_piece *ret_piece)
{
	struct block *block;
	uint32_t current;

	bytes = whole_pages(bytes) < blocks.bytes ? whole_pages(bytes) : blocks.bytes;
	least = whole_pages(least);
	if (least > bytes)
		return false;
	for (;;) {
		current = atomic_load(&blocks.current);
		if (cut_from(current, bytes, bytes, ret_piece))
			return true;
		block = claim_or_map();
		if (!block)
			return cut_from(current, bytes, least, ret_piece);
		if (atomic_load(&blocks.current) == current)
			break;
		atomic_store(&block->state, BLOCK_READY); /* another thread made one available */
	}
	open_block(block, current, bytes, ret_piece);
	return true;
}

void gt_cupti_blocks_return(uint32_t block)
{
	atomic_fetch_sub(&blocks.block[block].word, ONE_PIECE);
}

uint32_t gt_cupti_blocks_pieces(uint32_t block)
{
	return (uint32_t)((atomic_load(&blocks.block[block].word) & PIECES) / ONE_PIECE);
}

void gt_cupti_blocks_allow(uint32_t more)
{
	uint32_t count = atomic_load(&blocks.count);

	atomic_store(&blocks.count, count + more < MAX_BLOCKS ? count + more : MAX_BLOCKS);
}

static uint32_t count_ready(void)
{
	uint32_t n = 0, count = atomic_load(&blocks.count);

	for (uint32_t i = 0; i < count; i++)
		n += atomic_load_explicit(&blocks.block[i].state, memory_order_relaxed) ==
		     BLOCK_READY;
	return n;
}

/* Also true of the current block when all its pieces have been returned: if no other block is
 * available, it would stay full for ever. */
static bool is_dirty(struct block *block)
{
	uint64_t word;

	if (atomic_load(&block->state) != BLOCK_USED)
		return false;
	word = atomic_load(&block->word); /* after the state: its value before USED is stale */
	if (word & PIECES)
		return false;
	return !(word & OPEN) || atomic_compare_exchange_strong(&block->word, &word, word & ~OPEN);
}

/* Zeroes or unmaps a dirty block. True: it is ready now. */
static bool clean(struct block *block, uint32_t ready)
{
	atomic_store(&block->state, BLOCK_BUSY);
	if (ready >= KEEP && !gt_spool_holds(block->memory)) {
		gt_memory_unmap(block->memory, blocks.bytes);
		atomic_store(&block->state, BLOCK_UNMAPPED);
		return false;
	}
	memset(block->memory, 0, (size_t)(atomic_load(&block->word) & CUT_BYTES));
	atomic_store(&block->state, BLOCK_READY);
	return true;
}

/* Page faults happen here, not on an application thread, which may be using it. */
static void touch(struct block *block)
{
	int expected = BLOCK_READY;

	if (!block->untouched)
		return;
	block->untouched = false;
	if (!madvise(block->memory, blocks.bytes, MADV_POPULATE_WRITE))
		return;
	/* before Linux 5.14: unless it is used by now */
	if (!atomic_compare_exchange_strong(&block->state, &expected, BLOCK_BUSY))
		return;
	memset(block->memory, 0, blocks.bytes);
	atomic_store(&block->state, BLOCK_READY);
}

uint32_t gt_cupti_blocks_reclaim(void)
{
	uint32_t ready, count = atomic_load(&blocks.count);

	for (uint32_t i = 0; i < count; i++)
		touch(&blocks.block[i]);
	ready = count_ready();
	for (uint32_t i = 0; i < count; i++)
		if (is_dirty(&blocks.block[i]))
			ready += clean(&blocks.block[i], ready);
	return ready;
}

bool gt_cupti_blocks_add_untouched(void)
{
	struct block *block = map();

	if (!block)
		return false;
	block->untouched = true;
	atomic_store(&block->state, BLOCK_READY);
	return true;
}

bool gt_cupti_blocks_add(void)
{
	struct block *block = map();

	if (!block)
		return false;
	memset(block->memory, 0,
	       blocks.bytes); /* page faults happen here, not on an application thread */
	atomic_store(&block->state, BLOCK_READY);
	return true;
}
