/* SPDX-License-Identifier: Apache-2.0
 *
 * See pftrace.h.
 */
#include "transform/job/pftrace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "readers/events.h"
#include "transform/conversion.h"
#include "transform/job/rows.h"
#include "transform/job/sources.h"
#include "transform/job/window.h"

#define SMALL_PIDS ((int64_t)1 << 22) /* is added to pids that rows of GPUs may have */

/* A process of the merged file. */
struct pftrace_process {
	size_t first, end; /* its sources */
	uint32_t part;     /* of their file */
	int64_t rank, pid;
	uint32_t devices;
	struct gt_writer_part out;
};

struct pftrace_merging {
	int fd; /* of the output */
	struct gt_merge_result *result;
	struct gt_merge_sources sources;
	struct gt_clocks clocks; /* by process of the sources */
	struct gt_merge_rows rows;
	GT_VEC(struct pftrace_process) processes;
	GT_VEC(struct gt_writer_gpu) gpus;     /* in the order of the processes */
	const struct pftrace_process *process; /* in hand */
	bool has_window;
	GT_VEC(struct gt_event) counters; /* the last value of each before the window */
	bool puts_counters;               /* these are being written */
	struct gt_ledger left_out;        /* of the process */
};

/* ---- what processes there are ---- */

static int stop_at_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return -ECANCELED;
}

static int keep_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return 0;
}

static int no_event(const struct gt_event *event, void *data)
{
	(void)event;
	(void)data;
	return 0;
}

static int fail_reading(struct pftrace_merging *m, const char *path, const char *words, int rc)
{
	if (*words)
		snprintf(m->result->error, sizeof(m->result->error), "%.760s", words);
	else
		snprintf(m->result->error, sizeof(m->result->error), "%s: %s", path, strerror(-rc));
	return rc;
}

/* Only what gputrace wrote can be told in packets as it writes them. */
static int read_metadata(struct pftrace_merging *m, const struct gt_merge_source *source,
			 struct gt_events *events)
{
	int rc = gt_events_init(events);

	events->take_event = no_event;
	events->take_metadata = source->is_pftrace ? keep_metadata : stop_at_metadata;
	if (!rc && source->is_pftrace)
		rc = gt_events_last_metadata(events, source->path);
	else if (!rc)
		rc = gt_events_read_json(events, source->path);
	if (rc == -ECANCELED)
		return 0;
	if (rc == -EBADMSG && !source->is_pftrace && !events->metadata.version) {
		snprintf(m->result->error, sizeof(m->result->error),
			 "%.500s: not a trace of gputrace, which a .pftrace must be made of: merge "
			 "into a .json or a .zip",
			 source->path);
		return rc;
	}
	return rc ? fail_reading(m, source->path, events->error, rc) : 0;
}

/* Kept until all processes are in order. */
static int add_process(struct pftrace_merging *m, const struct pftrace_process *process,
		       const struct gt_metadata *metadata)
{
	struct pftrace_process own = *process;

	own.rank = metadata->rank;
	own.pid = metadata->pid < GT_MERGE_FIRST_HOST ? metadata->pid + SMALL_PIDS : metadata->pid;
	own.devices = metadata->device_count ? metadata->device_count : 1;
	own.out.first_gpu = (uint32_t)m->gpus.count;
	for (uint32_t i = 0; i < own.devices; i++) {
		const struct gt_device_event *device = &metadata->devices[i];
		struct gt_writer_gpu gpu = {0};

		if (i < metadata->device_count && device->id == i && device->name) {
			snprintf(gpu.name, sizeof(gpu.name), "%s", device->name->text);
			gpu.major = device->compute_major;
			gpu.minor = device->compute_minor;
		}
		if (!gt_vec_push(&m->gpus, gpu))
			return -ENOMEM;
	}
	return gt_vec_push(&m->processes, own) ? 0 : -ENOMEM;
}

/* Of several files of a process the last one knows the most. */
static int look_at(struct pftrace_merging *m, size_t first, size_t end)
{
	struct pftrace_process process = {.first = first, .end = end};
	uint32_t parts = 1;
	int rc = 0;

	for (; !rc && process.part < parts; process.part++) {
		struct gt_events events = {.part = process.part};
		const struct gt_merge_source *source = &m->sources.of[end - 1];

		rc = read_metadata(m, source, &events);
		if (rc == -ENODATA && process.part) { /* cut: missed with the one before */
			gt_events_fini(&events);
			return 0;
		}
		if (!rc)
			rc = add_process(m, &process, &events.metadata);
		parts = events.told_parts ? events.told_parts : events.parts;
		gt_events_fini(&events);
		if (!rc && parts > GT_MERGE_PARTS)
			rc = gt_merge_sources_refuse(source->path, parts, m->result);
	}
	return rc;
}

