/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity record -> struct gt_event, see the header. Drain thread only. One small function per
 * kind; the table at the end is the dispatcher.
 */
#include "collectors/cupti/records/translate.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti/records/kernels.h"
#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/library/lengths.h"
#include "collectors/cupti/records/occupancy.h"
#include "collectors/cupti/records/overheads.h"
#include "collectors/cupti/records/pages.h"
#include "collectors/cupti/records/pools.h"
#include "collectors/cupti/records/sanity.h"
#include "collectors/cupti/records/stamps.h"
#include "core/guest/log.h"
#include "core/guest/text.h"

/* Our enums have CUPTI's values, so that a translation is a bounds check. */
_Static_assert((int)GT_COPY_PTOP == (int)CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, "copy kinds");
_Static_assert((int)GT_COPY_DTOD == (int)CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, "copy kinds");
_Static_assert((int)GT_MEMORY_MANAGED_STATIC == (int)CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC,
	       "memory kinds");
_Static_assert((int)GT_SYNC_CONTEXT == (int)CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE,
	       "synchronization kinds");

static enum gt_copy_kind copy_kind(uint8_t kind)
{
	return kind < GT_COPY_KIND_COUNT_ ? (enum gt_copy_kind)kind : GT_COPY_UNKNOWN;
}

static enum gt_memory_kind memory_kind(uint16_t kind)
{
	return kind < GT_MEMORY_KIND_COUNT_ ? (enum gt_memory_kind)kind : GT_MEMORY_UNKNOWN;
}

static void add(struct gt_translate *t, enum gt_ledger_key key)
{
	gt_ledger_add(t->ledger, key, 1);
}

/* No stamps, or meaningless ones: an instant, never a slice (REQ-31), so that the launch still
 * shows its work. */
static void emit_untimed(struct gt_translate *t, const char *what, uint32_t correlation,
			 const char *why)
{
	struct gt_event event = {.kind = GT_EVENT_NOTE, .correlation = correlation};

	event.start = event.end = t->now ? t->now : t->then;
	event.note = (struct gt_note_event){
		.name = what, .what = why, .cause = "no timestamp", .count = 1};
	t->emit(t->context, &event);
}

static struct gt_place place_of(uint32_t device, uint32_t context, uint32_t stream,
				uint32_t channel, int channel_type)
{
	return (struct gt_place){.device = device,
				 .context = context,
				 .stream = stream,
				 .channel = channel,
				 .has_channel = channel_type != CUPTI_CHANNEL_TYPE_INVALID};
}

/* Common to all GPU work: counted, timed, or reported without a time. */
static const struct {
	enum gt_ledger_key records, untimed;
	const char *without_time;
} work_kinds[] = {
	[GT_EVENT_KERNEL] = {GT_LEDGER_RECORDS_KERNEL, GT_LEDGER_KERNELS_UNTIMED,
			     "kernel (untimed)"},
	[GT_EVENT_MEMCPY] = {GT_LEDGER_RECORDS_MEMCPY, GT_LEDGER_MEMCPYS_UNTIMED,
			     "memcpy (untimed)"},
	[GT_EVENT_MEMSET] = {GT_LEDGER_RECORDS_MEMSET, GT_LEDGER_MEMSETS_UNTIMED,
			     "memset (untimed)"},
	[GT_EVENT_GRAPH] = {GT_LEDGER_RECORDS_GRAPH, GT_LEDGER_GRAPHS_UNTIMED, "graph (untimed)"},
};

/* Counts the record and sets the event's times. False: it has none, which was reported. */
static bool begin_work(struct gt_translate *t, struct gt_event *event, uint64_t start, uint64_t end)
{
	bool ran = start && !end, clock_changed = t->clock_changed && !start && !end;

	add(t, work_kinds[event->kind].records);
	if (end && gt_stamps_set(t, event, start, end))
		return true;
	add(t, work_kinds[event->kind].untimed);
	t->clock_untimed += clock_changed;
	if (ran)
		add(t, GT_LEDGER_RECORDS_UNFINISHED);
	emit_untimed(t, work_kinds[event->kind].without_time, event->correlation,
		     gt_stamps_why_none(ran, clock_changed));
	return false;
}

