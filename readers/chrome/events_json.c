/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the records of a JSON trace back into the events it was written from (docs/FORMAT.md). One
 * thread per reading.
 */
#include "readers/chrome/events_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/schema/event_names.h"
#include "readers/chrome/block_args.h"

/* Thread ids are smaller; additional tracks of a thread have larger numbers. */
#define MAX_TID (1u << 22)

const struct gt_string *gt_events_json_string(struct gt_events_json *json,
					      const struct gt_span *span)
{
	const struct gt_string *string;
	char *text;

	if (span->kind != GT_SPAN_STRING)
		return NULL;
	if (!span->escaped)
		return gt_intern_get(json->events->strings, span->text, span->len);
	text = malloc(span->len + 1u);
	if (!text)
		return NULL;
	string = gt_intern_get(json->events->strings, text, gt_span_decode(span, text));
	free(text);
	return string;
}

/* ---- arguments ---- */

static const char *take_arg(struct gt_scan *scan, const struct gt_span *key, const char *value,
			    void *data)
{
	struct gt_events_json_args *args = data;
	struct gt_span span;
	const char *next = gt_scan_value(scan, value, &span);

	if (next && args->count < GT_EVENTS_JSON_ARGS) {
		args->key[args->count] = *key;
		args->value[args->count] = span;
	}
	args->count++;
	return next;
}

/* Splits the arguments of a record once: thirty of a kernel's are looked up. */
static void look_at_args(struct gt_events_json *json, const struct gt_trace_event *record)
{
	struct gt_scan scan = {0};

	json->args.count = 0;
	json->args.whole = &record->args;
	if (record->args.kind != GT_SPAN_OBJECT)
		return;
	scan.end = record->args.text + record->args.len;
	if (!gt_scan_object(&scan, record->args.text, take_arg, &json->args))
		json->args.count = 0;
}

/* If a key repeats, the last one is valid, as everywhere. */
bool gt_events_json_arg(const struct gt_events_json *json, const char *key,
			struct gt_span *ret_value)
{
	const struct gt_events_json_args *args = &json->args;
	size_t len = strlen(key);

	if (args->count > GT_EVENTS_JSON_ARGS)
		return gt_span_member(args->whole, key, ret_value);
	for (size_t i = args->count; i-- > 0;) {
		if (!gt_span_is(&args->key[i], key, len))
			continue;
		*ret_value = args->value[i];
		return true;
	}
	return false;
}

static uint64_t number(const struct gt_events_json *json, const char *key)
{
	struct gt_span span;
	int64_t value;

	return gt_events_json_arg(json, key, &span) && gt_span_int(&span, &value) ? (uint64_t)value
										  : 0;
}

static bool has(const struct gt_events_json *json, const char *key)
{
	struct gt_span span;

	return gt_events_json_arg(json, key, &span);
}

static const struct gt_string *string(struct gt_events_json *json, const char *key)
{
	struct gt_span span;

	return gt_events_json_arg(json, key, &span) ? gt_events_json_string(json, &span) : NULL;
}

static uint64_t micro(const struct gt_events_json *json, const char *key)
{
	struct gt_span span;
	double value;

	if (!gt_events_json_arg(json, key, &span) || !gt_span_double(&span, &value) || value < 0 ||
	    value > 1e12)
		return 0;
	return (uint64_t)(value * 1e6 + 0.5);
}

static void triple(const struct gt_events_json *json, const char *key, uint32_t *ret_v)
{
	struct gt_span array, element;
	uint32_t position = 0;
	int64_t value;

	if (!gt_events_json_arg(json, key, &array) || array.kind != GT_SPAN_ARRAY)
		return;
	for (int i = 0; i < 3 && gt_span_next(&array, &position, &element); i++)
		if (gt_span_int(&element, &value))
			ret_v[i] = (uint32_t)value;
}

static bool is_named(const struct gt_span *span, const char *text)
{
	return span->kind == GT_SPAN_STRING && gt_span_is(span, text, strlen(text));
}

/* The JSON text of a value. */
static const struct gt_string *raw(struct gt_events_json *json, const char *key)
{
	struct gt_span span;

	return gt_events_json_arg(json, key, &span)
		       ? gt_intern_get(json->events->strings, span.text, span.len)
		       : NULL;
}

