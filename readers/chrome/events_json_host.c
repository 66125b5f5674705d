/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the host's threads: calls, ranges, frames, samples. One thread per reading.
 */
#include <stdio.h>
#include <string.h>

#include "readers/chrome/block_args.h"
#include "readers/chrome/events_json_args.h"
#include "readers/chrome/events_json_kinds.h"

int gt_events_json_api(struct gt_events_json *json, const struct gt_trace_event *r,
		       struct gt_event *event)
{
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->api = (struct gt_api_event){
		.domain = gt_span_reads(&r->cat, "cuda_driver") ? GT_API_DRIVER : GT_API_RUNTIME,
		.cbid = (uint32_t)gt_arg_number(json, "cbid"),
		.result = (int32_t)gt_arg_number(json, "result"),
		.op = gt_arg_number(json, "External id"),
		/* calls that start no GPU work have "launched by" */
		.enqueues = json->has_gpu_work && !gt_arg_is_there(json, "launched by") &&
			    (event->stack || gt_events_json_has_flow(json, event->correlation)),
		.name = gt_events_json_string(json, &r->name),
		.block = gt_arg_is_there(json, "memory") ? gt_block_args(&r->args)
							 : (struct gt_block){0}};
	return gt_events_give(json->events, event);
}

static void take_os_call(struct gt_events_json *json, struct gt_range_event *range)
{
	const struct gt_string *kind = gt_arg_string(json, "descriptor kind");
	bool has_bytes = gt_arg_is_there(json, "bytes");

	range->os = (struct gt_os_facts){
		.result = (int64_t)gt_arg_number(json, has_bytes ? "bytes" : "result"),
		.has_bytes = has_bytes,
		.error = (uint16_t)gt_arg_number(json, "errno"),
		.descriptor = gt_arg_is_there(json, "descriptor")
				      ? (int32_t)gt_arg_number(json, "descriptor")
				      : GT_OS_NO_DESCRIPTOR};
	if (kind)
		range->os.kind = (uint8_t)gt_os_kind_find(kind->text, kind->length);
	range->file = gt_arg_string(json, "file");
}

/* Its payload tells a call. */
static bool is_nccl(const struct gt_event *event)
{
	const struct gt_range_event *range = &event->range;

	return event->kind == GT_EVENT_RANGE && !range->on_gpu && range->domain &&
	       !strcmp(range->domain->text, "NCCL");
}

int gt_events_json_range(struct gt_events_json *json, const struct gt_trace_event *r,
			 struct gt_event *event)
{
	const struct gt_string *color = gt_arg_string(json, "color");
	const struct gt_string *payload = gt_arg_string(json, "payload");
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);
	bool on_gpu = gt_span_reads(&r->cat, "gpu_user_annotation");

	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->range =
		(struct gt_range_event){.name = gt_events_json_string(json, &r->name),
					.domain = gt_arg_string(json, "domain"),
					.category = gt_arg_string(json, "category"),
					.id = gt_arg_number(json, "External id"),
					.unfinished = gt_arg_is_there(json, "unfinished"),
					.is_operator = gt_span_reads(&r->cat, "cpu_op"),
					.is_library = gt_span_reads(&r->cat, "library"),
					.is_os = gt_span_reads(&r->cat, "osrt"),
					.has_sequence = gt_arg_is_there(json, "Sequence number"),
					.sequence = gt_arg_number(json, "Sequence number"),
					.dims = gt_arg_text(json, "Input Dims"),
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

int gt_events_json_python_frame(struct gt_events_json *json, const struct gt_trace_event *r,
				struct gt_event *event)
{
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);
	const struct gt_string *text = gt_arg_string(json, "frame");

	event->tid = row ? row->owner : event->tid;
	event->frame =
		(struct gt_frame_event){.frame = text ? gt_events_json_frame(json, text) : NULL,
					.calls = gt_arg_number(json, "calls")};
	if (!event->frame.frame) {
		json->events->strange++;
		return 0;
	}
	frame_lines(gt_events_json_string(json, &r->name), &event->frame);
	return gt_events_give(json->events, event);
}

int gt_events_json_unified(struct gt_events_json *json, const struct gt_trace_event *r,
			   struct gt_event *event)
{
	event->range = (struct gt_range_event){.name = gt_events_json_string(json, &r->name),
					       .is_unified = true,
					       .unified = gt_unified_args(&r->args, &r->name),
					       .detached = true};
	event->tid = gt_unified_row(&event->range.unified);
	return gt_events_give(json->events, event);
}

int gt_events_json_sample(struct gt_events_json *json, const struct gt_trace_event *r,
			  struct gt_event *event)
{
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);
	const struct gt_string *state = gt_arg_string(json, "state");

	event->tid = row ? row->owner : event->tid;
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->sample.waiting = state && !strcmp(state->text, "waiting");
	return gt_events_give(json->events, event);
}

int gt_events_json_tensor(struct gt_events_json *json, const struct gt_trace_event *r,
			  struct gt_event *event)
{
	event->stack = gt_events_json_stack(json, "stack", "frames", "modules");
	event->tensor = gt_tensor_args(&r->args);
	return gt_events_give(json->events, event);
}

int gt_events_json_overhead(struct gt_events_json *json, const struct gt_trace_event *r,
			    struct gt_event *event)
{
	const struct gt_events_json_track *row = gt_events_json_track(json, r->pid, r->tid);
	struct gt_span kernel;

	event->tid = row ? row->owner : event->tid;
	event->overhead.name = gt_events_json_string(json, &r->name);
	if (gt_span_member(&r->args, "kernel", &kernel))
		event->overhead.kernel = gt_events_json_string(json, &kernel);
	return gt_events_give(json->events, event);
}