static void translate_kernel(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityKernel8 *r = record;
	struct gt_event event;

	memset(&event, 0, sizeof(event) - sizeof(event.range)); /* the rest comes as a whole */
	event.kind = GT_EVENT_KERNEL;
	event.correlation = r->correlationId;
	if (!begin_work(t, &event, r->start, r->end))
		return;
	event.place =
		place_of(r->deviceId, r->contextId, r->streamId, r->channelID, (int)r->channelType);
	gt_translate_fill_kernel(t, r, &event.kernel);
	t->emit(t->context, &event);
}

static void translate_memcpy(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityMemcpy5 *r = record;
	struct gt_event event = {.kind = GT_EVENT_MEMCPY, .correlation = r->correlationId};

	if (!begin_work(t, &event, r->start, r->end))
		return;
	event.place =
		place_of(r->deviceId, r->contextId, r->streamId, r->channelID, (int)r->channelType);
	event.memory = (struct gt_memory_event){.bytes = r->bytes,
						.copy = copy_kind(r->copyKind),
						.src = memory_kind(r->srcKind),
						.dst = memory_kind(r->dstKind),
						.graph_id = r->graphId,
						.graph_node_id = r->graphNodeId};
	t->emit(t->context, &event);
}

static void translate_memcpy_peer(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityMemcpyPtoP4 *r = record;
	struct gt_event event = {.kind = GT_EVENT_MEMCPY, .correlation = r->correlationId};

	if (!begin_work(t, &event, r->start, r->end))
		return;
	event.place =
		place_of(r->deviceId, r->contextId, r->streamId, r->channelID, (int)r->channelType);
	event.memory = (struct gt_memory_event){.bytes = r->bytes,
						.copy = copy_kind(r->copyKind),
						.src = memory_kind(r->srcKind),
						.dst = memory_kind(r->dstKind),
						.peer = true,
						.src_device = r->srcDeviceId,
						.dst_device = r->dstDeviceId,
						.graph_id = r->graphId,
						.graph_node_id = r->graphNodeId};
	t->emit(t->context, &event);
}

static void translate_memset(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityMemset4 *r = record;
	struct gt_event event = {.kind = GT_EVENT_MEMSET, .correlation = r->correlationId};

	if (!begin_work(t, &event, r->start, r->end))
		return;
	event.place =
		place_of(r->deviceId, r->contextId, r->streamId, r->channelID, (int)r->channelType);
	event.memory = (struct gt_memory_event){.bytes = r->bytes,
						.dst = memory_kind(r->memoryKind),
						.value = r->value,
						.graph_id = r->graphId,
						.graph_node_id = r->graphNodeId};
	t->emit(t->context, &event);
}

/* Since 12.3 the record also has the device of the last node. */
#define END_DEVICE_SINCE 21u
_Static_assert(offsetof(CUpti_ActivityGraphTrace2, endDeviceId) == 48, "endDeviceId has moved");

static void translate_graph(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityGraphTrace *r = record;
	struct gt_event event = {.kind = GT_EVENT_GRAPH, .correlation = r->correlationId};
	uint32_t end_device = r->deviceId;

	if (!begin_work(t, &event, r->start, r->end))
		return;
	event.place =
		place_of(r->deviceId, r->contextId, r->streamId, 0, CUPTI_CHANNEL_TYPE_INVALID);
	if (t->version >= END_DEVICE_SINCE)
		memcpy(&end_device,
		       (const char *)record + offsetof(CUpti_ActivityGraphTrace2, endDeviceId),
		       sizeof(end_device));
	event.graph = (struct gt_graph_event){.graph_id = r->graphId,
					      .has_end_device = end_device != r->deviceId,
					      .end_device = end_device};
	if (!event.graph.has_end_device)
		event.graph.end_device = 0;
	t->emit(t->context, &event);
}

void gt_translate_note_lengths(struct gt_translate_notes *notes, uint32_t version)
{
	for (uint32_t kind = 0; kind < GT_TRANSLATE_KINDS; kind++)
		notes->bytes[kind] = gt_cupti_record_bytes(version, kind);
}

/* The id of the recording that a wait is for: the event may have been recorded again since. 0:
 * none. */
