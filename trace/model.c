/* SPDX-License-Identifier: Apache-2.0
 *
 * See model.h. Builds the arrays while the reader runs. One thread while loading.
 */
#include "trace/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/model_build.h"

#define NO_STACK_BITS 0xfffffffu
#define LARGEST_COPY  ((int64_t)1 << 50) /* bytes */

/* Row of a thread's samples: this and the thread's id (docs/FORMAT.md). */
#define SAMPLE_ROWS   33554432

/* What a category means. Kineto's names of today and of its first years. */
enum role {
	ROLE_KERNEL,
	ROLE_COPY,
	ROLE_SET,
	ROLE_RUNTIME,
	ROLE_DRIVER,
	ROLE_NVTX,
	ROLE_OP,
	ROLE_PYTHON,
	ROLE_OVERHEAD,
	ROLE_NOTE,
	ROLE_MEMORY,
	ROLE_SAMPLE,
	ROLE_IGNORED,
	ROLE_UNKNOWN,
};

static const struct {
	const char *cat;
	enum role role;
} roles[] = {
	{"kernel", ROLE_KERNEL},
	{"cuda_runtime", ROLE_RUNTIME},
	{"ac2g", ROLE_IGNORED},
	{"gpu_memcpy", ROLE_COPY},
	{"gpu_memset", ROLE_SET},
	{"cuda_driver", ROLE_DRIVER},
	{"cpu_op", ROLE_OP},
	{"user_annotation", ROLE_NVTX},
	{"python_function", ROLE_PYTHON},
	{"overhead", ROLE_OVERHEAD},
	{"gputrace", ROLE_NOTE},
	{"cpu_instant_event", ROLE_MEMORY},
	{"gpu_user_annotation", ROLE_IGNORED},
	{"call_stack", ROLE_IGNORED},
	{"cpu_sample", ROLE_SAMPLE},
	{"cuda_sync", ROLE_IGNORED},
	{"async_cpu_to_gpu", ROLE_IGNORED},
	{"fwdbwd", ROLE_IGNORED},
	{"Trace", ROLE_IGNORED},
	{"Kernel", ROLE_KERNEL},
	{"Memcpy", ROLE_COPY},
	{"Memset", ROLE_SET},
	{"Runtime", ROLE_RUNTIME},
	{"Operator", ROLE_OP},
};

static enum role role_of(const struct gt_span *cat)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (gt_span_is(cat, roles[i].cat, strlen(roles[i].cat)))
			return roles[i].role;
	return ROLE_UNKNOWN;
}

static uint32_t put_name(struct gt_model *model, const struct gt_span *span)
{
	return span->kind == GT_SPAN_STRING || span->kind == GT_SPAN_NUMBER
		       ? gt_names_put(&model->names, span->text, span->len)
		       : GT_NAME_NONE;
}

uint32_t gt_build_thread(struct gt_builder *b, int64_t pid, int64_t tid)
{
	struct gt_model *model = b->model;
	uint32_t hint = b->last_thread;

	if (hint < model->threads.count && model->threads.at[hint].pid == pid &&
	    model->threads.at[hint].tid == tid)
		return hint;
	for (uint32_t i = 0; i < model->threads.count; i++)
		if (model->threads.at[i].pid == pid && model->threads.at[i].tid == tid)
			return b->last_thread = i;
	if (!gt_vec_push(&model->threads,
			 ((struct gt_thread_track){.pid = pid, .tid = tid, .beside = GT_NONE})))
		return 0;
	return b->last_thread = (uint32_t)model->threads.count - 1;
}

/* Duration of a slice; what is wrong with it is counted. */
static int64_t slice_dur(struct gt_builder *b, const struct gt_trace_event *record)
{
	if (record->ph == 'B')
		return -1;
	if (!record->has_dur)
		b->model->odd.no_dur++;
	else if (record->dur < 0)
		b->model->odd.negative_dur++;
	return record->has_dur && record->dur > 0 ? record->dur : 0;
}

static void see_extent(struct gt_model *model, int64_t start, int64_t dur)
{
	if (start < model->first)
		model->first = start;
	if (start + dur > model->last)
		model->last = start + dur;
}

