/* SPDX-License-Identifier: Apache-2.0
 *
 * A robust straight line: by how much one clock is ahead of another, from moments that both have
 * stamped. Most of the moments must be the same ones; up to a quarter may be off by anything. Pure,
 * any thread.
 */
#ifndef GT_TRACE_CLOCK_LINE_H
#define GT_TRACE_CLOCK_LINE_H

#include <stddef.h>
#include <stdint.h>

/* A moment that both clocks have stamped. */
struct gt_clock_point {
	int64_t x;   /* ns of the clock to be corrected */
	int64_t off; /* ns to add to it for the other clock */
};

/* The line through such moments. */
struct gt_clock_line {
	int64_t x, off; /* ns: at x the other clock is off ahead ... */
	double drift;   /* ... and gains so much a ns */
	double scatter; /* ns: standard deviation of a point around the line */
	double points;  /* that count: less than are used where neighbours are off alike */
	double spread;  /* ns: standard deviation of the x of those used */
	size_t used;    /* without the outliers; 0: there is no line */
	/* of gt_clock_line_bound: ns at most from one x to the other, and how much it grows beyond
	 */
	double bound, skew;
	int64_t from, to;
	double wrong; /* ns by which the bounds contradict each other: then there is no line */
};

/* What a moment that one clock has not stamped says of the two: at x_low the other clock is at
 * least low ahead, at x_high at most high. ns. */
struct gt_clock_bounds {
	int64_t x_low, low, x_high, high;
};

/* Fewer points do not tell a drift: the line then has none. */
#define GT_CLOCK_LINE_LEAST 8

/* Two clocks run apart by no more than this, of which a line of few points must take account:
 * 100 ppm, twice what the crystal of a computer may be off. */
#define GT_CLOCK_LINE_DRIFT 1e-4

/*
 * Lays a line through @points (sorted by x, which this may reorder; count > 0): the median slope of
 * pairs that are half of all points apart (Siegel's and Theil's idea, in n log n), then three times
 * least squares over what lies within three standard deviations by the median of the distances.
 * 0 or -ENOMEM.
 */
int gt_clock_line_fit(const struct gt_clock_point *points, size_t count,
		      struct gt_clock_line *ret_line);

/*
 * The line in the middle of all that keep within @bounds (in any order; count > 0) and gain at most
 * @drift ns a ns: what gt_clock_line_error says of it is no estimate but holds if the bounds do.
 * *ret_line has used 0 and wrong where there is none. 0 or -ENOMEM.
 */
int gt_clock_line_bound(const struct gt_clock_bounds *bounds, size_t count, double drift,
			struct gt_clock_line *ret_line);

/* ns to add at @x. */
int64_t gt_clock_line_at(const struct gt_clock_line *line, int64_t x);

/* ns within which gt_clock_line_at is right at @x in 99.7 of 100 cases: 3 standard errors of a
 * prediction by least squares (Draper and Smith, Applied Regression Analysis, 1.4); of a line
 * without a drift what two clocks may run apart from its middle on. */
double gt_clock_line_error(const struct gt_clock_line *line, int64_t x);

/* The middle one of @values, which are sorted by this. count > 0. */
double gt_clock_median(double *values, size_t count);

#endif
