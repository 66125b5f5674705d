/* SPDX-License-Identifier: Apache-2.0
 *
 * See diff.h. Pure over constant models; one thread per table.
 */
#include "analysis/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/intervals.h"
#include "analysis/key.h"
#include "analysis/key_group.h"

#define SMALLEST   0.5 /* %: a change below is "same" however small the noise */
#define GATE_SHARE 1.0 /* % of the table's total below which a gate does not look */

static const char *const verdicts[] = {"same", "slower", "faster", "new", "gone", "cannot tell"};

/* What values are summed into: the steps of all ranks, or each whole trace. */
struct side {
	const struct gt_job *job;
	size_t samples;
	uint32_t **sample_of_range; /* per model: range -> sample + 1 */
	int64_t *sample_of_model;   /* without steps; -1: none */
};

struct compare {
	struct side side[2];
	bool stepped;
	double gate;
	struct gt_diff *diff;
	double worst;
};

static int find_steps(struct side *side)
{
	side->sample_of_range = calloc(side->job->count + 1, sizeof(*side->sample_of_range));
	if (!side->sample_of_range)
		return -ENOMEM;
	for (size_t f = 0; f < side->job->count; f++) {
		const struct gt_model *model = &side->job->models[f];

		side->sample_of_range[f] = calloc(model->ranges.count + 1, sizeof(uint32_t));
		if (!side->sample_of_range[f])
			return -ENOMEM;
		for (uint32_t i = 0; i < model->ranges.count; i++)
			if (gt_model_is_step(model, &model->ranges.at[i]))
				side->sample_of_range[f][i] = (uint32_t)++side->samples;
	}
	return 0;
}

/* Each process that used the GPU; a helper that only looked for one would halve all means. */
static int number_models(struct side *side)
{
	size_t count = side->job->count;
	bool on_gpu = false;

	side->samples = 0;
	side->sample_of_model = calloc(count + 1, sizeof(*side->sample_of_model));
	if (!side->sample_of_model)
		return -ENOMEM;
	for (size_t f = 0; f < count; f++)
		on_gpu |= side->job->models[f].ops.count > 0;
	for (size_t f = 0; f < count; f++) {
		const struct gt_model *model = &side->job->models[f];
		bool counts = on_gpu ? model->ops.count > 0 : model->calls.count > 0;

		side->sample_of_model[f] = counts ? (int64_t)side->samples++ : -1;
	}
	return 0;
}

static void free_samples(struct side *side)
{
	free(side->sample_of_model);
	for (size_t f = 0; side->sample_of_range && f < side->job->count; f++)
		free(side->sample_of_range[f]);
	free(side->sample_of_range);
}

/* The sample that time @t of model @f counts for, or -1: outside all steps. */
static int64_t sample_at(const struct compare *c, int s, size_t f, int64_t t)
{
	uint32_t range;

	if (!c->stepped)
		return c->side[s].sample_of_model[f];
	range = gt_model_step_at(&c->side[s].job->models[f], t);
	return range == GT_NONE ? -1 : (int64_t)c->side[s].sample_of_range[f][range] - 1;
}

/* Adds to the sum of one group in one sample. Kept are pairs of a sample and a value: most groups
 * are in few of many steps. */
static int add_to(struct gt_group *group, int s, int64_t sample, int64_t value)
{
	struct gt_dist *sums;

	if (!group)
		return -ENOMEM;
	sums = &group->other[s];
	group->tag[s]++;
	if (sums->count && sums->at[sums->count - 2] == sample)
		sums->at[sums->count - 1] += value;
	else if (!gt_dist_add(sums, sample) || !gt_dist_add(sums, value))
		return -ENOMEM;
	return 0;
}

static int add(struct gt_groups *groups, const char *name, int s, int64_t sample, int64_t value)
{
	return add_to(gt_groups_get(groups, name), s, sample, value);
}

struct spread {
	double mean, variance; /* of the mean */
	double n;
};

