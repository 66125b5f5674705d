/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: the table of causes. A time in which the host made no call goes to what samples say
 * of it, if there are any, function by function: of a function that is met at several lines, the
 * line with the most samples is reported. Pure over constant models; one thread per set.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps.h"
#include "analysis/gaps_before.h"
#include "analysis/share.h"
#include "core/schema/ledger.h"
#include "trace/frame.h"

#define KEY_BYTES    8192
#define FIRST_CAUSE  'A' /* a key begins with the letter of its cause */
#define WINDOW_SHARE 1   /* its column; the idle time is the next */

#define CAUSES_COLUMNS(...)                                                                        \
	{                                                                                          \
		{"share", "Wall (%)", "of wall", GT_COLUMN_PERCENT},                               \
			{"window_share", "Window (%)", "of window", GT_COLUMN_PERCENT},            \
			{"total", "Idle Time (ns)", "idle", GT_COLUMN_TIME},                       \
			{"count", "Gaps", "gaps", GT_COLUMN_COUNT},                                \
			{"mean", "Avg (ns)", "mean", GT_COLUMN_MEAN},                              \
			{"max", "Max (ns)", "max", GT_COLUMN_TIME},                                \
			__VA_ARGS__{"cause", "Cause", "cause", GT_COLUMN_TEXT},                    \
			{"frame", "Frame", NULL, GT_COLUMN_TEXT},                                  \
			{"where", "Where", NULL, GT_COLUMN_TEXT},                                  \
			{"launch", "Last Launch", NULL, GT_COLUMN_TEXT},                           \
			{"launch_share", "Last Launch (% of idle)", NULL, GT_COLUMN_PERCENT},      \
			{"place", NULL, "while the host was in", GT_COLUMN_TEXT},                  \
	}

/* People get the last launch behind the place. */
static const struct gt_column columns[] = CAUSES_COLUMNS();
static const struct gt_column sampled_columns[] =
	CAUSES_COLUMNS({"samples", "Samples", "samples", GT_COLUMN_COUNT}, );

#define LEAST_PLACE 44  /* characters of what the table is about */
#define MOSTLY      0.9 /* of the idle time: the last launch of nearly all */

struct gaps_causes_row {
	int64_t total, samples, max;
	double count;
	int64_t best;   /* samples of the line, or ns of the file, that is reported */
	uint64_t files; /* that the places of the row name */
	struct gt_gaps_launch launch;
	int64_t weight; /* ns of the row that the launch is of */
	const char *text;
};

struct causes {
	struct gt_shares shares;   /* names: the cause as a digit, then the place */
	struct gt_groups rows;     /* the same without a line; index in list: of a row */
	struct gt_groups lines;    /* with the line, or file; tag[0]: samples or ns, tag[1]: row */
	struct gt_groups os_calls; /* by what words depend on */
	struct gt_gaps_before before;
	GT_VEC(struct gaps_causes_row) row;
	int64_t gap; /* number of the one whose pieces are taken */
	char key[KEY_BYTES];
};

/* "f (file.py:42)" -> "f (file.py)" */
static void without_line(const char *text, char *out, size_t size)
{
	size_t n = strlen(text), digits = 0;

	snprintf(out, size, "%s", text);
	if (n >= size || n < 4 || text[n - 1] != ')')
		return;
	while (digits + 2 < n && strchr("0123456789", text[n - 2 - digits]))
		digits++;
	if (digits && text[n - 2 - digits] == ':')
		snprintf(out + n - 2 - digits, size - (n - 2 - digits), ")");
}

static int add_samples(struct causes *c, const struct gt_gap *gap, const struct gt_piece *piece,
		       const char *base)
{
	const struct gt_model *model = gap->model;
	const struct gt_thread_track *track = &model->threads.at[piece->thread];
	uint32_t i = gt_model_sample_from(model, piece->thread, piece->start);
	char key[KEY_BYTES], place[2048];
	int rc = 0;

	for (; !rc && i < track->sample.first + track->sample.count &&
	       model->samples.at[i].ts < piece->start + piece->ns;
	     i++) {
		enum gt_cause cause = piece->cause;
		bool is_data;

		gt_gaps_place(model, model->samples.at[i].stack, place, sizeof(place), &is_data);
		if (cause == GT_CAUSE_HOST && is_data)
			cause = GT_CAUSE_DATA;
		snprintf(key, sizeof(key), "%c%s: %s", FIRST_CAUSE + (int)cause, piece->inside,
			 place);
		rc = *place ? gt_shares_sample(&c->shares, base, key,
					       gt_model_sample_time(model, i, piece->start,
								    piece->start + piece->ns))
			    : 0;
	}
	return rc;
}

