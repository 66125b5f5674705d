/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/sources/holdings.h"

#include <string.h>

#include "collectors/call/tensor.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/memory.h"
#include "core/guest/text.h"
#include "core/hash.h"
#include "core/intern.h"
#include "core/schema/cuda_api.h"
#include "core/schema/event_names.h"
#include "core/stack.h"
#include "core/thread.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/stores.h"

#define BLOCKS_MAX  ((size_t)1 << 20) /* share of --max-rss, see gt_stores_share */
#define FIRST_SLOTS 1024u
#define FIRST_ROOM  256u
#define TELLERS     64 /* functions that are distinguished when an allocation fails */
#define TOLD        4  /* of these, the largest are named */

/* ---- the tables ---- */

static uint32_t home_of(const struct gt_holding_table *table, uint64_t address)
{
	return (uint32_t)gt_hash_word(address) & (table->slots - 1);
}

/* The place of an address, or the free one where it would be. */
static struct gt_holding *place_of(const struct gt_holding_table *table, uint64_t address)
{
	uint32_t i = home_of(table, address);

	while (table->at[i].address && table->at[i].address != address)
		i = (i + 1) & (table->slots - 1);
	return &table->at[i];
}

static struct gt_holding *find(const struct gt_holding_table *table, uint64_t address)
{
	struct gt_holding *place = table->slots && address ? place_of(table, address) : NULL;

	return place && place->address ? place : NULL;
}

static bool grow(struct gt_holding_table *table, uint32_t max)
{
	struct gt_holding_table bigger = {.slots = table->slots ? table->slots * 2 : FIRST_SLOTS,
					  .used = table->used};

	if (table->used * 2 < table->slots)
		return true;
	if (table->used >= max)
		return false;
	bigger.at = gt_memory_map(bigger.slots * sizeof(*bigger.at));
	if (!bigger.at)
		return table->used + 1 < table->slots;
	for (uint32_t i = 0; i < table->slots; i++)
		if (table->at[i].address)
			*place_of(&bigger, table->at[i].address) = table->at[i];
	gt_memory_unmap(table->at, table->slots * sizeof(*table->at));
	*table = bigger;
	return true;
}

static bool put(struct gt_holding_table *table, uint32_t max, const struct gt_holding *holding)
{
	struct gt_holding *place;

	if (!grow(table, max))
		return false;
	place = place_of(table, holding->address);
	table->used += !place->address;
	*place = *holding;
	return true;
}

/* Those behind it move up, so that none is behind a free place. */
static void take_out(struct gt_holding_table *table, struct gt_holding *holding)
{
	uint32_t mask = table->slots - 1, hole = (uint32_t)(holding - table->at);

	for (uint32_t i = (hole + 1) & mask; table->at[i].address; i = (i + 1) & mask) {
		uint32_t home = home_of(table, table->at[i].address);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		table->at[hole] = table->at[i];
		hole = i;
	}
	table->at[hole].address = 0;
	table->used--;
}

/* ---- counters ---- */

static uint32_t device_of(const struct gt_holding *holding)
{
	if (holding->kind == GT_BLOCK_PINNED || holding->device >= GT_HOLDINGS_DEVICES)
		return 0;
	return holding->device;
}

static void put_value(struct gt_holdings *h, struct gt_event *event, const char *name,
		      const char *series, uint64_t value)
{
	event->counter.name = gt_intern_cstr(h->strings, name);
	event->counter.series = gt_intern_cstr(h->strings, series);
	event->counter.value = (int64_t)value;
	gt_outlet_event(h->outlet, event);
}

static void put_counter(struct gt_holdings *h, uint64_t time, uint32_t device, const char *series,
			uint64_t value)
{
	struct gt_event event = {.kind = GT_EVENT_COUNTER, .start = time, .end = time};
	char name[32] = "pinned host memory";

	if (device != GT_BLOCK_NO_DEVICE) {
		gt_text_format(name, sizeof(name), "GPU %u memory", device);
		event.place.device = device;
		event.counter.on_gpu = true;
	}
	put_value(h, &event, name, series, value);
}

