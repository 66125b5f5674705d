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

#include "analysis/gaps/gaps.h"
#include "analysis/gaps/before.h"
#include "analysis/gaps/place.h"
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

#define KNOWN 1024 /* kinds of pieces whose groups are at hand; a power of two */
#define NEAR  8    /* places that one of them may have */

/* A piece that was met before: by its texts, as those that are kept are equal where they are one.
 */
struct causes_known {
	const char *where, *place; /* where NULL: none yet */
	enum gt_cause cause;
	size_t base;
	struct gt_gaps_numbers before;
};

/* While gaps are put into words. */
struct causes {
	struct gt_shares shares;   /* names: the cause as a digit, then the place */
	struct gt_groups files;    /* that calls waited for; tag[0]: ns, label: the row's name */
	struct gt_groups os_calls; /* by what words depend on */
	struct gt_groups os_rows;  /* the same without a file */
	struct gt_gaps_before before;
	int64_t gap;       /* number of the one whose pieces are taken */
	const char *place; /* what was launched before it */
	const struct gt_model *model;
	struct causes_known known[KNOWN]; /* of the model */
	gt_gap_see see;
	void *seer; /* its data */
	char key[KEY_BYTES];
};

/* While the table is made. */
struct causes_table {
	struct gt_shares shares;
	struct gt_gaps_before before;
	struct gt_groups rows;  /* as of the bases, without a line; index in list: of a row */
	struct gt_groups lines; /* with the line, or file; tag[0]: samples or ns, tag[1]: row */
	GT_VEC(struct gaps_causes_row) row;
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

/* What a group of equal calls of the operating system has: numbers of others, + 1. */
enum { TAG_ROW, TAG_FILE };

/* One row for all files that the host waited for in one place. */
static int name_os_call(struct causes *c, const struct gt_model *model,
			const struct gt_piece *piece, struct gt_group *group)
{
	struct gt_group *file = NULL, *row;
	size_t n = (size_t)snprintf(c->key, sizeof(c->key), "%c", FIRST_CAUSE + (int)piece->cause);

	if (model->os_calls.at[piece->os_call].file != GT_NAME_NONE) {
		gt_gaps_os_call(model, piece->os_call, true, c->key + n, sizeof(c->key) - n);
		file = gt_groups_get(&c->files, c->key);
		if (!file)
			return -ENOMEM;
	}
	gt_gaps_os_call(model, piece->os_call, false, c->key + n, sizeof(c->key) - n);
	row = gt_groups_get(&c->os_rows, c->key);
	if (!row)
		return -ENOMEM;
	group->tag[TAG_ROW] = row - c->os_rows.list.at + 1;
	if (!file)
		return 0;
	file->label = gt_names_put(&c->files.names, c->key, strlen(c->key));
	group->tag[TAG_FILE] = file - c->files.list.at + 1;
	return 0;
}

/* @ns that count for @key, whose groups are noted. */
static int add_span(struct causes *c, const char *key, int64_t ns, struct causes_known *ret_known)
{
	struct gt_group *base = gt_groups_get(&c->shares.bases, key);
	int rc =
		base ? gt_gaps_before_find(&c->before, key, c->place, &ret_known->before) : -ENOMEM;

	if (rc)
		return rc;
	ret_known->base = (size_t)(base - c->shares.bases.list.at);
	gt_gaps_before_add(&c->before, &ret_known->before, ns);
	return gt_shares_span_of(&c->shares, ret_known->base, c->gap, ns);
}

static bool is_known(const struct causes *c, const struct causes_known *known,
		     const struct gt_piece *piece)
{
	return piece->is_kept && known->where == piece->where && known->place == c->place &&
	       known->cause == piece->cause;
}

/* Where a piece of that kind is at hand, or will be. */
static struct causes_known *known_of(struct causes *c, const struct gt_piece *piece)
{
	uint64_t sum = (uintptr_t)piece->where + (uintptr_t)c->place * 31 + piece->cause;
	uint64_t hash = sum * 0x9e3779b97f4a7c15u >> 32; /* of addresses, which nobody chooses */
	struct causes_known *first = &c->known[hash & (KNOWN - 1)];

