/* SPDX-License-Identifier: Apache-2.0
 *
 * See verify.h: the checks that need one event only, and the order of the others. One thread per
 * file; gt_verify_lists() has a second one.
 */
#include "analysis/verify/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verify/state.h"
#include "readers/show.h"

#define LARGEST_INT ((int64_t)1 << 53)

void gt_verify_find(struct gt_verify *v, enum gt_check check, uint64_t line, const char *format,
		    ...)
{
	char text[1024];
	va_list list;

	v->result->findings++;
	if (v->result->count[check]++ >= v->options->lines_per_check)
		return;
	gt_show(v->path, v->out);
	if (line && v->reading.is_pftrace)
		fprintf(v->out, " (event %" PRIu64 ")", line);
	else if (line)
		fprintf(v->out, ":%" PRIu64, line);
	fputs(": ", v->out);
	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	gt_show(text, v->out);
	fputc('\n', v->out);
}

static bool is_one_of(const struct gt_span *span, const char *const *words)
{
	for (; *words; words++)
		if (gt_span_is(span, *words, strlen(*words)))
			return true;
	return false;
}

#define ROLE(cat, role)                                                                            \
	{                                                                                          \
		cat, sizeof(cat) - 1, role                                                         \
	}

static const struct {
	const char *cat;
	size_t len;
	enum gt_verify_role role;
} roles[] = {
	ROLE("cuda_runtime", GT_VERIFY_CALL),
	ROLE("cuda_driver", GT_VERIFY_CALL),
	ROLE("kernel", GT_VERIFY_KERNEL),
	ROLE("gpu_memcpy", GT_VERIFY_COPY),
	ROLE("gpu_memset", GT_VERIFY_SET),
	ROLE("gpu_graph", GT_VERIFY_GRAPH),
	ROLE("cuda_sync", GT_VERIFY_SYNC),
	ROLE("overhead", GT_VERIFY_OVERHEAD),
	ROLE("user_annotation", GT_VERIFY_RANGE),
	ROLE("library", GT_VERIFY_RANGE),
	ROLE("osrt", GT_VERIFY_RANGE),
	ROLE("unified_memory", GT_VERIFY_RANGE),
	ROLE("call_stack", GT_VERIFY_FRAME),
	ROLE("cpu_op", GT_VERIFY_RANGE),
	ROLE("gpu_user_annotation", GT_VERIFY_SHADOW),
};

static enum gt_verify_role role_of(const struct gt_span *cat)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (gt_span_is(cat, roles[i].cat, roles[i].len))
			return roles[i].role;
	return GT_VERIFY_HOST;
}

