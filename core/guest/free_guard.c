/* SPDX-License-Identifier: Apache-2.0
 *
 * The two words, see the header: struct malloc_chunk of glibc's malloc/malloc.c, from 2.17 to 2.42
 * and the coming 2.43. free() checks the flag of the second word, then unmaps
 *
 *   from   block - first word
 *   bytes  first word + second word without its flags, from 2.43 on 16 more
 *
 * after it has checked that both are whole pages. With minus SPAN for the first word that is SPAN
 * bytes after the block, and zero bytes. SPAN is above the largest size whose release changes the
 * allocator's thresholds (DEFAULT_MMAP_THRESHOLD_MAX, 32 MiB) and above any that 2.42 keeps for its
 * threads (4 MiB).
 */
#include "core/guest/free_guard.h"

#include <gnu/libc-version.h>
#include <stdint.h>
#include <string.h>

#define SPAN       ((size_t)64 << 20)
#define IS_MMAPPED 2u

_Static_assert(GT_FREE_GUARD_BYTES == 2 * sizeof(size_t), "two words");

/* Bytes that free() adds. Versions 2.17 to 2.99 compare as strings. */
static size_t added(void)
{
	return strncmp(gnu_get_libc_version(), "2.43", 4) < 0 ? 0 : GT_FREE_GUARD_BYTES;
}

void *gt_free_guard(void *memory)
{
	const size_t words[] = {(size_t)0 - SPAN, (SPAN - added()) | IS_MMAPPED};

	memcpy(memory, words, sizeof(words));
	return (char *)memory + sizeof(words);
}