static struct gaps_causes_row *row_of(struct causes *c, const char *key, size_t *ret_index)
{
	struct gt_group *group = gt_groups_get(&c->rows, key);

	if (!group)
		return NULL;
	*ret_index = (size_t)(group - c->rows.list.at);
	if (*ret_index == c->row.count &&
	    !gt_vec_push(&c->row,
			 ((struct gaps_causes_row){.text = gt_group_name(&c->rows, group)})))
		return NULL;
	return &c->row.at[*ret_index];
}

/* What a group of equal calls of the operating system has: numbers of others, + 1. */
enum { TAG_ROW, TAG_FILE };

/* One row for all files that the host waited for in one place. */
static int name_os_call(struct causes *c, const struct gt_model *model,
			const struct gt_piece *piece, struct gt_group *group)
{
	struct gt_group *file = NULL;
	size_t index,
		n = (size_t)snprintf(c->key, sizeof(c->key), "%c", FIRST_CAUSE + (int)piece->cause);

	if (model->os_calls.at[piece->os_call].file != GT_NAME_NONE) {
		gt_gaps_os_call(model, piece->os_call, true, c->key + n, sizeof(c->key) - n);
		file = gt_groups_get(&c->lines, c->key);
		if (!file)
			return -ENOMEM;
	}
	gt_gaps_os_call(model, piece->os_call, false, c->key + n, sizeof(c->key) - n);
	if (!row_of(c, c->key, &index))
		return -ENOMEM;
	group->tag[TAG_ROW] = (int64_t)index + 1;
	if (!file)
		return 0;
	file->tag[1] = (int64_t)index;
	group->tag[TAG_FILE] = file - c->lines.list.at + 1;
	return 0;
}

/* There may be very many of them, of few kinds: each kind is put into words once. */
static int add_os_call(struct causes *c, const struct gt_gap *gap, const struct gt_piece *piece)
{
	const struct gt_model_os_call *call = &gap->model->os_calls.at[piece->os_call];
	struct gt_group *group, *file;
	struct gaps_causes_row *row;
	int rc = 0;

	snprintf(c->key, sizeof(c->key), "%p %u %u %u %u %d", (const void *)gap->model, call->name,
		 call->thread, call->stack, call->file, (int)piece->cause);
	group = gt_groups_get(&c->os_calls, c->key);
	if (!group)
		return -ENOMEM;
	if (!group->tag[TAG_ROW])
		rc = name_os_call(c, gap->model, piece, group);
	if (rc)
		return rc;
	row = &c->row.at[group->tag[TAG_ROW] - 1];
	if (group->tag[TAG_FILE]) {
		file = &c->lines.list.at[group->tag[TAG_FILE] - 1];
		row->files += !file->tag[0];
		file->tag[0] += piece->ns;
	}
	snprintf(c->key, sizeof(c->key), "%s",
		 gt_group_name(&c->rows, &c->rows.list.at[group->tag[TAG_ROW] - 1]));
	rc = gt_gaps_before_add(&c->before, gap, c->key, piece->ns);
	return rc ? rc : gt_shares_span(&c->shares, c->key, c->gap, piece->ns);
}

static int add_piece(const struct gt_gap *gap, const struct gt_piece *piece, void *data)
{
	struct causes *c = data;
	int rc;

	if (piece->os_call != GT_NONE)
		return add_os_call(c, gap, piece);
	snprintf(c->key, sizeof(c->key), "%c%s", FIRST_CAUSE + (int)piece->cause, piece->where);
	rc = gt_shares_span(&c->shares, c->key, c->gap, piece->ns);
	if (!rc)
		rc = gt_gaps_before_add(&c->before, gap, c->key, piece->ns);
	return rc || piece->thread == GT_NONE ? rc : add_samples(c, gap, piece, c->key);
}

/* Of the bases that a row has parts of the one with the most. */
static void take_launch(struct causes *c, const struct gt_share *share, struct gaps_causes_row *row)
{
	struct gt_gaps_launch launch = gt_gaps_before_of(&c->before, share->base);
	int64_t weight =
		launch.of ? (int64_t)((double)launch.ns / (double)launch.of * (double)share->ns)
			  : 0;

	if (weight <= row->weight)
		return;
	row->launch = launch;
	row->weight = weight;
}

