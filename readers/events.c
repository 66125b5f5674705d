/* SPDX-License-Identifier: Apache-2.0
 *
 * Common to the readers of both formats: joins GPU work to its call by correlation id. Every file
 * has the call before its work. One thread per reading.
 */
#include "readers/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/hash.h"

/* In the order in which they are compared. */
static const enum gt_ledger_key compared[] = {
	GT_LEDGER_CALLS_WRITTEN,   GT_LEDGER_KERNELS_WRITTEN,  GT_LEDGER_MEMCPYS_WRITTEN,
	GT_LEDGER_MEMSETS_WRITTEN, GT_LEDGER_SYNCS_WRITTEN,    GT_LEDGER_OVERHEADS_WRITTEN,
	GT_LEDGER_RANGES_WRITTEN,  GT_LEDGER_SHADOWS_WRITTEN,  GT_LEDGER_FRAMES_WRITTEN,
	GT_LEDGER_SAMPLES_WRITTEN, GT_LEDGER_COUNTERS_WRITTEN, GT_LEDGER_NOTES_WRITTEN,
	GT_LEDGER_GRAPHS_WRITTEN,  GT_LEDGER_TENSORS_WRITTEN,
};

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
	gt_keymap_fini(&events->other_calls);
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
	uint32_t i = (uint32_t)gt_hash_word(correlation);

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

static bool is_wanted(const struct gt_events *events, uint32_t correlation)
{
	return !events->wanted_calls || gt_keymap_has(events->wanted_calls, correlation);
}

/* Of a call that is not wanted two bits stay: that it came, and that work followed. */
enum { CAME = 1, FOLLOWED = 2, CALLS_OF_WORD = 32 };

static uint64_t word_of(uint32_t correlation)
{
	return correlation / CALLS_OF_WORD + 1;
}

static unsigned int shift_of(uint32_t correlation)
{
	return correlation % CALLS_OF_WORD * 2;
}

static unsigned int other_call(const struct gt_events *events, uint32_t correlation)
{
	const struct gt_keymap_entry *word =
		gt_keymap_find(&events->other_calls, word_of(correlation));

	return word ? (uint64_t)word->value >> shift_of(correlation) & (CAME | FOLLOWED) : 0;
}

static int note_other(struct gt_events *events, uint32_t correlation, uint64_t bit)
{
	struct gt_keymap_entry *word = gt_keymap_get(&events->other_calls, word_of(correlation));

	if (!word)
		return -ENOMEM;
	word->value |= (int64_t)(bit << shift_of(correlation));
	return 0;
}

bool gt_events_left_out(const struct gt_events *events, uint32_t correlation)
{
	return other_call(events, correlation) & CAME;
}

static int remember(struct gt_events *events, const struct gt_event *event)
{
	struct gt_events_call *call;
	bool is_known;

	if (!event->correlation)
		return 0;
	if (!is_wanted(events, event->correlation))
		return note_other(events, event->correlation, CAME);
	if (events->call_count >= events->call_slots / 2 && grow(events) < 0)
		return -ENOMEM;
	call = slot_of(events->calls, events->call_slots, event->correlation);
	events->call_count += !call->correlation;
	is_known = call->correlation && call->start == event->start;
	*call = (struct gt_events_call){.correlation = event->correlation,
					.tid = event->tid,
					.start = event->start,
					.op = event->api.op,
					.stack = event->stack,
					.followed = is_known && call->followed};
	return 0;
}

static void join_other(struct gt_events *events, struct gt_event *event)
{
	unsigned int call = other_call(events, event->correlation);

	if (!(call & CAME))
		return;
	event->launch.known = true;
	event->launch.start =
		event->start; /* its own is not kept, and 0 is of no call in the file */
	event->launch.first = !(call & FOLLOWED);
	note_other(events, event->correlation, FOLLOWED); /* its word is there */
}

static void join(struct gt_events *events, struct gt_event *event)
{
	struct gt_events_call *call;

	if (!event->correlation)
		return;
	call = slot_of(events->calls, events->call_slots, event->correlation);
	if (!call->correlation) {
		join_other(events, event);
		return;
	}
	event->launch.known = true;
	event->launch.first = !call->followed;
	event->launch.tid = call->tid;
	event->launch.start = call->start;
	if (call->stack)
		event->launch.stack = call->stack;
	event->launch.op = call->op;
	call->followed = true;
}

void gt_events_doubt(const struct gt_events *events, char *ret_text, size_t size)
{
	*ret_text = 0;
	for (size_t i = 0; events->has_ledger && i < sizeof(compared) / sizeof(compared[0]); i++) {
		uint64_t told = events->ledger.count[compared[i]];
		uint64_t there = events->counted.count[compared[i]];

		if (told == there)
			continue;
		snprintf(ret_text, size, "the ledger says %" PRIu64 " %s, the file holds %" PRIu64,
			 told, gt_ledger_rows[compared[i]].json, there);
		return;
	}
}

struct gt_ledger gt_events_ledger(const struct gt_events *events)
{
	struct gt_ledger ledger = events->ledger;

	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++)
		ledger.count[compared[i]] = events->counted.count[compared[i]];
	return ledger;
}

void gt_events_complete_ledger(const struct gt_events *events, struct gt_ledger *ledger)
{
	uint64_t *count = ledger->count;

	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		const struct gt_ledger_kind *kind = &gt_ledger_kinds[i];

		if (events->has_key[kind->received])
			continue;
		count[kind->received] = events->counted.count[kind->written] + count[kind->lost];
		if (kind->untimed != GT_LEDGER_COUNT_)
			count[kind->received] += count[kind->untimed];
		count[kind->received] += gt_ledger_left_out(ledger, kind);
	}
	if (!events->has_key[GT_LEDGER_CALLS_SEEN])
		count[GT_LEDGER_CALLS_SEEN] =
			gt_ledger_ended_calls(ledger) + count[GT_LEDGER_CALLS_OPEN];
}

static void count(struct gt_events *events, const struct gt_event *event)
{
	enum gt_ledger_key key = gt_ledger_key_of(event);

	if (key != GT_LEDGER_COUNT_)
		gt_ledger_add(&events->counted, key, 1);
	events->count++;
}

int gt_events_give(struct gt_events *events, struct gt_event *event)
{
	int error = 0;

	if (event->kind == GT_EVENT_API && !events->unjoined)
		error = remember(events, event);
	else if (gt_event_is_gpu(event->kind) && !events->unjoined)
		join(events, event);
	if (error)
		return error;
	count(events, event);
	return events->take_event ? events->take_event(event, events->data) : 0;
}
