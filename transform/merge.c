/* SPDX-License-Identifier: Apache-2.0
 *
 * See merge.h. An event is copied as it stands but for the numbers that must change. One thread per
 * merge.
 */
#include "transform/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/table.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "readers/chrome/reader.h"
#include "readers/pairmap.h"
#include "readers/vec.h"
#include "trace/file/header.h"
#include "trace/segment_files.h"
#include "transform/as_json.h"
#include "transform/merge_devices.h"

#define MAX_EDITS    16
#define HOST_PID_GAP ((int64_t)1 << 22) /* larger than any pid */
#define FIRST_HOST   GT_MERGE_DEVICES   /* rows below are GPUs */

struct edit {
	const char *at; /* in the event */
	uint32_t len;
	char text[320];
};

struct merge_row { /* a process or device of one file -> its number in the merged file */
	size_t file;
	int64_t pid, merged;
	bool is_reported; /* in the merged file */
};

/* A call of a process whose trace has several files, for flows to work in a later one. */
struct merge_call {
	int64_t id, pid, tid, ts; /* as they stand in its file */
	bool has_flow;
};

#define CALLS ((size_t)1 << 19) /* that are remembered */

/* Numbers that mean something in their own process only. Each kind is shifted by itself: operators
 * are counted from 1000000000 on, and stacks must not become as large. */
enum id_kind {
	ID_CALL, /* correlation, flows */
	ID_EXTERNAL,
	ID_STACK,
	ID_KIND_COUNT_,
};

struct ids {
	int64_t shift, largest; /* of the process in hand */
};

struct transform_merge {
	FILE *out;
	struct gt_merge_result *result;
	GT_VEC(struct merge_row) rows;
	struct gt_pairmap row_of; /* file, pid -> place in rows + 1 */
	struct gt_pairmap
		taken; /* number in the merged file, step -> where to look for a free one */
	struct gt_merge_devices devices;
	size_t file;
	int64_t rank;
	struct ids ids[ID_KIND_COUNT_];
	int64_t base, ts_shift;
	int64_t own_base;                 /* of the file in hand */
	const struct gt_clock_map *clock; /* of its process */
	struct gt_clocks clocks;          /* by file */
	bool moves;                       /* times of the file in hand change, lengths too */
	bool has_base, is_ours;           /* a file of gputrace's */
	int64_t now;                      /* ns, of the event in hand */
	uint64_t row_names;               /* that were added */
	struct edit edits[MAX_EDITS];
	size_t edit_count;
	struct merge_call *calls; /* by id; NULL: the process has one file */
	int64_t border;           /* of the file: work of calls up to this id has no flow in it */
	struct gt_ledger ledger;
	bool has_ledger;
};

/* The time on the clock of the merged file; one that no number holds becomes the nearest that one
 * does. */
static int64_t shifted(const struct transform_merge *m, int64_t ns)
{
	int64_t sum, on_clock;

	if (__builtin_add_overflow(ns, m->ts_shift, &sum))
		return m->ts_shift < 0 ? INT64_MIN : INT64_MAX;
	if (__builtin_add_overflow(ns, m->own_base, &on_clock) ||
	    __builtin_add_overflow(sum, gt_clock_line_at(&m->clock->line, on_clock), &on_clock))
		return sum;
	return on_clock;
}

#define US_SIZE 32

/* Microseconds, as a "ts" has them; into @text of US_SIZE bytes. */
static const char *us_text(int64_t ns, char *text)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	snprintf(text, US_SIZE, "%s%" PRIu64 ".%03" PRIu64, ns < 0 ? "-" : "", size / 1000,
		 size % 1000);
	return text;
}

static bool is_taken(const struct transform_merge *m, int64_t merged)
{
	return gt_pairmap_find(&m->taken, merged, 0);
}

/* The first free one of the numbers @merged, @merged + @step, ... Who asks for the same again does
 * not go the same long way: each number on it learns where it ended. False: no memory. */