static int add_share(const struct gt_share *share, void *data)
{
	const char *place = share->place ? share->place : share->base;
	struct causes *c = data;
	struct gt_group *line;
	struct gaps_causes_row *row;
	size_t index;
	int64_t most;

	if (share->place)
		without_line(place, c->key, sizeof(c->key));
	else
		snprintf(c->key, sizeof(c->key), "%s", place);
	row = row_of(c, c->key, &index);
	line = gt_groups_get(&c->lines, place);
	if (!row || !line)
		return -ENOMEM;
	row->total += share->ns;
	row->samples += share->samples;
	row->count += share->spans.total ? (double)share->spans.count * (double)share->ns /
						   (double)share->spans.total
					 : (double)share->spans.count;
	most = share->spans.max < share->ns ? share->spans.max : share->ns;
	row->max = most > row->max ? most : row->max;
	take_launch(c, share, row);
	line->tag[0] += share->samples;
	line->tag[1] = (int64_t)index;
	return 0;
}

/* The texts of names move while there are new ones: taken when all are there. */
static void choose_lines(struct causes *c)
{
	for (size_t i = 0; i < c->row.count; i++)
		c->row.at[i].text = gt_group_name(&c->rows, &c->rows.list.at[i]);
	for (size_t i = 0; i < c->lines.list.count; i++) {
		const struct gt_group *line = &c->lines.list.at[i];
		struct gaps_causes_row *row = &c->row.at[line->tag[1]];

		if (line->tag[0] > row->best) {
			row->best = line->tag[0];
			row->text = gt_group_name(&c->lines, line);
		}
	}
}

static double percent(int64_t part, int64_t of)
{
	return of > 0 ? (double)part * 100 / (double)of : 0;
}

static bool has_frames(const struct gt_model *model)
{
	for (size_t i = 0; i < model->threads.count; i++)
		if (model->threads.at[i].range[GT_RANGE_PYTHON].count)
			return true;
	return model->stacks.count;
}

/* Whose frames the places are (--frame); "" where no trace has any. */
static const char *frame_of(const struct gt_gaps *gaps)
{
	if (!gaps->list.count || !has_frames(gaps->list.at[0].model))
		return "";
	return gaps->list.at[0].model->ranks ? "user" : "innermost";
}

/* Whether the place of a row tells the launch before its gaps. */
static bool tells_launch(const struct gaps_causes_row *row)
{
	return !row->launch.place || strstr(row->text, row->launch.place) ||
	       strstr(row->text, ", after a call in ") || row->text[1] == '(';
}

/* For programs by parts, for people in one. */
static void put_place(struct gt_table *table, const struct gaps_causes_row *row)
{
	double share = row->total ? (double)row->weight * 100 / (double)row->total : 0;
	char where[KEY_BYTES], text[2 * KEY_BYTES];
	size_t n;
	const char *mostly = share < MOSTLY * 100 ? "mostly " : "";

	snprintf(where, sizeof(where), "%s", row->text + 1);
	if (row->files > 1)
		snprintf(where, sizeof(where), "%s, and %" PRIu64 " other file%s", row->text + 1,
			 row->files - 1, row->files == 2 ? "" : "s");
	gt_table_text(table, where);
	gt_table_text(table, row->launch.place ? row->launch.place : "");
	if (row->launch.place)
		gt_table_number(table, share);
	else
		gt_table_absent(table, "");
	gt_frame_shorten_place(where, text, sizeof(text));
	n = strlen(text);
	if (!tells_launch(row)) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, GT_FRAME_ASIDE "%s", mostly);
		gt_frame_shorten_place(row->launch.place, text + n, sizeof(text) - n);
	}
	gt_table_text(table, text);
}

static void put_row(struct gt_table *table, const struct gaps_causes_row *row,
		    const struct gt_gaps *gaps, bool has_samples)
{
	double most =
		fmin(row->count + 0.5, (double)gaps->list.count); /* shares of several bases */
	double count = fmax((double)(int64_t)most, 1);

	gt_table_number(table, percent(row->total, gaps->wall));
	gt_table_number(table, percent(row->total, gaps->window));
	gt_table_number(table, (double)row->total);
	gt_table_number(table, count);
	gt_table_number(table, (double)row->total / count);
	gt_table_number(table, (double)row->max);
	if (has_samples)
		gt_table_number(table, (double)row->samples);
	gt_table_text(table, gt_cause_names[row->text[0] - FIRST_CAUSE]);
	gt_table_text(table, frame_of(gaps));
	put_place(table, row);
}

/* Idle time of the window that no operation encloses: no part of wall. */
static void put_edge(struct gt_table *table, const struct gt_gaps_edge *edge,
		     const struct gt_gaps *gaps, bool has_samples, const char *cause,
		     const char *where)
{
	if (!edge->total)
		return;
	gt_table_absent(table, "-");
	gt_table_number(table, percent(edge->total, gaps->window));
	gt_table_number(table, (double)edge->total);
	gt_table_number(table, (double)edge->count);
	gt_table_number(table, (double)edge->total / (double)edge->count);
	gt_table_number(table, (double)edge->max);
	if (has_samples)
		gt_table_number(table, 0);
	gt_table_text(table, cause);
	gt_table_text(table, "");
	gt_table_text(table, where);
	gt_table_text(table, "");
	gt_table_absent(table, "");
	gt_table_text(table, where);
}

