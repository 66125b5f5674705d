/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that `gputrace merge` made holds several processes: a label, before the first event of
 * each process and device, says whose it is and which number it had (transform/job/copy.c). A
 * reading takes one of them. One thread per reading.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome/events_json.h"

static bool member(const struct gt_trace_event *record, const char *key, int64_t *ret_value)
{
	struct gt_span value;

	return gt_span_member(&record->args, key, &value) && gt_span_int(&value, ret_value);
}

static const struct gt_events_json_part *find_row(const struct gt_events_json *json, int64_t pid)
{
	const int64_t *place = json->parts.count ? gt_pairmap_find(&json->part_of, pid, 0) : NULL;

	return place && *place ? &json->parts.at[*place - 1] : NULL;
}

/* Processes are counted in the order of the file. */
static uint32_t part_of(struct gt_events_json *json, int64_t process)
{
	for (size_t i = 0; i < json->parts.count; i++)
		if (json->parts.at[i].process == process)
			return json->parts.at[i].part;
	return json->parts.count ? json->events->parts++ : 0;
}

/* Of a file merged twice the second time counts. */
static int take_label(struct gt_events_json *json, const struct gt_trace_event *record)
{
	struct gt_events_json_part row = {.pid = record->pid};
	int64_t *place;

	if (record->args.kind != GT_SPAN_OBJECT || find_row(json, row.pid) ||
	    json->parts.count >= GT_EVENTS_JSON_PARTS ||
	    !member(record, "merged process", &row.process) ||
	    !member(record, "merged pid", &row.was) || !member(record, "rank", &row.rank))
		return 0;
	row.part = part_of(json, row.process);
	place = gt_pairmap_get(&json->part_of, row.pid, 0);
	if (!place || !gt_vec_push(&json->parts, row))
		return -ENOMEM;
	*place = (int64_t)json->parts.count;
	return 0;
}

/* "rank 3 python", as merge made it of "python". */
static int take_process_name(struct gt_events_json *json, const struct gt_trace_event *record)
{
	const struct gt_events_json_part *row = find_row(json, record->pid);
	const struct gt_string *name;
	struct gt_span span;
	int length = 0;

	if (!row || row->part != json->events->part || row->was < GT_EVENTS_JSON_FIRST_HOST ||
	    record->args.kind != GT_SPAN_OBJECT || !gt_span_member(&record->args, "name", &span))
		return 0;
	name = gt_events_json_string(json, &span);
	if (!name)
		return 0;
	sscanf(name->text, "rank %*d %n", &length);
	json->process = name->text + (length > 0 ? length : 0);
	return 0;
}

int gt_events_json_take_part(struct gt_events_json *json, const struct gt_trace_event *record)
{
	if (record->ph != 'M')
		return 0;
	if (gt_span_is(&record->name, "process_labels", 14))
		return take_label(json, record);
	if (json->parts.count && gt_span_is(&record->name, "process_name", 12))
		return take_process_name(json, record);
	return 0;
}

bool gt_events_json_own(const struct gt_events_json *json, const struct gt_trace_event **record,
			struct gt_trace_event *room)
{
	const struct gt_events_json_part *row = find_row(json, (*record)->pid);

	if (!json->parts.count)
		return true;
	if (!row)
		return !json->events->part; /* as where it is loaded: trace/load/model_load.c */
	if (row->part != json->events->part)
		return false;
	*room = **record;
	room->pid = row->was;
	*record = room;
	return true;
}

uint32_t gt_events_json_device(const struct gt_events_json *json,
			       const struct gt_trace_event *record)
{
	if (json->parts.count && record->pid >= 0 && record->pid < GT_EVENTS_JSON_FIRST_HOST)
		return (uint32_t)record->pid;
	return (uint32_t)gt_record_int(record, GT_ARG_DEVICE, 0);
}

bool gt_events_json_own_device(const struct gt_events_json *json, uint64_t *device)
{
	const struct gt_events_json_part *row = find_row(json, (int64_t)*device);

	if (!json->parts.count)
		return true;
	if (!row || row->part != json->events->part || row->was < 0)
		return false;
	*device = (uint64_t)row->was;
	return true;
}

