/* SPDX-License-Identifier: Apache-2.0
 *
 * What both forms of a trace share while a model is being loaded, and the links between its arrays
 * once all events are in. One thread.
 */
#include "trace/load/model_build.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/intern.h"
#include "readers/chrome/block_args.h"
#include "trace/communication.h"
#include "trace/load/model_loading.h"
#include "trace/load/model_mpi.h"
#include "trace/load/model_os.h"

uint32_t gt_build_thread(struct gt_builder *b, int64_t pid, int64_t tid)
{
	struct gt_model *model = b->model;
	uint32_t hint = b->last_thread;
	int64_t *number;

	if (hint < model->threads.count && model->threads.at[hint].pid == pid &&
	    model->threads.at[hint].tid == tid)
		return hint;
	number = gt_pairmap_get(&b->threads, pid, tid);
	if (!number)
		return 0;
	if (!*number &&
	    !gt_vec_push(&model->threads,
			 ((struct gt_thread_track){.pid = pid, .tid = tid, .beside = GT_NONE})))
		return 0;
	if (!*number)
		*number = (int64_t)model->threads.count;
	return b->last_thread = (uint32_t)*number - 1;
}

void gt_build_extent(struct gt_model *model, int64_t start, int64_t dur)
{
	if (start < model->first)
		model->first = start;
	if (start + dur > model->last)
		model->last = start + dur;
}

int32_t gt_build_sequence(int64_t number, bool is_backward)
{
	if (number < 0)
		return 0;
	number = number % INT32_MAX + 1;
	return (int32_t)(is_backward ? -number : number);
}

int64_t gt_build_bounded(int64_t value, int64_t low, int64_t high, int64_t otherwise, uint64_t *odd)
{
	if (value >= low && value <= high)
		return value;
	++*odd;
	return otherwise;
}

uint32_t gt_build_text(struct gt_builder *b, const struct gt_span *span)
{
	size_t n;

	if (span->kind != GT_SPAN_STRING)
		return GT_NAME_NONE;
	if (!span->escaped)
		return gt_names_put(&b->model->names, span->text, span->len);
	if (span->len > b->text_room) {
		char *bigger = realloc(b->text, span->len);

		if (!bigger)
			return GT_NAME_NONE;
		b->text = bigger;
		b->text_room = span->len;
	}
	n = gt_span_decode(span, b->text);
	return gt_names_put(&b->model->names, b->text, n);
}

/* What ends later comes first. */
static int by_length(const struct gt_model *model, uint32_t a, uint32_t b)
{
	int64_t x = gt_row_number(model, a), y = gt_row_number(model, b);

	return x > y ? -1 : x < y;
}

static int by_start(const void *a, const void *b, void *model)
{
	const struct gt_op_row *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : by_length(model, x->dur_code, y->dur_code);
}

static int by_thread(const void *a, const void *b, void *data)
{
	const struct gt_model *model = data;
	const struct gt_call_row *x = a, *y = b;
	uint32_t p = model->call_traits.at[x->traits].thread;
	uint32_t q = model->call_traits.at[y->traits].thread;

	if (p != q)
		return p < q ? -1 : 1;
	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : by_length(model, x->dur_code, y->dur_code);
}

static int by_kind(const void *a, const void *b, void *model)
{
	(void)model;
	const struct gt_model_range *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->dur > y->dur ? -1 : x->dur < y->dur);
}

static int by_reading(const void *a, const void *b, void *model)
{
	(void)model;
	const struct gt_health_point *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->reading != y->reading)
		return x->reading < y->reading ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

static int by_thread_and_time(const void *a, const void *b, void *model)
{
	(void)model;
	const struct gt_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ts != y->ts ? (x->ts < y->ts ? -1 : 1) : 0;
}

static int by_stream(const void *a, const void *b, void *model)
{
	(void)model;
	const struct gt_host_wait *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

/* Sorts what is not sorted yet: files mostly are. */
static void sort(struct gt_model *model, void *at, size_t count, size_t size,
		 int (*compare)(const void *, const void *, void *))
{
	const char *p = at;

	for (size_t i = 1; i < count; i++) {
		if (compare(p + (i - 1) * size, p + i * size, model) > 0) {
			qsort_r(at, count, size, compare, model);
			return;
		}
	}
}

static void index_calls(struct gt_model *model)
{
	for (size_t i = 0; i < model->calls.count; i++) {
		uint32_t thread = gt_model_call_traits(model, i)->thread;
		struct gt_thread_track *track = &model->threads.at[thread];

		if (!track->call.count++)
			track->call.first = (uint32_t)i;
	}
}

/* Calls lie inside each other where a tool records the runtime's and the driver's. Of calls that
 * cross, all are reported for the first. */
static void nest_calls(struct gt_model *model)
{
	int64_t end = 0;
	uint32_t outer = 0, thread = GT_NONE;

	for (uint32_t i = 0; i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);
		int64_t call_end = call->start + call->dur;

		if (call->thread != thread || call->start >= end) {
			outer = i;
			end = call_end;
		}
		if (call_end > end)
			end = call_end;
		thread = call->thread;
		model->calls.at[i].back = i - outer;
	}
}

