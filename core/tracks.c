/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks of GPU slices. A group is one kind of work of one stream; its tracks are tried in order,
 * and the first free one gets the slice. The shadow of a range is first tried on the first track of
 * its stream's work. Drain thread only.
 */
#include "core/tracks.h"

#include <stddef.h>
#include <string.h>

#include "core/guest/memory.h"
#include "core/hash.h"
#include "core/row/busy.h"
#include "core/row/row.h"

#define FIRST_SLOTS     256u
#define MAX_SLOTS       131072u /* at most half of them used */
#define MAX_TRACKS      64u     /* of one group, at most */
#define RECENT          16u     /* a power of two */
#define MAX_DEPTH       8u      /* slices nested on a track */
#define MAX_ARENA       ((size_t)32 << 20)

/* Additional tracks of threads: above every thread id of Linux (2^22) and every shifted process
 * id. */
#define OVERHEAD_TRACKS 8388608u
#define RANGE_TRACKS    16777216u
#define STACK_TRACKS    25165824u
#define SAMPLE_TRACKS   33554432u
#define UNIFIED_TRACKS  41943040u

struct track_state {
	struct track_state *next;
	struct gt_busy busy;      /* outermost slices */
	uint64_t last_start;      /* of slices that may be nested */
	uint64_t ends[MAX_DEPTH]; /* ends of those that may still be open, outermost first */
	struct gt_row *row;       /* shadows on it; NULL: none yet */
	uint32_t depth;
	uint32_t tid;
	uint32_t file; /* the file that has its name */
};

struct track_group {
	uint32_t kind, device, context, stream;
	struct track_state *first; /* NULL: slot not used */
	bool foreign;
};

struct gt_tracks {
	struct gt_arena arena;
	struct gt_busy_pool pool;
	uint64_t trimmed_until;             /* ns */
	struct track_group *slots;          /* open addressing, a power of two */
	struct track_group *recent[RECENT]; /* found last, by stream; NULL: not known */
	uint32_t slot_count;
	uint32_t used;
	uint32_t next_overflow;
	uint32_t file;           /* counts files */
	uint64_t recalled_until; /* ns; what was there before is not known */
};

/* Stored as a group, so that one table serves: the first context with a stream of this id. */
#define KIND_OWNER GT_TRACK_KIND_COUNT_

const char *gt_track_suffix(enum gt_track_kind kind)
{
	static const char *const suffixes[GT_TRACK_KIND_COUNT_] = {
		[GT_TRACK_WORK] = "",
		[GT_TRACK_SYNC] = " waits",
		[GT_TRACK_ANNOTATION] = " ranges",
		[GT_TRACK_OVERHEAD] = " tracing overhead",
		[GT_TRACK_RANGE] = " ranges",
		[GT_TRACK_SAMPLE] = " samples",
		[GT_TRACK_STACK] = " call stacks",
		[GT_TRACK_UNIFIED] = " unified memory",
	};

	return suffixes[kind];
}

struct gt_tracks *gt_tracks_new(void)
{
	struct gt_tracks *tracks = gt_memory_map(sizeof(*tracks));

	if (!tracks)
		return NULL;
	gt_arena_init(&tracks->arena, MAX_ARENA);
	tracks->pool.arena = &tracks->arena;
	tracks->slots = gt_memory_map(FIRST_SLOTS * sizeof(*tracks->slots));
	if (!tracks->slots) {
		gt_memory_unmap(tracks, sizeof(*tracks));
		return NULL;
	}
	tracks->slot_count = FIRST_SLOTS;
	tracks->next_overflow = GT_TRACK_OVERFLOW;
	tracks->file = 1;
	return tracks;
}

void gt_tracks_free(struct gt_tracks *tracks)
{
	if (!tracks)
		return;
	gt_arena_fini(&tracks->arena);
	gt_memory_unmap(tracks->slots, tracks->slot_count * sizeof(*tracks->slots));
	gt_memory_unmap(tracks, sizeof(*tracks));
}

void gt_tracks_forget_names(struct gt_tracks *tracks)
{
	tracks->file++;
}

static struct track_group *slot_of(struct track_group *slots, uint32_t slot_count,
				   const struct track_group *key)
{
	uint64_t hash = gt_hash_pair((uint64_t)key->stream << 32 | key->context,
				     (uint64_t)key->kind << 32 | key->device);

	for (uint32_t i = (uint32_t)hash;; i++) {
		struct track_group *slot = &slots[i & (slot_count - 1)];

		if (!slot->first || (slot->stream == key->stream && slot->context == key->context &&
				     slot->device == key->device && slot->kind == key->kind))
			return slot;
	}
}

