/* SPDX-License-Identifier: Apache-2.0
 *
 * See diff.h. One thread per comparison.
 */
#include "analysis/diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/diff/gate.h"
#include "analysis/diff/notes.h"
#include "analysis/diff/trend.h"

static const char *const verdicts[] = {"same", "slower", "faster", "new", "gone", "cannot tell"};

/* @title tells the tables apart in csv. */
#define DIFF_COLUMNS(title, frame, kind)                                                           \
	{                                                                                          \
		{"verdict", "Verdict", "verdict", GT_COLUMN_TEXT},                                 \
			{"change", "Change (ns)", "change", GT_COLUMN_DELTA},                      \
			{"percent", "Change (%)", "", GT_COLUMN_CHANGE},                           \
			{"a", "A (ns)", "A", GT_COLUMN_MEAN},                                      \
			{"b", "B (ns)", "B", GT_COLUMN_MEAN},                                      \
			{"low", "Low (%)", "95 % interval", GT_COLUMN_CHANGE},                     \
			{"high", "High (%)", NULL, GT_COLUMN_CHANGE},                              \
			{"noise", "Noise (%)", "noise", GT_COLUMN_PERCENT},                        \
			{"could", "Could Have Shown (%)", NULL, GT_COLUMN_PERCENT},                \
			{"count", NULL, "count", GT_COLUMN_COUNT},                                 \
			{"count_a", "Instances A", NULL, GT_COLUMN_COUNT},                         \
			{"count_b", "Instances B", NULL, GT_COLUMN_COUNT},                         \
			{"samples_a", "Samples A", NULL, GT_COLUMN_COUNT},                         \
			{"samples_b", "Samples B", NULL, GT_COLUMN_COUNT},                         \
			{"left_out", "Left Out", NULL, GT_COLUMN_COUNT},                           \
			{"matched", "Matched With", NULL, GT_COLUMN_TEXT},                         \
			{"frame", frame, NULL, GT_COLUMN_TEXT}, {"name", title, "name", kind},     \
			{"order", NULL, NULL, GT_COLUMN_MEAN},                                     \
	}

#define UP_TO_B  5    /* of these columns */
#define IN_SHORT 0x1c /* the change in %, A and B, as bits */

static const struct gt_column overview_columns[] = DIFF_COLUMNS("Measure", NULL, GT_COLUMN_TEXT);
static const struct gt_column rank_columns[] = DIFF_COLUMNS("Rank", NULL, GT_COLUMN_TEXT);
static const struct gt_column kernel_columns[] = DIFF_COLUMNS("Operation", NULL, GT_COLUMN_CODE);
static const struct gt_column line_columns[] = DIFF_COLUMNS("Line", "Frame", GT_COLUMN_CODE);
static const struct gt_column op_columns[] = DIFF_COLUMNS("Operator", NULL, GT_COLUMN_TEXT);
static const struct gt_column call_columns[] = DIFF_COLUMNS("Call", NULL, GT_COLUMN_TEXT);

/* How much of A the change is: no number where A has nothing, a word where all of it is new or
 * gone. */
static void add_percent(struct gt_table *table, const struct gt_diff_row *row)
{
	double a = row->mean[0], change = row->mean[1] - a;

	if (row->verdict == GT_VERDICT_GONE && a > 0)
		gt_table_word(table, -100, verdicts[row->verdict]);
	else if (row->verdict == GT_VERDICT_NEW || row->verdict == GT_VERDICT_GONE)
		gt_table_absent(table, verdicts[row->verdict]);
	else if (a <= 0 && change > 0)
		gt_table_absent(table, "");
	else
		gt_table_number(table, a > 0 ? change * 100 / a : 0);
}

static void add_interval(struct gt_table *table, const struct gt_diff_row *row)
{
	double low, high;
	char text[64];
	bool is_known = gt_judge_interval(row, &low, &high);

	if (!is_known || !gt_judge_is_bounded(low, high)) {
		gt_table_absent(table, is_known ? "not bounded" : "-");
		gt_table_absent(table, "-");
		return;
	}
	low = fabs(low) < 5e-4 ? 0 : low; /* not "-0.0" */
	high = fabs(high) < 5e-4 ? 0 : high;
	snprintf(text, sizeof(text), "%+.1f..%+.1f %%", low * 100, high * 100);
	gt_table_word(table, low * 100, text);
	gt_table_number(table, high * 100);
}

/* A part as %, or nothing. */
static void add_part(struct gt_table *table, double part, bool is_known)
{
	if (is_known)
		gt_table_number(table, part * 100);
	else
		gt_table_absent(table, "-");
}