static bool is_collective(const struct gt_trace_event *record)
{
	const struct gt_span *name = &record->name;

	return gt_record_has(record, GT_ARG_COLLECTIVE) ||
	       (name->len >= 4 && !memcmp(name->text, "nccl", 4)) ||
	       (name->len >= 10 && memmem(name->text, name->len, "ncclKernel", 10));
}

/* A number of @record within bounds; another one is counted in *odd and becomes @otherwise. */
static int64_t bounded(const struct gt_trace_event *record, enum gt_arg arg, int64_t value,
		       int64_t low, int64_t high, int64_t otherwise, uint64_t *odd)
{
	if (gt_record_has(record, arg))
		value = gt_record_int(record, arg, INT64_MIN);
	if (value >= low && value <= high)
		return value;
	++*odd;
	return otherwise;
}

static int take_op(struct gt_builder *b, const struct gt_trace_event *record, enum gt_op_kind kind)
{
	struct gt_model *model = b->model;
	struct gt_op op = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.correlation = gt_record_int(record, GT_ARG_CORRELATION, -1),
		.bytes = bounded(record, GT_ARG_BYTES, 0, 0, LARGEST_COPY, 0, &model->odd.no_bytes),
		.name = put_name(model, &record->name),
		.call = GT_NONE,
		.stack = gt_build_stack(b, record),
		.stream = (int32_t)bounded(record, GT_ARG_STREAM, record->tid, INT32_MIN, INT32_MAX,
					   -1, &model->odd.no_place),
		.device = (uint16_t)bounded(record, GT_ARG_DEVICE, record->pid, 0, GT_NO_DEVICE - 1,
					    GT_NO_DEVICE, &model->odd.no_place),
		.kind = (uint8_t)kind,
		.comm = kind == GT_OP_KERNEL && is_collective(record),
	};

	if (gt_record_has(record, GT_ARG_NVTX))
		op.nvtx = gt_build_text(b, &record->arg[GT_ARG_NVTX]);
	return gt_vec_push(&model->ops, op) ? 0 : -ENOMEM;
}

static int take_call(struct gt_builder *b, const struct gt_trace_event *record, bool driver)
{
	struct gt_call call = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.correlation = gt_record_int(record, GT_ARG_CORRELATION, -1),
		.name = put_name(b->model, &record->name),
		.thread = gt_build_thread(b, record->pid, record->tid),
		.stack = gt_build_stack(b, record),
		.driver = driver,
	};

	return gt_vec_push(&b->model->calls, call) ? 0 : -ENOMEM;
}

static int take_range(struct gt_builder *b, const struct gt_trace_event *record,
		      enum gt_range_kind kind)
{
	uint32_t stack = gt_build_stack(b, record);
	struct gt_model_range range = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.name = put_name(b->model, &record->name),
		.thread = gt_build_thread(b, record->pid, record->tid),
		.parent = GT_NONE,
		.before = GT_NONE,
		.stack = stack < NO_STACK_BITS ? stack : NO_STACK_BITS,
		.kind = kind,
	};

	if (gt_record_has(record, GT_ARG_DOMAIN))
		range.domain = gt_build_text(b, &record->arg[GT_ARG_DOMAIN]);
	return gt_vec_push(&b->model->ranges, range) ? 0 : -ENOMEM;
}

static int take_slice(struct gt_builder *b, const struct gt_trace_event *record, enum role role)
{
	switch (role) {
	case ROLE_KERNEL:
		return take_op(b, record, GT_OP_KERNEL);
	case ROLE_COPY:
		return take_op(b, record, GT_OP_COPY);
	case ROLE_SET:
		return take_op(b, record, GT_OP_SET);
	case ROLE_RUNTIME:
	case ROLE_DRIVER:
		return take_call(b, record, role == ROLE_DRIVER);
	case ROLE_NVTX:
		return take_range(b, record, GT_RANGE_NVTX);
	case ROLE_OP:
		return take_range(b, record, GT_RANGE_OP);
	case ROLE_PYTHON:
		return take_range(b, record, GT_RANGE_PYTHON);
	case ROLE_OVERHEAD:
		return take_range(b, record, GT_RANGE_OVERHEAD);
	default:
		return 0;
	}
}