static bool make_room(struct gt_tracks *tracks)
{
	uint32_t wanted = tracks->slot_count * 2;
	struct track_group *slots;

	if (tracks->used < tracks->slot_count / 2)
		return true;
	if (wanted > MAX_SLOTS)
		return false;
	slots = gt_memory_map(wanted * sizeof(*slots));
	if (!slots)
		return false;
	for (uint32_t i = 0; i < tracks->slot_count; i++)
		if (tracks->slots[i].first)
			*slot_of(slots, wanted, &tracks->slots[i]) = tracks->slots[i];
	gt_memory_unmap(tracks->slots, tracks->slot_count * sizeof(*tracks->slots));
	tracks->slots = slots;
	tracks->slot_count = wanted;
	memset(tracks->recent, 0, sizeof(tracks->recent));
	return true;
}

/* The context that owns this stream id on its device: the first that used it. */
static uint32_t owner_of(struct gt_tracks *tracks, const struct gt_track_request *request)
{
	struct track_group key = {
		.kind = KIND_OWNER, .device = request->device, .stream = request->stream};
	struct track_group *slot = slot_of(tracks->slots, tracks->slot_count, &key);

	if (slot->first)
		return slot->first->tid;
	key.first = gt_arena_get(&tracks->arena, sizeof(*key.first));
	if (!key.first || !make_room(tracks))
		return request->context;
	key.first->tid = request->context;
	*slot_of(tracks->slots, tracks->slot_count, &key) = key;
	tracks->used++;
	return request->context;
}

static uint32_t overflow_number(struct gt_tracks *tracks)
{
	uint32_t tid = tracks->next_overflow;

	if (tracks->next_overflow < UINT32_MAX - 1)
		tracks->next_overflow++;
	return tid;
}

/* The block of GT_TRACK_BLOCK numbers of the k-th track of a kind, UINT32_MAX: none. */
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

/* A number derived from (context, stream, k), or the next one that is not used at all. */
static uint32_t track_number(struct gt_tracks *tracks, const struct gt_track_request *request,
			     bool foreign, uint32_t k)
{
	uint32_t block = block_of(request->kind, k);
	uint32_t context = foreign ? request->context : 0;

	if (request->kind == GT_TRACK_OVERHEAD && k == 0)
		return OVERHEAD_TRACKS + request->stream;
	if (request->kind == GT_TRACK_RANGE && k == 0)
		return RANGE_TRACKS + request->stream;
	if (request->kind == GT_TRACK_STACK && k == 0)
		return STACK_TRACKS + request->stream;
	if (request->kind == GT_TRACK_SAMPLE && k == 0)
		return SAMPLE_TRACKS + request->stream;
	if (request->kind == GT_TRACK_UNIFIED && k == 0)
		return UNIFIED_TRACKS + request->stream;
	if (block == UINT32_MAX || request->stream >= GT_TRACK_BLOCK || context > 32 ||
	    (foreign && context == 0))
		return overflow_number(tracks);
	/* a thread id 0 would be read as "the main thread" */
	if (block == 0 && context == 0 && request->stream == 0)
		block = 31;
	return (64 * context + block) * GT_TRACK_BLOCK + request->stream;
}

/* The row of a track, made at its first use. NULL: no memory. */
static struct gt_row *row_of(struct gt_tracks *tracks, struct track_state *track)
{
	if (!track->row)
		track->row = gt_row_new(&tracks->arena);
	return track->row;
}

static bool add_shadow(struct gt_tracks *tracks, struct track_state *track,
		       const struct gt_track_request *request)
{
	struct gt_row *row = row_of(tracks, track);

	return row && gt_row_add(row, &tracks->arena, request->start, request->end);
}

/* A shadow that ends with the slice before may reach into @request, and one that ends with it into
 * the slice behind. */
static void note_gaps(struct gt_tracks *tracks, struct track_state *track,
		      const struct gt_track_request *request, const struct gt_busy_gap *gap)
{
	bool follows = gap->end && request->start < gap->end + GT_ROW_SLACK;
	bool is_followed = gap->start < request->end + GT_ROW_SLACK;
	struct gt_row *row = follows || is_followed ? row_of(tracks, track) : NULL;

	if (row && follows)
		gt_row_no_gap(row, &tracks->arena, request->start);
	if (row && is_followed)
		gt_row_no_gap(row, &tracks->arena, gap->start);
}

/* Work is never in other work, nor is an empty one that begins with it. */
static bool add_work(struct gt_tracks *tracks, struct track_state *track,
		     const struct gt_track_request *request)
{
	bool is_empty = request->end <= request->start;
	uint64_t end = is_empty ? request->start + 1 : request->end;
	struct gt_busy_gap gap;

	if (track->row && !gt_row_fits(track->row, request->start, request->end))
		return false;
	if (!gt_busy_add(&track->busy, &tracks->pool, request->start, end, &gap))
		return false;
	note_gaps(tracks, track, request, &gap);
	return true;
}