void gt_holdings_see_tensor(struct gt_holdings *h, const struct gt_event *tensor)
{
	struct gt_event event = {
		.kind = GT_EVENT_COUNTER, .start = tensor->start, .end = tensor->start};
	uint32_t device = (uint32_t)tensor->tensor.device;
	char name[32];

	if (!h->is_on || device >= GT_HOLDINGS_DEVICES)
		return;
	event.place.device = device;
	event.counter.on_gpu = true;
	gt_text_format(name, sizeof(name), "GPU %u PyTorch", device);
	put_value(h, &event, name, "allocated", tensor->tensor.allocated);
	if (h->torch_reserved[device] == tensor->tensor.reserved)
		return;
	h->torch_reserved[device] = tensor->tensor.reserved;
	put_value(h, &event, name, "reserved", tensor->tensor.reserved);
}

static uint64_t total_of(const struct gt_holdings *h, uint32_t device)
{
	uint64_t sum = 0;

	for (int kind = 0; kind < GT_BLOCK_PINNED; kind++)
		sum += h->in_use[device][kind];
	return sum;
}

static void count(struct gt_holdings *h, uint64_t time, uint32_t device, unsigned int kind)
{
	if (kind == GT_BLOCK_PINNED) {
		put_counter(h, time, GT_BLOCK_NO_DEVICE, "bytes", h->in_use[0][kind]);
		return;
	}
	put_counter(h, time, device, "allocated", total_of(h, device));
	put_counter(h, time, device, gt_event_name_block_kind(kind), h->in_use[device][kind]);
}

/* ---- changes ---- */

static void add(struct gt_holdings *h, const struct gt_holding_change *change)
{
	struct gt_holding holding = {.address = change->block.address,
				     .bytes = change->block.bytes,
				     .stack = change->stack,
				     .device = change->block.device,
				     .context = change->block.context,
				     .holders = 1,
				     .kind = change->block.kind};
	struct gt_holding *before = find(&h->blocks, holding.address);

	/* its release was not seen */
	if (before)
		h->in_use[device_of(before)][before->kind] -= before->bytes;
	if (!holding.address || !put(&h->blocks, h->max_blocks, &holding)) {
		h->refused++;
		return;
	}
	h->in_use[device_of(&holding)][holding.kind] += holding.bytes;
	count(h, change->time, device_of(&holding), holding.kind);
}

/* Physical memory is there until its last holder has gone. */
static void let_go(struct gt_holdings *h, uint64_t time, uint64_t address)
{
	struct gt_holding *holding = find(&h->blocks, address);
	uint32_t device, kind;

	if (!holding || --holding->holders)
		return;
	device = device_of(holding);
	kind = holding->kind;
	h->in_use[device][kind] -= holding->bytes;
	take_out(&h->blocks, holding);
	count(h, time, device, kind);
}

static void release(struct gt_holdings *h, const struct gt_holding_change *change)
{
	let_go(h, change->time, change->block.address);
}

static void hold(struct gt_holdings *h, uint64_t handle)
{
	struct gt_holding *holding = find(&h->blocks, handle);

	if (holding)
		holding->holders++;
}

static void map(struct gt_holdings *h, const struct gt_holding_change *change)
{
	struct gt_holding mapping = {.address = change->block.address,
				     .bytes = change->block.bytes,
				     .handle = change->block.handle};

	if (!mapping.address || !put(&h->mapped, h->max_blocks, &mapping))
		h->refused++;
	else
		hold(h, mapping.handle);
}

/* One range may have several mappings, one behind the other. */
static void unmap(struct gt_holdings *h, const struct gt_holding_change *change)
{
	uint64_t at = change->block.address, end = at + change->block.bytes;
	struct gt_holding *mapping;

	for (mapping = find(&h->mapped, at); mapping && at < end; mapping = find(&h->mapped, at)) {
		uint64_t handle = mapping->handle;

		at += mapping->bytes;
		if (!mapping->bytes)
			at = end;
		take_out(&h->mapped, mapping);
		let_go(h, change->time, handle);
	}
}

static void retain(struct gt_holdings *h, const struct gt_holding_change *change)
{
	hold(h, change->block.handle);
}

/* All that was allocated in the context is gone; physical memory belongs to none. */
static void reset(struct gt_holdings *h, const struct gt_holding_change *change)
{
	struct gt_holding_table kept = {0}, old = h->blocks;

	if (!change->block.context)
		return;
	for (uint32_t i = 0; i < old.slots; i++) {
		struct gt_holding *holding = &old.at[i];

		if (!holding->address)
			continue;
		if (holding->context == change->block.context &&
		    holding->kind != GT_BLOCK_PHYSICAL) {
			h->in_use[device_of(holding)][holding->kind] -= holding->bytes;
			count(h, change->time, device_of(holding), holding->kind);
		} else if (!put(&kept, h->max_blocks, holding)) {
			h->refused++;
		}
	}
	gt_memory_unmap(old.at, old.slots * sizeof(*old.at));
	h->blocks = kept;
}

