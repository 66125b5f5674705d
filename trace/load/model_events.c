/* SPDX-License-Identifier: Apache-2.0
 *
 * See model_events.h. Texts, frames and stacks of the file are looked up by their address, which
 * lasts as long as the reading: each is taken in once. One thread per file.
 */
#include "trace/load/model_events.h"
#include "trace/load/model_health.h"
#include "trace/load/model_mpi.h"
#include "trace/load/model_os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/event_text.h"
#include "core/schema/event_names.h"
#include "core/tracks.h"
#include "readers/chrome/reading_events.h"
#include "readers/events.h"
#include "readers/keymap.h"

#define NO_NAME    "(no name)"
#define SMALL_PIDS 4194304 /* is added to pids that would be GPUs (docs/FORMAT.md) */
#define FIRST_HOST 64
#define NO_ID      ((int64_t)1 << 40) /* of a stack that the file gave the number 0 */
#define LOW        UINT32_MAX

/* A .pftrace that is being taken into a model. */
struct model_events {
	struct gt_builder *b;
	struct gt_model *model;
	struct gt_events events;
	bool has_metadata;
	uint32_t pid;
	uint64_t base;
	GT_VEC(uint32_t) names;   /* by number of the file's string: name + 1 */
	GT_VEC(uint8_t) modules;  /* by number of a build-id: 1, it has been told */
	GT_VEC(uint32_t) scratch; /* frames of the stack in hand */
	struct gt_keymap frames;  /* address -> name */
	struct gt_keymap stacks;  /* address -> index in model->stacks + 1 */
	struct gt_keymap threads; /* tid + 1 -> its name above, index in model->threads + 1 below */
	struct gt_tracks *tracks;
	struct gt_json text;
	bool is_tight; /* as the JSON of the trace would be */
};

/* ---- names and stacks ---- */

static bool grow_names(struct model_events *e, uint32_t id)
{
	while (e->names.count <= id)
		if (!gt_vec_push(&e->names, 0))
			return false;
	return true;
}

static uint32_t name_of(struct model_events *e, const struct gt_string *string)
{
	uint32_t name;

	if (!string || !string->length)
		return gt_names_put(&e->model->names, NO_NAME, sizeof(NO_NAME) - 1);
	if (string->id && string->id < e->names.count && e->names.at[string->id])
		return e->names.at[string->id] - 1;
	name = gt_names_put(&e->model->names, string->text, string->length);
	if (string->id && grow_names(e, string->id))
		e->names.at[string->id] = name + 1;
	return name;
}

static bool grow_modules(struct model_events *e, uint32_t id)
{
	while (e->modules.count <= id)
		if (!gt_vec_push(&e->modules, 0))
			return false;
	return true;
}

static uint32_t name_of_frame(struct model_events *e, const struct gt_stack_frame *frame)
{
	struct gt_keymap_entry *entry = gt_keymap_get(&e->frames, (uintptr_t)frame);

	if (entry && entry->value)
		return (uint32_t)entry->value;
	gt_json_cut(&e->text, 0);
	gt_frame_text(&e->text, frame, 0, true);
	if (!entry)
		return gt_names_put(&e->model->names, e->text.text, e->text.length);
	if (frame->module && frame->build_id)
		gt_build_module(e->b, frame->module->text, frame->module->length,
				frame->build_id->text, frame->build_id->length);
	entry->value = gt_names_put(&e->model->names, e->text.text, e->text.length);
	return (uint32_t)entry->value;
}

/* True once per module, identified by its build-id. */
static bool is_new_module(const struct gt_stack_frame *frame, void *data)
{
	struct model_events *e = data;
	uint32_t id = frame->module && frame->build_id ? frame->build_id->id : 0;

	if (!id || !grow_modules(e, id) || e->modules.at[id])
		return false;
	e->modules.at[id] = 1;
	return true;
}

