/* SPDX-License-Identifier: Apache-2.0
 *
 * How large the next activity buffer should be: as much as comes in a moment. CUPTI keeps a buffer
 * with work that is under way, even when flushed (gt_cupti_flush), and on a busy GPU there is
 * always some: then records come when a buffer is full, and a large one would keep them for long.
 */
#ifndef GT_COLLECTORS_CUPTI_PACE_H
#define GT_COLLECTORS_CUPTI_PACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* How fast records arrive, from which the size of the next buffer follows. */
struct gt_cupti_pace {
	size_t least, most;   /* bytes */
	_Atomic size_t bytes; /* of the next one */
};

/* @most: bytes of the largest one. */
void gt_cupti_pace_start(struct gt_cupti_pace *pace, size_t most);

/* A buffer came back with @valid bytes, @took ns after it was given out. Any thread. */
void gt_cupti_pace_note(struct gt_cupti_pace *pace, size_t valid, uint64_t took);

#endif
