/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "analysis/note_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

void gt_note_words(const char *text, FILE *out)
{
	size_t length = strlen(text);
	char *copy = calloc(1, length + GT_INPUT_PADDING);
	struct note_words note = {0};
	struct gt_scan scan;

	if (!copy)
		return;
	memcpy(copy, text, length);
	scan = (struct gt_scan){.end = copy + length};
	if (*copy == '{' && gt_scan_object(&scan, copy, take_member, &note) == copy + length)
		put_words(&note, out);
	else
		fputs(text, out);
	free(copy);
}