/* Index in model->stacks, or GT_NONE. *@ret_first: no event before had it. */
static uint32_t find_stack(struct model_events *e, const struct gt_stack *stack, bool *ret_first)
{
	struct gt_keymap_entry *entry = stack ? gt_keymap_get(&e->stacks, (uintptr_t)stack) : NULL;
	uint32_t index;

	*ret_first = entry && !entry->value;
	if (!entry)
		return GT_NONE;
	if (entry->value)
		return (uint32_t)(entry->value - 1);
	e->scratch.count = 0;
	for (uint32_t i = 0; i < stack->count; i++)
		if (!gt_vec_push(&e->scratch, name_of_frame(e, stack->frames[i])))
			return GT_NONE;
	index = gt_build_stack_of(e->b, stack->id ? stack->id : NO_ID, e->scratch.at,
				  (uint32_t)e->scratch.count);
	entry->value = (int64_t)index + 1;
	return index;
}

static uint32_t stack_of(struct model_events *e, const struct gt_stack *stack)
{
	bool first;
	uint32_t index = find_stack(e, stack, &first);

	for (uint32_t i = 0; first && i < stack->count; i++)
		is_new_module(stack->frames[i], e);
	return index;
}

/* ---- threads and their additional tracks ---- */

static void set_name(struct model_events *e, uint32_t thread, uint32_t name)
{
	if (thread < e->model->threads.count)
		e->model->threads.at[thread].name = name;
}

static uint32_t format_name(struct model_events *e, uint32_t tid, const char *suffix, uint32_t k)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "thread %u%s", tid, suffix);

	if (k)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " (%u)", k + 1);
	return gt_names_put(&e->model->names, text, (size_t)n);
}

static uint32_t thread_of(struct model_events *e, uint32_t tid)
{
	struct gt_keymap_entry *entry = gt_keymap_get(&e->threads, (uint64_t)tid + 1);
	uint32_t thread, name;

	if (entry && entry->value & LOW)
		return (uint32_t)((entry->value & LOW) - 1);
	thread = gt_build_thread(e->b, e->pid, tid);
	if (!entry || !tid)
		return thread;
	name = (uint32_t)(entry->value >> 32);
	set_name(e, thread, name ? name : format_name(e, tid, "", 0));
	entry->value |= (int64_t)thread + 1;
	return thread;
}

/* A name for a thread that has events already, or will have. */
static void take_thread_name(struct model_events *e, const struct gt_event *event)
{
	struct gt_keymap_entry *entry =
		event->tid ? gt_keymap_get(&e->threads, (uint64_t)event->tid + 1) : NULL;
	uint32_t name;

	if (!entry)
		return;
	name = name_of(e, event->thread.name);
	entry->value = (int64_t)name << 32 | (entry->value & LOW);
	if (entry->value & LOW)
		set_name(e, (uint32_t)((entry->value & LOW) - 1), name);
}

static uint64_t time_of(const struct model_events *e, uint64_t ns)
{
	return ns > e->base ? ns - e->base : 0;
}

/* An additional track of the thread, for what may begin inside one call and end inside another. */
static uint32_t row_of(struct model_events *e, const struct gt_event *event,
		       enum gt_track_kind kind)
{
	struct gt_track_request request = gt_track_of_thread(
		kind, event->tid, time_of(e, event->start), time_of(e, event->end));
	struct gt_track track;
	uint32_t thread;

	gt_tracks_get(e->tracks, &request, &track);
	thread = gt_build_thread(e->b, e->pid, track.tid);
	if (track.fresh)
		set_name(e, thread, format_name(e, event->tid, gt_track_suffix(kind), track.k));
	return thread;
}

/* ---- events ---- */

/* When an event was, on the clock of the model. */
struct span_of_time {
	int64_t start, dur;
};

/* False: no time of a model is as large. */
static bool find_time(struct model_events *e, const struct gt_event *event,
		      struct span_of_time *ret_time)
{
	uint64_t start = time_of(e, event->start), end = time_of(e, event->end);

	if (start >= GT_FARTHEST_NS || end >= GT_FARTHEST_NS) {
		e->model->odd.bad_ts++;
		return false;
	}
	ret_time->start = (int64_t)start;
	ret_time->dur = end > start ? (int64_t)(end - start) : 0;
	return true;
}