/* In order of their starts slices may be nested; a late one goes where there is none. */
static bool add_nested(struct gt_tracks *tracks, struct track_state *track,
		       const struct gt_track_request *request)
{
	bool is_late = request->start < track->last_start;
	uint32_t depth = is_late ? 0 : track->depth;
	uint64_t end = request->end > request->start ? request->end : request->start;
	struct gt_busy_gap gap;

	while (depth && track->ends[depth - 1] <= request->start)
		depth--;
	if (depth && (depth == MAX_DEPTH || request->end > track->ends[depth - 1]))
		return false;
	if (!depth && !gt_busy_add(&track->busy, &tracks->pool, request->start, end, &gap))
		return false;
	if (is_late)
		return true;
	track->last_start = request->start;
	track->ends[depth] = request->end;
	track->depth = depth + 1;
	return true;
}

/* Adds the slice to the track if the track is free. */
static bool track_add_slice(struct gt_tracks *tracks, struct track_state *track,
			    const struct gt_track_request *request)
{
	switch (request->kind) {
	case GT_TRACK_WORK:
		return add_work(tracks, track, request);
	case GT_TRACK_STACK:
	case GT_TRACK_SAMPLE:
		return true;
	case GT_TRACK_ANNOTATION:
		return request->start >= track->busy.known_from &&
		       add_shadow(tracks, track, request);
	default:
		return add_nested(tracks, track, request);
	}
}

static struct track_state *track_new(struct gt_tracks *tracks,
				     const struct gt_track_request *request, bool foreign,
				     uint32_t k)
{
	struct track_state *track = gt_arena_get(&tracks->arena, sizeof(*track));

	if (track)
		track->tid = track_number(tracks, request, foreign, k);
	return track;
}

static bool is_of(const struct track_group *group, const struct gt_track_request *request)
{
	return group->stream == request->stream && group->context == request->context &&
	       group->device == request->device && group->kind == request->kind;
}

/* Finds or makes them. */
static struct track_group *other_group(struct gt_tracks *tracks,
				       const struct gt_track_request *request)
{
	struct track_group key = {.kind = request->kind,
				  .device = request->device,
				  .context = request->context,
				  .stream = request->stream};
	struct track_group *group = slot_of(tracks->slots, tracks->slot_count, &key);

	if (group->first)
		return group;
	key.foreign = owner_of(tracks, request) != request->context;
	key.first = make_room(tracks) ? track_new(tracks, request, key.foreign, 0) : NULL;
	if (!key.first)
		return NULL;
	tracks->used++;
	group = slot_of(tracks->slots, tracks->slot_count, &key);
	*group = key;
	return group;
}

/* The tracks of the request's stream. NULL: no memory. */
static struct track_group *group_of(struct gt_tracks *tracks,
				    const struct gt_track_request *request)
{
	struct track_group **recent = &tracks->recent[request->stream % RECENT];

	if (!*recent || !is_of(*recent, request))
		*recent = other_group(tracks, request);
	return *recent;
}

/* A track for one slice only, without memory or with too many tracks. */
static void lone_track(struct gt_tracks *tracks, struct gt_track *ret_track)
{
	ret_track->tid = overflow_number(tracks);
	ret_track->k = MAX_TRACKS;
	ret_track->fresh = true;
}

/* The slice goes to another track than the stream's first one. */
static void pass_by(struct gt_tracks *tracks, struct track_state *first,
		    const struct gt_track_request *request)
{
	struct gt_row *row = row_of(tracks, first);

	if (row)
		gt_row_passed_by(row, &tracks->arena, request->start, request->end);
}

/* The first track of the group that has room for the slice, or a new one. NULL: neither. */
static struct track_state *find_track(struct gt_tracks *tracks, struct track_group *group,
				      const struct gt_track_request *request,
				      struct gt_track *ret_track)
{
	struct track_state **end = &group->first;
	uint32_t k = 0;

	for (; *end; end = &(*end)->next, k++) {
		if (track_add_slice(tracks, *end, request)) {
			ret_track->k = k;
			return *end;
		}
		if (k == 0 && request->kind == GT_TRACK_WORK)
			pass_by(tracks, *end, request);
	}
	if (k < MAX_TRACKS)
		*end = track_new(tracks, request, group->foreign, k);
	if (*end)
		track_add_slice(tracks, *end, request);
	ret_track->k = k;
	return *end;
}

static void use(const struct gt_tracks *tracks, struct track_state *track,
		struct gt_track *ret_track)
{
	ret_track->tid = track->tid;
	ret_track->fresh = track->file != tracks->file;
	track->file = tracks->file;
}

/* The group of the work of a shadow's stream, or NULL. */
static struct track_group *work_of(struct gt_tracks *tracks, const struct gt_track_request *shadow)
{
	struct track_group key = {.kind = GT_TRACK_WORK,
				  .device = shadow->device,
				  .context = shadow->context,
				  .stream = shadow->stream};
	struct track_group *group = slot_of(tracks->slots, tracks->slot_count, &key);