static bool find_free(struct transform_merge *m, int64_t merged, int64_t step, int64_t *ret_free)
{
	int64_t end = merged, *next;

	while (is_taken(m, end)) {
		next = gt_pairmap_find(&m->taken, end, step);
		end = next ? *next : end + step;
	}
	while (merged != end) {
		next = gt_pairmap_get(&m->taken, merged, step);
		if (!next)
			return false;
		merged = *next ? *next : merged + step;
		*next = end;
	}
	*ret_free = end;
	return gt_pairmap_get(&m->taken, end, 0);
}

/* Viewers show rows by this: ranks in order, each one's GPUs below its host. */
static int64_t sort_index(const struct merge_row *row)
{
	int64_t below = row->pid < FIRST_HOST ? 1 + row->pid : 0;

	return (int64_t)row->file * (FIRST_HOST + 1) + below;
}

/* Says whose a row is, before its first event: trace/load/model_load.c takes the ranks apart by it.
 */
static void put_row(struct transform_merge *m, const struct merge_row *row)
{
	char device[32] = "", us[US_SIZE];

	if (row->pid < 0) /* a text */
		return;
	if (row->pid < FIRST_HOST)
		snprintf(device, sizeof(device), " GPU %" PRId64, row->pid);
	fprintf(m->out,
		"%s{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": %" PRId64
		", \"tid\": 0, \"ts\": %s, \"args\": {\"labels\": \"rank %" PRId64
		"%s\", \"rank\": %" PRId64 ", \"merged process\": %zu, \"merged pid\": %" PRId64
		"}}",
		m->result->events++ ? ",\n" : "", row->merged, us_text(m->now, us), m->rank, device,
		m->rank, row->file, row->pid);
	fprintf(m->out,
		",\n{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": %" PRId64
		", \"tid\": 0, \"ts\": %s, \"args\": {\"sort_index\": %" PRId64 "}}",
		row->merged, us, sort_index(row));
	m->result->events++;
	m->row_names += 2;
}

/* The row of a pid: its own number if it is free, else the next one of its kind. NULL: no
 * memory. */
static struct merge_row *find_row(struct transform_merge *m, int64_t pid)
{
	struct merge_row row = {.file = m->file, .pid = pid};
	int64_t *place = gt_pairmap_get(&m->row_of, (int64_t)m->file, pid);

	if (!place)
		return NULL;
	if (*place)
		return &m->rows.at[*place - 1];
	if (!find_free(m, pid, pid < FIRST_HOST ? 1 : HOST_PID_GAP, &row.merged) ||
	    !gt_vec_push(&m->rows, row))
		return NULL;
	*place = (int64_t)m->rows.count;
	return &m->rows.at[m->rows.count - 1];
}

static int64_t merged_pid(struct transform_merge *m, int64_t pid)
{
	struct merge_row *row = find_row(m, pid);

	if (!row)
		return pid;
	if (!row->is_reported)
		put_row(m, row);
	row->is_reported = true;
	return row->merged;
}

static struct edit *new_edit(struct transform_merge *m, const struct gt_span *span)
{
	struct edit *edit = &m->edits[m->edit_count];

	if (m->edit_count == MAX_EDITS || span->kind == GT_SPAN_NONE)
		return NULL;
	m->edit_count++;
	edit->at = span->text;
	edit->len = span->len;
	return edit;
}

static void edit_int(struct transform_merge *m, const struct gt_span *span, int64_t value)
{
	struct edit *edit = span->kind == GT_SPAN_NUMBER ? new_edit(m, span) : NULL;

	if (edit)
		snprintf(edit->text, sizeof(edit->text), "%" PRId64, value);
}

/* Also one in quotes, which stay; a text is nobody's number. */
static void edit_pid(struct transform_merge *m, const struct gt_trace_event *record)
{
	int64_t merged = merged_pid(m, record->pid);
	struct edit *edit = NULL;

	if (record->pid >= 0 || record->pid_text.kind == GT_SPAN_NUMBER)
		edit = new_edit(m, &record->pid_text);
	if (edit)
		snprintf(edit->text, sizeof(edit->text), "%" PRId64, merged);
}

