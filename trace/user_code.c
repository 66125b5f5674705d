/* SPDX-License-Identifier: Apache-2.0
 *
 * See user_code.h. A frame's text is looked at once, however many stacks have it.
 */
#include "trace/user_code.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/code_owner.h"
#include "readers/keymap.h"
#include "trace/frame.h"

#define LONGEST  4096 /* text of a file, module or function that is compared with a pattern */
#define NOT_SEEN 0xff

bool gt_user_code_has_domain(const char *domain)
{
	return !gt_code_is_library_domain(domain);
}

static bool fits(const char *glob, struct gt_code_text part)
{
	char text[LONGEST];

	if (!part.len || part.len >= sizeof(text))
		return false;
	memcpy(text, part.at, part.len);
	text[part.len] = 0;
	return !fnmatch(glob, text, 0);
}

static void take_apart(const char *frame, struct gt_code *code)
{
	struct gt_frame parts;

	gt_frame_parse(frame, &parts);
	*code = (struct gt_code){.file = {parts.file, parts.file_len},
				 .module = {parts.module, parts.module_len},
				 .function = {parts.function, parts.function_len},
				 .line = (uint32_t)parts.line};
	code->nameless = parts.module_len && parts.function == parts.module;
	if (!parts.file_len && !parts.module_len) /* "[jit]+0x12" names no function */
		code->function.len = strlen(frame);
}

uint8_t gt_user_code_rank(const char *frame, const char *const *globs, size_t count)
{
	struct gt_code code;
	uint8_t line;

	take_apart(frame + strlen(gt_frame_backward(frame)), &code);
	line = code.line ? GT_FRAME_LINE : 0;
	for (size_t i = 0; i < count; i++)
		if (fits(globs[i], code.file) || fits(globs[i], code.module) ||
		    fits(globs[i], gt_code_qualified(code.function)))
			return GT_FRAME_NAMED | GT_FRAME_USER | line;
	return gt_code_is_library(&code) ? line : GT_FRAME_USER | line;
}

enum gt_line_class gt_user_code_line_class(const char *frame)
{
	struct gt_code code;

	take_apart(frame, &code);
	return gt_code_line_class(&code);
}

static void rank_name(struct gt_model *model, uint32_t name, const char *const *globs, size_t count)
{
	if (name < model->rank_count && model->ranks[name] == NOT_SEEN)
		model->ranks[name] = gt_user_code_rank(gt_model_name(model, name), globs, count);
}

uint8_t gt_user_code_rank_of(const struct gt_model *model, uint32_t name)
{
	struct gt_frame frame;

	if (name < model->rank_count)
		return model->ranks[name];
	gt_frame_parse(gt_model_name(model, name), &frame);
	return GT_FRAME_USER | (frame.line ? GT_FRAME_LINE : 0);
}

static bool has_function(const struct gt_model *model, uint32_t name)
{
	const char *text = gt_model_name(model, name);
	struct gt_frame frame;

	gt_frame_parse(text, &frame); /* "module+0x1a2b" stands for itself */
	return !frame.module_len || text[frame.function_len];
}

uint32_t gt_user_code_launching(const struct gt_model *model, uint32_t stack, uint8_t *ret_rank)
{
	const struct gt_frames *frames;
	uint32_t best = GT_NAME_NONE;

	*ret_rank = 0;
	if (stack >= model->stacks.count)
		return GT_NAME_NONE;
	frames = &model->stacks.at[stack];
	for (uint32_t i = 0; i < frames->count; i++) {
		uint8_t rank = gt_user_code_rank_of(model, frames->frame[i]);
		bool tells = !rank && !*ret_rank && best != GT_NAME_NONE &&
			     !has_function(model, best) && has_function(model, frames->frame[i]);

		if (best != GT_NAME_NONE && rank <= *ret_rank && !tells)
			continue;
		best = frames->frame[i];
		*ret_rank = rank;
	}
	return best;
}

