/* SPDX-License-Identifier: Apache-2.0
 *
 * See judge.h. One thread per comparison.
 */
#include "analysis/diff/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/diff/estimate.h"
#include "analysis/diff/student.h"
#include "analysis/diff/trend.h"

#define LEAST_VARIANCE 1e-18 /* of which there is a logarithm */
#define LEAST_ROWS     10    /* that tell what is common to all */
#define SHIFT          0.001 /* all rows together changed */

/* A table while it is judged. */
struct judging {
	struct gt_judged *judged;
	const struct gt_diff_sides *sides;
	const struct gt_diff_rows *rows;
	bool by_run;
	double *common[2]; /* by unit: how slow it was */
	size_t units[2];   /* units or runs that a row can have */
	size_t *dense;     /* rows that have them all on both sides */
	size_t dense_count;
	double inflate[2], inflate_apart[2];
};

/* A row's series become the means of its runs. The error that each has from its units is the least
 * that runs can differ by. */
static void collapse(struct gt_series *series, const struct gt_diff_side *side)
{
	const struct gt_unit *units = side->units.at;
	size_t kept = 0, end, count = series->values.count;
	double floor = 0, within = 0;

	for (size_t from = 0; from < count; from = end) {
		uint32_t run = units[series->values.at[from].unit].run;
		double sum = 0, squares = 0, n, mean;

		for (end = from; end < count && units[series->values.at[end].unit].run == run;
		     end++)
			sum += series->values.at[end].x;
		n = (double)(end - from);
		mean = sum / n;
		for (size_t i = from; i < end; i++)
			squares +=
				(series->values.at[i].x - mean) * (series->values.at[i].x - mean);
		if (n > 1 && mean > 0) {
			within += squares / (n - 1) / (mean * mean);
			floor += squares / (n - 1) / n / (mean * mean);
		}
		series->values.at[kept++] = (struct gt_value){.unit = run, .x = mean};
	}
	series->values.count = kept;
	series->within = kept ? within / (double)kept : 0;
	series->floor = fmax(series->floor, kept ? floor / (double)kept : 0);
}

/* Times have whole nanoseconds: a start and an end that are rounded have an error of their own. */
static double rounding(const struct gt_diff_rows *rows, uint32_t row, int s,
		       const struct gt_series *series)
{
	double units = (double)rows->groups.list.at[row].other[s].count / GT_DIFF_TRIPLE;
	double ops = (double)rows->groups.list.at[row].tag[s], mean = 0;

	for (size_t i = 0; i < series->values.count; i++)
		mean += series->values.at[i].x / (double)series->values.count;
	return mean > 0 && units > 0 ? ops / units / 6 / (mean * mean) : 0;
}

static int make_rows(struct judging *t)
{
	const struct gt_groups *groups = &t->rows->groups;

	for (uint32_t i = 0; i < groups->list.count; i++) {
		struct gt_diff_row row = {.row = i, .p = 2, .could = INFINITY};

		if (!groups->list.at[i].tag[0] && !groups->list.at[i].tag[1])
			continue;
		if (!gt_vec_push(&t->judged->rows, row))
			return -ENOMEM;
		for (int s = 0; s < 2; s++) {
			struct gt_series *series =
				&t->judged->rows.at[t->judged->rows.count - 1].side[s];

			if (gt_series_make(series, t->sides, s, t->rows, i))
				return -ENOMEM;
			series->floor = rounding(t->rows, i, s, series);
		}
	}
	return 0;
}

/* The median of what @of finds in each row, where it is more than 0; -1: no memory. */
static double usual(const struct judging *t, double (*of)(const struct gt_diff_row *row, int s),
		    int s)
{
	size_t n = 0;
	double *at = calloc(t->judged->rows.count + 1, sizeof(*at)), middle = -1;

	for (size_t i = 0; at && i < t->judged->rows.count; i++) {
		double value = of(&t->judged->rows.at[i], s);

		if (value > 0)
			at[n++] = value;
	}
	if (at)
		middle = gt_median(at, n);
	free(at);
	return middle;
}

static double scale_of(const struct gt_diff_row *row, int s)
{
	return gt_series_scale(&row->side[s]);
}

static double scatter_of(const struct gt_diff_row *row, int s)
{
	return row->scatter[s];
}

static double within_of(const struct gt_diff_row *row, int s)
{
	return sqrt(row->side[s].within);
}

static double between_of(const struct gt_diff_row *row, int s)
{
	return sqrt(gt_estimate_of(&row->side[s], NULL, 0).variance);
}

