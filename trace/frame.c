/* SPDX-License-Identifier: Apache-2.0
 *
 * See frame.h. Pure, any thread.
 */
#include "trace/frame.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/elf/libc_path.h"
#include "trace/code_name/code_name.h"

#define STACK_FRAME  48 /* bytes of a frame in a stack */
#define FRAME_TEXT   4096
#define LONG_PLACE   96       /* bytes of a name in a place that is not shortened */
#define PLACE_WIDTH  160      /* of one that is */
#define LONGEST_CALL 64       /* bytes of the name of a CUDA call */
#define LEAST_WIDTH  8        /* of what has lost its middle */
#define LEAST_ASIDE  20       /* of what stands aside */
#define MORE         " < ..." /* frames that are left out of a stack */
#define MORE_LEN     (sizeof(MORE) - 1)

/* "file:12" between @p and @end: where the colon stands, or NULL. */
static const char *line_colon(const char *p, const char *end)
{
	const char *colon = end;

	while (colon > p && isdigit((unsigned char)colon[-1]))
		colon--;
	return colon < end && colon > p && colon[-1] == ':' ? colon - 1 : NULL;
}

/* "module+0x1a2b": where the offset begins, else @end. */
static const char *offset_mark(const char *p, const char *end)
{
	const char *mark = end;

	while (mark > p && isxdigit((unsigned char)mark[-1]))
		mark--;
	return mark < end && mark - p >= 3 && !memcmp(mark - 3, "+0x", 3) ? mark - 3 : end;
}

static void take_place(struct gt_frame *frame, const char *p, const char *end)
{
	const char *colon = line_colon(p, end);

	if (colon) {
		frame->file = p;
		frame->file_len = (size_t)(colon - p);
		frame->line = strtol(colon + 1, NULL, 10);
	} else {
		frame->module = p;
		frame->module_len = (size_t)(offset_mark(p, end) - p);
	}
}

/* "file.py(12): function" */
static bool parse_kineto(const char *text, struct gt_frame *frame)
{
	const char *close = strstr(text, "): "), *open = close;

	if (!close)
		return false;
	while (open > text && isdigit((unsigned char)open[-1]))
		open--;
	if (open == close || open == text || open[-1] != '(')
		return false;
	frame->file = text;
	frame->file_len = (size_t)(open - 1 - text);
	frame->line = strtol(open, NULL, 10);
	frame->function = close + 3;
	frame->function_len = strlen(close + 3);
	return true;
}

const char *gt_frame_backward(const char *text)
{
	return strncmp(text, GT_FRAME_BACKWARD, strlen(GT_FRAME_BACKWARD)) ? "" : GT_FRAME_BACKWARD;
}

void gt_frame_parse(const char *text, struct gt_frame *ret_frame)
{
	size_t len = strlen(text);
	const char *open, *plus;

	*ret_frame = (struct gt_frame){.function = text, .function_len = len};
	if (parse_kineto(text, ret_frame))
		return;
	if (len > 2 && text[len - 1] == ')') {
		for (open = text + len - 2; open > text; open--) {
			if (open[0] == '(' && open[-1] == ' ') {
				take_place(ret_frame, open + 1, text + len - 1);
				ret_frame->function_len = (size_t)(open - 1 - text);
				return;
			}
		}
		return;
	}
	plus = strstr(text, "+0x");
	if (plus) {
		ret_frame->module = text;
		ret_frame->module_len = (size_t)(plus - text);
	}
}

/* A byte in the middle of a UTF-8 character. */
static bool is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Is there no bracket or pointer, as there is in the types of parameters? */
static bool is_place(const char *p, const char *end)
{
	if (line_colon(p, end) || offset_mark(p, end) != end)
		return true;
	for (const char *at = p; at < end; at++)
		if (strchr("()<>*&,", *at))
			return false;
	return p < end;
}

/* " (file.cu:42)" or " (module+0x1a2b)" at the end of a frame's text; NULL: none. */
static const char *place_of(const char *name)
{
	const char *end = name + strlen(name), *open;

	if (end == name || *--end != ')')
		return NULL;
	for (open = end - 1; open > name; open--)
		if (open[0] == '(' && open[-1] == ' ')
			return open - 1 > name && is_place(open + 1, end) ? open - 1 : NULL;
	return NULL;
}

