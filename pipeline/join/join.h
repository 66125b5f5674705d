/* SPDX-License-Identifier: Apache-2.0
 *
 * The join of calls and GPU work by correlation id. On the way it hands both to the ranges, and
 * behind them to the outlet. Drain thread.
 */
#ifndef GT_PIPELINE_JOIN_JOIN_H
#define GT_PIPELINE_JOIN_JOIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/correlate.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "pipeline/join/in_flight.h"
#include "pipeline/join/loadings.h"
#include "pipeline/join/origins.h"
#include "pipeline/join/ties.h"
#include "pipeline/join/unanswered.h"
#include "pipeline/output/outlet.h"
#include "pipeline/output/waiting.h"
#include "pipeline/ranges/ranges.h"

#define GT_CALL_JOIN_STRAYS 1024u /* power of two */

/* Calls, and records that wait for theirs. Given: the first five. */
struct gt_call_join {
	struct gt_ranges *ranges;
	struct gt_outlet *outlet;
	struct gt_ledger *ledger;
	const struct gt_origins *origins;
	const _Atomic bool *has_cupti; /* records of GPU work come */
	struct gt_correlate *calls;
	uint32_t room;              /* launches that may wait before records are read first */
	bool has_calls;             /* false: no record waits for one */
	struct gt_waiting unlinked; /* records whose call has not returned yet */
	struct gt_waiting loadings; /* records of loading whose kernel has not come yet */
	uint64_t moves; /* changes when there may be another record at a gt_call_join_waiting_key */
	struct gt_ties ties;
	struct gt_unanswered unanswered;
	struct gt_in_flight flight;
	uint64_t unexpected;    /* launches that no record can be joined to */
	bool leaves_out_graphs; /* --graphs=off: records of whole graphs are only counted */
	bool in_gap;       /* records of launches go to another tool: pipeline/sources/coexist.h */
	uint64_t gap_from; /* trace ns: not those of earlier launches; 0: not known since when */
	uint64_t given_up; /* launches of lost calls of whose work no record is awaited any more */
	uint64_t found_before; /* recovery: GT_LEDGER_LAUNCHES_UNLINKED of the dead process */
	/* ids of lost calls whose work has come, by their low bits: a call may start more of it */
	uint32_t strays[GT_CALL_JOIN_STRAYS];
	/* correlation ids: the largest one of a call before the window, the smallest one of a call
	 * behind it; 0: there was none */
	uint32_t last_passed, first_behind;
	bool has_lost; /* calls that started work: behind the window's end a record may be theirs */
};

/* What is known of a finished call. */
struct gt_call_effect {
	bool expects;       /* it started GPU work */
	bool many;          /* perhaps more than one operation */
	bool kernels;       /* of kernels */
	bool waits;         /* it returned when earlier GPU work had ended */
	bool waits_for_all; /* ... of the whole device */
	bool own_id;        /* its correlation id is not CUPTI's */
	bool left_out;      /* it is not written, by a filter */
	bool host_function; /* it put a function of the host into a stream */
	bool is_query;      /* it only asks, as cudaEventQuery: no progress of the program */
	struct gt_correlate_aim aim;
};

/* Makes all but what is given. @has_calls: calls are recorded, so that GPU operations wait for
 * theirs. @max_calls: power of two, calls that may wait for their work. -ENOMEM. */
int gt_call_join_init(struct gt_call_join *join, bool has_calls, uint32_t max_calls);

/* Far fewer launches wait for their work than may. */
bool gt_call_join_has_room(const struct gt_call_join *join);

/* Also of a zeroed struct. */
void gt_call_join_fini(struct gt_call_join *join);

/* A finished call; @event gets what is known of its surroundings. */
void gt_call_join_call(struct gt_call_join *join, struct gt_event *event,
		       const struct gt_call_effect *what);

/* The same for a call before the window: it is not written, nor is its GPU work awaited; what comes
 * of it all the same is known. */
void gt_call_join_call_outside(struct gt_call_join *join, const struct gt_event *event,
			       const struct gt_call_effect *what);

/* The same in a step that --max-overhead leaves out: what it starts is counted when it comes. */
void gt_call_join_call_governed(struct gt_call_join *join, const struct gt_event *event,
				const struct gt_call_effect *what);

/* What became of one of CUPTI's records. What is of no call goes its way at once. @event gets its
 * call: copying it would cost as much as all else here. */
void gt_call_join_record(struct gt_call_join *join, struct gt_event *event);

/* Joins what waited for its call; @all: writes what still has none (the end). */
void gt_call_join_settle(struct gt_call_join *join, bool all);

/* Records that wait. */
uint64_t gt_call_join_waiting(const struct gt_call_join *join);

/* gt_waiting_key of one of them; @join: struct gt_call_join. */
uint64_t gt_call_join_waiting_key(const void *join, uint64_t index);

/* Recovery: a record that waited, by its key, and that is gone with its buffer. Its call is not in
 * flight. */
void gt_call_join_gone(struct gt_call_join *join, uint64_t key);

/* Writes all that waits: its records leave the spool. */
void gt_call_join_spill(struct gt_call_join *join);

/* The file ends and the program goes on: no record is awaited any more. @without: as it was counted
 * a moment ago (GT_LEDGER_OPS_IN_FLIGHT). Returns how many of these launches might have got one. */
uint64_t gt_call_join_give_up(struct gt_call_join *join, uint64_t without);

/* Of @lost launches whose call was lost, and those that the table of calls does not list any more,
 * those that no record has come of: at least, where there is work without a call for other reasons.
 */
uint64_t gt_call_join_lost(const struct gt_call_join *join, uint64_t lost);

/* Launches that a record may still come of. */
uint64_t gt_call_join_in_flight(const struct gt_call_join *join);

/* How long before now, in ns, a record that waits may have been read; 0: none waits. */
uint64_t gt_call_join_longest_wait(const struct gt_call_join *join);

#endif
