/* SPDX-License-Identifier: Apache-2.0
 *
 * What the traces do not hold, and what could not be taken as it stood in them. Pure over
 * constant models.
 */
#include "analysis/holes/holes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holes/parts.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "readers/show.h"

/* What was under way when a process ended may be one part in this many of all, as for `diff --gate`
 * less is nothing that matters. */
#define UNDER_WAY_PART 100

/* What a loss does to sums. */
enum loss_kind {
	LOSS_ASIDE,    /* nothing: what is missing is no work, or stands elsewhere */
	LOSS_HOLE,     /* they are too small, or wrong */
	LOSS_LAUNCHES, /* too small by what was under way at the end: bearable as long as it is
			  little */
	LOSS_CALLS,
};

/* Keys of the ledger that speak of something missing or wrong. */
static const struct {
	enum gt_ledger_key key;
	enum loss_kind kind;
} losses[] = {
	{GT_LEDGER_CALLS_LOST_RING, LOSS_HOLE},
	{GT_LEDGER_CALLS_LOST_THREAD, LOSS_HOLE},
	{GT_LEDGER_CALLS_OPEN, LOSS_CALLS},
	{GT_LEDGER_RECORDS_UNKNOWN, LOSS_HOLE},
	{GT_LEDGER_RECORDS_INSANE, LOSS_HOLE},
	{GT_LEDGER_RECORDS_DROPPED, LOSS_HOLE},
	{GT_LEDGER_RECORDS_UNREADABLE_BYTES, LOSS_HOLE},
	{GT_LEDGER_BUFFERS_DISCARDED, LOSS_HOLE},
	{GT_LEDGER_BUFFERS_LOST_BYTES, LOSS_HOLE},
	{GT_LEDGER_BUFFERS_KEPT, LOSS_HOLE},
	{GT_LEDGER_BUFFERS_UNREAD, LOSS_HOLE},
	{GT_LEDGER_CAPTURE_GAPS, LOSS_HOLE},
	{GT_LEDGER_LAUNCHES_IN_GAPS, LOSS_HOLE},
	{GT_LEDGER_KERNELS_UNTIMED, LOSS_HOLE},
	{GT_LEDGER_MEMCPYS_UNTIMED, LOSS_HOLE},
	{GT_LEDGER_MEMSETS_UNTIMED, LOSS_HOLE},
	{GT_LEDGER_GRAPHS_UNTIMED, LOSS_HOLE},
	{GT_LEDGER_GRAPHS_LEFT_OUT, LOSS_ASIDE},
	{GT_LEDGER_TIME_UNKNOWN, LOSS_HOLE},
	{GT_LEDGER_TIME_REVERSED, LOSS_HOLE},
	{GT_LEDGER_TIME_AHEAD, LOSS_HOLE},
	{GT_LEDGER_GPU_BEFORE_LAUNCH, LOSS_HOLE},
	{GT_LEDGER_OPS_UNLINKED, LOSS_ASIDE},
	{GT_LEDGER_OPS_IN_FLIGHT, LOSS_LAUNCHES},
	{GT_LEDGER_STACKS_REFUSED, LOSS_ASIDE},
	{GT_LEDGER_STRINGS_REFUSED, LOSS_ASIDE},
	{GT_LEDGER_RINGS_THINNED, LOSS_ASIDE},
	{GT_LEDGER_MODULES_UNREAD, LOSS_ASIDE},
	{GT_LEDGER_RANGES_LOST, LOSS_HOLE},
	{GT_LEDGER_CORRELATION_EVICTED, LOSS_ASIDE},
	{GT_LEDGER_EVENTS_LOST_DISK, LOSS_HOLE},
	{GT_LEDGER_EVENTS_LOST_EARLY, LOSS_HOLE},
	{GT_LEDGER_EVENTS_LOST_MEMORY, LOSS_HOLE},
	{GT_LEDGER_EVENTS_LOST_KILLED, LOSS_HOLE},
	{GT_LEDGER_SPOOL_REFUSED, LOSS_ASIDE},
	{GT_LEDGER_SPOOL_THREADS, LOSS_ASIDE},
	{GT_LEDGER_BLOCKS_REFUSED, LOSS_ASIDE},
	{GT_LEDGER_TENSORS_LOST, LOSS_ASIDE},
	{GT_LEDGER_OS_CALLS_LOST, LOSS_ASIDE},
};

/* 0 too where the ledger does not tell. */
static int64_t count_of(const struct gt_reading *reading, enum gt_ledger_key key)
{
	int64_t count = 0;

	gt_header_int(&reading->header, "ledger", gt_ledger_rows[key].json, &count);
	return count;
}

static size_t print_ledger(const struct gt_reading *reading, FILE *out)
{
	size_t lines = 0;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		const struct gt_ledger_row *row = &gt_ledger_rows[losses[i].key];
		int64_t count = count_of(reading, losses[i].key);

		if (!count || gt_header_is_asked_for(&reading->header, losses[i].key))
			continue;
		fprintf(out, "  %" PRId64 " %s: %s\n", count, row->json, row->help);
		lines++;
	}
	return lines;
}