static int take_note(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_model *model = b->model;
	struct gt_note note = {
		.ts = record->ts,
		.count = gt_record_int(record, GT_ARG_COUNT, 0),
		.name = put_name(model, &record->name),
	};

	if (gt_span_is(&record->name, "Record Window End", 17))
		return 0;
	if (gt_record_has(record, GT_ARG_CAUSE))
		note.cause = gt_build_text(b, &record->arg[GT_ARG_CAUSE]);
	note.text = gt_names_put(&model->names, record->args.text ? record->args.text : "",
				 record->args.len);
	return gt_vec_push(&model->notes, note) ? 0 : -ENOMEM;
}

static int take_memory(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_memory_point point = {
		.ts = record->ts,
		.bytes = gt_record_int(record, GT_ARG_TOTAL_ALLOCATED, -1),
		.device = (uint32_t)gt_record_int(record, GT_ARG_DEVICE_ID, 0),
	};

	if (point.bytes < 0 || gt_record_int(record, GT_ARG_DEVICE_TYPE, 1) != 1)
		return 0;
	return gt_vec_push(&b->model->memory, point) ? 0 : -ENOMEM;
}

/* Samples stand on a row beside their thread's. */
static int take_sample(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_sample sample = {
		.ts = record->ts,
		.thread = gt_build_thread(b, record->pid, record->tid - SAMPLE_ROWS),
		.stack = gt_build_stack(b, record),
	};

	if (record->tid < SAMPLE_ROWS)
		return 0;
	return gt_vec_push(&b->model->samples, sample) ? 0 : -ENOMEM;
}

static int take_counter(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_memory_point point = {.ts = record->ts, .device = (uint32_t)record->pid};
	struct gt_span value;

	if (!record->name.len || !memmem(record->name.text, record->name.len, "memory", 6) ||
	    !gt_span_member(&record->args, "allocated", &value) ||
	    !gt_span_int(&value, &point.bytes))
		return 0;
	return gt_vec_push(&b->model->memory, point) ? 0 : -ENOMEM;
}

static int take_metadata(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_model *model = b->model;

	if (!gt_record_has(record, GT_ARG_NAME))
		return 0;
	if (gt_span_is(&record->name, "thread_name", 11)) {
		uint32_t thread = gt_build_thread(b, record->pid, record->tid);

		if (thread < model->threads.count)
			model->threads.at[thread].name =
				gt_build_text(b, &record->arg[GT_ARG_NAME]);
	} else if (gt_span_is(&record->name, "process_name", 12) && !model->process) {
		model->process = gt_build_text(b, &record->arg[GT_ARG_NAME]);
	}
	return 0;
}

static int take_begin(struct gt_builder *b, const struct gt_trace_event *record, enum role role)
{
	struct gt_model *model = b->model;
	struct gt_open open = {
		.thread = gt_build_thread(b, record->pid, record->tid),
		.role = (uint8_t)(role <= ROLE_SET        ? GT_OPEN_OP
				  : role <= ROLE_DRIVER   ? GT_OPEN_CALL
				  : role <= ROLE_OVERHEAD ? GT_OPEN_RANGE
							  : GT_OPEN_NOTHING),
	};
	int rc = take_slice(b, record, role);

	if (rc < 0)
		return rc;
	open.index = open.role == GT_OPEN_OP     ? model->ops.count - 1
		     : open.role == GT_OPEN_CALL ? model->calls.count - 1
						 : model->ranges.count - 1;
	return gt_vec_push(&b->open, open) ? 0 : -ENOMEM;
}

static void set_end(struct gt_model *model, const struct gt_open *open, int64_t end)
{
	int64_t *start, *dur;

	if (open->role == GT_OPEN_NOTHING)
		return;
	start = open->role == GT_OPEN_OP     ? &model->ops.at[open->index].start
		: open->role == GT_OPEN_CALL ? &model->calls.at[open->index].start
					     : &model->ranges.at[open->index].start;
	dur = start + 1; /* every slice begins with its start and its duration */
	*dur = end > *start ? end - *start : 0;
	see_extent(model, *start, *dur);
}

static void take_end(struct gt_builder *b, const struct gt_trace_event *record)
{
	uint32_t thread = gt_build_thread(b, record->pid, record->tid);

	for (size_t i = b->open.count; i-- > 0;) {
		if (b->open.at[i].thread != thread)
			continue;
		set_end(b->model, &b->open.at[i], record->ts);
		memmove(&b->open.at[i], &b->open.at[i + 1],
			(b->open.count - i - 1) * sizeof(b->open.at[0]));
		b->open.count--;
		return;
	}
	b->model->odd.unfinished++;
}

