/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the JSON reading share: events_json.c makes events of records,
 * events_json_file.c knows the file: its header, its rows, its stacks, its flows.
 * One thread per reading.
 */
#ifndef GT_READERS_CHROME_EVENTS_JSON_H
#define GT_READERS_CHROME_EVENTS_JSON_H

#include <stdlib.h>

#include "core/schema/pftrace.h"
#include "core/stack.h"
#include "readers/chrome/reader.h"
#include "readers/events.h"
#include "readers/keymap.h"
#include "readers/vec.h"

/* An additional track of a thread, or one of a stream, by its name. */
struct gt_events_json_track {
	int64_t pid, tid;
	uint32_t owner; /* thread, or stream */
	uint32_t context;
};

#define GT_EVENTS_JSON_ARGS       64

/* Processes below are devices. */
#define GT_EVENTS_JSON_FIRST_HOST 64

/* The arguments of the record that is being taken. */
struct gt_events_json_args {
	const struct gt_span *whole;
	size_t count; /* beyond GT_EVENTS_JSON_ARGS: they are not all here */
	struct gt_span key[GT_EVENTS_JSON_ARGS], value[GT_EVENTS_JSON_ARGS];
};

/* A module of the header's list. */
struct gt_events_json_module {
	const struct gt_string *path, *build_id;
};

/* A JSON file that is being read into events. */
struct gt_events_json {
	struct gt_events *events;
	const char *path;
	int64_t base;
	bool has_metadata, has_gpu_work;
	struct gt_events_json_args args;
	GT_VEC(struct gt_events_json_track) rows;
	struct gt_keymap row_of; /* pid and tid -> index in rows */
	GT_VEC(struct gt_events_json_module) modules;
	GT_VEC(struct gt_place) streams;  /* each with the context that first used it */
	GT_VEC(struct gt_stack *) stacks; /* by id */
	GT_VEC(uint8_t) flows;            /* bit per correlation that a flow starts from */
	uint64_t starts;                  /* of flows, behind end_byte */
	uint32_t open_flow;               /* correlation of work whose flow has not ended */
};

/* One record of the file as an event. */
int gt_events_json_take(struct gt_events_json *json, const struct gt_trace_event *record);

/* The string that a span stands for, interned. NULL: it is no string. */
const struct gt_string *gt_events_json_string(struct gt_events_json *json,
					      const struct gt_span *span);

/* An argument of the record that is being taken. False: it has none of that name. */
bool gt_events_json_arg(const struct gt_events_json *json, const char *key,
			struct gt_span *ret_value);

/* The stack that the arguments of these names tell; its frames are learnt from where they stand. */
const struct gt_stack *gt_events_json_stack(struct gt_events_json *json, const char *id,
					    const char *frames, const char *modules);

/* The frame that such a text in "frames" stands for. NULL: no memory. */
struct gt_stack_frame *gt_events_json_frame(struct gt_events_json *json,
					    const struct gt_string *text);

/* The context that a stream of a device belongs to, as far as GPU work tells; 0: not known. */
uint32_t gt_events_json_context(const struct gt_events_json *json, uint32_t device,
				uint32_t stream);

/* The row of that number, or NULL: a thread's own. */
const struct gt_events_json_track *gt_events_json_track(const struct gt_events_json *json,
							int64_t pid, int64_t tid);
int gt_events_json_name_track(struct gt_events_json *json, int64_t pid, int64_t tid,
			      const char *name);

/* Whether GPU work has a flow from its call in the file. */
bool gt_events_json_is_flow_end(const struct gt_events_json *json, const struct gt_event *event);

/* True when some GPU work of the file has this correlation. */
bool gt_events_json_has_flow(const struct gt_events_json *json, uint32_t correlation);

#endif
