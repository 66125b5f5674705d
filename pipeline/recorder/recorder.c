/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Blocks are made as they are needed; those that have gone are used again.
 */
#include "pipeline/recorder/recorder.h"

#include <errno.h>
#include <string.h>

#include "core/guest/memory.h"
#include "core/spool.h"

#define BLOCK_LEAST ((uint64_t)32 << 10)

static struct gt_recorder_state *state_of(const struct gt_recorder *recorder)
{
	return &recorder->store->states[atomic_load(&recorder->store->at) & 1];
}

static struct gt_recorder_block *block_at(const struct gt_recorder *recorder, uint64_t number)
{
	return &recorder->store->blocks[number % GT_RECORDER_BLOCKS];
}

/* Returns where. */
static uint32_t prepare_state(struct gt_recorder *recorder, const struct gt_recorder_state *state)
{
	uint32_t other = !(atomic_load(&recorder->store->at) & 1);

	recorder->store->states[other] = *state;
	return other;
}

/* All at once, however soon a kill comes. */
static void set_state(struct gt_recorder *recorder, const struct gt_recorder_state *state)
{
	atomic_store(&recorder->store->at, prepare_state(recorder, state));
}

int gt_recorder_start(struct gt_recorder *recorder)
{
	uint64_t bytes = recorder->plan.bytes / GT_RECORDER_BLOCKS;

	if (bytes < BLOCK_LEAST)
		bytes = BLOCK_LEAST;
	recorder->store = gt_spool_map(sizeof(*recorder->store));
	if (!recorder->store)
		return -ENOMEM;
	recorder->store->keep_ns = recorder->plan.keep_ns;
	recorder->store->block_bytes = (uint32_t)bytes & ~4095u;
	recorder->most = recorder->plan.bytes / recorder->store->block_bytes;
	if (recorder->most > GT_RECORDER_BLOCKS)
		recorder->most = GT_RECORDER_BLOCKS;
	return 0;
}

void gt_recorder_fini(struct gt_recorder *recorder)
{
	struct gt_recorder_store *store = recorder->store;

	for (uint32_t i = 0; store && i < GT_RECORDER_BLOCKS; i++)
		gt_memory_unmap(store->blocks[i].data, store->block_bytes);
	for (uint32_t i = 0; store && i < recorder->spare_count; i++)
		gt_memory_unmap(recorder->spare[i], store->block_bytes);
	gt_memory_unmap(store, sizeof(*store));
	memset(recorder, 0, sizeof(*recorder));
}

static void give_back(struct gt_recorder *recorder, struct gt_recorder_block *block)
{
	recorder->spare[recorder->spare_count++] = block->data;
	block->data = NULL;
}

/* Nothing needs the past blocks before @to any more. */
static void free_past(struct gt_recorder *recorder, uint64_t to)
{
	struct gt_recorder_state state = *state_of(recorder);
	uint64_t oldest = state.oldest;

	state.oldest = to;
	set_state(recorder, &state);
	for (; oldest < to; oldest++)
		give_back(recorder, block_at(recorder, oldest));
}

/* Blocks have become past. Without a spool nobody looks at them again. */
static void set_past(struct gt_recorder *recorder, const struct gt_recorder_state *state)
{
	recorder->is_open &= state->first < state->end;
	set_state(recorder, state);
	if (!gt_spool_is_open())
		free_past(recorder, state->first);
}

/* The oldest block goes; unless it is in a file, what is in it is gone. @cut: for lack of room. */
static void drop_oldest(struct gt_recorder *recorder, bool cut)
{
	struct gt_recorder_state state = *state_of(recorder);
	const struct gt_recorder_block *block = block_at(recorder, state.first);
	bool is_gone = state.first >= recorder->read_to;

	uint64_t *gone = is_gone ? state.gone : recorder->left.gone;
	uint64_t *newest = is_gone ? &state.cut : &recorder->left.cut;

	for (int kind = 0; kind < GT_EVENT_COUNT_; kind++)
		gone[kind] += block->count[kind];
	if (cut && block->newest > *newest)
		*newest = block->newest;
	state.first++;
	set_past(recorder, &state);
}

static bool has_blocks(const struct gt_recorder *recorder)
{
	const struct gt_recorder_state *state = state_of(recorder);

	return state->first < state->end;
}

/* Makes one block's memory free, of a past one if there is any. False: there is none. */
static bool give_up_oldest(struct gt_recorder *recorder)
{
	const struct gt_recorder_state *state = state_of(recorder);

	if (state->oldest == state->first && !has_blocks(recorder))
		return false;
	if (state->oldest == state->first)
		drop_oldest(recorder, true);
	state = state_of(recorder);
	if (state->oldest < state->first)
		free_past(recorder, state->oldest + 1);
	return true;
}

