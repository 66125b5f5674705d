/* SPDX-License-Identifier: Apache-2.0
 *
 * Call stacks of a model that is being loaded, by the number or the text that a file has for them.
 * One thread.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "trace/load/model_build.h"

static bool grow_slots(struct gt_builder *b)
{
	size_t count = b->slot_count ? b->slot_count * 2 : 256;
	struct gt_stack_slot *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < b->slot_count; i++) {
		size_t h = (size_t)gt_hash_word((uint64_t)b->slots[i].id) & (count - 1);

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

static struct gt_stack_slot *slot_of(struct gt_builder *b, int64_t id)
{
	size_t h;

	if (b->slot_used * 2 >= b->slot_count && !grow_slots(b))
		return NULL;
	for (h = (size_t)gt_hash_word((uint64_t)id) & (b->slot_count - 1); b->slots[h].id;
	     h = (h + 1) & (b->slot_count - 1))
		if (b->slots[h].id == id)
			return &b->slots[h];
	b->slots[h] = (struct gt_stack_slot){.id = id, .stack = new_stack(b->model)};
	b->slot_used++;
	return &b->slots[h];
}

uint32_t gt_build_stack_by_id(struct gt_builder *b, int64_t id)
{
	const struct gt_stack_slot *slot = slot_of(b, id);

	return slot ? slot->stack : GT_NONE;
}

static bool is_same(const struct gt_frames *stack, const uint32_t *frame, uint32_t count)
{
	return stack->count == count &&
	       (!count || !memcmp(stack->frame, frame, count * sizeof(*frame)));
}

uint32_t gt_build_stack_of(struct gt_builder *b, int64_t id, const uint32_t *frame, uint32_t count)
{
	struct gt_stack_slot *slot = slot_of(b, id);
	struct gt_frames *stack;

	if (!slot || slot->stack == GT_NONE)
		return GT_NONE;
	stack = &b->model->stacks.at[slot->stack];
	if (stack->whole && is_same(stack, frame, count))
		return slot->stack;
	if (stack->whole) { /* the number has come to mean another one */
		slot->stack = new_stack(b->model);
		if (slot->stack == GT_NONE)
			return GT_NONE;
		stack = &b->model->stacks.at[slot->stack];
	}
	free(stack->frame);
	*stack = (struct gt_frames){.frame = calloc(count ? count : 1, sizeof(*frame)),
				    .whole = true};
	if (stack->frame && count) {
		memcpy(stack->frame, frame, count * sizeof(*frame));
		stack->count = count;
	}
	return slot->stack;
}

uint32_t gt_build_stack_by_text(struct gt_builder *b, uint32_t text)
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

int gt_build_forward(struct gt_model *model, int64_t correlation, uint32_t stack)
{
	struct gt_model_forward forward = {.correlation = correlation, .stack = stack};

	if (correlation <= 0 || stack == GT_NONE)
		return 0;
	return gt_vec_push(&model->forwards, forward) ? 0 : -ENOMEM;
}

static int by_correlation(const void *a, const void *b)
{
	const struct gt_model_forward *x = a, *y = b;

	return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

void gt_build_forwards(struct gt_model *model)
{
	struct gt_model_forward *at = model->forwards.at;
	size_t kept = 0;

	if (!model->forwards.count)
		return;
	qsort(at, model->forwards.count, sizeof(*at), by_correlation);
	for (size_t i = 1; i < model->forwards.count; i++)
		if (at[i].correlation != at[kept].correlation)
			at[++kept] = at[i];
	model->forwards.count = kept + 1;
}

uint32_t gt_build_function(struct gt_model *model, const char *name, size_t len)
{
	static const char before[] = " object at 0x";
	const size_t kept = strlen(" object");
	const char *at = len && *name == '<' ? memmem(name, len, before, sizeof(before) - 1) : NULL;
	const char *p = at ? at + sizeof(before) - 1 : name, *end = name + len;
	char text[512];
	size_t head, tail;

	while (at && p < end && isxdigit((unsigned char)*p))
		p++;
	if (!at || p == end || *p != '>')
		return gt_names_put(&model->names, name, len);
	head = (size_t)(at - name) + kept;
	tail = (size_t)(end - p);
	if (head + tail > sizeof(text))
		return gt_names_put(&model->names, name, len);
	memcpy(text, name, head);
	memcpy(text + head, p, tail);
	return gt_names_put(&model->names, text, head + tail);
}

void gt_build_module(struct gt_builder *b, const char *path, size_t path_len, const char *build_id,
		     size_t build_id_len)
{
	struct gt_model *model = b->model;
	struct gt_model_module told = {
		.path = gt_names_put(&model->names, path, path_len),
		.build_id = gt_names_put(&model->names, build_id, build_id_len),
	};
	struct gt_keymap_entry *known;

	if (told.path == GT_NAME_NONE || told.build_id == GT_NAME_NONE)
		return;
	known = gt_keymap_get(&b->module_of, told.path);
	if (known && !known->value && gt_vec_push(&model->modules, told))
		known->value = (int64_t)model->modules.count;
	else if (known && known->value &&
		 model->modules.at[known->value - 1].build_id != told.build_id)
		model->modules.at[known->value - 1].build_id = GT_NAME_NONE;
}

void gt_build_split_frames(struct gt_model *model, struct gt_frames *stack, const char *text,
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
			stack->frame[stack->count++] = gt_build_function(model, text, len);
	}
}
