/* SPDX-License-Identifier: Apache-2.0
 *
 * What is left out before anything is compared: warm-up (the first units of a run, when all kernels
 * were slower) and single units that are far from all others, as of a run that was disturbed; and
 * single values of a row. Location and scale are the median and the median absolute deviation
 * (times 1.4826, which makes it the standard deviation of normal noise: Hampel 1974, Rousseeuw and
 * Croux 1993). Single threaded.
 */
#ifndef GT_ANALYSIS_DIFF_SETTLE_H
#define GT_ANALYSIS_DIFF_SETTLE_H

#include "analysis/diff/collect.h"

/* One value of a row in one unit. */
struct gt_value {
	uint32_t unit; /* of its side; a run's number once runs are compared */
	double x;      /* ns */
	bool is_out;   /* far from all others of its run */
};

/* A row's values on one side, by unit. */
struct gt_series {
	GT_VEC(struct gt_value) values;
	size_t left_out; /* values far from all others of their run */
	bool is_rough;   /* has too many outliers to leave any out */
	double floor;    /* the least that its variance can be, as a part of the mean squared */
	double within;   /* of means of runs: the usual variance of a unit inside of its run */
};

/* Marks warm-up and outliers among the units of both sides, by the rows of kernels. -ENOMEM. */
int gt_diff_leave_out(struct gt_diff_sides *sides, const struct gt_diff_rows *kernels);

/* The values of a row in the units that are kept. -ENOMEM. */
int gt_series_make(struct gt_series *ret_series, const struct gt_diff_sides *sides, int side,
		   const struct gt_diff_rows *rows, uint32_t row);
void gt_series_fini(struct gt_series *series);

/* Leaves single values out of the two sides of a row: few, and further from the median of their run
 * than noise. Where they are too many on one side they stay on both: what is noise there would be a
 * change against a side without it. @scale: the usual deviation of such rows on each side, as a
 * part of the median. */
void gt_series_leave_out(struct gt_series series[2], const struct gt_diff_sides *sides,
			 const double scale[2]);

/* Median absolute deviation as a part of the median; 0 of less than three values. -1: no memory. */
double gt_series_scale(const struct gt_series *series);

/* Sorts the values: their median, and the mean of their middle half. 0 of none. */
double gt_median(double *values, size_t count);
double gt_midmean(double *values, size_t count);

#endif