static uint64_t sync_id_at(const struct gt_translate *t, const void *record, size_t offset)
{
	uint64_t id = 0;

	if (t->version >= GT_CUPTI_SYNC_ID_SINCE)
		memcpy(&id, (const char *)record + offset, sizeof(id));
	return id + 1 > 1 && (uint32_t)id != CUPTI_SYNCHRONIZATION_INVALID_VALUE ? id : 0;
}

static struct gt_translate_wait *slot_of(struct gt_translate_wait *waits, uint64_t key)
{
	return &waits[key % GT_TRANSLATE_WAITS];
}

/* cudaEventRecord: kept, so that a later wait can name what it waits for. */
static void translate_cuda_event(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityCudaEvent *r = record;
	struct gt_translate_wait wait = {
		.key = r->eventId, .stream = r->streamId, .correlation = r->correlationId};

	add(t, GT_LEDGER_RECORDS_FACT);
	*slot_of(t->newest, wait.key) = wait;
	wait.key = sync_id_at(t, record, GT_CUPTI_SYNC_ID_OF_RECORDING);
	if (wait.key)
		*slot_of(t->by_sync_id, wait.key) = wait;
}

/* NULL: not known. */
static const struct gt_translate_wait *find_wait(struct gt_translate *t, const void *record)
{
	const CUpti_ActivitySynchronization *r = record;
	uint64_t id = sync_id_at(t, record, GT_CUPTI_SYNC_ID_OF_WAIT);
	const struct gt_translate_wait *wait = slot_of(t->by_sync_id, id);

	if (!id || wait->key != id) {
		id = r->cudaEventId;
		wait = slot_of(t->newest, id);
	}
	return wait->key == id && wait->correlation ? wait : NULL;
}

static void translate_sync(struct gt_translate *t, const void *record)
{
	const CUpti_ActivitySynchronization *r = record;
	struct gt_event event = {.kind = GT_EVENT_SYNC, .correlation = r->correlationId};
	const struct gt_translate_wait *wait = find_wait(t, record);

	add(t, GT_LEDGER_RECORDS_SYNC);
	if (!gt_stamps_set(t, &event, r->start, r->end))
		return;
	event.place.context = r->contextId;
	event.place.stream = r->streamId;
	if (r->contextId < GT_TRANSLATE_CONTEXTS)
		event.place.device = t->context_device[r->contextId];
	event.sync.kind =
		(uint32_t)r->type <= GT_SYNC_CONTEXT ? (enum gt_sync_kind)r->type : GT_SYNC_UNKNOWN;
	event.sync.cuda_event = r->cudaEventId;
	if (event.sync.kind == GT_SYNC_STREAM_WAIT_EVENT && wait) {
		event.sync.has_wait_on = true;
		event.sync.wait_on_stream = wait->stream;
		event.sync.wait_on_correlation = wait->correlation;
	}
	t->emit(t->context, &event);
}

/* The wait of a stream for a function on the host. */
static void emit_host_function(struct gt_translate *t, struct gt_event *event, uint64_t start,
			       uint64_t end)
{
	add(t, GT_LEDGER_RECORDS_SYNC);
	if (!gt_stamps_set(t, event, start, end))
		return;
	event->sync.kind = GT_SYNC_HOST_FUNCTION;
	t->emit(t->context, event);
}

static void translate_host_launch(struct gt_translate *t, const void *record)
{
	const struct gt_cupti_host_launch *r = record;
	struct gt_event event = {.kind = GT_EVENT_SYNC, .correlation = r->correlation};

	event.place = place_of(r->device, r->context, r->stream, 0, CUPTI_CHANNEL_TYPE_INVALID);
	event.sync.thread = r->thread;
	emit_host_function(t, &event, r->start, r->end);
}

static void translate_host_node(struct gt_translate *t, const void *record)
{
	const struct gt_cupti_host_node *r = record;
	struct gt_event event = {.kind = GT_EVENT_SYNC, .correlation = r->correlation};

	event.place = place_of(r->device, r->context, r->stream, 0, CUPTI_CHANNEL_TYPE_INVALID);
	event.sync.thread = r->thread;
	event.sync.graph_id = r->graph;
	event.sync.graph_node_id = r->node;
	emit_host_function(t, &event, r->start, r->end);
}

