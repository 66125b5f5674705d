/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the track descriptors and track events of a .pftrace into host events. One thread per
 * reading.
 */
#include "readers/perfetto/pftrace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/event_names.h"

#define DEFAULT_TRACK (GT_PF_TRACK_OF_PROCESS + 1)

/* ---- tracks ---- */

struct descriptor {
	uint64_t uuid, parent, tid;
	bool is_thread, is_counter;
	const struct gt_string *name, *thread_name, *description;
};

static void take_thread(struct gt_pftrace *pf, struct gt_wire thread, struct descriptor *d)
{
	struct gt_wire_field field;

	d->is_thread = true;
	while (gt_wire_next(&thread, &field)) {
		if (field.number == GT_PF_THREAD_TID)
			d->tid = field.value;
		else if (field.number == GT_PF_THREAD_NAME)
			d->thread_name = gt_pftrace_text(pf, &field);
	}
}

/* Without the number of its process; of another one no track of this. */
static uint64_t own_track(const struct gt_pftrace *pf, uint64_t uuid)
{
	return uuid - ((uint64_t)pf->events->part << GT_PF_PART_OF_TRACK);
}

static struct descriptor describe(struct gt_pftrace *pf, struct gt_wire track)
{
	struct descriptor d = {0};
	struct gt_wire_field field;

	while (gt_wire_next(&track, &field)) {
		if (field.number == GT_PF_TRACK_UUID)
			d.uuid = own_track(pf, field.value);
		else if (field.number == GT_PF_TRACK_PARENT)
			d.parent = own_track(pf, field.value);
		else if (field.number == GT_PF_TRACK_NAME)
			d.name = gt_pftrace_text(pf, &field);
		else if (field.number == GT_PF_TRACK_DESCRIPTION)
			d.description = gt_pftrace_text(pf, &field);
		else if (field.number == GT_PF_TRACK_THREAD)
			take_thread(pf, gt_wire_inside(&field), &d);
		else if (field.number == GT_PF_TRACK_COUNTER)
			d.is_counter = true;
	}
	return d;
}

/* The name of a counter without its series: "GPU 0 memory" for "GPU 0 memory allocated". */
static const struct gt_string *without_series(struct gt_pftrace *pf, const struct descriptor *d)
{
	size_t tail = d->description->length + 1u;

	if (d->name->length <= tail)
		return d->name;
	return gt_intern_get(pf->events->strings, d->name->text, d->name->length - tail);
}

static void fill_track(struct gt_pftrace *pf, const struct descriptor *d,
		       struct gt_pftrace_track *track)
{
	const struct gt_pftrace_track *parent = gt_pftrace_find(pf, GT_PFTRACE_TRACKS, d->parent);

	*track = (struct gt_pftrace_track){.kind = GT_PFTRACE_TRACK, .name = d->name};
	if (parent) {
		track->tid = parent->tid;
		track->device = parent->device;
		track->on_gpu = parent->on_gpu;
	}
	if (d->is_thread) {
		track->kind = GT_PFTRACE_THREAD;
		track->tid = (uint32_t)d->tid;
	} else if (d->is_counter && d->name && d->description) {
		track->kind = GT_PFTRACE_COUNTER;
		track->name = without_series(pf, d);
		track->series = d->description;
	} else if (d->description) {
		track->on_gpu = sscanf(d->description->text, "device %u", &track->device) == 1;
	}
}

static int give_thread_name(struct gt_pftrace *pf, const struct descriptor *d)
{
	struct gt_event event = {.kind = GT_EVENT_THREAD, .tid = (uint32_t)d->tid};

	event.start = event.end = pf->events->metadata.start;
	event.thread.name = d->thread_name;
	return gt_events_give(pf->events, &event);
}