static int by_rank(const void *a, const void *b)
{
	const struct pftrace_process *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* By rank, with the GPUs of each behind those of the one before. */
static int put_in_order(struct pftrace_merging *m)
{
	size_t count = m->processes.count, at = 0;
	struct gt_writer_gpu *gpus = calloc(m->gpus.count + 1, sizeof(*gpus));

	if (!gpus)
		return -ENOMEM;
	qsort(m->processes.at, count, sizeof(*m->processes.at), by_rank);
	for (size_t i = 0; i < count; i++) {
		struct pftrace_process *process = &m->processes.at[i];
		const struct gt_merge_row *row = gt_merge_rows_find(&m->rows, i, process->pid);

		if (!row) {
			free(gpus);
			return -ENOMEM;
		}
		memcpy(&gpus[at], &m->gpus.at[process->out.first_gpu],
		       process->devices * sizeof(*gpus));
		process->out = (struct gt_writer_part){.number = (uint32_t)i,
						       .count = (uint32_t)count,
						       .pid = (uint32_t)row->merged,
						       .first_gpu = (uint32_t)at,
						       .devices = process->devices,
						       .gpus = m->gpus.at,
						       .gpu_count = (uint32_t)m->gpus.count};
		at += process->devices;
	}
	memcpy(m->gpus.at, gpus, at * sizeof(*gpus));
	free(gpus);
	return 0;
}

static int find_processes(struct pftrace_merging *m)
{
	const struct gt_merge_sources *sources = &m->sources;
	int rc = 0;

	for (size_t i = 0, end; !rc && i < sources->count; i = end) {
		end = gt_merge_process_end(sources, i);
		rc = look_at(m, i, end);
	}
	return rc ? rc : put_in_order(m);
}

/* ---- one process ---- */

static struct gt_sink *open_output(struct gt_conversion *c, int *ret_error)
{
	const struct pftrace_merging *m = c->data;
	int fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);

	*ret_error = -errno;
	return fd < 0 ? NULL : gt_sink_open_pipe(fd, ret_error);
}

static const struct gt_merge_source *source_of(const struct pftrace_merging *m)
{
	return &m->sources.of[m->process->first];
}

/* On the clock of the job. */
static uint64_t move(const struct pftrace_merging *m, uint64_t ns)
{
	const struct gt_clock_line *line = &m->clocks.of[source_of(m)->process].line;
	int64_t by = ns && ns <= INT64_MAX ? gt_clock_line_at(line, (int64_t)ns) : 0;

	return by < 0 && ns < (uint64_t)-by ? 0 : ns + (uint64_t)by;
}

static void change_event(struct gt_conversion *c, struct gt_event *event)
{
	const struct pftrace_merging *m = c->data;

	if (m->puts_counters)
		return;
	event->start = move(m, event->start);
	event->end = move(m, event->end);
	if (event->kind != GT_EVENT_KERNEL)
		return;
	event->kernel.queued = move(m, event->kernel.queued);
	event->kernel.submitted = move(m, event->kernel.submitted);
}

/* ---- a window of time: as transform/job/window.h has it ---- */

static bool is_same_counter(const struct gt_event *a, const struct gt_event *b)
{
	return a->counter.name == b->counter.name && a->counter.series == b->counter.series &&
	       a->counter.on_gpu == b->counter.on_gpu &&
	       (!a->counter.on_gpu || a->place.device == b->place.device);
}

/* @event as it was read, with its time moved: it is moved once only. */
static void hold_counter(struct pftrace_merging *m, const struct gt_event *event)
{
	for (size_t i = 0; i < m->counters.count; i++) {
		struct gt_event *held = &m->counters.at[i];

		if (!is_same_counter(held, event))
			continue;
		gt_merge_leave_out(&m->left_out, GT_LEDGER_COUNTERS_WRITTEN);
		if (held->start <= event->start)
			*held = *event;
		return;
	}
	if (!gt_vec_push(&m->counters, *event))
		gt_merge_leave_out(&m->left_out, GT_LEDGER_COUNTERS_WRITTEN);
}

static bool takes_event(struct gt_conversion *c, const struct gt_event *event)
{
	struct pftrace_merging *m = (struct pftrace_merging *)c->data;
	uint64_t from = source_of(m)->from > 0 ? (uint64_t)source_of(m)->from : 0;
	uint64_t to = source_of(m)->to > 0 ? (uint64_t)source_of(m)->to : 0;
	enum gt_ledger_key key = gt_ledger_key_of(event);

	if (!m->has_window || m->puts_counters || key == GT_LEDGER_COUNT_)
		return true;
	if (event->kind == GT_EVENT_COUNTER && event->start < from) {
		hold_counter(m, event);
		return false;
	}
	if (event->start <= to && (event->end > event->start ? event->end : event->start) >= from) {
		m->result->kept++;
		return true;
	}
	gt_merge_leave_out(&m->left_out, key);
	return false;
}