static uint32_t name_of_op(struct model_events *e, const struct gt_event *event)
{
	char text[80];
	size_t n;

	if (event->kind == GT_EVENT_KERNEL)
		return name_of(e, event->kernel.name);
	if (event->kind == GT_EVENT_GRAPH)
		n = gt_event_name_graph(&event->graph, text, sizeof(text));
	else if (event->kind == GT_EVENT_MEMCPY)
		n = gt_event_name_memcpy(&event->memory, text, sizeof(text));
	else
		n = gt_event_name_memset(&event->memory, text, sizeof(text));
	return gt_names_put(&e->model->names, text, n);
}

static int64_t bytes_of(struct model_events *e, const struct gt_event *event)
{
	bool moves = event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET;
	uint64_t bytes = moves ? event->memory.bytes : 0;

	return gt_build_bounded(bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, 0,
				GT_BUILD_LARGEST_COPY, GT_NO_BYTES, &e->model->odd.no_bytes);
}

static void take_collective(struct gt_model *model, const struct gt_library_call *call,
			    struct gt_op *op)
{
	char text[24];

	if (!call->operations)
		return;
	if (gt_library_bytes(call) <= GT_BUILD_LARGEST_COPY)
		op->bytes = (int64_t)gt_library_bytes(call);
	snprintf(text, sizeof(text), "0x%016" PRIx64, call->communicator);
	op->comm = call->communicator ? gt_build_group_of(model, text, "", call->ranks) : 1;
}

static int take_op(struct model_events *e, const struct gt_event *event,
		   const struct span_of_time *time)
{
	static const uint8_t kinds[] = {[GT_EVENT_KERNEL] = GT_OP_KERNEL,
					[GT_EVENT_MEMCPY] = GT_OP_COPY,
					[GT_EVENT_MEMSET] = GT_OP_SET,
					[GT_EVENT_GRAPH] = GT_OP_GRAPH};
	struct gt_model *model = e->model;
	struct gt_op op = {
		.start = time->start,
		.dur = time->dur,
		.correlation = event->correlation,
		.bytes = bytes_of(e, event),
		.name = name_of_op(e, event),
		.call = GT_NONE,
		.stack = stack_of(e, event->launch.stack),
		.stream = (int32_t)gt_build_bounded(event->place.stream, 0, INT32_MAX, -1,
						    &model->odd.no_place),
		.device = (uint16_t)gt_build_bounded(event->place.device, 0, GT_NO_DEVICE - 1,
						     GT_NO_DEVICE, &model->odd.no_place),
		.kind = kinds[event->kind],
	};

	if (event->launch.nvtx)
		op.nvtx = name_of(e, event->launch.nvtx);
	if (event->kind == GT_EVENT_KERNEL)
		take_collective(model, &event->kernel.library, &op);
	if (event->kind == GT_EVENT_KERNEL && event->kernel.mangled &&
	    gt_build_mangled(model, op.name, name_of(e, event->kernel.mangled)))
		return -ENOMEM;
	if (event->kind == GT_EVENT_KERNEL && event->kernel.library.operations &&
	    event->kernel.library.communicator &&
	    gt_build_place(model, event->correlation ? (int64_t)event->correlation : -1,
			   event->kernel.library.sequence))
		return -ENOMEM;
	if (event->kind == GT_EVENT_KERNEL && event->kernel.library.operations &&
	    !event->kernel.library.is_math && event->kernel.library.communicator &&
	    !event->kernel.library.sequence &&
	    gt_build_messages(model, event->correlation ? (int64_t)event->correlation : -1,
			      &event->kernel.library))
		return -ENOMEM;
	if (event->launch.forward &&
	    gt_build_forward(model, op.correlation, stack_of(e, event->launch.forward)))
		return -ENOMEM;
	if (event->kind == GT_EVENT_KERNEL && event->kernel.library.is_math &&
	    gt_build_work(model, op.correlation, &event->kernel.library.math))
		return -ENOMEM;
	gt_build_extent(model, op.start, op.dur);
	return gt_model_add_op(model, &op);
}