/* What --keep removed. The newest file knows of all, its notes only of what went before it
 * began. */
static size_t print_removed(const struct gt_reading *reading, FILE *out)
{
	static const struct {
		enum gt_segment_key key;
		const char *what;
	} rows[] = {
		{GT_SEGMENT_CALLS_REMOVED, "calls"},    {GT_SEGMENT_KERNELS_REMOVED, "kernels"},
		{GT_SEGMENT_MEMCPYS_REMOVED, "copies"}, {GT_SEGMENT_MEMSETS_REMOVED, "sets"},
		{GT_SEGMENT_SYNCS_REMOVED, "waits"},    {GT_SEGMENT_RANGES_REMOVED, "ranges"},
		{GT_SEGMENT_GRAPHS_REMOVED, "graphs"},  {GT_SEGMENT_OTHERS_REMOVED, "others"},
	};
	const char *comma = "";
	int64_t files;

	if (!gt_header_int(&reading->header, "segment", gt_segment_names[GT_SEGMENT_FILES_REMOVED],
			   &files) ||
	    !files)
		return 0;
	fprintf(out, "  %" PRId64 " older %s removed by --keep: ", files,
		files == 1 ? "file" : "files");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t count;

		if (!gt_header_int(&reading->header, "segment", gt_segment_names[rows[i].key],
				   &count) ||
		    !count)
			continue;
		fprintf(out, "%s%" PRId64 " %s", comma, count, rows[i].what);
		comma = ", ";
	}
	fputs(comma[0] ? "\n" : "nothing\n", out);
	return 1;
}

/* --pytorch or --python-functions that came to nothing. */
static size_t print_frameworks(const struct gt_model *model, FILE *out)
{
	char text[400];

	if (!gt_header_text(&model->reading.header, "metadata", "frameworks", text, sizeof(text)) ||
	    !strstr(text, ": off: "))
		return 0;
	gt_show_line(out, "  frameworks: %s", text);
	return 1;
}

bool gt_holes_lack_work(const struct gt_reading *reading)
{
	static const enum gt_ledger_key keys[] = {
		GT_LEDGER_KERNELS_FILTERED, GT_LEDGER_MEMCPYS_FILTERED, GT_LEDGER_MEMSETS_FILTERED,
		GT_LEDGER_GRAPHS_FILTERED};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (count_of(reading, keys[i]))
			return true;
	return false;
}

/* Left out on purpose. */
static size_t print_filtered(const struct gt_reading *reading, FILE *out)
{
	static const struct {
		enum gt_ledger_key key;
		const char *what;
	} rows[] = {
		{GT_LEDGER_CALLS_FILTERED, "calls not recorded"},
		{GT_LEDGER_CALLS_FILTERED_LATER, "calls of GPU work"},
		{GT_LEDGER_KERNELS_FILTERED, "kernels"},
		{GT_LEDGER_MEMCPYS_FILTERED, "copies"},
		{GT_LEDGER_MEMSETS_FILTERED, "sets"},
		{GT_LEDGER_GRAPHS_FILTERED, "graphs"},
		{GT_LEDGER_SYNCS_FILTERED, "waits"},
		{GT_LEDGER_RANGES_FILTERED, "ranges"},
	};
	char filters[GT_METADATA_FILTERS];
	const char *comma = "";

	if (!gt_holes_filters(reading, filters))
		return 0;
	gt_show_line(out, "  filtered while recording (%s)%s", filters,
		     gt_holes_lack_work(reading) ? "; sums and busy time are of the rest" : "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t count = count_of(reading, rows[i].key);

		if (!count)
			continue;
		fprintf(out, "%s%" PRId64 " %s", *comma ? comma : "  left out by filters: ", count,
			rows[i].what);
		comma = ", ";
	}
	if (*comma)
		fputc('\n', out);
	return 1 + (*comma != 0);
}

/* Left out to keep the overhead low: --max-overhead. */
static size_t print_governed(const struct gt_reading *reading, FILE *out)
{
	static const struct {
		enum gt_ledger_key key;
		const char *what;
	} rows[] = {
		{GT_LEDGER_STACKS_GOVERNED, "call stacks"},
		{GT_LEDGER_PYTHON_GOVERNED, "Python stacks"},
		{GT_LEDGER_CALLS_GOVERNED, "calls"},
		{GT_LEDGER_CALLS_GOVERNED_LATER, "calls of GPU work"},
		{GT_LEDGER_KERNELS_GOVERNED, "kernels"},
		{GT_LEDGER_MEMCPYS_GOVERNED, "copies"},
		{GT_LEDGER_MEMSETS_GOVERNED, "sets"},
		{GT_LEDGER_GRAPHS_GOVERNED, "graphs"},
		{GT_LEDGER_SYNCS_GOVERNED, "waits"},
	};
	const char *comma = "";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t count = count_of(reading, rows[i].key);

		if (!count)
			continue;
		fprintf(out, "%s%" PRId64 " %s",
			*comma ? comma : "  left out by --max-overhead: ", count, rows[i].what);
		comma = ", ";
	}
	if (*comma)
		fputc('\n', out);
	return *comma != 0;
}

