/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of GPU slices. A group is what one stream has of one kind; its rows are tried in order and
 * the first that is free takes the slice. Drain thread only.
 */
#include "writers/tracks.h"

#include <stddef.h>
#include <string.h>

#include "core/guest/memory.h"

#define FIRST_SLOTS   256u
#define MAX_SLOTS     131072u /* at most half of them used */
#define MAX_ROWS      64u     /* of one group that are reused */
#define MAX_DEPTH     8u      /* slices one inside another on a row */
#define MAX_ARENA     ((size_t)32 << 20)

/* Host rows beside threads: beyond every thread id of Linux (2^22) and every shifted process id. */
#define OVERHEAD_ROWS 8388608u
#define RANGE_ROWS    16777216u
#define STACK_ROWS    25165824u
#define SAMPLE_ROWS   33554432u

struct tracks_row {
	struct tracks_row *next;
	uint64_t last_start;
	uint64_t ends[MAX_DEPTH]; /* of the slices that may still be open, outermost first */
	uint32_t depth;
	uint32_t tid;
	uint32_t file; /* which file has its name */
};

struct writers_group {
	uint32_t kind, device, context, stream;
	struct tracks_row *rows; /* NULL: slot not used */
	bool foreign;
};

struct gt_tracks {
	struct gt_arena arena;
	struct writers_group *slots; /* open addressing, a power of two */
	uint32_t slot_count;
	uint32_t used;
	uint32_t next_overflow;
	uint32_t file; /* counts files */
};

/* Kept as a group so that one table serves: which context came first with a stream of this id. */
#define KIND_OWNER GT_TRACK_KIND_COUNT_

struct gt_tracks *gt_tracks_new(void)
{
	struct gt_tracks *lanes = gt_memory_map(sizeof(*lanes));

	if (!lanes)
		return NULL;
	gt_arena_init(&lanes->arena, MAX_ARENA);
	lanes->slots = gt_memory_map(FIRST_SLOTS * sizeof(*lanes->slots));
	if (!lanes->slots) {
		gt_memory_unmap(lanes, sizeof(*lanes));
		return NULL;
	}
	lanes->slot_count = FIRST_SLOTS;
	lanes->next_overflow = GT_TRACK_OVERFLOW;
	lanes->file = 1;
	return lanes;
}

void gt_tracks_free(struct gt_tracks *lanes)
{
	if (!lanes)
		return;
	gt_arena_fini(&lanes->arena);
	gt_memory_unmap(lanes->slots, lanes->slot_count * sizeof(*lanes->slots));
	gt_memory_unmap(lanes, sizeof(*lanes));
}

void gt_tracks_forget_names(struct gt_tracks *lanes)
{
	lanes->file++;
}

static struct writers_group *slot_of(struct writers_group *slots, uint32_t slot_count,
				     const struct writers_group *key)
{
	uint64_t hash = ((uint64_t)key->stream << 32 | key->context) * 0x9e3779b97f4a7c15u;

	hash = (hash ^ key->device ^ (uint64_t)key->kind << 16) * 0x9e3779b97f4a7c15u;
	for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
		struct writers_group *slot = &slots[i & (slot_count - 1)];

		if (!slot->rows || (slot->stream == key->stream && slot->context == key->context &&
				    slot->device == key->device && slot->kind == key->kind))
			return slot;
	}
}

static bool make_room(struct gt_tracks *lanes)
{
	uint32_t wanted = lanes->slot_count * 2;
	struct writers_group *slots;

	if (lanes->used < lanes->slot_count / 2)
		return true;
	if (wanted > MAX_SLOTS)
		return false;
	slots = gt_memory_map(wanted * sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < lanes->slot_count; i++)
		if (lanes->slots[i].rows)
			*slot_of(slots, wanted, &lanes->slots[i]) = lanes->slots[i];
	gt_memory_unmap(lanes->slots, lanes->slot_count * sizeof(*lanes->slots));
	lanes->slots = slots;
	lanes->slot_count = wanted;
	return true;
}

/* The context that owns this stream id on its device: the first that used it. */
static uint32_t owner_of(struct gt_tracks *lanes, const struct gt_track_request *request)
{
	struct writers_group key = {
		.kind = KIND_OWNER, .device = request->device, .stream = request->stream};
	struct writers_group *slot = slot_of(lanes->slots, lanes->slot_count, &key);

	if (slot->rows)
		return slot->rows->tid;
	key.rows = gt_arena_get(&lanes->arena, sizeof(*key.rows));
	if (!key.rows || !make_room(lanes))
		return request->context;
	key.rows->tid = request->context;
	*slot_of(lanes->slots, lanes->slot_count, &key) = key;
	lanes->used++;
	return request->context;
}

static uint32_t overflow_number(struct gt_tracks *lanes)
{
	uint32_t tid = lanes->next_overflow;

	if (lanes->next_overflow < UINT32_MAX - 1)
		lanes->next_overflow++;
	return tid;
}

