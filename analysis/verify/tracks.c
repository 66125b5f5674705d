/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of analysis/verify/verify.c that need many events: tracks, flows, operator ids. One
 * thread.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verify/state.h"
#include "readers/show.h"

#define MAX_DEPTH  512
#define FEW_SLICES 8       /* that are looked through */
#define EARLIEST   1000000 /* ns that GPU work may start before its call: clocks are not perfect */

#define ORDER(a, b)                                                                                \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

static int by_track(const void *a, const void *b)
{
	const struct gt_verify_slice *x = a, *y = b;

	ORDER(x->pid, y->pid);
	ORDER(x->tid, y->tid);
	ORDER(x->ts, y->ts);
	ORDER(y->dur, x->dur);
	ORDER(x->line, y->line);
	return 0;
}

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

static bool is_gpu(const struct gt_verify_slice *slice)
{
	return slice->role >= GT_VERIFY_KERNEL && slice->role <= GT_VERIFY_SYNC;
}

/* Of @slice, the first one of its track by time, and @first, the first one in the file. */
static void check_track_name(struct gt_verify *v, const struct gt_verify_slice *slice,
			     const struct gt_verify_slice *first)
{
	const struct gt_verify_track *track = name_of(v, slice->pid, slice->tid);
	const struct gt_verify_track *process = name_of(v, slice->pid, GT_VERIFY_PROCESS);

	if (is_gpu(slice) && !track && !v->reading.is_pftrace)
		gt_verify_find(v, GT_CHECK_TRACK_NAME, slice->line,
			       "track %" PRId64 " of GPU %" PRId64 " has no name", slice->tid,
			       slice->pid);
	if (v->ours && track && first->line < track->line)
		gt_verify_find(v, GT_CHECK_ORDER, first->line,
			       "slice of track %" PRId64 ", whose name comes later (line %" PRIu64
			       ")",
			       slice->tid, track->line);
	if (v->ours && process && first->line < process->line)
		gt_verify_find(v, GT_CHECK_ORDER, first->line,
			       "slice of process %" PRId64 ", whose name comes later (line %" PRIu64
			       ")",
			       slice->pid, process->line);
}

/* The slices of a track begin at @i. Returns that of them which stands first in the file. */
static const struct gt_verify_slice *first_of_track(const struct gt_verify *v, size_t i)
{
	const struct gt_verify_slice *slice = &v->slices.at[i], *first = slice;

	for (; i < v->slices.count && v->slices.at[i].pid == slice->pid &&
	       v->slices.at[i].tid == slice->tid;
	     i++)
		if (v->slices.at[i].line < first->line)
			first = &v->slices.at[i];
	return first;
}

static void check_nesting(struct gt_verify *v, const struct gt_verify_slice *slice, int64_t *ends,
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
	int64_t ends[MAX_DEPTH];
	size_t depth = 0;

	if (!v->slices.count)
		return;
	qsort(v->slices.at, v->slices.count, sizeof(*v->slices.at), by_track);
	sort_names(v);
	for (size_t i = 0; i < v->slices.count; i++) {
		const struct gt_verify_slice *slice = &v->slices.at[i];

		if (!i || slice[-1].pid != slice->pid || slice[-1].tid != slice->tid) {
			depth = 0;
			check_track_name(v, slice, first_of_track(v, i));
		}
		check_nesting(v, slice, ends, &depth);
	}
}

static int by_correlation(const void *a, const void *b)
{
	const struct gt_verify_slice *x = a, *y = b;

	ORDER(x->correlation, y->correlation);
	ORDER(x->role == GT_VERIFY_CALL ? 0 : 1, y->role == GT_VERIFY_CALL ? 0 : 1);
	ORDER(x->line, y->line);
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct gt_verify_flow *x = a, *y = b;

	ORDER(x->call, y->call);
	ORDER(x->id, y->id);
	ORDER(!x->is_start, !y->is_start);
	ORDER(x->line, y->line);
	return 0;
}

/* Slices and flow ends of one correlation id, the flows by their ids. */
struct tracks_group {
	const struct gt_verify_slice *slices;
	size_t slice_count;
	const struct gt_verify_flow *flows;
	size_t flow_count;
};