static int by_sample(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* One pair for each sample. */
static void sum_samples(struct gt_dist *sums)
{
	size_t kept = 0;

	if (sums->count)
		qsort(sums->at, sums->count / 2, 2 * sizeof(*sums->at), by_sample);
	for (size_t i = 2; i < sums->count; i += 2) {
		if (sums->at[i] == sums->at[kept]) {
			sums->at[kept + 1] += sums->at[i + 1];
			continue;
		}
		kept += 2;
		sums->at[kept] = sums->at[i];
		sums->at[kept + 1] = sums->at[i + 1];
	}
	sums->count = sums->count ? kept + 2 : 0;
}

static struct spread spread_of(const struct gt_dist *sums, size_t samples)
{
	struct spread s = {.n = (double)samples};
	double squares = 0;
	int64_t total = 0;

	for (size_t i = 1; i < sums->count; i += 2)
		total += sums->at[i];
	s.mean = samples ? (double)total / s.n : 0;
	for (size_t i = 1; i < sums->count; i += 2)
		squares += ((double)sums->at[i] - s.mean) * ((double)sums->at[i] - s.mean);
	squares += (double)(samples - sums->count / 2) * s.mean * s.mean;
	if (samples > 1)
		s.variance = squares / (s.n - 1) / s.n;
	return s;
}

/* Quantile 97.5 % of Student's t. */
static double student(double freedom)
{
	static const double table[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23,
				       2.20,  2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09};
	size_t index = freedom < 1 ? 0 : (size_t)freedom - 1;

	return index < sizeof(table) / sizeof(table[0]) ? table[index] : 2.0;
}

/* Half the width of the interval that a difference of means may have by chance; negative:
 * unknown. */
static double noise_of(const struct spread *a, const struct spread *b)
{
	double variance = a->variance + b->variance, freedom;

	if (a->n < 2 || b->n < 2)
		return -1;
	if (variance <= 0)
		return 0;
	freedom = variance * variance /
		  (a->variance * a->variance / (a->n - 1) + b->variance * b->variance / (b->n - 1));
	return student(freedom) * sqrt(variance);
}

static enum gt_verdict judge(const struct gt_group *group, const struct spread *a,
			     const struct spread *b, double noise)
{
	double change = b->mean - a->mean;

	if (!group->tag[0])
		return GT_VERDICT_NEW;
	if (!group->tag[1])
		return GT_VERDICT_GONE;
	if (fabs(change) * 100 <= SMALLEST * a->mean)
		return GT_VERDICT_SAME;
	if (noise < 0)
		return GT_VERDICT_UNSURE;
	if (fabs(change) <= noise)
		return GT_VERDICT_SAME;
	return change > 0 ? GT_VERDICT_SLOWER : GT_VERDICT_FASTER;
}

static void hold_gate(struct compare *c, const char *name, enum gt_verdict verdict,
		      const struct spread *a, const struct spread *b, double total)
{
	double change = b->mean - a->mean, percent = a->mean > 0 ? change * 100 / a->mean : 0;
	char was[64], is[64];

	if (c->gate < 0 || (verdict != GT_VERDICT_SLOWER && verdict != GT_VERDICT_UNSURE) ||
	    percent <= c->gate ||
	    (a->mean > b->mean ? a->mean : b->mean) * 100 < GATE_SHARE * total)
		return;
	c->diff->regressions++;
	if (change <= c->worst)
		return;
	c->worst = change;
	snprintf(c->diff->worst, sizeof(c->diff->worst), "%.300s: %s -> %s (%+.1f %%)", name,
		 gt_table_time(a->mean, was, sizeof(was)), gt_table_time(b->mean, is, sizeof(is)),
		 percent);
}

/* @title tells the tables apart in csv. */
#define DIFF_COLUMNS(title, kind)                                                                  \
	{                                                                                          \
		{"verdict", "Verdict", "verdict", GT_COLUMN_TEXT},                                 \
			{"change", "Change (ns)", "change", GT_COLUMN_DELTA},                      \
			{"percent", "Change (%)", "", GT_COLUMN_CHANGE},                           \
			{"a", "A (ns)", "A", GT_COLUMN_MEAN},                                      \
			{"b", "B (ns)", "B", GT_COLUMN_MEAN},                                      \
			{"noise", "Noise (ns)", "noise", GT_COLUMN_MEAN},                          \
			{"count_a", "Instances A", NULL, GT_COLUMN_COUNT},                         \
			{"count_b", "Instances B", NULL, GT_COLUMN_COUNT},                         \
			{"name", title, "name", kind}, {"order", NULL, NULL, GT_COLUMN_MEAN},      \
	}

#define UP_TO_B 5 /* of these columns */

static const struct gt_column overview_columns[] = DIFF_COLUMNS("Measure", GT_COLUMN_TEXT);
static const struct gt_column kernel_columns[] = DIFF_COLUMNS("Operation", GT_COLUMN_CODE);
static const struct gt_column line_columns[] = DIFF_COLUMNS("Line", GT_COLUMN_TEXT);
static const struct gt_column op_columns[] = DIFF_COLUMNS("Operator", GT_COLUMN_TEXT);
static const struct gt_column call_columns[] = DIFF_COLUMNS("Call", GT_COLUMN_TEXT);

/* How much of A the change is: no number where A has nothing, a word where all of it is new or
 * gone. */
static void add_percent(struct gt_table *table, enum gt_verdict verdict, double a, double change)
{
	if (verdict == GT_VERDICT_GONE && a > 0)
		gt_table_word(table, -100, verdicts[verdict]);
	else if (verdict == GT_VERDICT_NEW || verdict == GT_VERDICT_GONE)
		gt_table_absent(table, verdicts[verdict]);
	else if (a <= 0 && change > 0)
		gt_table_absent(table, "");
	else
		gt_table_number(table, a > 0 ? change * 100 / a : 0);
}

static void add_row(struct compare *c, struct gt_table *table, const struct gt_groups *groups,
		    const struct gt_group *group, double total)
{
	struct spread a = spread_of(&group->other[0], c->side[0].samples);
	struct spread b = spread_of(&group->other[1], c->side[1].samples);
	double noise = noise_of(&a, &b), change = b.mean - a.mean;
	enum gt_verdict verdict = judge(group, &a, &b, noise);
	const char *name = gt_group_name(groups, group);

	hold_gate(c, name, verdict, &a, &b, total);
	gt_table_text(table, verdicts[verdict]);
	gt_table_number(table, change);
	add_percent(table, verdict, a.mean, change);
	gt_table_number(table, a.mean);
	gt_table_number(table, b.mean);
	if (noise < 0)
		gt_table_absent(table, "-");
	else
		gt_table_number(table, noise);
	gt_table_number(table, (double)group->tag[0]);
	gt_table_number(table, (double)group->tag[1]);
	gt_table_text(table, name);
	gt_table_number(table, fabs(change));
}

/* Mean of the first @count groups' sums on the larger side: what a share is a share of. */
static double total_of(const struct compare *c, const struct gt_groups *groups, size_t count)
{
	double total[2] = {0, 0};

	for (size_t i = 0; i < count && i < groups->list.count; i++)
		for (int s = 0; s < 2; s++)
			total[s] +=
				spread_of(&groups->list.at[i].other[s], c->side[s].samples).mean;
	return total[0] > total[1] ? total[0] : total[1];
}

static void fill(struct compare *c, enum gt_diff_table which, struct gt_groups *groups)
{
	double total;

	for (size_t i = 0; i < groups->list.count; i++)
		for (int s = 0; s < 2; s++)
			sum_samples(&groups->list.at[i].other[s]);
	/* the overview's first row is the time that the others share */
	total = total_of(c, groups, which == GT_DIFF_OVERVIEW ? 1 : groups->list.count);

	for (size_t i = 0; i < groups->list.count; i++)
		add_row(c, &c->diff->tables[which], groups, &groups->list.at[i], total);
	if (which != GT_DIFF_OVERVIEW)
		gt_table_sort(&c->diff->tables[which], "order");
}

static int group_ops(struct compare *c, enum gt_key key, const char *nothing,
		     struct gt_groups *groups)
{
	bool something = false;
	int rc = 0;

	for (int s = 0; s < 2; s++)
		for (size_t f = 0; !rc && f < c->side[s].job->count; f++) {
			const struct gt_model *model = &c->side[s].job->models[f];
			struct gt_keymap known = {0};

			for (size_t i = 0; !rc && i < model->ops.count; i++) {
				const struct gt_op *op = &model->ops.at[i];
				const struct gt_call *call = gt_model_call_of(model, op);
				int64_t sample = sample_at(c, s, f, call ? call->start : op->start);
				struct gt_group *group;

				if (sample < 0)
					continue;
				group = gt_key_group(model, op, key, &known, groups);
				something |= !nothing || !group ||
					     strcmp(gt_group_name(groups, group), nothing);
				rc = add_to(group, s, sample, op->dur);
			}
			gt_keymap_fini(&known);
		}
	return rc ? rc : something;
}

static int group_calls(struct compare *c, struct gt_groups *groups)
{
	int rc = 0;

	for (int s = 0; s < 2; s++)
		for (size_t f = 0; !rc && f < c->side[s].job->count; f++) {
			const struct gt_model *model = &c->side[s].job->models[f];

			for (size_t i = 0; !rc && i < model->calls.count; i++) {
				const struct gt_call *call = &model->calls.at[i];
				int64_t sample = sample_at(c, s, f, call->start);

				if (sample >= 0)
					rc = add(groups, gt_model_name(model, call->name), s,
						 sample, call->dur);
			}
		}
	return rc ? rc : 1;
}

/* Wall, busy and idle of one interval of a model. */
static int add_interval(struct compare *c, struct gt_groups *groups, int s, int64_t sample,
			const struct gt_intervals *busy, int64_t start, int64_t end)
{
	int64_t used = gt_intervals_within(busy, start, end);
	int rc = add(groups, c->stepped ? "time per step" : "time from first to last GPU operation",
		     s, sample, end - start);

	if (!rc)
		rc = add(groups, "GPU busy", s, sample, used);
	if (!rc)
		rc = add(groups, "GPU idle", s, sample, end - start - used);
	return rc;
}

static int overview_of(struct compare *c, struct gt_groups *groups, int s, size_t f)
{
	const struct gt_model *model = &c->side[s].job->models[f];
	struct gt_intervals busy = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++)
		if (!gt_intervals_add(&busy, model->ops.at[i].start,
				      model->ops.at[i].start + model->ops.at[i].dur))
			rc = -ENOMEM;
	gt_intervals_merge(&busy);
	if (!c->stepped && busy.count)
		rc = add_interval(c, groups, s, c->side[s].sample_of_model[f], &busy,
				  busy.at[0].start, busy.at[busy.count - 1].end);
	for (uint32_t i = 0; !rc && c->stepped && i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (c->side[s].sample_of_range[f][i])
			rc = add_interval(c, groups, s,
					  (int64_t)c->side[s].sample_of_range[f][i] - 1, &busy,
					  range->start, range->start + range->dur);
	}
	gt_intervals_fini(&busy);
	return rc;
}

