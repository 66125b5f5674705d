/* SPDX-License-Identifier: Apache-2.0
 *
 * See user_code.h. A frame's text is looked at once, however many stacks have it.
 */
#include "trace/user_code.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

int gt_user_code_mark(struct gt_model *model, const char *const *globs, size_t count)
{
	free(model->ranks);
	model->named = count > 0;
	model->rank_count = model->names.text.count;
	model->ranks = malloc(model->rank_count + 1);
	if (!model->ranks)
		return -ENOMEM;
	memset(model->ranks, NOT_SEEN, model->rank_count);
	for (size_t i = 0; i < model->stacks.count; i++)
		for (uint32_t k = 0; k < model->stacks.at[i].count; k++)
			rank_name(model, model->stacks.at[i].frame[k], globs, count);
	for (size_t i = 0; i < model->ranges.count; i++)
		if (model->ranges.at[i].kind == GT_RANGE_PYTHON)
			rank_name(model, model->ranges.at[i].name, globs, count);
	return 0;
}

uint8_t gt_user_code_rank_of(const struct gt_model *model, uint32_t name)
{
	struct gt_frame frame;

	if (name < model->rank_count)
		return model->ranks[name];
	gt_frame_parse(gt_model_name(model, name), &frame);
	return GT_FRAME_USER | (frame.line ? GT_FRAME_LINE : 0);
}
