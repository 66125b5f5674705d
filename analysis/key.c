/* SPDX-License-Identifier: Apache-2.0
 *
 * See key.h. Pure over constant models, any thread.
 */
#include "analysis/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/frame.h"
#include "trace/user_code.h"

#define MAX_NESTED 256 /* ranges around one moment that are shown */
#define MAX_OPEN                                                                                   \
	1024 /* Python functions around one moment that are looked at: its default                 \
		limit of recursion */
#define BEST_RANK (GT_FRAME_USER | GT_FRAME_LINE) /* but for --user-code */

const char *const gt_key_names[GT_KEY_COUNT_] = {
	[GT_KEY_KERNEL] = "kernel",     [GT_KEY_STACK] = "stack",   [GT_KEY_LINE] = "line",
	[GT_KEY_FUNCTION] = "function", [GT_KEY_MODULE] = "module", [GT_KEY_OP] = "op",
	[GT_KEY_STEP] = "step",         [GT_KEY_STREAM] = "stream", [GT_KEY_DEVICE] = "device",
	[GT_KEY_RANK] = "rank",         [GT_KEY_NVTX] = "nvtx",
};

/* Appends at @n, never beyond @size; returns the new length. */
static size_t append_text(char *out, size_t size, size_t n, const char *text)
{
	size_t length = strnlen(text, size - 1 - n);

	memcpy(out + n, text, length);
	out[n + length] = 0;
	return n + length;
}

/* The same of an element of a list. */
static size_t append(char *out, size_t size, size_t n, const char *gap, const char *text)
{
	n = n ? append_text(out, size, n, gap) : n;
	return append_text(out, size, n, text);
}

size_t gt_key_stack(const struct gt_model *model, uint32_t stack, bool root_first, const char *gap,
		    char *out, size_t size)
{
	const struct gt_frames *frames;
	size_t n = 0;

	*out = 0;
	if (stack >= model->stacks.count)
		return 0;
	frames = &model->stacks.at[stack];
	for (uint32_t i = 0; i < frames->count; i++) {
		uint32_t at = root_first ? frames->count - 1 - i : i;

		n = append(out, size, n, gap, gt_model_name(model, frames->frame[at]));
	}
	return n;
}

/* Ranges around a moment, innermost first. */
struct nest {
	uint32_t range[MAX_NESTED], count;
};

/* Is range @a drawn inside @b? The one that began later is, of two that began together the shorter
 * one. */
static bool is_inside(const struct gt_model *model, uint32_t a, uint32_t b)
{
	const struct gt_model_range *x = &model->ranges.at[a], *y = &model->ranges.at[b];

	if (x->start != y->start)
		return x->start > y->start;
	return x->dur != y->dur ? x->dur < y->dur : a > b;
}

/* False: there is no room for it, nor for what is further out. */
static bool put_inside(const struct gt_model *model, uint32_t range, struct nest *nest)
{
	uint32_t at = nest->count;

	while (at && is_inside(model, range, nest->range[at - 1]))
		at--;
	if (at == MAX_NESTED)
		return false;
	nest->count += nest->count < MAX_NESTED;
	memmove(&nest->range[at + 1], &nest->range[at],
		(nest->count - at - 1) * sizeof(nest->range[0]));
	nest->range[at] = range;
	return true;
}

/* Adds the ranges of a kind that are open on a thread and its additional tracks. */
static void collect(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
		    int64_t t, struct nest *nest)
{
	for (uint32_t row = thread; row != GT_NONE; row = model->threads.at[row].beside) {
		uint32_t range = gt_model_range_at(model, row, kind, t);

		while (range != GT_NONE && put_inside(model, range, nest))
			range = gt_model_range_around(model, range, t);
	}
}

/* How many of the innermost Python functions are called by the one that launches. */
static uint32_t count_inner(const struct gt_model *model, const struct nest *nest)
{
	uint32_t best = 0;
	uint8_t best_rank = 0;

	for (uint32_t i = 0; i < nest->count; i++) {
		uint8_t rank = gt_user_code_rank_of(model, model->ranges.at[nest->range[i]].name);

		if (rank > best_rank) {
			best = i;
			best_rank = rank;
		}
	}
	return best;
}

/* Is range number @i of the nest a library's function that is left out? */
static bool is_hidden(const struct gt_model *model, const struct nest *nest, uint32_t i)
{
	const struct gt_model_range *range = &model->ranges.at[nest->range[i]];

	return range->kind == GT_RANGE_PYTHON &&
	       !(gt_user_code_rank_of(model, range->name) & GT_FRAME_USER);
}