static int build(struct causes *c, const struct gt_gaps *gaps)
{
	int rc = gt_shares_init(&c->shares);

	if (!rc)
		rc = gt_groups_init(&c->rows);
	if (!rc)
		rc = gt_groups_init(&c->lines);
	if (!rc)
		rc = gt_groups_init(&c->os_calls);
	if (!rc)
		rc = gt_gaps_before_init(&c->before);
	for (size_t i = 0; !rc && i < gaps->list.count; i++) {
		c->gap = (int64_t)i;
		rc = gt_gaps_explain(&gaps->list.at[i], add_piece, c);
	}
	if (!rc)
		rc = gt_shares_each(&c->shares, add_share, c);
	choose_lines(c);
	return rc;
}

static const char *title_of(const struct gt_gaps *gaps)
{
	const char *frame = frame_of(gaps);

	if (!*frame)
		return "Why the GPU was idle";
	return *frame == 'u' ? "Why the GPU was idle, by places in the user's code"
			     : "Why the GPU was idle (innermost frame)";
}

int gt_gaps_table(const struct gt_gaps *gaps, struct gt_table *ret_table)
{
	struct causes *c = calloc(1, sizeof(*c));
	int rc = c ? build(c, gaps) : -ENOMEM;
	bool has_samples = false;

	for (size_t i = 0; c && i < c->row.count; i++)
		has_samples |= c->row.at[i].samples > 0;
	gt_table_init(ret_table, "gpu_idle_causes", title_of(gaps),
		      has_samples ? sampled_columns : columns,
		      has_samples ? sizeof(sampled_columns) / sizeof(sampled_columns[0])
				  : sizeof(columns) / sizeof(columns[0]));
	ret_table->kept = WINDOW_SHARE + 2;
	ret_table->minor = 1u << WINDOW_SHARE;
	ret_table->least = LEAST_PLACE;
	for (size_t i = 0; !rc && i < c->row.count; i++)
		put_row(ret_table, &c->row.at[i], gaps, has_samples);
	put_edge(ret_table, &gaps->before, gaps, has_samples, "before first", "(no operation yet)");
	put_edge(ret_table, &gaps->after, gaps, has_samples, "after last",
		 "(no operation any more)");
	gt_table_sort(ret_table, "total");
	if (c) {
		gt_shares_fini(&c->shares);
		gt_groups_fini(&c->rows);
		gt_groups_fini(&c->lines);
		gt_groups_fini(&c->os_calls);
		gt_gaps_before_fini(&c->before);
		gt_vec_free(&c->row);
	}
	free(c);
	return rc;
}

static uint64_t sum_of(const struct gt_job *job, enum gt_ledger_key key)
{
	uint64_t sum = 0;
	int64_t count;

	for (size_t i = 0; i < job->count; i++)
		if (gt_header_int(&job->models[i].reading.header, "ledger",
				  gt_ledger_rows[key].json, &count) &&
		    count > 0)
			sum += (uint64_t)count;
	return sum;
}

bool gt_gaps_missed(const struct gt_job *job, char *ret_text, size_t size)
{
	static const struct {
		enum gt_ledger_key key;
		const char *what;
	} missed[] = {
		{GT_LEDGER_SAMPLES_LATE, "too late for a processor"},
		{GT_LEDGER_SAMPLES_SKIPPED, "in calls or not possible"},
		{GT_LEDGER_SAMPLES_LOST, "failed"},
	};
	uint64_t taken = sum_of(job, GT_LEDGER_SAMPLES_RECEIVED), due = taken;
	const char *gap = "; ";
	size_t n;

	for (size_t i = 0; i < sizeof(missed) / sizeof(missed[0]); i++)
		due += sum_of(job, missed[i].key);
	if (!taken || (double)taken >= (double)due * 0.95)
		return false;
	n = (size_t)snprintf(ret_text, size, "Samples: %" PRIu64 " of %" PRIu64 " due (%.0f %%)",
			     taken, due, (double)taken * 100 / (double)due);
	for (size_t i = 0; i < sizeof(missed) / sizeof(missed[0]) && n < size; i++) {
		uint64_t count = sum_of(job, missed[i].key);

		if (!count)
			continue;
		n += (size_t)snprintf(ret_text + n, size - n, "%s%" PRIu64 " %s", gap, count,
				      missed[i].what);
		gap = ", ";
	}
	if (n < size)
		snprintf(ret_text + n, size - n, ". Each stands for the time around it.");
	return true;
}