static const struct gt_verify_slice *look_through(const struct tracks_group *group,
						  const struct gt_verify_flow *flow)
{
	for (size_t i = 0; i < group->slice_count; i++) {
		const struct gt_verify_slice *slice = &group->slices[i];

		if (slice->pid == flow->pid && slice->tid == flow->tid && slice->ts == flow->ts &&
		    (slice->role == GT_VERIFY_CALL) == flow->is_start)
			return slice;
	}
	return NULL;
}

static int by_site(const void *a, const void *b)
{
	const struct gt_verify_slice *x = a, *y = b;

	ORDER(x->role == GT_VERIFY_CALL, y->role == GT_VERIFY_CALL);
	ORDER(x->pid, y->pid);
	ORDER(x->tid, y->tid);
	ORDER(x->ts, y->ts);
	return 0;
}

/* Of an id that many slices have: their copies by place, else NULL. */
static struct gt_verify_slice *sort_sites(const struct tracks_group *group)
{
	size_t size = group->slice_count * sizeof(*group->slices);
	struct gt_verify_slice *sites =
		group->slice_count > FEW_SLICES && group->flow_count ? malloc(size) : NULL;

	if (sites) {
		memcpy(sites, group->slices, size);
		qsort(sites, group->slice_count, sizeof(*sites), by_site);
	}
	return sites;
}

static bool has_slice_at(const struct tracks_group *group, const struct gt_verify_slice *sites,
			 const struct gt_verify_flow *flow)
{
	const struct gt_verify_slice wanted = {.role = flow->is_start ? GT_VERIFY_CALL
								      : GT_VERIFY_KERNEL,
					       .pid = flow->pid,
					       .tid = flow->tid,
					       .ts = flow->ts};

	return sites ? bsearch(&wanted, sites, group->slice_count, sizeof(wanted), by_site)
		     : look_through(group, flow);
}

/* Starts and ends of one flow. */
static void check_ends(struct gt_verify *v, const struct gt_verify_flow *flows, size_t count)
{
	size_t starts = 0, ends = 0;

	for (size_t i = 0; i < count; i++)
		*(flows[i].is_start ? &starts : &ends) += 1;
	if (starts > 1)
		gt_verify_find(v, GT_CHECK_FLOW, flows[1].line, "flow %" PRId64 " begins %zu times",
			       flows->id, starts);
	if (!starts || (!ends && !v->repaired))
		gt_verify_find(v, GT_CHECK_FLOW, flows->line, "flow %" PRId64 " has no %s",
			       flows->id, starts ? "end" : "beginning");
}

static void check_flows(struct gt_verify *v, const struct tracks_group *group)
{
	struct gt_verify_slice *sites = sort_sites(group);

	for (size_t i = 0; i < group->flow_count; i++) {
		const struct gt_verify_flow *flow = &group->flows[i];

		if (!has_slice_at(group, sites, flow))
			gt_verify_find(v, GT_CHECK_FLOW, flow->line,
				       flow->is_start ? "flow %" PRId64
							" begins where no call of this id is"
						      : "flow %" PRId64
							" ends where no GPU work of this id is",
				       flow->id);
	}
	free(sites);
	for (size_t i = 0, end; i < group->flow_count; i = end) {
		for (end = i + 1; end < group->flow_count; end++)
			if (group->flows[end].id != group->flows[i].id)
				break;
		check_ends(v, &group->flows[i], end - i);
	}
}

/* Where memory was short, work was written before its call was known, or after it was forgotten;
 * the ledger counts it. */
static bool is_untied(struct gt_verify *v, size_t operations)
{
	bool was_short = gt_verify_count(v, GT_LEDGER_CORRELATION_EVICTED) ||
			 gt_verify_count(v, GT_LEDGER_EARLY_WORK);

	if (!was_short || v->unlinked < (int64_t)operations)
		return false;
	v->unlinked -= (int64_t)operations;
	return true;
}

