/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the file: names of tracks, stacks by id, and, from a first pass, which calls have a
 * flow. One thread per reading.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "readers/chrome/events_json_args.h"
#include "readers/input.h"
#include "readers/utf8.h"

#define MAX_STACK  (1u << 24)
#define MAX_FRAMES 256u

/* ---- strings ---- */

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

/* ---- tracks ---- */

/* Unusually large numbers may share a key. */
static uint64_t row_key(int64_t pid, int64_t tid)
{
	uint64_t key = (uint64_t)pid << 32 ^ (uint64_t)tid;

	return key ? key : UINT64_MAX;
}

static bool is_row(const struct gt_events_json_track *row, int64_t pid, int64_t tid)
{
	return row->pid == pid && row->tid == tid;
}

const struct gt_events_json_track *gt_events_json_track(const struct gt_events_json *json,
							int64_t pid, int64_t tid)
{
	const struct gt_keymap_entry *entry = gt_keymap_find(&json->row_of, row_key(pid, tid));

	if (entry && is_row(&json->rows.at[entry->value], pid, tid))
		return &json->rows.at[entry->value];
	for (size_t i = 0; entry && i < json->rows.count; i++)
		if (is_row(&json->rows.at[i], pid, tid))
			return &json->rows.at[i];
	return NULL;
}

/* The program's name of a stream, from that of a track: "copies" in "stream 7 copies waits (context
 * 2) (3)". NULL: none. */
static const struct gt_string *stream_name(struct gt_events_json *json, const char *row)
{
	static const char *const suffixes[] = {" waits", " ranges"};
	const char *from = row + strcspn(row, " "), *end;
	size_t length;

	from += *from ? 1 + strspn(from + 1, "0123456789") : 0;
	end = strstr(from, " (");
	length = end ? (size_t)(end - from) : strlen(from);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t size = strlen(suffixes[i]);

		if (length >= size && !memcmp(from + length - size, suffixes[i], size)) {
			length -= size;
			break;
		}
	}
	return length > 1 ? gt_intern_get(json->events->strings, from + 1, length - 1) : NULL;
}

static int give_stream(struct gt_events_json *json, const struct gt_events_json_track *row,
		       const char *name)
{
	struct gt_event event = {.kind = GT_EVENT_STREAM,
				 .place = {.device = (uint32_t)row->pid,
					   .context = row->context,
					   .stream = row->owner}};

	event.start = event.end = json->events->metadata.start;
	event.stream.name = row->pid < GT_EVENTS_JSON_FIRST_HOST ? stream_name(json, name) : NULL;
	return event.stream.name ? gt_events_give(json->events, &event) : 0;
}

/* "thread 4100 tracing overhead", "stream 7 ranges (context 2)" */
int gt_events_json_name_track(struct gt_events_json *json, int64_t pid, int64_t tid,
			      const char *name)
{
	struct gt_events_json_track row = {.pid = pid, .tid = tid};
	const char *context = strstr(name, "(context ");
	struct gt_keymap_entry *entry;

	if (sscanf(name, "thread %u", &row.owner) != 1 &&
	    sscanf(name, "stream %u", &row.owner) != 1)
		return 0;
	if (context)
		sscanf(context, "(context %u)", &row.context);
	if (gt_events_json_track(json, pid, tid))
		return 0;
	entry = gt_keymap_get(&json->row_of, row_key(pid, tid));
	if (!entry || !gt_vec_push(&json->rows, row))
		return -ENOMEM;
	entry->value = (int64_t)json->rows.count - 1;
	return give_stream(json, &row, name);
}

/* ---- flows ---- */

bool gt_events_json_has_flow(const struct gt_events_json *json, uint32_t correlation)
{
	const struct gt_keymap_entry *entry = gt_keymap_find(&json->flows, correlation / 64 + 1u);

	return entry && (uint64_t)entry->value >> correlation % 64 & 1;
}

uint32_t gt_events_json_context(const struct gt_events_json *json, uint32_t device, uint32_t stream)
{
	for (size_t i = 0; i < json->streams.count; i++)
		if (json->streams.at[i].device == device && json->streams.at[i].stream == stream)
			return json->streams.at[i].context;
	return 0;
}