size_t gt_key_ranges(const struct gt_model *model, uint32_t thread, int64_t t,
		     enum gt_key_functions which, const char *gap, char *out, size_t size)
{
	struct nest nest = {.count = 0};
	uint32_t last = 0;
	bool hides;
	size_t n = 0;

	*out = 0;
	collect(model, thread, GT_RANGE_PYTHON, t, &nest);
	if (nest.count && which != GT_FUNCTIONS_ALL)
		last = count_inner(model, &nest);
	hides = nest.count && which == GT_FUNCTIONS_OF_USERS && !is_hidden(model, &nest, last);
	if (!nest.count) {
		collect(model, thread, GT_RANGE_NVTX, t, &nest);
		collect(model, thread, GT_RANGE_OP, t, &nest);
	}
	while (nest.count-- > last)
		if (!hides || !is_hidden(model, &nest, nest.count))
			n = append(out, size, n, gap,
				   gt_model_name(model,
						 model->ranges.at[nest.range[nest.count]].name));
	return n;
}

/* The innermost range of a kind around a call, on whichever row of its thread. */
static uint32_t innermost(const struct gt_model *model, const struct gt_call *call,
			  enum gt_range_kind kind)
{
	uint32_t best = GT_NONE, row = call ? call->thread : GT_NONE;

	for (; row != GT_NONE; row = model->threads.at[row].beside) {
		uint32_t range = gt_model_range_at(model, row, kind, call->start);

		if (range != GT_NONE && (best == GT_NONE || is_inside(model, range, best)))
			best = range;
	}
	return best;
}

uint32_t gt_key_step(const struct gt_model *model, const struct gt_op *op)
{
	return gt_model_step_of(model, op);
}

/* The frame that --by=line, function and module speak of, of the Python functions that are open on
 * a row at @t: the nearest of the best rank. */
static uint32_t nearest_on_row(const struct gt_model *model, uint32_t row, int64_t t,
			       uint8_t *ret_rank)
{
	uint32_t range = gt_model_range_at(model, row, GT_RANGE_PYTHON, t), best = GT_NONE;

	*ret_rank = 0;
	for (int i = 0; range != GT_NONE && i < MAX_OPEN;
	     i++, range = gt_model_range_around(model, range, t)) {
		uint8_t rank = gt_user_code_rank_of(model, model->ranges.at[range].name);

		if (best != GT_NONE && rank <= *ret_rank)
			continue;
		best = range;
		*ret_rank = rank;
		if (rank >= BEST_RANK && !model->named)
			break;
	}
	return best;
}

/* For traces without stacks: the Python functions around the call are one. Its name, or
 * GT_NAME_NONE. */
static uint32_t nearest_range(const struct gt_model *model, const struct gt_call *call,
			      uint8_t *ret_rank)
{
	uint32_t row = call ? call->thread : GT_NONE, best = GT_NONE;

	*ret_rank = 0;
	for (; row != GT_NONE; row = model->threads.at[row].beside) {
		uint8_t rank;
		uint32_t range = nearest_on_row(model, row, call->start, &rank);

		if (range == GT_NONE || rank < *ret_rank ||
		    (best != GT_NONE && rank == *ret_rank && !is_inside(model, range, best)))
			continue;
		best = range;
		*ret_rank = rank;
	}
	return best == GT_NONE ? GT_NAME_NONE : model->ranges.at[best].name;
}

/* @text: without @backward in front of it. */
static void put_frame(const struct gt_frame *frame, const char *backward, const char *text,
		      enum gt_key key, char *out, size_t size)
{
	const char *part = text;
	size_t length = strlen(text);

	if (key == GT_KEY_LINE && frame->line) {
		snprintf(out, size, "%s%.*s:%ld", backward, (int)frame->file_len, frame->file,
			 frame->line);
		return;
	}
	if (key == GT_KEY_MODULE && (frame->module_len || frame->file_len)) {
		part = frame->module_len ? frame->module : frame->file;
		length = frame->module_len ? frame->module_len : frame->file_len;
	} else if (key == GT_KEY_FUNCTION) {
		part = frame->function;
		length = frame->function_len;
	}
	snprintf(out, size, "%s%.*s", backward, (int)length, part);
}

uint32_t gt_key_launching(const struct gt_model *model, uint32_t stack)
{
	uint8_t rank;

	return gt_user_code_launching(model, stack, &rank);
}

uint32_t gt_key_launching_range(const struct gt_model *model, const struct gt_call *call)
{
	uint8_t rank;

	return nearest_range(model, call, &rank);
}

