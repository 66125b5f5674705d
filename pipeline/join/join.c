/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/join/join.h"

#include <errno.h>
#include <string.h>

#include "core/guest/clock.h"
#include "core/schema/metadata.h"

/* How long a record waits for its call to return before it is written without. Counted from its
 * arrival: its stamps may be of any time. */
#define UNLINKED_NS      (5ull * 1000000000u)

/* A GPU slice that starts this long before its call means that the clocks disagree. */
#define BEFORE_LAUNCH_NS 1000000u

int gt_call_join_init(struct gt_call_join *join, bool has_calls, uint32_t max_calls)
{
	join->has_calls = has_calls;
	join->room = max_calls / 16;
	join->calls = gt_correlate_new(max_calls);
	return join->calls ? 0 : -ENOMEM;
}

bool gt_call_join_has_room(const struct gt_call_join *join)
{
	return gt_correlate_count(join->calls).in_flight < join->room;
}

void gt_call_join_fini(struct gt_call_join *join)
{
	gt_correlate_free(join->calls);
	gt_waiting_free(&join->unlinked);
	gt_waiting_free(&join->loadings);
	gt_ties_free(&join->ties);
	*join = (struct gt_call_join){0};
}

static void count_launch(struct gt_call_join *join, const struct gt_event *event,
			 const struct gt_call_effect *what)
{
	bool in_gap = join->in_gap && event->start >= join->gap_from;

	gt_ledger_add(join->ledger, GT_LEDGER_LAUNCHES_SEEN, 1);
	gt_ledger_add(join->ledger, GT_LEDGER_LAUNCHES_IN_GAPS, in_gap);
	join->unexpected += what->own_id;
}

/* Its work that came before it was written as that of a lost call, which it is not. Returns how
 * much. */
static uint32_t put_launch(struct gt_call_join *join, const struct gt_event *event,
			   const struct gt_call_effect *what, const struct gt_launch *launch,
			   bool expects)
{
	uint64_t *found = &join->ledger->count[GT_LEDGER_LAUNCHES_UNLINKED];
	uint32_t early =
		gt_correlate_put(join->calls, event->correlation, launch, expects, what->many);

	if (early && what->expects && *found + join->found_before)
		--*found;
	return early;
}

/* What records of its work are joined to. */
static void put_call(struct gt_call_join *join, const struct gt_event *event,
		     const struct gt_call_effect *what, const struct gt_launch *launch)
{
	if (what->own_id)
		return;
	gt_ledger_add(join->ledger, GT_LEDGER_EARLY_WORK,
		      put_launch(join, event, what, launch, what->expects));
	if (what->expects)
		gt_correlate_aim(join->calls, event->correlation, &what->aim);
}

static void see_call(struct gt_call_join *join, const struct gt_event *event,
		     const struct gt_call_effect *what)
{
	if (what->expects)
		count_launch(join, event, what);
	gt_unanswered_call(&join->unanswered, event, what);
	gt_in_flight_call(&join->flight, event, what);
}

void gt_call_join_call(struct gt_call_join *join, struct gt_event *event,
		       const struct gt_call_effect *what)
{
	struct gt_launch launch = {.tid = event->tid,
				   .start = event->start,
				   .stack = event->stack,
				   .left_out = what->left_out};

	see_call(join, event, what);
	gt_ranges_launch(join->ranges, &launch, what->expects, *join->has_cupti);
	put_call(join, event, what, &launch);
	event->api.op = launch.op;
	if (!what->left_out)
		gt_outlet_event(join->outlet, event);
}

void gt_call_join_call_governed(struct gt_call_join *join, const struct gt_event *event,
				const struct gt_call_effect *what)
{
	struct gt_launch launch = {.tid = event->tid, .start = event->start, .governed = true};

	see_call(join, event, what);
	put_call(join, event, what, &launch);
}

void gt_call_join_call_outside(struct gt_call_join *join, const struct gt_event *event,
			       const struct gt_call_effect *what)
{
	struct gt_launch launch = {.tid = event->tid, .stack = event->stack};

	gt_in_flight_call(&join->flight, event, what);
	if (!what->own_id)
		put_launch(join, event, what, &launch, false);
}