/* Of both sides. */
static double worse_of(const struct judging *t, double (*of)(const struct gt_diff_row *row, int s))
{
	return fmax(usual(t, of, 0), usual(t, of, 1));
}

/* More work than by the length of the recording: the logarithm. One operation more or less is the
 * edge of a recording. */
static double more_work(const struct judging *t, const double ops[2])
{
	double longer = t->sides->longer;

	if (t->rows->of_time)
		return -log(longer);
	if (!(ops[0] > 0) || !(ops[1] > 0))
		return 0;
	return fabs(ops[1] - ops[0] * longer) <= 1 ? 0 : log(ops[1] / ops[0] / longer);
}

/* The whole has them where its kernels do not agree. */
static bool has_two_readings(const struct judging *t, const double ops[2])
{
	if (t->rows->of_time)
		return t->sides->is_mixed;
	return ops[0] > 0 && ops[1] > 0 && !gt_diff_follows(t->sides, ops[0], ops[1]);
}

/* What a row is shown with: of steps the mean, where it occurs, times how often that is; of whole
 * traces all its time, without that of outliers, of B for as much work as A has, for which the
 * number of its operations counts without an error. */
static void show(struct judging *t, struct gt_diff_row *row)
{
	bool has_outliers = (row->side[0].left_out || row->side[1].left_out) && !t->rows->of_time;
	double ops[2], ns[2];

	for (int s = 0; s < 2; s++) {
		struct gt_estimate e = gt_estimate_of(&row->side[s], NULL, 0);
		double has = (double)(row->side[s].values.count + row->side[s].left_out);
		double all = (double)t->sides->side[s].kept;

		row->scatter[s] = e.freedom > 0 ? sqrt(e.variance) : -1;
		ops[s] = gt_diff_ops_of_rank(t->sides, t->rows, row->row, s, &ns[s]);
		if (t->sides->stepped)
			row->mean[s] = all > 0 ? e.mean * has / all : 0;
		else
			row->mean[s] = has_outliers ? e.mean * ops[s] : ns[s];
	}
	if (!t->sides->stepped) {
		row->more_ops = more_work(t, ops);
		if (fabs(t->sides->longer - 1) >= GT_DIFF_LENGTHS && has_two_readings(t, ops))
			row->longer = log(t->sides->longer);
		if (t->rows->of_time)
			row->mean[1] /= t->sides->longer;
		else if (ops[0] > 0 && ops[1] > 0)
			row->mean[1] *= ops[0] / ops[1] * exp(row->more_ops);
	}
}

