/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/output/waiting.h"

#include "core/guest/clock.h"
#include "core/guest/memory.h"

#define WAITING_FIRST 256u
#define WAITING_MAX   (1u << 16)

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

uint64_t gt_waiting_key(const struct gt_event *event)
{
	uint64_t node = 0;

	if (event->kind == GT_EVENT_KERNEL)
		node = event->kernel.graph_node_id;
	else if (event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET)
		node = event->memory.graph_node_id;
	return ((uint64_t)event->correlation << 32 | event->kind) ^ node * 0x9e3779b97f4a7c15u;
}

void gt_waiting_free(struct gt_waiting *waiting)
{
	gt_memory_unmap(waiting->events, waiting->capacity * sizeof(*waiting->events));
	*waiting = (struct gt_waiting){0};
}