/* The sum of two ids; beyond what a number holds it wraps around. */
static int64_t id_sum(int64_t a, int64_t b)
{
	return (int64_t)(((uint64_t)a + (uint64_t)b) & INT64_MAX);
}

static void edit_id(struct transform_merge *m, const struct gt_span *span, enum id_kind kind)
{
	struct ids *ids = &m->ids[kind];
	int64_t id;

	if (span->kind != GT_SPAN_NUMBER || !gt_span_int(span, &id) || id <= 0)
		return;
	if (id > ids->largest)
		ids->largest = id;
	if (ids->shift)
		edit_int(m, span, id_sum(id, ids->shift));
}

/* Behind the last file of a process: the next one's ids follow. */
static void shift_ids(struct transform_merge *m)
{
	for (int kind = 0; kind < ID_KIND_COUNT_; kind++) {
		m->ids[kind].shift = id_sum(m->ids[kind].shift, m->ids[kind].largest);
		m->ids[kind].largest = 0;
	}
}

static void edit_args(struct transform_merge *m, const struct gt_trace_event *record)
{
	static const struct {
		enum gt_arg arg;
		enum id_kind kind;
	} ids[] = {
		{GT_ARG_CORRELATION, ID_CALL},    {GT_ARG_EXTERNAL_ID, ID_EXTERNAL},
		{GT_ARG_STACK, ID_STACK},         {GT_ARG_CREATED_STACK, ID_STACK},
		{GT_ARG_FORWARD_STACK, ID_STACK},
	};
	struct gt_span other;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (gt_record_has(record, ids[i].arg))
			edit_id(m, &record->arg[ids[i].arg], ids[i].kind);
	if (record->args.kind != GT_SPAN_OBJECT)
		return;
	if (gt_span_member(&record->args, "wait_on_cuda_event_record_corr_id", &other))
		edit_id(m, &other, ID_CALL);
	if (gt_record_has(record, GT_ARG_DEVICE) && record->pid < FIRST_HOST)
		edit_int(m, &record->arg[GT_ARG_DEVICE], merged_pid(m, record->pid));
}

/* Times among the arguments, in ns (--latency); 0: not measured. Kineto's are of another clock. */
static void edit_times(struct transform_merge *m, const struct gt_trace_event *record)
{
	static const char *const names[] = {"queued", "submitted"};
	struct gt_span time;
	int64_t ns;

	if (!m->moves || !m->is_ours || !gt_span_is(&record->cat, "kernel", 6))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (gt_span_member(&record->args, names[i], &time) && time.kind == GT_SPAN_NUMBER &&
		    gt_span_int(&time, &ns) && ns)
			edit_int(m, &time, shifted(m, ns));
}

/* By the clock of another host: what nests goes on nesting, as both ends move. */
static void edit_dur(struct transform_merge *m, const struct gt_trace_event *record)
{
	int64_t end, dur;
	struct edit *edit;

	if (__builtin_add_overflow(record->ts, record->dur, &end) ||
	    __builtin_sub_overflow(shifted(m, end), m->now, &dur))
		return;
	edit = new_edit(m, &record->dur_text);
	if (edit)
		us_text(dur, edit->text);
}

/* Host processes are distinguished by their rank. */
static void edit_process_name(struct transform_merge *m, const struct gt_trace_event *record)
{
	const struct gt_span *name = &record->arg[GT_ARG_NAME];
	struct edit *edit;

	if (record->ph != 'M' || !gt_record_has(record, GT_ARG_NAME) ||
	    !gt_span_is(&record->name, "process_name", 12) || name->kind != GT_SPAN_STRING ||
	    memmem(name->text, name->len, "rank ", 5) || name->len > 256)
		return;
	edit = new_edit(m, name);
	if (edit)
		snprintf(edit->text, sizeof(edit->text), "rank %" PRId64 " %.*s", m->rank,
			 (int)name->len, name->text);
}