/* GPU work whose call is there needs a flow, and an end of it at each operation. */
static void check_calls(struct gt_verify *v, const struct tracks_group *group)
{
	const struct gt_verify_slice *call = NULL;
	size_t calls = 0, ends = 0, operations = 0;

	for (size_t i = 0; i < group->flow_count; i++)
		ends += !group->flows[i].is_start;
	for (size_t i = 0; i < group->slice_count; i++) {
		const struct gt_verify_slice *slice = &group->slices[i];

		if (slice->role == GT_VERIFY_CALL) {
			call = call ? call : slice;
			if (++calls == 2)
				gt_verify_find(v, GT_CHECK_CORRELATION, slice->line,
					       "correlation %" PRId64 " has a second call",
					       slice->correlation);
			continue;
		}
		if (!is_gpu(slice) || slice->role == GT_VERIFY_SYNC)
			continue;
		operations++;
		if (call && slice->ts + EARLIEST < call->ts && !v->is_part && v->early-- <= 0)
			gt_verify_find(v, GT_CHECK_CLOCK, slice->line,
				       "GPU work starts %" PRId64 " ns before its call",
				       call->ts - slice->ts);
	}
	if (call && operations > ends && call->correlation > v->border && !v->repaired &&
	    !v->without_flow && !is_untied(v, operations - ends))
		gt_verify_find(v, GT_CHECK_FLOW, call->line,
			       "%zu GPU operation%s of correlation %" PRId64 " without a flow",
			       operations - ends, gt_plural(operations - ends), call->correlation);
}

/* CUPTI has given such records; the ledger must know of them. */
static void check_without_id(struct gt_verify *v, const struct gt_verify_slice *slice)
{
	if (is_gpu(slice) && slice->correlation == 0 && !v->is_part && v->unlinked-- <= 0)
		gt_verify_find(v, GT_CHECK_CORRELATION, slice->line,
			       "no correlation id of 1 or more");
}

void gt_verify_flows(struct gt_verify *v)
{
	size_t s = 0, f = 0;

	if (v->slices.count)
		qsort(v->slices.at, v->slices.count, sizeof(*v->slices.at), by_correlation);
	if (v->flows.count)
		qsort(v->flows.at, v->flows.count, sizeof(*v->flows.at), by_id);
	v->early = gt_verify_count(v, GT_LEDGER_GPU_BEFORE_LAUNCH);
	v->unlinked = gt_verify_count(v, GT_LEDGER_OPS_UNLINKED);
	for (; s < v->slices.count && v->slices.at[s].correlation < 1; s++)
		check_without_id(v, &v->slices.at[s]);
	while (s < v->slices.count || f < v->flows.count) {
		struct tracks_group group = {0};
		int64_t id = INT64_MAX;

		if (s < v->slices.count) {
			group.slices = &v->slices.at[s];
			id = group.slices->correlation;
		}
		if (f < v->flows.count) {
			group.flows = &v->flows.at[f];
			id = group.flows->call < id ? group.flows->call : id;
		}
		for (; s < v->slices.count && v->slices.at[s].correlation == id; s++)
			group.slice_count++;
		for (; f < v->flows.count && v->flows.at[f].call == id; f++)
			group.flow_count++;
		check_flows(v, &group);
		check_calls(v, &group);
	}
}

static int by_external(const void *a, const void *b)
{
	const struct gt_verify_external *x = a, *y = b;

	ORDER(x->id, y->id);
	ORDER(!x->is_operator, !y->is_operator);
	ORDER(x->line, y->line);
	return 0;
}

void gt_verify_externals(struct gt_verify *v)
{
	size_t operators = 0;

	if (v->externals.count)
		qsort(v->externals.at, v->externals.count, sizeof(*v->externals.at), by_external);
	for (size_t i = 0; i < v->externals.count; i++) {
		const struct gt_verify_external *external = &v->externals.at[i];

		if (!i || external[-1].id != external->id)
			operators = 0;
		operators += external->is_operator;
		if (external->is_operator && operators == 2)
			gt_verify_find(v, GT_CHECK_EXTERNAL_ID, external->line,
				       "a second operator with External id %" PRId64, external->id);
		if (!external->is_operator && !operators && !v->repaired && !v->is_part)
			gt_verify_find(v, GT_CHECK_EXTERNAL_ID, external->line,
				       "External id %" PRId64 " names no operator", external->id);
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