bool gt_model_is_data(const char *name)
{
	static const char *const words[] = {"dataloader", "data_load", "load_data", "dataset",
					    "next_batch"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

/* Ranges that load data, and those in them. A name is looked at once: in a deep stack of a hundred
 * thousand functions each name stands around most of them. */
static int mark_data(struct gt_model *model)
{
	enum { UNKNOWN, NO, YES };
	uint8_t *known = calloc(model->names.text.count + 1, 1);

	if (!known)
		return -ENOMEM;
	for (size_t i = 0; i < model->ranges.count; i++) {
		struct gt_model_range *range = &model->ranges.at[i];
		uint8_t *name = &known[range->name];

		if (*name == UNKNOWN)
			*name = gt_model_is_data(gt_model_name(model, range->name)) ? YES : NO;
		range->data = *name == YES ||
			      (range->parent != GT_NONE && model->ranges.at[range->parent].data);
	}
	free(known);
	return 0;
}

static void index_waits(struct gt_model *model)
{
	for (size_t i = 0; i < model->waits.count; i++) {
		struct gt_host_wait *wait = &model->waits.at[i];
		bool first =
			!i || wait[-1].stream != wait->stream || wait[-1].device != wait->device;

		wait->until = first || wait[-1].until < wait->end ? wait->end : wait[-1].until;
	}
}

static void index_samples(struct gt_model *model)
{
	for (size_t i = 0; i < model->samples.count; i++) {
		struct gt_thread_track *track = &model->threads.at[model->samples.at[i].thread];

		if (!track->sample.count++)
			track->sample.first = (uint32_t)i;
	}
}

static struct gt_thread_track *find_track(const struct gt_builder *b, int64_t pid, int64_t tid)
{
	const int64_t *number = gt_pairmap_find(&b->threads, pid, tid);

	return number && *number ? &b->model->threads.at[*number - 1] : NULL;
}

/* Rows that are called "thread 4100 ranges" are hung on their thread. */
static void link_rows(const struct gt_builder *b)
{
	struct gt_model *model = b->model;

	for (uint32_t i = 0; i < model->threads.count; i++) {
		struct gt_thread_track *track = &model->threads.at[i], *owner;
		unsigned int tid;
		int read = 0;

		track->owner = i;
		if (sscanf(gt_model_name(model, track->name), "thread %u ranges%n", &tid, &read) !=
			    1 ||
		    !read)
			continue;
		track->is_beside = true;
		owner = find_track(b, track->pid, tid);
		if (!owner || owner == track)
			continue;
		track->owner = (uint32_t)(owner - model->threads.at);
		track->beside = owner->beside;
		owner->beside = i;
	}
}

static int64_t end_of(const struct gt_model *model, uint32_t range)
{
	return model->ranges.at[range].start + model->ranges.at[range].dur;
}

/* Jumps so that any parent is reached in a logarithmic number of steps (skew-binary numbers).
 * @depths: of the ranges before. */
static void set_jump(struct gt_model *model, uint32_t i, uint32_t *depths)
{
	struct gt_model_range *range = &model->ranges.at[i];
	uint32_t parent = range->parent, one, two;

	depths[i] = 0;
	range->jump = parent;
	if (parent == GT_NONE)
		return;
	depths[i] = depths[parent] + 1;
	one = model->ranges.at[parent].jump;
	two = one == GT_NONE ? GT_NONE : model->ranges.at[one].jump;
	if (two != GT_NONE && depths[parent] - depths[one] == depths[one] - depths[two])
		range->jump = two;
}

/* What is open around a range. Whatever is passed on the way is never passed again: it ends before
 * the range does, and stands before it. */
static void nest_range(struct gt_model *model, uint32_t i)
{
	struct gt_model_range *range = &model->ranges.at[i];
	uint32_t at = i - 1;

	while (at != GT_NONE && end_of(model, at) <= range->start)
		at = model->ranges.at[at].parent;
	range->before = at;
	while (at != GT_NONE && end_of(model, at) < end_of(model, i))
		at = model->ranges.at[at].parent;
	range->parent = at;
}

/* They are sorted: what began before one stands before it, and behind its parent stand only ranges
 * that ended before it. */
static int nest_ranges(struct gt_model *model)
{
	uint32_t *depths = malloc((model->ranges.count + 1) * sizeof(*depths));

	if (!depths)
		return -ENOMEM;
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		struct gt_model_range *range = &model->ranges.at[i];
		struct gt_thread_track *track = &model->threads.at[range->thread];

		if (track->range[range->kind].count++)
			nest_range(model, i);
		else
			track->range[range->kind].first = i;
		set_jump(model, i, depths);
	}
	free(depths);
	return 0;
}

/* A 'B' without 'E' lasts to the end of the trace. */
static void close_open(struct gt_builder *b)
{
	struct gt_model *model = b->model;

	b->model->odd.unfinished += b->open_count;
	for (size_t i = 0; i < model->ops.count; i++)
		if (model->ops.at[i].dur_code == GT_NONE)
			model->ops.at[i].dur_code = 0;
	for (size_t i = 0; i < model->calls.count; i++)
		if (model->calls.at[i].dur_code == GT_NONE)
			model->calls.at[i].dur_code = 0;
	for (size_t i = 0; i < model->ranges.count; i++)
		if (model->ranges.at[i].dur < 0)
			model->ranges.at[i].dur = model->last > model->ranges.at[i].start
							  ? model->last - model->ranges.at[i].start
							  : 0;
}

/* Every sum of the analysis is of some of these, in 64 bits. */
static bool can_be_added_up(const struct gt_model *model)
{
	struct gt_trace_sums sums = {0};

	gt_trace_sums_add(&sums, model);
	return gt_trace_sums_fit(&sums);
}

/* Idle times are added up over all devices. */
static int build_devices(struct gt_model *model)
{
	int rc = gt_build_devices(model);

	return rc || model->devices.count < 2 || can_be_added_up(model) ? rc : -EOVERFLOW;
}

/* Of operations and calls there are never more. */
static bool has_too_many(const struct gt_model *model)
{
	return model->ranges.count > gt_model_most_rows ||
	       model->samples.count > gt_model_most_rows ||
	       model->os_calls.count > gt_model_most_rows ||
	       model->mpi_calls.count > gt_model_most_rows;
}

#define SORT(rows, compare)                                                                        \
	sort(model, model->rows.at, model->rows.count, sizeof(*model->rows.at), compare)

int gt_build_finish(struct gt_builder *b)
{
	struct gt_model *model = b->model;
	int rc;

	close_open(b);
	if (has_too_many(model))
		return -ERANGE;
	if (!can_be_added_up(model))
		return -EOVERFLOW;
	SORT(ops, by_start);
	SORT(calls, by_thread);
	SORT(ranges, by_kind);
	SORT(samples, by_thread_and_time);
	SORT(waits, by_stream);
	SORT(health, by_reading);
	gt_build_places(model);
	gt_build_forwards(model);
	gt_build_works(model);
	gt_build_mpi_calls(model);
	index_waits(model);
	index_calls(model);
	nest_calls(model);
	index_samples(model);
	link_rows(b);
	rc = nest_ranges(model);
	if (!rc)
		rc = gt_build_steps(model);
	if (!rc)
		rc = build_devices(model);
	if (!rc)
		rc = mark_data(model);
	if (!rc)
		rc = gt_build_os_calls(model);
	if (!rc)
		rc = gt_build_loadings(b);
	if (!rc)
		rc = gt_communication_mark(model, NULL);
	return rc ? rc : gt_build_links(b);
}

void gt_build_fini(struct gt_builder *b)
{
	gt_pairmap_fini(&b->threads);
	gt_pairmap_fini(&b->pid_of);
	gt_vec_free(&b->pids);
	gt_category_rows_fini(&b->rows);
	gt_vec_free(&b->open);
	gt_vec_free(&b->innermost);
	free(b->slots);
	free(b->short_stack);
	gt_keymap_fini(&b->module_of);
	free(b->text);
}

int gt_build_mangled(struct gt_model *model, uint32_t name, uint32_t mangled)
{
	uint32_t *known;

	if (mangled == GT_NAME_NONE)
		return 0;
	while (model->mangled.count <= name)
		if (!gt_vec_push(&model->mangled, GT_NAME_NONE))
			return -ENOMEM;
	known = &model->mangled.at[name];
	if (*known == GT_NAME_NONE)
		*known = mangled;
	else if (*known != mangled)
		*known = name;
	return 0;
}

/* ---- memory ---- */

int gt_build_block(struct gt_model *model, const struct gt_call *call, const struct gt_block *block,
		   int64_t result)
{
	int32_t failed = result == (int32_t)result ? (int32_t)result : -1;
	bool goes = block->op == GT_BLOCK_RELEASE || block->op == GT_BLOCK_UNMAP ||
		    block->op == GT_BLOCK_RESET;
	int64_t end;
	struct gt_model_block taken = {
		.ts = call->start,
		.name = call->name,
		.thread = call->thread,
		.stack = call->stack,
		.failed = failed,
		.block = *block,
	};

	if (!block->op)
		return 0;
	if (!goes && !__builtin_add_overflow(call->start, call->dur > 0 ? call->dur : 0, &end))
		taken.ts = end;
	if (taken.block.bytes > GT_BUILD_LARGEST_BLOCK && !failed) {
		model->odd.no_size++;
		taken.block.bytes = 0;
	}
	if (taken.block.device > GT_BUILD_MAX_DEVICE)
		taken.block.device = GT_BLOCK_NO_DEVICE;
	return gt_vec_push(&model->blocks, taken) ? 0 : -ENOMEM;
}

int gt_build_block_of(struct gt_builder *b, const struct gt_trace_event *record,
		      const struct gt_call *call)
{
	struct gt_block block;
	struct gt_span result;
	int64_t code = 0;

	if (!gt_record_has(record, GT_ARG_MEMORY))
		return 0;
	block = gt_block_args(&record->args);
	if (gt_span_member(&record->args, "result", &result))
		gt_span_int(&result, &code);
	return gt_build_block(b->model, call, &block, code);
}

int gt_build_memory_event(struct gt_model *model, const struct gt_event *event, int64_t ts,
			  uint32_t pid)
{
	const struct gt_counter_event *counter = &event->counter;
	struct gt_memory_point point = {.ts = ts,
					.bytes = counter->value,
					.device = counter->on_gpu ? event->place.device : pid};

	if (!counter->name || !counter->series ||
	    !memmem(counter->name->text, counter->name->length, "memory", 6) ||
	    strcmp(counter->series->text, "allocated") != 0 ||
	    (counter->is_real && !(fabs(counter->real) < 9e18)))
		return 0;
	if (counter->is_real)
		point.bytes = llround(counter->real);
	return gt_vec_push(&model->memory, point) ? 0 : -ENOMEM;
}

#define CUDA 1 /* c10::DeviceType */

int gt_build_tensor(struct gt_model *model, int64_t ts, uint32_t thread, uint32_t stack,
		    const struct gt_tensor_event *tensor)
{
	struct gt_memory_point point = {.ts = ts,
					.bytes = (int64_t)tensor->allocated,
					.device = (uint32_t)tensor->device,
					.of_allocator = true};
	uint64_t size = tensor->bytes < 0 ? -(uint64_t)tensor->bytes : (uint64_t)tensor->bytes;
	struct gt_model_block block = {
		.ts = ts,
		.name = gt_names_put(&model->names, "[memory]", 8),
		.thread = thread,
		.stack = stack,
		.block = {.op = tensor->bytes < 0 ? GT_BLOCK_RELEASE : GT_BLOCK_ALLOCATE,
			  .kind = GT_BLOCK_TENSOR,
			  .device = (uint32_t)tensor->device,
			  .address = tensor->address,
			  .bytes = size},
	};

	if (tensor->device_type != CUDA || point.bytes < 0)
		return 0;
	if (!gt_vec_push(&model->memory, point))
		return -ENOMEM;
	if (!tensor->address || !size || size > GT_BUILD_LARGEST_BLOCK ||
	    block.block.device > GT_BUILD_MAX_DEVICE)
		return 0;
	return gt_vec_push(&model->blocks, block) ? 0 : -ENOMEM;
}

int gt_build_pages(struct gt_model *model, const struct gt_model_pages *pages)
{
	gt_build_extent(model, pages->start, pages->dur);
	return gt_vec_push(&model->pages, *pages) ? 0 : -ENOMEM;
}
