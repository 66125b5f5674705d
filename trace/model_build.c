/* SPDX-License-Identifier: Apache-2.0
 *
 * The second half of loading a model: call stacks, and the links between the arrays once all events
 * are in. One thread.
 */
#include "trace/model_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool grow_slots(struct gt_builder *b)
{
	size_t count = b->slot_count ? b->slot_count * 2 : 256;
	struct gt_stack_slot *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < b->slot_count; i++) {
		size_t h = (size_t)b->slots[i].id & (count - 1);

		if (!b->slots[i].id)
			continue;
		while (slots[h].id)
			h = (h + 1) & (count - 1);
		slots[h] = b->slots[i];
	}
	free(b->slots);
	b->slots = slots;
	b->slot_count = count;
	return true;
}

static uint32_t new_stack(struct gt_model *model)
{
	if (!gt_vec_push(&model->stacks, ((struct gt_frames){0})))
		return GT_NONE;
	return (uint32_t)model->stacks.count - 1;
}

/* The stack with the file's id @id. */
static uint32_t stack_by_id(struct gt_builder *b, int64_t id)
{
	size_t h;

	if (b->slot_used * 2 >= b->slot_count && !grow_slots(b))
		return GT_NONE;
	for (h = (size_t)id & (b->slot_count - 1); b->slots[h].id;
	     h = (h + 1) & (b->slot_count - 1))
		if (b->slots[h].id == id)
			return b->slots[h].stack;
	b->slots[h].stack = new_stack(b->model);
	b->slots[h].id = id;
	b->slot_used++;
	return b->slots[h].stack;
}

/* Stacks of traces without ids: one per text. */
static uint32_t stack_by_text(struct gt_builder *b, uint32_t text)
{
	if (text >= b->short_room) {
		size_t room = (size_t)text * 2 + 64;
		uint32_t *bigger = realloc(b->short_stack, room * sizeof(*bigger));

		if (!bigger)
			return GT_NONE;
		memset(bigger + b->short_room, 0, (room - b->short_room) * sizeof(*bigger));
		b->short_stack = bigger;
		b->short_room = room;
	}
	if (!b->short_stack[text])
		b->short_stack[text] = new_stack(b->model) + 1;
	return b->short_stack[text] - 1;
}

/* Adds the frames of a text: @gap stands between them, the nearest comes first. */
static void split_frames(struct gt_model *model, struct gt_frames *stack, const char *text,
			 const char *gap)
{
	size_t step = strlen(gap), count = 1;
	const char *next;

	for (next = text; (next = strstr(next, gap)); next += step)
		count++;
	stack->frame = calloc(count, sizeof(*stack->frame));
	if (!stack->frame)
		return;
	for (; text; text = next ? next + step : NULL) {
		size_t len;

		next = strstr(text, gap);
		len = next ? (size_t)(next - text) : strlen(text);
		if (len && !(len == 3 && !memcmp(text, "...", 3)))
			stack->frame[stack->count++] = gt_names_put(&model->names, text, len);
	}
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

uint32_t gt_build_stack(struct gt_builder *b, const struct gt_trace_event *record)
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
		index = stack_by_id(b, id);
	else if (text != GT_NAME_NONE)
		index = stack_by_text(b, text);
	else
		return GT_NONE;
	if (index == GT_NONE)
		return GT_NONE;
	stack = &b->model->stacks.at[index];
	if (!stack->whole && gt_record_has(record, GT_ARG_FRAMES))
		read_frames(b, stack, &record->arg[GT_ARG_FRAMES]);
	else if (!stack->frame && text != GT_NAME_NONE)
		split_frames(b->model, stack, gt_model_name(b->model, text),
			     arg == GT_ARG_LAUNCHED_BY ? " < " : ";");
	return index;
}

static int by_start(const void *a, const void *b)
{
	const struct gt_op *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->dur > y->dur ? -1 : x->dur < y->dur);
}

static int by_thread(const void *a, const void *b)
{
	const struct gt_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->dur > y->dur ? -1 : x->dur < y->dur);
}

