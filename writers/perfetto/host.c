/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of host events. A slice is two consecutive packets, begin and end: sorting by time is
 * left to the viewer. Interned data precedes the packet that needs it.
 */
#include "writers/perfetto/perfetto.h"

#include <string.h>

#include "core/schema/event_names.h"

/* Bytes of what put_begin writes, and of the end of a slice, at most. */
#define BEGIN_ROOM (GT_PERFETTO_BEGIN + 4 + 2 * GT_PROTO_VARINT)

/* Begins packet and track event at @packet. Their lengths go to packet[1] and (*@ret_inner)[-1].
 * Returns the end. */
static inline uint8_t *put_begin(struct gt_perfetto *pf, uint8_t *packet, uint64_t ns,
				 uint32_t type, uint32_t track, uint8_t **ret_inner)
{
	uint8_t *at = gt_perfetto_put_begin(pf, packet, GT_PF_SEQUENCE_HOST, ns);

	at = gt_proto_put_tag(at, GT_PF_TRACK_EVENT, GT_PROTO_WIRE_BYTES) + 1;
	*ret_inner = at;
	at = gt_proto_put_uint(at, GT_PF_EVENT_TYPE, type);
	if (track == GT_PF_TRACK_OF_PROCESS + 1) /* of the first thread, which is the default */
		return at;
	return gt_proto_put_uint(at, GT_PF_EVENT_TRACK, gt_perfetto_track(pf, track));
}

/* Their lengths, which are a byte each. */
static inline void put_lengths(uint8_t *packet, uint8_t *inner, const uint8_t *end)
{
	inner[-1] = (uint8_t)(end - inner);
	packet[1] = (uint8_t)(end - packet - 2);
}

/* The same for more than that fits: until end_event with the returned place. */
static size_t begin_event(struct gt_perfetto *pf, uint64_t ns, uint32_t type, uint32_t track,
			  size_t *ret_packet)
{
	struct gt_proto *batch = &pf->file.batch;
	uint8_t *packet = gt_proto_reserve(batch, BEGIN_ROOM), *inner, *end;

	*ret_packet = batch->length + 2;
	if (!packet)
		return *ret_packet;
	end = put_begin(pf, packet, ns, type, track, &inner);
	gt_proto_written(batch, end);
	return (size_t)(inner - batch->data);
}

static void end_event(struct gt_perfetto *pf, size_t at, size_t packet)
{
	gt_proto_end(&pf->file.batch, at);
	gt_proto_end(&pf->file.batch, packet);
}

/* The end of a slice. */
static inline uint8_t *put_end_at(struct gt_perfetto *pf, uint8_t *packet, uint64_t ns,
				  uint32_t track)
{
	uint8_t *inner, *end = put_begin(pf, packet, ns, GT_PF_TYPE_END, track, &inner);

	put_lengths(packet, inner, end);
	return end;
}

static void put_end(struct gt_perfetto *pf, uint64_t ns, uint32_t track)
{
	uint8_t *packet = gt_proto_reserve(&pf->file.batch, BEGIN_ROOM);

	if (packet)
		gt_proto_written(&pf->file.batch, put_end_at(pf, packet, ns, track));
}

static size_t begin_note(struct gt_proto *batch, enum gt_pf_annotation note)
{
	size_t at = gt_proto_begin(batch, GT_PF_EVENT_ANNOTATION);

	gt_proto_uint(batch, GT_PF_ANNOTATION_NAME_IID, note + 1u);
	return at;
}

static void put_uint(struct gt_proto *batch, enum gt_pf_annotation note, uint64_t value)
{
	size_t at = begin_note(batch, note);

	gt_proto_uint(batch, GT_PF_ANNOTATION_UINT, value);
	gt_proto_end(batch, at);
}

static void put_int(struct gt_proto *batch, enum gt_pf_annotation note, int64_t value)
{
	size_t at = begin_note(batch, note);

	gt_proto_int(batch, GT_PF_ANNOTATION_INT, value);
	gt_proto_end(batch, at);
}

static void put_text(struct gt_proto *batch, enum gt_pf_annotation note, const char *text)
{
	size_t at = begin_note(batch, note);

	gt_perfetto_put_clean(batch, GT_PF_ANNOTATION_STRING, text, strlen(text));
	gt_proto_end(batch, at);
}

static void put_iid(struct gt_proto *batch, enum gt_pf_annotation note, uint64_t iid)
{
	size_t at = begin_note(batch, note);

	gt_proto_uint(batch, GT_PF_ANNOTATION_STRING_IID, iid);
	gt_proto_end(batch, at);
}

