/* SPDX-License-Identifier: Apache-2.0
 *
 * What the traces do not hold, and what could not be taken as it stood in them (see stats.h). Pure
 * over constant models.
 */
#include "analysis/stats.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/note_words.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "readers/show.h"
#include "trace/user_code.h"

#define MOST_NOTES     64 /* lines */

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

enum note_kind {
	NOTE_LOSS,
	NOTE_EVENT,     /* leaves no hole */
	NOTE_ELSEWHERE, /* print_removed has it, or it is not worth a line */
};

static enum note_kind kind_of(const struct gt_model *model, const struct gt_note *note)
{
	static const char *const events[] = {"stall", "option changed", "allocation failed", "XID",
					     "shared GPU"};
	const char *name = gt_model_name(model, note->name);
	const char *cause = gt_model_name(model, note->cause);

	if (!strcmp(cause, "--keep") || !strcmp(cause, "--flight-recorder") ||
	    !strcmp(name, "stall ended"))
		return NOTE_ELSEWHERE;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (!strcmp(name, events[i]))
			return NOTE_EVENT;
	return NOTE_LOSS;
}

/* What happened again and again is one line with the sum: an operation without times is a note of
 * its own. */
static size_t print_notes(const struct gt_model *model, enum note_kind kind, FILE *out)
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

bool gt_stats_has_code(const struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		const struct gt_model *model = &job->models[i];

		if (model->stacks.count)
			return true;
		for (size_t t = 0; t < model->threads.count; t++)
			if (model->threads.at[t].range[GT_RANGE_PYTHON].count)
				return true;
	}
	return false;
}

/* Whether PyTorch's engine launched it, and no line of the user's is known. */
static bool is_lost_backward(const struct gt_model *model, const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	uint8_t rank;

	if (!call || strncmp(gt_model_name(model, model->threads.at[call->thread].name),
			     "pt_autograd_", 12) != 0)
		return false;
	gt_user_code_launching(model, op->stack, &rank);
	return !(rank & GT_FRAME_USER);
}

struct gt_stats_backward gt_stats_backward(const struct gt_job *job, const struct gt_filter *filter)
{
	struct gt_stats_backward sum = {0};

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		sum.is_tied |= model->forwards.count > 0;
		for (size_t i = 0; model->ranks && i < model->ops.count; i++) {
			const struct gt_op *op = &model->ops.at[i];

			if (!gt_filter_op(filter, model, op))
				continue;
			sum.all += op->dur;
			sum.time += is_lost_backward(model, op) ? op->dur : 0;
		}
	}
	return sum;
}

uint64_t gt_stats_unknown_work(const struct gt_job *job)
{
	uint64_t count = 0;

	for (size_t f = 0; f < job->count; f++) {
		if (job->models[f].ops.count)
			return 0;
		count += job->models[f].odd.unknown_work;
	}
	return count;
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

bool gt_stats_lacks_work(const struct gt_reading *reading)
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

	if (!gt_stats_filters(reading, filters))
		return 0;
	gt_show_line(out, "  filtered while recording (%s)%s", filters,
		     gt_stats_lacks_work(reading) ? "; sums and busy time are of the rest" : "");
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

static size_t print_odd(const struct gt_model *model, FILE *out)
{
	const struct gt_odd *odd = &model->odd;
	const struct {
		uint64_t count;
		const char *noun, *rest;
	} rows[] = {
		{odd->no_dur, "slice", "without a duration, counted as 0"},
		{odd->negative_dur, "slice", "with a negative duration, counted as 0"},
		{odd->bad_dur, "slice",
		 "whose duration is out of range or no number, counted as 0"},
		{odd->unfinished, "begin", "(ph B) without an end"},
		{odd->no_begin, "end", "(ph E) without a begin before it"},
		{odd->reversed, "end", "(ph E) with an earlier time than its begin, counted as 0"},
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
	size_t lines = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!rows[i].count)
			continue;
		fprintf(out, "  %" PRIu64 " %s%s %s\n", rows[i].count, rows[i].noun,
			gt_plural(rows[i].count), rows[i].rest);
		lines++;
	}
	return lines + print_unknown(model, out);
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
		gt_show_line(out, "  cut at line %" PRIu64 ", byte %" PRIu64 ": %s",
			     reading->end_line, reading->end_byte, reading->note);
	if (reading->without_ledger)
		print_without_ledger(reading, out);
	return (reading->doubt[0] != 0) + !reading->closed + reading->without_ledger;
}

bool gt_stats_filters(const struct gt_reading *reading, char ret_filters[GT_METADATA_FILTERS])
{
	return gt_header_text(&reading->header, "metadata", "filters", ret_filters,
			      GT_METADATA_FILTERS) &&
	       *ret_filters;
}

size_t gt_stats_reading_losses(const struct gt_reading *reading, FILE *out)
{
	return print_cut(reading, out) + print_ledger(reading, out) + print_removed(reading, out) +
	       print_filtered(reading, out) + print_governed(reading, out);
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

bool gt_stats_whole(const struct gt_job *job)
{
	for (size_t f = 0; f < job->count; f++)
		if (!is_whole(&job->models[f]))
			return false;
	return true;
}

static size_t print_losses(const struct gt_model *model, FILE *out)
{
	return gt_stats_reading_losses(&model->reading, out) + print_notes(model, NOTE_LOSS, out) +
	       print_frameworks(model, out) + print_odd(model, out);
}

static size_t print_events(const struct gt_model *model, FILE *out)
{
	return print_notes(model, NOTE_EVENT, out);
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

size_t gt_stats_losses(const struct gt_job *job, FILE *out)
{
	return print_each(job, print_losses, out);
}

size_t gt_stats_events(const struct gt_job *job, FILE *out)
{
	return print_each(job, print_events, out);
}
