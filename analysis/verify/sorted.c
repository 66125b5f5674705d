/* SPDX-License-Identifier: Apache-2.0
 *
 * See sorted.h. An item is packed as a byte with its role and its site, then numbers of 7 bits a
 * byte: what differs from the item before, or from the last one of its track. One thread.
 */
#include "analysis/verify/sorted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK      16384 /* items that are sorted at once */
#define BLOCK_SIZE 65536 /* bytes */
#define LONGEST    64    /* bytes of a packed item: a byte and 6 numbers of 10 */
#define SITES      15    /* tracks that are remembered; one more number says: a new one */
#define DEEPEST    64    /* levels of a heap, and more than there can be */
#define TRACKS     32    /* that the items of a run are parted by before they are sorted */

struct gt_verify_block {
	struct gt_verify_block *next;
	uint32_t used;
	uint8_t bytes[];
};

/* A track, and its last item. */
struct verify_site {
	int64_t pid, tid, ts;
	uint64_t line;
};

/* Where packing or unpacking of a run stands. */
struct verify_coder {
	struct gt_verify_item item; /* the last one */
	struct verify_site sites[SITES];
	uint32_t oldest; /* site */
};

struct gt_verify_run {
	struct verify_coder coder;
	const struct gt_verify_block *block;
	uint32_t at;   /* byte of the block */
	uint32_t left; /* items */
};

static uint8_t *put(uint8_t *at, uint64_t number)
{
	for (; number > 0x7f; number >>= 7)
		*at++ = (uint8_t)(number | 0x80);
	*at++ = (uint8_t)number;
	return at;
}

/* Three or four numbers are taken for each item, while nothing else runs. */
#define INLINE static inline __attribute__((always_inline))

/* The top bit of a byte is worth 1 in the next one, which gives it back. */
INLINE uint64_t take(const uint8_t **at)
{
	const uint8_t *p = *at;
	uint64_t byte = *p++, number = byte;

	for (unsigned int shift = 7; byte & 0x80; shift += 7) {
		byte = *p++;
		number += (byte - 1) << shift;
	}
	*at = p;
	return number;
}

/* The difference of any two numbers. Small ones of both signs are short: 0, -1, 1, -2, ... */
static uint8_t *put_step(uint8_t *at, uint64_t from, uint64_t to)
{
	uint64_t step = to - from;

	return put(at, step << 1 ^ (step >> 63 ? UINT64_MAX : 0));
}