/* The index that a file gave to a row counts in that file only. */
static void edit_sort_index(struct transform_merge *m, const struct gt_trace_event *record)
{
	const struct merge_row *row;
	struct gt_span index;

	if (record->ph != 'M' || !record->has_pid || record->pid < 0 ||
	    record->args.kind != GT_SPAN_OBJECT ||
	    !gt_span_is(&record->name, "process_sort_index", 18) ||
	    !gt_span_member(&record->args, "sort_index", &index))
		return;
	row = find_row(m, record->pid);
	if (row)
		edit_int(m, &index, sort_index(row));
}

static int by_place(const void *a, const void *b)
{
	const struct edit *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static bool is_one_of(const struct gt_span *text, const char *const *words)
{
	for (; *words; words++)
		if (gt_span_is(text, *words, strlen(*words)))
			return true;
	return false;
}

static void put_flow_end(struct transform_merge *m, const char *begin, int64_t id,
			 const struct merge_call *at)
{
	char us[US_SIZE];

	fprintf(m->out,
		",\n{%s, \"id\": %" PRId64 ", \"pid\": %" PRId64 ", \"tid\": %" PRId64
		", \"ts\": %s, \"cat\": \"ac2g\", \"name\": \"ac2g\"}",
		begin, id_sum(id, m->ids[ID_CALL].shift), merged_pid(m, at->pid), at->tid,
		us_text(shifted(m, at->ts), us));
	m->result->events++;
}

/* The flow to work whose call is in an earlier file of the process. */
static void put_flow(struct transform_merge *m, const struct gt_trace_event *record, int64_t id)
{
	struct merge_call *call = &m->calls[(size_t)id % CALLS];
	const struct merge_call work = {id, record->pid, record->tid, record->ts, true};

	if (id > m->border || call->id != id)
		return;
	if (!call->has_flow) {
		put_flow_end(m, "\"ph\": \"s\"", id, call);
		gt_ledger_add(&m->ledger, GT_LEDGER_FLOWS_WRITTEN, 1);
	}
	call->has_flow = true;
	put_flow_end(m, "\"ph\": \"f\", \"bp\": \"e\"", id, &work);
}

/* Of several files of one process: remembers calls, and draws what neither file could. */
static void connect_files(struct transform_merge *m, const struct gt_trace_event *record)
{
	static const char *const calls[] = {"cuda_runtime", "cuda_driver", NULL};
	static const char *const work[] = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_graph", NULL};
	int64_t id = gt_record_int(record, GT_ARG_CORRELATION, 0);

	if (record->ph == 's' && m->calls[(size_t)record->id % CALLS].id == record->id)
		m->calls[(size_t)record->id % CALLS].has_flow = true;
	if (record->ph != 'X' || id <= 0)
		return;
	if (is_one_of(&record->cat, calls))
		m->calls[(size_t)id % CALLS] =
			(struct merge_call){id, record->pid, record->tid, record->ts, false};
	else if (is_one_of(&record->cat, work))
		put_flow(m, record, id);
}

static int copy_event(const struct gt_trace_event *record, const struct gt_header *header,
		      void *data)
{
	struct transform_merge *m = data;
	const char *p = record->raw.text, *end = p + record->raw.len;
	struct edit *edit;

	(void)header;
	m->edit_count = 0;
	m->now = record->has_ts ? shifted(m, record->ts) : 0;
	if (record->has_pid)
		edit_pid(m, record);
	if (record->has_id)
		edit_id(m, &record->id_text, ID_CALL);
	if (m->moves && record->has_ts && (edit = new_edit(m, &record->ts_text)))
		us_text(m->now, edit->text);
	if (m->clock->line.drift != 0 && record->has_ts && record->has_dur)
		edit_dur(m, record);
	edit_args(m, record);
	edit_times(m, record);
	edit_process_name(m, record);
	edit_sort_index(m, record);
	if (m->edit_count)
		qsort(m->edits, m->edit_count, sizeof(m->edits[0]), by_place);
	fputs(m->result->events++ ? ",\n" : "", m->out);
	for (size_t i = 0; i < m->edit_count; i++) {
		fwrite(p, 1, (size_t)(m->edits[i].at - p), m->out);
		fputs(m->edits[i].text, m->out);
		p = m->edits[i].at + m->edits[i].len;
	}
	fwrite(p, 1, (size_t)(end - p), m->out);
	if (m->calls)
		connect_files(m, record);
	return ferror(m->out) ? -EIO : 0;
}

/* What has to be known of a file before its events are copied: its header. */
struct source {
	const char *path;
	int64_t rank, world_size, base, border;
	bool has_base;
	char *devices, *metadata, *segment;
	struct gt_span device_list;
	struct gt_clock_source clock;
};

static int read_source(struct source *source, const char *path, struct gt_merge_result *result)
{
	struct gt_reading reading;
	int rc = gt_file_header_whole(path, &reading);
	const char *text;

	if (rc >= 0)
		gt_job_origins_see(&result->origins, &reading.header, path);
	source->path = path;
	source->rank = reading.header.rank;
	source->world_size = reading.header.world_size;
	source->has_base = reading.header.has_base;
	source->base = reading.header.base_ns;
	gt_header_span(&reading.header, "deviceProperties", &source->devices, &source->device_list);
	gt_clock_source_header(&reading.header, &source->clock);
	text = gt_header_find(&reading.header, "metadata");
	source->metadata = text ? strdup(text) : NULL;
	text = gt_header_find(&reading.header, "segment");
	source->segment = text ? strdup(text) : NULL;
	gt_header_int(&reading.header, "segment", gt_segment_names[GT_SEGMENT_BORDER],
		      &source->border);
	if (rc < 0)
		snprintf(result->error, sizeof(result->error), "%s", reading.error);
	gt_reading_fini(&reading);
	return rc < 0 ? rc : 0;
}

static int by_rank(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
				  : gt_segment_compare(x->path, y->path);
}

static size_t count_processes(const struct source *sources, size_t count)
{
	size_t processes = count ? 1 : 0;

	for (size_t i = 1; i < count; i++)
		processes += !gt_segments_are_of_one(sources[i - 1].path, sources[i].path);
	return processes;
}

/* The number of a device in the merged file, given before its first event. */
static int64_t number_device(void *merge, int64_t id)
{
	const struct merge_row *row = find_row(merge, id);

	return row ? row->merged : id;
}

/* All processes, in the order in which they are copied. */
static int find_devices(struct transform_merge *m, const struct source *sources, size_t count)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++) {
		m->file += i && !gt_segments_are_of_one(sources[i - 1].path, sources[i].path);
		rc = gt_merge_devices_take(&m->devices, &sources[i].device_list, number_device, m);
	}
	m->file = 0;
	return rc;
}