int gt_pftrace_take_track(struct gt_pftrace *pf, struct gt_wire wire)
{
	struct descriptor d = describe(pf, wire);
	struct gt_pftrace_track *track = gt_arena_get(&pf->events->arena, sizeof(*track));
	int error;

	if (!track)
		return -ENOMEM;
	fill_track(pf, &d, track);
	error = gt_pftrace_store(pf, GT_PFTRACE_TRACKS, d.uuid, track);
	if (!error && pf->events->take_track)
		error = pf->events->take_track(d.uuid, track, pf->events->data);
	if (error || !d.is_thread || !d.thread_name || !pf->has_metadata)
		return error;
	return give_thread_name(pf, &d);
}

/* ---- track events ---- */

struct note {
	bool given;
	uint64_t number;
	const struct gt_string *text;
};

struct track_event {
	uint64_t type, track, category, name_iid, stack, correlation, value;
	bool enqueues, is_real, has_value, is_gputrace;
	double real;
	const struct gt_string *name;
	struct note notes[GT_PF_ANNOTATION_COUNT_];
};

static void note_value(struct gt_pftrace *pf, const struct gt_wire_field *field, uint64_t *ret_id,
		       struct note *note)
{
	switch (field->number) {
	case GT_PF_ANNOTATION_NAME_IID:
		*ret_id = field->value;
		break;
	case GT_PF_ANNOTATION_STRING:
		note->text = gt_pftrace_text(pf, field);
		break;
	case GT_PF_ANNOTATION_STRING_IID:
		note->text = gt_pftrace_find(pf, GT_PFTRACE_HOST_VALUES, field->value);
		break;
	case GT_PF_ANNOTATION_UINT:
	case GT_PF_ANNOTATION_INT:
		note->number = field->value;
		break;
	default:
		break;
	}
}

/* The last LOST has the names of its annotations in place, without interned numbers. */
static uint64_t note_by_name(const struct gt_wire_field *field)
{
	static const char *const names[GT_PF_ANNOTATION_COUNT_] = {
#define GT_PF_ANNOTATION(id, name) [GT_PF_ANNOTATION_##id] = name,
#include "core/schema/pftrace_args.def"
	};

	for (unsigned int i = 0; field->data && i < GT_PF_ANNOTATION_COUNT_; i++)
		if (strlen(names[i]) == field->size && !memcmp(names[i], field->data, field->size))
			return i + 1;
	return 0;
}

static void take_note(struct gt_pftrace *pf, struct gt_wire wire, struct track_event *e)
{
	struct note note = {.given = true};
	struct gt_wire_field field;
	uint64_t id = 0;

	while (gt_wire_next(&wire, &field)) {
		if (field.number == GT_PF_ANNOTATION_NAME)
			id = note_by_name(&field);
		else
			note_value(pf, &field, &id, &note);
	}
	if (id > GT_PF_ANNOTATION_COUNT_)
		pf->events->strange++;
	else if (id)
		e->notes[id - 1] = note;
}

static void take_submission(struct gt_wire wire, struct track_event *e)
{
	struct gt_wire_field field;

	e->enqueues = true;
	while (gt_wire_next(&wire, &field))
		if (field.number == GT_PF_GPU_SUBMISSION)
			e->correlation = field.value;
}

static void take_field(struct gt_pftrace *pf, const struct gt_wire_field *field,
		       struct track_event *e)
{
	switch (field->number) {
	case GT_PF_EVENT_TYPE:
		e->type = field->value;
		break;
	case GT_PF_EVENT_TRACK:
		e->track = own_track(pf, field->value);
		break;
	case GT_PF_EVENT_CATEGORY:
		e->category = field->value;
		break;
	case GT_PF_EVENT_CATEGORY_TEXT:
		e->is_gputrace = true;
		break;
	case GT_PF_EVENT_NAME_IID:
		e->name = gt_pftrace_find(pf, GT_PFTRACE_EVENT_NAMES, field->value);
		e->name_iid = field->value;
		break;
	case GT_PF_EVENT_NAME:
		e->name = gt_pftrace_text(pf, field);
		break;
	case GT_PF_EVENT_CALLSTACK:
		e->stack = field->value;
		break;
	case GT_PF_EVENT_CORRELATION:
		e->correlation = field->value;
		break;
	case GT_PF_EVENT_INTEGER:
		e->value = field->value;
		break;
	case GT_PF_EVENT_REAL:
		memcpy(&e->real, &field->value, sizeof(e->real));
		e->is_real = true;
		break;
	case GT_PF_EVENT_GPU:
		take_submission(gt_wire_inside(field), e);
		break;
	case GT_PF_EVENT_ANNOTATION:
		take_note(pf, gt_wire_inside(field), e);
		break;
	default:
		break;
	}
}

