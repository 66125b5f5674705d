/* SPDX-License-Identifier: Apache-2.0
 *
 * An event is copied as it stands but for the numbers that must change.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/json/flow_id.h"
#include "core/schema/event_names.h"
#include "transform/job/edits.h"
#include "transform/job/merging.h"

int64_t gt_merge_time(const struct gt_merging *m, int64_t ns)
{
	int64_t sum, on_clock;

	if (__builtin_add_overflow(ns, m->ts_shift, &sum))
		return m->ts_shift < 0 ? INT64_MIN : INT64_MAX;
	if (__builtin_add_overflow(ns, m->source->base, &on_clock) ||
	    __builtin_add_overflow(sum, gt_clock_line_at(&m->clock->line, on_clock), &on_clock))
		return sum;
	return on_clock;
}

const char *gt_merge_us(int64_t ns, char *text)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	snprintf(text, GT_MERGE_US_SIZE, "%s%" PRIu64 ".%03" PRIu64, ns < 0 ? "-" : "", size / 1000,
		 size % 1000);
	return text;
}

int64_t gt_merge_id_sum(int64_t a, int64_t b)
{
	return (int64_t)(((uint64_t)a + (uint64_t)b) & INT64_MAX);
}

/* ---- rows ---- */

/* Says whose a row is, before its first event: trace/load/model_load.c takes the ranks apart by it.
 */
static void put_row(struct gt_merging *m, const struct gt_merge_row *row)
{
	int64_t rank = row->is_inner ? row->rank : m->source->rank;
	int64_t pid = row->is_inner ? row->was : row->pid;
	char device[32] = "", us[GT_MERGE_US_SIZE];

	if (row->pid < 0) /* a text */
		return;
	if (pid < GT_MERGE_FIRST_HOST)
		snprintf(device, sizeof(device), " GPU %" PRId64, pid);
	fprintf(m->out,
		"%s{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": %" PRId64
		", \"tid\": 0, \"ts\": %s, \"args\": {\"labels\": \"rank %" PRId64
		"%s\", \"rank\": %" PRId64 ", \"merged process\": %zu, \"merged pid\": %" PRId64
		"}}",
		m->result->events++ ? ",\n" : "", row->merged, gt_merge_us(m->now, us), rank,
		device, rank, row->is_inner ? row->owner : row->process, pid);
	fprintf(m->out,
		",\n{\"ph\": \"M\", \"name\": \"process_sort_index\", \"pid\": %" PRId64
		", \"tid\": 0, \"ts\": %s, \"args\": {\"sort_index\": %" PRId64 "}}",
		row->merged, us, gt_merge_row_place(row));
	m->result->events++;
	m->row_names += row->is_inner ? 0 : 2; /* instead of those that the file has */
}

int64_t gt_merge_pid(struct gt_merging *m, int64_t pid)
{
	struct gt_merge_row *row = gt_merge_rows_find(&m->rows, m->source->process, pid);

	if (!row)
		return pid;
	if (!row->is_reported)
		put_row(m, row);
	row->is_reported = true;
	return row->merged;
}

/* ---- what changes ---- */

/* Also one in quotes, which stay; a text is nobody's number. */
static void edit_pid(struct gt_merging *m, const struct gt_trace_event *record,
		     struct gt_edits *edits)
{
	int64_t merged = gt_merge_pid(m, record->pid);
	struct gt_edit *edit = NULL;

	if (record->pid >= 0 || record->pid_text.kind == GT_SPAN_NUMBER)
		edit = gt_edits_new(edits, &record->pid_text);
	if (edit)
		snprintf(edit->text, sizeof(edit->text), "%" PRId64, merged);
}

static void edit_id(struct gt_merging *m, const struct gt_span *span, enum gt_merge_id kind,
		    struct gt_edits *edits)
{
	struct gt_merge_ids *ids = &m->ids[kind];
	int64_t id;

	if (span->kind != GT_SPAN_NUMBER || !gt_span_int(span, &id) || id <= 0)
		return;
	if (id > ids->largest)
		ids->largest = id;
	if (ids->shift)
		gt_edits_int(edits, span, gt_merge_id_sum(id, ids->shift));
}