static int note_stream(struct gt_events_json *json, const struct gt_trace_event *record)
{
	struct gt_place place = {.device = gt_events_json_device(json, record),
				 .context = (uint32_t)gt_record_int(record, GT_ARG_CONTEXT, 0),
				 .stream = (uint32_t)gt_record_int(record, GT_ARG_STREAM, 0)};

	if (gt_events_json_context(json, place.device, place.stream) || !place.context)
		return 0;
	return gt_vec_push(&json->streams, place) ? 0 : -ENOMEM;
}

/* The first pass: collects what the second needs to know about later lines. */
static int look_ahead(const struct gt_trace_event *record, const struct gt_header *header,
		      void *data)
{
	struct gt_events_json *json = data;
	struct gt_keymap_entry *entry;
	struct gt_trace_event own;
	int error = gt_events_json_take_part(json, record);

	if (error || !gt_events_json_own(json, &record, &own))
		return error;
	if (record->ph == 'X' && gt_record_has(record, GT_ARG_STREAM))
		return note_stream(json, record);
	if (record->ph != 's' || !record->has_id || record->id <= 0 || record->id > UINT32_MAX)
		return 0;
	entry = gt_keymap_get(&json->flows, (uint64_t)record->id / 64 + 1);
	if (!entry)
		return -ENOMEM;
	entry->value = (int64_t)((uint64_t)entry->value | UINT64_C(1) << record->id % 64);
	return 0;
}

/* ---- stacks ---- */

static const struct gt_string *intern(struct gt_events_json *json, const char *text, size_t length)
{
	return gt_intern_get(json->events->strings, text, length);
}

/* The colon of "file.cu:42", or NULL. */
static const char *line_colon(const char *from, const char *end)
{
	const char *p = end;

	while (p > from && isdigit((unsigned char)p[-1]))
		p--;
	return p < end && p > from && p[-1] == ':' ? p - 1 : NULL;
}

/* The plus of "module+0x1a2b", or NULL; stores the number in *ret_offset. */
static const char *offset_plus(const char *from, const char *end, uint64_t *ret_offset)
{
	const char *p = end;

	while (p > from && isxdigit((unsigned char)p[-1]))
		p--;
	if (p == end || p - from < 3 || memcmp(p - 3, "+0x", 3) != 0)
		return NULL;
	*ret_offset = strtoull(p, NULL, 16);
	return p - 3;
}

/* Parses the text in parentheses: a source line, a module with an offset, [jit], a Python file. */
static void parse_origin(struct gt_events_json *json, const char *from, const char *end,
			 struct gt_stack_frame *frame)
{
	const char *mark = line_colon(from, end);

	if (mark) {
		frame->file = intern(json, from, (size_t)(mark - from));
		frame->line = (uint32_t)strtoul(mark + 1, NULL, 10);
		if (mark - from > 3 && !memcmp(mark - 3, ".py", 3))
			frame->kind = GT_FRAME_PYTHON;
	} else if (end - from == 5 && !memcmp(from, "[jit]", 5)) {
		frame->kind = GT_FRAME_JIT;
	} else if ((mark = offset_plus(from, end, &frame->offset))) {
		frame->module = intern(json, from, (size_t)(mark - from));
	} else if (end - from > 3 && !memcmp(end - 3, ".py", 3)) {
		frame->kind = GT_FRAME_PYTHON;
		frame->file = intern(json, from, (size_t)(end - from));
	} else {
		frame->kind = GT_FRAME_JIT; /* code in a module would have an offset */
		frame->module = intern(json, from, (size_t)(end - from));
	}
}

/* The opening parenthesis that matches the one at the end of the text. NULL: none. */
static const char *last_bracket(const char *text, const char *end)
{
	int depth = 0;

	for (const char *p = end; p > text; p--) {
		depth += p[-1] == ')';
		depth -= p[-1] == '(';
		if (depth == 0)
			return p - 1;
	}
	return NULL;
}

static void parse_frame(struct gt_events_json *json, const struct gt_string *text,
			struct gt_stack_frame *frame)
{
	const char *end = text->text + text->length, *open = NULL, *plus;

