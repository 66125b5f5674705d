/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins a GPU operation to the call that asked for it, by correlation id. Calls are put when they
 * have returned, operations ask in any order later. Bounded: ids are given out in sequence, so an
 * entry lives at (id modulo size) until a much later id needs the place.
 * Drain thread only.
 */
#ifndef GT_CORE_CORRELATE_H
#define GT_CORE_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"

struct gt_correlate;

/* @max_entries: power of two; the table grows up to it (64 bytes an entry). NULL: no memory. */
struct gt_correlate *gt_correlate_new(uint32_t max_entries);
void gt_correlate_free(struct gt_correlate *table);

/* Remembers the call @correlation. @many: it may start more than one operation (graph launch).
 * @expects: it starts GPU work, so that one without any is counted in flight at the end. */
void gt_correlate_put(struct gt_correlate *table, uint32_t correlation,
		      const struct gt_launch *launch, bool expects, bool many);

/* The call of an operation: fills @ret_launch (known, first, ...). False when it is not there. */
bool gt_correlate_take(struct gt_correlate *table, uint32_t correlation,
		       struct gt_launch *ret_launch);

/* For recovery: a call as a spool's table has it; its pointers are addresses in the spool. */
struct gt_correlate_call {
	uint32_t correlation, operations;
	bool expects, many;
	struct gt_launch launch;
};

struct gt_spool_view;
/* Calls @found for each open launch in a spool. */
void gt_correlate_each(const struct gt_spool_view *view,
		       void (*found)(void *context, const struct gt_correlate_call *call),
		       void *context);
/* Nothing that stood in the spool's table is forgotten for another of its calls. */
void gt_correlate_restore(struct gt_correlate *table, const struct gt_correlate_call *call);

/* Counters of the table. */
struct gt_correlate_counts {
	uint64_t evicted;   /* calls that may have had operations to come, forgotten for room */
	uint64_t in_flight; /* expecting calls that got no operation */
};

/* Counts so far, entries still in the table included. */
struct gt_correlate_counts gt_correlate_count(const struct gt_correlate *table);

#endif
