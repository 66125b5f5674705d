/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a JSON trace, gputrace's and other tools', as what a model is made of. One thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/event_names.h"
#include "readers/chrome/block_args.h"
#include "trace/category.h"
#include "trace/load/model_build.h"
#include "trace/load/model_health.h"
#include "trace/load/model_mpi.h"
#include "trace/load/model_os.h"

/* Row of a thread's samples: this and the thread's id (docs/FORMAT.md). */
#define SAMPLE_ROWS 33554432
#define FIRST_HOST  64 /* rows below are GPUs */

static uint32_t put_name(struct gt_model *model, const struct gt_span *span)
{
	return span->kind == GT_SPAN_STRING || span->kind == GT_SPAN_NUMBER
		       ? gt_names_put(&model->names, span->text, span->len)
		       : GT_NAME_NONE;
}

static uint32_t put_function(struct gt_model *model, const struct gt_span *span)
{
	return span->kind == GT_SPAN_STRING ? gt_build_function(model, span->text, span->len)
					    : put_name(model, span);
}

static void read_frames(struct gt_builder *b, struct gt_frames *stack, const struct gt_span *array)
{
	struct gt_span element;
	uint32_t position = 0, count = 0;

	while (gt_span_next(array, &position, &element))
		count++;
	free(stack->frame);
	stack->count = 0;
	stack->frame = calloc(count ? count : 1, sizeof(*stack->frame));
	if (!stack->frame)
		return;
	stack->whole = true;
	for (position = 0; gt_span_next(array, &position, &element);)
		stack->frame[stack->count++] = gt_build_text(b, &element);
}

/* Index of the record's call stack in model->stacks, or GT_NONE. */
static uint32_t stack_of(struct gt_builder *b, const struct gt_trace_event *record)
{
	enum gt_arg arg =
		gt_record_has(record, GT_ARG_LAUNCHED_BY) ? GT_ARG_LAUNCHED_BY : GT_ARG_CALL_STACK;
	int64_t id = gt_record_int(record, GT_ARG_STACK, 0);
	struct gt_frames *stack;
	uint32_t text, index;

	/* most events have neither: one test of the mask */
	if (!(record->arg_mask &
	      (1ull << GT_ARG_STACK | 1ull << GT_ARG_LAUNCHED_BY | 1ull << GT_ARG_CALL_STACK)))
		return GT_NONE;
	text = gt_record_has(record, arg) && (id <= 0 || !gt_record_has(record, GT_ARG_FRAMES))
		       ? gt_build_text(b, &record->arg[arg])
		       : GT_NAME_NONE;
	if (id > 0)
		index = gt_build_stack_by_id(b, id);
	else if (text != GT_NAME_NONE)
		index = gt_build_stack_by_text(b, text);
	else
		return GT_NONE;
	if (index == GT_NONE)
		return GT_NONE;
	stack = &b->model->stacks.at[index];
	if (!stack->whole && gt_record_has(record, GT_ARG_FRAMES))
		read_frames(b, stack, &record->arg[GT_ARG_FRAMES]);
	else if (!stack->frame && text != GT_NAME_NONE)
		gt_build_split_frames(b->model, stack, gt_model_name(b->model, text),
				      arg == GT_ARG_LAUNCHED_BY ? " < " : ";");
	return index;
}

/* The scanner of one "modules" object: the path, and the build id as its value. */
static const char *take_module(struct gt_scan *scan, const struct gt_span *key, const char *value,
			       void *data)
{
	struct gt_builder *b = data;
	struct gt_span build_id;
	uint32_t path;

	value = gt_scan_value(scan, value, &build_id);
	if (!value || build_id.kind != GT_SPAN_STRING)
		return value;
	path = gt_build_text(b, key);
	gt_build_module(b, gt_model_name(b->model, path), strlen(gt_model_name(b->model, path)),
			build_id.text, build_id.len);
	return value;
}

