/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks: pieces do not overlap, are zeroed, and all room is returned whatever their sizes were.
 */
#include "collectors/cupti/memory/blocks.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE  GT_CUPTI_PAGE_BYTES
#define BLOCK (64 * PAGE)

Test(cupti_blocks, pieces_lie_behind_each_other_in_whole_pages)
{
	struct gt_cupti_piece a, b;

	gt_cupti_blocks_start(BLOCK, 2);
	cr_assert(gt_cupti_blocks_cut(100, 100, &a));
	cr_assert(gt_cupti_blocks_cut(PAGE + 1, PAGE, &b));
	cr_assert_eq(a.bytes, PAGE);
	cr_assert_eq(b.bytes, 2 * PAGE);
	cr_assert_eq(b.memory, a.memory + PAGE);
	cr_assert_eq((uintptr_t)a.memory % PAGE, 0);
}

Test(cupti_blocks, the_rest_of_the_last_block_is_given_to_who_takes_less)
{
	struct gt_cupti_piece piece;

	gt_cupti_blocks_start(BLOCK, 2);
	cr_assert(gt_cupti_blocks_cut(BLOCK, BLOCK, &piece));
	cr_assert(gt_cupti_blocks_cut(60 * PAGE, PAGE, &piece));
	cr_assert_not(gt_cupti_blocks_cut(8 * PAGE, 8 * PAGE, &piece));
	cr_assert(gt_cupti_blocks_cut(8 * PAGE, 2 * PAGE, &piece));
	cr_assert_eq(piece.bytes, 4 * PAGE);
	cr_assert_not(gt_cupti_blocks_cut(PAGE, PAGE, &piece));
}

Test(cupti_blocks, one_comes_back_when_all_its_pieces_have)
{
	static const uint8_t zero[BLOCK];
	struct gt_cupti_piece first, second, other;

	gt_cupti_blocks_start(BLOCK, 2);
	cr_assert(gt_cupti_blocks_cut(PAGE, PAGE, &first));
	cr_assert(gt_cupti_blocks_cut(PAGE, PAGE, &second));
	memset(first.memory, 0xDB, first.bytes);
	memset(second.memory, 0xDB, second.bytes);
	cr_assert(gt_cupti_blocks_cut(BLOCK, BLOCK, &other));
	gt_cupti_blocks_return(first.block);
	cr_assert_eq(gt_cupti_blocks_reclaim(), 0);
	gt_cupti_blocks_return(second.block);
	cr_assert_eq(gt_cupti_blocks_reclaim(), 1);
	cr_assert(gt_cupti_blocks_cut(BLOCK, BLOCK, &second));
	cr_assert_eq(second.memory, first.memory);
	cr_assert_eq(memcmp(second.memory, zero, BLOCK), 0);
}

/* The last block is not replaced. */
Test(cupti_blocks, the_current_one_comes_back_too)
{
	struct gt_cupti_piece held, piece;

	gt_cupti_blocks_start(BLOCK, 2);
	cr_assert(gt_cupti_blocks_cut(PAGE, PAGE, &held));
	for (int i = 0; i < 10; i++) {
		cr_assert(gt_cupti_blocks_cut(BLOCK, BLOCK, &piece), "%d", i);
		gt_cupti_blocks_return(piece.block);
		gt_cupti_blocks_reclaim();
	}
}

Test(cupti_blocks, more_may_be_allowed)
{
	struct gt_cupti_piece piece;

	gt_cupti_blocks_start(BLOCK, 1);
	cr_assert(gt_cupti_blocks_cut(BLOCK, BLOCK, &piece));
	cr_assert_not(gt_cupti_blocks_cut(PAGE, PAGE, &piece));
	gt_cupti_blocks_allow(1);
	cr_assert(gt_cupti_blocks_cut(PAGE, PAGE, &piece));
}

Test(cupti_blocks, no_more_than_there_may_be)
{
	gt_cupti_blocks_start(BLOCK, 3);
	cr_assert(gt_cupti_blocks_add());
	cr_assert(gt_cupti_blocks_add());
	cr_assert(gt_cupti_blocks_add());
	cr_assert_not(gt_cupti_blocks_add());
	cr_assert_eq(gt_cupti_blocks_reclaim(), 3);
}

