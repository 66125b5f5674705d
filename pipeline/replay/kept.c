/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/replay/kept.h"

#include <string.h>

#include "core/guest/memory.h"
#include "core/hash.h"

#define FIRST_KEYS ((size_t)1 << 12)

/* ---- which events are written ---- */

static uint64_t *slot_of(const struct gt_replay_kept *kept, uint64_t key)
{
	size_t at = key;

	for (;; at++) {
		uint64_t *slot = &kept->keys[at & (kept->key_capacity - 1)];

		if (!*slot || *slot == key)
			return slot;
	}
}

static bool grow(struct gt_replay_kept *kept)
{
	struct gt_replay_kept more = *kept;

	more.key_capacity = kept->key_capacity ? kept->key_capacity * 2 : FIRST_KEYS;
	more.keys = gt_memory_map(more.key_capacity * sizeof(*more.keys));
	if (!more.keys)
		return false;
	for (size_t i = 0; i < kept->key_capacity; i++)
		if (kept->keys[i])
			*slot_of(&more, kept->keys[i]) = kept->keys[i];
	gt_memory_unmap(kept->keys, kept->key_capacity * sizeof(*kept->keys));
	*kept = more;
	return true;
}

static void add_key(struct gt_replay_kept *kept, uint64_t key)
{
	uint64_t *slot;

	if (kept->key_count * 2 >= kept->key_capacity && !grow(kept)) {
		kept->has_failed = true;
		return;
	}
	slot = slot_of(kept, key);
	kept->key_count += !*slot;
	*slot = key;
}

static bool has_key(const struct gt_replay_kept *kept, uint64_t key)
{
	return kept->key_capacity && *slot_of(kept, key);
}

static uint64_t node_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_KERNEL)
		return event->kernel.graph_node_id;
	if (event->kind == GT_EVENT_GRAPH)
		return event->graph.graph_id;
	if (event->kind == GT_EVENT_SYNC)
		return event->sync.graph_node_id;
	return event->memory.graph_node_id;
}

/* A range by where it began: it may have been kept as one that was open. */
static uint64_t key_of_range(const struct gt_event *event)
{
	uint64_t words[] = {
		GT_EVENT_RANGE,      event->tid,
		event->start,        event->range.name->id,
		event->range.on_gpu, event->place.device,
		event->place.stream, event->range.is_unified ? event->range.unified.address : 0};

	return gt_hash_bytes(words, sizeof(words)) | 1;
}

static uint64_t key_of(const struct gt_event *event)
{
	uint64_t words[8] = {(uint64_t)event->kind, event->tid, event->start, event->end,
			     event->correlation};

	if (event->kind == GT_EVENT_RANGE)
		return key_of_range(event);
	if (gt_event_is_gpu(event->kind)) {
		words[5] = event->place.context;
		words[6] = event->place.stream;
		words[7] = node_of(event);
	} else if (event->kind == GT_EVENT_TENSOR) {
		words[5] = event->tensor.address;
		words[6] = (uint64_t)event->tensor.bytes;
	} else if (event->kind == GT_EVENT_MARK) {
		words[5] = event->range.name->id;
	}
	return gt_hash_bytes(words, sizeof(words)) | 1;
}

/* Counters and notes are made once. */
static bool comes_twice(const struct gt_event *event)
{
	return event->kind == GT_EVENT_API || event->kind == GT_EVENT_RANGE ||
	       event->kind == GT_EVENT_MARK || event->kind == GT_EVENT_SAMPLE ||
	       event->kind == GT_EVENT_TENSOR || event->kind == GT_EVENT_OVERHEAD ||
	       gt_event_is_gpu(event->kind);
}

/* False: it is written already, or was to be kept no longer. */
static bool pass(void *context, struct gt_event *event)
{
	struct gt_replay_kept *kept = context;
	uint64_t key = comes_twice(event) ? key_of(event) : 0;

	if (key && !kept->is_known && has_key(kept, key))
		return false;
	if (kept->is_replayed && event->end < gt_replay_kept_since(kept)) {
		kept->old[event->kind]++;
		return false;
	}
	if (key && (kept->is_known || event->kind == GT_EVENT_RANGE))
		add_key(kept, key);
	gt_recorder_flows_see(&kept->flows, event);
	return true;
}

/* ---- the store ---- */

void gt_replay_kept_init(struct gt_replay_kept *kept, const struct gt_recorder_store *recorder)
{
	kept->store =
		gt_spool_view_at(kept->view, gt_spool_address(recorder), sizeof(*kept->store));
	if (!kept->store)
		return;
	kept->gate = (struct gt_outlet_gate){.pass = pass, .context = kept};
	kept->outlet->gate = &kept->gate;
}