	for (uint64_t i = 0; i < NEAR; i++) {
		struct causes_known *known = &c->known[(hash + i) & (KNOWN - 1)];

		if (!known->where || is_known(c, known, piece))
			return known;
	}
	return first;
}

/* There may be very many of them, of few kinds: each kind is put into words once. */
static int add_os_call(struct causes *c, const struct gt_gap *gap, const struct gt_piece *piece)
{
	const struct gt_model_os_call *call = &gap->model->os_calls.at[piece->os_call];
	struct causes_known new;
	struct gt_group *group;
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
	if (group->tag[TAG_FILE])
		c->files.list.at[group->tag[TAG_FILE] - 1].tag[0] += piece->ns;
	snprintf(c->key, sizeof(c->key), "%s",
		 gt_group_name(&c->os_rows, &c->os_rows.list.at[group->tag[TAG_ROW] - 1]));
	return add_span(c, c->key, piece->ns, &new);
}

static int add_piece(const struct gt_gap *gap, const struct gt_piece *piece, void *data)
{
	struct causes *c = data;
	struct causes_known *known = known_of(c, piece);
	struct causes_known new = {.where = piece->where, .place = c->place, .cause = piece->cause};
	bool has_samples = piece->thread != GT_NONE && gap->model->samples.count;
	int rc;

	if (c->see)
		c->see(gap, piece, c->seer);
	if (piece->os_call != GT_NONE)
		return add_os_call(c, gap, piece);
	if (is_known(c, known, piece) && !has_samples) {
		gt_gaps_before_add(&c->before, &known->before, piece->ns);
		return gt_shares_span_of(&c->shares, known->base, c->gap, piece->ns);
	}
	snprintf(c->key, sizeof(c->key), "%c%s", FIRST_CAUSE + (int)piece->cause, piece->where);
	rc = add_span(c, c->key, piece->ns, &new);
	if (!rc && piece->is_kept)
		*known = new;
	return rc || !has_samples ? rc : add_samples(c, gap, piece, c->key);
}

static struct gaps_causes_row *row_of(struct causes_table *c, const char *key, size_t *ret_index)
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

/* Of the bases that a row has parts of the one with the most. */
static void take_launch(struct causes_table *c, const struct gt_share *share,
			struct gaps_causes_row *row)
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
	struct causes_table *c = data;
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
static void choose_lines(struct causes_table *c)
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

/* What rows are parts of. */
struct causes_whole {
	int64_t wall, window, gaps, frame;
	bool has_samples;
};

static void put_row(struct gt_table *table, const struct gaps_causes_row *row,
		    const struct causes_whole *whole)
{
	static const char *const frames[] = {"", "user", "innermost"};
	double most = fmin(row->count + 0.5, (double)whole->gaps); /* shares of several bases */
	double count = fmax((double)(int64_t)most, 1);

	gt_table_number(table, percent(row->total, whole->wall));
	gt_table_number(table, percent(row->total, whole->window));
	gt_table_number(table, (double)row->total);
	gt_table_number(table, count);
	gt_table_number(table, (double)row->total / count);
	gt_table_number(table, (double)row->max);
	if (whole->has_samples)
		gt_table_number(table, (double)row->samples);
	gt_table_text(table, gt_cause_names[row->text[0] - FIRST_CAUSE]);
	gt_table_text(table, frames[whole->frame]);
	put_place(table, row);
}

/* Idle time of the window that no operation encloses: no part of wall. */
static void put_edge(struct gt_table *table, struct gt_gaps_parts *parts,
		     const struct causes_whole *whole, const char *edge, const char *cause,
		     const char *where)
{
	char name[32];
	int64_t total = gt_gaps_total(parts, edge), count;

	snprintf(name, sizeof(name), "%s" GT_GAPS_COUNT, edge);
	count = gt_gaps_total(parts, name);
	if (!total)
		return;
	gt_table_absent(table, "-");
	gt_table_number(table, percent(total, whole->window));
	gt_table_number(table, (double)total);
	gt_table_number(table, (double)count);
	gt_table_number(table, (double)total / (double)count);
	gt_table_number(table, (double)gt_gaps_sum(parts, edge)->tag[GT_GAPS_TAG_MAX]);
	if (whole->has_samples)
		gt_table_number(table, 0);
	gt_table_text(table, cause);
	gt_table_text(table, "");
	gt_table_text(table, where);
	gt_table_text(table, "");
	gt_table_absent(table, "");
	gt_table_text(table, where);
}

static int explain_all(struct causes *c, const struct gt_gaps *gaps)
{
	struct gt_groups *const groups[] = {&c->shares.bases, &c->shares.places, &c->files,
					    &c->before.keys, &c->before.launches};
	int rc = 0;

	for (size_t i = 0; !rc && i < gaps->list.count; i++) {
		const struct gt_gap *gap = gt_gaps_at(gaps, i);

		c->gap = (int64_t)i;
		if (c->model != gap->model) /* with other texts */
			memset(c->known, 0, sizeof(c->known));
		c->model = gap->model;
		c->place = gt_gaps_before_place(gap);
		for (size_t k = 0; k < sizeof(groups) / sizeof(groups[0]); k++)
			groups[k]->trace =
				gt_job_order(gaps->job, (size_t)(gap->model - gaps->job->models));
		rc = gt_gaps_explain(gap, add_piece, c);
	}
	return rc;
}

/* The groups are the parts' own: lent for as long as gaps are put into words. */
int gt_gaps_map_causes(struct gt_gaps_parts *parts, const struct gt_gaps *gaps, gt_gap_see see,
		       void *data)
{
	struct causes *c = calloc(1, sizeof(*c));
	int rc = c ? gt_groups_init(&c->os_calls) : -ENOMEM;

	if (!rc)
		rc = gt_groups_init(&c->os_rows);
	if (c) {
		c->shares = (struct gt_shares){parts->sets[GT_GAPS_BASES].groups,
					       parts->sets[GT_GAPS_PLACES].groups};
		c->before = (struct gt_gaps_before){parts->sets[GT_GAPS_KEYS].groups,
						    parts->sets[GT_GAPS_LAUNCHES].groups};
		c->files = parts->sets[GT_GAPS_FILES].groups;
		c->see = see;
		c->seer = data;
		if (!rc)
			rc = explain_all(c, gaps);
		parts->sets[GT_GAPS_BASES].groups = c->shares.bases;
		parts->sets[GT_GAPS_PLACES].groups = c->shares.places;
		parts->sets[GT_GAPS_KEYS].groups = c->before.keys;
		parts->sets[GT_GAPS_LAUNCHES].groups = c->before.launches;
		parts->sets[GT_GAPS_FILES].groups = c->files;
		gt_groups_fini(&c->os_calls);
		gt_groups_fini(&c->os_rows);
	}
	free(c);
	return rc;
}

/* Of a place of a call without its file: the files that it waited for. */
static int take_files(struct causes_table *c, struct gt_groups *files)
{
	for (size_t i = 0; i < files->list.count; i++) {
		const struct gt_group *file = &files->list.at[i];
		struct gaps_causes_row *row;
		struct gt_group *line;
		size_t index;

		row = row_of(c, gt_names_get(&files->names, file->label), &index);
		line = row ? gt_groups_get(&c->lines, gt_group_name(files, file)) : NULL;
		if (!line)
			return -ENOMEM;
		row->files += file->tag[0] > 0;
		line->tag[0] = file->tag[0];
		line->tag[1] = (int64_t)index;
	}
	return 0;
}

static int make_rows(struct causes_table *c, struct gt_gaps_parts *parts)
{
	int rc = gt_groups_init(&c->rows);

	if (!rc)
		rc = gt_groups_init(&c->lines);
	if (!rc)
		rc = take_files(c, &parts->sets[GT_GAPS_FILES].groups);
	if (!rc)
		rc = gt_gaps_before_choose(&c->before);
	if (!rc)
		rc = gt_shares_each(&c->shares, add_share, c);
	choose_lines(c);
	return rc;
}

static const char *title_of(int64_t frame)
{
	static const char *const titles[] = {
		[GT_GAPS_FRAME_NONE] = "Why the GPU was idle",
		[GT_GAPS_FRAME_USER] = "Why the GPU was idle, by places in the user's code",
		[GT_GAPS_FRAME_INNERMOST] = "Why the GPU was idle (innermost frame)",
	};

	return titles[frame];
}

/* A name of another process may begin with anything. */
static bool is_cause(const struct gaps_causes_row *row)
{
	return row->text[0] >= FIRST_CAUSE && row->text[0] < FIRST_CAUSE + GT_CAUSE_COUNT_;
}

static void fill_causes(const struct causes_table *c, struct gt_gaps_parts *parts,
			struct gt_table *table)
{
	struct causes_whole whole = {
		.wall = gt_gaps_total(parts, GT_GAPS_WALL),
		.window = gt_gaps_total(parts, GT_GAPS_WINDOW),
		.gaps = gt_gaps_total(parts, GT_GAPS_GAPS),
		.frame = gt_gaps_sum(parts, GT_GAPS_FRAME)->tag[GT_GAPS_TAG_FRAME],
	};

