/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins a GPU operation to the call that started it, by correlation id. Calls are stored when they
 * return; operations look them up later, in any order. Bounded: ids are sequential, so an entry
 * lives at (id modulo size) until a much later id needs the slot. Whoever is evicted while it waits
 * is remembered by a bit, so that its operations are known to be late, not foreign.
 *
 * Drain thread only.
 */
#ifndef GT_CORE_CORRELATE_H
#define GT_CORE_CORRELATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"

struct gt_correlate;

/* Which call it was, and where it sent its work. */
struct gt_correlate_aim {
	uint64_t stream, symbol; /* as in struct gt_call_record */
	uint16_t context, cbid;
	uint8_t domain;
	bool aimed; /* stream, symbol, context are known */
};

/* @max_entries: power of two; the table grows up to it (88 bytes an entry). NULL: no memory. */
struct gt_correlate *gt_correlate_new(uint32_t max_entries);
void gt_correlate_free(struct gt_correlate *table);

/* Stores the call @correlation. @many: it may start more than one operation (graph launch).
 * @expects: it starts GPU work, so it counts as in flight while no operation arrived. Returns how
 * many of its operations were early: they came. */
uint32_t gt_correlate_put(struct gt_correlate *table, uint32_t correlation,
			  const struct gt_launch *launch, bool expects, bool many);

/* An operation does not wait for its call, which may be lost, or still come: gt_correlate_put
 * tells. False: there is no room for it. */
bool gt_correlate_early(struct gt_correlate *table, uint32_t correlation);

/* Remembers this of the call that was stored last. */
void gt_correlate_aim(struct gt_correlate *table, uint32_t correlation,
		      const struct gt_correlate_aim *aim);

/* The same of a call in the table. False: it is not there. */
bool gt_correlate_aim_of(const struct gt_correlate *table, uint32_t correlation,
			 struct gt_correlate_aim *ret_aim);

/* What the table knows of a call. */
enum gt_correlate_found {
	GT_CORRELATE_UNKNOWN, /* it has not returned yet, or was never stored */
	GT_CORRELATE_KNOWN,
	GT_CORRELATE_EVICTED, /* it was stored, and is forgotten */
};

/* Looks up the call of an operation and counts the operation; fills @ret_launch (known, first,
 * ...) if it is known. */
enum gt_correlate_found gt_correlate_match(struct gt_correlate *table, uint32_t correlation,
					   struct gt_launch *ret_launch);

/* For recovery: a call in a spool's table; its pointers are addresses in the spool. */
struct gt_correlate_call {
	uint32_t correlation, operations;
	bool expects, many;
	struct gt_launch launch;
	struct gt_correlate_aim aim;
};

struct gt_spool_view;
/* For recovery: calls @found for each call in a spool's table. */
void gt_correlate_each(const struct gt_spool_view *view,
		       void (*found)(void *context, const struct gt_correlate_call *call),
		       void *context);
/* For recovery: stores a call of the spool. The table grows rather than evict another of them. */
void gt_correlate_restore(struct gt_correlate *table, const struct gt_correlate_call *call);

/* How many calls an operation came of that were in flight until then. */
struct gt_correlate_answers {
	uint64_t listed, evicted; /* in the table, and not any more */
};

/* So far. */
struct gt_correlate_answers gt_correlate_answered(const struct gt_correlate *table);

/* The calls that were stored so far leave their rings: recovery has them no more than once. */
void gt_correlate_leave_rings(struct gt_correlate *table);

/* For recovery: takes over what a spool's table has evicted, and what of it is not in the spool.
 * @counted: as of the operations that do not come again; of others calls are in flight. */
void gt_correlate_inherit(struct gt_correlate *table, const struct gt_spool_view *view,
			  const struct gt_correlate_answers *counted);

/* A call whose work may be under way. */
struct gt_correlate_waiting {
	uint32_t operations; /* that came; 0 unless it is one of many */
	bool many;
	const struct gt_launch *launch;
	struct gt_correlate_aim aim;
};

/* Calls @found for each call that no operation came of, and each that may start many. */
void gt_correlate_each_waiting(const struct gt_correlate *table,
			       void (*found)(void *context,
					     const struct gt_correlate_waiting *call),
			       void *context);

/* Counters of the table. */
struct gt_correlate_counts {
	uint64_t evicted;   /* calls evicted before their first operation */
	uint64_t in_flight; /* calls with GPU work that got no operation, evicted or not */
	/* the same, but no longer known by their ids: no memory for the bits of evicted ones, or,
	 * in recovery, not in the spool. Operations of theirs are of unknown calls */
	uint64_t unlisted;
};

/* No operation is awaited any more: what still comes is of a known call. Returns how many calls
 * were in flight. */
uint64_t gt_correlate_give_up(struct gt_correlate *table);

/* Counts so far. */
struct gt_correlate_counts gt_correlate_count(const struct gt_correlate *table);

#endif
