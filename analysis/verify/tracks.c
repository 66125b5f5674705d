/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of analysis/verify/verify.c that need many events: tracks, flows, operator ids. One
 * thread each (both.c).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/verify/state.h"
#include "core/json/flow_id.h"
#include "readers/show.h"

#define MAX_DEPTH  512
#define FEW_SLICES 8       /* that are looked through */
#define EARLIEST   1000000 /* ns that GPU work may start before its call: clocks are not perfect */

#define ORDER(a, b)                                                                                \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

static int by_name(const void *a, const void *b)
{
	const struct gt_verify_track *x = a, *y = b;

	ORDER(x->pid, y->pid);
	ORDER(x->tid, y->tid);
	return 0;
}

static int by_name_and_line(const void *a, const void *b)
{
	const struct gt_verify_track *x = a, *y = b;
	int order = by_name(a, b);

	if (!order)
		ORDER(x->line, y->line);
	return order;
}

/* Of tracks named more than once only the first name counts. */
static void sort_names(struct gt_verify *v)
{
	size_t kept = 0;

	if (v->named.count)
		qsort(v->named.at, v->named.count, sizeof(*v->named.at), by_name_and_line);
	for (size_t i = 0; i < v->named.count; i++)
		if (!i || by_name(&v->named.at[kept - 1], &v->named.at[i]))
			v->named.at[kept++] = v->named.at[i];
	v->named.count = kept;
}

static const struct gt_verify_track *name_of(const struct gt_verify *v, int64_t pid, int64_t tid)
{
	struct gt_verify_track track = {.pid = pid, .tid = tid};

	return v->named.count ? bsearch(&track, v->named.at, v->named.count, sizeof(track), by_name)
			      : NULL;
}

/* Of @slice, the first one of its track by time. */
static void check_track_name(struct gt_verify *v, const struct gt_verify_item *slice)
{
	const struct gt_verify_track *track = name_of(v, slice->pid, slice->tid);
	const struct gt_verify_track *process = name_of(v, slice->pid, GT_VERIFY_PROCESS);
	uint64_t first;

	if (gt_verify_is_gpu(slice->role) && !track && !v->reading.is_pftrace)
		gt_verify_find(v, GT_CHECK_TRACK_NAME, slice->line,
			       "track %" PRId64 " of GPU %" PRId64 " has no name", slice->tid,
			       slice->pid);
	if (!v->ours || (!track && !process))
		return;
	first = gt_verify_sorted_first_line(&v->lists[GT_VERIFY_BY_TRACK]);
	if (track && first < track->line)
		gt_verify_find(v, GT_CHECK_ORDER, first,
			       "slice of track %" PRId64 ", whose name comes later (line %" PRIu64
			       ")",
			       slice->tid, track->line);
	if (process && first < process->line)
		gt_verify_find(v, GT_CHECK_ORDER, first,
			       "slice of process %" PRId64 ", whose name comes later (line %" PRIu64
			       ")",
			       slice->pid, process->line);
}

static void check_nesting(struct gt_verify *v, const struct gt_verify_item *slice, int64_t *ends,
			  size_t *depth)
{
	int64_t end = slice->ts + slice->dur;

	while (*depth && ends[*depth - 1] <= slice->ts)
		--*depth;
	if (*depth && ends[*depth - 1] < end)
		gt_verify_find(v, GT_CHECK_OVERLAP, slice->line,
			       "slice begins %" PRId64
			       " ns before another of its track ends, and ends after it",
			       ends[*depth - 1] - slice->ts);
	if (*depth == MAX_DEPTH)
		gt_verify_find(v, GT_CHECK_DEPTH, slice->line,
			       "more than %d slices inside each other", MAX_DEPTH);
	else
		ends[(*depth)++] = end;
}

void gt_verify_tracks(struct gt_verify *v)
{
	struct gt_verify_sorted *slices = &v->lists[GT_VERIFY_BY_TRACK];
	const struct gt_verify_item *slice;
	int64_t ends[MAX_DEPTH], pid = 0, tid = 0;
	size_t depth = 0;

	sort_names(v);
	for (bool is_first = true; (slice = gt_verify_sorted_next(slices)); is_first = false) {
		if (is_first || slice->pid != pid || slice->tid != tid) {
			pid = slice->pid;
			tid = slice->tid;
			depth = 0;
			check_track_name(v, slice);
		}
		check_nesting(v, slice, ends, &depth);
	}
	gt_verify_sorted_fini(slices);
}

/* Slices and flow ends of one correlation id, the flows by their ids. */
struct tracks_group {
	GT_VEC(struct gt_verify_item) slices;
	GT_VEC(struct gt_verify_item) flows;
};