/* As the traces say it; at least the ranks that there are, however many processes each has. */
static int64_t world_of(const struct source *sources, size_t count)
{
	int64_t world = 0, ranks = 0;

	for (size_t i = 0, before; i < count; i++) {
		for (before = 0; before < i && sources[before].rank != sources[i].rank; before++)
			;
		ranks += before == i;
		if (sources[i].world_size > world)
			world = sources[i].world_size;
	}
	return world > ranks ? world : ranks;
}

static void put_header(struct transform_merge *m, const struct source *sources, size_t count)
{
	bool is_one = count_processes(sources, count) == 1;
	const char *metadata = NULL;

	for (size_t i = count; i-- > 0;)
		metadata = sources[i].metadata ? sources[i].metadata : metadata;
	fputs("{\n\"schemaVersion\": 1,\n", m->out);
	gt_merge_devices_put(&m->devices, m->out);
	fprintf(m->out,
		"\"distributedInfo\": {\"rank\": %" PRId64 ", \"world_size\": %" PRId64 "},\n",
		is_one ? sources[0].rank : 0, world_of(sources, count));
	if (metadata)
		fprintf(m->out, "\"metadata\": %s,\n", metadata);
	gt_merge_clocks_put(&m->clocks, m->out);
	if (sources[0].border) /* what was before is missing */
		fprintf(m->out, "\"segment\": %s,\n", sources[0].segment);
	fputs("\"displayTimeUnit\": \"ns\",\n", m->out);
	if (m->has_base)
		fprintf(m->out, "\"baseTimeNanoseconds\": %" PRId64 ",\n", m->base);
	fputs("\"traceEvents\": [\n", m->out);
}