static struct track_event read_event(struct gt_pftrace *pf, struct gt_wire wire)
{
	struct track_event e = {.track = DEFAULT_TRACK};
	struct gt_wire_field field;

	while (gt_wire_next(&wire, &field))
		take_field(pf, &field, &e);
	return e;
}

/* ---- events ---- */

/* The cbid of a call, which is written only if it differs from the last one with this name. */
static uint32_t cbid_of(struct gt_pftrace *pf, const struct track_event *e)
{
	const struct note *note = &e->notes[GT_PF_ANNOTATION_CBID];
	uint32_t wanted = pf->cbid_count ? pf->cbid_count : 64;
	uint32_t *grown;

	if (e->name_iid >= GT_PFTRACE_MAX_IID)
		return (uint32_t)note->number;
	while (wanted <= e->name_iid)
		wanted *= 2;
	if (wanted > pf->cbid_count) {
		grown = realloc(pf->cbids, wanted * sizeof(*grown));
		if (!grown)
			return (uint32_t)note->number;
		memset(grown + pf->cbid_count, 0, (wanted - pf->cbid_count) * sizeof(*grown));
		pf->cbids = grown;
		pf->cbid_count = wanted;
	}
	if (note->given)
		pf->cbids[e->name_iid] = (uint32_t)note->number;
	return pf->cbids[e->name_iid];
}

static struct gt_block block_of(const struct track_event *e)
{
	const struct note *notes = e->notes;
	const struct gt_string *op = notes[GT_PF_ANNOTATION_BLOCK_OP].text;
	const struct gt_string *kind = notes[GT_PF_ANNOTATION_BLOCK_KIND].text;
	struct gt_block block = {.device = GT_BLOCK_NO_DEVICE};

	if (op)
		block.op = (uint8_t)gt_event_find_block_op(op->text, op->length);
	if (!block.op)
		return (struct gt_block){0};
	if (kind)
		block.kind = (uint8_t)gt_event_find_block_kind(kind->text, kind->length);
	if (notes[GT_PF_ANNOTATION_BLOCK_DEVICE].given)
		block.device = (uint32_t)notes[GT_PF_ANNOTATION_BLOCK_DEVICE].number;
	block.address = notes[GT_PF_ANNOTATION_BLOCK_ADDRESS].number;
	block.bytes = notes[GT_PF_ANNOTATION_BLOCK_BYTES].number;
	block.handle = notes[GT_PF_ANNOTATION_BLOCK_HANDLE].number;
	block.context = (uint32_t)notes[GT_PF_ANNOTATION_BLOCK_CONTEXT].number;
	return block;
}

static void make_api(struct gt_pftrace *pf, const struct track_event *e, struct gt_event *event)
{
	event->kind = GT_EVENT_API;
	event->api = (struct gt_api_event){
		.domain = e->category == GT_PF_CATEGORY_DRIVER ? GT_API_DRIVER : GT_API_RUNTIME,
		.cbid = cbid_of(pf, e),
		.result = (int32_t)e->notes[GT_PF_ANNOTATION_RESULT].number,
		.enqueues = e->enqueues,
		.op = e->notes[GT_PF_ANNOTATION_RANGE].number,
		.name = e->name,
		.block = block_of(e)};
}

