/* SPDX-License-Identifier: Apache-2.0
 *
 * See code_owner.h. Pure, any thread.
 */
#include "core/json/code_owner.h"

#include <string.h>

/* Frames of a stack that has none of the user's. */
#define OTHER_FRAMES 3

const struct gt_line_limits gt_line_long = {.frames = GT_LINE_FRAMES, .inner = 3, .bytes = 400};
const struct gt_line_limits gt_line_short = {.frames = 3, .inner = 0, .bytes = 160};

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
#include "core/json/user_code.def"
#undef GT_LIBRARY_CODE
#undef FILE
};

static bool starts(struct gt_code_text text, const char *prefix)
{
	size_t len;

	if (!text.len || *text.at != *prefix)
		return false;
	len = strlen(prefix);
	return text.len >= len && !memcmp(text.at, prefix, len);
}

static bool equals(struct gt_code_text text, const char *other)
{
	return starts(text, other) && !other[text.len];
}

static struct gt_code_text base_of(struct gt_code_text path)
{
	const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;

	return slash ? (struct gt_code_text){slash + 1, (size_t)(path.at + path.len - slash - 1)}
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
struct gt_code_text gt_code_qualified(struct gt_code_text function)
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
	return (struct gt_code_text){start, (size_t)(end - start)};
}

bool gt_code_is_library(const struct gt_code *code)
{
	struct gt_code_text file = code->file, module = code->module;
	struct gt_code_text function = gt_code_qualified(code->function);
	struct gt_code_text path = file.len ? file : module;
	struct gt_code_text base = base_of(module);
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
			found = starts(base, text);
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

bool gt_code_is_library_domain(const char *domain)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].kind == DOMAIN && !strcmp(table[i].text, domain))
			return true;
	return false;
}

/* A name as C has it: with no parameters, template arguments or namespaces. */
static bool is_plain(struct gt_code_text function)
{
	for (size_t i = 0; i < function.len; i++)
		if (strchr("(<:[{ ", function.at[i]))
			return false;
	return true;
}

/* Has it template arguments in front of its parameters? */
static bool is_template(struct gt_code_text function)
{
	static const char nameless[] = "(anonymous namespace)";
	const char *p = function.at, *end = p + function.len;

	for (; p < end && *p != '<'; p++) {
		if ((size_t)(end - p) >= sizeof(nameless) &&
		    !memcmp(p, nameless, sizeof(nameless) - 1))
			p += sizeof(nameless) - 1;
		if (*p == '(')
			return false;
	}
	return p < end;
}

enum gt_line_class gt_code_line_class(const struct gt_code *code)
{
	if (!gt_code_is_library(code))
		return code->line ? GT_LINE_USER_AT : GT_LINE_USER;
	if (code->nameless)
		return GT_LINE_NAMELESS;
	if (code->line || is_plain(code->function))
		return GT_LINE_NAMED;
	return is_template(code->function) ? GT_LINE_TEMPLATE : GT_LINE_INTERNAL;
}

/* The innermost of the user's frames with a source line, else of all of the user's; @count: none.
 */
static size_t users_innermost(const struct gt_line_frame *frames, size_t count)
{
	size_t best = count;

	for (size_t i = 0; i < count; i++) {
		if (frames[i].class == GT_LINE_USER_AT)
			return i;
		if (frames[i].class == GT_LINE_USER && best == count)
			best = i;
	}
	return best;
}

/* The least class that is shown of a stack without a frame of the user's: names of functions
 * before instances of templates before addresses. */
static enum gt_line_class least_class(const struct gt_line_frame *frames, size_t count)
{
	enum gt_line_class most = GT_LINE_NAMELESS;

	for (size_t i = 0; i < count; i++)
		if (frames[i].class > most)
			most = frames[i].class;
	return most > GT_LINE_INTERNAL ? GT_LINE_INTERNAL : most;
}

size_t gt_line_choose(const struct gt_line_limits *limits, const struct gt_line_frame *frames,
		      size_t count, size_t ret_chosen[GT_LINE_FRAMES])
{
	size_t users = users_innermost(frames, count), chosen = 0, bytes = 0;
	size_t kept = users < count ? frames[users].length + GT_LINE_GAP : 0;
	size_t inside = users < count ? limits->inner : OTHER_FRAMES;
	enum gt_line_class inner = users < count ? GT_LINE_NAMED : least_class(frames, count);

	for (size_t i = 0; i < count && chosen < limits->frames; i++) {
		size_t length = frames[i].length + (chosen ? GT_LINE_GAP : 0);
		bool fits = bytes + length + (i < users ? kept : 0) <= limits->bytes;

		if (frames[i].class < (i < users ? inner : GT_LINE_USER) ||
		    (i < users && chosen == inside))
			continue;
		if (!fits && i > users)
			break;
		if (!fits && i < users && (chosen || users < count))
			continue;
		bytes += length;
		ret_chosen[chosen++] = i;
	}
	return chosen;
}