static void learn_modules(struct gt_builder *b, const struct gt_trace_event *record)
{
	static const enum gt_arg args[] = {GT_ARG_MODULES, GT_ARG_CREATED_MODULES,
					   GT_ARG_FORWARD_MODULES};

	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		const struct gt_span *modules = &record->arg[args[i]];
		struct gt_scan scan;

		if (!gt_record_has(record, args[i]) || modules->kind != GT_SPAN_OBJECT)
			continue;
		scan = (struct gt_scan){.end = modules->text + modules->len};
		gt_scan_object(&scan, modules->text, take_module, b);
	}
}

/* The frames of a stack may stand where it is not that of a slice: they stand once in a file. */
static void learn_stacks(struct gt_builder *b, const struct gt_trace_event *record)
{
	static const struct {
		enum gt_arg id, frames;
	} args[] = {
		{GT_ARG_STACK, GT_ARG_FRAMES},
		{GT_ARG_CREATED_STACK, GT_ARG_CREATED_FRAMES},
		{GT_ARG_FORWARD_STACK, GT_ARG_FORWARD_FRAMES},
	};

	if (!(record->arg_mask & (1ull << GT_ARG_FRAMES | 1ull << GT_ARG_CREATED_FRAMES |
				  1ull << GT_ARG_FORWARD_FRAMES | 1ull << GT_ARG_MODULES |
				  1ull << GT_ARG_CREATED_MODULES | 1ull << GT_ARG_FORWARD_MODULES)))
		return;
	learn_modules(b, record);
	for (size_t i = 0; i < sizeof(args) / sizeof(args[0]); i++) {
		int64_t id = gt_record_int(record, args[i].id, 0);
		uint32_t index = GT_NONE;

		if (id > 0 && gt_record_has(record, args[i].frames))
			index = gt_build_stack_by_id(b, id);
		if (index != GT_NONE && !b->model->stacks.at[index].whole)
			read_frames(b, &b->model->stacks.at[index], &record->arg[args[i].frames]);
	}
}

/* Duration of a slice; what is wrong with it is counted. */
static int64_t slice_dur(struct gt_builder *b, const struct gt_trace_event *record)
{
	if (record->ph == 'B')
		return -1;
	if (!record->has_dur && record->dur_text.kind != GT_SPAN_NONE)
		b->model->odd.bad_dur++;
	else if (!record->has_dur)
		b->model->odd.no_dur++;
	else if (record->dur < 0)
		b->model->odd.negative_dur++;
	return record->has_dur && record->dur > 0 ? record->dur : 0;
}

/* A number of @record within bounds; another one is counted in *odd and becomes @otherwise. */
static int64_t bounded(const struct gt_trace_event *record, enum gt_arg arg, int64_t value,
		       int64_t low, int64_t high, int64_t otherwise, uint64_t *odd)
{
	if (gt_record_has(record, arg))
		value = gt_record_int(record, arg, INT64_MIN);
	return gt_build_bounded(value, low, high, otherwise, odd);
}

/* What is not told is not 0. */
static int64_t size_of(struct gt_builder *b, const struct gt_trace_event *record,
		       enum gt_op_kind kind)
{
	bool moves = kind == GT_OP_COPY || kind == GT_OP_SET;

	if (!gt_record_has(record, GT_ARG_BYTES)) {
		b->model->odd.no_size += moves;
		return moves ? GT_NO_BYTES : kind == GT_OP_KERNEL ? gt_build_message(record) : 0;
	}
	return bounded(record, GT_ARG_BYTES, 0, 0, GT_BUILD_LARGEST_COPY, GT_NO_BYTES,
		       &b->model->odd.no_bytes);
}

static int take_forward(struct gt_builder *b, const struct gt_trace_event *record,
			int64_t correlation)
{
	int64_t id = gt_record_int(record, GT_ARG_FORWARD_STACK, 0);

	if (id <= 0)
		return 0;
	return gt_build_forward(b->model, correlation, gt_build_stack_by_id(b, id));
}

