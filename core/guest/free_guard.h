/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of ours that free() of glibc leaves alone. What we lend to CUPTI may be given to another
 * tool, and one that calls free() on all it is given would end the program: "invalid pointer".
 *
 * In front of each block glibc keeps two words. Those of a block that it has mapped by itself tell
 * free() what to unmap. Here they tell it to unmap zero bytes: the kernel refuses that, glibc does
 * not mind (its mallinfo counts one mapping less), and the memory stays as it is and ours. Nothing
 * is asked of an allocator, and nothing reads the words unless somebody frees. Other allocators
 * look elsewhere; to them it is a stray pointer, as without.
 */
#ifndef GT_CORE_GUEST_FREE_GUARD_H
#define GT_CORE_GUEST_FREE_GUARD_H

#define GT_FREE_GUARD_BYTES 16

/* Writes the words at @memory, the start of a page with at least so many bytes, and returns the
 * address behind them, aligned to 16: the one that may be freed. Any thread. */
void *gt_free_guard(void *memory);

#endif
