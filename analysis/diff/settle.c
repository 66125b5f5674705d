/* SPDX-License-Identifier: Apache-2.0
 *
 * See settle.h. Single threaded.
 */
#include "analysis/diff/settle.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NORMAL       1.4826 /* median absolute deviation -> standard deviation */
#define FAR          6      /* standard deviations that noise does not reach */
#define WARM_UP      0.10   /* slower by less is no warm-up */
#define OUTLIER      0.25   /* the same of a unit anywhere */
#define VALUE        0.20   /* and of a single value */
#define LEAST_UNITS  5      /* of which one may be left out */
#define ONE_OF_UNITS 10     /* of more units than that, one of this many */

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double gt_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_number);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double gt_midmean(double *values, size_t count)
{
	size_t cut = count / 4;
	double sum = 0;

	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), by_number);
	for (size_t i = cut; i < count - cut; i++)
		sum += values[i];
	return sum / (double)(count - 2 * cut);
}

/* Median and scale of @values, with @room for as many. */
static double locate(const double *values, size_t count, double *room, double *ret_scale)
{
	double middle;

	memcpy(room, values, count * sizeof(*room));
	middle = gt_median(room, count);
	for (size_t i = 0; i < count; i++)
		room[i] = fabs(values[i] - middle);
	*ret_scale = NORMAL * gt_median(room, count);
	return middle;
}

static size_t may_leave_out(size_t count)
{
	return count < LEAST_UNITS ? 0 : count < ONE_OF_UNITS ? 1 : count / ONE_OF_UNITS;
}

/* The first units of a run while each is slower than what follows by more than noise. */
static size_t mark_warm_up(struct gt_unit *units, const double *factors, size_t count, double *room)
{
	size_t out = 0, most = count / 3 ? count / 3 : 1;

	while (out < most && count - out > 2) {
		double scale, middle = locate(factors + out + 1, count - out - 1, room, &scale);

		if (factors[out] <= middle + fmax(WARM_UP * middle, FAR * scale))
			break;
		units[out].out = GT_UNIT_WARM_UP;
		units[out].factor = factors[out] / middle;
		out++;
	}
	return out;
}

/* Units that are far from the median of all, if they are few; many are no outliers but a program
 * that does one thing now and another then. False: they are many. */
static bool mark_outliers(struct gt_unit *units, const double *factors, size_t count, double *room)
{
	double scale, middle = locate(factors, count, room, &scale), limit;
	size_t found = 0;

	if (!(middle > 0))
		return true;
	limit = log1p(fmax(OUTLIER, FAR * scale / middle));
	for (size_t i = 0; i < count; i++)
		found += fabs(log(fmax(factors[i] / middle, 1e-9))) > limit;
	for (size_t i = 0; found <= may_leave_out(count) && i < count; i++) {
		if (fabs(log(fmax(factors[i] / middle, 1e-9))) <= limit)
			continue;
		units[i].out = GT_UNIT_OUTLIER;
		units[i].factor = factors[i] / middle;
	}
	return found <= may_leave_out(count);
}

/* A row's value of each of a run's units, when it has one in each; else false. */
static bool row_of_run(const struct gt_diff_sides *sides, const struct gt_diff_side *side,
		       const struct gt_dist *triples, size_t first, size_t count, double *values)
{
	size_t n = 0;

	for (size_t i = 0; i < triples->count; i += GT_DIFF_TRIPLE) {
		size_t unit = (size_t)triples->at[i];

		if (unit < first || unit >= first + count)
			continue;
		if (unit != first + n)
			return false;
		values[n++] = (double)triples->at[i + 1] /
			      (sides->stepped ? (double)side->units.at[unit].ranks
					      : (double)triples->at[i + 2]);
	}
	return n == count;
}

/* How slow the kernels were in each unit of a run: by the middle half of those that each unit has,
 * as parts of their medians. False: there is none. */
static bool find_factors(const struct gt_diff_sides *sides, int s, const struct gt_diff_rows *rows,
			 size_t first, size_t count, double *factors, double *room)
{
	const struct gt_groups *groups = &rows->groups;
	size_t dense = 0, most = 0;
	double *table;

	for (size_t row = 0; row < groups->list.count; row++)
		most += groups->list.at[row].other[s].count >= count * GT_DIFF_TRIPLE;
	table = calloc(count * most + 1, sizeof(*table));
	for (size_t row = 0; table && row < groups->list.count; row++) {
		double *values = table + dense * count, middle;

		if (groups->list.at[row].other[s].count < count * GT_DIFF_TRIPLE ||
		    !row_of_run(sides, &sides->side[s], &groups->list.at[row].other[s], first,
				count, values))
			continue;
		memcpy(room, values, count * sizeof(*room));
		middle = gt_median(room, count);
		for (size_t i = 0; i < count; i++)
			values[i] /= middle;
		dense += middle > 0;
	}
	for (size_t i = 0; i < count && dense; i++) {
		for (size_t row = 0; row < dense; row++)
			room[row] = table[row * count + i];
		factors[i] = gt_midmean(room, dense);
	}
	free(table);
	return dense > 0;
}

