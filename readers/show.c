/* SPDX-License-Identifier: Apache-2.0
 *
 * See show.h.
 */
#include "readers/show.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/guest/text.h"
#include "readers/utf8.h"

/* One character at *text, which moves behind it. */
struct character {
	const char *text;
	size_t size;
	bool is_broken; /* no UTF-8 */
	bool is_control;
};

/* ASCII and no control character: most of what there is. */
static bool is_plain(char c)
{
	return c >= ' ' && c < 0x7f;
}

static struct character next_character(const char **text, const char *end)
{
	struct character one = {.text = *text};

	if (is_plain(*one.text)) {
		one.size = 1;
		++*text;
		return one;
	}
	one.size = gt_utf8_length((const unsigned char *)one.text, (size_t)(end - one.text));
	one.is_broken = !one.size;
	one.size += one.is_broken;
	one.is_control = !*one.text || (!one.is_broken && gt_text_control(one.text));
	*text += one.size;
	return one;
}

/* As it is, or @instead. */
static void put(const struct character *one, const char *instead, FILE *out)
{
	if (one->is_control || one->is_broken)
		fputs(instead, out);
	else
		for (size_t i = 0; i < one->size; i++)
			putc_unlocked(one->text[i], out);
}

static size_t count_plain(const char *text, const char *end)
{
	size_t n = 0;

	while (text + n < end && is_plain(text[n]))
		n++;
	return n;
}

static void show(const char *text, size_t size, FILE *out)
{
	for (const char *end = text + size; text < end;) {
		size_t plain = count_plain(text, end);

		fwrite(text, 1, plain, out);
		text += plain;
		if (text < end) {
			struct character one = next_character(&text, end);

			put(&one, "?", out);
		}
	}
}

void gt_show(const char *text, FILE *out)
{
	show(text, strlen(text), out);
}

void gt_show_line(FILE *out, const char *format, ...)
{
	char *line;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&line, format, list);
	va_end(list);
	if (length < 0)
		return;
	show(line, (size_t)length, out);
	fputc('\n', out);
	free(line);
}

/* The number of a control character, all of which have less than 17 bits. */
static unsigned int code_of(const struct character *one)
{
	const unsigned char *p = (const unsigned char *)one->text;

	if (one->size == 1)
		return p[0];
	if (one->size == 2)
		return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	return (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

void gt_show_json(const char *text, FILE *out)
{
	const char *end = text + strlen(text);

	fputc('"', out);
	while (text < end) {
		struct character one = next_character(&text, end);

		if (one.is_control)
			fprintf(out, "\\u%04x", code_of(&one));
		else if (*one.text == '"' || *one.text == '\\')
			fprintf(out, "\\%c", *one.text);
		else
			put(&one, "\\ufffd", out);
	}
	fputc('"', out);
}

void gt_show_xml(const char *text, FILE *out)
{
	static const struct {
		char character;
		const char *entity;
	} entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
	const char *end = text + strlen(text);

	while (text < end) {
		struct character one = next_character(&text, end);
		size_t i = 0;

		while (i < 4 && entities[i].character != *one.text)
			i++;
		if (i < 4)
			fputs(entities[i].entity, out);
		else
			put(&one, one.is_control ? " " : "\357\277\275", out);
	}
}

void gt_show_markdown(const char *text, FILE *out)
{
	const char *end = text + strlen(text);

	while (text < end) {
		struct character one = next_character(&text, end);

		if (*one.text && strchr("|<>*_`[]\\", *one.text))
			fputc('\\', out);
		put(&one, one.is_control ? " " : "\357\277\275", out);
	}
}

static size_t count_digits(const char *text, const char *end)
{
	const char *p = text;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return (size_t)(p - text);
}

/* A sign alone is none, and neither is a number. */
static bool is_formula(const char *text, const char *end)
{
	const char *p = text + 1;
	size_t digits;

	if (text == end || !memchr("=@\t\r+-", *text, 6))
		return false;
	if (*text != '+' && *text != '-')
		return true;
	digits = count_digits(p, end);
	p += digits;
	if (digits && p < end && *p == '.')
		p += 1 + count_digits(p + 1, end);
	return p != end;
}

void gt_show_csv(const char *text, size_t size, bool quoted, FILE *out)
{
	const char *end = text + size;

	quoted |= memchr(text, ',', size) || memchr(text, ';', size) || memchr(text, '"', size);
	fputs(quoted ? "\"" : "", out);
	fputs(is_formula(text, end) ? "'" : "", out);
	while (text < end) {
		struct character one = next_character(&text, end);

		if (*one.text == '"')
			fputc('"', out);
		put(&one, "?", out);
	}
	fputs(quoted ? "\"" : "", out);
}