static void take_os_call(const struct note *notes, struct gt_range_event *range)
{
	const struct note *bytes = &notes[GT_PF_ANNOTATION_OS_BYTES];
	const struct note *descriptor = &notes[GT_PF_ANNOTATION_OS_DESCRIPTOR];
	const struct gt_string *kind = notes[GT_PF_ANNOTATION_OS_KIND].text;

	range->os = (struct gt_os_facts){
		.result = (int64_t)(bytes->given ? bytes : &notes[GT_PF_ANNOTATION_RESULT])->number,
		.has_bytes = bytes->given,
		.error = (uint16_t)notes[GT_PF_ANNOTATION_OS_ERROR].number,
		.descriptor =
			descriptor->given ? (int32_t)descriptor->number : GT_OS_NO_DESCRIPTOR};
	if (kind)
		range->os.kind = (uint8_t)gt_os_kind_find(kind->text, kind->length);
	range->file = notes[GT_PF_ANNOTATION_OS_FILE].text;
}

static void make_unified(const struct track_event *e, struct gt_event *event)
{
	struct gt_unified_facts *facts = &event->range.unified;

	event->kind = GT_EVENT_RANGE;
	event->range =
		(struct gt_range_event){.name = e->name,
					.is_unified = true,
					.unified = {.from = GT_UNIFIED_NONE, .to = GT_UNIFIED_NONE},
					.detached = true};
	if (e->name)
		facts->kind = (uint8_t)gt_unified_find(e->name->text, e->name->length);
	for (unsigned int arg = 0; arg < GT_UNIFIED_ARG_COUNT_; arg++) {
		const struct note *note = &e->notes[gt_unified_annotations[arg]];

		if (note->text)
			gt_unified_set_text(facts, (enum gt_unified_arg)arg, note->text->text,
					    note->text->length);
		else if (note->given)
			gt_unified_set_number(facts, (enum gt_unified_arg)arg, note->number);
	}
	event->tid = gt_unified_row(facts);
}

static void make_range(const struct track_event *e, struct gt_event *event)
{
	const struct note *notes = e->notes;
	const struct gt_string *payload = notes[GT_PF_ANNOTATION_PAYLOAD].text;
	const struct gt_string *collective = notes[GT_PF_ANNOTATION_COLLECTIVE].text;
	bool is_call;

	event->kind = e->type == GT_PF_TYPE_INSTANT ? GT_EVENT_MARK : GT_EVENT_RANGE;
	event->range = (struct gt_range_event){
		.name = e->name,
		.domain = notes[GT_PF_ANNOTATION_DOMAIN].text,
		.category = notes[GT_PF_ANNOTATION_CATEGORY].text,
		.id = notes[GT_PF_ANNOTATION_RANGE].number,
		.color = (uint32_t)notes[GT_PF_ANNOTATION_COLOR].number,
		.unfinished = notes[GT_PF_ANNOTATION_UNFINISHED].number != 0,
		.detached = notes[GT_PF_ANNOTATION_DETACHED].number != 0,
		.is_operator = e->category == GT_PF_CATEGORY_OPERATOR,
		.is_library = e->category == GT_PF_CATEGORY_LIBRARY,
		.is_os = e->category == GT_PF_CATEGORY_OS,
		.has_sequence = notes[GT_PF_ANNOTATION_SEQUENCE].given,
		.sequence = notes[GT_PF_ANNOTATION_SEQUENCE].number,
		.dims = notes[GT_PF_ANNOTATION_DIMS].text};
	is_call = event->range.is_library || collective;
	if (payload)
		snprintf(event->range.payload, sizeof(event->range.payload), "%s", payload->text);
	if (is_call && e->name)
		gt_library_set_name(&event->range.library, e->name->text, e->name->length);
	if (event->range.is_os)
		take_os_call(notes, &event->range);
	if (is_call && collective)
		gt_library_parse(collective->text, collective->length, &event->range.library);
}

