/* SPDX-License-Identifier: Apache-2.0
 *
 * See trend.h. One thread per comparison.
 */
#include "analysis/diff/trend.h"

#include <math.h>
#include <stdio.h>

#include "analysis/diff/estimate.h"
#include "analysis/diff/notes.h"
#include "analysis/diff/student.h"

#define LEAST_VALUES 8    /* of which a line can be told from noise */
#define LEAST_GROWTH 0.05 /* a smaller one is not worth a note */
#define SHARE        0.1  /* % of its table, that a row must have for a note */
#define MOST         1.9  /* a part of the mean: a line that begins at nothing grows by two */

static const int told[] = {GT_DIFF_KERNELS, GT_DIFF_OVERVIEW};

/* Sums over the values of all runs, each around the middle of its run. */
struct line_sums {
	double n, runs, last; /* last: number of units from the first to the last, at most */
	double tt, ty, yy, mean;
};

static size_t end_of_run(const struct gt_series *series, const struct gt_diff_side *side,
			 size_t from)
{
	const struct gt_unit *units = side->units.at;
	size_t end = from;

	while (end < series->values.count &&
	       units[series->values.at[end].unit].run == units[series->values.at[from].unit].run)
		end++;
	return end;
}

static void add_run(struct line_sums *sums, const struct gt_value *values, size_t count)
{
	double time = 0, mean = 0, last;

	for (size_t i = 0; i < count; i++) {
		time += (double)values[i].unit / (double)count;
		mean += values[i].x / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		double t = (double)values[i].unit - time, y = values[i].x - mean;

		sums->tt += t * t;
		sums->ty += t * y;
		sums->yy += y * y;
	}
	last = (double)values[count - 1].unit - (double)values[0].unit;
	sums->last = fmax(sums->last, last);
	sums->n += (double)count;
	sums->runs++;
	sums->mean += mean * (double)count;
}

/* Correlation of neighbours in what is left beside the line. */
static double correlate_rest(const struct gt_value *values, size_t count, double slope,
			     double *squares)
{
	double time = 0, mean = 0, before = 0, products = 0;

	for (size_t i = 0; i < count; i++) {
		time += (double)values[i].unit / (double)count;
		mean += values[i].x / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		double off = values[i].x - mean - slope * ((double)values[i].unit - time);

		products += i ? off * before : 0;
		*squares += off * off;
		before = off;
	}
	return products;
}

struct gt_test gt_trend_of(const struct gt_series *series, const struct gt_diff_side *side)
{
	struct line_sums sums = {0};
	double slope, products = 0, squares = 0, variance, inflation, r;
	size_t end;

	for (size_t from = 0; from < series->values.count; from = end) {
		end = end_of_run(series, side, from);
		add_run(&sums, series->values.at + from, end - from);
	}
	if (sums.n < LEAST_VALUES + sums.runs - 1 || !(sums.tt > 0) || !(sums.mean > 0))
		return (struct gt_test){0};
	sums.mean /= sums.n;
	slope = sums.ty / sums.tt;
	for (size_t from = 0; from < series->values.count; from = end) {
		end = end_of_run(series, side, from);
		products += correlate_rest(series->values.at + from, end - from, slope, &squares);
	}
	variance = fmax(squares / (sums.n - sums.runs - 1), series->floor * sums.mean * sums.mean);
	r = squares > 0 ? products / squares : 0;
	inflation = gt_estimate_inflation(r + sums.runs / sums.n, sums.n, sums.n);
	return (struct gt_test){
		.is_known = true,
		.change = slope * sums.last / sums.mean,
		.error = sqrt(variance * inflation / sums.tt) * sums.last / sums.mean,
		.freedom = fmax((sums.n - sums.runs - 1) / inflation, 1),
	};
}

double gt_trend_growth(const struct gt_test *trend)
{
	double half = fmax(fmin(trend->change, MOST), -MOST) / 2;

	return (1 + half) / (1 - half) - 1;
}