/* Outliers of each row go, then each is seen as it is shown, then runs become one value each. */
static int settle_rows(struct judging *t)
{
	double scale[2];

	for (int s = 0; s < 2; s++) {
		scale[s] = usual(t, scale_of, s);
		if (scale[s] < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < t->judged->rows.count; i++)
		gt_series_leave_out(t->judged->rows.at[i].side, t->sides, scale);
	for (size_t i = 0; i < t->judged->rows.count; i++) {
		struct gt_diff_row *row = &t->judged->rows.at[i];

		show(t, row);
		for (int s = 0; s < 2; s++)
			row->trend[s] = gt_trend_of(&row->side[s], &t->sides->side[s]);
	}
	for (size_t i = 0; t->by_run && i < t->judged->rows.count; i++)
		for (int s = 0; s < 2; s++)
			collapse(&t->judged->rows.at[i].side[s], &t->sides->side[s]);
	t->judged->between_units = worse_of(t, t->by_run ? within_of : scatter_of);
	t->judged->between_runs = t->by_run ? worse_of(t, between_of) : 0;
	return 0;
}

static bool is_dense(const struct judging *t, const struct gt_diff_row *row)
{
	for (int s = 0; s < 2; s++)
		if (row->side[s].values.count + (t->by_run ? 0 : row->side[s].left_out) !=
			    t->units[s] ||
		    !(row->mean[s] > 0) || row->side[s].is_rough)
			return false;
	return true;
}

static int find_dense(struct judging *t)
{
	t->dense = calloc(t->judged->rows.count + 1, sizeof(*t->dense));
	if (!t->dense)
		return -ENOMEM;
	for (size_t i = 0; i < t->judged->rows.count; i++)
		if (is_dense(t, &t->judged->rows.at[i]))
			t->dense[t->dense_count++] = i;
	return 0;
}

static const struct gt_series *dense_series(const struct judging *t, size_t i, int s)
{
	return &t->judged->rows.at[t->dense[i]].side[s];
}

/* What is common to all rows of each unit of a side: the middle half of their parts of their means,
 * around 1. */
static int find_common(struct judging *t, int s)
{
	size_t last = t->by_run ? t->sides->side[s].runs : t->sides->side[s].units.count;
	size_t *position = calloc(t->dense_count + 1, sizeof(*position)), n;
	double *parts = calloc(t->dense_count + 1, sizeof(*parts));
	double *means = calloc(t->dense_count + 1, sizeof(*means));
	double *common = calloc(last + 1, sizeof(*common));
	int rc = position && parts && means && common ? 0 : -ENOMEM;

	t->common[s] = common;
	for (size_t i = 0; !rc && i < t->dense_count; i++)
		means[i] = gt_estimate_of(dense_series(t, i, s), NULL, 0).mean;
	for (size_t unit = 0; !rc && unit < last; unit++) {
		n = 0;
		for (size_t i = 0; i < t->dense_count; i++) {
			const struct gt_series *series = dense_series(t, i, s);

			if (position[i] < series->values.count &&
			    series->values.at[position[i]].unit == unit)
				parts[n++] = series->values.at[position[i]++].x / means[i];
		}
		common[unit] = n ? gt_midmean(parts, n) : 1;
	}
	free(position);
	free(parts);
	free(means);
	return rc;
}

/* Correlation of neighbouring units, over all rows that have them all. */
static double correlation(const struct judging *t, int s, bool apart)
{
	double products = 0, squares = 0;

	for (size_t i = 0; i < t->dense_count; i++) {
		const struct gt_series *series = dense_series(t, i, s);
		const double *common = apart ? t->common[s] : NULL;
		double mean = gt_estimate_of(series, common, 0).mean, before = 0;

		for (size_t k = 0; k < series->values.count; k++) {
			const struct gt_value *value = &series->values.at[k];
			double off = value->x / (common ? common[value->unit] : 1) / mean - 1;

			products += k ? off * before : 0;
			squares += off * off;
			before = off;
		}
	}
	return squares > 0 ? products / squares : 0;
}

/* The test of a row as it stands. One that is not in every unit is compared by the units that it is
 * in, if it is in as many on both sides; else by all, of which some have nothing. */
static void test_whole(const struct judging *t, const double inflate[2], struct gt_diff_row *row)
{
	struct gt_estimate e[2];
	size_t zeros[2] = {0, 0};
	double part[2];

	for (int s = 0; s < 2; s++) {
		size_t has = row->side[s].values.count + (t->by_run ? 0 : row->side[s].left_out);

		zeros[s] = t->sides->stepped && has < t->units[s] ? t->units[s] - has : 0;
		part[s] = (double)has / fmax((double)t->units[s], 1);
	}
	if (fabs(part[0] - part[1]) <= 1 / fmax((double)t->units[0], 1) ||
	    fabs(part[0] - part[1]) <= 1 / fmax((double)t->units[1], 1))
		zeros[0] = zeros[1] = 0;
	for (int s = 0; s < 2; s++) {
		e[s] = gt_estimate_of(&row->side[s], NULL, zeros[s]);
		if (!t->by_run && !(e[s].freedom > 0))
			return;
	}
	row->whole = gt_estimate_test(e, inflate);
	if (row->side[0].is_rough)
		gt_estimate_test_difference(e, inflate, &row->whole);
	row->whole.change += row->more_ops;
}

/* Variance of the middle half's mean, of what is common to the units of a side. */
static struct gt_estimate estimate_common(const struct judging *t, int s)
{
	struct gt_estimate e = {.mean = 1, .n = (double)t->units[s]};
	size_t last = t->by_run ? t->sides->side[s].runs : t->sides->side[s].units.count;

	for (size_t i = 0; i < last; i++)
		if (t->by_run || t->sides->side[s].units.at[i].out == GT_UNIT_KEPT)
			e.variance += (t->common[s][i] - 1) * (t->common[s][i] - 1);
	e.freedom = e.n - 1;
	e.variance = e.freedom > 0 ? e.variance / e.freedom : 0;
	return e;
}

/* Whether all rows together changed: by @shift, the middle half of the rows' changes. */
static bool did_all_change(const struct judging *t, double shift)
{
	struct gt_estimate e[2] = {estimate_common(t, 0), estimate_common(t, 1)};
	struct gt_test test = gt_estimate_test(e, t->inflate);

	if (!test.is_known || !(test.error > 0))
		return false;
	return 2 * gt_student_tail(fabs(shift) / test.error, test.freedom) < SHIFT;
}

/* The middle half of the rows' changes, with what is common divided out (@apart) or not. */
static double shift_of(const struct judging *t, bool apart)
{
	double *changes = calloc(t->dense_count + 1, sizeof(*changes)), shift = 0;

	for (size_t i = 0; changes && i < t->dense_count; i++) {
		struct gt_estimate e[2];

		for (int s = 0; s < 2; s++)
			e[s] = gt_estimate_of(dense_series(t, i, s), apart ? t->common[s] : NULL,
					      0);
		changes[i] = log(e[1].mean / e[0].mean);
	}
	if (changes)
		shift = gt_midmean(changes, t->dense_count);
	free(changes);
	return shift;
}

static int find_priors(const struct judging *t, double prior[2], double freedom[2])
{
	double *variances = calloc(t->dense_count + 1, sizeof(*variances));

	if (!variances)
		return -ENOMEM;
	for (int s = 0; s < 2; s++) {
		size_t n = 0;

		for (size_t i = 0; i < t->dense_count; i++) {
			struct gt_estimate e =
				gt_estimate_of(dense_series(t, i, s), t->common[s], 0);

			if (e.freedom > 0)
				variances[n++] = fmax(e.variance, LEAST_VARIANCE);
		}
		gt_estimate_prior(variances, n, (double)t->units[s] - 1, &prior[s], &freedom[s]);
	}
	free(variances);
	return 0;
}

static int test_apart(struct judging *t)
{
	double shift = shift_of(t, true), prior[2], freedom[2];
	int rc = find_priors(t, prior, freedom);

	for (size_t i = 0; !rc && i < t->dense_count; i++) {
		struct gt_diff_row *row = &t->judged->rows.at[t->dense[i]];
		struct gt_estimate e[2];

		if (!row->whole.is_known)
			continue;
		for (int s = 0; s < 2; s++) {
			e[s] = gt_estimate_of(&row->side[s], t->common[s], 0);
			gt_estimate_moderate(&e[s], prior[s], freedom[s]);
		}
		row->apart = gt_estimate_test(e, t->inflate_apart);
		row->apart.change += row->more_ops - shift;
		test_whole(t, t->inflate_apart, row); /* a drift is in what is common */
	}
	return rc;
}

/* The estimates that need all rows of the table. */
static int compare_rows(struct judging *t)
{
	int rc = find_dense(t);

	for (int s = 0; !rc && s < 2; s++) {
		double n = (double)t->units[s];

		t->inflate[s] = t->inflate_apart[s] = 1;
		rc = find_common(t, s);
		if (rc || t->by_run || n < 2)
			continue;
		t->inflate[s] = gt_estimate_inflation(correlation(t, s, false), n, n);
		t->inflate_apart[s] = gt_estimate_inflation(correlation(t, s, true), n,
							    n * (double)t->dense_count);
	}
	for (size_t i = 0; !rc && i < t->judged->rows.count; i++)
		test_whole(t, t->inflate, &t->judged->rows.at[i]);
	if (!rc && t->dense_count >= LEAST_ROWS && !did_all_change(t, shift_of(t, false)))
		rc = test_apart(t);
	return rc;
}

static double p_of(const struct gt_test *test)
{
	if (!test->is_known)
		return 2;
	if (!(test->error > 0))
		return test->change == 0 ? 1 : 0;
	return 2 * gt_student_tail(fabs(test->change) / test->error, test->freedom);
}

int gt_judge_table(struct gt_judged *ret_judged, const struct gt_diff_sides *sides,
		   const struct gt_diff_rows *rows)
{
	struct judging t = {.judged = ret_judged, .sides = sides, .rows = rows};
	int rc;

	*ret_judged = (struct gt_judged){0};
	t.by_run = sides->side[0].runs > 1 || sides->side[1].runs > 1;
	for (int s = 0; s < 2; s++)
		t.units[s] = t.by_run         ? sides->side[s].runs
			     : sides->stepped ? sides->side[s].kept
					      : GT_DIFF_BLOCKS;
	rc = make_rows(&t);
	if (!rc)
		rc = settle_rows(&t);
	if (!rc)
		rc = compare_rows(&t);
	for (size_t i = 0; !rc && i < ret_judged->rows.count; i++) {
		struct gt_diff_row *row = &ret_judged->rows.at[i];

		row->p = p_of(row->apart.is_known ? &row->apart : &row->whole);
	}
	free(t.dense);
	free(t.common[0]);
	free(t.common[1]);
	return rc;
}

void gt_judged_fini(struct gt_judged *judged)
{
	for (size_t i = 0; i < judged->rows.count; i++)
		for (int s = 0; s < 2; s++)
			gt_series_fini(&judged->rows.at[i].side[s]);
	gt_vec_free(&judged->rows);
}