static int by_kind(const void *a, const void *b)
{
	const struct gt_model_range *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->dur > y->dur ? -1 : x->dur < y->dur);
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct gt_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->ts != y->ts ? (x->ts < y->ts ? -1 : 1) : 0;
}

/* Sorts what is not sorted yet: files mostly are. */
static void sort(void *at, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	const char *p = at;

	for (size_t i = 1; i < count; i++) {
		if (compare(p + (i - 1) * size, p + i * size) > 0) {
			qsort(at, count, size, compare);
			return;
		}
	}
}

struct link { /* correlation -> call; call GT_NONE is free */
	int64_t correlation;
	uint32_t call;
};

static size_t link_slot(const struct link *links, size_t mask, int64_t correlation)
{
	size_t h = ((uint64_t)correlation * 0x9e3779b97f4a7c15u >> 32) & mask;

	while (links[h].call != GT_NONE && links[h].correlation != correlation)
		h = (h + 1) & mask;
	return h;
}

/* Each operation gets its call; of two calls with one id (driver inside runtime) the outer one. */
static int link_calls(struct gt_model *model)
{
	size_t size = 16, h;
	struct link *links;

	while (size < model->calls.count * 2)
		size *= 2;
	links = malloc(size * sizeof(*links));
	if (!links)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++)
		links[i].call = GT_NONE;
	for (size_t i = 0; i < model->calls.count; i++) {
		const struct gt_call *call = &model->calls.at[i];

		if (call->correlation < 0)
			continue;
		h = link_slot(links, size - 1, call->correlation);
		if (links[h].call == GT_NONE || call->start < model->calls.at[links[h].call].start)
			links[h] = (struct link){call->correlation, (uint32_t)i};
	}
	for (size_t i = 0; i < model->ops.count; i++) {
		struct gt_op *op = &model->ops.at[i];

		h = link_slot(links, size - 1, op->correlation);
		if (op->correlation < 0 || links[h].call == GT_NONE)
			continue;
		op->call = links[h].call;
		if (op->stack == GT_NONE)
			op->stack = model->calls.at[op->call].stack;
	}
	free(links);
	return 0;
}

static void index_calls(struct gt_model *model)
{
	for (size_t i = 0; i < model->calls.count; i++) {
		struct gt_thread_track *lane = &model->threads.at[model->calls.at[i].thread];

		if (!lane->call.count++)
			lane->call.first = (uint32_t)i;
	}
}

/* Calls lie inside each other where a tool records the runtime's and the driver's. Of calls that
 * cross, all are reported for the first. */
