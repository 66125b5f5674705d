/* SPDX-License-Identifier: Apache-2.0
 *
 * See key.h. Pure over constant models, any thread.
 */
#include "analysis/key.h"

#include <stdio.h>
#include <string.h>

#include "analysis/frame.h"

#define MAX_NESTED 128 /* ranges around one moment that are shown */

const char *const gt_key_names[GT_KEY_COUNT_] = {
	[GT_KEY_KERNEL] = "kernel",     [GT_KEY_STACK] = "stack",   [GT_KEY_LINE] = "line",
	[GT_KEY_FUNCTION] = "function", [GT_KEY_MODULE] = "module", [GT_KEY_OP] = "op",
	[GT_KEY_STEP] = "step",         [GT_KEY_STREAM] = "stream", [GT_KEY_DEVICE] = "device",
	[GT_KEY_RANK] = "rank",         [GT_KEY_NVTX] = "nvtx",
};

/* Appends, never beyond @size; returns the new length. */
static size_t append(char *out, size_t size, size_t n, const char *gap, const char *text)
{
	int added;

	if (n + 1 >= size)
		return n;
	added = snprintf(out + n, size - n, "%s%s", n ? gap : "", text);
	if (added < 0)
		return n;
	return n + (size_t)added < size ? n + (size_t)added : size - 1;
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

/* Ranges of one kind around @t, innermost first. */
static uint32_t collect(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			int64_t t, uint32_t *ranges, uint32_t room)
{
	uint32_t n = 0, range = gt_model_range_at(model, thread, kind, t);

	for (; range != GT_NONE && n < room; range = model->ranges.at[range].parent)
		ranges[n++] = range;
	return n;
}

/* Merges two innermost-first lists by start; the later start is the inner one. */
static uint32_t merge(const struct gt_model *model, uint32_t *a, uint32_t na, const uint32_t *b,
		      uint32_t nb, uint32_t *out)
{
	uint32_t n = 0, i = 0, j = 0;

	while (i < na || j < nb) {
		if (j >= nb ||
		    (i < na && model->ranges.at[a[i]].start > model->ranges.at[b[j]].start))
			out[n++] = a[i++];
		else
			out[n++] = b[j++];
	}
	return n;
}

size_t gt_key_ranges(const struct gt_model *model, uint32_t thread, int64_t t, const char *gap,
		     char *out, size_t size)
{
	uint32_t nvtx[MAX_NESTED], ops[MAX_NESTED], all[2 * MAX_NESTED], count;
	size_t n = 0;

	*out = 0;
	count = collect(model, thread, GT_RANGE_PYTHON, t, all, MAX_NESTED);
	if (!count) {
		uint32_t nn = collect(model, thread, GT_RANGE_NVTX, t, nvtx, MAX_NESTED);
		uint32_t no = collect(model, thread, GT_RANGE_OP, t, ops, MAX_NESTED);

		count = merge(model, nvtx, nn, ops, no, all);
	}
	while (count)
		n = append(out, size, n, gap,
			   gt_model_name(model, model->ranges.at[all[--count]].name));
	return n;
}

static bool is_step(const struct gt_model *model, const struct gt_range *range)
{
	return range->kind == GT_RANGE_NVTX &&
	       !strncmp(gt_model_name(model, range->name), "ProfilerStep#", 13);
}

uint32_t gt_key_step_at(const struct gt_model *model, int64_t t)
{
	for (uint32_t thread = 0; thread < model->threads.count; thread++) {
		uint32_t range = gt_model_range_at(model, thread, GT_RANGE_NVTX, t);

		for (; range != GT_NONE; range = model->ranges.at[range].parent)
			if (is_step(model, &model->ranges.at[range]))
				return range;
	}
	return GT_NONE;
}

uint32_t gt_key_step(const struct gt_model *model, const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(model, op);

	return gt_key_step_at(model, call ? call->start : op->start);
}

/* The frame that --by=line, function and module speak of: the nearest whose source line is known,
 * else the nearest. NULL: no stack. */
static const char *nearest(const struct gt_model *model, uint32_t stack, struct gt_frame *ret_frame)
{
	const struct gt_frames *frames;
	const char *text;

	if (stack >= model->stacks.count || !model->stacks.at[stack].count)
		return NULL;
	frames = &model->stacks.at[stack];
	for (uint32_t i = 0; i < frames->count; i++) {
		text = gt_model_name(model, frames->frame[i]);
		gt_frame_parse(text, ret_frame);
		if (ret_frame->line)
			return text;
	}
	text = gt_model_name(model, frames->frame[0]);
	gt_frame_parse(text, ret_frame);
	return text;
}

/* The innermost Python function around the call, for traces without stacks. */
static const char *nearest_range(const struct gt_model *model, const struct gt_op *op,
				 struct gt_frame *ret_frame)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	uint32_t range = call ? gt_model_range_at(model, call->thread, GT_RANGE_PYTHON, call->start)
			      : GT_NONE;
	const char *text;

	if (range == GT_NONE)
		return NULL;
	text = gt_model_name(model, model->ranges.at[range].name);
	gt_frame_parse(text, ret_frame);
	return text;
}