static int take_op(struct gt_builder *b, const struct gt_trace_event *record, enum gt_op_kind kind)
{
	struct gt_model *model = b->model;
	struct gt_op op = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.correlation = gt_record_int(record, GT_ARG_CORRELATION, -1),
		.bytes = size_of(b, record, kind),
		.name = put_name(model, &record->name),
		.call = GT_NONE,
		.stack = stack_of(b, record),
		.stream = (int32_t)bounded(record, GT_ARG_STREAM, record->tid, INT32_MIN, INT32_MAX,
					   -1, &model->odd.no_place),
		.device = (uint16_t)bounded(record, GT_ARG_DEVICE, record->pid, 0, GT_NO_DEVICE - 1,
					    GT_NO_DEVICE, &model->odd.no_place),
		.kind = (uint8_t)kind,
		.comm = kind == GT_OP_KERNEL && (gt_record_has(record, GT_ARG_COLLECTIVE) ||
						 gt_record_has(record, GT_ARG_COLLECTIVE_GROUP))
				? gt_build_group(b->model, record)
				: 0,
	};

	if (record->has_pid && record->pid != op.device && record->pid >= FIRST_HOST)
		op.call = gt_build_process(b, record->pid);
	if (gt_record_has(record, GT_ARG_NVTX))
		op.nvtx = gt_build_text(b, &record->arg[GT_ARG_NVTX]);
	if (gt_record_has(record, GT_ARG_MANGLED) &&
	    gt_build_mangled(model, op.name, gt_build_text(b, &record->arg[GT_ARG_MANGLED])))
		return -ENOMEM;
	if (op.comm && gt_build_place_of(model, record))
		return -ENOMEM;
	if (take_forward(b, record, op.correlation))
		return -ENOMEM;
	if (kind == GT_OP_KERNEL && gt_build_work_of(model, record))
		return -ENOMEM;
	return gt_model_add_op(model, &op);
}

/* Of waits only those for the host tell why a stream was idle. */
static int take_wait(struct gt_builder *b, const struct gt_trace_event *record)
{
	const char *name = gt_event_name_sync(GT_SYNC_HOST_FUNCTION);
	int64_t stream = gt_record_int(record, GT_ARG_STREAM, -1);
	int64_t device = gt_record_int(record, GT_ARG_DEVICE, record->pid);
	struct gt_host_wait wait = {
		.start = record->ts,
		.correlation = gt_record_int(record, GT_ARG_CORRELATION, -1),
		.call = GT_NONE,
		.stream = (int32_t)stream,
		.device = (uint16_t)device,
	};

	if (record->ph != 'X' || !record->has_dur || record->dur <= 0 || stream < 0 ||
	    stream > INT32_MAX || device < 0 || device >= GT_NO_DEVICE ||
	    !gt_span_is(&record->name, name, strlen(name)))
		return 0;
	wait.end = record->ts + record->dur;
	return gt_vec_push(&b->model->waits, wait) ? 0 : -ENOMEM;
}

static int take_call(struct gt_builder *b, const struct gt_trace_event *record, bool driver)
{
	struct gt_call call = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.correlation = gt_record_int(record, GT_ARG_CORRELATION, -1),
		.name = put_name(b->model, &record->name),
		.thread = gt_build_thread(b, record->pid, record->tid),
		.stack = stack_of(b, record),
		.driver = driver,
	};

	int rc = gt_model_add_call(b->model, &call);

	return rc ? rc : gt_build_block_of(b, record, &call);
}

/* Operators of the backward pass have the thread that ran forward, too. */
static int32_t sequence_of(const struct gt_trace_event *record)
{
	return gt_build_sequence(gt_record_int(record, GT_ARG_SEQUENCE, -1),
				 gt_record_int(record, GT_ARG_FORWARD_THREAD, 0) > 0);
}

static bool is_unfinished(const struct gt_trace_event *record)
{
	struct gt_span unfinished;

	return record->args.kind == GT_SPAN_OBJECT &&
	       gt_span_member(&record->args, "unfinished", &unfinished);
}

