/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks and their pieces, see the header. All pieces are cut from the current block; when it has no room, a ready
 * one takes its place and it is closed. A closed block without pieces is dirty, and is the drain thread's.
 */
#include "collectors/cupti_blocks.h"

#include <stdatomic.h>
#include <string.h>

#include "core/memory.h"
#include "core/spool.h"

#define MAX_BLOCKS 1024u

/* Ready blocks beyond this go back to the system: a burst does not stay resident. */
#define KEEP       4u

/* The word of a block in use: bytes that were cut, pieces that have not come back, and whether it gives more. */
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
};

static struct {
	struct block block[MAX_BLOCKS];
	size_t bytes;
	uint32_t count;
	_Atomic uint32_t current; /* index; MAX_BLOCKS: none yet */
} blocks;

static size_t whole_pages(size_t bytes)
{
	return (bytes + GT_CUPTI_PAGE_BYTES - 1) & ~(GT_CUPTI_PAGE_BYTES - 1);
}

void gt_cupti_blocks_start(size_t bytes, size_t count)
{
	memset(&blocks, 0, sizeof(blocks)); /* in a forked child: its parent's are not its own */
	blocks.bytes = whole_pages(bytes);
	blocks.count = (uint32_t)(count < MAX_BLOCKS ? count : MAX_BLOCKS);
	blocks.current = MAX_BLOCKS;
}

/* Makes one that is @from BUSY. NULL: there is none. */
static struct block *claim(int from)
{
	for (uint32_t i = 0; i < blocks.count; i++) {
		struct block *block = &blocks.block[i];
		int expected = from;

		if (atomic_load_explicit(&block->state, memory_order_relaxed) == from &&
		    atomic_compare_exchange_strong(&block->state, &expected, BLOCK_BUSY))
			return block;
	}
	return NULL;
}

static struct block *map(void)
{
	struct block *block = claim(BLOCK_UNMAPPED);

	if (!block)
		return NULL;
	block->memory = gt_spool_map(blocks.bytes);
	if (block->memory)
		return block;
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

/* False: @block has no room for @least, or gives none. */
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

static bool cut_current(size_t bytes, size_t least, struct gt_cupti_piece *ret_piece)
{
	uint32_t current = atomic_load(&blocks.current);

	return current < MAX_BLOCKS && cut(&blocks.block[current], bytes, least, ret_piece);
}

static void close_block(struct block *block)
{
	atomic_fetch_and(&block->word, ~OPEN);
}

/* The first piece of a new block, which takes the place of the one that was current. Should another thread be
 * faster with a new one, this one stays with its only piece. */
static bool cut_new(size_t bytes, struct gt_cupti_piece *ret_piece)
{
	uint32_t before = atomic_load(&blocks.current);
	struct block *block = claim(BLOCK_READY);

	if (!block)
		block = map();
	if (!block)
		return false;
	atomic_store(&block->word, OPEN + ONE_PIECE + bytes);
	atomic_store(&block->state, BLOCK_USED);
	*ret_piece = piece_of(block, 0, bytes);
	if (!atomic_compare_exchange_strong(&blocks.current, &before, ret_piece->block))
		close_block(block);
	else if (before < MAX_BLOCKS)
		close_block(&blocks.block[before]);
	return true;
}

bool gt_cupti_blocks_cut(size_t bytes, size_t least, struct gt_cupti_piece *ret_piece)
{
	bytes = whole_pages(bytes);
	least = whole_pages(least);
	if (bytes > blocks.bytes)
		bytes = blocks.bytes;
	return least <= bytes &&
	       (cut_current(bytes, bytes, ret_piece) || cut_new(bytes, ret_piece) ||
		cut_current(bytes, least, ret_piece));
}

void gt_cupti_blocks_return(uint32_t block)
{
	atomic_fetch_sub(&blocks.block[block].word, ONE_PIECE);
}

static uint32_t count_ready(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < blocks.count; i++)
		n += atomic_load_explicit(&blocks.block[i].state, memory_order_relaxed) ==
		     BLOCK_READY;
	return n;
}

/* Without pieces and closed, nobody else touches it. */
static bool is_dirty(const struct block *block)
{
	return atomic_load(&block->state) == BLOCK_USED &&
	       !(atomic_load(&block->word) & (OPEN | PIECES));
}

/* Returns whether it is ready then. */
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

uint32_t gt_cupti_blocks_reclaim(void)
{
	uint32_t ready = count_ready();

	for (uint32_t i = 0; i < blocks.count; i++)
		if (is_dirty(&blocks.block[i]))
			ready += clean(&blocks.block[i], ready);
	return ready;
}

bool gt_cupti_blocks_add(void)
{
	struct block *block = map();

	if (!block)
		return false;
	memset(block->memory, 0, blocks.bytes); /* page faults here, not on the application */
	atomic_store(&block->state, BLOCK_READY);
	return true;
}
