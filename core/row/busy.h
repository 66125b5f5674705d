/* SPDX-License-Identifier: Apache-2.0
 *
 * When a track is occupied: disjoint spans. CUPTI hands out a thread's records when it likes, so
 * work comes up to hundreds of ms after later work of its stream; what is remembered tells whether
 * it fits between the track's slices. In order a span costs a comparison and a store; a late one is
 * looked for from where the last late one went, as late ones come in order, too.
 *
 * Drain thread only; memory is bounded, and shared by all tracks of a table. What has been
 * forgotten counts as occupied.
 */
#ifndef GT_CORE_ROW_BUSY_H
#define GT_CORE_ROW_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/guest/memory.h"

/* ns for which a track at rest remembers: longer than records have been seen to be late. */
#define GT_BUSY_KEEP 2000000000u

struct gt_busy_piece;

/* What tracks remember with. Zeroed but for the arena. */
struct gt_busy_pool {
	struct gt_arena *arena;
	struct gt_busy_piece *free;
	uint32_t made;
	bool empty; /* a piece was asked for, and there was none */
};

/* What one track remembers. Zeroed: nothing stands on it. */
struct gt_busy {
	struct gt_busy_piece *first, *last;
	struct gt_busy_piece *late; /* where the last late span went */
	uint64_t known_from;        /* ns; what was there before is forgotten */
	uint32_t pieces;
};

/* The neighbours of a span, ns. */
struct gt_busy_gap {
	uint64_t end;   /* of the one before; 0: there is none */
	uint64_t start; /* of the one behind, UINT64_MAX: there is none */
};

/* Occupies the time from @start to @end ns (@end >= @start), if it is free. False: it is
 * not, or that is no longer known. */
bool gt_busy_add(struct gt_busy *busy, struct gt_busy_pool *pool, uint64_t start, uint64_t end,
		 struct gt_busy_gap *ret_gap);

/* What is before @time, ns, counts as occupied. */
void gt_busy_forget(struct gt_busy *busy, uint64_t time);

/* Gives back to the pool what ended before @time, ns. */
void gt_busy_trim(struct gt_busy *busy, struct gt_busy_pool *pool, uint64_t time);

#endif