/* Memory for a block; the oldest one's if there is no other. NULL: none at all. */
static uint8_t *take_memory(struct gt_recorder *recorder)
{
	uint8_t *made = NULL;

	if (!recorder->spare_count && recorder->made < recorder->most)
		made = gt_spool_map(recorder->store->block_bytes);
	if (made) {
		recorder->made++;
		return made;
	}
	if (!recorder->spare_count && !give_up_oldest(recorder))
		return NULL;
	return recorder->spare[--recorder->spare_count];
}

static bool open_block(struct gt_recorder *recorder)
{
	uint8_t *data = take_memory(recorder);
	struct gt_recorder_state state;
	struct gt_recorder_block *block;

	if (!data)
		return false;
	state = *state_of(recorder);
	block = block_at(recorder, state.end);
	memset(block->count, 0, sizeof(block->count));
	block->newest = 0;
	block->data = data;
	atomic_store(&block->used, 0);
	memset(&recorder->code, 0, sizeof(recorder->code));
	state.end++;
	set_state(recorder, &state);
	recorder->is_open = true;
	return true;
}

static struct gt_recorder_block *newest_block(const struct gt_recorder *recorder)
{
	return block_at(recorder, state_of(recorder)->end - 1);
}

static bool has_room(const struct gt_recorder *recorder)
{
	return recorder->is_open &&
	       atomic_load(&newest_block(recorder)->used) + GT_EVENT_CODE_MAX <=
		       recorder->store->block_bytes;
}

bool gt_recorder_keep(struct gt_recorder *recorder, const struct gt_event *event)
{
	struct gt_recorder_block *block;
	uint32_t used;

	if (event->kind == GT_EVENT_DEVICE) /* in the metadata */
		return true;
	if (!has_room(recorder) && !open_block(recorder))
		return false;
	block = newest_block(recorder);
	used = atomic_load(&block->used);
	if (event->end > block->newest)
		block->newest = event->end;
	block->count[event->kind]++;
	used += (uint32_t)gt_event_code_put(&recorder->code, event, recorder->strings,
					    block->data + used);
	atomic_store(&block->used, used);
	return true;
}

void gt_recorder_name(struct gt_recorder *recorder, const struct gt_event *event)
{
	struct gt_recorder_store *store = recorder->store;
	uint32_t used = atomic_load(&store->named);

	if (used + GT_EVENT_CODE_MAX > GT_RECORDER_NAMES)
		return;
	used += (uint32_t)gt_event_code_put(&recorder->name_code, event, recorder->strings,
					    store->names + used);
	atomic_store(&store->named, used);
}

static struct gt_recorder_open *next_open(const struct gt_recorder *recorder)
{
	return &recorder->store->open[!(atomic_load(&recorder->store->open_at) & 1)];
}

void gt_recorder_open_begin(struct gt_recorder *recorder)
{
	next_open(recorder)->used = 0;
	memset(&recorder->open_code, 0, sizeof(recorder->open_code));
}

bool gt_recorder_open(struct gt_recorder *recorder, const struct gt_event *range)
{
	struct gt_recorder_open *open = next_open(recorder);

	if (open->used + GT_EVENT_CODE_MAX > sizeof(open->data))
		return false;
	open->used += (uint32_t)gt_event_code_put(&recorder->open_code, range, recorder->strings,
						  open->data + open->used);
	return true;
}

void gt_recorder_opened(struct gt_recorder *recorder)
{
	atomic_store(&recorder->store->open_at, !(atomic_load(&recorder->store->open_at) & 1));
}

void gt_recorder_age(struct gt_recorder *recorder, uint64_t now)
{
	uint64_t keep = recorder->plan.keep_ns;

	atomic_store(&recorder->store->now, now);
	while (has_blocks(recorder)) {
		const struct gt_recorder_block *block =
			block_at(recorder, state_of(recorder)->first);

		if (block->newest + keep >= now)
			break;
		drop_oldest(recorder, false);
	}
}

uint64_t gt_recorder_seal(struct gt_recorder *recorder)
{
	recorder->is_open = false;
	return state_of(recorder)->end;
}

bool gt_recorder_read(struct gt_recorder *recorder, uint64_t seal, uint64_t since,
		      void (*take)(void *context, const struct gt_event *event), void *context)
{
	const struct gt_recorder_state *state = state_of(recorder);
	uint64_t number = state->first > recorder->read_to ? state->first : recorder->read_to;
	const struct gt_recorder_block *block = block_at(recorder, number);
	struct gt_event_code code = {0};
	uint32_t used, at = 0;
	struct gt_event event;
	size_t n;

	if (number >= state->end || number >= seal)
		return false;
	recorder->read_to = number + 1;
	used = atomic_load(&block->used);
	while (at < used &&
	       (n = gt_event_code_get(&code, block->data + at, used - at, NULL, &event))) {
		at += (uint32_t)n;
		if (event.kind == GT_EVENT_COUNT_)
			continue;
		if (event.end < since)
			recorder->old[event.kind]++;
		else
			take(context, &event);
	}
	return true;
}

