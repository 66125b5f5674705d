/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that could not be taken as they stood (see parts.h). Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/holes/holes.h"
#include "analysis/holes/parts.h"
#include "readers/show.h"

static int by_count(const void *a, const void *b)
{
	const struct gt_odd_cat *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* No table holds them: which they are, and how many. */
static size_t print_unknown(const struct gt_model *model, FILE *out)
{
	struct gt_odd odd = model->odd;
	uint64_t others = odd.unknown_cat;
	const char *gap = "";

	if (!odd.unknown_cat)
		return 0;
	qsort(odd.unknown_cats, GT_ODD_CATS, sizeof(odd.unknown_cats[0]), by_count);
	fprintf(out, "  %" PRIu64 " slice%s of unknown categories, in no table: ", odd.unknown_cat,
		gt_plural(odd.unknown_cat));
	for (size_t i = 0; i < GT_ODD_CATS && odd.unknown_cats[i].count; i++, gap = ", ") {
		const char *name = gt_model_name(model, odd.unknown_cats[i].name);

		fputs(gap, out);
		gt_show(*name ? name : "no category", out);
		fprintf(out, " (%" PRIu64 ")", odd.unknown_cats[i].count);
		others -= odd.unknown_cats[i].count;
	}
	if (others)
		fprintf(out, ", others (%" PRIu64 ")", others);
	fputc('\n', out);
	return 1;
}

size_t gt_holes_print_counts(const struct gt_holes_count *counts, size_t count, FILE *out)
{
	size_t lines = 0;

	for (size_t i = 0; i < count; i++) {
		if (!counts[i].count)
			continue;
		fprintf(out, "  %" PRIu64 " %s%s %s\n", counts[i].count, counts[i].noun,
			gt_plural(counts[i].count), counts[i].rest);
		lines++;
	}
	return lines;
}

size_t gt_holes_print_odd(const struct gt_model *model, FILE *out)
{
	const struct gt_odd *odd = &model->odd;
	const struct gt_holes_count rows[] = {
		{odd->no_dur, "slice", "without a duration, counted as 0"},
		{odd->negative_dur, "slice", "with a negative duration, counted as 0"},
		{odd->bad_dur, "slice",
		 "whose duration is out of range or no number, counted as 0"},
		{odd->unfinished, "begin", "(ph B) without an end"},
		{odd->no_begin, "end", "(ph E) without a begin before it"},
		{odd->reversed, "end", "(ph E) with an earlier time than its begin, counted as 0"},
		{odd->unended, "range",
		 "without an end (unfinished), counted up to the end of the trace, or to the next "
		 "event that cannot be in it"},
		{odd->asynchronous, "asynchronous slice", "(ph b, S), left out"},
		{odd->no_ts, "event", "without a time stamp, left out"},
		{odd->bad_ts, "event", "whose time stamp is out of range or no number, left out"},
		{odd->no_phase, "event", "without \"ph\", left out"},
		{odd->no_place, "GPU operation",
		 "whose device or stream makes no sense, shown as GPU 65535 or stream -1"},
		{odd->shared_ids, "GPU operation",
		 "whose correlation id calls of several processes have, joined by time"},
		{odd->no_size, "size", "of copies and sets not told, in no sum"},
		{odd->no_bytes, "copy size", "out of range, in no sum of sizes"},
		{model->reading.strange, "traceEvents element",
		 "without the form of an event, left out"},
	};

	return gt_holes_print_counts(rows, sizeof(rows) / sizeof(rows[0]), out) +
	       print_unknown(model, out);
}

uint64_t gt_holes_unknown_work(const struct gt_job *job)
{
	uint64_t count = 0;

	for (size_t f = 0; f < job->count; f++) {
		if (job->models[f].ops.count)
			return 0;
		count += job->models[f].odd.unknown_work;
	}
	return count;
}