static void (*const changers[GT_BLOCK_OP_COUNT_])(struct gt_holdings *h,
						  const struct gt_holding_change *change) = {
	[GT_BLOCK_ALLOCATE] = add, [GT_BLOCK_RELEASE] = release, [GT_BLOCK_MAP] = map,
	[GT_BLOCK_UNMAP] = unmap,  [GT_BLOCK_RETAIN] = retain,   [GT_BLOCK_RESET] = reset,
};

/* ---- an allocation that failed ---- */

struct holder {
	const struct gt_string *name; /* NULL: of no name, or one of too many */
	uint64_t bytes;
};

static const struct gt_string *name_of(const struct gt_stack *stack)
{
	const struct gt_stack_frame *frame = stack ? gt_stack_best_frame(stack) : NULL;

	return frame ? frame->function : NULL;
}

static void add_holder(struct holder holders[TELLERS], const struct gt_holding *holding)
{
	const struct gt_string *name = name_of(holding->stack);
	int i = 0;

	while (i < TELLERS - 1 && holders[i].bytes && holders[i].name != name)
		i++;
	holders[i].name = i == TELLERS - 1 ? NULL : name;
	holders[i].bytes += holding->bytes;
}

static size_t put_largest(struct holder holders[TELLERS], char *text, size_t size)
{
	char name[80];
	size_t n = 0;

	for (int told = 0; told < TOLD; told++) {
		struct holder *largest = &holders[0];

		for (int i = 1; i < TELLERS; i++)
			if (holders[i].bytes > largest->bytes)
				largest = &holders[i];
		if (!largest->bytes)
			break;
		gt_text_format(name, sizeof(name), "%s",
			       largest->name ? largest->name->text : "others");
		n += gt_text_format(text + n, size - n, "%s%lu bytes by %s",
				    told ? ", " : "; held: ", (unsigned long)largest->bytes, name);
		largest->bytes = 0;
	}
	return n;
}

static size_t put_holders(const struct gt_holdings *h, const struct gt_block *block, char *text,
			  size_t size)
{
	struct holder holders[TELLERS] = {{0}};
	bool is_host = block->kind == GT_BLOCK_PINNED;

	for (uint32_t i = 0; i < h->blocks.slots; i++) {
		const struct gt_holding *holding = &h->blocks.at[i];

		if (holding->address && (holding->kind == GT_BLOCK_PINNED) == is_host &&
		    (is_host || holding->device == block->device))
			add_holder(holders, holding);
	}
	return put_largest(holders, text, size);
}

static void tell_failure(struct gt_holdings *h, const struct gt_holding_change *change)
{
	struct gt_event event = {.kind = GT_EVENT_NOTE,
				 .tid = change->tid,
				 .start = change->time,
				 .end = change->time,
				 .stack = change->stack};
	const struct gt_block *block = &change->block;
	bool is_host = block->kind == GT_BLOCK_PINNED || block->device >= GT_HOLDINGS_DEVICES;
	char text[600], where[24] = "host", size[40] = "";
	uint64_t in_use = is_host ? h->in_use[0][GT_BLOCK_PINNED] : total_of(h, block->device);
	const char *cause = gt_cuda_result_words(change->result);
	size_t n;

	if (!is_host)
		gt_text_format(where, sizeof(where), "GPU %u", block->device);
	if (block->bytes || !gt_cuda_asks_by_extents(change->name->text))
		gt_text_format(size, sizeof(size), " of %lu bytes", (unsigned long)block->bytes);
	n = gt_text_format(text, sizeof(text), "%s%s failed with %d; in use on %s: %lu",
			   change->name->text, size, change->result, where, (unsigned long)in_use);
	if (!h->has_told)
		put_holders(h, block, text + n, sizeof(text) - n);
	h->has_told = true;
	event.note = (struct gt_note_event){.name = "allocation failed",
					    .what = gt_intern_cstr(h->strings, text)->text,
					    .cause = cause ? cause : "result of the call",
					    .count = block->bytes,
					    .of_what = "bytes"};
	gt_outlet_event(h->outlet, &event);
}

/* ---- in order of time ---- */