static int put_counters(struct gt_conversion *c, struct gt_events *events)
{
	struct pftrace_merging *m = (struct pftrace_merging *)c->data;
	int rc = 0;

	m->puts_counters = true;
	for (size_t i = 0; !rc && i < m->counters.count; i++) {
		struct gt_event *event = &m->counters.at[i];

		event->start = event->end = (uint64_t)source_of(m)->from;
		m->result->kept++;
		rc = events->take_event(event, events->data);
	}
	m->puts_counters = false;
	return rc;
}

static void change_ledger(struct gt_conversion *c, struct gt_ledger *ledger)
{
	gt_merge_settle(ledger, &((const struct pftrace_merging *)c->data)->left_out);
}

/* All files of the process are there, if the first one is. */
static void change_metadata(struct gt_conversion *c, struct gt_metadata *metadata)
{
	const struct pftrace_merging *m = c->data;

	struct gt_clock_map map = m->clocks.of[source_of(m)->process];
	struct gt_clock_source before = {0};

	metadata->start = move(m, metadata->start);
	gt_clock_source_tell(metadata->merged_clock, &before);
	gt_clock_map_add_told(&before, &map);
	*metadata->merged_clock = 0;
	if (before.is_told || !gt_merge_clocks_are_plain(&m->clocks))
		gt_clock_map_tell(&map, metadata->merged_clock, sizeof(metadata->merged_clock));
	/* else its clock would be related to those of its host once more, when this file is read */
	metadata->clock_first.realtime = move(m, metadata->clock_first.realtime);
	metadata->clock_last.realtime = move(m, metadata->clock_last.realtime);
	if (m->process->end - m->process->first > 1 && !source_of(m)->border)
		memset(metadata->segment, 0, sizeof(metadata->segment));
}

static int read_source(const struct gt_merge_source *source, struct gt_events *events)
{
	return source->is_pftrace ? gt_events_read_pftrace(events, source->path)
				  : gt_events_read_json(events, source->path);
}

/* The ledgers of its files are added up. */
static int read_files(struct gt_conversion *c, struct gt_events *events)
{
	const struct pftrace_merging *m = c->data;
	bool closed = true, has_ledger = true;
	struct gt_ledger sum = {0};
	int rc = 0;

	for (size_t i = m->process->first; !rc && i < m->process->end; i++) {
		events->ledger = (struct gt_ledger){0};
		events->closed = events->has_ledger = false;
		rc = read_source(&m->sources.of[i], events);
		closed &= events->closed;
		has_ledger &= events->has_ledger;
		for (int key = 0; key < GT_LEDGER_COUNT_; key++)
			sum.count[key] = gt_ledger_join((enum gt_ledger_key)key, sum.count[key],
							events->ledger.count[key]);
	}
	if (!rc)
		rc = put_counters(c, events);
	events->ledger = sum;
	events->closed = closed;
	events->has_ledger = has_ledger;
	return rc;
}

static int put_process(struct pftrace_merging *m)
{
	const struct pftrace_process *process = m->process;
	struct gt_conversion c = {.format = "perfetto",
				  .options = {.sync_tracks = true, .part = &process->out},
				  .open = open_output,
				  .to = "the merged trace",
				  .data = m,
				  .part = process->part,
				  .takes_part = true,
				  .change_metadata = change_metadata,
				  .change_event = change_event,
				  .takes_event = takes_event,
				  .change_ledger = change_ledger};
	int rc;

	m->counters.count = 0;
	m->left_out = (struct gt_ledger){0};
	rc = gt_conversion_run(&c, read_files);

	if (rc)
		fail_reading(m, source_of(m)->path, c.error, rc);
	if (!c.closed && !m->result->cut++)
		m->result->cut_path = source_of(m)->path;
	m->result->without_ledger += !c.closed;
	gt_conversion_fini(&c, false);
	return rc;
}

/* ---- */

int gt_merge_pftrace(char *const *paths, size_t count, const struct gt_merge_request *request,
		     int fd, struct gt_merge_result *ret_result)
{
	struct pftrace_merging m = {
		.fd = fd, .result = ret_result, .has_window = request->has_time};
	int rc;

	*ret_result = (struct gt_merge_result){0};
	rc = gt_merge_sources_read(paths, count, false, &m.sources, ret_result);
	if (!rc)
		rc = gt_merge_sources_clocks(&m.sources, request->force, &m.clocks, ret_result);
	if (!rc && request->has_time)
		rc = gt_merge_extents(&m.sources, &m.clocks, request);
	if (!rc)
		rc = find_processes(&m);
	for (size_t i = 0; !rc && i < m.processes.count; i++) {
		m.process = &m.processes.at[i];
		rc = put_process(&m);
	}
	gt_vec_free(&m.processes);
	gt_vec_free(&m.gpus);
	gt_vec_free(&m.counters);
	gt_clocks_fini(&m.clocks);
	gt_merge_rows_fini(&m.rows);
	gt_merge_sources_fini(&m.sources);
	return rc;
}