/* Which block of GT_TRACK_BLOCK numbers the k-th row of a kind is in, UINT32_MAX: none. */
static uint32_t block_of(enum gt_track_kind kind, uint32_t k)
{
	static const struct {
		uint32_t first, more, count;
	} blocks[] = {
		[GT_TRACK_WORK] = {.first = 0, .more = 2, .count = 30},
		[GT_TRACK_SYNC] = {.first = 1, .more = 48, .count = 16},
		[GT_TRACK_ANNOTATION] = {.first = 32, .more = 33, .count = 16},
	};

	if (gt_track_is_on_host(kind) || k >= blocks[kind].count)
		return UINT32_MAX;
	return k ? blocks[kind].more + k - 1 : blocks[kind].first;
}

/* A number that is a function of (context, stream, k), or the next one that is not used at all. */
static uint32_t row_number(struct gt_tracks *lanes, const struct gt_track_request *request,
			   bool foreign, uint32_t k)
{
	uint32_t block = block_of(request->kind, k);
	uint32_t context = foreign ? request->context : 0;

	if (request->kind == GT_TRACK_OVERHEAD && k == 0)
		return OVERHEAD_ROWS + request->stream;
	if (request->kind == GT_TRACK_RANGE && k == 0)
		return RANGE_ROWS + request->stream;
	if (request->kind == GT_TRACK_STACK && k == 0)
		return STACK_ROWS + request->stream;
	if (request->kind == GT_TRACK_SAMPLE && k == 0)
		return SAMPLE_ROWS + request->stream;
	if (block == UINT32_MAX || request->stream >= GT_TRACK_BLOCK || context > 32 ||
	    (foreign && context == 0))
		return overflow_number(lanes);
	/* a row 0 would be read as "the main thread" */
	if (block == 0 && context == 0 && request->stream == 0)
		block = 31;
	return (64 * context + block) * GT_TRACK_BLOCK + request->stream;
}

/* Takes the slice when the row is free for it. */
static bool row_take(struct tracks_row *row, const struct gt_track_request *request)
{
	if (request->kind == GT_TRACK_STACK || request->kind == GT_TRACK_SAMPLE)
		return true;
	if (request->start < row->last_start)
		return false;
	while (row->depth && row->ends[row->depth - 1] <= request->start)
		row->depth--;
	if (row->depth && (request->kind == GT_TRACK_WORK || row->depth == MAX_DEPTH ||
			   request->end > row->ends[row->depth - 1]))
		return false;
	row->last_start = request->start;
	row->ends[row->depth++] = request->end;
	return true;
}

static struct tracks_row *row_add(struct gt_tracks *lanes, const struct gt_track_request *request,
				  bool foreign, uint32_t k)
{
	struct tracks_row *row = gt_arena_get(&lanes->arena, sizeof(*row));

	if (row) {
		row->tid = row_number(lanes, request, foreign, k);
		row_take(row, request);
	}
	return row;
}

/* The rows of the request's stream; *ret_made: they were made, with the slice on the first. */
static struct writers_group *group_of(struct gt_tracks *lanes,
				      const struct gt_track_request *request, bool *ret_made)
{
	struct writers_group key = {.kind = request->kind,
				    .device = request->device,
				    .context = request->context,
				    .stream = request->stream};
	struct writers_group *group = slot_of(lanes->slots, lanes->slot_count, &key);

	*ret_made = !group->rows;
	if (group->rows)
		return group;
	key.foreign = owner_of(lanes, request) != request->context;
	key.rows = make_room(lanes) ? row_add(lanes, request, key.foreign, 0) : NULL;
	if (!key.rows)
		return NULL;
	lanes->used++;
	group = slot_of(lanes->slots, lanes->slot_count, &key);
	*group = key;
	return group;
}

/* No memory, or more rows than are kept: a row for this slice alone. */
static void lone_row(struct gt_tracks *lanes, struct gt_track *ret_lane)
{
	ret_lane->tid = overflow_number(lanes);
	ret_lane->k = MAX_ROWS;
	ret_lane->fresh = true;
}

/* The first row of the group that takes the slice, or a new one at the end. NULL: neither. */
static struct tracks_row *find_row(struct gt_tracks *lanes, struct writers_group *group,
				   const struct gt_track_request *request,
				   struct gt_track *ret_lane)
{
	struct tracks_row **end = &group->rows;
	uint32_t k = 0;

	for (; *end; end = &(*end)->next, k++) {
		if (row_take(*end, request)) {
			ret_lane->k = k;
			return *end;
		}
	}
	if (k < MAX_ROWS)
		*end = row_add(lanes, request, group->foreign, k);
	ret_lane->k = k;
	return *end;
}

void gt_tracks_get(struct gt_tracks *lanes, const struct gt_track_request *request,
		   struct gt_track *ret_lane)
{
	bool made;
	struct writers_group *group = group_of(lanes, request, &made);
	struct tracks_row *row = NULL;

	*ret_lane = (struct gt_track){.foreign = group && group->foreign};
	if (group)
		row = made ? group->rows : find_row(lanes, group, request, ret_lane);
	if (!row) {
		lone_row(lanes, ret_lane);
		return;
	}
	ret_lane->tid = row->tid;
	ret_lane->fresh = row->file != lanes->file;
	row->file = lanes->file;
}