/* The time of a note is not that of the work. */
static bool is_behind(const struct gt_call_join *join, const struct gt_event *event)
{
	uint64_t window_end = join->outlet->metadata->window_end;

	return window_end && gt_event_is_gpu(event->kind) && event->start >= window_end;
}

/* Its call came before or behind the window: CUPTI's ids grow. Which call was the first one behind
 * is known a moment late; where none was lost, there is no other one that work can be of. */
static bool is_of_passed(const struct gt_call_join *join, const struct gt_event *event)
{
	uint32_t id = event->correlation;

	if (join->outlet->metadata->window_end && !join->has_lost)
		return id != 0;
	return id && (id <= join->last_passed || (join->first_behind && id >= join->first_behind) ||
		      is_behind(join, event));
}

/* At the edges of a window its call is not recorded, nor is one that only asks: CUPTI has a record
 * of synchronization for cudaEventQuery, too. */
static void count_unlinked(struct gt_call_join *join, const struct gt_event *event)
{
	if (event->kind == GT_EVENT_SYNC && event->correlation)
		return;
	gt_ledger_add(join->ledger,
		      is_of_passed(join, event) ? GT_LEDGER_OPS_OUTSIDE : GT_LEDGER_OPS_UNLINKED,
		      1);
}

/* Counted when it arrives: it may wait for its call when the process is killed, and has no event.
 */
static bool is_unwanted(const struct gt_call_join *join, const struct gt_event *event)
{
	return event->kind == GT_EVENT_GRAPH && join->leaves_out_graphs;
}

/* Its call is none of the window's, as far as it is known. */
static bool is_launched_outside(const struct gt_call_join *join, const struct gt_event *event,
				enum gt_correlate_found found)
{
	if (found == GT_CORRELATE_UNKNOWN)
		return is_of_passed(join, event);
	return found == GT_CORRELATE_KNOWN &&
	       event->launch.start < join->outlet->metadata->window_begin;
}

/* Work that has no times because it was not done when the window ended, and that was launched
 * outside of it: no loss. It was counted when it arrived. */
static bool leave_out_untimed(struct gt_call_join *join, const struct gt_event *event,
			      enum gt_correlate_found found)
{
	const struct gt_ledger_kind *kind =
		event->kind == GT_EVENT_NOTE ? gt_ledger_untimed_kind(event) : NULL;

	if (!kind || !is_launched_outside(join, event, found))
		return false;
	join->ledger->count[kind->untimed]--;
	join->ledger->count[kind->left_out[0]]++;
	if (event->note.what && !strcmp(event->note.what, GT_NOTE_IN_PROGRESS))
		join->ledger->count[GT_LEDGER_RECORDS_UNFINISHED]--;
	return true;
}

/* Work that was neither launched nor done in the window. */
static bool is_outside_window(const struct gt_call_join *join, const struct gt_event *event,
			      bool linked)
{
	const struct gt_metadata *metadata = join->outlet->metadata;

	if (!gt_event_is_gpu(event->kind))
		return false;
	if (linked && event->launch.start && event->launch.start >= metadata->window_begin)
		return false;
	return event->end <= metadata->window_begin ||
	       (metadata->window_end && event->start >= metadata->window_end);
}

static void leave_out(struct gt_call_join *join, enum gt_event_kind kind)
{
	static const enum gt_ledger_key keys[GT_EVENT_COUNT_] = {
		[GT_EVENT_KERNEL] = GT_LEDGER_KERNELS_OUTSIDE,
		[GT_EVENT_MEMCPY] = GT_LEDGER_MEMCPYS_OUTSIDE,
		[GT_EVENT_MEMSET] = GT_LEDGER_MEMSETS_OUTSIDE,
		[GT_EVENT_GRAPH] = GT_LEDGER_GRAPHS_LEFT_OUT,
	};

	if (keys[kind])
		gt_ledger_add(join->ledger, keys[kind], 1);
}

