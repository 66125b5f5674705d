/* SPDX-License-Identifier: Apache-2.0
 *
 * See export.h: events as rows. Numbers of kinds and types are nsys's. One thread per export.
 */
#include "transform/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holes/holes.h"
#include "core/schema/event_names.h"
#include "readers/chrome/reader.h"
#include "readers/pairmap.h"
#include "readers/show.h"
#include "readers/vec.h"
#include "trace/category.h"
#include "transform/export_processes.h"
#include "transform/export_rows.h"

/* Host rows from here on are tracks beside a thread (docs/FORMAT.md). */
#define BESIDE_ROWS        8388608

#define CLASS_RUNTIME      0
#define CLASS_DRIVER       1

/* As in ENUM_CUDA_KERNEL_LAUNCH_TYPE. */
#define LAUNCH_REGULAR     1
#define LAUNCH_COOPERATIVE 2

static void put_gpu_row(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	int64_t global_pid;

	gt_export_put_int(e, record->ts);
	gt_export_put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	gt_export_put_int(e, gt_record_int(record, GT_ARG_DEVICE, record->pid));
	gt_export_put_arg(e, record, GT_ARG_CONTEXT);
	gt_export_put_int(e, gt_record_int(record, GT_ARG_STREAM, record->tid));
	gt_export_put_arg(e, record, GT_ARG_CORRELATION);
	if (gt_export_gpu_pid(e->processes, record->pid, &global_pid))
		gt_export_put_int(e, global_pid);
	else
		gt_export_put_none(e); /* the sink fills it in when the process is known */
}

/* Static and dynamic shared memory: gputrace's traces leave out the static part where it is 0,
 * other tools' tell the sum only. */
static void put_shared(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	struct gt_span span;
	int64_t part = 0, sum;
	bool known = gt_span_member(&record->args, "static shared memory", &span) &&
		     gt_span_int(&span, &part);

	if ((!known && !e->is_ours) || !gt_record_has(record, GT_ARG_SHARED) ||
	    !gt_span_int(&record->arg[GT_ARG_SHARED], &sum)) {
		gt_export_put_none(e);
		gt_export_put_none(e);
		return;
	}
	gt_export_put_int(e, part);
	gt_export_put_int(e, sum - part);
}

/* The name of the function alone, as nsys's shortName: without return type, namespaces, template
 * arguments and parameters. Returns its place in @name. */
static const char *base_of(const char *name, size_t len, size_t *ret_len)
{
	size_t begin = 0, end = 0;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (c == '<')
			depth++;
		else if (c == '>')
			depth--;
		else if (c == '(' && !depth && len - i > 11 && !memcmp(name + i, "(anonymous ", 11))
			i = (size_t)((const char *)memchr(name + i, ')', len - i) - name);
		else if (c == '(' && !depth)
			break;
		else if ((c == ' ' || c == ':') && !depth)
			begin = i + 1;
		else if (!depth)
			end = i + 1;
	}
	*ret_len = end > begin ? end - begin : len;
	return end > begin ? name + begin : name;
}

static int put_names(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	size_t len;
	const char *base = base_of(record->name.text, record->name.len, &len);

	gt_export_put_text(e, record->name.text, record->name.len);
	gt_export_put_text(e, base, len);
	return gt_export_put_mangled(e, record);
}

static void put_launch(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	struct gt_span span;
	bool known = gt_span_member(&record->args, "cooperative", &span);

	if (known || e->is_ours) /* which leaves it out where it is not */
		gt_export_put_int(e, known ? LAUNCH_COOPERATIVE : LAUNCH_REGULAR);
	else
		gt_export_put_none(e);
}