/* Of waits only those for the host tell why a stream was idle. */
static int take_wait(struct model_events *e, const struct gt_event *event,
		     const struct span_of_time *time)
{
	struct gt_host_wait wait = {
		.start = time->start,
		.end = time->start + time->dur,
		.correlation = event->correlation,
		.call = GT_NONE,
		.stream = (int32_t)event->place.stream,
		.device = (uint16_t)event->place.device,
	};

	if (event->sync.kind != GT_SYNC_HOST_FUNCTION || !time->dur ||
	    event->place.stream > INT32_MAX || event->place.device >= GT_NO_DEVICE)
		return 0;
	return gt_vec_push(&e->model->waits, wait) ? 0 : -ENOMEM;
}

static int take_call(struct model_events *e, const struct gt_event *event,
		     const struct span_of_time *time)
{
	struct gt_call call = {
		.start = time->start,
		.dur = time->dur,
		.correlation = event->correlation ? (int64_t)event->correlation : -1,
		.name = name_of(e, event->api.name),
		.thread = thread_of(e, event->tid),
		.stack = stack_of(e, event->stack),
		.driver = event->api.domain == GT_API_DRIVER,
	};

	int rc = gt_model_add_call(e->model, &call);

	gt_build_extent(e->model, call.start, call.dur);
	if (rc)
		return rc;
	return gt_build_block(e->model, &call, &event->api.block, event->api.result);
}

static int take_tensor(struct model_events *e, const struct gt_event *event,
		       const struct span_of_time *time)
{
	return gt_build_tensor(e->model, time->start, thread_of(e, event->tid),
			       stack_of(e, event->stack), &event->tensor);
}

static int put_range(struct model_events *e, struct gt_model_range *range,
		     const struct span_of_time *time, const struct gt_stack *stack)
{
	uint32_t index = stack_of(e, stack);

	range->start = time->start;
	range->dur = time->dur;
	range->parent = range->before = GT_NONE;
	range->stack = index < GT_BUILD_NO_STACK ? index : GT_BUILD_NO_STACK;
	gt_build_extent(e->model, range->start, range->dur);
	return gt_vec_push(&e->model->ranges, *range) ? 0 : -ENOMEM;
}

static int take_os_call(struct model_events *e, const struct gt_event *event,
			const struct span_of_time *time, uint32_t thread)
{
	struct gt_model_os_call call = {
		.start = time->start,
		.dur = time->dur,
		.name = name_of(e, event->range.name),
		.thread = thread,
		.stack = stack_of(e, event->stack),
	};

	return gt_build_os_call(e->model, &call, &event->range.os,
				event->range.file ? name_of(e, event->range.file) : GT_NAME_NONE);
}

static int take_pages(struct model_events *e, const struct gt_event *event,
		      const struct span_of_time *time)
{
	struct gt_model_pages pages = {time->start, time->dur, event->range.unified};

	return gt_build_pages(e->model, &pages);
}

static int take_library(struct model_events *e, const struct gt_event *event,
			const struct span_of_time *time, uint32_t thread)
{
	struct gt_model_mpi_call call = {.start = time->start, .dur = time->dur};

	gt_build_extent(e->model, time->start, time->dur);
	if (event->range.library.is_math && event->range.library.result)
		return gt_build_failed_call(e->model, event->range.library.math.number);
	gt_build_network(e->model, &event->range.library);
	if (!event->range.library.is_mpi)
		return 0;
	call.name = name_of(e, event->range.name);
	call.thread = thread;
	return gt_build_mpi_call(e->model, &call, &event->range.library, event->range.unfinished);
}

/* No file of this form tells the thread that ran forward. */
static int32_t sequence_of(const struct gt_range_event *range)
{
	return range->is_operator && range->has_sequence
		       ? gt_build_sequence((int64_t)range->sequence, false)
		       : 0;
}