static struct gt_recorder_state after_dump(const struct gt_recorder *recorder, uint64_t time)
{
	struct gt_recorder_state state = *state_of(recorder);

	for (int kind = 0; kind < GT_EVENT_COUNT_; kind++)
		state.gone[kind] += recorder->old[kind];
	if (recorder->read_to > state.first)
		state.first = recorder->read_to;
	state.told = time;
	state.dumps++;
	return state;
}

void gt_recorder_closing(struct gt_recorder *recorder, uint64_t time)
{
	struct gt_recorder_state state = after_dump(recorder, time);

	recorder->store->closing = prepare_state(recorder, &state);
}

void gt_recorder_done(struct gt_recorder *recorder, uint64_t time)
{
	struct gt_recorder_state state = after_dump(recorder, time);

	memset(recorder->old, 0, sizeof(recorder->old));
	memset(&recorder->left, 0, sizeof(recorder->left));
	set_past(recorder, &state);
}

void gt_recorder_not_done(struct gt_recorder *recorder)
{
	struct gt_recorder_state state = *state_of(recorder);

	for (int kind = 0; kind < GT_EVENT_COUNT_; kind++)
		state.gone[kind] += recorder->left.gone[kind];
	if (recorder->left.cut > state.cut)
		state.cut = recorder->left.cut;
	recorder->read_to = state.first;
	memset(recorder->old, 0, sizeof(recorder->old));
	memset(&recorder->left, 0, sizeof(recorder->left));
	set_past(recorder, &state);
}

void gt_recorder_settle(struct gt_recorder *recorder, uint64_t now, uint64_t until)
{
	const struct gt_recorder_state *state = state_of(recorder);

	if (recorder->past_to > state->oldest && recorder->past_at < until)
		free_past(recorder, recorder->past_to);
	state = state_of(recorder);
	if (recorder->past_to > state->oldest)
		return;
	recorder->past_to = state->first;
	recorder->past_at = now;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t gt_recorder_whole_from(const struct gt_recorder_store *store, uint64_t now)
{
	const struct gt_recorder_state *state = &store->states[atomic_load(&store->at) & 1];

	return later(now > store->keep_ns ? now - store->keep_ns : 0,
		     later(state->cut, state->told));
}

uint32_t gt_recorder_dumps(const struct gt_recorder_store *store)
{
	return store->states[atomic_load(&store->at) & 1].dumps;
}

bool gt_recorder_is_empty(const struct gt_recorder *recorder)
{
	return !has_blocks(recorder);
}

static const enum gt_ledger_key keys[GT_EVENT_COUNT_] = {
	[GT_EVENT_API] = GT_LEDGER_CALLS_OLDER,      [GT_EVENT_KERNEL] = GT_LEDGER_KERNELS_OLDER,
	[GT_EVENT_MEMCPY] = GT_LEDGER_MEMCPYS_OLDER, [GT_EVENT_MEMSET] = GT_LEDGER_MEMSETS_OLDER,
	[GT_EVENT_GRAPH] = GT_LEDGER_GRAPHS_OLDER,   [GT_EVENT_SAMPLE] = GT_LEDGER_SAMPLES_OLDER,
	[GT_EVENT_RANGE] = GT_LEDGER_RANGES_OLDER,   [GT_EVENT_MARK] = GT_LEDGER_RANGES_OLDER,
	[GT_EVENT_SYNC] = GT_LEDGER_OTHERS_OLDER,    [GT_EVENT_OVERHEAD] = GT_LEDGER_OTHERS_OLDER,
	[GT_EVENT_FRAME] = GT_LEDGER_OTHERS_OLDER,   [GT_EVENT_COUNTER] = GT_LEDGER_OTHERS_OLDER,
	[GT_EVENT_NOTE] = GT_LEDGER_OTHERS_OLDER,    [GT_EVENT_TENSOR] = GT_LEDGER_OTHERS_OLDER,
};

void gt_recorder_lose(struct gt_ledger *ledger, enum gt_event_kind kind, uint64_t n)
{
	if (keys[kind])
		gt_ledger_add(ledger, keys[kind], n);
}

void gt_recorder_count(const struct gt_recorder_store *store, const uint64_t *more,
		       struct gt_ledger *ledger)
{
	const struct gt_recorder_state *state = &store->states[atomic_load(&store->at) & 1];

	for (int kind = 0; kind < GT_EVENT_COUNT_; kind++)
		if (keys[kind])
			ledger->count[keys[kind]] = 0;
	for (int kind = 0; kind < GT_EVENT_COUNT_; kind++)
		gt_recorder_lose(ledger, (enum gt_event_kind)kind, state->gone[kind] + more[kind]);
}