/* ---- calls ---- */

/* A call's cbid follows from its name; written only if it differs from the last one of that
 * name. */
static bool cbid_is_new(struct gt_perfetto *pf, const struct gt_api_event *api)
{
	struct gt_perfetto_string *row;

	if (!api->name)
		return api->cbid != 0;
	row = gt_perfetto_string(&pf->names, api->name);
	if (!row || row->cbid == api->cbid)
		return !row;
	row->cbid = api->cbid;
	return true;
}

/* The flow to the work of this call, or only its id. */
static inline uint8_t *put_correlation(const struct gt_perfetto *pf, const struct gt_event *event,
				       uint8_t *at)
{
	uint64_t call = gt_perfetto_call(pf, event->correlation);
	uint8_t *inner;

	if (!event->api.enqueues)
		return event->correlation ? gt_proto_put_uint(at, GT_PF_EVENT_CORRELATION, call)
					  : at;
	inner = gt_proto_put_tag(at, GT_PF_EVENT_GPU, GT_PROTO_WIRE_BYTES) + 1;
	at = gt_proto_put_uint(inner, GT_PF_GPU_SUBMISSION, call);
	inner[-1] = (uint8_t)(at - inner);
	return at;
}

static void put_block(struct gt_proto *batch, const struct gt_block *block)
{
	put_text(batch, GT_PF_ANNOTATION_BLOCK_OP, gt_event_name_block_op(block->op));
	if (block->op == GT_BLOCK_ALLOCATE)
		put_text(batch, GT_PF_ANNOTATION_BLOCK_KIND, gt_event_name_block_kind(block->kind));
	if (block->address)
		put_uint(batch, GT_PF_ANNOTATION_BLOCK_ADDRESS, block->address);
	if (block->bytes)
		put_uint(batch, GT_PF_ANNOTATION_BLOCK_BYTES, block->bytes);
	if (block->handle)
		put_uint(batch, GT_PF_ANNOTATION_BLOCK_HANDLE, block->handle);
	if (block->device != GT_BLOCK_NO_DEVICE)
		put_uint(batch, GT_PF_ANNOTATION_BLOCK_DEVICE, block->device);
	if (block->context)
		put_uint(batch, GT_PF_ANNOTATION_BLOCK_CONTEXT, block->context);
}

/* What few calls have. */
static void put_annotations(struct gt_proto *batch, const struct gt_api_event *api, bool has_cbid)
{
	if (has_cbid)
		put_uint(batch, GT_PF_ANNOTATION_CBID, api->cbid);
	if (api->op)
		put_uint(batch, GT_PF_ANNOTATION_RANGE, api->op);
	if (api->result)
		put_int(batch, GT_PF_ANNOTATION_RESULT, api->result);
	if (api->block.op)
		put_block(batch, &api->block);
}

/* Room for the beginning of a call without them, and for its end. */
#define CALL_ROOM (2 * BEGIN_ROOM + 5 * GT_PROTO_VARINT)

void gt_perfetto_put_api(struct gt_perfetto *pf, const struct gt_event *event)
{
	const struct gt_api_event *api = &event->api;
	struct gt_proto *batch = &pf->file.batch;
	uint32_t track = gt_perfetto_thread(pf, event->tid);
	uint64_t name = gt_perfetto_name(pf, api->name);
	uint64_t stack = gt_perfetto_stack(pf, event->stack);
	bool has_cbid = cbid_is_new(pf, api);
	uint8_t *packet, *inner, *at;
	size_t begin, place;

	gt_perfetto_put_names(pf);
	packet = gt_proto_reserve(batch, CALL_ROOM);
	if (!packet)
		return;
	at = put_begin(pf, packet, event->start, GT_PF_TYPE_BEGIN, track, &inner);
	at = gt_proto_put_uint(at, GT_PF_EVENT_CATEGORY,
			       api->domain == GT_API_DRIVER ? GT_PF_CATEGORY_DRIVER
							    : GT_PF_CATEGORY_RUNTIME);
	at = gt_proto_put_uint(at, GT_PF_EVENT_NAME_IID, name);
	if (stack)
		at = gt_proto_put_uint(at, GT_PF_EVENT_CALLSTACK, stack);
	at = put_correlation(pf, event, at);
	if (!has_cbid && !api->op && !api->result && !api->block.op) {
		put_lengths(packet, inner, at);
		gt_proto_written(batch, put_end_at(pf, at, event->end, track));
		return;
	}
	begin = batch->length + 2;
	place = (size_t)(inner - batch->data);
	gt_proto_written(batch, at);
	put_annotations(batch, api, has_cbid);
	end_event(pf, place, begin);
	put_end(pf, event->end, track);
}

