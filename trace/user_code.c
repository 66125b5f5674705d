/* SPDX-License-Identifier: Apache-2.0
 *
 * See user_code.h. A frame's text is looked at once, however many stacks have it.
 */
#include "trace/user_code.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/keymap.h"
#include "trace/frame.h"

#define LONGEST  4096 /* text of a file, module or function that is compared with a pattern */
#define NOT_SEEN 0xff

enum library_kind {
	START,
	FOLDER,
	FILE_NAME,
	MODULE,
	FUNCTION,
	ENTRY,
	EXEC,
	DOMAIN,
};

static const struct {
	enum library_kind kind;
	const char *text;
} table[] = {
#define FILE                                FILE_NAME /* not stdio's */
#define GT_LIBRARY_CODE(kind, text, source) {kind, text},
#include "trace/user_code.def"
#undef GT_LIBRARY_CODE
#undef FILE
};

/* A part of a frame's text. */
struct user_code_text {
	const char *at;
	size_t len;
};

static bool starts(struct user_code_text text, const char *prefix)
{
	size_t len = strlen(prefix);

	return text.len >= len && !memcmp(text.at, prefix, len);
}

static bool equals(struct user_code_text text, const char *other)
{
	return starts(text, other) && !other[text.len];
}

static struct user_code_text base_of(struct user_code_text path)
{
	const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;

	return slash ? (struct user_code_text){slash + 1, (size_t)(path.at + path.len - slash - 1)}
		     : path;
}

/* The byte behind the brackets that open at @p, @end if they do not close. */
static const char *behind_brackets(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		if (strchr("(<{[", *p))
			depth++;
		else if (strchr(")>}]", *p) && !(*p == '>' && p[-1] == '-') && --depth == 0)
			return p + 1;
	}
	return end;
}

/* "std::enable_if<true>::type app::run<int>(float*)" -> from "app" on. */
static struct user_code_text qualified(struct user_code_text function)
{
	const char *p = function.at, *end = p + function.len, *start = p;

	while (p < end) {
		bool nameless = (size_t)(end - p) > 10 && !memcmp(p, "(anonymous", 10);

		if ((*p == '(' && !nameless) ||
		    ((size_t)(end - p) > 8 && !memcmp(p, "operator", 8)))
			break;
		if (*p == ' ')
			start = p + 1;
		p = strchr("(<{[", *p) ? behind_brackets(p, end) : p + 1;
	}
	return (struct user_code_text){start, (size_t)(end - start)};
}

static bool is_in_table(struct user_code_text file, struct user_code_text module,
			struct user_code_text function)
{
	struct user_code_text path = file.len ? file : module;
	bool has_folder = path.len && *path.at == '/';

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const char *text = table[i].text;
		bool found = false;

		if (table[i].kind == START)
			found = starts(path.len ? path : function, text);
		else if (table[i].kind == FOLDER)
			found = path.len && memmem(path.at, path.len, text, strlen(text));
		else if (table[i].kind == FILE_NAME)
			found = file.len && equals(file, text);
		else if (table[i].kind == MODULE)
			found = module.len && starts(base_of(module), text);
		else if (table[i].kind == FUNCTION && (!file.len || !has_folder))
			found = starts(function, text);
		else if (table[i].kind == ENTRY && !file.len)
			found = equals(function, text);
		else if (table[i].kind == EXEC && equals(file, "<string>"))
			found = equals(function, text);
		if (found)
			return true;
	}
	return false;
}

bool gt_user_code_has_domain(const char *domain)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].kind == DOMAIN && !strcmp(table[i].text, domain))
			return false;
	return true;
}

static bool fits(const char *glob, struct user_code_text part)
{
	char text[LONGEST];

	if (!part.len || part.len >= sizeof(text))
		return false;
	memcpy(text, part.at, part.len);
	text[part.len] = 0;
	return !fnmatch(glob, text, 0);
}

uint8_t gt_user_code_rank(const char *frame, const char *const *globs, size_t count)
{
	struct gt_frame parts;
	struct user_code_text file, module, function;
	uint8_t line;

	frame += strlen(gt_frame_backward(frame));
	gt_frame_parse(frame, &parts);
	file = (struct user_code_text){parts.file, parts.file_len};
	module = (struct user_code_text){parts.module, parts.module_len};
	function = (struct user_code_text){parts.function, parts.function_len};
	line = parts.line ? GT_FRAME_LINE : 0;
	if (!file.len && !module.len) /* "[jit]+0x12" names no function */
		function.len = strlen(frame);
	function = qualified(function);
	for (size_t i = 0; i < count; i++)
		if (fits(globs[i], file) || fits(globs[i], module) || fits(globs[i], function))
			return GT_FRAME_NAMED | GT_FRAME_USER | line;
	return is_in_table(file, module, function) ? line : GT_FRAME_USER | line;
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
		struct gt_op *op = &model->ops.at[i];
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
		op->stack = (uint32_t)(entry->value - 1);
		if (op->call != GT_NONE)
			model->calls.at[op->call].stack = op->stack;
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