static void make_note(const struct track_event *e, struct gt_event *event)
{
	const struct note *notes = e->notes;

	event->kind = GT_EVENT_NOTE;
	event->end += notes[GT_PF_ANNOTATION_DURATION].number;
	if (event->end < event->start)
		event->end = event->start;
	event->note = (struct gt_note_event){.name = e->name ? e->name->text : "(no name)",
					     .count = notes[GT_PF_ANNOTATION_COUNT].number};
	if (notes[GT_PF_ANNOTATION_CAUSE].text)
		event->note.cause = notes[GT_PF_ANNOTATION_CAUSE].text->text;
	if (notes[GT_PF_ANNOTATION_OF_WHAT].text)
		event->note.of_what = notes[GT_PF_ANNOTATION_OF_WHAT].text->text;
	if (notes[GT_PF_ANNOTATION_WHAT].text)
		event->note.what = notes[GT_PF_ANNOTATION_WHAT].text->text;
}

/* False: unknown frame. */
static bool make_frame(struct gt_pftrace *pf, const struct track_event *e, struct gt_event *event)
{
	event->kind = GT_EVENT_FRAME;
	event->frame = (struct gt_frame_event){
		.frame = gt_pftrace_find(pf, GT_PFTRACE_FRAMES,
					 e->notes[GT_PF_ANNOTATION_FRAME].number),
		.first_line = (uint32_t)e->notes[GT_PF_ANNOTATION_FIRST_LINE].number,
		.last_line = (uint32_t)e->notes[GT_PF_ANNOTATION_LAST_LINE].number,
		.calls = e->notes[GT_PF_ANNOTATION_CALLS].number};
	return event->frame.frame != NULL;
}

/* False: a category that gputrace does not write. */
static bool make_slice(struct gt_pftrace *pf, const struct track_event *e, struct gt_event *event)
{
	switch (e->category) {
	case GT_PF_CATEGORY_RUNTIME:
	case GT_PF_CATEGORY_DRIVER:
		make_api(pf, e, event);
		return true;
	case GT_PF_CATEGORY_ANNOTATION:
	case GT_PF_CATEGORY_OPERATOR:
	case GT_PF_CATEGORY_LIBRARY:
	case GT_PF_CATEGORY_OS:
		make_range(e, event);
		return true;
	case GT_PF_CATEGORY_UNIFIED:
		make_unified(e, event);
		return true;
	case GT_PF_CATEGORY_STACK:
		return make_frame(pf, e, event);
	case GT_PF_CATEGORY_OVERHEAD:
		event->kind = GT_EVENT_OVERHEAD;
		event->overhead = (struct gt_overhead_event){
			.name = e->name, .kernel = e->notes[GT_PF_ANNOTATION_KERNEL].text};
		return true;
	default:
		return false;
	}
}

static int begin(struct gt_pftrace *pf, const struct track_event *e, struct gt_event *event)
{
	pf->events->strange += pf->is_open;
	pf->is_open = make_slice(pf, e, event);
	pf->events->strange += !pf->is_open;
	pf->open = *event;
	pf->open_track = e->track;
	return 0;
}

static int end(struct gt_pftrace *pf, const struct track_event *e, uint64_t ns)
{
	struct gt_event event = pf->open;

	if (!pf->is_open || pf->open_track != e->track || ns < event.start) {
		pf->events->strange++;
		return 0;
	}
	pf->is_open = false;
	event.end = ns;
	return gt_events_give(pf->events, &event);
}

