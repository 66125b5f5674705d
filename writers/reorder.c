/* SPDX-License-Identifier: Apache-2.0
 *
 * A binary heap of small keys over a pool of event copies. Drain thread only.
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
	struct key *heap; /* heap[count..] keeps the slots that are free */
	struct gt_event *events;
};

struct gt_reorder *gt_reorder_new(uint32_t capacity)
{
	struct gt_reorder *window = gt_memory_map(sizeof(*window));

	if (!window)
		return NULL;
	window->capacity = capacity;
	window->heap = gt_memory_map(capacity * sizeof(*window->heap));
	window->events = gt_memory_map(capacity * sizeof(*window->events));
	if (!window->heap || !window->events) {
		gt_reorder_free(window);
		return NULL;
	}
	for (uint32_t i = 0; i < capacity; i++)
		window->heap[i].slot = i;
	return window;
}

void gt_reorder_free(struct gt_reorder *window)
{
	if (!window)
		return;
	if (window->heap)
		gt_memory_unmap(window->heap, window->capacity * sizeof(*window->heap));
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

void gt_reorder_push(struct gt_reorder *window, const struct gt_event *event)
{
	uint32_t i = window->count++;
	struct key key = {.start = event->start,
			  .end = event->end,
			  .order = window->pushed++,
			  .slot = window->heap[i].slot};

	window->events[key.slot] = *event;
	while (i && before(&key, &window->heap[(i - 1) / 2])) {
		window->heap[i] = window->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	window->heap[i] = key;
}

/* Fills the hole at the top with the last key. */
static void sift_down(struct gt_reorder *window, struct key last)
{
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < window->count) {
		if (child + 1 < window->count &&
		    before(&window->heap[child + 1], &window->heap[child]))
			child++;
		if (!before(&window->heap[child], &last))
			break;
		window->heap[i] = window->heap[child];
		i = child;
	}
	window->heap[i] = last;
}

const struct gt_event *gt_reorder_pop(struct gt_reorder *window, uint64_t until)
{
	struct key top;

	if (window->count == 0 || window->heap[0].start > until)
		return NULL;
	top = window->heap[0];
	window->count--;
	sift_down(window, window->heap[window->count]);
	window->heap[window->count] = top;
	return &window->events[top.slot];
}
