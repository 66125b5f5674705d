/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans in the order of time, in a list of pieces of an array. Drain thread only.
 */
#include "core/row/busy.h"

#include <stddef.h>
#include <string.h>

#define SPANS      62u /* of a piece, which is a KiB then */
#define HALF       (SPANS / 2)
#define MAX_PIECES 512u  /* of a track: 31744 spans */
#define MAX_MADE   8192u /* of a pool */

struct busy_span {
	uint64_t start, end;
};

struct gt_busy_piece {
	struct gt_busy_piece *next, *before;
	uint32_t count; /* at least 1 once it is of a track */
	struct busy_span spans[SPANS];
};

static uint64_t end_of(const struct gt_busy_piece *piece)
{
	return piece->spans[piece->count - 1].end;
}

void gt_busy_forget(struct gt_busy *busy, uint64_t time)
{
	if (busy->known_from < time)
		busy->known_from = time;
}

/* Takes the oldest piece off the track, which has one. */
static struct gt_busy_piece *take_first(struct gt_busy *busy)
{
	struct gt_busy_piece *piece = busy->first;

	gt_busy_forget(busy, end_of(piece));
	busy->first = piece->next;
	if (busy->first)
		busy->first->before = NULL;
	else
		busy->last = NULL;
	if (busy->late == piece)
		busy->late = busy->first;
	busy->pieces--;
	return piece;
}

static void give(struct gt_busy_pool *pool, struct gt_busy_piece *piece)
{
	piece->next = pool->free;
	pool->free = piece;
}

void gt_busy_trim(struct gt_busy *busy, struct gt_busy_pool *pool, uint64_t time)
{
	while (busy->first && end_of(busy->first) < time)
		give(pool, take_first(busy));
}

/* NULL: there is none, or none is left for what can do without. */
static struct gt_busy_piece *take_free(struct gt_busy_pool *pool)
{
	struct gt_busy_piece *piece = pool->free;

	if (piece) {
		pool->free = piece->next;
	} else if (pool->made < MAX_MADE && gt_memory_is_ample(sizeof(*piece))) {
		piece = gt_arena_get(pool->arena, sizeof(*piece));
		pool->made += piece != NULL;
	}
	pool->empty |= !piece;
	return piece;
}

/* An empty piece: of the pool, or the oldest of the track if that is not its only one; one that is
 * long past comes first. NULL: neither. */
static struct gt_busy_piece *get(struct gt_busy *busy, struct gt_busy_pool *pool, uint64_t time)
{
	bool can_lose = busy->first != busy->last;
	bool is_past = can_lose && time > GT_BUSY_KEEP && end_of(busy->first) < time - GT_BUSY_KEEP;
	struct gt_busy_piece *piece = NULL;

	if (!is_past && busy->pieces < MAX_PIECES)
		piece = take_free(pool);
	if (!piece && can_lose)
		piece = take_first(busy);
	if (piece)
		piece->count = 0;
	return piece;
}

/* Puts the piece behind @before; NULL: there is no other. */
static void link_behind(struct gt_busy *busy, struct gt_busy_piece *before,
			struct gt_busy_piece *piece)
{
	piece->before = before;
	piece->next = before ? before->next : NULL;
	if (before)
		before->next = piece;
	else
		busy->first = piece;
	if (piece->next)
		piece->next->before = piece;
	else
		busy->last = piece;
	busy->pieces++;
}

/* The only piece of the track is full, and there is no other. */
static void drop_half(struct gt_busy *busy, struct gt_busy_piece *piece)
{
	gt_busy_forget(busy, piece->spans[HALF - 1].end);
	memmove(piece->spans, piece->spans + HALF, (SPANS - HALF) * sizeof(*piece->spans));
	piece->count = SPANS - HALF;
}

static void append(struct gt_busy *busy, struct gt_busy_pool *pool, struct busy_span span)
{
	struct gt_busy_piece *last = busy->last;

	if (!last || last->count == SPANS) {
		last = get(busy, pool, span.start);
		if (last)
			link_behind(busy, busy->last, last);
		else if (busy->last)
			drop_half(busy, busy->last);
	}
	if (busy->last)
		busy->last->spans[busy->last->count++] = span;
	else
		gt_busy_forget(busy, span.end);
}

/* The first piece with a span that ends after @time. The last piece has one. */
static struct gt_busy_piece *find(const struct gt_busy *busy, uint64_t time)
{
	struct gt_busy_piece *piece = busy->late ? busy->late : busy->last;

	while (end_of(piece) <= time)
		piece = piece->next;
	while (piece->before && end_of(piece->before) > time)
		piece = piece->before;
	return piece;
}

/* The first of its spans that ends after @time. */
static uint32_t first_after(const struct gt_busy_piece *piece, uint64_t time)
{
	uint32_t low = 0, high = piece->count - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (piece->spans[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Moves the newer half of a full piece to one behind it. False: there is none. */
static bool split(struct gt_busy *busy, struct gt_busy_pool *pool, struct gt_busy_piece *piece)
{
	struct gt_busy_piece *newer = get(busy, pool, end_of(piece));

	if (newer == piece) { /* it was the oldest of the track */
		give(pool, piece);
		return false;
	}
	if (!newer)
		return false;
	memcpy(newer->spans, piece->spans + HALF, (SPANS - HALF) * sizeof(*piece->spans));
	newer->count = SPANS - HALF;
	piece->count = HALF;
	link_behind(busy, piece, newer);
	return true;
}

/* Before the span at @i of the piece. */
static bool insert(struct gt_busy *busy, struct gt_busy_pool *pool, struct gt_busy_piece *piece,
		   uint32_t i, struct busy_span span)
{
	if (piece->count == SPANS && !split(busy, pool, piece))
		return false;
	if (i > piece->count) {
		i -= piece->count;
		piece = piece->next;
	}
	memmove(&piece->spans[i + 1], &piece->spans[i], (piece->count - i) * sizeof(span));
	piece->spans[i] = span;
	piece->count++;
	busy->late = piece;
	return true;
}

static bool add_slowly(struct gt_busy *busy, struct gt_busy_pool *pool, struct busy_span span,
		       struct gt_busy_gap *ret_gap)
{
	struct gt_busy_piece *piece = busy->last;
	uint32_t i;

	*ret_gap = (struct gt_busy_gap){busy->known_from, UINT64_MAX};
	if (span.start < busy->known_from)
		return false;
	if (!piece || end_of(piece) <= span.start) {
		if (piece)
			ret_gap->end = end_of(piece);
		append(busy, pool, span);
		return true;
	}
	piece = find(busy, span.start);
	i = first_after(piece, span.start);
	if (piece->spans[i].start < span.end)
		return false;
	ret_gap->start = piece->spans[i].start;
	if (i || piece->before)
		ret_gap->end = i ? piece->spans[i - 1].end : end_of(piece->before);
	return insert(busy, pool, piece, i, span);
}

bool gt_busy_add(struct gt_busy *busy, struct gt_busy_pool *pool, uint64_t start, uint64_t end,
		 struct gt_busy_gap *ret_gap)
{
	struct gt_busy_piece *last = busy->last;
	struct busy_span *span;

	if (!last || last->count == SPANS || start < busy->known_from || start < end_of(last))
		return add_slowly(busy, pool, (struct busy_span){start, end}, ret_gap);
	*ret_gap = (struct gt_busy_gap){end_of(last), UINT64_MAX};
	span = &last->spans[last->count++];
	span->start = start;
	span->end = end;
	return true;
}
