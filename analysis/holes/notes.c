/* SPDX-License-Identifier: Apache-2.0
 *
 * The notes of a trace as lines, those that differ in their count alone as one (see parts.h). Pure.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holes/note_words.h"
#include "analysis/holes/parts.h"
#include "readers/show.h"

#define MOST_NOTES 64 /* lines */

/* Notes that differ in nothing but their count. */
struct same_notes {
	uint32_t name;
	const char *text, *number; /* of the first; number: where its count stands, or its end */
	uint64_t sum, times;
};

/* The count in a note's arguments: their first whole number, unless that is the number of a
 * stack. */
static const char *find_count(const char *text)
{
	static const char stack[] = "\"stack\":";
	bool quoted = false;
	const char *p = text;

	for (; *p && (quoted || !isdigit((unsigned char)*p)); p++) {
		if (!quoted && !strncmp(p, stack, sizeof(stack) - 1))
			return p + strlen(p);
		if (quoted && *p == '\\' && p[1])
			p++;
		else if (*p == '"')
			quoted = !quoted;
	}
	return p[strspn(p, "0123456789")] == '.' ? p + strlen(p) : p;
}

static const char *behind_count(const char *number)
{
	return number + strspn(number, "0123456789");
}

static bool is_same(const struct same_notes *a, const struct same_notes *b)
{
	return a->name == b->name && a->number - a->text == b->number - b->text &&
	       !memcmp(a->text, b->text, (size_t)(a->number - a->text)) &&
	       !strcmp(behind_count(a->number), behind_count(b->number));
}

/* The arguments of the first one, with the sum in the place of its count. free(); NULL: no memory.
 */
static char *sum_up(const struct same_notes *same)
{
	char *text = NULL, sum[24] = "";

	if (*same->number)
		snprintf(sum, sizeof(sum), "%" PRIu64, same->sum);
	if (asprintf(&text, "%.*s%s%s", (int)(same->number - same->text), same->text, sum,
		     behind_count(same->number)) < 0)
		return NULL;
	return text;
}

static void print_same(const struct gt_model *model, const struct same_notes *same, FILE *out)
{
	char *text = sum_up(same), *words = NULL, times[40] = "";
	size_t size = 0;
	FILE *memory = text ? open_memstream(&words, &size) : NULL;

	if (memory) {
		if (!strcmp(gt_model_name(model, same->name), "allocation failed"))
			gt_note_failure(text, memory);
		else
			gt_note_words(text, memory);
		fclose(memory);
	}
	if (same->times > 1)
		snprintf(times, sizeof(times), " (%" PRIu64 " times)", same->times);
	gt_show_line(out, "  %s%s%s%s", gt_model_name(model, same->name), size ? ": " : "",
		     words ? words : "", times);
	free(words);
	free(text);
}

static bool add_note(struct same_notes *lines, size_t *count, const struct same_notes *one)
{
	for (size_t i = 0; i < *count; i++) {
		if (is_same(&lines[i], one)) {
			lines[i].sum += one->sum;
			lines[i].times++;
			return true;
		}
	}
	if (*count == MOST_NOTES)
		return false;
	lines[(*count)++] = *one;
	return true;
}

static enum gt_holes_note kind_of(const struct gt_model *model, const struct gt_note *note)
{
	static const char *const events[] = {"stall", "option changed", "allocation failed", "XID",
					     "shared GPU"};
	const char *name = gt_model_name(model, note->name);
	const char *cause = gt_model_name(model, note->cause);

	if (!strcmp(cause, "--keep") || !strcmp(cause, "--flight-recorder") ||
	    !strcmp(name, "stall ended"))
		return GT_HOLES_NOTE_ELSEWHERE;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (!strcmp(name, events[i]))
			return GT_HOLES_NOTE_EVENT;
	return GT_HOLES_NOTE_LOSS;
}

size_t gt_holes_print_notes(const struct gt_model *model, enum gt_holes_note kind, FILE *out)
{
	struct same_notes lines[MOST_NOTES];
	uint64_t more = 0;
	size_t count = 0;

	for (size_t i = 0; i < model->notes.count; i++) {
		const struct gt_note *note = &model->notes.at[i];
		const char *text = gt_model_name(model, note->text), *number = find_count(text);
		struct same_notes one = {note->name, text, number, strtoull(number, NULL, 10), 1};

		if (kind_of(model, note) == kind)
			more += !add_note(lines, &count, &one);
	}
	for (size_t i = 0; i < count; i++)
		print_same(model, &lines[i], out);
	if (more)
		fprintf(out, "  ... and %" PRIu64 " more note%s\n", more, gt_plural(more));
	return count + (more != 0);
}
