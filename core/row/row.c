/* SPDX-License-Identifier: Apache-2.0
 *
 * Outermost shadows are disjoint: a sorted array, in which an outer one takes the place of those
 * inside it. Drain thread only.
 */
#include "core/row/row.h"

#include <string.h>

#define EDGES       2048u
#define BOUNDS      512u
#define FIRST_SPANS 64u
#define MAX_SPANS   4096u

struct span {
	uint64_t start, end;
};

/* No shadow begins at this time, or ends after it, up to GT_ROW_SLACK later. */
struct edge {
	uint64_t time;
	bool is_end;
};

struct gt_row {
	struct span *spans; /* sorted, disjoint */
	uint32_t span_count, span_room;
	uint64_t spans_from; /* earlier ones have been forgotten */
	struct edge *edges;  /* a ring */
	uint64_t edge_count; /* ever added */
	uint64_t edges_from;
	uint64_t *bounds; /* a ring of where shadows begin and end */
	uint64_t bound_count;
	uint64_t bounds_from;
};

struct gt_row *gt_row_new(struct gt_arena *arena)
{
	return gt_arena_get(arena, sizeof(struct gt_row));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_edge(struct gt_row *row, struct gt_arena *arena, struct edge edge)
{
	struct edge *slot;

	if (!row->edges)
		row->edges = gt_arena_get(arena, EDGES * sizeof(*row->edges));
	if (!row->edges) {
		row->edges_from = later(row->edges_from, edge.time + GT_ROW_SLACK);
		return;
	}
	slot = &row->edges[row->edge_count % EDGES];
	if (row->edge_count >= EDGES)
		row->edges_from = later(row->edges_from, slot->time + GT_ROW_SLACK);
	*slot = edge;
	row->edge_count++;
}

void gt_row_passed_by(struct gt_row *row, struct gt_arena *arena, uint64_t start, uint64_t end)
{
	add_edge(row, arena, (struct edge){.time = start});
	add_edge(row, arena, (struct edge){.time = end ? end - 1 : 0, .is_end = true});
}

void gt_row_no_gap(struct gt_row *row, struct gt_arena *arena, uint64_t start)
{
	add_edge(row, arena, (struct edge){.time = start, .is_end = true});
}

/* A shadow may begin (end) at this time. */
static bool may_have_edge(const struct gt_row *row, uint64_t time, bool is_end)
{
	uint64_t count = row->edge_count < EDGES ? row->edge_count : EDGES;

	if (time < row->edges_from)
		return false;
	for (uint64_t i = 0; i < count; i++) {
		const struct edge *edge = &row->edges[i];

		if (edge->is_end != is_end)
			continue;
		if (is_end ? time > edge->time && time <= edge->time + GT_ROW_SLACK
			   : time == edge->time)
			return false;
	}
	return true;
}

/* The first outermost shadow that ends after @time; their number: none. */
static uint32_t first_after(const struct gt_row *row, uint64_t time)
{
	uint32_t low = 0, high = row->span_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (row->spans[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void add_bound(struct gt_row *row, struct gt_arena *arena, uint64_t time)
{
	uint64_t *slot;

	if (!row->bounds)
		row->bounds = gt_arena_get(arena, BOUNDS * sizeof(*row->bounds));
	if (!row->bounds) {
		row->bounds_from = later(row->bounds_from, time);
		return;
	}
	slot = &row->bounds[row->bound_count % BOUNDS];
	if (row->bound_count++ >= BOUNDS)
		row->bounds_from = later(row->bounds_from, *slot);
	*slot = time;
}

/* True: no shadow begins or ends between these times. */
static bool has_no_bound(const struct gt_row *row, uint64_t start, uint64_t end)
{
	uint64_t count = row->bound_count < BOUNDS ? row->bound_count : BOUNDS;

	if (start < row->bounds_from)
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (row->bounds[i] > start && row->bounds[i] < end)
			return false;
	return true;
}

bool gt_row_fits(const struct gt_row *row, uint64_t start, uint64_t end)
{
	uint32_t i = first_after(row, start);

	if (start < row->spans_from)
		return false;
	if (i == row->span_count || row->spans[i].start >= end)
		return true;
	return row->spans[i].start <= start && end <= row->spans[i].end &&
	       has_no_bound(row, start, end);
}

/* Room for one more; the older half is forgotten if there are too many. */
static bool make_room(struct gt_row *row, struct gt_arena *arena)
{
	uint32_t wanted = row->span_room ? row->span_room * 2 : FIRST_SPANS;
	struct span *spans;

	if (row->span_count < row->span_room)
		return true;
	spans = wanted <= MAX_SPANS ? gt_arena_get(arena, wanted * sizeof(*spans)) : NULL;
	if (!spans) {
		uint32_t half = row->span_count / 2;

		if (!half)
			return false;
		row->spans_from = row->spans[half - 1].end;
		row->span_count -= half;
		memmove(row->spans, row->spans + half, row->span_count * sizeof(*spans));
		return true;
	}
	if (row->span_count)
		memcpy(spans, row->spans, row->span_count * sizeof(*spans));
	row->spans = spans;
	row->span_room = wanted;
	return true;
}

/* Of two with the same extent, neither can be told to be the outer one. */
static bool is_around(uint64_t start, uint64_t end, const struct span *first,
		      const struct span *last)
{
	return first->start >= start && last->end <= end &&
	       (first->start > start || first->end < end);
}

bool gt_row_add(struct gt_row *row, struct gt_arena *arena, uint64_t start, uint64_t end)
{
	uint32_t first, last;

	if (!make_room(row, arena) || start < row->spans_from)
		return false;
	if (!may_have_edge(row, start, false) || !may_have_edge(row, end, true))
		return false;
	first = last = first_after(row, start);
	while (last < row->span_count && row->spans[last].start < end)
		last++;
	if (last > first && !is_around(start, end, &row->spans[first], &row->spans[last - 1]))
		return false;
	memmove(&row->spans[first + 1], &row->spans[last],
		(row->span_count - last) * sizeof(*row->spans));
	row->spans[first] = (struct span){start, end};
	row->span_count += first + 1 - last; /* may be less than before */
	add_bound(row, arena, start);
	add_bound(row, arena, end);
	return true;
}