	return group->first ? group : NULL;
}

/* A shadow goes on the track of the work that it is around: false if it does not nest there. */
static bool join_work(struct gt_tracks *tracks, const struct gt_track_request *request,
		      struct gt_track *ret_track)
{
	struct track_group *group =
		request->kind == GT_TRACK_ANNOTATION ? work_of(tracks, request) : NULL;

	if (!group || request->start < tracks->recalled_until ||
	    !add_shadow(tracks, group->first, request))
		return false;
	*ret_track = (struct gt_track){.kind = GT_TRACK_WORK, .foreign = group->foreign};
	use(tracks, group->first, ret_track);
	return true;
}

/* Tracks at rest give back what they remember with, once in a while. */
static void trim(struct gt_tracks *tracks, uint64_t time)
{
	tracks->pool.empty = false;
	if (time < tracks->trimmed_until + GT_BUSY_KEEP)
		return;
	tracks->trimmed_until = time;
	for (uint32_t i = 0; i < tracks->slot_count; i++)
		for (struct track_state *t = tracks->slots[i].first; t; t = t->next)
			gt_busy_trim(&t->busy, &tracks->pool, time - GT_BUSY_KEEP);
}

void gt_tracks_get(struct gt_tracks *tracks, const struct gt_track_request *request,
		   struct gt_track *ret_track)
{
	struct track_group *group;
	struct track_state *track = NULL;

	if (tracks->pool.empty)
		trim(tracks, request->start);
	if (join_work(tracks, request, ret_track))
		return;
	group = group_of(tracks, request);
	*ret_track = (struct gt_track){.kind = request->kind, .foreign = group && group->foreign};
	if (group)
		track = find_track(tracks, group, request, ret_track);
	if (!track) {
		lone_track(tracks, ret_track);
		return;
	}
	use(tracks, track, ret_track);
}

/* The track with number @tid, which is made together with those before it. A number from another
 * range replaces the first overflow number. NULL: no memory, or too many tracks. */
static struct track_state *track_numbered(struct gt_tracks *tracks, struct track_group *group,
					  const struct gt_track_request *request, uint32_t tid,
					  uint32_t *ret_k)
{
	struct track_state **track = &group->first;

	for (uint32_t k = 0; k < MAX_TRACKS; k++, track = &(*track)->next) {
		bool made = !*track;

		if (made)
			*track = track_new(tracks, request, group->foreign, k);
		if (!*track)
			return NULL;
		if (made && (*track)->tid >= GT_TRACK_OVERFLOW)
			(*track)->tid = tid;
		*ret_k = k;
		if ((*track)->tid == tid)
			return *track;
	}
	return NULL;
}

/* Occupies the track up to the end of a slice that is on it and does not fit. */
static void fill(struct track_state *track, const struct gt_track_request *request)
{
	gt_busy_forget(&track->busy, request->end);
	if (track->last_start < request->end)
		track->last_start = request->end;
	track->depth = 0;
}

/* The same for a shadow that is on the track of its work; false: it is not. */
static bool recall_with_work(struct gt_tracks *tracks, const struct gt_track_request *request,
			     uint32_t tid, struct gt_track *ret_track)
{
	struct track_group *group =
		request->kind == GT_TRACK_ANNOTATION ? work_of(tracks, request) : NULL;

	if (!group || group->first->tid != tid)
		return false;
	*ret_track = (struct gt_track){.kind = GT_TRACK_WORK, .foreign = group->foreign};
	if (!add_shadow(tracks, group->first, request))
		fill(group->first, request);
	use(tracks, group->first, ret_track);
	return true;
}

void gt_tracks_recall(struct gt_tracks *tracks, const struct gt_track_request *request,
		      uint32_t tid, struct gt_track *ret_track)
{
	struct track_group *group;
	struct track_state *track = NULL;

	if (!gt_track_is_on_host(request->kind) && tracks->recalled_until < request->end)
		tracks->recalled_until = request->end;
	if (recall_with_work(tracks, request, tid, ret_track))
		return;
	group = group_of(tracks, request);
	*ret_track = (struct gt_track){
		.kind = request->kind, .tid = tid, .foreign = group && group->foreign};
	if (tracks->next_overflow <= tid && tid < UINT32_MAX - 1)
		tracks->next_overflow = tid + 1;
	if (group)
		track = track_numbered(tracks, group, request, tid, &ret_track->k);
	if (!track)
		return;
	if (!track_add_slice(tracks, track, request))
		fill(track, request);
	if (ret_track->k && request->kind == GT_TRACK_WORK)
		pass_by(tracks, group->first, request);
	use(tracks, track, ret_track);
}
