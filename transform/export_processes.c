/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. One thread per instance.
 */
#include "transform/export_processes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "readers/input.h"
#include "readers/progress.h"
#include "trace/category.h"
#include "trace/segment_files.h"

#define FIRST_HOST   64      /* rows below are GPUs */
#define SMALL_PIDS   4194304 /* is added to pids that would be GPUs (docs/FORMAT.md) */
#define PART_BITS    24
#define PART_MASK    ((1u << PART_BITS) - 1)
#define MACHINE_BITS 48
#define MACHINES     (1 << 15)
#define MAX_MERGED   65536 /* processes of one file */

static int64_t pack(int64_t machine, int64_t pid, int64_t tid)
{
	return machine << MACHINE_BITS | (pid & PART_MASK) << PART_BITS | (tid & PART_MASK);
}

static int add_process(struct gt_export_processes *all, const char *path)
{
	all->count++;
	return gt_vec_push(&all->list, ((struct gt_export_process){.path = path, .pid = -1}))
		       ? 0
		       : -ENOMEM;
}

static int set_pid(struct gt_export_processes *all, size_t process, int64_t pid)
{
	int64_t *machines = gt_pairmap_get(&all->machines, pid, 0);

	if (!machines)
		return -ENOMEM;
	all->list.at[process].pid = pid;
	all->list.at[process].machine = (*machines)++ % MACHINES;
	return 0;
}

static const struct gt_export_process_row *find_row(const struct gt_export_processes *all,
						    int64_t pid)
{
	const int64_t *place = gt_pairmap_find(&all->row_of, pid, 0);

	return place ? &all->rows.at[*place - 1] : NULL;
}

static int add_row(struct gt_export_processes *all, const struct gt_export_process_row *row)
{
	int64_t *place = gt_pairmap_get(&all->row_of, row->pid, 0);

	if (!place || !gt_vec_push(&all->rows, *row))
		return -ENOMEM;
	*place = (int64_t)all->rows.count;
	return 0;
}

static bool member(const struct gt_trace_event *record, const char *key, int64_t *ret_value)
{
	struct gt_span value;

	return gt_span_member(&record->args, key, &value) && gt_span_int(&value, ret_value);
}

/* What merge says of a row before its first event; of a file merged twice the second time
 * counts. */
static int take_label(struct gt_export_processes *all, const struct gt_trace_event *record)
{
	struct gt_export_process_row row = {.pid = record->pid};
	int64_t process, rank;
	int rc = 0;

	if (!gt_span_is(&record->name, "process_labels", 14) ||
	    record->args.kind != GT_SPAN_OBJECT || find_row(all, row.pid) ||
	    !member(record, "merged process", &process) || process < 0 || process >= MAX_MERGED ||
	    !member(record, "merged pid", &row.was) || !member(record, "rank", &rank))
		return 0;
	while (!rc && all->count <= (size_t)process)
		rc = add_process(all, all->list.at[all->first].path);
	if (rc)
		return rc;
	row.process = all->first + (size_t)process;
	all->list.at[row.process].rank = rank;
	all->list.at[row.process].is_merged = true;
	if (row.was >= FIRST_HOST && all->list.at[row.process].pid < 0)
		rc = set_pid(all, row.process, row.was);
	return rc ? rc : add_row(all, &row);
}

static bool is_call(const struct gt_trace_event *record)
{
	enum gt_role role = gt_category_role(&record->cat);

	return record->ph == 'X' && (role == GT_ROLE_RUNTIME || role == GT_ROLE_DRIVER);
}

/* The header says whose file it is, or else the first call does. */
static int find_pid(struct gt_export_processes *all, const struct gt_trace_event *record,
		    const struct gt_header *header)
{
	int64_t pid;

	if (all->list.at[all->first].is_part)
		all->list.at[all->first].rank = header->rank;
	if (gt_header_int(header, "metadata", "pid", &pid) && pid > 0)
		return set_pid(all, all->first, pid < FIRST_HOST ? pid + SMALL_PIDS : pid);
	if (is_call(record) && record->pid >= 0)
		return set_pid(all, all->first, record->pid);
	return 0;
}

