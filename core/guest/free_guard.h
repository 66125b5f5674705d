/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of ours that glibc's free() leaves alone. A buffer that we lend to CUPTI may be handed to
 * another tool, and if that tool calls free() on it the program ends: "invalid pointer".
 *
 * glibc keeps two words before each block. For a block that malloc mapped they give the range that
 * free() unmaps. Ours describe zero bytes: munmap fails, glibc ignores that (its mallinfo counts
 * one mapping less), and the memory stays ours. No allocator is involved, and only free() reads the
 * words. To other allocators the block is a stray pointer, as without the words.
 */
#ifndef GT_CORE_GUEST_FREE_GUARD_H
#define GT_CORE_GUEST_FREE_GUARD_H

#define GT_FREE_GUARD_BYTES 16

/* Writes the words at @memory, the start of a page with at least that many bytes. Returns the
 * address after them, aligned to 16, which may be freed. Any thread. */
void *gt_free_guard(void *memory);

#endif
