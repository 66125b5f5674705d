/* SPDX-License-Identifier: Apache-2.0
 *
 * See wrap.h.
 */
#include "readers/wrap.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "readers/show.h"

size_t gt_wrap_width(const char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* How much of a word that is wider than @room to print: up to a mark in its second half, else as
 * many characters as there is room for. */
static const char *break_word(const char *word, const char *end, size_t room)
{
	const char *mark = NULL, *at = word;
	size_t n = 0;

	for (; at < end && n < room; n++) {
		at++;
		while (at < end && ((unsigned char)*at & 0xc0) == 0x80)
			at++;
		if (n >= room / 2 && strchr("/,:;|&=>_", at[-1]))
			mark = at;
	}
	return mark && at < end ? mark : at;
}

/* Words of [*@text, end) as long as they fit into @columns behind @column; at least one, or what
 * there is room for of it. */
static const char *end_of_piece(const char *text, const char *end, size_t columns, size_t column)
{
	const char *piece = text;

	while (piece < end) {
		const char *word = piece + strspn(piece, " ");
		const char *next = word + strcspn(word, " \n");

		if (column + gt_wrap_width(text, (size_t)(next - text)) > columns) {
			if (piece == text && columns > column + (size_t)(word - text))
				piece = break_word(word, next,
						   columns - column - (size_t)(word - text));
			return piece == text ? next : piece;
		}
		piece = next;
	}
	return piece;
}

/* One line without its end. */
static void wrap(FILE *out, size_t columns, size_t indent, const char *text, size_t size)
{
	const char *end = text + size;
	size_t column = 0;

	if (!columns) {
		fwrite(text, 1, size, out);
		return;
	}
	while (text < end) {
		const char *piece = end_of_piece(text, end, columns, column);

		fwrite(text, 1, (size_t)(piece - text), out);
		text = piece + strspn(piece, " ");
		if (text < end)
			fprintf(out, "\n%*s", (int)indent, "");
		column = indent;
	}
}

void gt_wrap_line(FILE *out, size_t columns, size_t indent, const char *format, ...)
{
	char *text, *shown = NULL;
	size_t size;
	va_list list;
	int length;
	FILE *memory;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return;
	memory = open_memstream(&shown, &size);
	if (memory) {
		gt_show(text, memory);
		if (!fclose(memory))
			wrap(out, columns, indent, shown, size);
	}
	fputc('\n', out);
	free(shown);
	free(text);
}

void gt_wrap_text(FILE *out, size_t columns, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, "\n");

		wrap(out, columns, strspn(text, " ") + 2, text, size);
		fputc('\n', out);
		text += size + (text[size] == '\n');
	}
}