	if (text->length && end[-1] == ')')
		open = last_bracket(text->text, end);
	if (open && open > text->text && open[-1] == ' ') {
		frame->function = intern(json, text->text, (size_t)(open - 1 - text->text));
		parse_origin(json, open + 1, end - 1, frame);
		return;
	}
	plus = offset_plus(text->text, end, &frame->offset);
	if (!plus)
		frame->function = text;
	else if (plus - text->text == 5 && !memcmp(text->text, "[jit]", 5))
		frame->kind = GT_FRAME_JIT;
	else if (plus - text->text != 1 || text->text[0] != '?')
		frame->module = intern(json, text->text, (size_t)(plus - text->text));
}

struct gt_stack_frame *gt_events_json_frame(struct gt_events_json *json,
					    const struct gt_string *text)
{
	struct gt_stack_frame *frame = gt_arena_get(&json->events->arena, sizeof(*frame));

	if (frame)
		parse_frame(json, text, frame);
	return frame;
}

/* The build-id of a module; it is in the first slice whose stack contains the module. */
static const struct gt_string *build_id_of(struct gt_events_json *json,
					   const struct gt_span *modules,
					   const struct gt_string *module)
{
	struct gt_events_json_module row = {.path = module};
	struct gt_span value;

	if (!module)
		return NULL;
	for (size_t i = 0; i < json->modules.count; i++)
		if (json->modules.at[i].path == module)
			return json->modules.at[i].build_id;
	if (modules->kind != GT_SPAN_OBJECT || !gt_span_member(modules, module->text, &value))
		return NULL;
	row.build_id = gt_events_json_string(json, &value);
	return gt_vec_push(&json->modules, row) ? row.build_id : NULL;
}

static struct gt_stack *learn(struct gt_events_json *json, uint32_t id, const struct gt_span *array,
			      const struct gt_span *modules)
{
	struct gt_stack_frame *frames[MAX_FRAMES];
	struct gt_arena *arena = &json->events->arena;
	const struct gt_string *text;
	struct gt_stack *stack;
	struct gt_span element;
	uint32_t position = 0, count = 0;

	while (count < MAX_FRAMES && gt_span_next(array, &position, &element)) {
		text = gt_events_json_string(json, &element);
		frames[count] = text ? gt_events_json_frame(json, text) : NULL;
		if (!frames[count])
			continue;
		frames[count]->build_id = build_id_of(json, modules, frames[count]->module);
		count++;
	}
	stack = gt_arena_get(arena, sizeof(*stack) + count * sizeof(frames[0]));
	if (!stack)
		return NULL;
	stack->id = id;
	stack->count = count;
	memcpy(stack->frames, frames, count * sizeof(frames[0]));
	return stack;
}

const struct gt_stack *gt_events_json_stack(struct gt_events_json *json, const char *id_key,
					    const char *frames_key, const char *modules_key)
{
	struct gt_span id, frames, modules = {0};
	int64_t number;

	if (!gt_arg_find(json, id_key, &id) || !gt_span_int(&id, &number) || number <= 0 ||
	    number >= MAX_STACK)
		return NULL;
	while (json->stacks.count <= (size_t)number)
		if (!gt_vec_push(&json->stacks, NULL))
			return NULL;
	if (!json->stacks.at[number] && gt_arg_find(json, frames_key, &frames) &&
	    frames.kind == GT_SPAN_ARRAY) {
		gt_arg_find(json, modules_key, &modules);
		json->stacks.at[number] = learn(json, (uint32_t)number, &frames, &modules);
	}
	return json->stacks.at[number];
}

bool gt_events_json_is_flow_end(const struct gt_events_json *json, const struct gt_event *event)
{
	const struct gt_metadata *metadata = &json->events->metadata;

	bool has_call = (event->launch.known && event->launch.start) ||
			gt_events_left_out(json->events, event->correlation);

	return has_call && event->kind != GT_EVENT_SYNC &&
	       event->correlation > metadata->segment[GT_SEGMENT_BORDER] &&
	       !strstr(metadata->options, "details=few");
}

/* Whether it is the last event, which the writer adds itself: dropped when the file is appended
 * to. */
