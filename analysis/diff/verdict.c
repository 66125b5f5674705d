/* SPDX-License-Identifier: Apache-2.0
 *
 * The second half of judge.h: all rows together. One thread per comparison.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/diff/judge.h"
#include "analysis/diff/student.h"

#define OUTSIDE 0.025 /* of an interval of 95 %, on each side */
#define BOUND   10    /* times: what is further from an estimate says nothing */
#define MISSED  0.1   /* a change that is missed so often is still one that could be shown */

static int by_p(const void *a, const void *b)
{
	const struct gt_diff_row *x = *(struct gt_diff_row *const *)a;
	const struct gt_diff_row *y = *(struct gt_diff_row *const *)b;

	return x->p < y->p ? -1 : x->p > y->p;
}

bool gt_judge_interval(const struct gt_diff_row *row, double *ret_low, double *ret_high)
{
	double half;

	if (!row->whole.is_known)
		return false;
	half = gt_student_quantile(OUTSIDE, row->whole.freedom) * row->whole.error;
	*ret_low = expm1(row->whole.change - half);
	*ret_high = expm1(row->whole.change + half);
	return true;
}

bool gt_judge_is_bounded(double low, double high)
{
	return isfinite(high) && low > -1 && (1 + high) / (1 + low) <= BOUND * BOUND;
}

bool gt_judge_could_show(double could)
{
	return could <= BOUND - 1;
}

/* A row that differs from the others must also have changed as it stands. */
static bool changed_as_it_stands(const struct gt_diff_row *row)
{
	double low, high;

	if (!row->apart.is_known)
		return true;
	return gt_judge_interval(row, &low, &high) && (low > 0 || high < 0) &&
	       (row->whole.change > 0) == (row->apart.change > 0);
}

static double could_show(const struct gt_diff_row *row, double p)
{
	const struct gt_test *test = row->apart.is_known ? &row->apart : &row->whole;
	double least = log1p(GT_DIFF_SMALLEST / 100), change;

	if (!test->is_known)
		return INFINITY;
	change = (gt_student_quantile(p / 2, test->freedom) +
		  gt_student_quantile(MISSED, test->freedom)) *
		 test->error;
	if (row->apart.is_known)
		change = fmax(change, (gt_student_quantile(OUTSIDE, row->whole.freedom) +
				       gt_student_quantile(MISSED, row->whole.freedom)) *
					      row->whole.error);
	return expm1(fmax(change, least));
}

bool gt_judge_is_plain(const struct gt_diff_row *row)
{
	double low = fmin(row->whole.change, row->whole.change + row->longer);
	double high = fmax(row->whole.change, row->whole.change + row->longer);
	double least = log1p(GT_DIFF_SMALLEST / 100);

	if (row->whole.is_known)
		least = fmax(least, row->whole.error * gt_student_quantile(GT_DIFF_ROW / 2,
									   row->whole.freedom));
	return row->longer == 0 || low > least || high < -least;
}

static enum gt_verdict verdict_of(const struct gt_diff_row *row, const struct gt_group *group,
				  double enough)
{
	double change = row->mean[1] - row->mean[0], low, high;

	if (!group->tag[0])
		return GT_VERDICT_NEW;
	if (!group->tag[1])
		return GT_VERDICT_GONE;
	if (!gt_judge_is_plain(row))
		return GT_VERDICT_UNSURE;
	if (fabs(change) * 100 <= GT_DIFF_SMALLEST * row->mean[0])
		return change == 0 || row->could <= enough || !row->whole.is_known
			       ? GT_VERDICT_SAME
			       : GT_VERDICT_UNSURE;
	if (row->is_sure)
		return row->whole.change > 0 ? GT_VERDICT_SLOWER : GT_VERDICT_FASTER;
	if (!gt_judge_interval(row, &low, &high) || low > 0 || high < 0)
		return GT_VERDICT_UNSURE;
	return row->could <= enough ? GT_VERDICT_SAME : GT_VERDICT_UNSURE;
}

double gt_judge_limit(size_t rows)
{
	return fmin(GT_DIFF_ALPHA / (double)rows, GT_DIFF_ROW);
}

/* Holm 1979: the smallest probability is held against all rows, the next against one less, and so
 * on until one is too great. */
static void correct(struct gt_diff_row **rows, size_t count)
{
	bool still = true;

	qsort(rows, count, sizeof(struct gt_diff_row *), by_p);
	for (size_t i = 0; i < count; i++) {
		still = still && rows[i]->p <= gt_judge_limit(count - i);
		rows[i]->is_sure = still && changed_as_it_stands(rows[i]);
		rows[i]->could = could_show(rows[i], gt_judge_limit(count));
	}
}

int gt_judge_all(struct gt_judged *tables, const struct gt_diff_rows *rows, size_t count,
		 double enough)
{
	struct gt_diff_row **all;
	size_t most = 0, n = 0;

	for (size_t i = 0; i < count; i++)
		most += tables[i].rows.count;
	all = calloc(most + 1, sizeof(struct gt_diff_row *));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < tables[i].rows.count; k++)
			if (tables[i].rows.at[k].p <= 1)
				all[n++] = &tables[i].rows.at[k];
	correct(all, n);
	free(all);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < tables[i].rows.count; k++) {
			struct gt_diff_row *row = &tables[i].rows.at[k];

			row->verdict = verdict_of(row, &rows[i].groups.list.at[row->row], enough);
		}
	return 0;
}
