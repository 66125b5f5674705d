/* SPDX-License-Identifier: Apache-2.0
 *
 * See native_frame.h. Pure, any thread.
 */
#include "transform/native_frame.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/frame.h"

/* The last @what in @len bytes of @text, or NULL. */
static const char *find_last(const char *text, size_t len, const char *what)
{
	size_t n = strlen(what);

	for (size_t i = len; i >= n; i--)
		if (!memcmp(text + i - n, what, n))
			return text + i - n;
	return NULL;
}

static bool parse(const char *text, size_t len, struct gt_native_frame *frame)
{
	const char *plus = find_last(text, len, "+0x"), *path = text, *end;
	char digits[24] = "";
	size_t digits_len;

	if (!plus)
		return false;
	digits_len = strspn(plus + 3, "0123456789abcdef");
	end = plus + 3 + digits_len;
	if (end == text + len - 1 && *end == ')') {
		path = find_last(text, (size_t)(plus - text), " (/");
		if (!path)
			return false;
		frame->function_len = (size_t)(path - text);
		path += 2;
	} else if (end != text + len) {
		return false;
	}
	if (digits_len == 0 || digits_len > 16 || *path != '/')
		return false;
	memcpy(digits, plus + 3, digits_len);
	frame->offset = strtoull(digits, NULL, 16);
	frame->path = path;
	frame->path_len = (size_t)(plus - path);
	return true;
}

bool gt_native_frame_parse(const char *text, struct gt_native_frame *ret_frame)
{
	char path[PATH_MAX];

	*ret_frame = (struct gt_native_frame){.text = text};
	if (!parse(text, strlen(text), ret_frame) || ret_frame->path_len >= sizeof(path))
		return false;
	memcpy(path, ret_frame->path, ret_frame->path_len);
	path[ret_frame->path_len] = 0;
	return !gt_frame_is_machinery(path);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The module without its folder, and the offset in it. */
static void put_module(FILE *out, const struct gt_native_frame *frame)
{
	const char *slash = memrchr(frame->path, '/', frame->path_len);
	const char *from = slash + 1 < frame->path + frame->path_len ? slash + 1 : frame->path;

	fprintf(out, "%.*s+0x%" PRIx64, (int)(frame->path + frame->path_len - from), from,
		frame->offset);
}

char *gt_native_frame_at(const struct gt_native_frame *frame, const struct gt_source_line *line,
			 bool whole)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (line->function)
		fputs(line->function, out);
	else if (frame->function_len)
		fwrite(frame->text, 1, frame->function_len, out);
	else
		put_module(out, frame);
	fprintf(out, " (%s:%d)", whole ? line->file : base_name(line->file), line->line);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
