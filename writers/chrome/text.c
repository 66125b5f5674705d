/* SPDX-License-Identifier: Apache-2.0
 *
 * Strings and call stacks as JSON text, made once and cached by id. A string that needs no escape
 * is not copied. Without memory for the cache the text is made again each time.
 */
#include "writers/chrome/chrome.h"

#include <errno.h>

#include "core/json/event_text.h"

#define FIRST_ROWS 1024u

int gt_chrome_texts_init(struct gt_chrome_texts *texts)
{
	/* bounded by the strings and stacks themselves, which have their own limits */
	gt_arena_init(&texts->arena, 0);
	if (gt_json_init(&texts->scratch, 4096) < 0 || gt_json_init(&texts->escaped, 4096) < 0)
		return -ENOMEM;
	return 0;
}

void gt_chrome_texts_fini(struct gt_chrome_texts *texts)
{
	gt_arena_fini(&texts->arena);
	gt_memory_unmap(texts->strings.rows, texts->strings.count * sizeof(*texts->strings.rows));
	gt_memory_unmap(texts->stacks.rows, texts->stacks.count * sizeof(*texts->stacks.rows));
	gt_json_fini(&texts->scratch);
	gt_json_fini(&texts->escaped);
}

struct gt_chrome_text *gt_chrome_new_row(struct gt_chrome_table *table, uint32_t id)
{
	uint32_t wanted = table->count ? table->count : FIRST_ROWS;
	struct gt_chrome_text *rows;

	while (wanted <= id)
		wanted *= 2;
	rows = gt_memory_grow(table->rows, table->count * sizeof(*rows), wanted * sizeof(*rows));
	if (!rows)
		return NULL;
	table->rows = rows;
	table->count = wanted;
	return id ? &table->rows[id] : NULL;
}

/* Caches the text that was made. */
static void keep_escaped(struct gt_chrome_texts *texts, struct gt_chrome_text *row)
{
	char *copy;

	if (texts->escaped.failed)
		return;
	copy = gt_arena_get(&texts->arena, texts->escaped.length + 1);
	if (!copy)
		return;
	memcpy(copy, texts->escaped.text, texts->escaped.length);
	row->text = copy;
	row->length = (uint32_t)texts->escaped.length;
}

/* Caches the escaped form of @size bytes. */
static void keep(struct gt_chrome_texts *texts, struct gt_chrome_text *row, const char *text,
		 size_t size)
{
	gt_json_cut(&texts->escaped, 0);
	gt_json_escape(&texts->escaped, text, size);
	keep_escaped(texts, row);
}

static void put_kept(struct gt_json *json, const struct gt_chrome_text *row)
{
	char *out;

	if (!gt_json_room(json, row->length + 2))
		return;
	out = json->text + json->length;
	*out = '"';
	memcpy(out + 1, row->text, row->length);
	out[row->length + 1] = '"';
	json->length += row->length + 2;
}

bool gt_chrome_may_be_collective(struct gt_chrome_texts *texts, const struct gt_string *name)
{
	struct gt_chrome_text *row = gt_chrome_row(&texts->strings, name->id);

	return !row || !row->no_collective;
}

void gt_chrome_is_no_collective(struct gt_chrome_texts *texts, const struct gt_string *name)
{
	struct gt_chrome_text *row = gt_chrome_row(&texts->strings, name->id);

	if (row)
		row->no_collective = true;
}

void gt_chrome_put_string(struct gt_chrome_texts *texts, struct gt_json *json,
			  const struct gt_string *string)
{
	struct gt_chrome_text *row;

	if (!string || string->length == 0) {
		gt_json_cstr(json, "(no name)");
		return;
	}
	row = gt_chrome_row(&texts->strings, string->id);
	if (row && !row->text) {
		if (gt_json_is_plain(string->text, string->length)) {
			row->text = string->text;
			row->length = string->length;
		} else {
			keep(texts, row, string->text, string->length);
		}
	}
	if (row && row->text)
		put_kept(json, row);
	else
		gt_json_string(json, string->text, string->length);
}

/* The words of a stack. */
static const struct gt_json *make_line(struct gt_chrome_texts *texts, const struct gt_stack *stack)
{
	gt_json_cut(&texts->scratch, 0);
	gt_stack_line(&texts->scratch, texts->line, stack);
	return &texts->scratch;
}