INLINE uint64_t take_step(const uint8_t **at, uint64_t from)
{
	uint64_t number = take(at);

	return from + (number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

/* The site of the track of @item, SITES: there is none. */
static uint32_t site_of(const struct verify_coder *coder, const struct gt_verify_item *item)
{
	for (uint32_t i = 0; i < SITES; i++)
		if (coder->sites[i].tid == item->tid && coder->sites[i].pid == item->pid)
			return i;
	return SITES;
}

/* A site for another track, which begins as the last item of any. */
static struct verify_site *replace_site(struct verify_coder *coder, int64_t pid, int64_t tid)
{
	struct verify_site *site = &coder->sites[coder->oldest];

	coder->oldest = (coder->oldest + 1) % SITES;
	*site = (struct verify_site){pid, tid, coder->item.ts, coder->item.line};
	return site;
}

static uint8_t *pack(struct verify_coder *coder, const struct gt_verify_order *order,
		     const struct gt_verify_item *item, uint8_t *at)
{
	const struct gt_verify_item *last = &coder->item;
	uint32_t number = site_of(coder, item);
	struct verify_site *site;

	*at++ = (uint8_t)(number << 4 | item->role);
	if (number == SITES) {
		at = put_step(at, (uint64_t)last->pid, (uint64_t)item->pid);
		at = put_step(at, (uint64_t)last->tid, (uint64_t)item->tid);
		site = replace_site(coder, item->pid, item->tid);
	} else {
		site = &coder->sites[number];
	}
	at = put_step(at, (uint64_t)site->ts, (uint64_t)item->ts);
	at = put_step(at, site->line, item->line);
	if (order->with_dur)
		at = put(at, (uint64_t)item->dur);
	if (order->with_id)
		at = put_step(at, (uint64_t)last->id, (uint64_t)item->id);
	site->ts = item->ts;
	site->line = item->line;
	coder->item = *item;
	return at;
}

static const uint8_t *unpack(struct verify_coder *coder, const struct gt_verify_order *order,
			     const uint8_t *at)
{
	struct gt_verify_item *item = &coder->item;
	uint32_t number = *at >> 4;
	struct verify_site *site = &coder->sites[number % SITES];

	item->role = *at++ & 15;
	if (number == SITES) {
		item->pid = (int64_t)take_step(&at, (uint64_t)item->pid);
		item->tid = (int64_t)take_step(&at, (uint64_t)item->tid);
		site = replace_site(coder, item->pid, item->tid);
	}
	item->pid = site->pid;
	item->tid = site->tid;
	item->ts = site->ts = (int64_t)take_step(&at, (uint64_t)site->ts);
	item->line = site->line = take_step(&at, site->line);
	if (order->with_dur)
		item->dur = (int64_t)take(&at);
	if (order->with_id)
		item->id = (int64_t)take_step(&at, (uint64_t)item->id);
	return at;
}

/* The next item of @run, which has one. */
static void advance(const struct gt_verify_sorted *sorted, struct gt_verify_run *run)
{
	if (run->at == run->block->used) {
		run->block = run->block->next;
		run->at = 0;
	}
	run->at = (uint32_t)(unpack(&run->coder, sorted->order, run->block->bytes + run->at) -
			     run->block->bytes);
	run->left--;
}

/* The halves of @from, of @half and @count - @half items, into @to. */
static void merge(const struct gt_verify_order *order, const struct gt_verify_item **from,
		  size_t half, size_t count, const struct gt_verify_item **to)
{
	size_t a = 0, b = half, n = 0;

	if (order->compare(from[half - 1], from[half]) > 0)
		while (a < half && b < count)
			to[n++] = order->compare(from[a], from[b]) <= 0 ? from[a++] : from[b++];
	memcpy(to + n, from + a, (half - a) * sizeof(*to));
	memcpy(to + n + (half - a), from + b, (count - b) * sizeof(*to));
}

static bool is_in_order(const struct gt_verify_order *order, const struct gt_verify_item **places,
			size_t count)
{
	size_t i = 1;

	while (i < count && order->compare(places[i - 1], places[i]) <= 0)
		i++;
	return i >= count;
}

/* The tracks of a run. */
struct verify_parts {
	uint8_t of[CHUNK]; /* track of each item */
	uint32_t count;
	const struct gt_verify_item *first[TRACKS]; /* of its items */
	size_t items[TRACKS], next[TRACKS];         /* how many, and where the next one goes */
};

/* False: there are too many. */
static bool find_tracks(const struct gt_verify_sorted *sorted, struct verify_parts *parts)
{
	for (size_t i = 0; i < sorted->items.count; i++) {
		const struct gt_verify_item *item = &sorted->items.at[i];
		uint32_t track = 0;

		while (track < parts->count && (parts->first[track]->tid != item->tid ||
						parts->first[track]->pid != item->pid))
			track++;
		if (track == TRACKS)
			return false;
		if (track == parts->count) {
			parts->first[parts->count++] = item;
			parts->items[track] = 0;
		}
		parts->of[i] = (uint8_t)track;
		parts->items[track]++;
	}
	return true;
}

/* Puts the items into @to track by track, each in the order of the file: there the times of a track
 * most often ascend, while tracks alternate. False: there are too many. */
static bool part_by_track(const struct gt_verify_sorted *sorted, const struct gt_verify_item **to)
{
	struct verify_parts parts;

	parts.count = 0;
	if (!find_tracks(sorted, &parts))
		return false;
	for (uint32_t track = 0; track < parts.count; track++) {
		parts.next[track] = 0;
		for (uint32_t other = 0; other < parts.count; other++)
			if (sorted->order->compare(parts.first[other], parts.first[track]) < 0)
				parts.next[track] += parts.items[other];
	}
	for (size_t i = 0; i < sorted->items.count; i++)
		to[parts.next[parts.of[i]]++] = &sorted->items.at[i];
	return true;
}

/* What is equal stays in its order: qsort() does not promise that. Returns the sorted places. */
static const struct gt_verify_item **sort(struct gt_verify_sorted *sorted)
{
	size_t count = sorted->items.count;
	const struct gt_verify_item **from = sorted->places, **to = sorted->places + count, **spare;

	if (!sorted->order->by_track || !part_by_track(sorted, from))
		for (size_t i = 0; i < count; i++)
			from[i] = &sorted->items.at[i];
	if (is_in_order(sorted->order, from, count))
		return from;
	for (size_t half = 1; half < count; half *= 2) {
		for (size_t i = 0, n; i < count; i += n) {
			n = count - i < 2 * half ? count - i : 2 * half;
			if (n > half)
				merge(sorted->order, from + i, half, n, to + i);
			else
				memcpy(to + i, from + i, n * sizeof(*to));
		}
		spare = from;
		from = to;
		to = spare;
	}
	return from;
}

/* A block with room for one more item, NULL: no memory. */
static struct gt_verify_block *block_of(struct gt_verify_sorted *sorted)
{
	const size_t room = BLOCK_SIZE - sizeof(struct gt_verify_block);
	struct gt_verify_block *block = sorted->last;

	if (block && block->used + LONGEST <= room)
		return block;
	block = malloc(BLOCK_SIZE);
	if (!block)
		return NULL;
	*block = (struct gt_verify_block){0};
	*(sorted->last ? &sorted->last->next : &sorted->blocks) = block;
	return sorted->last = block;
}

static int pack_run(struct gt_verify_sorted *sorted)
{
	size_t count = sorted->items.count;
	struct gt_verify_run run = {.left = (uint32_t)count};
	struct verify_coder coder = {0};
	const struct gt_verify_item **places;

	if (!sorted->places) /* the first run is the longest */
		sorted->places = malloc(2 * count * sizeof(const struct gt_verify_item *));
	if (!sorted->places)
		return -ENOMEM;
	places = sort(sorted);
	for (size_t i = 0; i < count; i++) {
		struct gt_verify_block *block = block_of(sorted);

		if (!block)
			return -ENOMEM;
		if (!i) {
			run.block = block;
			run.at = block->used;
		}
		block->used = (uint32_t)(pack(&coder, sorted->order, places[i],
					      block->bytes + block->used) -
					 block->bytes);
	}
	sorted->items.count = 0;
	return gt_vec_push(&sorted->runs, run) ? 0 : -ENOMEM;
}

int gt_verify_sorted_add(struct gt_verify_sorted *sorted, const struct gt_verify_item *item)
{
	if (!gt_vec_push(&sorted->items, *item))
		return -ENOMEM;
	return sorted->items.count < CHUNK ? 0 : pack_run(sorted);
}

/* A stable merge: equal items stay in the order of the file. */
static bool is_before(const struct gt_verify_sorted *sorted, const struct gt_verify_run *a,
		      const struct gt_verify_run *b)
{
	int order = sorted->order->compare(&a->coder.item, &b->coder.item);

	return order ? order < 0 : a < b;
}

/* Puts the run at @i where it belongs, below those before it. */
static void sift(struct gt_verify_sorted *sorted, size_t i)
{
	struct gt_verify_run **heap = sorted->heap.at, *run = heap[i];

	for (size_t child; (child = 2 * i + 1) < sorted->heap.count; i = child) {
		if (child + 1 < sorted->heap.count &&
		    is_before(sorted, heap[child + 1], heap[child]))
			child++;
		if (!is_before(sorted, heap[child], run))
			break;
		heap[i] = heap[child];
	}
	heap[i] = run;
}

/* The better child of the first, which alone may take its place. */
static void choose_second(struct gt_verify_sorted *sorted)
{
	struct gt_verify_run **heap = sorted->heap.at;

	sorted->second = sorted->heap.count > 1;
	if (sorted->heap.count > 2 && is_before(sorted, heap[2], heap[1]))
		sorted->second = 2;
}

int gt_verify_sorted_end(struct gt_verify_sorted *sorted)
{
	int rc = sorted->items.count ? pack_run(sorted) : 0;

	gt_vec_free(&sorted->items);
	free(sorted->places);
	sorted->places = NULL;
	for (size_t i = 0; !rc && i < sorted->runs.count; i++) {
		advance(sorted, &sorted->runs.at[i]);
		if (!gt_vec_push(&sorted->heap, &sorted->runs.at[i]))
			rc = -ENOMEM;
	}
	for (size_t i = sorted->heap.count / 2; !rc && i-- > 0;)
		sift(sorted, i);
	choose_second(sorted);
	return rc;
}

const struct gt_verify_item *gt_verify_sorted_next(struct gt_verify_sorted *sorted)
{
	struct gt_verify_run **heap = sorted->heap.at;

	if (sorted->is_taken) {
		bool goes_on = heap[0]->left;

		if (goes_on)
			advance(sorted, heap[0]);
		else
			heap[0] = heap[--sorted->heap.count];
		if (!goes_on ||
		    (sorted->second && is_before(sorted, heap[sorted->second], heap[0]))) {
			if (sorted->heap.count)
				sift(sorted, 0);
			choose_second(sorted);
		}
	}
	sorted->is_taken = sorted->heap.count;
	return sorted->is_taken ? &heap[0]->coder.item : NULL;
}

static bool is_same_track(const struct gt_verify_run *a, const struct gt_verify_run *b)
{
	return a->coder.item.pid == b->coder.item.pid && a->coder.item.tid == b->coder.item.tid;
}

/* All runs with items of the track that begins stand at the first one, above the others in the
 * heap. The earliest of them has the first in the file. */
static const struct gt_verify_run *earliest_run(const struct gt_verify_sorted *sorted)
{
	const struct gt_verify_run *first = sorted->heap.at[0], *earliest = first;
	size_t waiting[DEEPEST] = {0};

	for (size_t count = 1; count;) {
		size_t i = waiting[--count];

		if (i >= sorted->heap.count || !is_same_track(sorted->heap.at[i], first))
			continue;
		if (sorted->heap.at[i] < earliest)
			earliest = sorted->heap.at[i];
		waiting[count++] = 2 * i + 1;
		waiting[count++] = 2 * i + 2;
	}
	return earliest;
}

uint64_t gt_verify_sorted_first_line(const struct gt_verify_sorted *sorted)
{
	const struct gt_verify_run *earliest = earliest_run(sorted);
	struct gt_verify_run run = *earliest;
	uint64_t line = run.coder.item.line;

	while (run.left) {
		advance(sorted, &run);
		if (!is_same_track(&run, earliest))
			break;
		if (run.coder.item.line < line)
			line = run.coder.item.line;
	}
	return line;
}

void gt_verify_sorted_fini(struct gt_verify_sorted *sorted)
{
	for (struct gt_verify_block *block = sorted->blocks, *next; block; block = next) {
		next = block->next;
		free(block);
	}
	gt_vec_free(&sorted->items);
	gt_vec_free(&sorted->runs);
	gt_vec_free(&sorted->heap);
	free(sorted->places);
	*sorted = (struct gt_verify_sorted){.order = sorted->order};
}