/* An instance of a GPU (MIG) has an id of its own. All zero: the driver did not tell. */
static void fill_uuid(const CUpti_ActivityDevice4 *r, char ret_text[GT_DEVICE_UUID])
{
	static const CUuuid none;
	const CUuuid *id = r->isMigEnabled ? &r->migUuid : &r->uuid;
	char *at = ret_text;

	*ret_text = 0;
	if (!memcmp(id, &none, sizeof(none)))
		return;
	at += gt_text_format(ret_text, GT_DEVICE_UUID, r->isMigEnabled ? "MIG" : "GPU");
	for (size_t i = 0; i < sizeof(id->bytes); i++) {
		unsigned char byte = (unsigned char)id->bytes[i];

		if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		*at++ = "0123456789abcdef"[byte >> 4];
		*at++ = "0123456789abcdef"[byte & 15];
	}
	*at = 0;
}

static void fill_device(struct gt_translate *t, const CUpti_ActivityDevice4 *r,
			struct gt_device_event *d)
{
	*d = (struct gt_device_event){
		.id = r->id,
		.name = gt_intern_cstr(t->strings, r->name ? r->name : "GPU"),
		.total_memory = r->globalMemorySize,
		.compute_major = r->computeCapabilityMajor,
		.compute_minor = r->computeCapabilityMinor,
		.sm_count = r->numMultiprocessors,
		.warp_size = r->numThreadsPerWarp,
		.max_threads_per_block = r->maxThreadsPerBlock,
		.max_threads_per_sm = r->maxWarpsPerMultiprocessor * r->numThreadsPerWarp,
		.max_warps_per_sm = r->maxWarpsPerMultiprocessor,
		.max_blocks_per_sm = r->maxBlocksPerMultiprocessor,
		.registers_per_block = r->maxRegistersPerBlock,
		.registers_per_sm = r->maxRegistersPerMultiprocessor,
		.shared_per_block = r->maxSharedMemoryPerBlock,
		.shared_per_sm = r->maxSharedMemoryPerMultiprocessor,
	};
	fill_uuid(r, d->uuid);
	d->shared_per_block_optin = gt_occupancy_shared_optin(
		d->compute_major, d->compute_minor, d->shared_per_sm, d->shared_per_block);
}

/* Up to 11.8 all records of a device share one name; the header of 13.0 says that the client frees
 * each. For versions in between nothing is known: their few names are leaked. A leak checker would
 * turn a leak into the program's exit status, so the rest is freed. */
#define DEVICE_NAME_OWN_SINCE 130000u

/* A device hidden by CUDA_VISIBLE_DEVICES does not replace a used one with the same number. */
static void store_device(struct gt_translate *t, const CUpti_ActivityDevice4 *r)
{
	struct gt_event event = {.kind = GT_EVENT_DEVICE};

	if (r->id < GT_METADATA_DEVICES && !r->isCudaVisible && t->visible[r->id])
		return;
	fill_device(t, r, &event.device);
	gt_translate_note_name(t, r->name, event.device.name, NULL);
	if (r->id < GT_METADATA_DEVICES) {
		t->devices[r->id] = event.device;
		t->occupancy = (struct gt_occupancy_answers){0};
		gt_translate_forget_kernels(t);
		t->visible[r->id] = r->isCudaVisible;
	}
	t->emit(t->context, &event);
}

/* A copy of another tool's record, whose name may be freed by now: only for a device without a
 * record of ours. */
static void store_foreign_device(struct gt_translate *t, CUpti_ActivityDevice4 record)
{
	if (record.id < GT_METADATA_DEVICES && t->devices[record.id].name)
		return;
	record.name = NULL;
	store_device(t, &record);
}

static void translate_device(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityDevice4 *r = record;

	add(t, GT_LEDGER_RECORDS_FACT);
	if (t->borrowed) {
		store_foreign_device(t, *r);
		return;
	}
	store_device(t, r);
	if (t->version >= DEVICE_NAME_OWN_SINCE && !t->relayed)
		free((char *)r->name);
}