/* Where a flow begins or ends: the role of one is that of the other. */
static const struct gt_verify_item *look_through(const struct tracks_group *group,
						 const struct gt_verify_item *flow)
{
	for (size_t i = 0; i < group->slices.count; i++) {
		const struct gt_verify_item *slice = &group->slices.at[i];

		if (slice->pid == flow->pid && slice->tid == flow->tid && slice->ts == flow->ts &&
		    (slice->role == GT_VERIFY_CALL) == (flow->role == GT_VERIFY_FLOW_START))
			return slice;
	}
	return NULL;
}

static int by_site(const void *a, const void *b)
{
	const struct gt_verify_item *x = *(const struct gt_verify_item *const *)a;
	const struct gt_verify_item *y = *(const struct gt_verify_item *const *)b;

	ORDER(x->role == GT_VERIFY_CALL, y->role == GT_VERIFY_CALL);
	ORDER(x->pid, y->pid);
	ORDER(x->tid, y->tid);
	ORDER(x->ts, y->ts);
	return 0;
}

/* Of an id that many slices have: where they are, by place, else NULL. */
static const struct gt_verify_item **sort_sites(const struct tracks_group *group)
{
	size_t count = group->slices.count;
	const struct gt_verify_item **sites =
		count > FEW_SLICES && group->flows.count ? malloc(count * sizeof(*sites)) : NULL;

	for (size_t i = 0; sites && i < count; i++)
		sites[i] = &group->slices.at[i];
	if (sites)
		qsort(sites, count, sizeof(*sites), by_site);
	return sites;
}

static bool has_slice_at(const struct tracks_group *group, const struct gt_verify_item **sites,
			 const struct gt_verify_item *flow)
{
	return sites ? bsearch(&flow, sites, group->slices.count, sizeof(*sites), by_site)
		     : look_through(group, flow);
}

/* Starts and ends of one flow. */
static void check_ends(struct gt_verify *v, const struct gt_verify_item *flows, size_t count)
{
	size_t starts = 0, ends = 0;

	for (size_t i = 0; i < count; i++)
		*(flows[i].role == GT_VERIFY_FLOW_START ? &starts : &ends) += 1;
	if (starts > 1)
		gt_verify_find(v, GT_CHECK_FLOW, flows[1].line, "flow %" PRId64 " begins %zu times",
			       flows->id, starts);
	if (!starts || (!ends && !v->repaired))
		gt_verify_find(v, GT_CHECK_FLOW, flows->line, "flow %" PRId64 " has no %s",
			       flows->id, starts ? "end" : "beginning");
}

static void check_flows(struct gt_verify *v, const struct tracks_group *group)
{
	const struct gt_verify_item **sites = sort_sites(group);

	for (size_t i = 0; i < group->flows.count; i++) {
		const struct gt_verify_item *flow = &group->flows.at[i];

		if (!has_slice_at(group, sites, flow))
			gt_verify_find(
				v, GT_CHECK_FLOW, flow->line,
				flow->role == GT_VERIFY_FLOW_START
					? "flow %" PRId64 " begins where no call of this id is"
					: "flow %" PRId64 " ends where no GPU work of this id is",
				flow->id);
	}
	free(sites);
	for (size_t i = 0, end; i < group->flows.count; i = end) {
		for (end = i + 1; end < group->flows.count; end++)
			if (group->flows.at[end].id != group->flows.at[i].id)
				break;
		check_ends(v, &group->flows.at[i], end - i);
	}
}

/* Where memory was short, work was written before its call was known, or after it was forgotten;
 * the ledger counts it. */
static bool is_untied(struct gt_verify *v, size_t operations)
{
	if (!v->was_short || v->unlinked < (int64_t)operations)
		return false;
	v->unlinked -= (int64_t)operations;
	return true;
}

/* GPU work whose call is there needs a flow, and an end of it at each operation. */
static void check_calls(struct gt_verify *v, const struct tracks_group *group)
{
	const struct gt_verify_item *call = NULL;
	size_t calls = 0, ends = 0, operations = 0;

	for (size_t i = 0; i < group->flows.count; i++)
		ends += group->flows.at[i].role != GT_VERIFY_FLOW_START;
	for (size_t i = 0; i < group->slices.count; i++) {
		const struct gt_verify_item *slice = &group->slices.at[i];

		if (slice->role == GT_VERIFY_CALL) {
			call = call ? call : slice;
			if (++calls == 2)
				gt_verify_find(v, GT_CHECK_CORRELATION, slice->line,
					       "correlation %" PRId64 " has a second call",
					       slice->id);
			continue;
		}
		if (!gt_verify_is_gpu(slice->role) || slice->role == GT_VERIFY_SYNC)
			continue;
		operations++;
		if (call && slice->ts + EARLIEST < call->ts && !v->is_part && v->early-- <= 0)
			gt_verify_find(v, GT_CHECK_CLOCK, slice->line,
				       "GPU work starts %" PRId64 " ns before its call",
				       call->ts - slice->ts);
	}
	if (call && operations > ends && call->id > v->border && !v->repaired && !v->without_flow &&
	    !is_untied(v, operations - ends))
		gt_verify_find(v, GT_CHECK_FLOW, call->line,
			       "%zu GPU operation%s of correlation %" PRId64 " without a flow",
			       operations - ends, gt_plural(operations - ends), call->id);
}