/* Left out before rings were full: --thin. */
static size_t print_thinned(const struct gt_reading *reading, FILE *out)
{
	int64_t ranges = count_of(reading, GT_LEDGER_RANGES_THINNED),
		calls = count_of(reading, GT_LEDGER_CALLS_THINNED),
		later = count_of(reading, GT_LEDGER_CALLS_THINNED_LATER);

	if (!ranges && !calls && !later)
		return 0;
	fprintf(out,
		"  left out by --thin, more was called than could be written: %" PRId64
		" NVTX ranges, %" PRId64 " calls, the slices of %" PRId64 " calls of GPU work\n",
		ranges, calls, later);
	return 1;
}

/* Of a merged file some of its inputs, else the file itself. */
static void print_without_ledger(const struct gt_reading *reading, FILE *out)
{
	int64_t files = 0, without = 0;

	if (gt_header_int(&reading->header, "merged", "files", &files) &&
	    gt_header_int(&reading->header, "merged", "without_ledger", &without))
		fprintf(out,
			"  no ledger of %" PRId64 " of the %" PRId64
			" files that were merged: what they had not written is not known\n",
			without, files);
	else
		fputs("  no ledger: its process has not closed the file, what it had not written "
		      "is "
		      "not known\n",
		      out);
}

static size_t print_cut(const struct gt_reading *reading, FILE *out)
{
	if (reading->doubt[0])
		gt_show_line(out, "  %s", reading->doubt);
	if (!reading->closed && !reading->end_line)
		gt_show_line(out, "  cut: %s", reading->note);
	else if (!reading->closed)
		gt_show_line(out, "  cut at line %" PRIu64 ", offset %" PRIu64 ": %s",
			     reading->end_line, reading->end_byte, reading->note);
	if (reading->without_ledger)
		print_without_ledger(reading, out);
	return (reading->doubt[0] != 0) + !reading->closed + reading->without_ledger;
}

bool gt_holes_filters(const struct gt_reading *reading, char ret_filters[GT_METADATA_FILTERS])
{
	return gt_header_text(&reading->header, "metadata", "filters", ret_filters,
			      GT_METADATA_FILTERS) &&
	       *ret_filters;
}

size_t gt_holes_of_reading(const struct gt_reading *reading, FILE *out)
{
	return print_cut(reading, out) + print_ledger(reading, out) + print_removed(reading, out) +
	       print_filtered(reading, out) + print_governed(reading, out) +
	       print_thinned(reading, out);
}

static bool is_bearable(const struct gt_model *model, enum gt_ledger_key key, enum loss_kind kind)
{
	int64_t count = count_of(&model->reading, key);
	size_t of = kind == LOSS_CALLS ? model->calls.count : model->ops.count;

	if (kind == LOSS_LAUNCHES || kind == LOSS_CALLS)
		return count <= (int64_t)(of / UNDER_WAY_PART);
	return kind == LOSS_ASIDE || !count;
}

static bool is_whole(const struct gt_model *model)
{
	const struct gt_reading *reading = &model->reading;
	int64_t files;

	if (!reading->closed || reading->without_ledger || reading->doubt[0])
		return false;
	if (gt_header_int(&reading->header, "segment", gt_segment_names[GT_SEGMENT_FILES_REMOVED],
			  &files) &&
	    files)
		return false;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (!is_bearable(model, losses[i].key, losses[i].kind))
			return false;
	return true;
}

bool gt_holes_whole(const struct gt_job *job)
{
	for (size_t f = 0; f < job->count; f++)
		if (!is_whole(&job->models[f]))
			return false;
	return true;
}

static size_t print_losses(const struct gt_model *model, FILE *out)
{
	return gt_holes_of_reading(&model->reading, out) +
	       gt_holes_print_notes(model, GT_HOLES_NOTE_LOSS, out) + print_frameworks(model, out) +
	       gt_holes_print_odd(model, out);
}

static size_t print_events(const struct gt_model *model, FILE *out)
{
	return gt_holes_print_notes(model, GT_HOLES_NOTE_EVENT, out);
}

/* What @print writes of each trace, under its name. */
static size_t print_each(const struct gt_job *job,
			 size_t (*print)(const struct gt_model *model, FILE *out), FILE *out)
{
	size_t lines = 0;

	for (size_t f = 0; f < job->count; f++) {
		char *text = NULL;
		size_t size, here;
		FILE *memory = open_memstream(&text, &size);

		if (!memory)
			return lines;
		here = print(&job->models[f], memory);
		fclose(memory);
		if (here) {
			gt_show_line(out, "%s:", job->models[f].path);
			fputs(text, out);
		}
		free(text);
		lines += here;
	}
	return lines;
}

size_t gt_holes_of(const struct gt_job *job, FILE *out)
{
	return print_each(job, print_losses, out);
}

size_t gt_holes_events(const struct gt_job *job, FILE *out)
{
	return print_each(job, print_events, out);
}
