/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readings of both forms share: GPU work finds the call that asked for it by its
 * correlation number, the call standing before it in every file. One thread per reading.
 */
#include "readers/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CALLS 1024u
#define MAX_STRINGS ((size_t)8 << 30)

int gt_events_init(struct gt_events *events)
{
	events->strings = gt_intern_new(MAX_STRINGS);
	events->calls = calloc(FIRST_CALLS, sizeof(*events->calls));
	events->call_slots = FIRST_CALLS;
	gt_arena_init(&events->arena, 0);
	return events->strings && events->calls ? 0 : -ENOMEM;
}

void gt_events_fini(struct gt_events *events)
{
	gt_intern_free(events->strings);
	gt_arena_fini(&events->arena);
	free(events->calls);
	events->strings = NULL;
	events->calls = NULL;
}

int gt_events_fail(struct gt_events *events, const char *path, const char *text, int code)
{
	snprintf(events->error, sizeof(events->error), "%s: %s", path, text);
	return code;
}

static struct gt_events_call *slot_of(struct gt_events_call *calls, uint32_t slots,
				      uint32_t correlation)
{
	uint32_t i = correlation * 0x9e3779b1u;

	for (;; i++) {
		struct gt_events_call *call = &calls[i & (slots - 1)];

		if (!call->correlation || call->correlation == correlation)
			return call;
	}
}

static int grow(struct gt_events *events)
{
	uint32_t wanted = events->call_slots * 2;
	struct gt_events_call *calls = wanted ? calloc(wanted, sizeof(*calls)) : NULL;

	if (!calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->call_slots; i++)
		if (events->calls[i].correlation)
			*slot_of(calls, wanted, events->calls[i].correlation) = events->calls[i];
	free(events->calls);
	events->calls = calls;
	events->call_slots = wanted;
	return 0;
}

static int remember(struct gt_events *events, const struct gt_event *event)
{
	struct gt_events_call *call;

	if (!event->correlation)
		return 0;
	if (events->call_count >= events->call_slots / 2 && grow(events) < 0)
		return -ENOMEM;
	call = slot_of(events->calls, events->call_slots, event->correlation);
	events->call_count += !call->correlation;
	*call = (struct gt_events_call){.correlation = event->correlation,
					.tid = event->tid,
					.start = event->start,
					.op = event->api.op,
					.stack = event->stack};
	return 0;
}

static void join(struct gt_events *events, struct gt_event *event)
{
	struct gt_events_call *call;

	if (!event->correlation)
		return;
	call = slot_of(events->calls, events->call_slots, event->correlation);
	if (!call->correlation)
		return;
	event->launch.known = true;
	event->launch.first = !call->followed;
	event->launch.tid = call->tid;
	event->launch.start = call->start;
	event->launch.stack = call->stack;
	event->launch.op = call->op;
	call->followed = true;
}

int gt_events_give(struct gt_events *events, struct gt_event *event)
{
	int error = 0;

	if (event->kind == GT_EVENT_API)
		error = remember(events, event);
	else if (gt_event_is_gpu(event->kind))
		join(events, event);
	if (error)
		return error;
	events->count++;
	return events->take_event(event, events->data);
}