/* ---- GPU work ---- */

/* More than the name of the kernel does. */
static bool tells_collective(const struct gt_events_json *json)
{
	static const char *const facts[] = {"Group size", "Process Group Name", "In msg nelems",
					    "sent bytes", "received bytes"};

	if (!has(json, "Collective name") && !has(json, "fused operations"))
		return false;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (has(json, facts[i]))
			return true;
	return false;
}

static void make_kernel(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	struct gt_kernel_event *kernel = &event->kernel;
	uint64_t base = (uint64_t)json->base, queued = number(json, "queued");
	uint64_t submitted = number(json, "submitted");

	*kernel = (struct gt_kernel_event){
		.name = gt_events_json_string(json, &r->name),
		.mangled = string(json, "mangled name"),
		.queued = queued ? queued + base : 0,
		.submitted = submitted ? submitted + base : 0,
		.registers = (uint32_t)number(json, "registers per thread"),
		.static_shared = (uint32_t)number(json, "static shared memory"),
		.dynamic_shared = (uint32_t)number(json, "dynamic shared memory"),
		.shared_executed = (uint32_t)number(json, "shared memory executed"),
		.local_per_thread = (uint32_t)number(json, "local memory per thread"),
		.graph_id = (uint32_t)number(json, "graph id"),
		.graph_node_id = number(json, "graph node id"),
		.grid_id = number(json, "grid id"),
		.cooperative = has(json, "cooperative"),
		.has_priority = has(json, "priority"),
		.priority = (int32_t)number(json, "priority"),
		.has_occupancy = has(json, "blocks per SM"),
		.blocks_per_sm_micro = micro(json, "blocks per SM"),
		.warps_per_sm_micro = micro(json, "warps per SM"),
		.est_occupancy_percent = (uint32_t)number(json, "est. achieved occupancy %"),
		.theoretical_occupancy_percent = (uint32_t)number(json, "theoretical occupancy %"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
	/* the short form has the sum and, if it is not 0, the static part */
	if (!kernel->dynamic_shared) {
		uint32_t sum = (uint32_t)number(json, "shared memory");

		kernel->dynamic_shared =
			sum > kernel->static_shared ? sum - kernel->static_shared : 0;
	}
	if (has(json, "library call") || tells_collective(json))
		kernel->library = gt_library_args(&r->args, NULL);
	triple(json, "grid", kernel->grid);
	triple(json, "block", kernel->block);
	triple(json, "cluster", kernel->cluster);
}

/* "Memcpy HtoD (Pinned -> Device)", "Memset (Device)" */
static void memory_kinds(const struct gt_string *name, struct gt_memory_event *memory)
{
	const char *text = name ? name->text : "", *open = strchr(text, '(');
	const char *flow = open ? strstr(open, " -> ") : NULL,
		   *close = open ? strchr(open, ')') : NULL;

	if (!close)
		return;
	if (!flow) {
		memory->dst = gt_event_find_memory(open + 1, (size_t)(close - open) - 1);
		return;
	}
	memory->src = gt_event_find_memory(open + 1, (size_t)(flow - open) - 1);
	memory->dst = gt_event_find_memory(flow + 4, (size_t)(close - flow) - 4);
	if (!strncmp(text, "Memcpy ", 7) && open > text + 8)
		memory->copy = gt_event_find_copy(text + 7, (size_t)(open - text) - 8);
}

static void make_memory(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	event->memory = (struct gt_memory_event){
		.bytes = number(json, "bytes"),
		.value = (uint32_t)number(json, "value"),
		.peer = has(json, "fromDevice"),
		.src_device = (uint32_t)number(json, "fromDevice"),
		.dst_device = (uint32_t)number(json, "toDevice"),
		.graph_id = (uint32_t)number(json, "graph id"),
		.graph_node_id = number(json, "graph node id"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
	memory_kinds(gt_events_json_string(json, &r->name), &event->memory);
}

/* "Graph 7": with few details the id is only in the name. */
static void make_graph(struct gt_events_json *json, const struct gt_trace_event *r,
		       struct gt_event *event)
{
	const struct gt_string *name = gt_events_json_string(json, &r->name);

	event->graph = (struct gt_graph_event){
		.graph_id = (uint32_t)number(json, "graph id"),
		.nodes = (uint32_t)number(json, "nodes"),
		.has_end_device = has(json, "end device"),
		.end_device = (uint32_t)number(json, "end device"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
	if (!event->graph.graph_id && name)
		sscanf(name->text, "Graph %u", &event->graph.graph_id);
}

static void make_sync(struct gt_events_json *json, const struct gt_trace_event *r,
		      struct gt_event *event)
{
	const struct gt_string *kind = string(json, "cuda_sync_kind");

	event->sync = (struct gt_sync_event){
		.kind = kind ? gt_event_find_sync(kind->text, kind->length) : GT_SYNC_UNKNOWN,
		.cuda_event = (uint32_t)number(json, "wait_on_cuda_event_id"),
		.has_wait_on = has(json, "wait_on_stream"),
		.wait_on_stream = (uint32_t)number(json, "wait_on_stream"),
		.wait_on_correlation = (uint32_t)number(json, "wait_on_cuda_event_record_corr_id"),
		.thread = (uint32_t)number(json, "thread"),
		.graph_id = (uint32_t)number(json, "graph id"),
		.graph_node_id = number(json, "graph node id"),
		.created = gt_events_json_stack(json, "created stack", "created frames",
						"created modules")};
}

static int give_gpu(struct gt_events_json *json, const struct gt_trace_event *r,
		    enum gt_event_kind kind, struct gt_event *event)
{
	int error;

	event->kind = kind;
	event->tid = 0;
	event->place =
		(struct gt_place){.device = json->parts.count ? gt_events_json_device(json, r)
							      : (uint32_t)number(json, "device"),
				  .context = (uint32_t)number(json, "context"),
				  .stream = (uint32_t)number(json, "stream"),
				  .channel = (uint32_t)number(json, "channel"),
				  .has_channel = has(json, "channel")};
	if (kind == GT_EVENT_KERNEL)
		make_kernel(json, r, event);
	else if (kind == GT_EVENT_SYNC)
		make_sync(json, r, event);
	else if (kind == GT_EVENT_GRAPH)
		make_graph(json, r, event);
	else
		make_memory(json, r, event);
	/* work whose call is in an earlier file has the call's data itself; in the order in which
	 * they are written, as the frames stand with the first use of a stack */
	event->launch.stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->launch.forward =
		gt_events_json_stack(json, "forward stack", "forward frames", "forward modules");
	event->launch.op = number(json, "External id");
	event->launch.nvtx = string(json, "nvtx");
	event->launch.known = event->launch.stack || event->launch.op || event->launch.nvtx;
	error = gt_events_give(json->events, event);
	if (gt_events_json_is_flow_end(json, event))
		json->open_flow = event->correlation;
	return error;
}

/* ---- the host ---- */

static int give_api(struct gt_events_json *json, const struct gt_trace_event *r, bool is_driver,
		    struct gt_event *event)
{
	event->kind = GT_EVENT_API;
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->api = (struct gt_api_event){
		.domain = is_driver ? GT_API_DRIVER : GT_API_RUNTIME,
		.cbid = (uint32_t)number(json, "cbid"),
		.result = (int32_t)number(json, "result"),
		.op = number(json, "External id"),
		/* calls that start no GPU work have "launched by" */
		.enqueues = json->has_gpu_work && !has(json, "launched by") &&
			    (event->stack || gt_events_json_has_flow(json, event->correlation)),
		.name = gt_events_json_string(json, &r->name),
		.block = has(json, "memory") ? gt_block_args(&r->args) : (struct gt_block){0}};
	return gt_events_give(json->events, event);
}

static void take_os_call(struct gt_events_json *json, struct gt_range_event *range)
{
	const struct gt_string *kind = string(json, "descriptor kind");
	bool has_bytes = has(json, "bytes");

	range->os = (struct gt_os_facts){
		.result = (int64_t)number(json, has_bytes ? "bytes" : "result"),
		.has_bytes = has_bytes,
		.error = (uint16_t)number(json, "errno"),
		.descriptor = has(json, "descriptor") ? (int32_t)number(json, "descriptor")
						      : GT_OS_NO_DESCRIPTOR};
	if (kind)
		range->os.kind = (uint8_t)gt_os_kind_find(kind->text, kind->length);
	range->file = string(json, "file");
}

/* Its payload tells a call. */
static bool is_nccl(const struct gt_event *event)
{
	const struct gt_range_event *range = &event->range;

	return event->kind == GT_EVENT_RANGE && !range->on_gpu && range->domain &&
	       !strcmp(range->domain->text, "NCCL");
}

static int give_range(struct gt_events_json *json, const struct gt_trace_event *r,
		      enum gt_event_kind kind, bool on_gpu, struct gt_event *event)
{
	const struct gt_string *color = string(json, "color");
	const struct gt_string *payload = string(json, "payload");
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);

	event->kind = kind;
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->range = (struct gt_range_event){.name = gt_events_json_string(json, &r->name),
					       .domain = string(json, "domain"),
					       .category = string(json, "category"),
					       .id = number(json, "External id"),
					       .unfinished = has(json, "unfinished"),
					       .is_operator = is_named(&r->cat, "cpu_op"),
					       .is_library = is_named(&r->cat, "library"),
					       .is_os = is_named(&r->cat, "osrt"),
					       .has_sequence = has(json, "Sequence number"),
					       .sequence = number(json, "Sequence number"),
					       .dims = raw(json, "Input Dims"),
					       .on_gpu = on_gpu,
					       .detached = !on_gpu && row};
	if (event->range.is_library || is_nccl(event))
		event->range.library = gt_library_args(&r->args, &r->name);
	if (event->range.is_os)
		take_os_call(json, &event->range);
	if (color)
		sscanf(color->text, "0x%x", &event->range.color);
	if (payload)
		snprintf(event->range.payload, sizeof(event->range.payload), "%s", payload->text);
	if (on_gpu)
		event->place = (struct gt_place){.device = (uint32_t)r->pid,
						 .stream = row ? row->owner : (uint32_t)r->tid};
	else if (row)
		event->tid = row->owner;
	if (on_gpu)
		event->place.context = row && row->context
					       ? row->context
					       : gt_events_json_context(json, event->place.device,
									event->place.stream);
	return gt_events_give(json->events, event);
}

/* Parses the lines of "function (file.py:42-57)": only the name has them. */
static void frame_lines(const struct gt_string *name, struct gt_frame_event *frame)
{
	const char *colon = name ? strrchr(name->text, ':') : NULL;

	frame->first_line = frame->last_line = frame->frame->line;
	if (!colon || !frame->frame->line)
		return;
	if (sscanf(colon, ":%u-%u", &frame->first_line, &frame->last_line) == 1)
		frame->last_line = frame->first_line;
}

static int give_frame(struct gt_events_json *json, const struct gt_trace_event *r,
		      struct gt_event *event)
{
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);
	const struct gt_string *text = string(json, "frame");

	event->kind = GT_EVENT_FRAME;
	event->tid = row ? row->owner : event->tid;
	event->frame =
		(struct gt_frame_event){.frame = text ? gt_events_json_frame(json, text) : NULL,
					.calls = number(json, "calls")};
	if (!event->frame.frame) {
		json->events->strange++;
		return 0;
	}
	frame_lines(gt_events_json_string(json, &r->name), &event->frame);
	return gt_events_give(json->events, event);
}

static int give_unified(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	event->kind = GT_EVENT_RANGE;
	event->range = (struct gt_range_event){.name = gt_events_json_string(json, &r->name),
					       .is_unified = true,
					       .unified = gt_unified_args(&r->args, &r->name),
					       .detached = true};
	event->tid = gt_unified_row(&event->range.unified);
	return gt_events_give(json->events, event);
}

static int give_sample(struct gt_events_json *json, const struct gt_trace_event *r,
		       struct gt_event *event)
{
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);
	const struct gt_string *state = string(json, "state");

	event->kind = GT_EVENT_SAMPLE;
	event->tid = row ? row->owner : event->tid;
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->sample.waiting = state && !strcmp(state->text, "waiting");
	return gt_events_give(json->events, event);
}

static int give_tensor(struct gt_events_json *json, const struct gt_trace_event *r,
		       struct gt_event *event)
{
	event->kind = GT_EVENT_TENSOR;
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->tensor = gt_tensor_args(&r->args);
	return gt_events_give(json->events, event);
}

static int give_overhead(struct gt_events_json *json, const struct gt_trace_event *r,
			 struct gt_event *event)
{
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);
	struct gt_span kernel;

	event->kind = GT_EVENT_OVERHEAD;
	event->tid = row ? row->owner : event->tid;
	event->overhead.name = gt_events_json_string(json, &r->name);
	if (gt_span_member(&r->args, "kernel", &kernel))
		event->overhead.kernel = gt_events_json_string(json, &kernel);
	return gt_events_give(json->events, event);
}

struct member {
	struct gt_span key, value;
	bool found, of_note;
};

/* Keeps the first member of the arguments; of a note, the first that is not a standard one. */
static const char *skip_value(struct gt_scan *scan, const struct gt_span *key, const char *value,
			      void *data)
{
	static const char *const own[] = {"cause", "what",   "duration (us)",
					  "stack", "frames", "modules"};
	struct member *member = data;
	struct gt_span span;
	const char *behind = gt_scan_value(scan, value, &span);
	bool is_own = false;

	for (size_t i = 0; member->of_note && i < sizeof(own) / sizeof(own[0]); i++)
		is_own |= gt_span_is(key, own[i], strlen(own[i]));
	if (!member->found && !is_own) {
		member->key = *key;
		member->value = span;
		member->found = true;
	}
	return behind;
}

static struct member first_member(const struct gt_trace_event *r, bool of_note)
{
	struct member member = {.of_note = of_note};
	struct gt_scan scan = {0};

	if (r->args.kind != GT_SPAN_OBJECT)
		return member;
	scan.end = r->args.text + r->args.len;
	gt_scan_object(&scan, r->args.text, skip_value, &member);
	return member;
}

static int give_counter(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	struct member member = first_member(r, false);
	struct gt_counter_event *counter = &event->counter;

	event->kind = GT_EVENT_COUNTER;
	event->tid = 0;
	*counter = (struct gt_counter_event){.name = gt_events_json_string(json, &r->name),
					     .on_gpu = r->pid < GT_EVENTS_JSON_FIRST_HOST};
	event->place.device = counter->on_gpu ? (uint32_t)r->pid : 0;
	if (!member.found) {
		json->events->strange++;
		return 0;
	}
	counter->series = gt_events_json_string(json, &member.key);
	if (memchr(member.value.text, '.', member.value.len) ||
	    !gt_span_int(&member.value, &counter->value))
		counter->is_real = gt_span_double(&member.value, &counter->real);
	return gt_events_give(json->events, event);
}

static const char *text_of(const struct gt_string *string)
{
	return string ? string->text : NULL;
}

static int give_note(struct gt_events_json *json, const struct gt_trace_event *r, bool of_process,
		     struct gt_event *event)
{
	struct member member = first_member(r, true);
	struct gt_span span;
	int64_t value = 0;

	if (r->name.kind != GT_SPAN_STRING) {
		json->events->strange++;
		return 0;
	}
	event->kind = GT_EVENT_NOTE;
	if (of_process)
		event->tid = 0;
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->note = (struct gt_note_event){.name = text_of(gt_events_json_string(json, &r->name)),
					     .what = text_of(string(json, "what")),
					     .cause = text_of(string(json, "cause"))};
	if (member.found && gt_span_int(&member.value, &value)) {
		event->note.count = (uint64_t)value;
		if (!gt_span_is(&member.key, "count", 5))
			event->note.of_what = text_of(gt_events_json_string(json, &member.key));
	}
	if (gt_events_json_arg(json, "duration (us)", &span) && gt_span_ns(&span, &value) &&
	    value > 0)
		event->end = event->start + (uint64_t)value;
	return gt_events_give(json->events, event);
}

/* ---- one record ---- */

/* "thread_name": of a thread, or of an additional track, whose name says whose it is. */
static int take_name(struct gt_events_json *json, const struct gt_trace_event *r)
{
	const struct gt_string *name = string(json, "name");
	struct gt_event event = {.kind = GT_EVENT_THREAD, .tid = (uint32_t)r->tid};
	unsigned int thread;

	if (!name || !gt_span_is(&r->name, "thread_name", 11))
		return 0;
	if (r->pid < GT_EVENTS_JSON_FIRST_HOST || r->tid >= MAX_TID)
		return gt_events_json_name_track(json, r->pid, r->tid, name->text);
	if (sscanf(name->text, "thread %u", &thread) == 1 && thread == event.tid)
		return 0; /* the default name */
	event.start = event.end = json->events->metadata.start;
	event.thread.name = name;
	return gt_events_give(json->events, &event);
}

static int take_slice(struct gt_events_json *json, const struct gt_trace_event *r,
		      struct gt_event *event)
{
	const struct gt_span *cat = &r->cat;

	if (is_named(cat, "cuda_runtime") || is_named(cat, "cuda_driver"))
		return give_api(json, r, is_named(cat, "cuda_driver"), event);
	if (is_named(cat, "kernel"))
		return give_gpu(json, r, GT_EVENT_KERNEL, event);
	if (is_named(cat, "gpu_memcpy"))
		return give_gpu(json, r, GT_EVENT_MEMCPY, event);
	if (is_named(cat, "gpu_memset"))
		return give_gpu(json, r, GT_EVENT_MEMSET, event);
	if (is_named(cat, "gpu_graph"))
		return give_gpu(json, r, GT_EVENT_GRAPH, event);
	if (is_named(cat, "cuda_sync"))
		return give_gpu(json, r, GT_EVENT_SYNC, event);
	if (is_named(cat, "user_annotation") || is_named(cat, "cpu_op") ||
	    is_named(cat, "library") || is_named(cat, "osrt"))
		return give_range(json, r, GT_EVENT_RANGE, false, event);
	if (is_named(cat, "gpu_user_annotation"))
		return give_range(json, r, GT_EVENT_RANGE, true, event);
	if (is_named(cat, "unified_memory"))
		return give_unified(json, r, event);
	if (is_named(cat, "call_stack"))
		return give_frame(json, r, event);
	if (is_named(cat, "overhead"))
		return give_overhead(json, r, event);
	if (is_named(cat, GT_WHOLE_STEP_CATEGORY)) {
		json->events->has_whole_step = true;
		return 0;
	}
	json->events->strange++;
	return 0;
}

static int take_instant(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	struct gt_span scope = {0};

	if (is_named(&r->name, GT_PF_LEDGER_NAME))
		return 0;
	if (is_named(&r->cat, "user_annotation"))
		return give_range(json, r, GT_EVENT_MARK, false, event);
	if (is_named(&r->cat, "cpu_sample"))
		return give_sample(json, r, event);
	if (is_named(&r->cat, "cpu_instant_event"))
		return give_tensor(json, r, event);
	gt_span_member(&r->raw, "s", &scope);
	return give_note(json, r, is_named(&scope, "p"), event);
}

int gt_events_json_take(struct gt_events_json *json, const struct gt_trace_event *r)
{
	uint64_t start = (uint64_t)json->base + (uint64_t)r->ts;
	struct gt_event event = {.tid = (uint32_t)r->tid,
				 .start = start,
				 .end = start + (r->has_dur && r->dur > 0 ? (uint64_t)r->dur : 0),
				 .correlation = (uint32_t)gt_record_int(r, GT_ARG_CORRELATION, 0)};

	if (r->ph != 's' && r->ph != 'f')
		json->open_flow = 0; /* this file has no flows */
	json->events->track = (uint32_t)r->tid;
	look_at_args(json, r);
	switch (r->ph) {
	case 'M':
		json->events->names++;
		return take_name(json, r);
	case 'X':
		return take_slice(json, r, &event);
	case 'i':
		return take_instant(json, r, &event);
	case 'C':
		return give_counter(json, r, &event);
	case 's':
		return 0; /* flows follow from the correlation */
	case 'f':
		json->open_flow = 0;
		return 0;
	default:
		json->events->strange++;
		return 0;
	}
}