static int take_range(struct gt_builder *b, const struct gt_trace_event *record,
		      enum gt_range_kind kind)
{
	uint32_t stack = stack_of(b, record);
	struct gt_model_range range = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.name = kind == GT_RANGE_PYTHON ? put_function(b->model, &record->name)
						: put_name(b->model, &record->name),
		.thread = gt_build_thread(b, record->pid, record->tid),
		.parent = GT_NONE,
		.before = GT_NONE,
		.stack = stack < GT_BUILD_NO_STACK ? stack : GT_BUILD_NO_STACK,
		.kind = kind,
	};

	if (gt_record_has(record, GT_ARG_DOMAIN))
		range.domain = gt_build_text(b, &record->arg[GT_ARG_DOMAIN]);
	if (kind == GT_RANGE_NVTX)
		b->model->odd.unended += is_unfinished(record);
	if (kind == GT_RANGE_OP)
		range.sequence = sequence_of(record);
	if (kind == GT_RANGE_OP && gt_build_operator_work_of(b->model, &range, record))
		return -ENOMEM;
	return gt_vec_push(&b->model->ranges, range) ? 0 : -ENOMEM;
}

static int take_os_call(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_model_os_call call = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.name = put_name(b->model, &record->name),
		.thread = gt_build_thread(b, record->pid, record->tid),
		.stack = stack_of(b, record),
	};

	return record->ph == 'X' ? gt_build_os_call_of(b, record, &call) : 0;
}

static int take_pages(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_model_pages pages = {
		.start = record->ts,
		.dur = slice_dur(b, record),
		.facts = gt_unified_args(&record->args, &record->name),
	};

	return record->ph == 'X' ? gt_build_pages(b->model, &pages) : 0;
}

static int take_failure(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_span result, number;
	int64_t code = 0, call = 0;

	if (!gt_span_member(&record->args, "result", &result) || !gt_span_int(&result, &code) ||
	    !code || !gt_span_member(&record->args, "call number", &number) ||
	    !gt_span_int(&number, &call) || call <= 0 || call > UINT32_MAX)
		return 0;
	return gt_build_failed_call(b->model, (uint32_t)call);
}

/* What those of NCCL and cuBLAS tell stands on their kernels, too. */
static int take_library(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_library_call library = {0};
	struct gt_model_mpi_call call = {.start = record->ts};

	if (record->ph != 'X' || record->args.kind != GT_SPAN_OBJECT)
		return 0;
	if (gt_span_is(&record->name, GT_NCCL_NETWORK, sizeof(GT_NCCL_NETWORK) - 1)) {
		library = gt_library_args(&record->args, &record->name);
		gt_build_network(b->model, &library);
		return 0;
	}
	if (record->name.len < 4 || memcmp(record->name.text, "MPI_", 4) != 0)
		return take_failure(b, record);
	library = gt_library_args(&record->args, &record->name);
	call.dur = slice_dur(b, record);
	call.name = put_name(b->model, &record->name);
	call.thread = gt_build_thread(b, record->pid, record->tid);
	return gt_build_mpi_call(b->model, &call, &library, is_unfinished(record));
}

