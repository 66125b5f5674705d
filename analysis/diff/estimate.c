/* SPDX-License-Identifier: Apache-2.0
 *
 * See estimate.h. Pure, any thread.
 */
#include "analysis/diff/estimate.h"

#include <math.h>

#include "analysis/diff/student.h"

#define MOST_PRIOR   2 /* times a row's own degrees of freedom */
#define LEAST_VALUES 8 /* of which a correlation can be told */
#define MOST_R       0.9
#define SURE_R       1.64 /* standard errors */

struct gt_estimate gt_estimate_of(const struct gt_series *series, const double *common,
				  size_t zeros)
{
	struct gt_estimate e = {.n = (double)(series->values.count + zeros)};
	double squares = 0;

	if (!series->values.count)
		return e;
	for (size_t i = 0; i < series->values.count; i++) {
		const struct gt_value *value = &series->values.at[i];

		e.mean += value->x / (common ? common[value->unit] : 1);
	}
	e.mean /= e.n;
	for (size_t i = 0; i < series->values.count; i++) {
		const struct gt_value *value = &series->values.at[i];
		double off = value->x / (common ? common[value->unit] : 1) - e.mean;

		squares += off * off;
	}
	squares += (double)zeros * e.mean * e.mean;
	if (e.n > 1 && e.mean > 0) {
		e.freedom = e.n - 1;
		e.variance = fmax(squares / e.freedom / (e.mean * e.mean), series->floor);
	}
	return e;
}

struct gt_test gt_estimate_test(const struct gt_estimate side[2], const double inflate[2])
{
	struct gt_test test = {0};
	double error[2], freedom[2], sum;

	if (!(side[0].mean > 0) || !(side[1].mean > 0) ||
	    !(side[0].freedom > 0 || side[1].freedom > 0))
		return test;
	for (int s = 0; s < 2; s++) {
		const struct gt_estimate *from = side[s].freedom > 0 ? &side[s] : &side[1 - s];

		error[s] = from->variance * inflate[s] / side[s].n;
		freedom[s] = fmax(from->freedom / inflate[s], 1);
	}
	sum = error[0] + error[1];
	test.is_known = true;
	test.change = log(side[1].mean / side[0].mean);
	test.error = sqrt(sum);
	test.freedom = sum > 0 ? sum * sum /
					 (error[0] * error[0] / freedom[0] +
					  error[1] * error[1] / freedom[1])
			       : freedom[0] + freedom[1];
	if (!(side[0].freedom > 0) || !(side[1].freedom > 0))
		test.freedom = fmin(freedom[0], freedom[1]);
	return test;
}

void gt_estimate_test_difference(const struct gt_estimate side[2], const double inflate[2],
				 struct gt_test *test)
{
	double difference = fabs(side[1].mean - side[0].mean), sum = 0, error;

	if (!test->is_known || !(difference > 0))
		return;
	for (int s = 0; s < 2; s++)
		sum += side[s].variance * inflate[s] / side[s].n * side[s].mean * side[s].mean;
	error = fabs(test->change) * sqrt(sum) / difference;
	test->error = fmax(test->error, error);
}

void gt_estimate_prior(const double *variances, size_t count, double freedom, double *ret_variance,
		       double *ret_freedom)
{
	double mean = 0, squares = 0, spread;

	*ret_variance = *ret_freedom = 0;
	if (count < 3 || freedom < 1)
		return;
	for (size_t i = 0; i < count; i++)
		mean += log(variances[i]) - gt_digamma(freedom / 2) + log(freedom / 2);
	mean /= (double)count;
	for (size_t i = 0; i < count; i++) {
		double off = log(variances[i]) - gt_digamma(freedom / 2) + log(freedom / 2) - mean;

		squares += off * off;
	}
	spread = squares / (double)(count - 1) - gt_trigamma(freedom / 2);
	*ret_freedom = spread > 0 ? 2 * gt_trigamma_inverse(spread) : INFINITY;
	*ret_variance = exp(mean);
	if (isfinite(*ret_freedom))
		*ret_variance *= exp(gt_digamma(*ret_freedom / 2) - log(*ret_freedom / 2));
	*ret_freedom = fmin(*ret_freedom, fmax(3 * freedom, freedom * freedom / 4));
}

void gt_estimate_moderate(struct gt_estimate *side, double prior, double freedom)
{
	if (!(freedom > 0) || !(side->freedom > 0))
		return;
	side->variance =
		(side->variance * side->freedom + prior * freedom) / (side->freedom + freedom);
	side->freedom += freedom;
}

double gt_estimate_inflation(double r, double n, double values)
{
	r += 1 / n; /* the estimate is too small by so much */
	if (n < LEAST_VALUES || r <= SURE_R / sqrt(values))
		return 1;
	r = fmin(r, MOST_R);
	return (1 + r) / (1 - r);
}