/* @ret_many: set if a run has too many outliers. */
static int leave_out_of_run(struct gt_diff_sides *sides, int s, const struct gt_diff_rows *rows,
			    size_t first, size_t count, bool *ret_many)
{
	size_t most = count > rows->groups.list.count ? count : rows->groups.list.count;
	double *factors = calloc(count + 1, sizeof(*factors));
	double *room = calloc(most + 1, sizeof(*room));
	int rc = factors && room ? 0 : -ENOMEM;

	if (!rc && count > 2 && find_factors(sides, s, rows, first, count, factors, room)) {
		struct gt_unit *units = sides->side[s].units.at + first;
		size_t warm = mark_warm_up(units, factors, count, room);

		if (!mark_outliers(units + warm, factors + warm, count - warm, room))
			*ret_many = true;
	}
	free(factors);
	free(room);
	return rc;
}

/* As gt_series_leave_out. */
static void keep_outliers(struct gt_diff_side *side)
{
	for (size_t i = 0; i < side->units.count; i++)
		if (side->units.at[i].out == GT_UNIT_OUTLIER)
			side->units.at[i].out = GT_UNIT_KEPT;
}

int gt_diff_leave_out(struct gt_diff_sides *sides, const struct gt_diff_rows *kernels)
{
	bool are_many = false;
	int rc = 0;

	for (int s = 0; !rc && s < 2; s++) {
		struct gt_diff_side *side = &sides->side[s];
		size_t end;

		for (size_t first = 0; !rc && first < side->units.count; first = end) {
			for (end = first; end < side->units.count &&
					  side->units.at[end].run == side->units.at[first].run;)
				end++;
			rc = leave_out_of_run(sides, s, kernels, first, end - first, &are_many);
		}
	}
	for (int s = 0; s < 2; s++) {
		struct gt_diff_side *side = &sides->side[s];

		if (are_many)
			keep_outliers(side);
		side->kept = 0;
		for (size_t i = 0; i < side->units.count; i++)
			side->kept += side->units.at[i].out == GT_UNIT_KEPT;
	}
	return rc;
}

int gt_series_make(struct gt_series *ret_series, const struct gt_diff_sides *sides, int side,
		   const struct gt_diff_rows *rows, uint32_t row)
{
	const struct gt_dist *triples = &rows->groups.list.at[row].other[side];
	const struct gt_unit *units = sides->side[side].units.at;

	*ret_series = (struct gt_series){0};
	for (size_t i = 0; i < triples->count; i += GT_DIFF_TRIPLE) {
		const struct gt_unit *unit = &units[triples->at[i]];
		double parts = !sides->stepped     ? (double)triples->at[i + 2]
			       : rows->of_one_rank ? 1
						   : (double)unit->ranks;
		struct gt_value value = {.unit = (uint32_t)triples->at[i],
					 .x = (double)triples->at[i + 1] / parts};

		if (unit->out == GT_UNIT_KEPT && !gt_vec_push(&ret_series->values, value))
			return -ENOMEM;
	}
	return 0;
}

void gt_series_fini(struct gt_series *series)
{
	gt_vec_free(&series->values);
}

static double *values_of(const struct gt_series *series, size_t from, size_t until)
{
	double *values = calloc(until - from + 1, sizeof(*values));

	for (size_t i = from; values && i < until; i++)
		values[i - from] = series->values.at[i].x;
	return values;
}

double gt_series_scale(const struct gt_series *series)
{
	size_t count = series->values.count;
	double *values = values_of(series, 0, count), *room = calloc(count + 1, sizeof(*room));
	double scale = -1, middle;

	if (values && room) {
		middle = locate(values, count, room, &scale);
		scale = middle > 0 && count > 2 ? scale / middle : 0;
	}
	free(values);
	free(room);
	return scale;
}

/* Those of one run. False: they are too many. */
static bool mark_between(struct gt_series *series, size_t from, size_t until, double scale)
{
	double *values = values_of(series, from, until);
	double *room = calloc(until - from + 1, sizeof(*room)), middle, own, limit;
	size_t found = 0;

	if (values && room && until > from) {
		middle = locate(values, until - from, room, &own);
		limit = middle * fmax(VALUE, FAR * fmax(scale, own / fmax(middle, 1e-9)));
		for (size_t i = 0; i < until - from; i++)
			found += fabs(values[i] - middle) > limit;
		for (size_t i = from; found <= may_leave_out(until - from) && i < until; i++)
			series->values.at[i].is_out = fabs(values[i - from] - middle) > limit;
	}
	free(values);
	free(room);
	return found <= may_leave_out(until - from);
}

static bool mark_values(struct gt_series *series, const struct gt_diff_side *side, double scale)
{
	const struct gt_unit *units = side->units.at;
	size_t end, count = series->values.count;
	bool are_few = true;

	for (size_t from = 0; from < count; from = end) {
		uint32_t run = units[series->values.at[from].unit].run;

		for (end = from; end < count && units[series->values.at[end].unit].run == run;)
			end++;
		are_few &= mark_between(series, from, end, scale);
	}
	return are_few;
}

static void drop_marked(struct gt_series *series)
{
	size_t kept = 0, count = series->values.count;

	for (size_t i = 0; i < count; i++)
		if (!series->values.at[i].is_out)
			series->values.at[kept++] = series->values.at[i];
	series->left_out = count - kept;
	series->values.count = kept;
}

void gt_series_leave_out(struct gt_series series[2], const struct gt_diff_sides *sides,
			 const double scale[2])
{
	bool are_few = true;

	for (int s = 0; s < 2; s++)
		are_few &= mark_values(&series[s], &sides->side[s], scale[s]);
	for (int s = 0; s < 2; s++) {
		series[s].is_rough = !are_few;
		if (are_few)
			drop_marked(&series[s]);
	}
}