static int take_range(struct model_events *e, const struct gt_event *event,
		      const struct span_of_time *time)
{
	struct gt_model_range range = {
		.name = name_of(e, event->range.name),
		.kind = event->range.is_operator ? GT_RANGE_OP : GT_RANGE_NVTX,
		.sequence = sequence_of(&event->range),
	};

	if (event->range.is_unified)
		return take_pages(e, event, time);
	if (event->range.on_gpu)
		return 0;
	/* also of what is no range here: it takes its row, on which the others find no room */
	range.thread =
		event->range.detached ? row_of(e, event, GT_TRACK_RANGE) : thread_of(e, event->tid);
	if (event->range.is_library)
		return take_library(e, event, time, range.thread);
	if (event->range.is_os)
		return take_os_call(e, event, time, range.thread);
	if (event->range.domain)
		range.domain = name_of(e, event->range.domain);
	if (range.kind == GT_RANGE_NVTX)
		e->model->odd.unended += event->range.unfinished;
	if (put_range(e, &range, time, event->stack))
		return -ENOMEM;
	return event->range.is_operator && event->range.dims
		       ? gt_build_operator_work(e->model, &range, event->range.dims->text,
						event->range.dims->length, NULL, 0)
		       : 0;
}

static int take_overhead(struct model_events *e, const struct gt_event *event,
			 const struct span_of_time *time)
{
	struct gt_model_range range = {.name = name_of(e, event->overhead.name),
				       .kind = GT_RANGE_OVERHEAD,
				       .thread = row_of(e, event, GT_TRACK_OVERHEAD)};

	return put_range(e, &range, time, NULL);
}

static int take_mark(struct model_events *e, const struct gt_event *event,
		     const struct span_of_time *time)
{
	thread_of(e, event->tid);
	stack_of(e, event->stack);
	return 0;
}

static int take_sample(struct model_events *e, const struct gt_event *event,
		       const struct span_of_time *time)
{
	struct gt_sample sample = {.ts = time->start,
				   .thread = thread_of(e, event->tid),
				   .stack = stack_of(e, event->stack)};

	return gt_vec_push(&e->model->samples, sample) ? 0 : -ENOMEM;
}

static int take_counter(struct model_events *e, const struct gt_event *event,
			const struct span_of_time *time)
{
	return gt_build_health_event(e->model, event, time->start)
		       ? -ENOMEM
		       : gt_build_memory_event(e->model, event, time->start, e->pid);
}

/* ---- notes ---- */

static void put_frames(struct model_events *e, struct gt_json *json, const struct gt_stack *stack)
{
	gt_json_key(json, "frames");
	gt_json_char(json, '[');
	for (uint32_t i = 0; i < stack->count; i++) {
		gt_json_comma(json);
		gt_json_cstr(json, gt_model_name(e->model, name_of_frame(e, stack->frames[i])));
	}
	gt_json_char(json, ']');
}

/* The arguments of a note as they stand in the JSON of the trace: for people, who read them so of
 * both forms. Frames stand where they are used first. */
static uint32_t note_text(struct model_events *e, const struct gt_event *event)
{
	struct gt_json json;
	uint32_t text = GT_NAME_NONE;
	bool first = false;

	if (gt_json_init(&json, 4096))
		return text;
	json.tight = e->is_tight;
	gt_json_char(&json, '{');
	gt_note_json_put(&json, event);
	if (event->stack) {
		gt_json_member_u64(&json, "stack", event->stack->id);
		find_stack(e, event->stack, &first);
	}
	if (first) {
		put_frames(e, &json, event->stack);
		gt_modules_json_put(&json, "modules", event->stack, is_new_module, e);
	}
	gt_json_char(&json, '}');
	if (!json.failed)
		text = gt_names_put(&e->model->names, json.text, json.length);
	gt_json_fini(&json);
	return text;
}

static int take_note(struct model_events *e, const struct gt_event *event,
		     const struct span_of_time *time)
{
	const struct gt_note_event *note = &event->note;
	struct gt_note taken = {
		.ts = time->start,
		.count = note->of_what || note->count > INT64_MAX ? 0 : (int64_t)note->count,
		.name = gt_names_put(&e->model->names, note->name, strlen(note->name)),
		.text = note_text(e, event),
	};

	if (event->tid)
		thread_of(e, event->tid);
	if (!strcmp(note->name, "Record Window End"))
		return 0;
	if (note->cause)
		taken.cause = gt_names_put(&e->model->names, note->cause, strlen(note->cause));
	return gt_vec_push(&e->model->notes, taken) ? 0 : -ENOMEM;
}