/* The cached members of a stack, made at its first use. NULL: no memory. */
static const struct gt_chrome_text *stack_row(struct gt_chrome_texts *texts,
					      const struct gt_stack *stack)
{
	struct gt_chrome_text *row = gt_chrome_row(&texts->stacks, stack->id);
	struct gt_json *json = &texts->escaped;
	const struct gt_json *line;
	size_t words;

	if (!row || __builtin_expect(row->text != NULL, 1))
		return row;
	line = make_line(texts, stack);
	gt_json_cut(json, 0);
	json->tight = texts->tight;
	gt_json_next(json, "launched by");
	gt_json_string(json, line->text, line->length);
	words = json->length;
	gt_json_next(json, "stack");
	gt_json_u64(json, stack->id);
	row->behind = (uint8_t)(json->length - words);
	json->tight = 0;
	keep_escaped(texts, row);
	return row->text ? row : NULL;
}

void gt_chrome_put_launched_by(struct gt_chrome_texts *texts, struct gt_json *json,
			       const struct gt_stack *stack)
{
	const struct gt_chrome_text *row = stack_row(texts, stack);
	size_t lead = sizeof(", \"launched by\": ") - 1 - 2 * texts->tight;
	const struct gt_json *line;

	if (row) {
		gt_json_raw(json, row->text + lead, row->length - lead - row->behind);
		return;
	}
	line = make_line(texts, stack);
	gt_json_string(json, line->text, line->length);
}

void gt_chrome_put_launch_stack(struct gt_chrome_texts *texts, struct gt_json *json,
				const struct gt_stack *stack)
{
	const struct gt_chrome_text *row = stack_row(texts, stack);
	bool is_first = json->length && json->text[json->length - 1] == '{';
	size_t comma = is_first ? 2 - texts->tight : 0;

	if (row && json->tight == texts->tight) {
		gt_json_raw(json, row->text + comma, row->length - comma);
		return;
	}
	gt_json_key(json, "launched by");
	gt_chrome_put_launched_by(texts, json, stack);
	gt_json_key(json, "stack");
	gt_json_u64(json, stack->id);
}

void gt_chrome_put_frame_name(struct gt_chrome_texts *texts, struct gt_json *json,
			      const struct gt_stack_frame *frame, uint32_t first_line,
			      uint32_t last_line)
{
	struct gt_stack_frame lines = *frame;

	lines.line = first_line;
	gt_json_cut(&texts->scratch, 0);
	gt_frame_text(&texts->scratch, &lines, last_line, false);
	gt_json_string(json, texts->scratch.text, texts->scratch.length);
}

void gt_chrome_put_whole_frame(struct gt_chrome_texts *texts, struct gt_json *json,
			       const struct gt_stack_frame *frame)
{
	gt_json_cut(&texts->scratch, 0);
	gt_frame_text(&texts->scratch, frame, 0, true);
	gt_json_string(json, texts->scratch.text, texts->scratch.length);
}

void gt_chrome_put_frames(struct gt_chrome_texts *texts, struct gt_json *json,
			  const struct gt_stack *stack)
{
	gt_json_char(json, '[');
	for (uint32_t i = 0; i < stack->count; i++) {
		gt_json_comma(json);
		gt_chrome_put_whole_frame(texts, json, stack->frames[i]);
	}
	gt_json_char(json, ']');
}

/* True once per module, identified by its build-id. */
static bool is_new_module(const struct gt_stack_frame *frame, void *data)
{
	struct gt_chrome_texts *texts = data;
	struct gt_chrome_text *row = gt_chrome_row(&texts->strings, frame->build_id->id);

	if (!row || row->framed)
		return false;
	row->framed = true;
	return true;
}

void gt_chrome_put_modules(struct gt_chrome_texts *texts, struct gt_json *json, const char *key,
			   const struct gt_stack *stack)
{
	gt_modules_json_put(json, key, stack, is_new_module, texts);
}

bool gt_chrome_first_use(struct gt_chrome_texts *texts, const struct gt_stack *stack)
{
	struct gt_chrome_text *row = gt_chrome_row(&texts->stacks, stack->id);

	if (!row || row->framed)
		return !row;
	row->framed = true;
	return true;
}

bool gt_chrome_first_kernel(struct gt_chrome_texts *texts, const struct gt_string *name)
{
	struct gt_chrome_text *row = gt_chrome_row(&texts->strings, name->id);

	if (!row || row->framed)
		return false;
	row->framed = true;
	return true;
}