static int take_slice(struct gt_builder *b, const struct gt_trace_event *record, enum gt_role role)
{
	switch (role) {
	case GT_ROLE_KERNEL:
		return take_op(b, record, GT_OP_KERNEL);
	case GT_ROLE_COPY:
		return take_op(b, record, GT_OP_COPY);
	case GT_ROLE_SET:
		return take_op(b, record, GT_OP_SET);
	case GT_ROLE_GRAPH:
		return take_op(b, record, GT_OP_GRAPH);
	case GT_ROLE_RUNTIME:
	case GT_ROLE_DRIVER:
		return take_call(b, record, role == GT_ROLE_DRIVER);
	case GT_ROLE_NVTX:
		return take_range(b, record, GT_RANGE_NVTX);
	case GT_ROLE_OP:
		return take_range(b, record, GT_RANGE_OP);
	case GT_ROLE_PYTHON:
		return take_range(b, record, GT_RANGE_PYTHON);
	case GT_ROLE_OVERHEAD:
		return take_range(b, record, GT_RANGE_OVERHEAD);
	case GT_ROLE_WAIT:
		return take_wait(b, record);
	case GT_ROLE_OS:
		return take_os_call(b, record);
	case GT_ROLE_UNIFIED:
		return take_pages(b, record);
	case GT_ROLE_LIBRARY:
		return take_library(b, record);
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
	struct gt_tensor_event tensor = gt_tensor_args(&record->args);

	if (!gt_record_has(record, GT_ARG_TOTAL_ALLOCATED))
		return 0;
	if (!gt_record_has(record, GT_ARG_DEVICE_TYPE))
		tensor.device_type = 1;
	return gt_build_tensor(b->model, record->ts, gt_build_thread(b, record->pid, record->tid),
			       stack_of(b, record), &tensor);
}

/* Samples are on a track next to their thread's. */
static int take_sample(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_sample sample = {
		.ts = record->ts,
		.thread = gt_build_thread(b, record->pid, record->tid - SAMPLE_ROWS),
		.stack = stack_of(b, record),
	};

	if (record->tid < SAMPLE_ROWS)
		return 0;
	return gt_vec_push(&b->model->samples, sample) ? 0 : -ENOMEM;
}

static int take_counter(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_memory_point point = {.ts = record->ts, .device = (uint32_t)record->pid};
	struct gt_span value;

	if (gt_build_health_record(b->model, record))
		return -ENOMEM;
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
	if (gt_category_rows_see(&b->rows, record))
		return -ENOMEM;
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

/* Where the innermost open slice of a thread stands. NULL: no memory. */
static uint32_t *innermost_of(struct gt_builder *b, uint32_t thread)
{
	while (b->innermost.count <= thread)
		if (!gt_vec_push(&b->innermost, 0))
			return NULL;
	return &b->innermost.at[thread];
}

static int push_open(struct gt_builder *b, uint32_t thread, struct gt_open open)
{
	uint32_t *innermost = innermost_of(b, thread), place = b->free_open;

	if (!innermost || b->open.count == UINT32_MAX)
		return -ENOMEM;
	open.below = *innermost;
	if (place) {
		b->free_open = b->open.at[place - 1].below;
		b->open.at[place - 1] = open;
	} else if (!gt_vec_push(&b->open, open)) {
		return -ENOMEM;
	}
	*innermost = place ? place : (uint32_t)b->open.count;
	b->open_count++;
	return 0;
}

static int take_begin(struct gt_builder *b, const struct gt_trace_event *record, enum gt_role role)
{
	struct gt_model *model = b->model;
	struct gt_open open = {
		.role = (uint8_t)(role <= GT_ROLE_GRAPH      ? GT_OPEN_OP
				  : role <= GT_ROLE_DRIVER   ? GT_OPEN_CALL
				  : role <= GT_ROLE_OVERHEAD ? GT_OPEN_RANGE
							     : GT_OPEN_NOTHING),
	};
	int rc = take_slice(b, record, role);

	if (rc < 0)
		return rc;
	if (role < GT_ROLE_IGNORED)
		gt_build_extent(model, record->ts, 0);
	open.index = open.role == GT_OPEN_OP     ? model->ops.count - 1
		     : open.role == GT_OPEN_CALL ? model->calls.count - 1
						 : model->ranges.count - 1;
	return push_open(b, gt_build_thread(b, record->pid, record->tid), open);
}

static int set_end(struct gt_model *model, const struct gt_open *open, int64_t end)
{
	int64_t start, dur;

	if (open->role == GT_OPEN_NOTHING)
		return 0;
	start = open->role == GT_OPEN_OP     ? model->ops.at[open->index].start
		: open->role == GT_OPEN_CALL ? model->calls.at[open->index].start
					     : model->ranges.at[open->index].start;
	dur = end > start ? end - start : 0;
	model->odd.reversed += end < start;
	gt_build_extent(model, start, dur);
	if (open->role == GT_OPEN_OP)
		return gt_row_code(model, dur, &model->ops.at[open->index].dur_code);
	if (open->role == GT_OPEN_CALL)
		return gt_row_code(model, dur, &model->calls.at[open->index].dur_code);
	model->ranges.at[open->index].dur = dur;
	return 0;
}

static int take_end(struct gt_builder *b, const struct gt_trace_event *record)
{
	uint32_t *innermost = innermost_of(b, gt_build_thread(b, record->pid, record->tid));
	uint32_t place = innermost ? *innermost : 0;
	struct gt_open *open;
	int rc;

	if (!place) {
		b->model->odd.no_begin++;
		return 0;
	}
	open = &b->open.at[place - 1];
	rc = set_end(b->model, open, record->ts);
	*innermost = open->below;
	open->below = b->free_open;
	b->free_open = place;
	b->open_count--;
	return rc;
}

/* Whether a slice that means nothing here may be work of a device. */
static bool looks_like_work(const struct gt_builder *b, const struct gt_trace_event *record)
{
	return record->arg_mask & (1ull << GT_ARG_STREAM | 1ull << GT_ARG_DEVICE |
				   1ull << GT_ARG_CORRELATION | 1ull << GT_ARG_CORRELATION_ID) ||
	       gt_category_rows_is_device(&b->rows, record);
}

/* No sum holds it. */
static void note_unknown(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_odd *odd = &b->model->odd;
	uint32_t name = put_name(b->model, &record->cat);
	size_t i = 0;

	odd->unknown_cat++;
	odd->unknown_work += looks_like_work(b, record);
	while (i < GT_ODD_CATS && odd->unknown_cats[i].count && odd->unknown_cats[i].name != name)
		i++;
	if (i == GT_ODD_CATS)
		return;
	odd->unknown_cats[i].name = name;
	odd->unknown_cats[i].count++;
}

/* An event without a category, on whose row metadata tells more. */
static enum gt_role find_role(struct gt_builder *b, const struct gt_trace_event **record,
			      struct gt_trace_event *own)
{
	if ((*record)->cat.kind != GT_SPAN_NONE)
		return gt_category_role(&(*record)->cat);
	if ((*record)->ph != 'X' || !b->rows.device.used)
		return GT_ROLE_UNKNOWN;
	*own = **record;
	*record = own;
	return gt_category_rows_role(&b->rows, own);
}

static int take_phase(struct gt_builder *b, const struct gt_trace_event *record, enum gt_role role)
{
	switch (record->ph) {
	case 'X':
		if (role < GT_ROLE_IGNORED)
			gt_build_extent(b->model, record->ts,
					record->has_dur && record->dur > 0 ? record->dur : 0);
		return take_slice(b, record, role);
	case 'B':
		return take_begin(b, record, role);
	case 'E':
		return take_end(b, record);
	case 'b': /* its end is another event; rows of such slices do not nest */
	case 'S':
		b->model->odd.asynchronous++;
		return 0;
	case 'C':
		return take_counter(b, record);
	case 'i':
	case 'I':
		return role == GT_ROLE_NOTE     ? take_note(b, record)
		       : role == GT_ROLE_MEMORY ? take_memory(b, record)
		       : role == GT_ROLE_SAMPLE ? take_sample(b, record)
						: 0;
	default:
		return 0;
	}
}

/* Its time, or its end, is so far away that 64 bits do not hold a difference. */
static bool is_too_far(const struct gt_trace_event *record)
{
	int64_t end = record->ts;

	return (record->has_dur && __builtin_add_overflow(end, record->dur, &end)) ||
	       record->ts <= -GT_FARTHEST_NS || record->ts >= GT_FARTHEST_NS ||
	       end <= -GT_FARTHEST_NS || end >= GT_FARTHEST_NS;
}

int gt_build_record(struct gt_builder *b, const struct gt_trace_event *record)
{
	struct gt_model *model = b->model;
	struct gt_trace_event own;
	enum gt_role role;

	if (record->ph == 's' || record->ph == 'f' || record->ph == 't')
		return 0;
	learn_stacks(b, record);
	if (record->ph == 'M')
		return take_metadata(b, record);
	if (!record->has_ts || !record->ph) {
		model->odd.no_ts += record->ph && record->ts_text.kind == GT_SPAN_NONE;
		model->odd.bad_ts += record->ph && record->ts_text.kind != GT_SPAN_NONE;
		model->odd.no_phase += !record->ph;
		return 0;
	}
	if (is_too_far(record)) {
		model->odd.bad_ts++;
		return record->ph == 'X' || record->ph == 'B' || record->ph == 'E' ? -EOVERFLOW : 0;
	}
	role = find_role(b, &record, &own);
	if (role == GT_ROLE_UNKNOWN && (record->ph == 'X' || record->ph == 'B'))
		note_unknown(b, record);
	return take_phase(b, record, role);
}
