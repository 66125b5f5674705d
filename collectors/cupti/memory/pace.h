/* SPDX-License-Identifier: Apache-2.0
 *
 * Size of the next activity buffer: what arrives in a quarter of a second. CUPTI keeps a buffer
 * with work in progress, even when flushed (gt_cupti_flush), and a busy GPU always has some: then
 * records arrive only when a buffer is full, which a large one delays.
 */
#ifndef GT_COLLECTORS_CUPTI_MEMORY_PACE_H
#define GT_COLLECTORS_CUPTI_MEMORY_PACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Rate of the records, from which the size of the next buffer follows. */
struct gt_cupti_pace {
	size_t least, most;   /* bytes */
	_Atomic size_t bytes; /* of the next buffer */
};

/* @most: bytes of the largest buffer. */
void gt_cupti_pace_start(struct gt_cupti_pace *pace, size_t most);

/* A buffer was returned with @valid bytes, @took ns after it was lent. Any thread. */
void gt_cupti_pace_note(struct gt_cupti_pace *pace, size_t valid, uint64_t took);

#endif
