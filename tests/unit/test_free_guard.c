/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that free() leaves alone: before and after, twice, and while the allocator is used.
 */
#include "core/guest/free_guard.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES 65536u

/* The compiler must not know whose memory it is. */
static void (*volatile release)(void *) = free;
static void *(*volatile get)(size_t) = malloc;

static uint8_t *map(int how)
{
	uint8_t *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	return memory;
}

/* All of the block still has the value that was put there, and can be written. */
static bool is_whole(uint8_t *block, uint8_t value)
{
	for (size_t i = 0; i < BYTES - GT_FREE_GUARD_BYTES; i++) {
		if (block[i] != value)
			return false;
	}
	memset(block, value, BYTES - GT_FREE_GUARD_BYTES);
	return true;
}

static void free_it(int how)
{
	uint8_t *memory = map(how), *block = gt_free_guard(memory);

	cr_assert_eq(block, memory + GT_FREE_GUARD_BYTES);
	cr_assert_eq((uintptr_t)block % 16, 0);
	memset(block, 7, BYTES - GT_FREE_GUARD_BYTES);
	release(block);
	cr_assert(is_whole(block, 7));
	release(block);
	cr_assert(is_whole(block, 7), "once more");
	cr_assert_eq(munmap(memory, BYTES), 0);
}

Test(free_guard, private_memory_stays)
{
	free_it(MAP_PRIVATE);
}

Test(free_guard, shared_memory_stays)
{
	free_it(MAP_SHARED);
}

/* Whether a block of glibc has its own mapping, by the word before it. */
static bool is_mapped(const void *block)
{
	return ((const size_t *)block)[-1] & 2;
}

/* No size is given the block afterwards, and large ones are mapped as before. */
Test(free_guard, the_allocator_goes_on)
{
	uint8_t *block = gt_free_guard(map(MAP_PRIVATE));
	void *before = get((size_t)4 << 20), *after;

	cr_assert(is_mapped(before));
	release(block);
	after = get((size_t)4 << 20);
	cr_assert(is_mapped(after), "the threshold is what it was");
	release(before);
	release(after);
	for (size_t size = 1; size < (size_t)64 << 20; size *= 2) {
		uint8_t *other = get(size);

		cr_assert_not_null(other);
		cr_assert(other + size <= block || other >= block + BYTES, "%zu", size);
		memset(other, 1, size);
		release(other);
	}
}