/* Of a step that --max-overhead leaves out. */
static bool is_governed(struct gt_call_join *join, const struct gt_event *event, bool linked)
{
	static const enum gt_ledger_key keys[GT_EVENT_COUNT_] = {
		[GT_EVENT_KERNEL] = GT_LEDGER_KERNELS_GOVERNED,
		[GT_EVENT_MEMCPY] = GT_LEDGER_MEMCPYS_GOVERNED,
		[GT_EVENT_MEMSET] = GT_LEDGER_MEMSETS_GOVERNED,
		[GT_EVENT_GRAPH] = GT_LEDGER_GRAPHS_GOVERNED,
		[GT_EVENT_SYNC] = GT_LEDGER_SYNCS_GOVERNED,
	};

	if (!linked || !event->launch.governed || !keys[event->kind])
		return false;
	gt_ledger_add(join->ledger, keys[event->kind], 1);
	return true;
}

/* The call is not in this file: it is filtered, or of the window before. */
static bool has_no_slice(const struct gt_call_join *join, const struct gt_launch *launch)
{
	return launch->left_out || launch->start < join->outlet->metadata->window_begin;
}

/* Its call was lost, as far as is known. */
static bool is_of_lost(const struct gt_call_join *join, const struct gt_event *event)
{
	return join->has_calls && event->kind != GT_EVENT_SYNC && event->correlation &&
	       !is_of_passed(join, event);
}

/* Once for each call, whatever it has started, unless that of very many is mixed. */
static void count_stray(struct gt_call_join *join, const struct gt_event *event)
{
	uint32_t *seen = &join->strays[event->correlation % GT_CALL_JOIN_STRAYS];

	if (!is_of_lost(join, event) || *seen == event->correlation)
		return;
	*seen = event->correlation;
	gt_ledger_add(join->ledger, GT_LEDGER_LAUNCHES_UNLINKED, 1);
}

static void write_record(struct gt_call_join *join, struct gt_event *event,
			 enum gt_correlate_found found)
{
	bool linked = found == GT_CORRELATE_KNOWN;

	if (linked && gt_event_is_gpu(event->kind))
		gt_in_flight_linked(&join->flight, event, join->calls);
	if (found == GT_CORRELATE_UNKNOWN)
		count_stray(join, event);
	if (is_unwanted(join, event) || leave_out_untimed(join, event, found))
		return;
	if (is_outside_window(join, event, linked)) {
		leave_out(join, event->kind);
		return;
	}
	if (is_governed(join, event, linked))
		return;
	if (!gt_event_is_gpu(event->kind)) { /* work without times: when it was launched is known */
		if (linked && event->launch.start)
			event->start = event->end = event->launch.start;
		gt_outlet_event(join->outlet, event);
		return;
	}
	if (gt_outlet_leaves_out(join->outlet, event)) {
		gt_ranges_left_out(join->ranges, event);
		return;
	}
	if (found == GT_CORRELATE_UNKNOWN)
		count_unlinked(join, event);
	else if (linked && event->start + BEFORE_LAUNCH_NS < event->launch.start)
		gt_ledger_add(join->ledger, GT_LEDGER_GPU_BEFORE_LAUNCH, 1);
	gt_origins_fill(join->origins, event);
	if (linked)
		gt_ranges_operation(join->ranges, event);
	if (has_no_slice(join, &event->launch))
		event->launch.start = 0;
	gt_outlet_event(join->outlet, event);
}

/* Another tool's id becomes ours, which may be known only when the call has returned. */
static enum gt_correlate_found link_launch(struct gt_call_join *join, struct gt_event *event)
{
	event->correlation = gt_ties_find(&join->ties, event->correlation);
	return gt_correlate_match(join->calls, event->correlation, &event->launch);
}

/* Its call was not found. It counts as early if that comes; where it was lost that is the cause. */
static void write_early(struct gt_call_join *join, struct gt_event *event)
{
	gt_ledger_add(join->ledger, GT_LEDGER_EARLY_WORK,
		      !gt_correlate_early(join->calls, event->correlation));
	write_record(join, event, GT_CORRELATE_UNKNOWN);
}

/* A record of GPU work; one without usable times is a note. */
static bool is_of_call(const struct gt_event *event)
{
	return gt_event_is_gpu(event->kind) || event->kind == GT_EVENT_NOTE;
}