/* A flow of its own moves with its call. */
static void edit_flow(struct gt_merging *m, const struct gt_trace_event *record,
		      struct gt_edits *edits)
{
	int64_t shift = m->ids[GT_MERGE_ID_CALL].shift;

	if (m->is_ours && record->id >= GT_FLOW_ID_OWN && (record->ph == 's' || record->ph == 'f'))
		gt_edits_int(edits, &record->id_text,
			     gt_merge_id_sum(record->id, shift << GT_FLOW_ID_SHIFT));
	else
		edit_id(m, &record->id_text, GT_MERGE_ID_CALL, edits);
}

static void edit_args(struct gt_merging *m, const struct gt_trace_event *record,
		      struct gt_edits *edits)
{
	static const struct {
		enum gt_arg arg;
		enum gt_merge_id kind;
	} ids[] = {
		{GT_ARG_CORRELATION, GT_MERGE_ID_CALL},
		{GT_ARG_EXTERNAL_ID, GT_MERGE_ID_EXTERNAL},
		{GT_ARG_STACK, GT_MERGE_ID_STACK},
		{GT_ARG_CREATED_STACK, GT_MERGE_ID_STACK},
		{GT_ARG_FORWARD_STACK, GT_MERGE_ID_STACK},
	};
	struct gt_span other;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (gt_record_has(record, ids[i].arg))
			edit_id(m, &record->arg[ids[i].arg], ids[i].kind, edits);
	if (record->args.kind != GT_SPAN_OBJECT)
		return;
	if (gt_span_member(&record->args, "wait_on_cuda_event_record_corr_id", &other))
		edit_id(m, &other, GT_MERGE_ID_CALL, edits);
	if (gt_record_has(record, GT_ARG_DEVICE) && record->pid < GT_MERGE_FIRST_HOST)
		gt_edits_int(edits, &record->arg[GT_ARG_DEVICE], gt_merge_pid(m, record->pid));
}

/* Times among the arguments, in ns (--latency); 0: not measured. Kineto's are of another clock. */
static void edit_times(struct gt_merging *m, const struct gt_trace_event *record,
		       struct gt_edits *edits)
{
	static const char *const names[] = {"queued", "submitted"};
	struct gt_span time;
	int64_t ns;

	if (!m->moves || !m->is_ours || !gt_span_is(&record->cat, "kernel", 6))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (gt_span_member(&record->args, names[i], &time) && time.kind == GT_SPAN_NUMBER &&
		    gt_span_int(&time, &ns) && ns)
			gt_edits_int(edits, &time, gt_merge_time(m, ns));
}

/* By the clock of another host: what nests goes on nesting, as both ends move. */
static void edit_dur(struct gt_merging *m, const struct gt_trace_event *record,
		     struct gt_edits *edits)
{
	int64_t end, dur;
	struct gt_edit *edit;

	if (__builtin_add_overflow(record->ts, record->dur, &end) ||
	    __builtin_sub_overflow(gt_merge_time(m, end), m->now, &dur))
		return;
	edit = gt_edits_new(edits, &record->dur_text);
	if (edit)
		gt_merge_us(dur, edit->text);
}

/* Host processes are distinguished by their rank. */
static void edit_process_name(struct gt_merging *m, const struct gt_trace_event *record,
			      struct gt_edits *edits)
{
	const struct gt_span *name = &record->arg[GT_ARG_NAME];
	struct gt_edit *edit;

	if (record->ph != 'M' || !gt_record_has(record, GT_ARG_NAME) ||
	    !gt_span_is(&record->name, "process_name", 12) || name->kind != GT_SPAN_STRING ||
	    memmem(name->text, name->len, "rank ", 5) || name->len > 256)
		return;
	edit = gt_edits_new(edits, name);
	if (edit)
		snprintf(edit->text, sizeof(edit->text), "rank %" PRId64 " %.*s", m->source->rank,
			 (int)name->len, name->text);
}