static int export_kernel(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	int rc;

	put_gpu_row(e, record);
	rc = put_names(e, record);
	if (rc)
		return rc;
	put_launch(e, record);
	gt_export_put_member(e, record, "grid id");
	gt_export_put_arg(e, record, GT_ARG_REGISTERS);
	gt_export_put_three(e, record, GT_ARG_GRID);
	gt_export_put_three(e, record, GT_ARG_BLOCK);
	put_shared(e, record);
	gt_export_put_member(e, record, "local memory per thread");
	gt_export_put_none(e);
	gt_export_put_arg(e, record, GT_ARG_SHARED);
	gt_export_put_arg(e, record, GT_ARG_GRAPH_NODE);
	return gt_export_end_row(e, GT_EXPORT_KERNEL);
}

static int64_t index_of(const char *const *words, const char *text, size_t len, int64_t otherwise)
{
	for (int64_t i = 0; words[i]; i++)
		if (strlen(words[i]) == len && !memcmp(words[i], text, len))
			return i;
	return otherwise;
}

#define MEMORY_UNKNOWN 7

/* nsys's numbers (ENUM_CUDA_MEM_KIND; CUPTI's are others) by the words that stand in the names. */
static int64_t memory_kind(const char *text, size_t len)
{
	static const char *const kinds[] = {"Pageable", "Pinned",        "Device",         "Array",
					    "Managed",  "Device Static", "Managed Static", NULL};

	return index_of(kinds, text, len, MEMORY_UNKNOWN);
}

/* "Memcpy HtoD (Pinned -> Device)" */
static int export_copy(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	static const char *const kinds[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					    "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", NULL};
	char name[128];
	const char *open, *flow, *close;
	size_t n = record->name.len < sizeof(name) - 1 ? record->name.len : sizeof(name) - 1;

	memcpy(name, record->name.text, n);
	name[n] = 0;
	open = strchr(name, '(');
	flow = strstr(name, " -> ");
	close = strrchr(name, ')');
	put_gpu_row(e, record);
	gt_export_put_arg(e, record, GT_ARG_BYTES);
	gt_export_put_int(e, strlen(name) > 10 ? index_of(kinds, name + 7, 4, 0) : 0);
	gt_export_put_int(e, open && flow ? memory_kind(open + 1, (size_t)(flow - open - 1))
					  : MEMORY_UNKNOWN);
	gt_export_put_int(e, flow && close && close > flow
				     ? memory_kind(flow + 4, (size_t)(close - flow - 4))
				     : MEMORY_UNKNOWN);
	gt_export_put_member(e, record, "fromDevice");
	gt_export_put_member(e, record, "toDevice");
	gt_export_put_arg(e, record, GT_ARG_GRAPH_NODE);
	gt_export_put_none(e);
	gt_export_put_none(e);
	return gt_export_end_row(e, GT_EXPORT_MEMCPY);
}

static int export_set(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	const char *open = memchr(record->name.text, '(', record->name.len);
	size_t rest = open ? record->name.len - (size_t)(open - record->name.text) : 0;
	struct gt_span span;
	int64_t value;

	put_gpu_row(e, record);
	if (gt_span_member(&record->args, "value", &span) && gt_span_int(&span, &value))
		gt_export_put_int(e, value);
	else
		gt_export_put_none(e);
	gt_export_put_arg(e, record, GT_ARG_BYTES);
	gt_export_put_int(e, rest > 2 ? memory_kind(open + 1, rest - 2) : MEMORY_UNKNOWN);
	gt_export_put_arg(e, record, GT_ARG_GRAPH_NODE);
	return gt_export_end_row(e, GT_EXPORT_MEMSET);
}

/* Kinds as CUPTI numbers them, which has none for host functions. */
static int export_wait(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	enum gt_sync_kind kind = gt_event_find_sync(record->name.text, record->name.len);

	put_gpu_row(e, record);
	gt_export_put_int(e, kind < GT_SYNC_HOST_FUNCTION ? kind : GT_SYNC_UNKNOWN);
	gt_export_put_member(e, record, "wait_on_cuda_event_id");
	return gt_export_end_row(e, GT_EXPORT_SYNC);
}