void gt_replay_kept_fini(struct gt_replay_kept *kept)
{
	gt_recorder_flows_fini(&kept->flows);
	gt_memory_unmap(kept->keys, kept->key_capacity * sizeof(*kept->keys));
	*kept = (struct gt_replay_kept){0};
}

uint64_t gt_replay_kept_now(const struct gt_replay_kept *kept)
{
	return atomic_load(&kept->store->now);
}

uint64_t gt_replay_kept_since(const struct gt_replay_kept *kept)
{
	uint64_t now = gt_replay_kept_now(kept);

	return now > kept->store->keep_ns ? now - kept->store->keep_ns : 0;
}

static const struct gt_string *find_string(void *context, const struct gt_string *pointer)
{
	return gt_replay_stores_string(context, pointer);
}

static const struct gt_stack *find_stack(void *context, const struct gt_stack *pointer)
{
	return gt_replay_stores_stack(context, pointer);
}

static const struct gt_stack_frame *find_frame(void *context, const struct gt_stack_frame *pointer)
{
	return gt_replay_stores_frame(context, pointer);
}

/* Each event of a sequence. */
static void each(struct gt_replay_kept *kept, const uint8_t *data, uint32_t size,
		 void (*take)(struct gt_replay_kept *kept, struct gt_event *event))
{
	const struct gt_event_addresses addresses = {.context = kept->stores,
						     .string = find_string,
						     .stack = find_stack,
						     .frame = find_frame};
	static struct gt_event_code code;
	struct gt_event event;
	uint32_t at = 0;
	size_t n;

	memset(&code, 0, sizeof(code));
	while (at < size &&
	       (n = gt_event_code_get(&code, data + at, size - at, &addresses, &event))) {
		at += (uint32_t)n;
		if (event.kind != GT_EVENT_COUNT_)
			take(kept, &event);
	}
}

/* Rings and buffers may still have it. */
static void take_past(struct gt_replay_kept *kept, struct gt_event *event)
{
	if (comes_twice(event))
		add_key(kept, key_of(event));
}

static void take_kept(struct gt_replay_kept *kept, struct gt_event *event)
{
	if (event->end >= gt_replay_kept_since(kept)) {
		gt_outlet_event(kept->outlet, event);
		return;
	}
	kept->old[event->kind]++;
	take_past(kept, event);
}

static void take_name(struct gt_replay_kept *kept, struct gt_event *event)
{
	if (event->kind == GT_EVENT_THREAD || event->kind == GT_EVENT_STREAM)
		gt_outlet_event(kept->outlet, event);
}

static const struct gt_recorder_state *state_of(const struct gt_replay_kept *kept)
{
	return &kept->store->states[atomic_load(&kept->store->at) & 1];
}

static void take_block(struct gt_replay_kept *kept, const struct gt_recorder_block *block,
		       void (*take)(struct gt_replay_kept *kept, struct gt_event *event))
{
	uint32_t used = atomic_load(&block->used);
	const uint8_t *data = gt_spool_view_at(kept->view, gt_spool_address(block->data), used);

	kept->bytes += used;
	if (data && kept->bytes <= kept->view->size)
		each(kept, data, used, take);
}

void gt_replay_kept_write(struct gt_replay_kept *kept)
{
	const struct gt_recorder_state *state = kept->store ? state_of(kept) : NULL;
	uint32_t named;

	if (!state)
		return;
	named = atomic_load(&kept->store->named);
	each(kept, kept->store->names, named < GT_RECORDER_NAMES ? named : GT_RECORDER_NAMES,
	     take_name);
	kept->is_known = true;
	for (uint64_t i = 0; i < GT_RECORDER_BLOCKS && i < state->end - state->oldest; i++)
		take_block(kept, &kept->store->blocks[(state->oldest + i) % GT_RECORDER_BLOCKS],
			   i < state->first - state->oldest ? take_past : take_kept);
	kept->is_known = false;
	kept->is_replayed = true;
}

static void take_open(struct gt_replay_kept *kept, struct gt_event *event)
{
	if (event->kind != GT_EVENT_RANGE)
		return;
	event->end = kept->outlet->newest > event->start ? kept->outlet->newest : event->start;
	event->range.unfinished = true;
	gt_outlet_event(kept->outlet, event);
}

void gt_replay_kept_open(struct gt_replay_kept *kept)
{
	const struct gt_recorder_open *open;

	if (!kept->store)
		return;
	kept->is_replayed = false;
	open = &kept->store->open[atomic_load(&kept->store->open_at) & 1];
	each(kept, open->data, open->used < sizeof(open->data) ? open->used : sizeof(open->data),
	     take_open);
}

void gt_replay_kept_count(const struct gt_replay_kept *kept, struct gt_ledger *ledger)
{
	if (kept->store)
		gt_recorder_count(kept->store, kept->old, ledger);
}