/* The index that a file gave to a row counts in that file only. */
static void edit_sort_index(struct gt_merging *m, const struct gt_trace_event *record,
			    struct gt_edits *edits)
{
	const struct gt_merge_row *row;
	struct gt_span index;

	if (record->ph != 'M' || !record->has_pid || record->pid < 0 ||
	    record->args.kind != GT_SPAN_OBJECT ||
	    !gt_span_is(&record->name, "process_sort_index", 18) ||
	    !gt_span_member(&record->args, "sort_index", &index))
		return;
	row = gt_merge_rows_find(&m->rows, m->source->process, record->pid);
	if (row)
		gt_edits_int(edits, &index, gt_merge_row_place(row));
}

/* ---- rows of a file that was merged before ---- */

static bool number_of(const struct gt_trace_event *record, const char *key, int64_t *ret_number)
{
	struct gt_span span;

	return gt_span_member(&record->args, key, &span) && gt_span_int(&span, ret_number);
}

static const struct gt_merge_inner *find_inner(const struct gt_merge_source *source, int64_t was)
{
	for (size_t i = 0; i < source->inner_count; i++)
		if (source->inner[i].was == was)
			return &source->inner[i];
	return NULL;
}

/* Takes from a label whose the row is, and writes a label of this merge. False: it is none. */
static bool take_inner_row(struct gt_merging *m, const struct gt_trace_event *record)
{
	const struct gt_merge_inner *inner;
	struct gt_merge_row *row;
	int64_t process, was;

	if (!m->source->inner_count || record->ph != 'M' || !record->has_pid ||
	    record->args.kind != GT_SPAN_OBJECT)
		return false;
	row = gt_merge_rows_find(&m->rows, m->source->process, record->pid);
	if (row && row->is_inner && gt_span_is(&record->name, "process_sort_index", 18))
		return true;
	if (!row || row->is_reported || !gt_span_is(&record->name, "process_labels", 14) ||
	    !number_of(record, "merged process", &process) ||
	    !number_of(record, "merged pid", &was) || !(inner = find_inner(m->source, process)))
		return false;
	row->is_inner = true;
	row->owner = inner->process;
	row->rank = inner->rank;
	row->was = was;
	gt_merge_pid(m, record->pid);
	return true;
}

/* ---- */

void gt_merge_put_event(struct gt_merging *m, const struct gt_trace_event *record, FILE *out)
{
	struct gt_edits edits;
	struct gt_edit *edit;

	edits.count = 0;
	if (record->has_pid)
		edit_pid(m, record, &edits);
	if (record->has_id)
		edit_flow(m, record, &edits);
	if ((m->moves || m->window.is_set) && record->has_ts &&
	    (edit = gt_edits_new(&edits, &record->ts_text)))
		gt_merge_us(m->now, edit->text);
	if (m->clock->line.drift != 0 && record->has_ts && record->has_dur)
		edit_dur(m, record, &edits);
	edit_args(m, record, &edits);
	edit_times(m, record, &edits);
	edit_process_name(m, record, &edits);
	edit_sort_index(m, record, &edits);
	if (m->window.is_set)
		gt_merge_window_stacks(&m->window, record, &edits);
	if (out == m->out)
		fputs(m->result->events++ ? ",\n" : "", out);
	gt_edits_put(&edits, &record->raw, out);
}

int gt_merge_copy_event(const struct gt_trace_event *record, const struct gt_header *header,
			void *merging)
{
	struct gt_merging *m = merging;
	int takes;

	(void)header;
	/* of files of one process it may overlap, and no reader that needs it reads several */
	if (gt_span_is(&record->cat, GT_WHOLE_STEP_CATEGORY, sizeof(GT_WHOLE_STEP_CATEGORY) - 1))
		return 0;
	m->now = record->has_ts ? gt_merge_time(m, record->ts) : 0;
	if (take_inner_row(m, record))
		return ferror(m->out) ? -EIO : 0;
	takes = m->window.is_set ? gt_merge_window_takes(m, record) : 1;
	if (takes <= 0)
		return takes;
	gt_merge_put_event(m, record, m->out);
	gt_merge_connect(m, record);
	return ferror(m->out) ? -EIO : 0;
}