/* ---- all of it ---- */

/* What draws nothing that a model holds has no row. */
static int (*const takers[GT_EVENT_COUNT_])(struct model_events *e, const struct gt_event *event,
					    const struct span_of_time *time) = {
	[GT_EVENT_API] = take_call,          [GT_EVENT_KERNEL] = take_op,
	[GT_EVENT_MEMCPY] = take_op,         [GT_EVENT_MEMSET] = take_op,
	[GT_EVENT_OVERHEAD] = take_overhead, [GT_EVENT_RANGE] = take_range,
	[GT_EVENT_MARK] = take_mark,         [GT_EVENT_SAMPLE] = take_sample,
	[GT_EVENT_COUNTER] = take_counter,   [GT_EVENT_NOTE] = take_note,
	[GT_EVENT_GRAPH] = take_op,          [GT_EVENT_SYNC] = take_wait,
	[GT_EVENT_TENSOR] = take_tensor,
};

static int take_event(const struct gt_event *event, void *data)
{
	struct model_events *e = data;
	struct span_of_time time;

	if (event->kind == GT_EVENT_THREAD)
		take_thread_name(e, event);
	if (!takers[event->kind] || !find_time(e, event, &time))
		return 0;
	return takers[event->kind](e, event, &time);
}

/* Process and base are the same in all that a whole file tells, and in a damaged one those that its
 * first events go by; the rest is asked for at its end. */
static int take_metadata(const struct gt_metadata *metadata, void *data)
{
	struct model_events *e = data;

	if (e->has_metadata)
		return 0;
	e->has_metadata = true;
	e->pid = metadata->pid < FIRST_HOST ? metadata->pid + SMALL_PIDS : metadata->pid;
	e->base = metadata->base;
	e->is_tight = strstr(metadata->options, "details=few") != NULL;
	return 0;
}

static void name_process(struct model_events *e)
{
	const char *name = e->events.metadata.process;

	if (!*name)
		name = "?";
	if (!e->model->process)
		e->model->process = gt_names_put(&e->model->names, name, strlen(name));
}

static int read_all(struct model_events *e, struct gt_input *in)
{
	int rc = gt_events_init(&e->events);

	e->tracks = gt_tracks_new();
	if (!rc && (!e->tracks || gt_json_init(&e->text, 4096)))
		rc = -ENOMEM;
	if (!rc)
		rc = gt_events_read_pftrace_input(&e->events, in);
	if (!rc)
		name_process(e);
	return rc;
}

static void fini(struct model_events *e)
{
	gt_events_fini(&e->events);
	gt_tracks_free(e->tracks);
	gt_json_fini(&e->text);
	gt_vec_free(&e->names);
	gt_vec_free(&e->modules);
	gt_vec_free(&e->scratch);
	gt_keymap_fini(&e->frames);
	gt_keymap_fini(&e->stacks);
	gt_keymap_fini(&e->threads);
}

int gt_build_pftrace(struct gt_builder *b, struct gt_input *in, uint32_t part, uint32_t *ret_parts,
		     struct gt_reading *ret_reading)
{
	struct model_events *e = calloc(1, sizeof(*e));
	int rc;

	*ret_reading = (struct gt_reading){0};
	*ret_parts = 1;
	if (!e)
		return gt_reading_fail(ret_reading, in->path, -ENOMEM);
	e->b = b;
	e->model = b->model;
	e->events.take_metadata = take_metadata;
	e->events.take_event = take_event;
	e->events.unjoined = true; /* the model does so itself, over all files */
	e->events.data = e;
	e->events.part = part;
	rc = read_all(e, in);
	*ret_parts = e->events.parts;
	rc = gt_reading_of_events(&e->events, in, rc, ret_reading);
	ret_reading->header.has_base &= e->base <= INT64_MAX;
	ret_reading->header.base_ns = ret_reading->header.has_base ? (int64_t)e->base : 0;
	fini(e);
	free(e);
	return rc;
}