/* CUPTI has given such records; the ledger must know of them. */
static void check_without_id(struct gt_verify *v, const struct gt_verify_item *slice)
{
	if (!v->is_part && v->unlinked-- <= 0)
		gt_verify_find(v, GT_CHECK_CORRELATION, slice->line,
			       "no correlation id of 1 or more");
}

/* Moves the slices and flows of the lowest id that is left into @group: from @slice and @flow on,
 * which are then the next ones. False: no memory. */
static bool take_group(struct gt_verify *v, struct tracks_group *group,
		       const struct gt_verify_item **slice, const struct gt_verify_item **flow)
{
	int64_t id = *slice ? (*slice)->id : INT64_MAX;

	if (*flow && gt_flow_id_call((*flow)->id) < id)
		id = gt_flow_id_call((*flow)->id);
	group->slices.count = group->flows.count = 0;
	for (; *slice && (*slice)->id == id;
	     *slice = gt_verify_sorted_next(&v->lists[GT_VERIFY_BY_CALL]))
		if (!gt_vec_push(&group->slices, **slice))
			return false;
	for (; *flow && gt_flow_id_call((*flow)->id) == id;
	     *flow = gt_verify_sorted_next(&v->lists[GT_VERIFY_FLOWS]))
		if (!gt_vec_push(&group->flows, **flow))
			return false;
	return true;
}

void gt_verify_flows(struct gt_verify *v)
{
	struct gt_verify_sorted *slices = &v->lists[GT_VERIFY_BY_CALL];
	const struct gt_verify_item *slice = gt_verify_sorted_next(slices);
	const struct gt_verify_item *flow = gt_verify_sorted_next(&v->lists[GT_VERIFY_FLOWS]);
	struct tracks_group group = {0};

	v->early = gt_verify_count(v, GT_LEDGER_GPU_BEFORE_LAUNCH);
	v->unlinked = gt_verify_count(v, GT_LEDGER_OPS_UNLINKED);
	v->was_short = gt_verify_count(v, GT_LEDGER_CORRELATION_EVICTED) ||
		       gt_verify_count(v, GT_LEDGER_EARLY_WORK);
	for (; slice && !slice->id; slice = gt_verify_sorted_next(slices))
		check_without_id(v, slice);
	while (slice || flow) {
		if (!take_group(v, &group, &slice, &flow)) {
			gt_verify_find(v, GT_CHECK_FLOW, 0, "out of memory");
			break;
		}
		check_flows(v, &group);
		check_calls(v, &group);
	}
	gt_vec_free(&group.slices);
	gt_vec_free(&group.flows);
}

void gt_verify_externals(struct gt_verify *v)
{
	struct gt_verify_sorted *externals = &v->lists[GT_VERIFY_EXTERNALS];
	const struct gt_verify_item *external = gt_verify_sorted_next(externals);
	size_t operators = 0;

	for (int64_t id = 0; external; external = gt_verify_sorted_next(externals)) {
		bool is_operator = external->role == GT_VERIFY_OPERATOR;

		if (external->id != id)
			operators = 0;
		id = external->id;
		operators += is_operator;
		if (is_operator && operators == 2)
			gt_verify_find(v, GT_CHECK_EXTERNAL_ID, external->line,
				       "a second operator with External id %" PRId64, id);
		if (!is_operator && !operators && !v->repaired && !v->is_part)
			gt_verify_find(v, GT_CHECK_EXTERNAL_ID, external->line,
				       "External id %" PRId64 " names no operator", id);
	}
}

static int by_stack(const void *a, const void *b)
{
	const struct gt_verify_stack *x = a, *y = b;

	ORDER(x->id, y->id);
	return 0;
}

void gt_verify_stacks(struct gt_verify *v)
{
	if (v->stacks.count)
		qsort(v->stacks.at, v->stacks.count, sizeof(*v->stacks.at), by_stack);
	for (size_t i = 0; i < v->stacks.count; i++) {
		const struct gt_verify_stack *stack = &v->stacks.at[i];

		if (!stack->has_frames)
			gt_verify_find(v, GT_CHECK_ORDER, stack->line,
				       "stack %" PRId64 " is used before its frames are defined",
				       stack->id);
	}
}