/* ---- ranges ---- */

struct range_iids {
	uint64_t name, domain, category, dims, file, stack;
};

static struct range_iids intern_range(struct gt_perfetto *pf, const struct gt_event *event)
{
	const struct gt_range_event *range = &event->range;
	struct range_iids iids = {.name = gt_perfetto_name(pf, range->name),
				  .stack = gt_perfetto_stack(pf, event->stack)};

	if (range->domain)
		iids.domain = gt_perfetto_value(pf, range->domain, false);
	if (range->category)
		iids.category = gt_perfetto_value(pf, range->category, false);
	if (range->dims)
		iids.dims = gt_perfetto_value(pf, range->dims, false);
	if (range->file)
		iids.file = gt_perfetto_value(pf, range->file, false);
	gt_perfetto_put_names(pf);
	return iids;
}

static enum gt_pf_category category_of(const struct gt_range_event *range)
{
	if (range->is_library)
		return GT_PF_CATEGORY_LIBRARY;
	if (range->is_os)
		return GT_PF_CATEGORY_OS;
	return range->is_operator ? GT_PF_CATEGORY_OPERATOR : GT_PF_CATEGORY_ANNOTATION;
}

static void put_library(struct gt_proto *batch, const struct gt_library_call *call)
{
	char text[GT_LIBRARY_TEXT_MAX];

	if (gt_library_text(call, false, text))
		put_text(batch, GT_PF_ANNOTATION_COLLECTIVE, text);
}

static void put_os_call(struct gt_proto *batch, const struct gt_os_facts *os, uint64_t file)
{
	const char *kind = gt_os_kind_name(os->kind);

	put_int(batch, os->has_bytes ? GT_PF_ANNOTATION_OS_BYTES : GT_PF_ANNOTATION_RESULT,
		os->result);
	if (os->error)
		put_uint(batch, GT_PF_ANNOTATION_OS_ERROR, os->error);
	if (os->descriptor != GT_OS_NO_DESCRIPTOR)
		put_int(batch, GT_PF_ANNOTATION_OS_DESCRIPTOR, os->descriptor);
	if (kind)
		put_text(batch, GT_PF_ANNOTATION_OS_KIND, kind);
	if (file)
		put_iid(batch, GT_PF_ANNOTATION_OS_FILE, file);
}

static void put_range_args(struct gt_proto *batch, const struct gt_range_event *range,
			   const struct range_iids *iids)
{
	gt_proto_uint(batch, GT_PF_EVENT_CATEGORY, category_of(range));
	gt_proto_uint(batch, GT_PF_EVENT_NAME_IID, iids->name);
	if (iids->stack)
		gt_proto_uint(batch, GT_PF_EVENT_CALLSTACK, iids->stack);
	if (range->id)
		put_uint(batch, GT_PF_ANNOTATION_RANGE, range->id);
	if (iids->domain)
		put_iid(batch, GT_PF_ANNOTATION_DOMAIN, iids->domain);
	if (iids->category)
		put_iid(batch, GT_PF_ANNOTATION_CATEGORY, iids->category);
	if (range->color)
		put_uint(batch, GT_PF_ANNOTATION_COLOR, range->color);
	if (range->payload[0])
		put_text(batch, GT_PF_ANNOTATION_PAYLOAD, range->payload);
	if (gt_range_is_call(range))
		put_library(batch, &range->library);
	if (range->is_os)
		put_os_call(batch, &range->os, iids->file);
	if (range->has_sequence)
		put_uint(batch, GT_PF_ANNOTATION_SEQUENCE, range->sequence);
	if (iids->dims)
		put_iid(batch, GT_PF_ANNOTATION_DIMS, iids->dims);
	if (range->unfinished)
		put_uint(batch, GT_PF_ANNOTATION_UNFINISHED, 1);
	if (range->detached)
		put_uint(batch, GT_PF_ANNOTATION_DETACHED, 1);
}