void gt_call_join_record(struct gt_call_join *join, struct gt_event *event)
{
	uint32_t id = event->correlation; /* as long as its call is not known */
	enum gt_correlate_found found;

	if (!is_of_call(event)) {
		if (gt_loadings_hold(&join->loadings, event))
			join->moves++;
		else
			gt_outlet_event(join->outlet, event);
		return;
	}
	if (join->loadings.count) {
		join->moves++;
		gt_loadings_see(&join->loadings, event, join->outlet);
	}
	if (is_unwanted(join, event))
		leave_out(join, event->kind);
	gt_unanswered_record(&join->unanswered);
	found = link_launch(join, event);
	gt_in_flight_record(&join->flight);
	if (found != GT_CORRELATE_UNKNOWN || !id || !join->has_calls) {
		write_record(join, event, found);
		return;
	}
	event->correlation = id;
	if (!gt_waiting_push(&join->unlinked, event)) {
		event->correlation = gt_ties_find(&join->ties, id);
		write_early(join, event);
	}
}

uint64_t gt_call_join_waiting(const struct gt_call_join *join)
{
	return join->unlinked.count + join->loadings.count;
}

uint64_t gt_call_join_waiting_key(const void *context, uint64_t index)
{
	const struct gt_call_join *join = context;
	uint64_t first = join->unlinked.count;

	return gt_waiting_key(index < first ? &join->unlinked.events[index].event
					    : &join->loadings.events[index - first].event);
}

void gt_call_join_gone(struct gt_call_join *join, uint64_t key)
{
	struct gt_event event = {.kind = gt_waiting_key_kind(key),
				 .correlation = gt_waiting_key_correlation(key)};

	if (gt_waiting_key_is_plain(key) && is_of_call(&event) &&
	    link_launch(join, &event) == GT_CORRELATE_UNKNOWN)
		count_stray(join, &event);
}

void gt_call_join_spill(struct gt_call_join *join)
{
	struct gt_waiting *waiting = &join->unlinked;

	join->moves++;
	for (size_t i = 0; i < waiting->count; i++) {
		struct gt_event *event = &waiting->events[i].event;
		enum gt_correlate_found found = link_launch(join, event);

		if (found == GT_CORRELATE_UNKNOWN)
			write_early(join, event);
		else
			write_record(join, event, found);
	}
	waiting->count = 0;
	gt_loadings_settle(&join->loadings, UINT64_MAX, join->outlet);
}

void gt_call_join_settle(struct gt_call_join *join, bool all)
{
	struct gt_waiting *waiting = &join->unlinked;
	uint64_t now = gt_call_join_waiting(join) ? gt_clock_now() : 0;
	size_t kept = 0;

	join->moves++;
	for (size_t i = 0; i < waiting->count; i++) {
		struct gt_waiting_event *record = &waiting->events[i];
		enum gt_correlate_found found = link_launch(join, &record->event);

		if (found != GT_CORRELATE_UNKNOWN || all)
			write_record(join, &record->event, found);
		else if (record->since + UNLINKED_NS < now)
			write_early(join, &record->event);
		else if (kept++ != i) /* they are large, and most stay where they are */
			waiting->events[kept - 1] = *record;
	}
	waiting->count = kept;
	if (join->loadings.count)
		gt_loadings_settle(&join->loadings, all ? UINT64_MAX : now - UNLINKED_NS,
				   join->outlet);
}

uint64_t gt_call_join_lost(const struct gt_call_join *join, uint64_t lost)
{
	uint64_t unknown = lost + gt_correlate_count(join->calls).unlisted;
	uint64_t settled = join->ledger->count[GT_LEDGER_LAUNCHES_UNLINKED] + join->given_up;
	int64_t rest = (int64_t)(unknown - settled);

	return rest > 0 ? (uint64_t)rest : 0;
}

uint64_t gt_call_join_give_up(struct gt_call_join *join, uint64_t without)
{
	uint64_t awaited = without - join->unexpected;

	gt_unanswered_record(&join->unanswered);
	join->given_up += awaited - gt_correlate_give_up(join->calls);
	return awaited;
}

uint64_t gt_call_join_in_flight(const struct gt_call_join *join)
{
	return gt_correlate_count(join->calls).in_flight;
}

uint64_t gt_call_join_longest_wait(const struct gt_call_join *join)
{
	/* until the next round settles it */
	return gt_call_join_waiting(join) ? UNLINKED_NS + UNLINKED_NS / 5 : 0;
}
