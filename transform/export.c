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

#include "analysis/stats.h"
#include "readers/chrome/reader.h"
#include "readers/pairmap.h"
#include "readers/show.h"
#include "readers/vec.h"
#include "trace/category.h"
#include "transform/export_processes.h"

#define NVTX_MARK      34
#define NVTX_PUSH_POP  59
#define NVTX_START_END 60

/* Host rows from here on are tracks beside a thread, those of ranges from there (docs/FORMAT.md).
 */
#define BESIDE_ROWS    8388608
#define RANGE_ROWS     16777216

#define CLASS_RUNTIME  0
#define CLASS_DRIVER   1

static const struct gt_export_column kernel_columns[] = {
	{"start", GT_EXPORT_INT},
	{"end", GT_EXPORT_INT},
	{"deviceId", GT_EXPORT_INT},
	{"contextId", GT_EXPORT_INT},
	{"streamId", GT_EXPORT_INT},
	{"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT},
	{"demangledName", GT_EXPORT_NAME},
	{"shortName", GT_EXPORT_NAME},
	{"mangledName", GT_EXPORT_NAME},
	{"registersPerThread", GT_EXPORT_INT},
	{"gridX", GT_EXPORT_INT},
	{"gridY", GT_EXPORT_INT},
	{"gridZ", GT_EXPORT_INT},
	{"blockX", GT_EXPORT_INT},
	{"blockY", GT_EXPORT_INT},
	{"blockZ", GT_EXPORT_INT},
	{"staticSharedMemory", GT_EXPORT_INT},
	{"dynamicSharedMemory", GT_EXPORT_INT},
	{"sharedMemoryExecuted", GT_EXPORT_INT},
	{"graphNodeId", GT_EXPORT_INT},
};

static const struct gt_export_column memcpy_columns[] = {
	{"start", GT_EXPORT_INT},     {"end", GT_EXPORT_INT},      {"deviceId", GT_EXPORT_INT},
	{"contextId", GT_EXPORT_INT}, {"streamId", GT_EXPORT_INT}, {"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT}, {"bytes", GT_EXPORT_INT},    {"copyKind", GT_EXPORT_INT},
	{"srcKind", GT_EXPORT_INT},   {"dstKind", GT_EXPORT_INT},  {"graphNodeId", GT_EXPORT_INT},
};

static const struct gt_export_column memset_columns[] = {
	{"start", GT_EXPORT_INT},       {"end", GT_EXPORT_INT},
	{"deviceId", GT_EXPORT_INT},    {"contextId", GT_EXPORT_INT},
	{"streamId", GT_EXPORT_INT},    {"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT},   {"value", GT_EXPORT_INT},
	{"bytes", GT_EXPORT_INT},       {"memKind", GT_EXPORT_INT},
	{"graphNodeId", GT_EXPORT_INT},
};

static const struct gt_export_column graph_columns[] = {
	{"start", GT_EXPORT_INT},     {"end", GT_EXPORT_INT},      {"deviceId", GT_EXPORT_INT},
	{"contextId", GT_EXPORT_INT}, {"streamId", GT_EXPORT_INT}, {"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT}, {"graphId", GT_EXPORT_INT},
};

static const struct gt_export_column runtime_columns[] = {
	{"start", GT_EXPORT_INT},         {"end", GT_EXPORT_INT},
	{"eventClass", GT_EXPORT_INT},    {"globalTid", GT_EXPORT_INT},
	{"correlationId", GT_EXPORT_INT}, {"nameId", GT_EXPORT_NAME},
	{"returnValue", GT_EXPORT_INT},
};

static const struct gt_export_column nvtx_columns[] = {
	{"start", GT_EXPORT_INT},    {"end", GT_EXPORT_INT},       {"eventType", GT_EXPORT_INT},
	{"text", GT_EXPORT_TEXT},    {"globalTid", GT_EXPORT_INT}, {"textId", GT_EXPORT_NAME},
	{"domainId", GT_EXPORT_INT},
};

static const struct gt_export_column gpu_columns[] = {
	{"id", GT_EXPORT_INT},           {"name", GT_EXPORT_TEXT},
	{"totalMemory", GT_EXPORT_INT},  {"computeMajor", GT_EXPORT_INT},
	{"computeMinor", GT_EXPORT_INT}, {"smCount", GT_EXPORT_INT},
};

static const struct gt_export_column process_columns[] = {
	{"globalPid", GT_EXPORT_INT},
	{"pid", GT_EXPORT_INT},
	{"name", GT_EXPORT_TEXT},
};

static const struct gt_export_column thread_columns[] = {
	{"nameId", GT_EXPORT_NAME},
	{"globalTid", GT_EXPORT_INT},
};

#define TABLE(name, columns)                                                                       \
	{                                                                                          \
		name, columns, sizeof(columns) / sizeof(columns[0])                                \
	}

const struct gt_export_table gt_export_tables[GT_EXPORT_TABLE_COUNT_] = {
	[GT_EXPORT_KERNEL] = TABLE("CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns),
	[GT_EXPORT_MEMCPY] = TABLE("CUPTI_ACTIVITY_KIND_MEMCPY", memcpy_columns),
	[GT_EXPORT_MEMSET] = TABLE("CUPTI_ACTIVITY_KIND_MEMSET", memset_columns),
	[GT_EXPORT_GRAPH] = TABLE("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns),
	[GT_EXPORT_RUNTIME] = TABLE("CUPTI_ACTIVITY_KIND_RUNTIME", runtime_columns),
	[GT_EXPORT_NVTX] = TABLE("NVTX_EVENTS", nvtx_columns),
	[GT_EXPORT_GPU] = TABLE("TARGET_INFO_GPU", gpu_columns),
	[GT_EXPORT_PROCESS] = TABLE("PROCESSES", process_columns),
	[GT_EXPORT_THREAD] = TABLE("ThreadNames", thread_columns),
};

struct export
{
	struct gt_export_sink *sink;
	struct gt_export_processes *processes;
	struct gt_pairmap *devices; /* that are reported */
	bool is_ours;               /* the numbers of rows have a meaning */
	struct gt_export_value row[GT_EXPORT_WIDTH];
	size_t filled;
};

static void put_int(struct export *e, int64_t number)
{
	e->row[e->filled++] = (struct gt_export_value){.known = true, .number = number};
}

static void put_none(struct export *e)
{
	e->row[e->filled++] = (struct gt_export_value){.known = false};
}

static void put_text(struct export *e, const char *text, size_t len)
{
	e->row[e->filled++] = (struct gt_export_value){.known = true, .text = text, .len = len};
}

static void put_arg(struct export *e, const struct gt_trace_event *record, enum gt_arg arg)
{
	int64_t value;

	if (gt_record_has(record, arg) && gt_span_int(&record->arg[arg], &value))
		put_int(e, value);
	else
		put_none(e);
}

/* Three numbers of an array argument; what the trace does not tell is absent. */
static void put_three(struct export *e, const struct gt_trace_event *record, enum gt_arg arg)
{
	struct gt_span element;
	uint32_t position = 0;
	int64_t value;

	for (int i = 0; i < 3; i++) {
		if (gt_record_has(record, arg) &&
		    gt_span_next(&record->arg[arg], &position, &element) &&
		    gt_span_int(&element, &value))
			put_int(e, value);
		else
			put_none(e);
	}
}

static int end_row(struct export *e, enum gt_export_table_id table)
{
	int rc = e->sink->goes_on() ? e->sink->row(e->sink, table, e->row) : -EINTR;

	e->filled = 0;
	return rc;
}

static void put_gpu_row(struct export *e, const struct gt_trace_event *record)
{
	int64_t global_pid;

	put_int(e, record->ts);
	put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	put_int(e, gt_record_int(record, GT_ARG_DEVICE, record->pid));
	put_arg(e, record, GT_ARG_CONTEXT);
	put_int(e, gt_record_int(record, GT_ARG_STREAM, record->tid));
	put_arg(e, record, GT_ARG_CORRELATION);
	if (gt_export_gpu_pid(e->processes, record->pid, &global_pid))
		put_int(e, global_pid);
	else
		put_none(e); /* the sink fills it in when the process is known */
}

/* Static and dynamic shared memory: gputrace's traces leave out the static part where it is 0,
 * other tools' tell the sum only. */
static void put_shared(struct export *e, const struct gt_trace_event *record)
{
	struct gt_span span;
	int64_t part = 0, sum;
	bool known = gt_span_member(&record->args, "static shared memory", &span) &&
		     gt_span_int(&span, &part);

	if ((!known && !e->is_ours) || !gt_record_has(record, GT_ARG_SHARED) ||
	    !gt_span_int(&record->arg[GT_ARG_SHARED], &sum)) {
		put_none(e);
		put_none(e);
		return;
	}
	put_int(e, part);
	put_int(e, sum - part);
}

static int export_kernel(struct export *e, const struct gt_trace_event *record)
{
	put_gpu_row(e, record);
	for (int i = 0; i < 3; i++)
		put_text(e, record->name.text, record->name.len);
	put_arg(e, record, GT_ARG_REGISTERS);
	put_three(e, record, GT_ARG_GRID);
	put_three(e, record, GT_ARG_BLOCK);
	put_shared(e, record);
	put_arg(e, record, GT_ARG_SHARED);
	put_arg(e, record, GT_ARG_GRAPH_NODE);
	return end_row(e, GT_EXPORT_KERNEL);
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
static int export_copy(struct export *e, const struct gt_trace_event *record)
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
	put_arg(e, record, GT_ARG_BYTES);
	put_int(e, strlen(name) > 10 ? index_of(kinds, name + 7, 4, 0) : 0);
	put_int(e,
		open && flow ? memory_kind(open + 1, (size_t)(flow - open - 1)) : MEMORY_UNKNOWN);
	put_int(e, flow && close && close > flow ? memory_kind(flow + 4, (size_t)(close - flow - 4))
						 : MEMORY_UNKNOWN);
	put_arg(e, record, GT_ARG_GRAPH_NODE);
	return end_row(e, GT_EXPORT_MEMCPY);
}

static int export_set(struct export *e, const struct gt_trace_event *record)
{
	const char *open = memchr(record->name.text, '(', record->name.len);
	size_t rest = open ? record->name.len - (size_t)(open - record->name.text) : 0;
	struct gt_span span;
	int64_t value;

	put_gpu_row(e, record);
	if (gt_span_member(&record->args, "value", &span) && gt_span_int(&span, &value))
		put_int(e, value);
	else
		put_none(e);
	put_arg(e, record, GT_ARG_BYTES);
	put_int(e, rest > 2 ? memory_kind(open + 1, rest - 2) : MEMORY_UNKNOWN);
	put_arg(e, record, GT_ARG_GRAPH_NODE);
	return end_row(e, GT_EXPORT_MEMSET);
}

/* "Graph 7" */
static int export_graph(struct export *e, const struct gt_trace_event *record)
{
	struct gt_span id = {.kind = GT_SPAN_NUMBER, .text = record->name.text + 6};
	int64_t number;

	put_gpu_row(e, record);
	if (record->name.len > 6 && !memcmp(record->name.text, "Graph ", 6)) {
		id.len = record->name.len - 6;
		if (gt_span_int(&id, &number)) {
			put_int(e, number);
			return end_row(e, GT_EXPORT_GRAPH);
		}
	}
	put_none(e);
	return end_row(e, GT_EXPORT_GRAPH);
}

static int export_call(struct export *e, const struct gt_trace_event *record, bool driver)
{
	struct gt_span result;
	int64_t code = 0;
	bool known =
		gt_span_member(&record->args, "result", &result) && gt_span_int(&result, &code);

	put_int(e, record->ts);
	put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	put_int(e, driver ? CLASS_DRIVER : CLASS_RUNTIME);
	put_int(e, gt_export_global_tid(e->processes, record->pid, record->tid));
	put_arg(e, record, GT_ARG_CORRELATION);
	put_text(e, record->name.text, record->name.len);
	if (known || e->is_ours) /* which leaves out 0 */
		put_int(e, code);
	else
		put_none(e);
	return end_row(e, GT_EXPORT_RUNTIME);
}

static int export_nvtx(struct export *e, const struct gt_trace_event *record)
{
	put_int(e, record->ts);
	if (record->ph == 'X')
		put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	else
		put_none(e);
	put_int(e, record->ph != 'X'                         ? NVTX_MARK
		   : e->is_ours && record->tid >= RANGE_ROWS ? NVTX_START_END
							     : NVTX_PUSH_POP);
	put_text(e, record->name.text, record->name.len);
	put_int(e, gt_export_global_tid(e->processes, record->pid, record->tid));
	put_none(e); /* textId: the text stands in the row */
	put_int(e, 0);
	return end_row(e, GT_EXPORT_NVTX);
}

static int export_thread(struct export *e, const struct gt_trace_event *record)
{
	const struct gt_span *name = &record->arg[GT_ARG_NAME];

	if (!gt_record_has(record, GT_ARG_NAME) || !gt_span_is(&record->name, "thread_name", 11) ||
	    record->pid < 64 || name->escaped || (e->is_ours && record->tid >= BESIDE_ROWS))
		return 0;
	put_text(e, name->text, name->len);
	put_int(e, gt_export_global_tid(e->processes, record->pid, record->tid));
	return end_row(e, GT_EXPORT_THREAD);
}

/* Other tools have threads of any number. */
static bool is_ours(const struct gt_header *header)
{
	char text[64];

	return gt_header_text(header, "metadata", "gputrace_version", text, sizeof(text));
}

static int export_runtime(struct export *e, const struct gt_trace_event *record)
{
	return export_call(e, record, false);
}

static int export_driver(struct export *e, const struct gt_trace_event *record)
{
	return export_call(e, record, true);
}

/* By role of the category; NULL: no table has it. */
static int (*const slices[GT_ROLE_COUNT_])(struct export *e,
					   const struct gt_trace_event *record) = {
	[GT_ROLE_KERNEL] = export_kernel,   [GT_ROLE_COPY] = export_copy,
	[GT_ROLE_SET] = export_set,         [GT_ROLE_GRAPH] = export_graph,
	[GT_ROLE_RUNTIME] = export_runtime, [GT_ROLE_DRIVER] = export_driver,
};

static int export_event(const struct gt_trace_event *record, const struct gt_header *header,
			void *data)
{
	struct export *e = data;
	const struct gt_span *cat = &record->cat;
	int rc = gt_export_processes_see(e->processes, record, header);
	enum gt_role role;

	if (rc)
		return rc;
	if (!e->is_ours)
		e->is_ours = is_ours(header);
	if (record->ph == 'M')
		return export_thread(e, record);
	if (!record->has_ts)
		return 0;
	role = gt_category_role(cat);
	if (record->ph == 'X' && slices[role])
		return slices[role](e, record);
	if ((record->ph == 'X' || record->ph == 'i') && gt_span_is(cat, "user_annotation", 15))
		return export_nvtx(e, record);
	return 0;
}

/* Ranks name the GPUs that they used; the same number is the same GPU, as in the rows of its
 * work. */
static bool is_new_device(struct export *e, const struct gt_header_device *device)
{
	int64_t *seen;

	if (!strcmp(device->name, "unknown"))
		return false;
	seen = gt_pairmap_get(e->devices, device->id, 0);
	return seen && !(*seen)++;
}

static int export_devices(struct export *e, const struct gt_header *header)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < header->device_count; i++) {
		const struct gt_header_device *device = &header->devices[i];

		if (!is_new_device(e, device))
			continue;
		put_int(e, device->id);
		put_text(e, device->name, strlen(device->name));
		put_int(e, device->memory);
		put_int(e, device->major);
		put_int(e, device->minor);
		put_int(e, device->sms);
		rc = end_row(e, GT_EXPORT_GPU);
	}
	return rc;
}

static void report_losses(const char *path, const struct gt_reading *reading, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	size_t lines = memory ? gt_stats_reading_losses(reading, memory) : 0;

	if (memory)
		fclose(memory);
	if (lines) {
		gt_show_line(out, "%s:", path);
		fputs(text, out);
	}
	free(text);
}

static int export_process(struct export *e, struct gt_export_process *process)
{
	char *name = NULL;
	int rc;

	if (process->pid < 0 || process->is_reported)
		return 0;
	process->is_reported = true;
	if (e->processes->count > 1 &&
	    asprintf(&name, "%s (rank %" PRId64 ")", process->path, process->rank) < 0)
		return -ENOMEM;
	put_int(e, gt_export_global_pid(process));
	put_int(e, process->pid);
	put_text(e, name ? name : process->path, strlen(name ? name : process->path));
	rc = end_row(e, GT_EXPORT_PROCESS);
	free(name);
	return rc;
}

/* Behind the events of a file. */
static int export_processes(struct export *e)
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
		       struct gt_pairmap *devices, struct gt_as_json *trace, FILE *losses)
{
	struct export e = {.sink = sink, .processes = processes, .devices = devices};
	struct gt_reading reading;
	int rc = gt_export_processes_begin(processes, trace);

	if (rc)
		return rc;
	rc = gt_as_json_read(trace, export_event, &e, &reading);
	if (rc < 0 && !sink->error[0])
		snprintf(sink->error, sizeof(sink->error), "%s", reading.error);
	if (!rc)
		report_losses(trace->path, &reading, losses);
	if (!rc)
		rc = export_devices(&e, &reading.header);
	if (!rc)
		rc = export_processes(&e);
	gt_reading_fini(&reading);
	return rc;
}

static int export_path(struct gt_export_sink *sink, struct gt_export_processes *processes,
		       struct gt_pairmap *devices, const char *path, FILE *losses)
{
	struct gt_as_json trace;
	int rc = gt_as_json_open(&trace, path);

	if (rc < 0)
		snprintf(sink->error, sizeof(sink->error), "%s", trace.outcome.error);
	else
		rc = export_file(sink, processes, devices, &trace, losses);
	gt_as_json_close(&trace);
	return rc;
}

int gt_export(char *const *paths, size_t count, const struct gt_export_sink *kind,
	      const char *target, bool (*goes_on)(void), FILE *losses, char *ret_error,
	      size_t error_size)
{
	struct gt_export_processes processes = {0};
	struct gt_pairmap devices = {0};
	struct gt_export_sink sink = *kind;
	int rc, closed;

	sink.goes_on = goes_on;
	rc = sink.open(&sink, target);
	for (size_t i = 0; !rc && i < count; i++)
		rc = export_path(&sink, &processes, &devices, paths[i], losses);
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