static void add_counts(struct gt_table *table, const struct gt_group *group,
		       const struct gt_diff_row *row)
{
	char text[64];

	snprintf(text, sizeof(text), "%lld / %lld", (long long)group->tag[0],
		 (long long)group->tag[1]);
	if (group->tag[0] == group->tag[1])
		gt_table_number(table, (double)group->tag[0]);
	else
		gt_table_word(table, (double)group->tag[0], text);
	for (int s = 0; s < 2; s++)
		gt_table_number(table, (double)group->tag[s]);
	for (int s = 0; s < 2; s++)
		gt_table_number(table, (double)row->side[s].values.count);
	gt_table_number(table, (double)(row->side[0].left_out + row->side[1].left_out));
}

static void add_matched(struct gt_table *table, const struct gt_compared *c, int which,
			uint32_t row)
{
	const struct gt_diff_match *match = gt_diff_match_of(&c->matches[which], row);
	const struct gt_groups *groups = &c->rows[which].groups;
	char text[1024];

	if (match)
		snprintf(text, sizeof(text), "%.900s (%s)",
			 gt_group_name(groups, &groups->list.at[match->a]), match->how);
	gt_table_text(table, match ? text : "");
}

static const char *frame_of(const struct gt_diff_rows *rows, uint32_t row)
{
	static const char *const words[] = {
		[GT_DIFF_FRAME_NONE] = "",
		[GT_DIFF_FRAME_INNERMOST] = "innermost",
		[GT_DIFF_FRAME_USER] = "user",
	};

	return row < rows->frames.count ? words[rows->frames.at[row]] : "";
}

static void add_row(struct gt_table *table, const struct gt_compared *c, int which,
		    const struct gt_diff_row *row)
{
	const struct gt_group *group = &c->rows[which].groups.list.at[row->row];
	double noise = fmax(row->scatter[0], row->scatter[1]);
	double change = row->mean[1] - row->mean[0];
	char name[GT_DIFF_NAME];

	gt_table_text(table, verdicts[row->verdict]);
	gt_table_number(table, change);
	add_percent(table, row);
	gt_table_number(table, row->mean[0]);
	gt_table_number(table, row->mean[1]);
	add_interval(table, row);
	add_part(table, noise, noise >= 0);
	add_part(table, row->could, gt_judge_could_show(row->could));
	add_counts(table, group, row);
	add_matched(table, c, which, row->row);
	gt_table_text(table, frame_of(&c->rows[which], row->row));
	gt_gate_name(c, which, row->row, name, sizeof(name));
	gt_table_text(table, name);
	gt_table_number(table, fabs(change));
}

static void fill_table(struct gt_table *table, const struct gt_compared *c, int which)
{
	const struct gt_judged *judged = &c->judged[which];

	for (size_t i = 0; i < judged->rows.count; i++)
		add_row(table, c, which, &judged->rows.at[i]);
	if (which != GT_DIFF_OVERVIEW)
		gt_table_sort(table, "order");
}

/* Is the frame of a line to be the user's? */
static bool asks_for_users(const struct gt_diff_request *request)
{
	for (int s = 0; s < 2; s++)
		for (size_t r = 0; r < request->run_count[s]; r++)
			if (request->runs[s][r].count)
				return request->runs[s][r].models[0].ranks;
	return false;
}

static void init_tables(struct gt_diff *diff, const struct gt_diff_request *request, bool stepped)
{
	static const struct {
		const char *name, *step_title, *title;
		const struct gt_column *columns;
	} rows[GT_DIFF_COUNT_] = {
		{"overview", "Per step", "Whole trace", overview_columns},
		{"ranks", "Ranks, time per step", "Ranks", rank_columns},
		{"kernels", "GPU operations, time per step", "GPU operations", kernel_columns},
		{"lines", "GPU time per step by launching line of the user's code",
		 "GPU time by launching line of the user's code", line_columns},
		{"ops", "GPU time per step by operator", "GPU time by operator", op_columns},
		{"calls", "CUDA calls, time per step", "CUDA calls", call_columns},
	};

	for (int i = 0; i < GT_DIFF_COUNT_; i++) {
		gt_table_init(&diff->tables[i], rows[i].name,
			      stepped ? rows[i].step_title : rows[i].title, rows[i].columns,
			      sizeof(call_columns) / sizeof(call_columns[0]));
		diff->tables[i].kept = UP_TO_B;
		diff->tables[i].major = IN_SHORT;
	}
	if (!asks_for_users(request))
		diff->tables[GT_DIFF_LINES].title =
			stepped ? "GPU time per step by launching line (innermost frame)"
				: "GPU time by launching line (innermost frame)";
}