/* The place of a frame, without its folder. */
static size_t put_place(const char *place, char *out, size_t size)
{
	const char *slash = strrchr(place, '/');
	int n = slash ? snprintf(out, size, " (%s", slash + 1) : snprintf(out, size, "%s", place);

	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

struct gt_code_name *gt_frame_parts(const char *name)
{
	const char *place = place_of(name);

	return gt_code_name_new(name, place ? (size_t)(place - name) : strlen(name));
}

/* One name, or one frame, of @width bytes (0: no limit) where its parts allow that. */
static size_t put_parts(struct gt_code_name *parts, const char *name, size_t width, char *out,
			size_t size)
{
	const char *place = place_of(name);
	char text[FRAME_TEXT] = "";
	size_t place_len = place ? put_place(place, text, sizeof(text)) : 0, n;

	if (width)
		width = width > place_len + LEAST_WIDTH ? width - place_len : LEAST_WIDTH;
	n = gt_code_name_write(parts, width, out, size);
	if (place_len > size - 1 - n)
		place_len = size - 1 - n;
	memcpy(out + n, text, place_len);
	out[n + place_len] = 0;
	return n + place_len;
}

static size_t shorten_one(const char *name, size_t width, char *out, size_t size)
{
	struct gt_code_name *parts = gt_frame_parts(name);
	size_t n;

	if (parts) {
		n = put_parts(parts, name, width, out, size);
	} else {
		snprintf(out, size, "%s", name);
		n = strlen(out);
	}
	gt_code_name_free(parts);
	return n;
}

/* The " < " behind the first frame of a stack, or NULL. */
static const char *next_frame(const char *stack)
{
	const char *gap = stack;

	while ((gap = strstr(gap, " < "))) {
		if (gap > stack && (gap[-1] == ')' || isxdigit((unsigned char)gap[-1])))
			return gap;
		gap += 3;
	}
	return NULL;
}

/* The frame from @start to @gap, NULL: to the end. */
static void take_frame(const char *start, const char *gap, char frame[FRAME_TEXT])
{
	size_t len = gap ? (size_t)(gap - start) : strlen(start);

	if (len >= FRAME_TEXT)
		len = FRAME_TEXT - 1;
	memcpy(frame, start, len);
	frame[len] = 0;
}

static size_t shorten_all(const char *name, size_t frame_width, char *out, size_t size)
{
	char frame[FRAME_TEXT];
	const char *gap;
	size_t n = 0;

	while ((gap = next_frame(name)) && n + sizeof(" < ") < size) {
		take_frame(name, gap, frame);
		n += shorten_one(frame, frame_width, out + n, size - n - sizeof(" < "));
		memcpy(out + n, " < ", 3);
		n += 3;
		name = gap + 3;
	}
	return n + shorten_one(name, frame_width, out + n, size - n);
}

/* Part of a "..." that the name has already; the one for the middle takes it in. */
static bool is_dots(const char *text, size_t at)
{
	return text[at] == '.' && (text[at + 1] == '.' || (at && text[at - 1] == '.'));
}

/* Takes the middle out of @n bytes of text. Returns what is left of them. */
static size_t cut_middle(char *text, size_t n, size_t width)
{
	size_t head, tail;

	if (n <= width || width < LEAST_WIDTH)
		return n;
	head = GT_NAME_HEAD(width);
	tail = n - (width - 3 - head);
	while (head && (is_inside(text[head]) || is_dots(text, head - 1)))
		head--;
	while (is_inside(text[tail]) || is_dots(text, tail))
		tail++;
	memmove(text + head + 3, text + tail, n - tail + 1);
	memcpy(text + head, "...", 3);
	return head + 3 + n - tail;
}

/* Of a stack the innermost frame, "..." for the others before frame @from, that one when frames are
 * left out before it, and of the rest what there is room for. */
static void shorten_stack(const char *name, size_t from, size_t width, size_t frame_width,
			  char *out, size_t size)
{
	const char *gap = next_frame(name);
	char frame[FRAME_TEXT], text[FRAME_TEXT];
	size_t n, len;

	take_frame(name, gap, frame);
	n = shorten_one(frame, frame_width, out, size);
	n = cut_middle(out, n, width > MORE_LEN + LEAST_WIDTH ? width - MORE_LEN : LEAST_WIDTH);
	for (size_t i = 1; gap; i++) {
		bool parts = i == from && from > 1;

		name = gap + 3;
		gap = next_frame(name);
		if (i < from)
			continue;
		take_frame(name, gap, frame);
		len = 3 + shorten_one(frame, frame_width, text, sizeof(text));
		if (n + len + 2 * MORE_LEN >= size ||
		    (!parts && n + len + (gap ? MORE_LEN : 0) > width))
			break;
		n += (size_t)snprintf(out + n, size - n, "%s < %s", parts ? MORE : "", text);
		if (!gap)
			return;
	}
	snprintf(out + n, size - n, MORE);
}

bool gt_frame_is_stack(const char *text)
{
	return next_frame(text) != NULL;
}

static void shorten(const char *name, size_t from, size_t width, size_t frame_width, char *out,
		    size_t size)
{
	bool is_stack = gt_frame_is_stack(name);
	size_t n = is_stack ? shorten_all(name, frame_width, out, size)
			    : shorten_one(name, width, out, size);

	if (!width || n <= width || width < LEAST_WIDTH)
		return;
	if (is_stack)
		shorten_stack(name, from, width, frame_width, out, size);
	else
		cut_middle(out, n, width);
}

void gt_frame_shorten_parts(struct gt_code_name *parts, const char *name, size_t width, char *out,
			    size_t size)
{
	size_t n = put_parts(parts, name, width, out, size);

	if (width)
		cut_middle(out, n, width);
}

void gt_frame_shorten(const char *name, size_t width, char *out, size_t size)
{
	shorten(name, 1, width, STACK_FRAME, out, size);
}

void gt_frame_shorten_branch(const char *stack, size_t common, size_t width, char *out, size_t size)
{
	shorten(stack, common, width, STACK_FRAME, out, size);
}

/* Copies @text without the folders in " (/folder/file.cu:12)" and " (/folder/module+0x12)". Returns
 * the length. */
static size_t drop_folders(const char *text, char *out, size_t size)
{
	size_t n = 0;

	while (*text && n + 1 < size) {
		const char *end = text[0] == ' ' && text[1] == '(' ? strchr(text, ')') : NULL;
		const char *slash = end ? memrchr(text, '/', (size_t)(end - text)) : NULL;

		if (slash && n + 3 < size && is_place(slash + 1, end)) {
			memcpy(out + n, " (", 2);
			n += 2;
			text = slash + 1;
		} else {
			out[n++] = *text++;
		}
	}
	out[n] = 0;
	return n;
}

/* Takes all @words out of a text. Returns its length. */
static size_t drop_words(char *text, const char *words)
{
	size_t length = strlen(words);
	char *at = text;

	while ((at = strstr(at, words)))
		memmove(at, at + length, strlen(at + length) + 1);
	return strlen(text);
}

/* Cuts what stands aside to what the rest leaves of @width, or off. Returns the length of all. */
static size_t shorten_aside(char *text, size_t n, size_t width)
{
	char *aside = strstr(text, GT_FRAME_ASIDE);
	size_t before = aside ? (size_t)(aside - text) : n, mark = sizeof(GT_FRAME_ASIDE) - 1;

	if (before == n)
		return n;
	if (width >= before + mark + LEAST_ASIDE)
		return before + mark +
		       cut_middle(aside + mark, n - before - mark, width - before - mark);
	*aside = 0;
	return before;
}

void gt_frame_fit(const char *text, size_t width, char *out, size_t size)
{
	size_t n = strlen(text);

	if (n <= width) {
		snprintf(out, size, "%s", text);
		return;
	}
	n = drop_folders(text, out, size);
	if (n > width)
		n = drop_words(out, "a call in ");
	if (n > width)
		n = shorten_aside(out, n, width);
	cut_middle(out, n, width);
}

/* What stands between the names of a place. */
static const char *const between[] = {", after a call in ", ", between calls in ",
				      ", up to a call in ", " up to a call in ",
				      ", up to ",           GT_FRAME_ASIDE};

/* Where the name at the beginning of @where ends, and how much of what follows is not the next. */
static size_t next_name(const char *where, size_t *ret_gap)
{
	size_t end = strlen(where);

	*ret_gap = 0;
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		const char *found = strstr(where, between[i]);

		if (found && (size_t)(found - where) < end) {
			end = (size_t)(found - where);
			*ret_gap = strlen(between[i]);
		}
	}
	return end;
}

