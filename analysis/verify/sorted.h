/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices, ends of flows and ids of operators, put in while a file is read, taken out in another
 * order. They may come in any order and there may be more than fit in memory as they are, so a few
 * thousand at a time are sorted and packed: of each what differs from one before it, 5 to 8 bytes
 * instead of 56. These runs are merged as they are unpacked. One thread.
 */
#ifndef GT_ANALYSIS_VERIFY_SORTED_H
#define GT_ANALYSIS_VERIFY_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/vec.h"

/* What checks of several events need of one. */
struct gt_verify_item {
	int64_t pid, tid, ts, dur;
	int64_t id;    /* correlation id of a slice; of a flow its own; External id */
	uint64_t line; /* of a .pftrace: number of the event */
	uint32_t role; /* below 16 */
};

/* An order, and what there is in its items; without it, that is 0. */
struct gt_verify_order {
	int (*compare)(const struct gt_verify_item *a, const struct gt_verify_item *b);
	bool with_dur, with_id;
	bool by_track; /* first by pid and tid */
};

struct gt_verify_block; /* packed items */
struct gt_verify_run;

/* A list; before its first item all of it but the order is zero. */
struct gt_verify_sorted {
	const struct gt_verify_order *order;
	GT_VEC(struct gt_verify_item) items;   /* not packed yet */
	const struct gt_verify_item **places;  /* of them, twice: to sort */
	struct gt_verify_block *blocks, *last; /* in the order of the runs */
	GT_VEC(struct gt_verify_run) runs;     /* in the order of the file */
	GT_VEC(struct gt_verify_run *) heap;   /* runs with items left, the next item first */
	size_t second;                         /* behind the first of the heap; 0: none */
	bool is_taken;                         /* the first of the heap */
};

/* Takes a copy of @item. 0 or -ENOMEM. */
int gt_verify_sorted_add(struct gt_verify_sorted *sorted, const struct gt_verify_item *item);

/* Behind the last item. 0 or -ENOMEM. */
int gt_verify_sorted_end(struct gt_verify_sorted *sorted);

/* The next item in order, until the next call; of equal ones the first that was added. NULL: that
 * was all. */
const struct gt_verify_item *gt_verify_sorted_next(struct gt_verify_sorted *sorted);

/* Where the track begins in the file whose first item was taken just now. For an order by tracks,
 * of items that were added by ascending lines. */
uint64_t gt_verify_sorted_first_line(const struct gt_verify_sorted *sorted);

/* Frees all. Also of a zeroed struct. */
void gt_verify_sorted_fini(struct gt_verify_sorted *sorted);

#endif