void gt_perfetto_put_range(struct gt_perfetto *pf, const struct gt_event *event)
{
	uint32_t track = event->range.detached ? gt_perfetto_thread_track(pf, event, GT_TRACK_RANGE)
					       : gt_perfetto_thread(pf, event->tid);
	struct range_iids iids = intern_range(pf, event);
	size_t packet, at = begin_event(pf, event->start, GT_PF_TYPE_BEGIN, track, &packet);

	put_range_args(&pf->file.batch, &event->range, &iids);
	end_event(pf, at, packet);
	put_end(pf, event->end, track);
}

static void put_unified_args(struct gt_proto *batch, const struct gt_unified_facts *facts)
{
	char text[GT_UNIFIED_TEXT];
	uint64_t number;

	for (unsigned int arg = 0; arg < GT_UNIFIED_ARG_COUNT_; arg++) {
		if (!gt_unified_get(facts, (enum gt_unified_arg)arg, text, &number))
			continue;
		if (*text)
			put_text(batch, gt_unified_annotations[arg], text);
		else
			put_uint(batch, gt_unified_annotations[arg], number);
	}
}

void gt_perfetto_put_unified(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_proto *batch = &pf->file.batch;
	uint32_t track = gt_perfetto_unified_track(pf, event);
	uint64_t name = gt_perfetto_name(pf, event->range.name);
	size_t packet, at;

	gt_perfetto_put_names(pf);
	at = begin_event(pf, event->start, GT_PF_TYPE_BEGIN, track, &packet);
	gt_proto_uint(batch, GT_PF_EVENT_CATEGORY, GT_PF_CATEGORY_UNIFIED);
	gt_proto_uint(batch, GT_PF_EVENT_NAME_IID, name);
	put_unified_args(batch, &event->range.unified);
	end_event(pf, at, packet);
	put_end(pf, event->end, track);
}

void gt_perfetto_put_mark(struct gt_perfetto *pf, const struct gt_event *event)
{
	uint32_t track = gt_perfetto_thread(pf, event->tid);
	struct range_iids iids = intern_range(pf, event);
	size_t packet, at = begin_event(pf, event->start, GT_PF_TYPE_INSTANT, track, &packet);

	put_range_args(&pf->file.batch, &event->range, &iids);
	end_event(pf, at, packet);
}

/* ---- the rest ---- */

/* Name of a frame: its function, else its module. */
static const struct gt_string *frame_name(const struct gt_stack_frame *frame)
{
	return frame->function && frame->function->length ? frame->function : frame->module;
}

void gt_perfetto_put_frame(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_proto *batch = &pf->file.batch;
	const struct gt_frame_event *frame = &event->frame;
	uint32_t track = gt_perfetto_thread_track(pf, event, GT_TRACK_STACK);
	uint64_t name = gt_perfetto_name(pf, frame_name(frame->frame));
	uint64_t iid = gt_perfetto_frame(pf, frame->frame);
	size_t packet, at;

	gt_perfetto_put_names(pf);
	at = begin_event(pf, event->start, GT_PF_TYPE_BEGIN, track, &packet);
	gt_proto_uint(batch, GT_PF_EVENT_CATEGORY, GT_PF_CATEGORY_STACK);
	gt_proto_uint(batch, GT_PF_EVENT_NAME_IID, name);
	put_uint(batch, GT_PF_ANNOTATION_FRAME, iid);
	if (frame->first_line)
		put_uint(batch, GT_PF_ANNOTATION_FIRST_LINE, frame->first_line);
	if (frame->last_line)
		put_uint(batch, GT_PF_ANNOTATION_LAST_LINE, frame->last_line);
	put_uint(batch, GT_PF_ANNOTATION_CALLS, frame->calls);
	end_event(pf, at, packet);
	put_end(pf, event->end, track);
}

/* Viewers draw these as call-stack samples of the thread. */
void gt_perfetto_put_sample(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_proto *batch = &pf->file.batch;
	uint64_t stack = gt_perfetto_stack(pf, event->stack);
	size_t packet, at;

	gt_perfetto_thread(pf, event->tid); /* its name */
	gt_perfetto_put_names(pf);
	packet = gt_perfetto_begin(pf, GT_PF_SEQUENCE_HOST, event->start);
	at = gt_proto_begin(batch, GT_PF_PERF_SAMPLE);
	gt_proto_uint(batch, GT_PF_SAMPLE_PID, gt_perfetto_pid(pf));
	gt_proto_uint(batch, GT_PF_SAMPLE_TID, event->tid);
	if (stack)
		gt_proto_uint(batch, GT_PF_SAMPLE_CALLSTACK, stack);
	gt_proto_uint(batch, GT_PF_SAMPLE_MODE,
		      event->sample.waiting ? GT_PF_MODE_KERNEL : GT_PF_MODE_USER);
	end_event(pf, at, packet);
}