/* One name of a place, of @len bytes. Those in "(k waited behind j)" are short. Returns the
 * length. */
static size_t put_name(const char *name, size_t len, char *out, size_t size)
{
	size_t most = *name == '(' ? PLACE_WIDTH : LONG_PLACE;
	char *copy = len > most ? strndup(name, len) : NULL;

	if (copy)
		gt_frame_shorten(copy, PLACE_WIDTH, out, size);
	else
		snprintf(out, size, "%.*s", (int)len, name);
	free(copy);
	return strlen(out);
}

void gt_frame_shorten_place(const char *where, char *out, size_t size)
{
	const char *from = strstr(where, " from ");
	size_t gap = from && from - where < LONGEST_CALL ? (size_t)(from - where) + 6 : 0, n = 0;

	*out = 0;
	while (*where && n + gap + 1 < size) {
		size_t end;

		n += (size_t)snprintf(out + n, size - n, "%.*s", (int)gap, where);
		where += gap;
		end = next_name(where, &gap);
		n += put_name(where, end, out + n, size - n);
		where += end;
	}
}

void gt_frame_essence(const char *name, char *out, size_t size)
{
	struct gt_code_name *parts = gt_code_name_new(name, strlen(name));

	if (parts)
		gt_code_name_essence(parts, out, size);
	else
		snprintf(out, size, "%s", name);
	gt_code_name_free(parts);
}

