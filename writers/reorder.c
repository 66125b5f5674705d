/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of what came in order, and a binary heap of the rest: small keys over a pool of event
 * copies. Drain thread only.
 */
#include "writers/reorder.h"

#include <stddef.h>

#include "core/guest/memory.h"

struct key {
	uint64_t start, end;
	uint64_t order; /* of arrival */
	uint32_t slot;
};

struct gt_reorder {
	uint32_t capacity;
	uint32_t count;
	uint64_t pushed;
	struct key *heap;
	uint32_t *run;  /* slots in order, from @first on, round */
	uint32_t *free; /* slots, free[count..] */
	uint32_t heaped, queued, first;
	struct gt_event *events;
};

struct gt_reorder *gt_reorder_new(uint32_t capacity)
{
	struct gt_reorder *window = gt_memory_map(sizeof(*window));

	if (!window)
		return NULL;
	window->capacity = capacity;
	window->heap = gt_memory_map(capacity * sizeof(*window->heap));
	window->run = gt_memory_map(capacity * sizeof(*window->run));
	window->free = gt_memory_map(capacity * sizeof(*window->free));
	window->events = gt_memory_map(capacity * sizeof(*window->events));
	if (!window->heap || !window->run || !window->free || !window->events) {
		gt_reorder_free(window);
		return NULL;
	}
	for (uint32_t i = 0; i < capacity; i++)
		window->free[i] = i;
	return window;
}

void gt_reorder_free(struct gt_reorder *window)
{
	if (!window)
		return;
	if (window->heap)
		gt_memory_unmap(window->heap, window->capacity * sizeof(*window->heap));
	if (window->run)
		gt_memory_unmap(window->run, window->capacity * sizeof(*window->run));
	if (window->free)
		gt_memory_unmap(window->free, window->capacity * sizeof(*window->free));
	if (window->events)
		gt_memory_unmap(window->events, window->capacity * sizeof(*window->events));
	gt_memory_unmap(window, sizeof(*window));
}

bool gt_reorder_full(const struct gt_reorder *window)
{
	return window->count == window->capacity;
}

static bool before(const struct key *a, const struct key *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	if (a->end != b->end)
		return a->end > b->end;
	return a->order < b->order;
}

static uint32_t *run_at(const struct gt_reorder *window, uint32_t i)
{
	uint32_t at = window->first + i;

	return &window->run[at < window->capacity ? at : at - window->capacity];
}

/* As old as none in the heap: what equals one of the run comes after it, as it arrived later. */
static struct key run_key(const struct gt_reorder *window, uint32_t i)
{
	uint32_t slot = *run_at(window, i);

	return (struct key){
		.start = window->events[slot].start, .end = window->events[slot].end, .slot = slot};
}

static void sift_up(struct gt_reorder *window, const struct key *key)
{
	uint32_t i = window->heaped++;

	while (i && before(key, &window->heap[(i - 1) / 2])) {
		window->heap[i] = window->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	window->heap[i] = *key;
}

void gt_reorder_push(struct gt_reorder *window, const struct gt_event *event)
{
	struct key key = {.start = event->start,
			  .end = event->end,
			  .order = window->pushed++,
			  .slot = window->free[window->count++]};

	struct key last;

	window->events[key.slot] = *event;
	if (window->queued) {
		last = run_key(window, window->queued - 1);
		if (before(&key, &last)) {
			sift_up(window, &key);
			return;
		}
	}
	*run_at(window, window->queued++) = key.slot;
}

/* Fills the hole at the top with the last key. */
static void sift_down(struct gt_reorder *window, struct key last)
{
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < window->heaped) {
		if (child + 1 < window->heaped &&
		    before(&window->heap[child + 1], &window->heap[child]))
			child++;
		if (!before(&window->heap[child], &last))
			break;
		window->heap[i] = window->heap[child];
		i = child;
	}
	window->heap[i] = last;
}

/* An event has left the caches when its turn comes: the one after the next is
 * fetched. */
static void fetch(const struct gt_reorder *window, uint32_t i)
{
	const char *event = (const char *)&window->events[*run_at(window, i)];

	for (size_t at = 0; at < sizeof(window->events[0]); at += 64)
		__builtin_prefetch(event + at);
}

const struct gt_event *gt_reorder_pop(struct gt_reorder *window, uint64_t until)
{
	struct key top;
	bool heaped;

	if (window->count == 0)
		return NULL;
	if (window->queued)
		top = run_key(window, 0);
	if (window->queued > 2)
		fetch(window, 2);
	heaped = window->heaped && (!window->queued || before(&window->heap[0], &top));
	if (heaped)
		top = window->heap[0];
	if (top.start > until)
		return NULL;
	if (heaped) {
		window->heaped--;
		sift_down(window, window->heap[window->heaped]);
	} else {
		window->first = (uint32_t)(run_at(window, 1) - window->run);
		window->queued--;
	}
	window->free[--window->count] = top.slot;
	return &window->events[top.slot];
}