static bool is_track_id(bool known, const struct gt_span *text, int64_t value)
{
	return known && text->kind == GT_SPAN_NUMBER && value >= 0 && value <= UINT32_MAX &&
	       !memchr(text->text, '.', text->len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "12.345": digits, a point, three digits. It was scanned: before a point only a sign is none. */
static bool is_plain_time(const struct gt_span *text)
{
	const char *point;

	if (text->kind != GT_SPAN_NUMBER || text->len < 5 || !is_digit(*text->text))
		return false;
	point = text->text + text->len - 4;
	return *point == '.' && is_digit(point[1]) && is_digit(point[2]) && is_digit(point[3]);
}

/* Arguments of 2^53 or more: with fewer characters there is none. */
#define SHORTEST_LARGE 4

static void check_args(struct gt_verify *v, const struct gt_trace_event *record)
{
	for (uint64_t left = record->arg_mask; left; left &= left - 1) {
		enum gt_arg arg = (enum gt_arg)__builtin_ctzll(left);
		const struct gt_span *text = &record->arg[arg];

		if (text->kind == GT_SPAN_NUMBER && text->len >= SHORTEST_LARGE &&
		    llabs(gt_record_int(record, arg, 0)) >= LARGEST_INT)
			gt_verify_find(v, GT_CHECK_ARGS, record->line,
				       "argument %.*s is 2^53 or more", (int)text->len, text->text);
	}
}

static const bool phases[UCHAR_MAX + 1] = {
	['X'] = true, ['M'] = true, ['i'] = true, ['C'] = true, ['s'] = true, ['f'] = true};

static void check_common(struct gt_verify *v, const struct gt_trace_event *record)
{
	uint64_t line = record->line;

	if (!phases[(unsigned char)record->ph])
		gt_verify_find(v, GT_CHECK_PHASE, line, "ph \"%c\" is not one of X M i C s f",
			       record->ph ? record->ph : '?');
	if (!record->name.len)
		gt_verify_find(v, GT_CHECK_NAMELESS, line, "event without a name");
	if (!is_track_id(record->has_pid, &record->pid_text, record->pid))
		gt_verify_find(v, GT_CHECK_TRACK_ID, line, "pid is not a whole number of 32 bits");
	if (!is_track_id(record->has_tid, &record->tid_text, record->tid))
		gt_verify_find(v, GT_CHECK_TRACK_ID, line, "tid is not a whole number of 32 bits");
	if (!record->has_ts)
		gt_verify_find(v, GT_CHECK_TIME, line, "event without ts");
	else if (!is_plain_time(&record->ts_text))
		gt_verify_find(v, GT_CHECK_TIME, line,
			       "ts %.*s is not microseconds with three decimals",
			       (int)record->ts_text.len, record->ts_text.text);
	if (record->args.kind != GT_SPAN_OBJECT && record->args.kind != GT_SPAN_NONE)
		gt_verify_find(v, GT_CHECK_ARGS, line, "args is not an object");
	check_args(v, record);
}

static void take_name(struct gt_verify *v, const struct gt_trace_event *record, int64_t tid)
{
	struct gt_verify_track track = {record->pid, tid, record->line};

	if (!gt_vec_push(&v->named, track))
		gt_verify_find(v, GT_CHECK_TRACK_NAME, 0, "out of memory");
}

static void check_metadata(struct gt_verify *v, const struct gt_trace_event *record)
{
	static const char *const names[] = {"process_name",       "process_labels",
					    "process_sort_index", "thread_name",
					    "thread_sort_index",  NULL};

	if (!is_one_of(&record->name, names))
		gt_verify_find(v, GT_CHECK_META, record->line, "metadata \"%.*s\" ends TraceLens",
			       (int)record->name.len, record->name.text);
	if (gt_span_is(&record->name, "thread_name", 11))
		take_name(v, record, record->tid);
	else if (gt_span_is(&record->name, "process_name", 12))
		take_name(v, record, GT_VERIFY_PROCESS);
}

static void check_rows(struct gt_verify *v, const struct gt_trace_event *record,
		       enum gt_verify_role role, int64_t correlation)
{
	if (gt_record_has(record, GT_ARG_STREAM) && !gt_verify_is_gpu(role))
		gt_verify_find(v, GT_CHECK_STREAM_ARG, record->line,
			       "argument stream on what is not GPU work: readers count it as such");
	if (gt_verify_is_gpu(role) &&
	    gt_record_int(record, GT_ARG_DEVICE, record->pid) != record->pid)
		gt_verify_find(v, GT_CHECK_DEVICE, record->line,
			       "GPU work whose pid is not its device");
	if (role == GT_VERIFY_CALL && record->pid < 64)
		gt_verify_find(v, GT_CHECK_DEVICE, record->line,
			       "host pid %" PRId64 " is a GPU's row", record->pid);
	/* GPU work of id 0 may be accounted for: gt_verify_flows */
	if ((role == GT_VERIFY_CALL || gt_verify_is_gpu(role)) &&
	    correlation < (gt_verify_is_gpu(role) ? 0 : 1))
		gt_verify_find(v, GT_CHECK_CORRELATION, record->line,
			       "no correlation id of 1 or more");
}

static void take_external(struct gt_verify *v, const struct gt_trace_event *record,
			  enum gt_verify_role role)
{
	struct gt_verify_item external = {.line = record->line, .role = role};

	if (!gt_record_has(record, GT_ARG_EXTERNAL_ID) ||
	    (!gt_span_is(&record->cat, "cpu_op", 6) && role != GT_VERIFY_CALL &&
	     !gt_verify_is_gpu(role)))
		return;
	external.id = gt_record_int(record, GT_ARG_EXTERNAL_ID, 0);
	if (gt_verify_sorted_add(&v->lists[GT_VERIFY_EXTERNALS], &external))
		gt_verify_find(v, GT_CHECK_EXTERNAL_ID, 0, "out of memory");
}

static bool take_stack(struct gt_verify *v, const struct gt_verify_stack *stack)
{
	int64_t *place = gt_pairmap_get(&v->stack_of, stack->id, 0);

	if (!place || (!*place && !gt_vec_push(&v->stacks, *stack)))
		return false;
	if (!*place)
		*place = (int64_t)v->stacks.count;
	else if (v->stacks.at[*place - 1].line == stack->line)
		v->stacks.at[*place - 1].has_frames |= stack->has_frames;
	return true;
}

static void take_stacks(struct gt_verify *v, const struct gt_trace_event *record)
{
	static const struct {
		enum gt_arg stack, frames;
	} keys[] = {
		{GT_ARG_STACK, GT_ARG_FRAMES},
		{GT_ARG_CREATED_STACK, GT_ARG_CREATED_FRAMES},
		{GT_ARG_FORWARD_STACK, GT_ARG_FORWARD_FRAMES},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct gt_verify_stack stack = {
			.line = record->line,
			.has_frames = gt_record_has(record, keys[i].frames),
		};

		if (!gt_record_has(record, keys[i].stack))
			continue;
		stack.id = gt_record_int(record, keys[i].stack, 0);
		if (!take_stack(v, &stack))
			gt_verify_find(v, GT_CHECK_ORDER, 0, "out of memory");
	}
}

static int check_slice(struct gt_verify *v, const struct gt_trace_event *record)
{
	enum gt_verify_role role = role_of(&record->cat);
	const struct gt_verify_item slice = {
		.pid = record->pid,
		.tid = record->tid,
		.ts = record->ts,
		.dur = record->dur > 0 ? record->dur : 0,
		.id = gt_record_int(record, GT_ARG_CORRELATION, -1),
		.line = record->line,
		.role = role,
	};

	if (!record->cat.len)
		gt_verify_find(v, GT_CHECK_NAMELESS, record->line, "slice without a category");
	if (!record->has_dur)
		gt_verify_find(v, GT_CHECK_NAMELESS, record->line, "slice without a duration");
	else if (record->dur < 0)
		gt_verify_find(v, GT_CHECK_TIME, record->line, "negative duration");
	else if (!is_plain_time(&record->dur_text))
		gt_verify_find(v, GT_CHECK_TIME, record->line,
			       "dur %.*s is not microseconds with three decimals",
			       (int)record->dur_text.len, record->dur_text.text);
	check_rows(v, record, role, slice.id);
	take_external(v, record, role);
	v->written[role]++;
	return gt_verify_take_slice(v, &slice);
}

/* As gputrace writes it, behind all other members. The text is that of a whole object: its last
 * quote ends a string, so the one before e begins it, and no other member may follow. */
static bool ends_at_slice(const struct gt_trace_event *record)
{
	static const char *const ends[] = {", \"bp\": \"e\"}", ",\"bp\":\"e\"}"};
	const struct gt_span *raw = &record->raw;
	struct gt_span bp;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t len = strlen(ends[i]);

		if (raw->len > len && !memcmp(raw->text + raw->len - len, ends[i], len))
			return true;
	}
	return gt_span_member(raw, "bp", &bp) && gt_span_is(&bp, "e", 1);
}

static int check_flow(struct gt_verify *v, const struct gt_trace_event *record)
{
	bool is_start = record->ph == 's';
	const struct gt_verify_item flow = {
		.id = record->id,
		.pid = record->pid,
		.tid = record->tid,
		.ts = record->ts,
		.line = record->line,
		.role = is_start ? GT_VERIFY_FLOW_START : GT_VERIFY_FLOW_END,
	};

	if (!gt_span_is(&record->cat, "ac2g", 4))
		return 0;
	if (!record->has_id)
		gt_verify_find(v, GT_CHECK_FLOW, record->line,
			       "flow whose id is not a whole number");
	if (!is_start && !ends_at_slice(record))
		gt_verify_find(v, GT_CHECK_FLOW, record->line, "end of a flow without bp \"e\"");
	v->flow_starts += is_start;
	return gt_verify_sorted_add(&v->lists[GT_VERIFY_FLOWS], &flow);
}

/* What is not counted as a slice or a flow. */
static void count_event(struct gt_verify *v, const struct gt_trace_event *record)
{
	bool is_instant = record->ph == 'i';

	v->counters += record->ph == 'C';
	v->names += record->ph == 'M';
	v->samples += is_instant && gt_span_is(&record->cat, "cpu_sample", 10);
	v->tensors += is_instant && gt_span_is(&record->cat, "cpu_instant_event", 17);
	v->marks += is_instant && gt_span_is(&record->cat, "user_annotation", 15);
	v->notes += is_instant && gt_span_is(&record->cat, "gputrace", 8) && !v->ended;
}

static int check_event(const struct gt_trace_event *record, const struct gt_header *header,
		       void *data)
{
	struct gt_verify *v = data;

	(void)header;
	gt_verify_text(v, record->raw.text, record->raw.len, record->line);
	check_common(v, record);
	v->ended = record->ph == 'i' && gt_span_is(&record->name, "Record Window End", 17);
	count_event(v, record);
	take_stacks(v, record);
	switch (record->ph) {
	case 'M':
		check_metadata(v, record);
		return 0;
	case 'X':
		return check_slice(v, record);
	case 's':
	case 'f':
		return check_flow(v, record);
	default:
		if (gt_record_has(record, GT_ARG_STREAM))
			gt_verify_find(v, GT_CHECK_STREAM_ARG, record->line,
				       "argument stream on what is not GPU work");
		return 0;
	}
}

static void print_rest(const struct gt_verify *v)
{
	static const char *const help[GT_CHECK_COUNT_] = {
#define GT_CHECK(id, kind, text) text,
#include "analysis/verify/verify.def"
#undef GT_CHECK
	};

	for (int check = 0; check < GT_CHECK_COUNT_; check++)
		if (v->result->count[check] > v->options->lines_per_check)
			gt_show_line(v->out, "%s: %" PRIu64 " more against: %s", v->path,
				     v->result->count[check] - v->options->lines_per_check,
				     help[check]);
}

static void check_whole(struct gt_verify *v)
{
	gt_verify_file_form(v);
	if (!v->reading.is_pftrace)
		gt_verify_header(v);
	gt_verify_lists(v);
	if (v->ours) {
		gt_verify_stacks(v);
		gt_verify_ledger(v);
	}
}

/* In whichever form the file is; @in stands where the process begins. */
static int read_file(struct gt_verify *v, struct gt_input *in)
{
	int rc = v->part ? 0 : gt_input_more(in);

	if (rc < 0)
		return gt_reading_fail(&v->reading, v->path, rc);
	if (v->part || gt_input_is_pftrace(in))
		return gt_verify_read_pftrace(v, in);
	return gt_reader_read_input(in, check_event, v, &v->reading);
}

/* One process of a file of several. Returns as gt_verify_file; @v is filled but for what is found.
 */
static int verify_part(struct gt_verify *v, struct gt_input *in)
{
	int rc;

	gt_verify_begin_lists(v);
	rc = read_file(v, in);
	if (rc >= 0 && gt_verify_end_lists(v))
		rc = gt_reading_fail(&v->reading, v->path, -ENOMEM);
	v->result->events += v->reading.events;
	if (rc < 0) {
		gt_show_line(v->out, "%s", v->reading.error);
		v->result->findings++;
		v->result->count[GT_CHECK_JSON]++;
	} else {
		check_whole(v);
	}
	for (int list = 0; list < GT_VERIFY_LISTS; list++)
		gt_verify_sorted_fini(&v->lists[list]);
	gt_vec_free(&v->named);
	gt_vec_free(&v->stacks);
	gt_pairmap_fini(&v->stack_of);
	gt_reading_fini(&v->reading);
	return rc;
}

int gt_verify_file(const char *path, const struct gt_verify_options *options, FILE *out,
		   struct gt_verify_result *ret_result)
{
	struct gt_verify v = {.path = path, .options = options, .out = out, .result = ret_result};
	const struct gt_verify begin = v;
	struct gt_input in;
	int rc = gt_input_open(&in, path);
	uint32_t parts = 1;

	*ret_result = (struct gt_verify_result){0};
	if (rc < 0) {
		gt_reading_fail(&v.reading, path, rc);
		gt_show_line(out, "%s", v.reading.error);
		ret_result->findings++;
		ret_result->count[GT_CHECK_JSON]++;
		gt_reading_fini(&v.reading);
	}
	for (uint32_t part = 0; rc >= 0 && part < parts; part++) {
		v = begin;
		v.part = part;
		v.parts = 1;
		rc = verify_part(&v, &in);
		parts = v.parts;
	}
	gt_input_close(&in);
	print_rest(&begin);
	return rc;
}