/* "rank 0 train" of a merged file -> "train" */
static size_t skip_rank(const char *name, size_t len)
{
	size_t at = 5;

	if (len < 7 || memcmp(name, "rank ", 5))
		return 0;
	while (at < len && name[at] >= '0' && name[at] <= '9')
		at++;
	return at > 5 && at + 1 < len && name[at] == ' ' ? at + 1 : 0;
}

/* The program's name, which a row of its process has. */
static void take_name(struct gt_export_processes *all, const struct gt_trace_event *record)
{
	const struct gt_export_process_row *row = find_row(all, record->pid);
	struct gt_export_process *process = &all->list.at[row ? row->process : all->first];
	const struct gt_span *name = &record->arg[GT_ARG_NAME];
	size_t skip;

	if (process->name[0] || !gt_span_is(&record->name, "process_name", 12) ||
	    (row ? row->was : record->pid) < FIRST_HOST || !gt_record_has(record, GT_ARG_NAME) ||
	    name->kind != GT_SPAN_STRING || name->escaped)
		return;
	skip = row ? skip_rank(name->text, name->len) : 0;
	snprintf(process->name, sizeof(process->name), "%.*s", (int)(name->len - skip),
		 name->text + skip);
}

int gt_export_processes_see(struct gt_export_processes *all, const struct gt_trace_event *record,
			    const struct gt_header *header)
{
	int rc = record->ph == 'M' ? take_label(all, record) : 0;

	if (!rc && record->ph == 'M')
		take_name(all, record);

	if (!rc && !all->rows.count && all->list.at[all->first].pid < 0)
		rc = find_pid(all, record, header);
	return rc;
}

static int look(const struct gt_trace_event *record, const struct gt_header *header, void *data)
{
	struct gt_export_processes *all = data;
	int rc = gt_export_processes_see(all, record, header);

	if (rc)
		return rc;
	return !all->rows.count && all->list.at[all->first].pid >= 0 ? -ECANCELED : 0;
}

static int look_through(struct gt_export_processes *all, struct gt_as_json *trace)
{
	struct gt_reading reading;
	int rc;

	if (gt_input_is_stream(trace->path))
		return 0;
	rc = gt_as_json_read(trace, look, all, &reading);
	gt_reading_fini(&reading);
	if (all->rows.count && !reading.is_pftrace)
		gt_progress_expect_file(trace->path); /* it is read twice */
	return rc == -ENOMEM ? rc : 0;
}

int gt_export_processes_begin(struct gt_export_processes *all, struct gt_as_json *trace)
{
	const char *path = trace->path;
	int rc = 0;

	gt_vec_free(&all->rows);
	gt_pairmap_fini(&all->row_of);
	all->count = 1;
	for (all->first = 0; all->first < all->list.count; all->first++)
		if (!all->list.at[all->first].is_merged &&
		    gt_segments_are_of_one(all->list.at[all->first].path, path))
			break;
	if (all->first == all->list.count) {
		all->count = 0;
		rc = add_process(all, path);
	}
	if (!rc && (trace->wish.part || trace->parts > 1))
		all->list.at[all->first].is_merged = all->list.at[all->first].is_part = true;
	return rc || all->list.at[all->first].pid >= 0 ? rc : look_through(all, trace);
}

int64_t gt_export_global_pid(const struct gt_export_process *process)
{
	return process->pid < 0 ? 0 : pack(process->machine, process->pid, 0);
}

/* The process of a row of the file in hand. */
static const struct gt_export_process *process_of(const struct gt_export_processes *all,
						  const struct gt_export_process_row *row)
{
	return &all->list.at[row ? row->process : all->first];
}

bool gt_export_gpu_pid(const struct gt_export_processes *all, int64_t pid, int64_t *ret_global)
{
	const struct gt_export_process *process = process_of(all, find_row(all, pid));

	*ret_global = gt_export_global_pid(process);
	return process->pid >= 0;
}

int64_t gt_export_global_tid(const struct gt_export_processes *all, int64_t pid, int64_t tid)
{
	const struct gt_export_process_row *row = find_row(all, pid);

	return pack(process_of(all, row)->machine, row ? row->was : pid, tid);
}

void gt_export_processes_fini(struct gt_export_processes *all)
{
	gt_vec_free(&all->list);
	gt_vec_free(&all->rows);
	gt_pairmap_fini(&all->row_of);
	gt_pairmap_fini(&all->machines);
}