/* "Graph 7" */
static int export_graph(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	struct gt_span id = {.kind = GT_SPAN_NUMBER, .text = record->name.text + 6};
	int64_t number;

	put_gpu_row(e, record);
	if (record->name.len > 6 && !memcmp(record->name.text, "Graph ", 6)) {
		id.len = record->name.len - 6;
		if (gt_span_int(&id, &number)) {
			gt_export_put_int(e, number);
			return gt_export_end_row(e, GT_EXPORT_GRAPH);
		}
	}
	gt_export_put_none(e);
	return gt_export_end_row(e, GT_EXPORT_GRAPH);
}

static int export_call(struct gt_export_rows *e, const struct gt_trace_event *record, bool driver)
{
	struct gt_span result;
	int64_t code = 0;
	bool known =
		gt_span_member(&record->args, "result", &result) && gt_span_int(&result, &code);

	gt_export_put_int(e, record->ts);
	gt_export_put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	gt_export_put_int(e, driver ? CLASS_DRIVER : CLASS_RUNTIME);
	gt_export_put_int(e, gt_export_global_tid(e->processes, record->pid, record->tid));
	gt_export_put_arg(e, record, GT_ARG_CORRELATION);
	gt_export_put_text(e, record->name.text, record->name.len);
	if (known || e->is_ours) /* which leaves out 0 */
		gt_export_put_int(e, code);
	else
		gt_export_put_none(e);
	gt_export_put_chain(e, record);
	return gt_export_end_row(e, GT_EXPORT_RUNTIME);
}

static int export_thread(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	const struct gt_span *name = &record->arg[GT_ARG_NAME];

	if (!gt_record_has(record, GT_ARG_NAME) || !gt_span_is(&record->name, "thread_name", 11) ||
	    record->pid < 64 || name->escaped || (e->is_ours && record->tid >= BESIDE_ROWS))
		return 0;
	gt_export_put_text(e, name->text, name->len);
	gt_export_put_none(e);
	gt_export_put_int(e, gt_export_global_tid(e->processes, record->pid, record->tid));
	return gt_export_end_row(e, GT_EXPORT_THREAD);
}

/* Other tools have threads of any number. */
static bool is_ours(const struct gt_header *header)
{
	char text[64];

	return gt_header_text(header, "metadata", "gputrace_version", text, sizeof(text));
}

static int export_runtime(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	return export_call(e, record, false);
}

static int export_driver(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	return export_call(e, record, true);
}

/* By role of the category; NULL: no table has it. */
static int (*const slices[GT_ROLE_COUNT_])(struct gt_export_rows *e,
					   const struct gt_trace_event *record) = {
	[GT_ROLE_KERNEL] = export_kernel,   [GT_ROLE_COPY] = export_copy,
	[GT_ROLE_SET] = export_set,         [GT_ROLE_GRAPH] = export_graph,
	[GT_ROLE_RUNTIME] = export_runtime, [GT_ROLE_DRIVER] = export_driver,
	[GT_ROLE_WAIT] = export_wait,       [GT_ROLE_UNIFIED] = gt_export_unified,
};

/* Of arrows nobody expects a row. */
static void count_untimed(struct gt_export_left *left, const struct gt_trace_event *record)
{
	if (!record->ph || strchr("sft", record->ph))
		return;
	left->no_ts += record->ts_text.kind == GT_SPAN_NONE;
	left->bad_ts += record->ts_text.kind != GT_SPAN_NONE;
}

static void count_left(struct gt_export_left *left, const struct gt_trace_event *record,
		       enum gt_role role)
{
	left->unknown += role == GT_ROLE_UNKNOWN && record->ph == 'X';
	if (record->ph == 'X' && slices[role]) {
		left->no_dur += !record->has_dur;
		left->negative_dur += record->has_dur && record->dur < 0;
	}
	left->halves += record->ph == 'B' || record->ph == 'E';
	left->asynchronous += record->ph == 'b' || record->ph == 'S';
}