static bool is_sure(double change, double error, double freedom, double limit)
{
	if (!(error > 0))
		return change != 0;
	return 2 * gt_student_tail(fabs(change) / error, freedom) <= limit;
}

/* Whether B's line is no chance, and neither is its difference from A's. */
static bool grows_in_b(const struct gt_diff_row *row, double limit)
{
	const struct gt_test *a = &row->trend[0], *b = &row->trend[1];
	double a2 = a->error * a->error, b2 = b->error * b->error, change = b->change - a->change;
	double freedom;

	if (!a->is_known || !b->is_known || (change > 0) != (b->change > 0))
		return false;
	freedom = a2 + b2 > 0
			  ? (a2 + b2) * (a2 + b2) / (a2 * a2 / a->freedom + b2 * b2 / b->freedom)
			  : a->freedom;
	return fabs(gt_trend_growth(b)) >= LEAST_GROWTH &&
	       is_sure(b->change, b->error, b->freedom, limit) &&
	       is_sure(change, sqrt(a2 + b2), freedom, limit);
}

static double total_of(const struct gt_judged *judged, int table)
{
	double total = 0;

	for (size_t i = 0; i < judged->rows.count; i++)
		total += judged->rows.at[i].mean[1];
	return table == GT_DIFF_OVERVIEW && judged->rows.count ? judged->rows.at[0].mean[1] : total;
}

/* By how much more than A's the end of B's line is above its start, %. */
static double grows_more(const struct gt_diff_row *row)
{
	return (gt_trend_growth(&row->trend[1]) - fmax(gt_trend_growth(&row->trend[0]), 0)) * 100;
}

static int tell_row(const struct gt_compared *c, int table, const struct gt_diff_row *row,
		    size_t others, struct gt_diff *diff)
{
	double growth = gt_trend_growth(&row->trend[1]) * 100;
	bool held = growth > 0 && c->request->gate >= 0 && grows_more(row) > c->request->gate;
	char name[512], text[1024], more[64] = "";
	int rc;

	gt_gate_name(c, table, row->row, name, sizeof(name));
	if (others)
		snprintf(more, sizeof(more), ", and %zu more row%s", others,
			 others == 1 ? "" : "s");
	snprintf(text, sizeof(text),
		 "%.300s takes steadily %s within B: %+.1f %% from the first to the last %s (in A "
		 "%+.1f %%)%s",
		 name, growth > 0 ? "longer" : "shorter", growth,
		 c->sides.stepped ? "step" : "part", gt_trend_growth(&row->trend[0]) * 100, more);
	rc = gt_diff_say(&diff->notes, "%s: its mean is not what it comes to.", text);
	return rc || !held ? rc : gt_diff_say(&diff->doubts, "%s", text);
}

int gt_trend_tell(const struct gt_compared *compared, struct gt_diff *diff)
{
	size_t rows = 0;
	int rc = 0;

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		rows += compared->judged[told[i]].rows.count;
	for (size_t i = 0; !rc && i < sizeof(told) / sizeof(told[0]); i++) {
		const struct gt_judged *judged = &compared->judged[told[i]];
		double total = total_of(judged, told[i]);
		const struct gt_diff_row *most[2] = {NULL, NULL};
		size_t found[2] = {0, 0};

		for (size_t k = 0; k < judged->rows.count; k++) {
			const struct gt_diff_row *row = &judged->rows.at[k];
			int way = row->trend[1].change > 0;

			if (row->mean[1] * 100 < SHARE * total ||
			    !grows_in_b(row, gt_judge_limit(rows)))
				continue;
			found[way]++;
			if (!most[way] ||
			    fabs(row->trend[1].change * row->mean[1]) >
				    fabs(most[way]->trend[1].change * most[way]->mean[1]))
				most[way] = row;
		}
		for (int way = 1; !rc && way >= 0; way--)
			if (most[way])
				rc = tell_row(compared, told[i], most[way], found[way] - 1, diff);
	}
	return rc;
}