static void put_frame(const struct gt_frame *frame, const char *text, enum gt_key key, char *out,
		      size_t size)
{
	if (key == GT_KEY_LINE && frame->line)
		snprintf(out, size, "%.*s:%ld", (int)frame->file_len, frame->file, frame->line);
	else if (key == GT_KEY_MODULE && frame->module_len)
		snprintf(out, size, "%.*s", (int)frame->module_len, frame->module);
	else if (key == GT_KEY_MODULE && frame->file_len)
		snprintf(out, size, "%.*s", (int)frame->file_len, frame->file);
	else if (key == GT_KEY_FUNCTION)
		snprintf(out, size, "%.*s", (int)frame->function_len, frame->function);
	else
		snprintf(out, size, "%s", text);
}

static void code_key(const struct gt_model *model, const struct gt_op *op, enum gt_key key,
		     char *out, size_t size)
{
	struct gt_frame frame;
	const char *text = nearest(model, op->stack, &frame);

	if (!text)
		text = nearest_range(model, op, &frame);
	if (!text)
		snprintf(out, size, "%s", GT_KEY_UNKNOWN);
	else
		put_frame(&frame, text, key, out, size);
}

bool gt_key_of_frame(const struct gt_model *model, uint32_t stack, uint32_t at, enum gt_key key,
		     char *out, size_t size)
{
	const char *text = gt_model_name(model, model->stacks.at[stack].frame[at]);
	struct gt_frame frame, launching;

	gt_frame_parse(text, &frame);
	if (key == GT_KEY_LINE && !frame.line && nearest(model, stack, &launching) != text)
		return false;
	put_frame(&frame, text, key, out, size);
	return true;
}

static void stack_key(const struct gt_model *model, const struct gt_op *op, char *out, size_t size)
{
	const struct gt_call *call = gt_model_call_of(model, op);

	if (gt_key_stack(model, op->stack, false, " < ", out, size))
		return;
	if (!call || !gt_key_ranges(model, call->thread, call->start, " > ", out, size))
		snprintf(out, size, "%s", GT_KEY_UNKNOWN);
}

static void range_key(const struct gt_model *model, const struct gt_op *op, enum gt_range_kind kind,
		      char *out, size_t size)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	uint32_t range = call ? gt_model_range_at(model, call->thread, kind, call->start) : GT_NONE;

	if (kind == GT_RANGE_NVTX && op->nvtx != GT_NAME_NONE)
		snprintf(out, size, "%s", gt_model_name(model, op->nvtx));
	else if (range == GT_NONE)
		snprintf(out, size, kind == GT_RANGE_OP ? "(no operator)" : "(no range)");
	else
		snprintf(out, size, "%s", gt_model_name(model, model->ranges.at[range].name));
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
		snprintf(out, size, "rank %d GPU %u stream %d", model->rank, op->device,
			 op->stream);
		return;
	case GT_KEY_DEVICE:
		snprintf(out, size, "rank %d GPU %u", model->rank, op->device);
		return;
	case GT_KEY_RANK:
		snprintf(out, size, "rank %d", model->rank);
		return;
	default:
		snprintf(out, size, "%s", gt_model_name(model, op->name));
	}
}