/* A category that means nothing here is another tool's: fine, but no sums hold it. */
static void note_unknown(struct gt_model *model, const struct gt_span *cat)
{
	struct gt_odd *odd = &model->odd;
	uint32_t name = put_name(model, cat);
	size_t i = 0;

	odd->unknown_cat++;
	while (i < 4 && odd->unknown_cats[i] != name && odd->unknown_cats[i] != GT_NAME_NONE)
		i++;
	if (i < 4)
		odd->unknown_cats[i] = name;
}

int gt_build_record(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_model *model = b->model;
	enum role role;

	if (record->ph == 's' || record->ph == 'f' || record->ph == 't')
		return 0;
	if (record->ph == 'M')
		return take_metadata(b, record);
	if (!record->has_ts || !record->ph) {
		model->odd.no_ts += !record->has_ts && record->ph;
		model->odd.no_phase += !record->ph;
		return 0;
	}
	role = role_of(&record->cat);
	switch (record->ph) {
	case 'X':
		if (role == ROLE_UNKNOWN)
			note_unknown(model, &record->cat);
		if (role < ROLE_IGNORED)
			see_extent(model, record->ts,
				   record->has_dur && record->dur > 0 ? record->dur : 0);
		return take_slice(b, record, role);
	case 'B':
		return take_begin(b, record, role);
	case 'E':
		take_end(b, record);
		return 0;
	case 'C':
		return take_counter(b, record);
	case 'i':
	case 'I':
		return role == ROLE_NOTE     ? take_note(b, record)
		       : role == ROLE_MEMORY ? take_memory(b, record)
		       : role == ROLE_SAMPLE ? take_sample(b, record)
					     : 0;
	default:
		return 0;
	}
}

void gt_model_fini(struct gt_model *model)
{
	for (size_t i = 0; i < model->stacks.count; i++)
		free(model->stacks.at[i].frame);
	gt_vec_free(&model->ops);
	gt_vec_free(&model->calls);
	gt_vec_free(&model->ranges);
	gt_vec_free(&model->samples);
	gt_vec_free(&model->threads);
	gt_vec_free(&model->stacks);
	gt_vec_free(&model->notes);
	gt_vec_free(&model->memory);
	gt_names_fini(&model->names);
	gt_reading_fini(&model->reading);
	free(model->own_path);
}

/* The last range up to @range that is open at @t: those between a range and its parent end before
 * it. */
static uint32_t open_at(const struct gt_model *model, uint32_t range, int64_t t)
{
	while (range != GT_NONE && model->ranges.at[range].start + model->ranges.at[range].dur <= t)
		range = model->ranges.at[range].parent;
	return range;
}

uint32_t gt_model_range_at(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			   int64_t t)
{
	const struct gt_thread_track *lane = &model->threads.at[thread];
	uint32_t low = lane->range[kind].first, high = low + lane->range[kind].count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->ranges.at[middle].start <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low == lane->range[kind].first ? GT_NONE : open_at(model, low - 1, t);
}

bool gt_model_is_step(const struct gt_model *model, const struct gt_model_range *range)
{
	return range->kind == GT_RANGE_NVTX &&
	       !strncmp(gt_model_name(model, range->name), "ProfilerStep#", 13);
}

uint32_t gt_model_range_around(const struct gt_model *model, uint32_t range, int64_t t)
{
	return open_at(model, model->ranges.at[range].before, t);
}

uint32_t gt_model_call_before(const struct gt_model *model, uint32_t thread, int64_t t)
{
	const struct gt_thread_track *lane = &model->threads.at[thread];
	uint32_t first = lane->call.first, low = first, high = first + lane->call.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->calls.at[middle].start <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low == first ? GT_NONE : low - 1;
}

uint32_t gt_model_sample_from(const struct gt_model *model, uint32_t thread, int64_t t)
{
	const struct gt_thread_track *lane = &model->threads.at[thread];
	uint32_t low = lane->sample.first, high = low + lane->sample.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->samples.at[middle].ts < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