static bool is_end(const struct gt_trace_event *record)
{
	return record->ph == 'i' &&
	       gt_span_is(&record->name, GT_PF_LEDGER_NAME, strlen(GT_PF_LEDGER_NAME));
}

/* All up to @end is whole. */
static void settle(struct gt_events_json *json, uint64_t end)
{
	json->events->end_byte = end;
	json->events->flows += json->starts;
	json->starts = 0;
}

static int take_record(const struct gt_trace_event *record, const struct gt_header *header,
		       void *data)
{
	struct gt_events_json *json = data;
	struct gt_events *events = json->events;
	int error = json->has_metadata ? 0 : gt_events_json_header(json, header);
	struct gt_trace_event own;

	if (!error && !gt_events_json_own(json, &record, &own))
		return 0;
	/* work whose arrow was waited for has none: its call had been forgotten when it came */
	if (json->open_flow && record->ph != 's' && record->ph != 'f')
		settle(json, json->newest_end);
	json->newest_end = record->byte + record->raw.len;
	if (!error)
		error = gt_events_json_take(json, record);
	json->starts += record->ph == 's';
	if (!json->open_flow && !is_end(record))
		settle(json, json->newest_end);
	if (!events->loose && !gt_utf8_is_valid(record->raw.text, record->raw.len))
		events->loose = "text that is not UTF-8";
	return error;
}

static void take_ledger(struct gt_events *events, const struct gt_header *header)
{
	int64_t value;

	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		if (gt_header_int(header, "ledger", gt_ledger_rows[i].json, &value)) {
			events->ledger.count[i] = (uint64_t)value;
			events->has_key[i] = true;
		}
}

static void take_repaired(struct gt_metadata_repaired *repaired, const struct gt_header *header)
{
	const struct {
		const char *key;
		uint64_t *value;
	} rows[] = {
		{"events", &repaired->events},
		{"cut_bytes", &repaired->cut_bytes},
		{"recovered_calls", &repaired->calls},
		{"recovered_operations", &repaired->operations},
		{"in_flight", &repaired->in_flight},
		{"maybe_removed", &repaired->maybe_removed},
	};
	int64_t value;

	repaired->done = gt_header_find(header, "repaired");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (gt_header_int(header, "repaired", rows[i].key, &value))
			*rows[i].value = (uint64_t)value;
}

static int read_once(struct gt_events_json *json, gt_reader_event take)
{
	struct gt_events *events = json->events;
	struct gt_reading reading;
	int error = gt_reader_read(json->path, take, json, &reading);

	if (error && !events->error[0])
		snprintf(events->error, sizeof(events->error), "%s", reading.error);
	events->closed = reading.closed;
	if (reading.closed && json->open_flow) { /* nothing was cut: the newest has none, too */
		settle(json, json->newest_end);
		json->open_flow = 0;
	}
	events->is_unfinished = json->open_flow;
	if (reading.loose)
		events->loose = reading.loose;
	if (!error) {
		events->has_ledger = gt_header_find(&reading.header, "ledger") &&
				     !gt_header_find(&reading.header, "merged");
		take_ledger(events, &reading.header);
		take_repaired(&events->metadata.repaired, &reading.header);
	}
	gt_reading_fini(&reading);
	return error;
}

int gt_events_read_json(struct gt_events *events, const char *path)
{
	struct gt_events_json json = {.events = events, .path = path};
	int error;

	if (gt_input_is_stream(path))
		return gt_events_fail(events, path, "JSON is read twice and must be a file",
				      -ESPIPE);
	events->parts = 1;
	error = read_once(&json, look_ahead);
	events->names = events->flows = 0;
	if (!error)
		error = read_once(&json, take_record);
	if (!error)
		gt_events_json_part_ledger(events);
	if (!error && !json.has_metadata)
		error = gt_events_fail(events, path, "holds no event", -EBADMSG);
	gt_vec_free(&json.rows);
	gt_keymap_fini(&json.row_of);
	gt_vec_free(&json.stacks);
	gt_vec_free(&json.streams);
	gt_vec_free(&json.modules);
	gt_keymap_fini(&json.flows);
	gt_vec_free(&json.parts);
	gt_pairmap_fini(&json.part_of);
	return error;
}
