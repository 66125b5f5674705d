/* SPDX-License-Identifier: Apache-2.0
 *
 * Means of series and their errors, for judge.h. Pure, any thread.
 */
#ifndef GT_ANALYSIS_DIFF_ESTIMATE_H
#define GT_ANALYSIS_DIFF_ESTIMATE_H

#include "analysis/diff/judge.h"

/* Mean and variance of a series. */
struct gt_estimate {
	double mean, n;
	double variance; /* of one value, as a part of the mean squared */
	double freedom;  /* of the variance; 0: not known */
};

/* Of the values, each divided by what @common says of its unit (NULL: nothing), and of @zeros
 * units in which there was nothing. */
struct gt_estimate gt_estimate_of(const struct gt_series *series, const double *common,
				  size_t zeros);

/* Welch's t of the ratio of two means. @inflate: what correlation does to the variances. With one
 * value on a side the variance of the other is taken for both. */
struct gt_test gt_estimate_test(const struct gt_estimate side[2], const double inflate[2]);

/* The same test as that of the difference of the means, not of their ratio: where few values make
 * up most of a mean, the logarithm makes its error too small. */
void gt_estimate_test_difference(const struct gt_estimate side[2], const double inflate[2],
				 struct gt_test *test);

/* The prior of variances that have @freedom each: what they scatter around, and how many degrees of
 * freedom it is worth (Smyth 2004, section 6.2): of few units at most three times @freedom, because
 * rows may share noise that is not common to all. */
void gt_estimate_prior(const double *variances, size_t count, double freedom, double *ret_variance,
		       double *ret_freedom);

/* Moderates the variance of a side. */
void gt_estimate_moderate(struct gt_estimate *side, double prior, double freedom);

/* What the correlation @r of neighbours does to the variance of a mean of @n values, of which it
 * was estimated with @values in all; 1 where r may be 0. */
double gt_estimate_inflation(double r, double n, double values);

#endif