static bool is_before(const struct gt_holding_change *a, const struct gt_holding_change *b)
{
	return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static void sift_down(struct gt_holding_change *heap, uint32_t top, uint32_t end)
{
	struct gt_holding_change moved = heap[top];
	uint32_t below;

	for (; (below = 2 * top + 1) < end; top = below) {
		if (below + 1 < end && is_before(&heap[below], &heap[below + 1]))
			below++;
		if (!is_before(&moved, &heap[below]))
			break;
		heap[top] = heap[below];
	}
	heap[top] = moved;
}

static void sort(struct gt_holding_change *heap, uint32_t n)
{
	struct gt_holding_change first;

	for (uint32_t top = n / 2; top-- > 0;)
		sift_down(heap, top, n);
	for (; n > 1; n--) {
		first = heap[0];
		heap[0] = heap[n - 1];
		heap[n - 1] = first;
		sift_down(heap, 0, n - 1);
	}
}

static void apply(struct gt_holdings *h, const struct gt_holding_change *change)
{
	if (!change->result && changers[change->block.op])
		changers[change->block.op](h, change);
	else if (change->block.op == GT_BLOCK_ALLOCATE)
		tell_failure(h, change);
}

/* Counts what happened before @until. */
static uint64_t settle(struct gt_holdings *h, uint64_t until)
{
	uint32_t n = 0;

	h->has_told = false;
	if (!h->waiting_count)
		return 0;
	sort(h->waiting, h->waiting_count);
	while (n < h->waiting_count && h->waiting[n].time < until)
		apply(h, &h->waiting[n++]);
	h->waiting_count -= n;
	memmove(h->waiting, h->waiting + n, h->waiting_count * sizeof(*h->waiting));
	return n;
}

static bool make_room(struct gt_holdings *h)
{
	uint32_t room = h->waiting_room ? h->waiting_room * 2 : FIRST_ROOM;
	size_t size = sizeof(*h->waiting);
	void *bigger;

	if (h->waiting_count < h->waiting_room)
		return true;
	bigger = h->waiting ? gt_memory_grow(h->waiting, h->waiting_room * size, room * size)
			    : gt_memory_map(room * size);
	if (!bigger)
		return false;
	h->waiting = bigger;
	h->waiting_room = room;
	return true;
}

/* A block is there when its call has returned, and gone when the call that releases it begins. */
void gt_holdings_see(struct gt_holdings *h, const struct gt_event *call)
{
	const struct gt_block *block = &call->api.block;
	bool goes = block->op == GT_BLOCK_RELEASE || block->op == GT_BLOCK_UNMAP ||
		    block->op == GT_BLOCK_RESET;

	if (!h->is_on || !block->op || block->op >= GT_BLOCK_OP_COUNT_)
		return;
	if (!make_room(h)) {
		h->refused++;
		return;
	}
	h->waiting[h->waiting_count++] = (struct gt_holding_change){
		.time = goes ? call->start : call->end,
		.number = h->changes++,
		.name = call->api.name,
		.stack = call->stack,
		.block = *block,
		.tid = call->tid,
		.result = call->api.result,
	};
}

void gt_holdings_finish(struct gt_holdings *h)
{
	settle(h, UINT64_MAX);
}

/* ---- the collector ---- */

static int start(void *part)
{
	struct gt_holdings *h = part;

	h->is_on = gt_config_records_memory(h->config);
	h->max_blocks = (uint32_t)gt_stores_share(h->config, BLOCKS_MAX);
	if (h->is_on)
		gt_tensors_listen();
	return 0;
}

/* All that had returned when this was called the last time has been read from the rings since. */
static uint64_t drain(void *part)
{
	struct gt_holdings *h = part;
	uint64_t until = h->drained;

	if (!h->is_on)
		return 0;
	h->drained = gt_clock_from_monotonic(h->clock, gt_clock_now());
	return settle(h, until);
}

static uint64_t refused(const void *part)
{
	const struct gt_holdings *h = part;

	return h->refused;
}

static uint64_t lost_tensors(const void *part)
{
	(void)part;
	return gt_threads_sum(GT_THREAD_TENSORS_LOST);
}

static const struct gt_collector_count counts[] = {
	{lost_tensors, GT_LEDGER_TENSORS_LOST, "LOST", "ring full", "blocks of PyTorch",
	 GT_COLLECTOR_RING_FULL},
	{refused, GT_LEDGER_BLOCKS_REFUSED, NULL, NULL, NULL, NULL},
};

/* --memory. */
const struct gt_collector gt_holdings_collector = {
	.name = "memory",
	.start = start,
	.drain = drain,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
};