static void make_tensor(const struct track_event *e, struct gt_event *event)
{
	const struct note *notes = e->notes;

	event->kind = GT_EVENT_TENSOR;
	event->tensor = (struct gt_tensor_event){
		.address = notes[GT_PF_ANNOTATION_TENSOR_ADDRESS].number,
		.bytes = (int64_t)notes[GT_PF_ANNOTATION_TENSOR_BYTES].number,
		.allocated = notes[GT_PF_ANNOTATION_TENSOR_ALLOCATED].number,
		.reserved = notes[GT_PF_ANNOTATION_TENSOR_RESERVED].number,
		.device = (int32_t)notes[GT_PF_ANNOTATION_TENSOR_DEVICE].number,
		.device_type = (int32_t)notes[GT_PF_ANNOTATION_TENSOR_DEVICE_TYPE].number};
}

static int instant(struct gt_pftrace *pf, const struct track_event *e, struct gt_event *event)
{
	if (e->category == GT_PF_CATEGORY_GPUTRACE || e->is_gputrace)
		make_note(e, event);
	else if (e->category == GT_PF_CATEGORY_TENSOR)
		make_tensor(e, event);
	else
		make_range(e, event);
	return gt_events_give(pf->events, event);
}

static int counter(struct gt_pftrace *pf, const struct track_event *e,
		   const struct gt_pftrace_track *track, struct gt_event *event)
{
	if (track->kind != GT_PFTRACE_COUNTER) {
		pf->events->strange++;
		return 0;
	}
	event->kind = GT_EVENT_COUNTER;
	event->tid = 0;
	event->place.device = track->device;
	event->counter = (struct gt_counter_event){.name = track->name,
						   .series = track->series,
						   .value = (int64_t)e->value,
						   .real = e->real,
						   .is_real = e->is_real,
						   .on_gpu = track->on_gpu};
	return gt_events_give(pf->events, event);
}

static bool is_named(const struct track_event *e, const char *name)
{
	return e->is_gputrace && e->name && !strcmp(e->name->text, name);
}

int gt_pftrace_take_event(struct gt_pftrace *pf, struct gt_wire wire, uint64_t ns)
{
	static const struct gt_pftrace_track none;
	struct track_event e = read_event(pf, wire);
	const struct gt_pftrace_track *track;
	struct gt_event event = {.start = ns, .end = ns};

	if (is_named(&e, GT_PF_HEADER_NAME))
		return gt_pftrace_take_metadata(pf, wire);
	if (pf->metadata_only)
		return 0;
	if (!pf->has_metadata)
		return -EBADMSG;
	if (is_named(&e, GT_PF_LEDGER_NAME)) {
		gt_pftrace_take_ledger(pf, wire);
		return 0;
	}
	track = gt_pftrace_find(pf, GT_PFTRACE_TRACKS, e.track);
	track = track ? track : &none;
	pf->events->track = e.track;
	event.tid = track->tid;
	event.correlation = (uint32_t)e.correlation;
	event.stack = e.stack ? gt_pftrace_find(pf, GT_PFTRACE_STACKS, e.stack) : NULL;
	if (e.type == GT_PF_TYPE_BEGIN)
		return begin(pf, &e, &event);
	if (e.type == GT_PF_TYPE_END)
		return end(pf, &e, ns);
	return e.type == GT_PF_TYPE_COUNTER ? counter(pf, &e, track, &event)
					    : instant(pf, &e, &event);
}

int gt_pftrace_take_sample(struct gt_pftrace *pf, struct gt_wire wire, uint64_t ns)
{
	struct gt_event event = {.kind = GT_EVENT_SAMPLE, .start = ns, .end = ns};
	struct gt_wire_field field;

	if (!pf->has_metadata)
		return -EBADMSG;
	while (gt_wire_next(&wire, &field)) {
		if (field.number == GT_PF_SAMPLE_TID)
			event.tid = (uint32_t)field.value;
		else if (field.number == GT_PF_SAMPLE_CALLSTACK)
			event.stack = gt_pftrace_find(pf, GT_PFTRACE_STACKS, field.value);
		else if (field.number == GT_PF_SAMPLE_MODE)
			event.sample.waiting = field.value == GT_PF_MODE_KERNEL;
	}
	return gt_events_give(pf->events, &event);
}