static int export_event(const struct gt_trace_event *record, const struct gt_header *header,
			void *data)
{
	struct gt_export_rows *e = data;
	const struct gt_span *cat = &record->cat;
	int rc = gt_export_processes_see(e->processes, record, header);
	enum gt_role role;

	if (rc)
		return rc;
	if (!e->is_ours)
		e->is_ours = is_ours(header);
	if (record->ph == 'M')
		return export_thread(e, record);
	rc = gt_export_stacks(e, record);
	if (rc || !record->has_ts) {
		count_untimed(&e->left, record);
		return rc;
	}
	role = gt_category_role(cat);
	count_left(&e->left, record, role);
	if (record->ph == 'X' && slices[role])
		return slices[role](e, record);
	if ((record->ph == 'X' || record->ph == 'i') && gt_span_is(cat, "user_annotation", 15))
		return gt_export_nvtx(e, record);
	return 0;
}

/* Ranks name the GPUs that they used; the same number is the same GPU, as in the rows of its
 * work. */
static bool is_new_device(struct gt_export_rows *e, const struct gt_header_device *device)
{
	int64_t *seen;

	if (!strcmp(device->name, "unknown"))
		return false;
	seen = gt_pairmap_get(e->devices, device->id, 0);
	return seen && !(*seen)++;
}

/* In which process a device is which number; of several processes nobody knows. */
static int export_cuda_device(struct gt_export_rows *e, const struct gt_header_device *device)
{
	const struct gt_export_processes *all = e->processes;
	int64_t pid = all->count == 1 ? all->list.at[all->first].pid : -1;

	gt_export_put_int(e, device->id);
	gt_export_put_int(e, device->id);
	if (pid >= 0)
		gt_export_put_int(e, pid);
	else
		gt_export_put_none(e);
	if (device->uuid)
		gt_export_put_text(e, device->uuid, strlen(device->uuid));
	else
		gt_export_put_none(e);
	gt_export_put_int(e, device->sms);
	return gt_export_end_row(e, GT_EXPORT_CUDA_DEVICE);
}

static int export_devices(struct gt_export_rows *e, const struct gt_header *header)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < header->device_count; i++) {
		const struct gt_header_device *device = &header->devices[i];

		if (!is_new_device(e, device))
			continue;
		gt_export_put_int(e, device->id);
		gt_export_put_text(e, device->name, strlen(device->name));
		gt_export_put_int(e, device->memory);
		gt_export_put_int(e, device->major);
		gt_export_put_int(e, device->minor);
		gt_export_put_int(e, device->sms);
		rc = gt_export_end_row(e, GT_EXPORT_GPU);
		if (!rc)
			rc = export_cuda_device(e, device);
	}
	return rc;
}

static size_t print_left(const struct gt_export_left *left, uint64_t strange, FILE *out)
{
	const struct gt_holes_count rows[] = {
		{left->no_dur, "slice", "without a duration that is in range, exported with 0"},
		{left->negative_dur, "slice", "with a negative duration, exported as it is"},
		{left->halves, "event", "of slices in two parts (ph B, E), in no table"},
		{left->asynchronous, "asynchronous slice", "(ph b, S), in no table"},
		{left->no_ts, "event", "without a time stamp, left out"},
		{left->bad_ts, "event", "whose time stamp is out of range or no number, left out"},
		{strange, "traceEvents element", "without the form of an event, left out"},
		{left->unknown, "slice", "of unknown categories, in no table"},
	};

	return gt_holes_print_counts(rows, sizeof(rows) / sizeof(rows[0]), out);
}

static void report_losses(const char *path, const struct gt_reading *reading,
			  const struct gt_export_left *left, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	size_t lines = memory ? gt_holes_of_reading(reading, memory) : 0;

	if (memory) {
		lines += print_left(left, reading->strange, memory);
		fclose(memory);
	}
	if (lines) {
		gt_show_line(out, "%s:", path);
		fputs(text, out);
	}
	free(text);
}