	if (whole.frame < GT_GAPS_FRAME_NONE || whole.frame > GT_GAPS_FRAME_INNERMOST)
		whole.frame = GT_GAPS_FRAME_NONE;
	for (size_t i = 0; i < c->row.count; i++)
		whole.has_samples |= c->row.at[i].samples > 0;
	gt_table_init(table, "gpu_idle_causes", title_of(whole.frame),
		      whole.has_samples ? sampled_columns : columns,
		      whole.has_samples ? sizeof(sampled_columns) / sizeof(sampled_columns[0])
					: sizeof(columns) / sizeof(columns[0]));
	table->kept = WINDOW_SHARE + 2;
	table->minor = 1u << WINDOW_SHARE;
	table->major = 1u << (WINDOW_SHARE + 1);
	table->least = LEAST_PLACE;
	for (size_t i = 0; i < c->row.count; i++)
		if (is_cause(&c->row.at[i]))
			put_row(table, &c->row.at[i], &whole);
	put_edge(table, parts, &whole, GT_GAPS_BEFORE, "before first", "(no operation yet)");
	put_edge(table, parts, &whole, GT_GAPS_AFTER, "after last", "(no operation any more)");
	gt_table_sort(table, "total");
}

int gt_gaps_fill_causes(struct gt_gaps_parts *parts, struct gt_table *ret_table)
{
	struct causes_table *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	if (c) {
		c->shares = (struct gt_shares){parts->sets[GT_GAPS_BASES].groups,
					       parts->sets[GT_GAPS_PLACES].groups};
		c->before = (struct gt_gaps_before){parts->sets[GT_GAPS_KEYS].groups,
						    parts->sets[GT_GAPS_LAUNCHES].groups};
		rc = make_rows(c, parts);
		parts->sets[GT_GAPS_BASES].groups = c->shares.bases;
		parts->sets[GT_GAPS_PLACES].groups = c->shares.places;
		parts->sets[GT_GAPS_KEYS].groups = c->before.keys;
		parts->sets[GT_GAPS_LAUNCHES].groups = c->before.launches;
		fill_causes(c, parts, ret_table);
		gt_groups_fini(&c->rows);
		gt_groups_fini(&c->lines);
		gt_vec_free(&c->row);
	}
	free(c);
	return rc;
}

int gt_gaps_table(const struct gt_gaps *gaps, gt_gap_see see, void *data,
		  struct gt_table *ret_table)
{
	struct gt_gaps_parts parts;
	int rc = gt_gaps_parts_init(&parts), filled;

	if (!rc)
		rc = gt_gaps_map_causes(&parts, gaps, see, data);
	gt_gaps_map_sums(&parts, gaps);
	filled = gt_gaps_fill_causes(&parts, ret_table);
	gt_gaps_parts_fini(&parts);
	return rc ? rc : filled;
}