size_t gt_frame_common(const char *a, const char *b)
{
	size_t common = 0;

	while (a && b) {
		const char *x = next_frame(a), *y = next_frame(b);
		size_t len = x ? (size_t)(x - a) : strlen(a);

		if (len != (y ? (size_t)(y - b) : strlen(b)) || memcmp(a, b, len))
			break;
		common++;
		a = x ? x + 3 : NULL;
		b = y ? y + 3 : NULL;
	}
	return common;
}

void gt_frame_shorten_less(const char *name, size_t width, char *out, size_t size)
{
	shorten(name, 1, width, 0, out, size);
}

bool gt_frame_is_machinery(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return gt_path_is_libc(path) || !strncmp(name, "libffi.so", 9) ||
	       !strncmp(name, "libgputrace.so", 14) || !strncmp(name, "libgputrace-", 12) ||
	       !strncmp(name, "_ctypes.", 8);
}

size_t gt_frame_print(const char *text, char *out, size_t size)
{
	const char *base;
	struct gt_frame frame;
	int n;

	gt_frame_parse(text, &frame);
	base = frame.module && frame.module_len ? memrchr(frame.module, '/', frame.module_len)
						: NULL;
	if (!frame.module_len || frame.function == frame.module)
		n = snprintf(out, size, "%s", text);
	else
		n = snprintf(
			out, size, "%.*s (%.*s)", (int)frame.function_len, frame.function,
			(int)(frame.module + frame.module_len - (base ? base + 1 : frame.module)),
			base ? base + 1 : frame.module);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

bool gt_frame_fits(const char *name, const char *text, size_t length)
{
	struct gt_code_name *parts = gt_frame_parts(name);
	bool fits = parts && gt_code_name_fits(parts, text, length);

	gt_code_name_free(parts);
	return fits;
}

static bool same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && (!a_len || !memcmp(a, b, a_len));
}

bool gt_frame_same_function(const char *a, const char *b)
{
	struct gt_frame x, y;

	gt_frame_parse(a, &x);
	gt_frame_parse(b, &y);
	return same_text(x.function, x.function_len, y.function, y.function_len) &&
	       same_text(x.file, x.file_len, y.file, y.file_len) &&
	       same_text(x.module, x.module_len, y.module, y.module_len);
}
