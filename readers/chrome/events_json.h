/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the parts of the JSON reader: events_json.c turns records into events, by the functions
 * of events_json_kinds.h; events_json_header.c turns the header into metadata; events_json_file.c
 * keeps the state of the file: strings, tracks, stacks, flows. One thread per reading.
 */
#ifndef GT_READERS_CHROME_EVENTS_JSON_H
#define GT_READERS_CHROME_EVENTS_JSON_H

#include <stdlib.h>

#include "core/schema/pftrace.h"
#include "core/stack.h"
#include "readers/chrome/reader.h"
#include "readers/events.h"
#include "readers/keymap.h"
#include "readers/pairmap.h"
#include "readers/vec.h"

/* An additional track of a thread, or a track of a stream, parsed from its name. */
struct gt_events_json_track {
	int64_t pid, tid;
	uint32_t owner; /* thread, or stream */
	uint32_t context;
};

/* A process or device of a merged file: its number in it, and before. */
struct gt_events_json_part {
	int64_t pid, was;
	int64_t process, rank;
	uint32_t part; /* its process, counted in the order of the file */
};

#define GT_EVENTS_JSON_PARTS      65536 /* processes and devices that are distinguished */
#define GT_EVENTS_JSON_ARGS       64

/* Smaller process ids are devices. */
#define GT_EVENTS_JSON_FIRST_HOST 64

/* The arguments of the current record. */
struct gt_events_json_args {
	const struct gt_span *whole;
	size_t count; /* if larger than GT_EVENTS_JSON_ARGS, the rest is not in the arrays */
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
	struct gt_keymap flows; /* correlation ids with a flow start: bits of 64 neighbours */
	uint64_t starts;        /* of flows, after end_byte */
	uint32_t open_flow;     /* correlation id of work whose flow has not ended */
	uint64_t newest_end;    /* after the newest record */
	GT_VEC(struct gt_events_json_part) parts; /* of a merged file */
	struct gt_pairmap part_of;                /* pid, 0 -> place in parts + 1 */
	const char *process;                      /* name of the wanted one, or NULL */
};

/* Turns one record of the file into an event and passes it on. */
int gt_events_json_take(struct gt_events_json *json, const struct gt_trace_event *record);

/* Fills the metadata and passes it on. -EBADMSG: not a header of gputrace; or what the taker of the
 * metadata returned. */
int gt_events_json_header(struct gt_events_json *json, const struct gt_header *header);

/* The string value of a span, interned. NULL: not a string. */
const struct gt_string *gt_events_json_string(struct gt_events_json *json,
					      const struct gt_span *span);

/* The stack given by the arguments with these names; the first one with an id has the frames. */
const struct gt_stack *gt_events_json_stack(struct gt_events_json *json, const char *id,
					    const char *frames, const char *modules);

/* Parses an entry of "frames". NULL: no memory. */
struct gt_stack_frame *gt_events_json_frame(struct gt_events_json *json,
					    const struct gt_string *text);

/* The context of a device's stream, according to its GPU work; 0: not known. */
uint32_t gt_events_json_context(const struct gt_events_json *json, uint32_t device,
				uint32_t stream);

/* The additional track with this pid and tid; NULL: it is a thread's main track. */
const struct gt_events_json_track *gt_events_json_track(const struct gt_events_json *json,
							int64_t pid, int64_t tid);
int gt_events_json_name_track(struct gt_events_json *json, int64_t pid, int64_t tid,
			      const char *name);

/* Whether GPU work has a flow from its call in the file. */
bool gt_events_json_is_flow_end(const struct gt_events_json *json, const struct gt_event *event);

/* ---- events_json_parts.c ---- */

/* The first pass: notes what a record says of the processes of a merged file. 0 or -ENOMEM. */
int gt_events_json_take_part(struct gt_events_json *json, const struct gt_trace_event *record);

/* Whether the record is of the wanted process; then *record has the number that its own file gave
 * it, in @room where it differs. */
bool gt_events_json_own(const struct gt_events_json *json, const struct gt_trace_event **record,
			struct gt_trace_event *room);

/* The device of GPU work; in a merged file the row says it. */
uint32_t gt_events_json_device(const struct gt_events_json *json,
			       const struct gt_trace_event *record);

/* The same for a device of the header. */
bool gt_events_json_own_device(const struct gt_events_json *json, uint64_t *device);

/* The members that the trace of the wanted process had of its own, in a header that begins zeroed;
 * none where the merged file does not tell. -ENOMEM. */
int gt_events_json_part_header(const struct gt_events_json *json, const struct gt_header *header,
			       struct gt_header *ret_own);

/* The same of "clocks" in @header: merged_clock. */
void gt_events_json_part_clock(const struct gt_events_json *json, const struct gt_header *header,
			       struct gt_metadata *metadata);

/* What the merged file says of the wanted process. */
void gt_events_json_part_metadata(const struct gt_events_json *json, struct gt_metadata *metadata);
void gt_events_json_part_ledger(struct gt_events *events);

/* True when some GPU work of the file has this correlation. */
bool gt_events_json_has_flow(const struct gt_events_json *json, uint32_t correlation);

#endif