Test(cupti_blocks, a_piece_larger_than_a_block_is_not_to_be_had)
{
	struct gt_cupti_piece piece;

	gt_cupti_blocks_start(BLOCK, 3);
	cr_assert_not(gt_cupti_blocks_cut(BLOCK + 1, BLOCK + 1, &piece));
	cr_assert(gt_cupti_blocks_cut(BLOCK + 1, PAGE, &piece));
	cr_assert_eq(piece.bytes, BLOCK);
}

#define CUTTERS 4
#define ROUNDS  4000
#define HELD    8
#define COUNT   24

static _Atomic uint32_t cutters_done;

struct cutter {
	pthread_t thread;
	uint32_t number, wrong, refused;
};

/* Writes its number into pieces of all sizes and checks later that it is still there. */
static void *cut_pieces(void *argument)
{
	struct gt_cupti_piece held[HELD] = {{0}};
	struct cutter *c = argument;

	for (uint32_t round = 0; round < ROUNDS + HELD; round++) {
		struct gt_cupti_piece *piece = &held[round % HELD];
		uint64_t *words = (uint64_t *)(void *)piece->memory;

		if (words) {
			for (size_t i = 0; i < piece->bytes / 8; i += 64)
				c->wrong += words[i] != c->number;
			gt_cupti_blocks_return(piece->block);
		}
		piece->memory = NULL;
		if (round >= ROUNDS)
			continue;
		if (!gt_cupti_blocks_cut((1 + round % 40) * PAGE, PAGE, piece)) {
			piece->memory = NULL;
			c->refused++;
			sched_yield();
			continue;
		}
		words = (uint64_t *)(void *)piece->memory;
		for (size_t i = 0; i < piece->bytes / 8; i += 64) {
			c->wrong += words[i] != 0;
			words[i] = c->number;
		}
	}
	atomic_fetch_add(&cutters_done, 1);
	return NULL;
}

Test(cupti_blocks, many_threads_cut_and_return_while_one_reclaims)
{
	static struct cutter cutters[CUTTERS];
	struct gt_cupti_piece piece;
	uint32_t cut = 0;

	gt_cupti_blocks_start(BLOCK, COUNT);
	for (uint32_t i = 0; i < CUTTERS; i++) {
		cutters[i].number = i + 1;
		pthread_create(&cutters[i].thread, NULL, cut_pieces, &cutters[i]);
	}
	while (atomic_load(&cutters_done) < CUTTERS)
		if (gt_cupti_blocks_reclaim() < 2)
			gt_cupti_blocks_add();
	for (uint32_t i = 0; i < CUTTERS; i++) {
		pthread_join(cutters[i].thread, NULL);
		cr_assert_eq(cutters[i].wrong, 0);
		cut += ROUNDS - cutters[i].refused;
	}
	cr_assert_gt(cut, CUTTERS * HELD, "some were to be had");
	gt_cupti_blocks_reclaim();
	for (uint32_t i = 0; i < COUNT; i++)
		cr_assert(gt_cupti_blocks_cut(BLOCK, BLOCK, &piece), "all have come back, %u", i);
	cr_assert_not(gt_cupti_blocks_cut(PAGE, PAGE, &piece));
}

static uint32_t count_touched(const struct gt_cupti_piece *piece)
{
	unsigned char page[64];
	uint32_t n = 0;

	cr_assert_eq(mincore(piece->memory, piece->bytes, page), 0);
	for (size_t i = 0; i < piece->bytes / GT_CUPTI_PAGE_BYTES; i++)
		n += page[i] & 1;
	return n;
}

Test(cupti_blocks, those_of_the_start_are_touched_by_the_drain_thread)
{
	struct gt_cupti_piece piece;

	gt_cupti_blocks_start(64 * GT_CUPTI_PAGE_BYTES, 2);
	cr_assert(gt_cupti_blocks_add_untouched());
	cr_assert(gt_cupti_blocks_add_untouched());
	cr_assert_not(gt_cupti_blocks_add_untouched());
	cr_assert(gt_cupti_blocks_cut(64 * GT_CUPTI_PAGE_BYTES, 1, &piece));
	cr_assert_eq(count_touched(&piece), 0);
	memcpy(piece.memory, "record", 7);
	cr_assert_eq(gt_cupti_blocks_reclaim(), 1); /* the other one */
	cr_assert_str_eq((char *)piece.memory, "record");
	cr_assert_eq(piece.memory[7], 0);
	gt_cupti_blocks_return(piece.block);
	cr_assert(gt_cupti_blocks_cut(64 * GT_CUPTI_PAGE_BYTES, 1, &piece));
	cr_assert_eq(count_touched(&piece), 64);
}
