/* SPDX-License-Identifier: Apache-2.0
 *
 * See event_text.h.
 */
#include "core/json/event_text.h"

#include <string.h>

#include "core/guest/text.h"
#include "core/intern.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void add_text(struct gt_json *out, const char *text)
{
	gt_json_raw(out, text, strlen(text));
}

static void add_offset(struct gt_json *out, uint64_t offset)
{
	char digits[16];

	gt_json_raw(out, "+0x", 3);
	gt_json_raw(out, digits, gt_text_hex(digits, offset));
}

static void add_path(struct gt_json *out, const struct gt_string *path, bool whole)
{
	add_text(out, whole ? path->text : base_name(path->text));
}

/* Where a frame with a known function is: a source line, else its module. */
static void add_origin(struct gt_json *out, const struct gt_stack_frame *frame, uint32_t last_line,
		       bool whole)
{
	gt_json_raw(out, " (", 2);
	if (frame->file) {
		add_path(out, frame->file, whole);
		if (frame->line) {
			gt_json_char(out, ':');
			gt_json_u64(out, frame->line);
		}
		if (last_line > frame->line) {
			gt_json_char(out, '-');
			gt_json_u64(out, last_line);
		}
	} else if (frame->module) {
		add_path(out, frame->module, whole);
		if (whole && frame->kind == GT_FRAME_NATIVE)
			add_offset(out, frame->offset);
	} else {
		add_text(out, "[jit]");
	}
	gt_json_char(out, ')');
}

void gt_frame_text(struct gt_json *out, const struct gt_stack_frame *frame, uint32_t last_line,
		   bool whole)
{
	if (frame->function && frame->function->length) {
		add_text(out, frame->function->text);
		if (frame->file || frame->module || frame->kind == GT_FRAME_JIT)
			add_origin(out, frame, last_line, whole);
		return;
	}
	if (frame->module)
		add_path(out, frame->module, whole);
	else
		add_text(out, frame->kind == GT_FRAME_JIT ? "[jit]" : "?");
	add_offset(out, frame->offset);
}

static struct gt_code_text text_of(const struct gt_string *string)
{
	return string ? (struct gt_code_text){string->text, string->length}
		      : (struct gt_code_text){NULL, 0};
}

static enum gt_line_class class_of(const struct gt_stack_frame *frame)
{
	bool nameless = !frame->function || !frame->function->length;
	const struct gt_code_text none = {NULL, 0}, jit = {"[jit]", 5};
	struct gt_code code = {
		.file = nameless ? none : text_of(frame->file),
		.module = frame->file && !nameless ? none : text_of(frame->module),
		.function = nameless ? none : text_of(frame->function),
		.nameless = nameless,
		.line = nameless ? 0 : frame->line,
	};

	if (frame->kind == GT_FRAME_JIT && !frame->file)
		code.module = jit;
	return gt_code_line_class(&code);
}

/* Stacks share their frames, and the table is long: a frame is looked up once. Frames are the drain
 * thread's, or one reader's. */
static enum gt_line_class known_class(const struct gt_stack_frame *frame)
{
	if (!frame->line_class)
		((struct gt_stack_frame *)frame)->line_class = (uint8_t)(class_of(frame) + 1);
	return (enum gt_line_class)(frame->line_class - 1);
}

void gt_stack_line(struct gt_json *out, const struct gt_line_limits *limits,
		   const struct gt_stack *stack)
{
	size_t begin = out->length, chosen[GT_LINE_FRAMES], count = stack->count, shown;
	struct gt_line_frame frames[GT_LINE_LOOK];
	bool cut = false;

	if (count > GT_LINE_LOOK)
		count = GT_LINE_LOOK;
	for (size_t i = 0; i < count; i++) {
		gt_frame_text(out, stack->frames[i], 0, false);
		frames[i] =
			(struct gt_line_frame){known_class(stack->frames[i]), out->length - begin};
		gt_json_cut(out, begin);
	}
	shown = gt_line_choose(limits, frames, count, chosen);
	for (size_t i = 0; i < shown; i++) {
		if (i)
			add_text(out, " < ");
		gt_frame_text(out, stack->frames[chosen[i]], 0, false);
	}
	if (out->length - begin > limits->bytes) {
		gt_json_cut(out, begin + gt_json_text_prefix(out->text + begin, out->length - begin,
							     limits->bytes));
		cut = true;
	}
	if (cut || shown < stack->count)
		add_text(out, " < ...");
}

void gt_note_json_put(struct gt_json *json, const struct gt_event *event)
{
	const struct gt_note_event *note = &event->note;

	if (note->cause)
		gt_json_member_cstr(json, "cause", note->cause);
	if (note->count) {
		gt_json_key_text(json, note->of_what ? note->of_what : "count");
		gt_json_u64(json, note->count);
	}
	if (event->end > event->start)
		gt_json_member_us(json, "duration (us)", event->end - event->start);
	if (note->what)
		gt_json_member_cstr(json, "what", note->what);
}

void gt_modules_json_put(struct gt_json *json, const char *key, const struct gt_stack *stack,
			 gt_module_chosen chosen, void *data)
{
	bool opened = false;

	for (uint32_t i = 0; i < stack->count; i++) {
		const struct gt_stack_frame *frame = stack->frames[i];

		if (!frame->module || !frame->build_id || !chosen(frame, data))
			continue;
		if (!opened) {
			gt_json_key_text(json, key);
			gt_json_char(json, '{');
			opened = true;
		}
		gt_json_comma(json);
		gt_json_string(json, frame->module->text, frame->module->length);
		gt_json_spaced(json, ": ", 2);
		gt_json_string(json, frame->build_id->text, frame->build_id->length);
	}
	if (opened)
		gt_json_char(json, '}');
}
