/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames and modules of stacks stand once in a JSON trace, on the first event that has them. Where
 * that one is not in the window, they are put on the first that is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform/job/merging.h"

#define STACKS_A_WORD 63

static const enum gt_arg stack_args[][3] = {
	{GT_ARG_STACK, GT_ARG_FRAMES, GT_ARG_MODULES},
	{GT_ARG_CREATED_STACK, GT_ARG_CREATED_FRAMES, GT_ARG_CREATED_MODULES},
	{GT_ARG_FORWARD_STACK, GT_ARG_FORWARD_FRAMES, GT_ARG_FORWARD_MODULES},
};

#define STACK_ARGS (sizeof(stack_args) / sizeof(stack_args[0]))

int gt_merge_window_needs(struct gt_merge_window *window, const struct gt_trace_event *record)
{
	for (size_t i = 0; i < STACK_ARGS; i++) {
		int64_t id = gt_record_int(record, stack_args[i][0], 0);
		struct gt_keymap_entry *entry;

		if (id <= 0)
			continue;
		entry = gt_keymap_get(&window->stacks, (uint64_t)id / STACKS_A_WORD + 1);
		if (!entry)
			return -ENOMEM;
		entry->value |= (int64_t)1 << id % STACKS_A_WORD;
	}
	return 0;
}

/* The frames of a stack stand once in a file: those of an event that is left out, for others. */
static bool is_stack_needed(const struct gt_merge_window *window, int64_t id)
{
	const struct gt_keymap_entry *entry =
		id > 0 ? gt_keymap_find(&window->stacks, (uint64_t)id / STACKS_A_WORD + 1) : NULL;

	return entry && entry->value >> id % STACKS_A_WORD & 1;
}

/* The members of an object, without its brackets. */
static int keep_modules(struct gt_merge_window *window, const struct gt_span *object)
{
	size_t size = window->modules ? strlen(window->modules) : 0;
	char *text;

	if (object->kind != GT_SPAN_OBJECT || object->len <= 2)
		return 0;
	text = realloc(window->modules, size + object->len + 1);
	if (!text)
		return -ENOMEM;
	snprintf(text + size, object->len + 1, "%s%.*s", size ? ", " : "", (int)object->len - 2,
		 object->text + 1);
	window->modules = text;
	return 0;
}

static int keep_frames(struct gt_merge_window *window, int64_t id, const struct gt_span *frames)
{
	struct gt_keymap_entry *entry;
	char *text;

	if (!is_stack_needed(window, id))
		return 0;
	entry = gt_keymap_get(&window->frame_of, (uint64_t)id);
	if (!entry)
		return -ENOMEM;
	if (entry->value)
		return 0;
	text = strndup(frames->text, frames->len);
	if (!text || !gt_vec_push(&window->frames, text))
		return -ENOMEM;
	entry->value = (int64_t)window->frames.count;
	return 0;
}

/* Modules stand once, too, whatever stack is first to need them. */
int gt_merge_window_keep_stacks(struct gt_merge_window *window, const struct gt_trace_event *record)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < STACK_ARGS; i++) {
		const enum gt_arg *args = stack_args[i];

		if (gt_record_has(record, args[1]))
			rc = keep_frames(window, gt_record_int(record, args[0], 0),
					 &record->arg[args[1]]);
		if (!rc && gt_record_has(record, args[2]))
			rc = keep_modules(window, &record->arg[args[2]]);
	}
	return rc;
}

/* The frames of a stack that stood on an event that was left out; NULL: it needs none. */
static const char *frames_for(struct gt_merge_window *window, int64_t id, bool has_frames)
{
	struct gt_keymap_entry *entry =
		id > 0 ? gt_keymap_get(&window->frame_of, (uint64_t)id) : NULL;
	int64_t place = entry ? entry->value : -1;

	if (entry)
		entry->value = -1; /* that event has them */
	return has_frames || place <= 0 ? NULL : window->frames.at[place - 1];
}

/* , "frames": [...], "modules": {...}  behind the number of a stack. */
static const char *text_behind(char **ret_text, const char *prefix, const char *frames,
			       const char *modules)
{
	char *text = NULL;
	int n;

	if (frames && modules)
		n = asprintf(&text, ", \"%sframes\": %s, \"%smodules\": {%s}", prefix, frames,
			     prefix, modules);
	else if (frames)
		n = asprintf(&text, ", \"%sframes\": %s", prefix, frames);
	else
		n = asprintf(&text, ", \"%smodules\": {%s}", prefix, modules);
	free(*ret_text);
	return *ret_text = n < 0 ? NULL : text;
}

void gt_merge_window_stacks(struct gt_merge_window *window, const struct gt_trace_event *record,
			    struct gt_edits *edits)
{
	static const char *const prefixes[] = {"", "created ", "forward "};

	for (size_t i = 0; i < STACK_ARGS; i++) {
		const enum gt_arg *args = stack_args[i];
		int64_t id = gt_record_int(record, args[0], 0);
		const char *frames = frames_for(window, id, gt_record_has(record, args[1]));
		const char *modules = gt_record_has(record, args[2]) ? NULL : window->modules;
		struct gt_edit *edit;

		if (!frames && (!modules || !gt_record_has(record, args[1])))
			continue;
		edit = gt_edits_of(edits, &record->arg[args[0]]);
		if (!edit)
			continue;
		edit->more = text_behind(&window->behind[i], prefixes[i], frames, modules);
		if (modules) {
			free(window->modules);
			window->modules = NULL;
		}
	}
}

void gt_merge_window_forget_stacks(struct gt_merge_window *window)
{
	for (size_t i = 0; i < window->frames.count; i++)
		free(window->frames.at[i]);
	gt_vec_free(&window->frames);
	gt_keymap_fini(&window->stacks);
	gt_keymap_fini(&window->frame_of);
	free(window->modules);
	for (size_t i = 0; i < STACK_ARGS; i++)
		free(window->behind[i]);
}
