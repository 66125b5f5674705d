/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the records of a JSON trace back into the events it was written from (docs/FORMAT.md), each
 * by its phase and category. One thread per reading.
 */
#include "readers/chrome/events_json.h"

#include <stdio.h>

#include "core/schema/event_names.h"
#include "readers/chrome/events_json_args.h"
#include "readers/chrome/events_json_kinds.h"

/* Thread ids are smaller; additional tracks of a thread have larger numbers. */
#define MAX_TID (1u << 22)

/* "thread_name": of a thread, or of an additional track, whose name says whose it is. */
static int take_name(struct gt_events_json *json, const struct gt_trace_event *r)
{
	const struct gt_string *name = gt_arg_string(json, "name");
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

static int take_whole_step(struct gt_events_json *json, const struct gt_trace_event *r,
			   struct gt_event *event)
{
	(void)r;
	(void)event;
	json->events->has_whole_step = true;
	return 0;
}

static int take_strange(struct gt_events_json *json, const struct gt_trace_event *r,
			struct gt_event *event)
{
	(void)r;
	(void)event;
	json->events->strange++;
	return 0;
}

/* A category of slices or instants: what its events are, and who makes them. */
struct category {
	const char *name;
	enum gt_event_kind kind;
	int (*give)(struct gt_events_json *json, const struct gt_trace_event *r,
		    struct gt_event *event);
};

static const struct category slices[] = {
	{"cuda_runtime", GT_EVENT_API, gt_events_json_api},
	{"cuda_driver", GT_EVENT_API, gt_events_json_api},
	{"kernel", GT_EVENT_KERNEL, gt_events_json_gpu},
	{"gpu_memcpy", GT_EVENT_MEMCPY, gt_events_json_gpu},
	{"gpu_memset", GT_EVENT_MEMSET, gt_events_json_gpu},
	{"gpu_graph", GT_EVENT_GRAPH, gt_events_json_gpu},
	{"cuda_sync", GT_EVENT_SYNC, gt_events_json_gpu},
	{"user_annotation", GT_EVENT_RANGE, gt_events_json_range},
	{"cpu_op", GT_EVENT_RANGE, gt_events_json_range},
	{"library", GT_EVENT_RANGE, gt_events_json_range},
	{"osrt", GT_EVENT_RANGE, gt_events_json_range},
	{"gpu_user_annotation", GT_EVENT_RANGE, gt_events_json_range},
	{"unified_memory", GT_EVENT_RANGE, gt_events_json_unified},
	{"call_stack", GT_EVENT_FRAME, gt_events_json_python_frame},
	{"overhead", GT_EVENT_OVERHEAD, gt_events_json_overhead},
	{GT_WHOLE_STEP_CATEGORY, GT_EVENT_RANGE, take_whole_step},
	{NULL, GT_EVENT_RANGE, take_strange},
};

static const struct category instants[] = {
	{"user_annotation", GT_EVENT_MARK, gt_events_json_range},
	{"cpu_sample", GT_EVENT_SAMPLE, gt_events_json_sample},
	{"cpu_instant_event", GT_EVENT_TENSOR, gt_events_json_tensor},
	{NULL, GT_EVENT_NOTE, gt_events_json_note},
};

/* The last of @categories takes all others. */
static int take_by_category(struct gt_events_json *json, const struct gt_trace_event *r,
			    const struct category *categories, struct gt_event *event)
{
	while (categories->name && !gt_span_reads(&r->cat, categories->name))
		categories++;
	event->kind = categories->kind;
	return categories->give(json, r, event);
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
	gt_events_json_split_args(json, r);
	switch (r->ph) {
	case 'M':
		json->events->names++;
		return take_name(json, r);
	case 'X':
		return take_by_category(json, r, slices, &event);
	case 'i':
		return gt_span_reads(&r->name, GT_PF_LEDGER_NAME)
			       ? 0
			       : take_by_category(json, r, instants, &event);
	case 'C':
		event.kind = GT_EVENT_COUNTER;
		return gt_events_json_counter(json, r, &event);
	case 's':
		return 0; /* flows follow from the correlation */
	case 'f':
		json->open_flow = 0;
		return 0;
	default:
		return take_strange(json, r, &event);
	}
}