static void nest_calls(struct gt_model *model)
{
	int64_t end = 0;
	uint32_t outer = 0;

	for (uint32_t i = 0; i < model->calls.count; i++) {
		struct gt_call *call = &model->calls.at[i];
		int64_t call_end = call->start + call->dur;

		if (!i || call->thread != call[-1].thread || call->start >= end) {
			outer = i;
			end = call_end;
		}
		if (call_end > end)
			end = call_end;
		call->back = i - outer;
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

static void index_samples(struct gt_model *model)
{
	for (size_t i = 0; i < model->samples.count; i++) {
		struct gt_thread_track *lane = &model->threads.at[model->samples.at[i].thread];

		if (!lane->sample.count++)
			lane->sample.first = (uint32_t)i;
	}
}

static struct gt_thread_track *find_lane(struct gt_model *model, int64_t pid, int64_t tid)
{
	for (size_t i = 0; i < model->threads.count; i++)
		if (model->threads.at[i].pid == pid && model->threads.at[i].tid == tid)
			return &model->threads.at[i];
	return NULL;
}

/* Rows that are called "thread 4100 ranges" are hung on their thread. */
static void link_rows(struct gt_model *model)
{
	for (uint32_t i = 0; i < model->threads.count; i++) {
		struct gt_thread_track *lane = &model->threads.at[i], *owner;
		unsigned int tid;
		int read = 0;

		lane->owner = i;
		if (sscanf(gt_model_name(model, lane->name), "thread %u ranges%n", &tid, &read) !=
			    1 ||
		    !read)
			continue;
		lane->is_beside = true;
		owner = find_lane(model, lane->pid, tid);
		if (!owner || owner == lane)
			continue;
		lane->owner = (uint32_t)(owner - model->threads.at);
		lane->beside = owner->beside;
		owner->beside = i;
	}
}

static int64_t end_of(const struct gt_model *model, uint32_t range)
{
	return model->ranges.at[range].start + model->ranges.at[range].dur;
}

/* What is open around each range. They are sorted: what began before one stands before it, and
 * behind its parent stand only ranges that ended before it. */
static void nest_ranges(struct gt_model *model)
{
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		struct gt_model_range *range = &model->ranges.at[i];
		struct gt_thread_track *lane = &model->threads.at[range->thread];
		uint32_t at = i - 1;

		if (!lane->range[range->kind].count++) {
			lane->range[range->kind].first = i;
			continue;
		}
		while (at != GT_NONE && end_of(model, at) <= range->start)
			at = model->ranges.at[at].parent;
		range->before = at;
		while (at != GT_NONE && end_of(model, at) < end_of(model, i))
			at = model->ranges.at[at].parent;
		range->parent = at;
	}
}

/* Ranges of one kind stand by their rows. */
static void link_steps(struct gt_model *model)
{
	uint32_t *next = &model->first_with_steps, last = GT_NONE;

	*next = GT_NONE;
	for (size_t i = 0; i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (range->thread == last || !gt_model_is_step(model, range))
			continue;
		last = *next = range->thread;
		next = &model->threads.at[last].next_with_steps;
		*next = GT_NONE;
	}
}

/* A 'B' without 'E' lasts to the end of the trace. */
static void close_open(struct gt_builder *b)
{
	struct gt_model *model = b->model;

	b->model->odd.unfinished += b->open.count;
	for (size_t i = 0; i < model->ops.count; i++)
		if (model->ops.at[i].dur < 0)
			model->ops.at[i].dur = 0;
	for (size_t i = 0; i < model->calls.count; i++)
		if (model->calls.at[i].dur < 0)
			model->calls.at[i].dur = 0;
	for (size_t i = 0; i < model->ranges.count; i++)
		if (model->ranges.at[i].dur < 0)
			model->ranges.at[i].dur = model->last > model->ranges.at[i].start
							  ? model->last - model->ranges.at[i].start
							  : 0;
}

/* Every sum of the analysis is of some of these, in 64 bits. */
static bool can_be_added_up(const struct gt_model *model)
{
	double ops = 0, bytes = 0, calls = 0, ranges = 0, most = 4e18;

	for (size_t i = 0; i < model->ops.count; i++) {
		ops += (double)model->ops.at[i].dur;
		bytes += (double)model->ops.at[i].bytes;
	}
	for (size_t i = 0; i < model->calls.count; i++)
		calls += (double)model->calls.at[i].dur;
	for (size_t i = 0; i < model->ranges.count; i++)
		ranges += (double)model->ranges.at[i].dur;
	return ops < most && bytes < most && calls < most && ranges < most &&
	       (double)model->last - (double)model->first < most;
}

int gt_build_finish(struct gt_builder *b)
{
	struct gt_model *model = b->model;
	int rc;

	close_open(b);
	if (!can_be_added_up(model))
		return -EOVERFLOW;
	sort(model->ops.at, model->ops.count, sizeof(*model->ops.at), by_start);
	sort(model->calls.at, model->calls.count, sizeof(*model->calls.at), by_thread);
	sort(model->ranges.at, model->ranges.count, sizeof(*model->ranges.at), by_kind);
	sort(model->samples.at, model->samples.count, sizeof(*model->samples.at),
	     by_thread_and_time);
	index_calls(model);
	nest_calls(model);
	index_samples(model);
	link_rows(model);
	nest_ranges(model);
	link_steps(model);
	rc = mark_data(model);
	return rc ? rc : link_calls(model);
}

void gt_build_fini(struct gt_builder *b)
{
	gt_vec_free(&b->open);
	free(b->slots);
	free(b->short_stack);
	free(b->text);
}