static void translate_context(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityContext *r = record;
	struct gt_event event = {.kind = GT_EVENT_CONTEXT};

	add(t, GT_LEDGER_RECORDS_FACT);
	event.place =
		place_of(r->deviceId, r->contextId, r->nullStreamId, 0, CUPTI_CHANNEL_TYPE_INVALID);
	if (r->contextId < GT_TRANSLATE_CONTEXTS)
		t->context_device[r->contextId] = r->deviceId;
	t->emit(t->context, &event);
}

static void translate_stream(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityStream *r = record;
	struct gt_event event = {.kind = GT_EVENT_STREAM};

	add(t, GT_LEDGER_RECORDS_FACT);
	event.place = place_of(0, r->contextId, r->streamId, 0, CUPTI_CHANNEL_TYPE_INVALID);
	if (r->contextId < GT_TRANSLATE_CONTEXTS)
		event.place.device = t->context_device[r->contextId];
	event.stream.priority = (int32_t)r->priority;
	t->emit(t->context, &event);
}

/* External ids of our kind only: another tool's mean nothing to us. */
static void translate_external_id(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityExternalCorrelation *r = record;

	add(t, GT_LEDGER_RECORDS_API);
	if (t->tie && r->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2)
		t->tie(t->context, r->correlationId, (uint32_t)r->externalId);
}

/* API records come only with a CUPTI that needs them for correlation ids; calls come from
 * callbacks. */
static void skip_api(struct gt_translate *t, const void *record)
{
	(void)record;
	add(t, GT_LEDGER_RECORDS_API);
}

static void (*const by_kind[])(struct gt_translate *, const void *) = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = translate_memcpy,
	[CUPTI_ACTIVITY_KIND_MEMSET] = translate_memset,
	[CUPTI_ACTIVITY_KIND_KERNEL] = translate_kernel,
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = translate_kernel,
	[CUPTI_ACTIVITY_KIND_DRIVER] = skip_api,
	[CUPTI_ACTIVITY_KIND_RUNTIME] = skip_api,
	[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = translate_external_id,
	[CUPTI_ACTIVITY_KIND_DEVICE] = translate_device,
	[CUPTI_ACTIVITY_KIND_CONTEXT] = translate_context,
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = gt_translate_overhead,
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = translate_memcpy_peer,
	[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = translate_cuda_event,
	[CUPTI_ACTIVITY_KIND_STREAM] = translate_stream,
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = translate_sync,
	[CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API] = skip_api,
	[CUPTI_ACTIVITY_KIND_MEMORY2] = gt_translate_pool_use,
	[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = gt_translate_pool,
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = translate_graph,
	[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = gt_translate_pages,
	[GT_CUPTI_KIND_HOST_NODE] = translate_host_node,
	[GT_CUPTI_KIND_HOST_LAUNCH] = translate_host_launch,
};

/* With a CUPTI newer than all known ones, the first record of a kind decides whether the kind is
 * used. */
static bool is_trusted(struct gt_translate *t, uint32_t kind, const void *record)
{
	uint64_t bit = 1ull << kind;

	if (t->version <= GT_CUPTI_NEWEST_KNOWN)
		return true;
	if (!(t->checked_kinds & bit)) {
		t->checked_kinds |= bit;
		if (!gt_cupti_is_sane(record)) {
			t->refused_kinds |= bit;
			gt_log_say("CUPTI %u is newer than this gputrace, and its records of kind "
				   "%u look wrong: they are left out",
				   t->version, kind);
		}
	}
	return !(t->refused_kinds & bit);
}

_Static_assert(sizeof(by_kind) / sizeof(by_kind[0]) <= GT_TRANSLATE_KINDS &&
		       GT_TRANSLATE_KINDS <= 64,
	       "kinds are bits of a word");

void gt_translate_record(struct gt_translate *translate, const void *record)
{
	uint32_t kind = (uint32_t)((const CUpti_Activity *)record)->kind;

	if (kind >= sizeof(by_kind) / sizeof(by_kind[0]) || !by_kind[kind])
		add(translate, GT_LEDGER_RECORDS_UNKNOWN);
	else if (is_trusted(translate, kind, record))
		by_kind[kind](translate, record);
	else
		add(translate, GT_LEDGER_RECORDS_INSANE);
}