static void add_ledger(struct transform_merge *m, const struct gt_header *header)
{
	uint64_t *sum = m->ledger.count;
	int64_t count;

	m->has_ledger |= gt_header_find(header, "ledger") != NULL;
	for (enum gt_ledger_key i = 0; i < GT_LEDGER_COUNT_; i++)
		if (gt_header_int(header, "ledger", gt_ledger_rows[i].json, &count))
			sum[i] = gt_ledger_join(i, sum[i], (uint64_t)count);
}

/* What is not known of the inputs is not known of the merged file (readers/chrome/reader.h,
 * bookless). */
static void put_unknown(struct transform_merge *m, size_t files)
{
	if (m->result->without_ledger)
		fprintf(m->out, ", \"merged\": {\"files\": %zu, \"without_ledger\": %" PRIu64 "}",
			files, m->result->without_ledger);
}

static void put_tail(struct transform_merge *m, size_t files)
{
	const char *gap = "";

	fputs("\n]", m->out);
	if (m->ledger.count[GT_LEDGER_NAMES_WRITTEN])
		gt_ledger_add(&m->ledger, GT_LEDGER_NAMES_WRITTEN, m->row_names);
	if (m->has_ledger) {
		fputs(", \"ledger\": {", m->out);
		for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
			if (!m->ledger.count[i])
				continue;
			fprintf(m->out, "%s\"%s\": %" PRIu64, gap, gt_ledger_rows[i].json,
				m->ledger.count[i]);
			gap = ", ";
		}
		fputc('}', m->out);
	}
	put_unknown(m, files);
	fputs(", \"traceName\": \"merged\"}\n", m->out);
}

static int copy_events(struct transform_merge *m, const char *path, struct gt_reading *ret_reading)
{
	struct gt_as_json trace;
	int rc = gt_as_json_open(&trace, path);

	if (rc < 0)
		*ret_reading = trace.outcome;
	else
		rc = gt_as_json_read(&trace, copy_event, m, ret_reading);
	gt_as_json_close(&trace);
	return rc;
}

static int copy_source(struct transform_merge *m, const struct source *source)
{
	struct gt_reading reading;
	bool is_lost;
	int rc;

	m->rank = source->rank;
	m->is_ours = source->metadata && strstr(source->metadata, "\"gputrace_version\"");
	m->clock = &m->clocks.of[m->file];
	m->own_base = source->has_base ? source->base : 0;
	is_lost = m->has_base && !source->has_base && m->clock->by != GT_CLOCK_BY_COLLECTIVES;
	if (!m->has_base || is_lost)
		m->ts_shift = 0;
	else if (__builtin_sub_overflow(m->own_base, m->base, &m->ts_shift))
		m->ts_shift = INT64_MAX;
	m->moves = m->ts_shift || m->clock->line.off || m->clock->line.drift != 0;
	m->border = source->border;
	m->result->baseless += is_lost;
	rc = copy_events(m, source->path, &reading);
	if (rc < 0)
		snprintf(m->result->error, sizeof(m->result->error), "%s", reading.error);
	if (!reading.closed && !m->result->cut++)
		m->result->cut_path = source->path;
	m->result->without_ledger += !reading.closed || reading.without_ledger;
	if (reading.closed)
		add_ledger(m, &reading.header);
	gt_reading_fini(&reading);
	return rc;
}

/* All files of the process that the first of @sources begins. Returns how many, or negative
 * errno. */
static int copy_process(struct transform_merge *m, const struct source *sources, size_t count)
{
	size_t files = 1;
	int rc = 0;

	while (files < count && gt_segments_are_of_one(sources[0].path, sources[files].path))
		files++;
	m->calls = files > 1 ? calloc(CALLS, sizeof(*m->calls)) : NULL;
	if (files > 1 && !m->calls)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < files; i++)
		rc = copy_source(m, &sources[i]);
	free(m->calls);
	shift_ids(m);
	m->file++;
	return rc < 0 ? rc : (int)files;
}