uint32_t gt_user_code_forward(const struct gt_model *model, int64_t correlation)
{
	size_t low = 0, high = model->forwards.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->forwards.at[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low < model->forwards.count && model->forwards.at[low].correlation == correlation
		       ? model->forwards.at[low].stack
		       : GT_NONE;
}

/* The name number of a frame of the forward stack, told apart. */
static uint32_t name_backward(struct gt_model *model, uint32_t name)
{
	char *text = NULL;
	int length = asprintf(&text, "%s%s", GT_FRAME_BACKWARD, gt_model_name(model, name));
	uint32_t told =
		length < 0 ? GT_NAME_NONE : gt_names_put(&model->names, text, (size_t)length);

	free(text);
	return told;
}

/* The frames of @stack, then those of @forward from its launching one, @launching, on. */
static int put_forward(struct gt_model *model, uint32_t stack, uint32_t forward, uint32_t launching)
{
	const struct gt_frames none = {0}, *ahead = &model->stacks.at[forward], *own = &none;
	struct gt_frames both = {.whole = true};
	uint32_t from = 0;

	if (stack < model->stacks.count)
		own = &model->stacks.at[stack];
	while (ahead->frame[from] != launching)
		from++;
	both.frame = calloc(own->count + ahead->count - from, sizeof(*both.frame));
	if (!both.frame)
		return -ENOMEM;
	for (; both.count < own->count; both.count++)
		both.frame[both.count] = own->frame[both.count];
	for (; from < ahead->count; from++)
		both.frame[both.count++] = name_backward(model, ahead->frame[from]);
	if (gt_vec_push(&model->stacks, both))
		return 0;
	free(both.frame);
	return -ENOMEM;
}

/* The stack that a launch counts for; it may be its own. */
static int choose_stack(struct gt_model *model, uint32_t stack, uint32_t forward,
			uint32_t *ret_chosen)
{
	uint8_t own_rank, rank;
	uint32_t launching = gt_user_code_launching(model, forward, &rank);

	*ret_chosen = stack;
	gt_user_code_launching(model, stack, &own_rank);
	if (own_rank & GT_FRAME_USER || !(rank & GT_FRAME_USER))
		return 0;
	if (put_forward(model, stack, forward, launching))
		return -ENOMEM;
	*ret_chosen = (uint32_t)model->stacks.count - 1;
	return 0;
}

/* Launches of the backward pass that no line of the user's made count for the line of their forward
 * operator. */
static int tie_backward(struct gt_model *model)
{
	struct gt_keymap chosen = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		uint32_t forward = gt_user_code_forward(model, op->correlation), stack;
		struct gt_keymap_entry *entry;

		if (forward == GT_NONE)
			continue;
		entry = gt_keymap_get(&chosen, (uint64_t)(op->stack + 1) << 32 | forward);
		if (!entry) {
			rc = -ENOMEM;
			break;
		}
		if (!entry->value) {
			rc = choose_stack(model, op->stack, forward, &stack);
			entry->value = (int64_t)stack + 1;
		}
		stack = (uint32_t)(entry->value - 1);
		if (!rc)
			rc = gt_model_set_op_stack(model, i, stack);
		if (!rc && op->call != GT_NONE)
			rc = gt_model_set_call_stack(model, op->call, stack);
	}
	gt_keymap_fini(&chosen);
	return rc;
}

static int rank_names(struct gt_model *model, const char *const *globs, size_t count,
		      size_t first_stack)
{
	size_t names = model->names.text.count;
	uint8_t *ranks = realloc(model->ranks, names + 1);

	if (!ranks)
		return -ENOMEM;
	memset(ranks + model->rank_count, NOT_SEEN, names - model->rank_count);
	model->ranks = ranks;
	model->rank_count = names;
	for (size_t i = first_stack; i < model->stacks.count; i++)
		for (uint32_t k = 0; k < model->stacks.at[i].count; k++)
			rank_name(model, model->stacks.at[i].frame[k], globs, count);
	return 0;
}

int gt_user_code_mark(struct gt_model *model, const char *const *globs, size_t count)
{
	size_t stacks = model->stacks.count;
	int rc;

	free(model->ranks);
	model->ranks = NULL;
	model->rank_count = 0;
	model->named = count > 0;
	rc = rank_names(model, globs, count, 0);
	for (size_t i = 0; !rc && i < model->ranges.count; i++)
		if (model->ranges.at[i].kind == GT_RANGE_PYTHON)
			rank_name(model, model->ranges.at[i].name, globs, count);
	if (!rc && model->forwards.count)
		rc = tie_backward(model);
	return rc || stacks == model->stacks.count ? rc : rank_names(model, globs, count, stacks);
}