static bool is_wanted(const struct gt_events_json *json, const struct gt_span *of)
{
	struct gt_span number;
	int64_t process;

	if (of->kind != GT_SPAN_OBJECT || !gt_span_member(of, "process", &number) ||
	    !gt_span_int(&number, &process))
		return false;
	for (size_t i = 0; i < json->parts.count; i++)
		if (json->parts.at[i].part == json->events->part)
			return json->parts.at[i].process == process;
	return false;
}

int gt_events_json_part_header(const struct gt_events_json *json, const struct gt_header *header,
			       struct gt_header *ret_own)
{
	const struct gt_span key = {.text = "metadata", .len = 8, .kind = GT_SPAN_STRING};
	struct gt_span list, of, metadata;
	uint32_t position = 0;
	char *copy;
	int rc = 0;

	if (gt_header_span(header, "processes", &copy, &list) && list.kind == GT_SPAN_ARRAY)
		while (!rc && !ret_own->member_count && gt_span_next(&list, &position, &of))
			if (is_wanted(json, &of) && gt_span_member(&of, "metadata", &metadata))
				rc = gt_header_add(ret_own, &key, &metadata, false);
	free(copy);
	return rc;
}

/* How the clock of the wanted process came to that of the file. */
void gt_events_json_part_clock(const struct gt_events_json *json, const struct gt_header *header,
			       struct gt_metadata *metadata)
{
	struct gt_span list, of, by, error;
	uint32_t position = 0;
	char *copy;
	int n;

	if (!gt_header_span(header, "clocks", &copy, &list))
		return;
	while (list.kind == GT_SPAN_ARRAY && gt_span_next(&list, &position, &of)) {
		if (!is_wanted(json, &of) || !gt_span_member(&of, "by", &by) ||
		    by.kind != GT_SPAN_STRING || by.len > 16)
			continue;
		n = snprintf(metadata->merged_clock, sizeof(metadata->merged_clock), "%.*s",
			     (int)by.len, by.text);
		if (gt_span_member(&of, "error_ns", &error) && error.kind == GT_SPAN_NUMBER &&
		    error.len < 24)
			snprintf(metadata->merged_clock + n,
				 sizeof(metadata->merged_clock) - (size_t)n, " within %.*s ns",
				 (int)error.len, error.text);
	}
	free(copy);
}

void gt_events_json_part_metadata(const struct gt_events_json *json, struct gt_metadata *metadata)
{
	for (size_t i = 0; i < json->parts.count; i++) {
		const struct gt_events_json_part *row = &json->parts.at[i];

		if (row->part != json->events->part)
			continue;
		metadata->rank = (int32_t)row->rank;
		metadata->has_rank = true;
		if (row->was >= GT_EVENTS_JSON_FIRST_HOST)
			metadata->pid = (uint32_t)row->was;
		while (row->was < GT_METADATA_DEVICES && metadata->device_count <= row->was)
			metadata->devices[metadata->device_count++].id = UINT32_MAX;
	}
	if (json->process)
		snprintf(metadata->process, sizeof(metadata->process), "%s", json->process);
}

/* The ledger of the file is that of all processes: each gets what is there of it, the first also
 * what was lost. */
void gt_events_json_part_ledger(struct gt_events *events)
{
	struct gt_ledger *ledger = &events->ledger;

	if (events->parts < 2)
		return;
	for (int i = 0; i < GT_LEDGER_KINDS_; i++) {
		const struct gt_ledger_kind *kind = &gt_ledger_kinds[i];

		events->has_key[kind->received] = false;
		ledger->count[kind->received] = 0;
		ledger->count[kind->written] = events->counted.count[kind->written];
	}
	events->has_key[GT_LEDGER_CALLS_SEEN] = false;
	ledger->count[GT_LEDGER_CALLS_SEEN] = 0;
	ledger->count[GT_LEDGER_CALLS_WRITTEN] = events->counted.count[GT_LEDGER_CALLS_WRITTEN];
	if (!events->part)
		return;
	*ledger = (struct gt_ledger){0};
	memset(events->has_key, 0, sizeof(events->has_key));
}