static int group_overview(struct compare *c, struct gt_groups *groups)
{
	int rc = 0;

	for (int s = 0; s < 2; s++)
		for (size_t f = 0; !rc && f < c->side[s].job->count; f++)
			rc = overview_of(c, groups, s, f);
	return rc ? rc : 1;
}

static int build_table(struct compare *c, enum gt_diff_table which)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups);

	if (!rc)
		switch (which) {
		case GT_DIFF_OVERVIEW:
			rc = group_overview(c, &groups);
			break;
		case GT_DIFF_KERNELS:
			rc = group_ops(c, GT_KEY_KERNEL, NULL, &groups);
			break;
		case GT_DIFF_LINES:
			rc = group_ops(c, GT_KEY_LINE, GT_KEY_UNKNOWN, &groups);
			break;
		case GT_DIFF_OPS:
			rc = group_ops(c, GT_KEY_OP, "(no operator)", &groups);
			break;
		default:
			rc = group_calls(c, &groups);
		}
	if (rc > 0)
		fill(c, which, &groups);
	gt_groups_fini(&groups);
	return rc < 0 ? rc : 0;
}

static void init_tables(struct gt_diff *diff)
{
	static const struct {
		const char *name, *step_title, *title;
		const struct gt_column *columns;
	} rows[GT_DIFF_COUNT_] = {
		{"overview", "Per step", "Whole trace", overview_columns},
		{"kernels", "GPU operations, time per step", "GPU operations", kernel_columns},
		{"lines", "GPU time per step by launching line", "GPU time by launching line",
		 line_columns},
		{"ops", "GPU time per step by operator", "GPU time by operator", op_columns},
		{"calls", "CUDA calls, time per step", "CUDA calls", call_columns},
	};

	for (int i = 0; i < GT_DIFF_COUNT_; i++) {
		gt_table_init(&diff->tables[i], rows[i].name,
			      diff->stepped ? rows[i].step_title : rows[i].title, rows[i].columns,
			      sizeof(call_columns) / sizeof(call_columns[0]));
		diff->tables[i].kept = UP_TO_B;
	}
}

int gt_diff_build(const struct gt_job *a, const struct gt_job *b, double gate_percent,
		  struct gt_diff *ret_diff)
{
	struct compare c = {
		.side = {{.job = a}, {.job = b}}, .gate = gate_percent, .diff = ret_diff};
	int rc;

	*ret_diff = (struct gt_diff){0};
	rc = find_steps(&c.side[0]);
	if (!rc)
		rc = find_steps(&c.side[1]);
	c.stepped = c.side[0].samples && c.side[1].samples;
	for (int s = 0; s < 2; s++) {
		if (!rc && !c.stepped)
			rc = number_models(&c.side[s]);
		ret_diff->samples[s] = c.side[s].samples;
	}
	ret_diff->stepped = c.stepped;
	init_tables(ret_diff);
	for (int i = 0; !rc && i < GT_DIFF_COUNT_; i++)
		rc = build_table(&c, (enum gt_diff_table)i);
	free_samples(&c.side[0]);
	free_samples(&c.side[1]);
	return rc;
}

void gt_diff_fini(struct gt_diff *diff)
{
	for (int i = 0; i < GT_DIFF_COUNT_; i++)
		gt_table_fini(&diff->tables[i]);
}