void gt_perfetto_put_overhead(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_proto *batch = &pf->file.batch;
	uint32_t track = gt_perfetto_thread_track(pf, event, GT_TRACK_OVERHEAD);
	uint64_t name = gt_perfetto_name(pf, event->overhead.name);
	size_t packet, at;

	gt_perfetto_put_names(pf);
	at = begin_event(pf, event->start, GT_PF_TYPE_BEGIN, track, &packet);
	gt_proto_uint(batch, GT_PF_EVENT_CATEGORY, GT_PF_CATEGORY_OVERHEAD);
	gt_proto_uint(batch, GT_PF_EVENT_NAME_IID, name);
	if (event->overhead.kernel)
		put_text(batch, GT_PF_ANNOTATION_KERNEL, event->overhead.kernel->text);
	end_event(pf, at, packet);
	put_end(pf, event->end, track);
}

void gt_perfetto_put_tensor(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_proto *batch = &pf->file.batch;
	const struct gt_tensor_event *tensor = &event->tensor;
	uint32_t track = gt_perfetto_thread(pf, event->tid);
	uint64_t stack = gt_perfetto_stack(pf, event->stack);
	size_t packet, at;

	gt_perfetto_put_names(pf);
	at = begin_event(pf, event->start, GT_PF_TYPE_INSTANT, track, &packet);
	gt_proto_uint(batch, GT_PF_EVENT_CATEGORY, GT_PF_CATEGORY_TENSOR);
	gt_proto_cstr(batch, GT_PF_EVENT_NAME, "[memory]");
	if (stack)
		gt_proto_uint(batch, GT_PF_EVENT_CALLSTACK, stack);
	put_uint(batch, GT_PF_ANNOTATION_TENSOR_RESERVED, tensor->reserved);
	put_uint(batch, GT_PF_ANNOTATION_TENSOR_ALLOCATED, tensor->allocated);
	put_int(batch, GT_PF_ANNOTATION_TENSOR_BYTES, tensor->bytes);
	put_uint(batch, GT_PF_ANNOTATION_TENSOR_ADDRESS, tensor->address);
	put_int(batch, GT_PF_ANNOTATION_TENSOR_DEVICE, tensor->device);
	put_int(batch, GT_PF_ANNOTATION_TENSOR_DEVICE_TYPE, tensor->device_type);
	end_event(pf, at, packet);
}

void gt_perfetto_put_counter(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_proto *batch = &pf->file.batch;
	uint32_t track = gt_perfetto_counter(pf, event);
	size_t packet, at = begin_event(pf, event->start, GT_PF_TYPE_COUNTER, track, &packet);

	if (event->counter.is_real)
		gt_proto_double(batch, GT_PF_EVENT_REAL, event->counter.real);
	else
		gt_proto_int(batch, GT_PF_EVENT_INTEGER, event->counter.value);
	end_event(pf, at, packet);
}

void gt_perfetto_put_annotation(struct gt_perfetto *pf, const struct gt_event *event)
{
	struct gt_proto *batch = &pf->file.batch;
	const struct gt_note_event *note = &event->note;
	uint32_t track = event->tid ? gt_perfetto_thread(pf, event->tid) : GT_PF_TRACK_OF_PROCESS;
	uint64_t stack = gt_perfetto_stack(pf, event->stack);
	size_t packet, at;

	gt_perfetto_put_names(pf);
	at = begin_event(pf, event->start, GT_PF_TYPE_INSTANT, track, &packet);
	gt_proto_uint(batch, GT_PF_EVENT_CATEGORY, GT_PF_CATEGORY_GPUTRACE);
	gt_proto_cstr(batch, GT_PF_EVENT_NAME, note->name);
	if (stack)
		gt_proto_uint(batch, GT_PF_EVENT_CALLSTACK, stack);
	if (note->cause)
		put_text(batch, GT_PF_ANNOTATION_CAUSE, note->cause);
	if (note->count)
		put_uint(batch, GT_PF_ANNOTATION_COUNT, note->count);
	if (note->of_what)
		put_text(batch, GT_PF_ANNOTATION_OF_WHAT, note->of_what);
	if (event->end > event->start)
		put_uint(batch, GT_PF_ANNOTATION_DURATION, event->end - event->start);
	if (note->what)
		put_text(batch, GT_PF_ANNOTATION_WHAT, note->what);
	end_event(pf, at, packet);
}