static void code_key(const struct gt_model *model, const struct gt_op *op, enum gt_key key,
		     char *out, size_t size)
{
	uint32_t name = gt_key_launching(model, op->stack);

	if (name == GT_NAME_NONE)
		name = gt_key_launching_range(model, gt_model_call_of(model, op));
	if (name == GT_NAME_NONE)
		snprintf(out, size, "%s", GT_KEY_UNKNOWN);
	else
		gt_key_of_frame(model, name, true, key, out, size);
}

bool gt_key_of_frame(const struct gt_model *model, uint32_t name, bool launches, enum gt_key key,
		     char *out, size_t size)
{
	const char *text = gt_model_name(model, name), *backward = gt_frame_backward(text);
	struct gt_frame frame;

	text += strlen(backward);
	gt_frame_parse(text, &frame);
	if (!launches && (!(gt_user_code_rank_of(model, name) & GT_FRAME_USER) ||
			  (key == GT_KEY_LINE && !frame.line)))
		return false;
	put_frame(&frame, backward, text, key, out, size);
	return true;
}

static void stack_key(const struct gt_model *model, const struct gt_op *op, char *out, size_t size)
{
	const struct gt_call *call = gt_model_call_of(model, op);

	if (gt_key_stack(model, op->stack, false, " < ", out, size))
		return;
	if (!call ||
	    !gt_key_ranges(model, call->thread, call->start, GT_FUNCTIONS_ALL, " > ", out, size))
		snprintf(out, size, "%s", GT_KEY_UNKNOWN);
}

void gt_key_of_range(const struct gt_model *model, const struct gt_model_range *range, char *out,
		     size_t size)
{
	const char *domain = gt_model_name(model, range->domain);

	snprintf(out, size, "%s%s%s", domain, *domain ? ":" : "",
		 gt_model_name(model, range->name));
}

static void range_key(const struct gt_model *model, const struct gt_op *op, enum gt_range_kind kind,
		      char *out, size_t size)
{
	uint32_t range = innermost(model, gt_model_call_of(model, op), kind);

	if (kind == GT_RANGE_NVTX && op->nvtx != GT_NAME_NONE)
		snprintf(out, size, "%s", gt_model_name(model, op->nvtx));
	else if (range == GT_NONE)
		snprintf(out, size, kind == GT_RANGE_OP ? "(no operator)" : "(no range)");
	else
		gt_key_of_range(model, &model->ranges.at[range], out, size);
}

void gt_key_of_place(const struct gt_model *model, const char *what, char *out, size_t size)
{
	if (model->is_twin)
		snprintf(out, size, "rank %d%s%s", model->rank, what, model->twin);
	else
		snprintf(out, size, "rank %d%s", model->rank, what);
}

void gt_key_of_device(const struct gt_model *model, uint32_t device, char *out, size_t size)
{
	char text[32];

	snprintf(text, sizeof(text), " GPU %u", device);
	gt_key_of_place(model, text, out, size);
}

static void stream_key(const struct gt_model *model, const struct gt_op *op, char *out, size_t size)
{
	char text[64];

	snprintf(text, sizeof(text), " GPU %u stream %d", op->device, op->stream);
	gt_key_of_place(model, text, out, size);
}

void gt_key_of_op(const struct gt_model *model, const struct gt_op *op, enum gt_key key, char *out,
		  size_t size)
{
	uint32_t step;

	switch (key) {
	case GT_KEY_STACK:
		stack_key(model, op, out, size);
		return;
	case GT_KEY_LINE:
	case GT_KEY_FUNCTION:
	case GT_KEY_MODULE:
		code_key(model, op, key, out, size);
		return;
	case GT_KEY_OP:
		range_key(model, op, GT_RANGE_OP, out, size);
		return;
	case GT_KEY_NVTX:
		range_key(model, op, GT_RANGE_NVTX, out, size);
		return;
	case GT_KEY_STEP:
		step = gt_key_step(model, op);
		snprintf(out, size, "%s",
			 step == GT_NONE ? "(no step)"
					 : gt_model_name(model, model->ranges.at[step].name));
		return;
	case GT_KEY_STREAM:
		stream_key(model, op, out, size);
		return;
	case GT_KEY_DEVICE:
		gt_key_of_device(model, op->device, out, size);
		return;
	case GT_KEY_RANK:
		snprintf(out, size, "rank %d", model->rank);
		return;
	default:
		snprintf(out, size, "%s", gt_model_name(model, op->name));
	}
}
