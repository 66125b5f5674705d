/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "analysis/holes/note_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/table.h"
#include "core/schema/cuda_api.h"
#include "readers/chrome/scan.h"
#include "readers/input.h"

/* In this order. */
enum word {
	WORD_COUNT,
	WORD_OF_WHAT,
	WORD_DURATION,
	WORD_WHAT,
	WORD_CAUSE,
	WORDS_,
};

static const struct {
	const char *key;
	enum word word;
} keys[] = {
	{"count", WORD_COUNT}, {"of what", WORD_OF_WHAT}, {"duration (us)", WORD_DURATION},
	{"what", WORD_WHAT},   {"cause", WORD_CAUSE},
};

static const char *const left_out[] = {"stack", "frames", "modules"};

struct note_words {
	struct gt_span words[WORDS_];
	struct gt_span counted, count; /* "API calls": 12 */
};

static bool is_left_out(const struct gt_span *key)
{
	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		if (gt_span_is(key, left_out[i], strlen(left_out[i])))
			return true;
	return false;
}

static const char *take_member(struct gt_scan *scan, const struct gt_span *key, const char *value,
			       void *data)
{
	struct note_words *note = data;
	struct gt_span span;
	const char *behind = gt_scan_value(scan, value, &span);

	if (!behind || is_left_out(key))
		return behind;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (gt_span_is(key, keys[i].key, strlen(keys[i].key))) {
			note->words[keys[i].word] = span;
			return behind;
		}
	}
	if (span.kind == GT_SPAN_NUMBER) {
		note->counted = *key;
		note->count = span;
	}
	return behind;
}

static void put_span(const char *before, const struct gt_span *span, const char *after, FILE *out)
{
	char *text = malloc(span->len + 1u);
	size_t length;

	if (!text)
		return;
	length = span->kind == GT_SPAN_STRING ? gt_span_decode(span, text) : span->len;
	if (span->kind != GT_SPAN_STRING)
		memcpy(text, span->text, length);
	fputs(before, out);
	fwrite(text, 1, length, out);
	fputs(after, out);
	free(text);
}

static void put_words(const struct note_words *note, FILE *out)
{
	const char *comma = "";

	if (note->count.kind) {
		put_span("", &note->count, " ", out);
		put_span("", &note->counted, "", out);
		comma = ", ";
	}
	for (enum word word = 0; word < WORDS_; word++) {
		const struct gt_span *span = &note->words[word];

		if (!span->kind)
			continue;
		if (word == WORD_OF_WHAT && *comma)
			comma = " ";
		put_span(comma, span, word == WORD_DURATION ? " us" : "", out);
		comma = ", ";
	}
}

static char *decode(const struct gt_span *span)
{
	char *text = calloc(1, span->len + 1u);

	if (text && span->kind == GT_SPAN_STRING)
		text[gt_span_decode(span, text)] = 0;
	return text;
}

/* "in use on GPU 0: 512;", "of 512 bytes": the number is a size. */
static bool is_size(const char *text, const char *number, const char *behind)
{
	if (!strncmp(behind, " bytes", 6))
		return true;
	return number - text > 2 && number[-2] == ':' && (!*behind || *behind == ';');
}

/* "failed with 2": the words for it. */
static const char *put_result(const char *number, const char *cause, FILE *out)
{
	char *behind;
	int result = (int)strtol(number, &behind, 10);
	const char *words = gt_cuda_result_words(result);

	if (words || strcmp(cause, "result of the call") != 0)
		fprintf(out, "failed: %s", words ? words : cause);
	else
		fprintf(out, "failed with %d", result);
	return behind;
}

static void put_failure(const char *what, const char *cause, FILE *out)
{
	static const char failed[] = "failed with ";
	const char *p = what;
	char size[64];

	while (*p) {
		size_t digits =
			p > what && !isspace((unsigned char)p[-1]) ? 0 : strspn(p, "0123456789");

		if (!strncmp(p, failed, sizeof(failed) - 1)) {
			p = put_result(p + sizeof(failed) - 1, cause, out);
		} else if (digits && is_size(what, p, p + digits)) {
			fputs(gt_table_bytes(strtod(p, NULL), size, sizeof(size)), out);
			p += digits + (p[digits] == ' ' ? strlen(" bytes") : 0);
		} else {
			fputc(*p++, out);
		}
	}
}

/* Has @put write the arguments. False: they are no object. */
static bool read_words(const char *text, void (*put)(const struct note_words *note, FILE *out),
		       FILE *out)
{
	size_t length = strlen(text);
	char *copy = calloc(1, length + GT_INPUT_PADDING);
	struct note_words note = {0};
	struct gt_scan scan;
	bool is_object;

	if (!copy)
		return true;
	memcpy(copy, text, length);
	scan = (struct gt_scan){.end = copy + length};
	is_object =
		*copy == '{' && gt_scan_object(&scan, copy, take_member, &note) == copy + length;
	if (is_object)
		put(&note, out);
	free(copy);
	return is_object;
}

static void put_failure_words(const struct note_words *note, FILE *out)
{
	char *what = decode(&note->words[WORD_WHAT]), *cause = decode(&note->words[WORD_CAUSE]);

	if (what && *what && cause)
		put_failure(what, cause, out);
	else
		put_words(note, out);
	free(what);
	free(cause);
}

void gt_note_words(const char *text, FILE *out)
{
	if (!read_words(text, put_words, out))
		fputs(text, out);
}

void gt_note_failure(const char *text, FILE *out)
{
	if (!read_words(text, put_failure_words, out))
		fputs(text, out);
}
