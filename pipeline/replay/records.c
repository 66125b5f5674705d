/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/replay/records.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/call/call.h"
#include "collectors/call/kernel_names.h"
#include "collectors/call/records.h"
#include "collectors/call/tensor.h"
#include "collectors/cupti/replay.h"
#include "collectors/nvtx/library.h"
#include "collectors/nvtx/record.h"
#include "collectors/nvtx/registry.h"
#include "core/guest/memory.h"
#include "pipeline/join/join.h"
#include "pipeline/output/waiting.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/samples.h"
#include "pipeline/sources/tensors.h"
#include "pipeline/spool/spooled.h"

#define WAITED_MAX     (1u << 20) /* whatever the bytes are */
#define UNKNOWN_DOMAIN (1u << 31) /* a reference of no object, but one of its own */

static int by_key(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int copy_keys(struct gt_replay_records *r, const struct gt_spooled_read *read)
{
	size_t bytes = read->count * sizeof(*r->waited);
	const void *keys = read->count <= read->capacity && read->capacity <= WAITED_MAX
				   ? gt_spool_view_at(r->view, gt_spool_address(read->keys), bytes)
				   : NULL;

	if (!keys || !bytes)
		return 0;
	r->waited = gt_memory_map(bytes + read->count * sizeof(*r->came));
	if (!r->waited)
		return -ENOMEM;
	r->came = (bool *)(r->waited + read->count);
	memcpy(r->waited, keys, bytes);
	r->waited_count = read->count;
	qsort(r->waited, r->waited_count, sizeof(*r->waited), by_key);
	return 0;
}

int gt_replay_records_init(struct gt_replay_records *r, const struct gt_spooled *spooled)
{
	r->notes = gt_memory_map(sizeof(*r->notes));
	if (!r->notes)
		return -ENOMEM;
	memcpy(r->notes, &spooled->notes, sizeof(*r->notes));
	r->kernels = &spooled->kernels;
	r->unlisted = gt_spooled_read(spooled)->unlisted;
	return copy_keys(r, gt_spooled_read(spooled));
}

void gt_replay_records_fini(struct gt_replay_records *r)
{
	gt_memory_unmap(r->waited, r->waited_count * (sizeof(*r->waited) + sizeof(*r->came)));
	gt_memory_unmap(r->notes, sizeof(*r->notes));
	r->waited = NULL;
	r->notes = NULL;
}

static bool call_is_whole(const struct gt_call_record *call)
{
	uint64_t frames = (uint64_t)call->frame_count + call->python_count;
	uint64_t block = call->head.type == GT_RECORD_TENSOR    ? sizeof(struct gt_tensor)
			 : call->head.flags & GT_CALL_HAS_BLOCK ? sizeof(struct gt_block)
								: 0;

	return call->head.size >= sizeof(*call) + frames * sizeof(call->pcs[0]) + block &&
	       call->domain < GT_API_DOMAIN_COUNT_;
}

/* A stack that nobody had named yet keeps its native frames: what the interpreter's words meant is
 * gone with its memory. */
static void take_call_record(struct gt_replay_records *r, const struct gt_ring_record *record)
{
	const struct gt_call_record *call = (const void *)record;
	_Alignas(8) static char copy[sizeof(*call) + 1024 * sizeof(call->pcs[0])];
	struct gt_call_record *mine = (void *)copy;
	const void *behind;

	if (record->size < sizeof(*call) || record->size > sizeof(copy) || !call_is_whole(call))
		return;
	memcpy(copy, record, record->size);
	behind = mine->pcs + mine->frame_count + mine->python_count;
	memmove(mine->pcs + mine->frame_count, behind,
		record->size - (size_t)((const char *)behind - copy));
	mine->python_count = 0;
	if (record->type == GT_RECORD_SAMPLE)
		gt_samples_take(r->samples, mine);
	else if (record->type == GT_RECORD_TENSOR)
		gt_tensors_take(r->calls, mine);
	else
		gt_calls_take(r->calls, mine);
}

/* Records that need nothing but themselves. */
static const bool is_reported[] = {
	[GT_NVTX_PUSH] = true,        [GT_NVTX_POP] = true,          [GT_NVTX_START] = true,
	[GT_NVTX_END] = true,         [GT_NVTX_MARK] = true,         [GT_NVTX_NAME_THREAD] = true,
	[GT_NVTX_NAME_DEVICE] = true, [GT_NVTX_NAME_CONTEXT] = true, [GT_NVTX_NAME_STREAM] = true,
	[GT_NVTX_TOLD] = true,        [GT_NVTX_NETWORK] = true,
};

/* The text begins inside the padding of the struct. */
#define RANGE_HEAD offsetof(struct gt_nvtx_record, data)

static bool range_is_whole(const struct gt_nvtx_record *range)
{
	return range->head.size >= RANGE_HEAD && range->text_length <= GT_NVTX_NAME_MAX &&
	       range->head.size >= RANGE_HEAD + range->text_length &&
	       range->head.flags < sizeof(is_reported) / sizeof(is_reported[0]) &&
	       is_reported[range->head.flags];
}

/* The call of a library is all that its record says. */
static uint32_t library_bytes(const struct gt_nvtx_record *range)
{
	const struct gt_library_call *call = gt_nvtx_library(range);
	uint64_t end = RANGE_HEAD + gt_nvtx_payload_offset(range->text_length) + sizeof(*call);

	return call && range->head.size >= end ? sizeof(*call) : 0;
}

/* What was registered under this reference. NULL: nothing, or it had no room. */
static const char *registered(const struct gt_replay_records *r, uint32_t reference)
{
	return reference ? gt_kernel_names_find(r->kernels, GT_KERNEL_NAMES_NVTX | reference)
			 : NULL;
}

/* The reference that this process has for a domain of the dead one. */
static uint32_t find_domain(const struct gt_replay_records *r, uint32_t reference)
{
	const char *name = registered(r, reference);
	struct gt_nvtx_key key = {.kind = GT_NVTX_DOMAIN, .text = name};

	if (!name || gt_nvtx_registry_start())
		return reference ? reference | UNKNOWN_DOMAIN : 0;
	key.length = strnlen(name, GT_NVTX_NAME_MAX);
	return gt_nvtx_reference(gt_nvtx_find_or_add(&key));
}

static void take_registered(const struct gt_replay_records *r, struct gt_nvtx_record *mine)
{
	const char *name = registered(r, mine->string);

	if (!name)
		name = "(name not recovered)";
	mine->string = 0;
	mine->text_length = (uint16_t)strnlen(name, GT_NVTX_NAME_MAX);
	memcpy(mine->data, name, mine->text_length);
}

/* The schemas of payloads are gone with the memory of the process. */
static void take_range_record(struct gt_replay_records *r, const struct gt_ring_record *record)
{
	const struct gt_nvtx_record *range = (const void *)record;
	_Alignas(8) static char
		copy[sizeof(*range) + GT_NVTX_NAME_MAX + sizeof(struct gt_library_call) + 8];
	struct gt_nvtx_record *mine = (void *)copy;
	uint32_t library;

	if (!range_is_whole(range)) {
		r->ranges_lost++;
		return;
	}
	memcpy(copy, record, RANGE_HEAD + range->text_length);
	mine->cut = gt_spool_bool(&range->cut);
	library = library_bytes(range);
	memcpy(mine->data + gt_nvtx_payload_offset(range->text_length),
	       range->data + gt_nvtx_payload_offset(range->text_length), library);
	mine->payload_length = (uint16_t)library;
	mine->domain = find_domain(r, range->domain);
	if (mine->string)
		take_registered(r, mine);
	if (!gt_ranges_has(r->ranges, mine))
		gt_ranges_record(r->ranges, mine);
}

/* From the outermost inwards. */
static int by_start(const void *a, const void *b)
{
	const struct gt_open_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

void gt_replay_open_ranges(struct gt_replay_records *r, const struct gt_spooled *spooled)
{
	const struct gt_spooled_ranges *kept =
		&spooled->ranges[atomic_load(&spooled->last_ranges) & 1];
	uint32_t count = kept->count < GT_SPOOLED_RANGES ? kept->count : GT_SPOOLED_RANGES;
	struct gt_open_range *sorted = gt_memory_map(sizeof(kept->at));

	if (!sorted) {
		r->ranges_lost += count;
		return;
	}
	memcpy(sorted, kept->at, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_start);
	for (uint32_t i = 0; i < count; i++) {
		sorted[i].domain = find_domain(r, sorted[i].domain);
		gt_ranges_reopen(r->ranges, &sorted[i]);
	}
	gt_memory_unmap(sorted, sizeof(kept->at));
}

static void (*const takers[])(struct gt_replay_records *r, const struct gt_ring_record *record) = {
	[GT_RECORD_CALL] = take_call_record,
	[GT_RECORD_NVTX] = take_range_record,
	[GT_RECORD_SAMPLE] = take_call_record,
	[GT_RECORD_TENSOR] = take_call_record,
};

static void take_record(void *context, const struct gt_ring_record *record)
{
	if (record->type < sizeof(takers) / sizeof(takers[0]) && takers[record->type])
		takers[record->type](context, record);
}

static void take_thread(void *context, const struct gt_thread *thread)
{
	struct gt_replay_records *r = context;

	for (int i = 0; i < GT_THREAD_COUNTERS_; i++)
		r->counters[i] += atomic_load(&thread->counters[i]);
	for (int i = 0; i < GT_RING_TYPES + GT_RING_COUNTS; i++)
		r->released[i] += thread->ring.released[i];
	gt_ring_each(r->view, &thread->ring, take_record, r);
}

void gt_replay_rings(struct gt_replay_records *r)
{
	const struct gt_thread_refused *refused = gt_threads_refused_in(r->view);

	for (int i = 0; i < GT_THREAD_COUNTERS_; i++)
		r->counters[i] += atomic_load(&refused->counters[i]);
	gt_threads_each(r->view, take_thread, r);
}

static void note_buffer(void *context, const struct gt_cupti_spooled *buffer)
{
	struct gt_replay_records *r = context;

	if (r->buffer_count < GT_CUPTI_BUFFERS_MAX)
		r->buffers[r->buffer_count++] = *buffer;
}

static int by_order(const void *a, const void *b)
{
	const struct gt_cupti_spooled *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static struct gt_cupti_replay how_to_read(const struct gt_replay_records *r,
					  const struct gt_cupti_spooled *buffer)
{
	return (struct gt_cupti_replay){.view = r->view,
					.notes = r->notes,
					.translate = r->translate,
					.kernels = r->kernels,
					.calls = r->join->calls,
					.unfinished = buffer->unfinished};
}

/* From the fullest buffer. */
static void learn_lengths(const struct gt_replay_records *r)
{
	const struct gt_cupti_spooled *fullest = NULL;
	struct gt_cupti_replay how;
	size_t most = 0;

	for (uint32_t i = 0; i < r->buffer_count; i++) {
		const struct gt_cupti_spooled *b = &r->buffers[i];
		size_t used = gt_cupti_replay_used(b->data, b->valid, b->unfinished);

		if (used > most) {
			most = used;
			fullest = b;
		}
	}
	if (!fullest)
		return;
	how = how_to_read(r, fullest);
	gt_cupti_replay_learn(&how, fullest->data, fullest->valid);
}

/* ---- buffers that the process had read ---- */

static bool waited(struct gt_replay_records *r, const struct gt_event *event)
{
	uint64_t key = gt_waiting_key(event);
	const uint64_t *found = NULL;

	if (r->waited_count)
		found = bsearch(&key, r->waited, r->waited_count, sizeof(key), by_key);
	while (found && found > r->waited && found[-1] == key)
		found--;
	if (found)
		r->came[found - r->waited] = true;
	return found;
}

/* Of records that waited and did not come again the buffers were not in the spool. Of those that
 * had no room in the list only the number is known: they count as records of lost calls. */
static void settle_gone(const struct gt_replay_records *r)
{
	for (size_t i = 0; i < r->waited_count; i++)
		if (!r->came[i] && (!i || r->waited[i] != r->waited[i - 1]))
			gt_call_join_gone(r->join, r->waited[i]);
	gt_ledger_add(r->translate->ledger, GT_LEDGER_LAUNCHES_UNLINKED, r->unlisted);
}

/* The translator's functions, while records are read again. */
struct second_reading {
	struct gt_replay_records *records;
	struct gt_translate first;
};

static void take_event_again(void *context, struct gt_event *event)
{
	const struct second_reading *reading = context;
	struct gt_replay_records *r = reading->records;
	struct gt_ledger *ledger = r->translate->ledger, before;

	if (!waited(r, event)) {
		reading->first.emit(reading->first.context, event);
		return;
	}
	gt_call_join_settle(r->join, true);
	before = *ledger;
	reading->first.emit(reading->first.context, event);
	gt_call_join_settle(r->join, true);
	for (enum gt_ledger_key i = 0; i < GT_LEDGER_COUNT_; i++)
		r->late.count[i] += ledger->count[i] - before.count[i];
}

static void take_tie_again(void *context, uint32_t correlation, uint32_t id)
{
	const struct second_reading *reading = context;

	reading->first.tie(reading->first.context, correlation, id);
}

/* The process has counted its records, but for what became of those that waited for their call.
 * What is left may be lost. */
static size_t take_again(struct gt_replay_records *r, const struct gt_cupti_replay *how,
			 const struct gt_cupti_spooled *buffer)
{
	struct gt_translate *translate = r->translate;
	struct second_reading reading = {.records = r, .first = *translate};
	struct gt_ledger before = *translate->ledger;
	size_t left;

	translate->emit = take_event_again;
	translate->tie = take_tie_again;
	translate->context = &reading;
	left = gt_cupti_replay(how, buffer->data, buffer->valid);
	translate->emit = reading.first.emit;
	translate->tie = reading.first.tie;
	translate->context = reading.first.context;
	gt_call_join_settle(r->join, true);
	gt_spooled_copy_read(translate->ledger, &before);
	return left;
}

static size_t take_all(struct gt_replay_records *r, const struct gt_cupti_replay *how,
		       const struct gt_cupti_spooled *buffer)
{
	return buffer->was_read ? take_again(r, how, buffer)
				: gt_cupti_replay(how, buffer->data, buffer->valid);
}

/* Times are a part of what an event is known by: they come of the clock that the process read it
 * by, also where the stamps were ahead of that. */
static size_t take_begun(struct gt_replay_records *r, const struct gt_cupti_replay *how,
			 const struct gt_cupti_spooled *buffer)
{
	struct gt_translate *translate = r->translate;
	const struct gt_clock *clock = translate->clock;
	struct gt_clock then;
	size_t left;

	if (!buffer->sampled)
		return take_all(r, how, buffer);
	then = gt_clock_as_of(clock, buffer->sampled);
	translate->clock = &then;
	translate->now = buffer->read;
	left = take_all(r, how, buffer);
	translate->clock = clock;
	translate->now = 0;
	return left;
}

static void take_buffer(struct gt_replay_records *r, const struct gt_cupti_spooled *buffer)
{
	const struct gt_cupti_replay how = how_to_read(r, buffer);
	size_t left;

	r->translate->borrowed = buffer->foreign;
	left = take_begun(r, &how, buffer);
	if (!buffer->unfinished)
		gt_ledger_add(r->translate->ledger, GT_LEDGER_RECORDS_UNREADABLE_BYTES, left);
}

void gt_replay_buffers(struct gt_replay_records *r)
{
	gt_cupti_spooled_each(r->view, note_buffer, r);
	qsort(r->buffers, r->buffer_count, sizeof(r->buffers[0]), by_order);
	learn_lengths(r);
	for (uint32_t i = 0; i < r->buffer_count; i++)
		take_buffer(r, &r->buffers[i]);
	settle_gone(r);
}