/* The kernels that only one side has, as one row that both sides have. */
static int collect_only(struct gt_compared *c)
{
	const struct gt_groups *kernels = &c->rows[GT_DIFF_KERNELS].groups;
	struct gt_diff_rows *only = &c->rows[GT_DIFF_ONLY];
	struct gt_group *all = NULL;

	for (size_t i = 0; i < kernels->list.count; i++) {
		const struct gt_group *group = &kernels->list.at[i];

		if (!group->tag[0] == !group->tag[1])
			continue;
		all = all ? all : gt_groups_get(&only->groups, "kernels that only one side has");
		for (int s = 0; s < 2 && all; s++) {
			all->tag[s] += group->tag[s];
			for (size_t k = 0; k < group->other[s].count; k++)
				if (!gt_vec_push(&all->other[s], group->other[s].at[k]))
					return -ENOMEM;
		}
		if (!all)
			return -ENOMEM;
	}
	for (int s = 0; s < 2 && all; s++)
		gt_diff_sum_units(&all->other[s]);
	return 0;
}

/* The kernels first: they tell which steps are left out. */
static int collect_all(struct gt_compared *c)
{
	int rc = gt_diff_collect(&c->rows[GT_DIFF_KERNELS], &c->sides, GT_DIFF_KERNELS);

	if (!rc)
		rc = gt_diff_leave_out(&c->sides, &c->rows[GT_DIFF_KERNELS]);
	for (int i = 0; !rc && i < GT_DIFF_COUNT_; i++) {
		if (i != GT_DIFF_KERNELS)
			rc = gt_diff_collect(&c->rows[i], &c->sides, (enum gt_diff_table)i);
		if (!rc)
			rc = gt_diff_match(&c->matches[i], &c->rows[i], &c->sides,
					   (enum gt_diff_table)i);
	}
	if (!rc)
		rc = gt_groups_init(&c->rows[GT_DIFF_ONLY].groups);
	return rc ? rc : collect_only(c);
}

static int judge_all(struct gt_compared *c)
{
	double gate = c->request->gate < 0 ? 0 : c->request->gate;
	int rc = 0;

	rc = gt_diff_find_longer(&c->sides, &c->rows[GT_DIFF_KERNELS]);
	for (int i = 0; !rc && i <= GT_DIFF_COUNT_; i++)
		rc = gt_judge_table(&c->judged[i], &c->sides, &c->rows[i]);
	if (!rc)
		rc = gt_judge_all(c->judged, c->rows, GT_DIFF_COUNT_ + 1, gt_gate_enough(gate));
	return rc;
}

int gt_diff_build(const struct gt_diff_request *request, struct gt_diff *ret_diff)
{
	struct gt_compared *c = calloc(1, sizeof(*c));
	int rc;

	*ret_diff = (struct gt_diff){0};
	if (!c)
		return -ENOMEM;
	c->request = request;
	rc = gt_diff_sides_make(&c->sides, request);
	init_tables(ret_diff, request, c->sides.stepped);
	if (!rc)
		rc = collect_all(c);
	if (!rc)
		rc = judge_all(c);
	for (int i = 0; !rc && i < GT_DIFF_COUNT_; i++)
		fill_table(&ret_diff->tables[i], c, i);
	if (!rc)
		rc = gt_trend_tell(c, ret_diff);
	if (!rc)
		rc = gt_gate_hold(c, ret_diff);
	if (!rc)
		rc = gt_gate_describe(c, ret_diff);
	for (int i = 0; i <= GT_DIFF_COUNT_; i++) {
		gt_judged_fini(&c->judged[i]);
		gt_diff_rows_fini(&c->rows[i]);
		if (i < GT_DIFF_COUNT_)
			gt_diff_matches_fini(&c->matches[i]);
	}
	gt_diff_sides_fini(&c->sides);
	free(c);
	return rc;
}

static void free_lines(struct gt_diff_lines *lines)
{
	for (size_t i = 0; i < lines->list.count; i++)
		free(lines->list.at[i]);
	gt_vec_free(&lines->list);
}

void gt_diff_fini(struct gt_diff *diff)
{
	for (int i = 0; i < GT_DIFF_COUNT_; i++)
		gt_table_fini(&diff->tables[i]);
	free_lines(&diff->notes);
	free_lines(&diff->doubts);
}