/* All processes' clocks; refused where a bound of their error could be had but cannot. */
static int find_clocks(struct transform_merge *m, const struct source *sources, size_t count,
		       bool force)
{
	size_t *firsts = calloc(count + 1, sizeof(*firsts)), processes = 0;
	struct gt_clock_source *clocks = calloc(count + 1, sizeof(*clocks));
	char **paths = calloc(count + 1, sizeof(*paths));
	int rc = firsts && clocks && paths ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < count; i++) {
		paths[i] = (char *)sources[i].path;
		if (i && gt_segments_are_of_one(sources[i - 1].path, sources[i].path))
			continue;
		clocks[processes] = sources[i].clock;
		firsts[processes++] = i;
	}
	if (!rc) {
		firsts[processes] = count;
		rc = gt_merge_clocks_find(paths, firsts, clocks, processes, &m->clocks,
					  &m->result->clocks);
	}
	if (!rc && m->result->clocks.unbounded && !force) {
		rc = -EDOM;
		gt_merge_clocks_refuse(&m->result->clocks, m->result->error,
				       sizeof(m->result->error));
	}
	free(firsts);
	free(clocks);
	free(paths);
	return rc;
}

/* The smallest: no time of the merged file comes to stand before it. */
static void find_base(struct transform_merge *m, const struct source *sources, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!sources[i].has_base || (m->has_base && m->base <= sources[i].base))
			continue;
		m->has_base = true;
		m->base = sources[i].base;
	}
}

static void free_source(struct source *source)
{
	free(source->devices);
	free(source->metadata);
	free(source->segment);
	*source = (struct source){0};
}

/* The headers of all that are traces. Returns how many, or negative errno. */
static long read_sources(struct source *sources, char *const *paths, size_t count,
			 struct gt_merge_result *result)
{
	size_t taken = 0;

	for (size_t i = 0; i < count; i++) {
		int rc = read_source(&sources[taken], paths[i], result);

		if (rc == -ENOMEM)
			return rc;
		taken += !rc;
		if (!rc)
			continue;
		free_source(&sources[taken]);
		if (!result->left_out++)
			strcpy(result->left_out_why, result->error);
	}
	return taken || !count ? (long)taken : -EBADMSG;
}

int gt_merge(char *const *paths, size_t count, bool force, FILE *out,
	     struct gt_merge_result *ret_result)
{
	struct source *sources = calloc(count + 1, sizeof(*sources));
	struct transform_merge m = {.out = out, .result = ret_result};
	int rc = sources ? 0 : -ENOMEM;
	long taken;

	*ret_result = (struct gt_merge_result){0};
	taken = rc ? rc : read_sources(sources, paths, count, ret_result);
	rc = taken < 0 ? (int)taken : 0;
	count = taken < 0 ? 0 : (size_t)taken;
	if (!rc)
		qsort(sources, count, sizeof(*sources), by_rank);
	if (!rc)
		find_base(&m, sources, count);
	if (!rc)
		rc = find_clocks(&m, sources, count, force);
	if (!rc)
		rc = find_devices(&m, sources, count);
	if (!rc)
		put_header(&m, sources, count);
	for (size_t i = 0; rc >= 0 && i < count; i += (size_t)rc)
		rc = copy_process(&m, &sources[i], count - i);
	rc = rc < 0 ? rc : 0;
	if (!rc)
		put_tail(&m, count);
	if (!rc && (fflush(out) || ferror(out))) {
		rc = -EIO;
		snprintf(ret_result->error, sizeof(ret_result->error),
			 "the merged trace could not be written");
	}
	for (size_t i = 0; sources && i < count; i++)
		free_source(&sources[i]);
	free(sources);
	gt_clocks_fini(&m.clocks);
	gt_vec_free(&m.rows);
	gt_pairmap_fini(&m.row_of);
	gt_pairmap_fini(&m.taken);
	gt_vec_free(&m.devices.list);
	return rc;
}