static int export_process(struct gt_export_rows *e, struct gt_export_process *process)
{
	const char *program = process->name[0] ? process->name : process->path;
	char *name = NULL;
	int rc;

	if (process->pid < 0 || process->is_reported)
		return 0;
	process->is_reported = true;
	if ((e->processes->count > 1 || process->is_part) &&
	    asprintf(&name, "%s (rank %" PRId64 ")", program, process->rank) < 0)
		return -ENOMEM;
	gt_export_put_int(e, gt_export_global_pid(process));
	gt_export_put_int(e, process->pid);
	gt_export_put_text(e, name ? name : program, strlen(name ? name : program));
	rc = gt_export_end_row(e, GT_EXPORT_PROCESS);
	free(name);
	return rc;
}

/* Behind the events of a file. */
static int export_processes(struct gt_export_rows *e)
{
	struct gt_export_processes *all = e->processes;
	int rc = 0;

	for (size_t i = 0; !rc && i < all->count; i++)
		rc = export_process(e, &all->list.at[all->first + i]);
	if (rc)
		return rc;
	/* rows that do not say whose they are; of several processes nobody knows */
	return e->sink->process(
		e->sink, all->count > 1 ? 0 : gt_export_global_pid(&all->list.at[all->first]));
}

static int export_file(struct gt_export_sink *sink, struct gt_export_processes *processes,
		       struct gt_pairmap *devices, int64_t *chains, struct gt_as_json *trace,
		       FILE *losses)
{
	struct gt_export_rows e = {.sink = sink,
				   .processes = processes,
				   .devices = devices,
				   .chains = chains,
				   .chain_base = *chains};
	struct gt_reading reading;
	int rc = gt_export_processes_begin(processes, trace);

	if (rc)
		return rc;
	rc = gt_as_json_read(trace, export_event, &e, &reading);
	if (rc < 0 && !sink->error[0])
		snprintf(sink->error, sizeof(sink->error), "%s", reading.error);
	if (!rc)
		report_losses(trace->path, &reading, &e.left, losses);
	if (!rc)
		rc = export_devices(&e, &reading.header);
	if (!rc)
		rc = export_processes(&e);
	gt_reading_fini(&reading);
	gt_export_mangled_fini(&e);
	gt_export_nvtx_fini(&e);
	gt_pairmap_fini(&e.chains_put);
	return rc;
}

static int export_path(struct gt_export_sink *sink, struct gt_export_processes *processes,
		       struct gt_pairmap *devices, int64_t *chains, const char *path, FILE *losses)
{
	struct gt_as_json_wish wish = {0};
	uint32_t parts = 1;
	int rc = 0;

	for (; !rc && wish.part < parts; wish.part++) {
		struct gt_as_json trace;

		rc = gt_as_json_open(&trace, path, wish);
		parts = trace.parts;
		if (!rc && parts > 1 && gt_input_is_stream(path)) {
			rc = -ESPIPE;
			snprintf(sink->error, sizeof(sink->error),
				 "%.400s: holds several processes, for each of which it is read: "
				 "it must be a file",
				 path);
		}
		if (rc < 0 && !sink->error[0])
			snprintf(sink->error, sizeof(sink->error), "%s", trace.outcome.error);
		else if (!rc)
			rc = export_file(sink, processes, devices, chains, &trace, losses);
		gt_as_json_close(&trace);
	}
	return rc;
}

int gt_export(char *const *paths, size_t count, const struct gt_export_sink *kind,
	      const char *target, bool (*goes_on)(void), FILE *losses, char *ret_error,
	      size_t error_size)
{
	struct gt_export_processes processes = {0};
	struct gt_pairmap devices = {0};
	struct gt_export_sink sink = *kind;
	int64_t chains = 0;
	int rc, closed;

	sink.goes_on = goes_on;
	rc = sink.open(&sink, target);
	for (size_t i = 0; !rc && i < count; i++)
		rc = export_path(&sink, &processes, &devices, &chains, paths[i], losses);
	gt_export_processes_fini(&processes);
	gt_pairmap_fini(&devices);
	if (sink.priv) {
		closed = sink.close(&sink, rc != 0);
		rc = rc ? rc : closed;
	}
	if (rc)
		snprintf(ret_error, error_size, "%s", sink.error[0] ? sink.error : strerror(-rc));
	return rc;
}
