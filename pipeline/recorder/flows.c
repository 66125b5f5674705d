/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A hash table of threads; one that finds no memory has no flows.
 */
#include "pipeline/recorder/flows.h"

#include "core/guest/memory.h"
#include "core/hash.h"

#define FIRST_CAPACITY 256u

static struct gt_recorder_first *slot_of(const struct gt_recorder_flows *flows, uint32_t tid)
{
	uint32_t at = (uint32_t)gt_hash_word(tid);

	for (;; at++) {
		struct gt_recorder_first *slot = &flows->first[at & (flows->capacity - 1)];

		if (!slot->tid || slot->tid == tid)
			return slot;
	}
}

static bool grow(struct gt_recorder_flows *flows)
{
	struct gt_recorder_flows more = {.count = flows->count,
					 .capacity = flows->capacity ? flows->capacity * 2
								     : FIRST_CAPACITY};

	more.first = gt_memory_map(more.capacity * sizeof(*more.first));
	if (!more.first)
		return false;
	for (uint32_t i = 0; i < flows->capacity; i++)
		if (flows->first[i].tid)
			*slot_of(&more, flows->first[i].tid) = flows->first[i];
	gt_recorder_flows_fini(flows);
	*flows = more;
	return true;
}

static void note_call(struct gt_recorder_flows *flows, const struct gt_event *call)
{
	struct gt_recorder_first *slot;

	if (!call->tid || (flows->count * 2 >= flows->capacity && !grow(flows)))
		return;
	slot = slot_of(flows, call->tid);
	if (slot->tid)
		return;
	*slot = (struct gt_recorder_first){.start = call->start, .tid = call->tid};
	flows->count++;
}

static bool has_call(const struct gt_recorder_flows *flows, const struct gt_launch *launch)
{
	const struct gt_recorder_first *slot;

	if (!flows->capacity || !launch->tid)
		return false;
	slot = slot_of(flows, launch->tid);
	return slot->tid && launch->start >= slot->start;
}

void gt_recorder_flows_see(struct gt_recorder_flows *flows, struct gt_event *event)
{
	if (event->kind == GT_EVENT_API)
		note_call(flows, event);
	else if (gt_event_is_gpu(event->kind) && event->launch.start &&
		 !has_call(flows, &event->launch))
		event->launch.start = 0;
}

void gt_recorder_flows_fini(struct gt_recorder_flows *flows)
{
	gt_memory_unmap(flows->first, flows->capacity * sizeof(*flows->first));
	*flows = (struct gt_recorder_flows){0};
}
