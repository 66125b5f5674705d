/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/output/waiting.h"

#include "core/guest/clock.h"
#include "core/guest/memory.h"

#define WAITING_FIRST 256u
#define WAITING_MAX   (1u << 16)

_Static_assert(GT_EVENT_COUNT_ <= GT_WAITING_KEY_NODE, "a kind has room below the bit");

static bool grow(struct gt_waiting *waiting)
{
	size_t capacity = waiting->capacity ? waiting->capacity * 2 : WAITING_FIRST;
	struct gt_waiting_event *events;

	if (capacity > WAITING_MAX ||
	    !gt_memory_is_ample((capacity - waiting->capacity) * sizeof(*events)))
		return false;
	events = gt_memory_grow(waiting->events, waiting->capacity * sizeof(*events),
				capacity * sizeof(*events));
	if (!events)
		return false;
	waiting->events = events;
	waiting->capacity = capacity;
	return true;
}

bool gt_waiting_push(struct gt_waiting *waiting, const struct gt_event *event)
{
	if (waiting->count == waiting->capacity && !grow(waiting))
		return false;
	waiting->events[waiting->count++] =
		(struct gt_waiting_event){.event = *event, .since = gt_clock_now()};
	return true;
}

static uint64_t node_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL)
		return event->kernel.graph_node_id;
	if (event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET)
		return event->memory.graph_node_id;
	return 0;
}

/* CUPTI has the graph in the upper half of a node, and its nodes count from 0: both halves have to
 * change all bits. */
static uint64_t mix(uint64_t node)
{
	node = (node ^ node >> 32) * 0x9e3779b97f4a7c15u;
	return (node ^ node >> 29) * 0xbf58476d1ce4e5b9u;
}

uint64_t gt_waiting_key(const struct gt_event *event)
{
	uint64_t key = (uint64_t)event->correlation << 32 | event->kind, node = node_of(event);

	if (!node)
		return key;
	return (key ^ (mix(node) & ~(uint64_t)GT_WAITING_KEY_FIXED)) | GT_WAITING_KEY_NODE;
}

void gt_waiting_free(struct gt_waiting *waiting)
{
	gt_memory_unmap(waiting->events, waiting->capacity * sizeof(*waiting->events));
	*waiting = (struct gt_waiting){0};
}
