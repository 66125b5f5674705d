/* SPDX-License-Identifier: Apache-2.0
 *
 * See clock_line.h.
 */
#include "trace/clock_line.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define SURE      3.0    /* standard errors: 99.7 of 100 */
#define OUTLIER   3.0    /* standard deviations */
#define DEVIATION 1.4826 /* of a normal distribution, in medians of the distances */
#define ROUNDS    3
#define BLOCKS    16 /* of neighbours, by which it is seen whether they are off alike */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double gt_clock_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Of times of strangers the difference may be anything. */
static double apart(int64_t a, int64_t b)
{
	return (double)a - (double)b;
}

/* The points relative to the first one, and room for as many numbers. */
struct fit {
	double *x, *off, *spare;
	size_t count;
	double slope, middle; /* off = middle + slope * x */
};

static void start(struct fit *fit)
{
	size_t half = fit->count / 2, n = 0;

	for (size_t i = 0; fit->count >= GT_CLOCK_LINE_LEAST && i + half < fit->count; i++) {
		double wide = fit->x[i + half] - fit->x[i];

		if (wide > 0)
			fit->spare[n++] = (fit->off[i + half] - fit->off[i]) / wide;
	}
	fit->slope = n ? gt_clock_median(fit->spare, n) : 0;
	for (size_t i = 0; i < fit->count; i++)
		fit->spare[i] = fit->off[i] - fit->slope * fit->x[i];
	fit->middle = gt_clock_median(fit->spare, fit->count);
}

static double distance(const struct fit *fit, size_t i)
{
	return fit->off[i] - fit->middle - fit->slope * fit->x[i];
}

static double scatter_of(struct fit *fit)
{
	for (size_t i = 0; i < fit->count; i++)
		fit->spare[i] = fabs(distance(fit, i));
	return fmax(DEVIATION * gt_clock_median(fit->spare, fit->count), 1);
}

/* Least squares over the points that are at most @most ns off the line so far. */
static void refine(struct fit *fit, double most, struct gt_clock_line *line)
{
	double n = 0, x = 0, off = 0, xx = 0, xoff = 0, squares = 0;

	for (size_t i = 0; i < fit->count; i++) {
		bool is_in = fabs(distance(fit, i)) <= most;

		fit->spare[i] = is_in;
		n += is_in;
		x += is_in ? fit->x[i] : 0;
		off += is_in ? fit->off[i] : 0;
	}
	x /= n;
	off /= n;
	for (size_t i = 0; i < fit->count; i++) {
		double dx = fit->x[i] - x;

		if (!(fit->spare[i] > 0))
			continue;
		xx += dx * dx;
		xoff += dx * (fit->off[i] - off);
	}
	fit->slope = fit->count >= GT_CLOCK_LINE_LEAST && xx > 0 ? xoff / xx : 0;
	fit->middle = off - fit->slope * x;
	for (size_t i = 0; i < fit->count; i++)
		squares += fit->spare[i] > 0 ? distance(fit, i) * distance(fit, i) : 0;
	line->used = (size_t)n;
	line->spread = sqrt(xx / n);
	line->scatter = fmax(sqrt(squares / fmax(n - 2, 1)), 1);
	line->x = (int64_t)x;
}

/* How many independent points those used are worth: neighbours that are off alike count less, as
 * the means of blocks of them then scatter more than those of independent ones. */
static double worth(const struct fit *fit, const struct gt_clock_line *line)
{
	double squares = 0, mean = 0, sum = 0, means[BLOCKS] = {0};
	size_t block = line->used / BLOCKS, at = 0, in = 0;

	if (block < 2)
		return (double)line->used;
	for (size_t i = 0; i < fit->count && at < BLOCKS; i++) {
		if (!(fit->spare[i] > 0))
			continue;
		sum += distance(fit, i);
		if (++in < block)
			continue;
		means[at++] = sum / (double)block;
		in = 0;
		sum = 0;
	}
	for (size_t i = 0; i < at; i++)
		mean += means[i] / (double)at;
	for (size_t i = 0; i < at; i++)
		squares += (means[i] - mean) * (means[i] - mean);
	squares *= (double)block / (double)(at - 1) / (line->scatter * line->scatter);
	return (double)line->used / fmax(squares, 1);
}

int gt_clock_line_fit(const struct gt_clock_point *points, size_t count,
		      struct gt_clock_line *ret_line)
{
	struct fit fit = {.x = calloc(count, 3 * sizeof(double)), .count = count};
	struct gt_clock_line line = {0};
	int64_t x = points[0].x;

	if (!fit.x)
		return -ENOMEM;
	fit.off = fit.x + count;
	fit.spare = fit.off + count;
	for (size_t i = 0; i < count; i++) {
		fit.x[i] = apart(points[i].x, x);
		fit.off[i] = apart(points[i].off, points[0].off);
	}
	start(&fit);
	for (int i = 0; i < ROUNDS; i++)
		refine(&fit, OUTLIER * scatter_of(&fit), &line);
	line.points = worth(&fit, &line);
	line.drift = fit.slope;
	line.off = points[0].off + llround(fit.middle + fit.slope * (double)line.x);
	line.x += x;
	free(fit.x);
	*ret_line = line;
	return 0;
}

/* ---- the lines between bounds ---- */

#define BOUNDS 1024 /* that are kept: of neighbours the tightest, which makes nothing untrue */
#define HALVES 60   /* of an interval: as exact as a double */

/* Relative to the first one. */
struct corridor {
	double *x_low, *low, *x_high, *high;
	size_t count;
};

/* The lines of this slope are between the two at x = 0. */
static double least(const struct corridor *c, double slope)
{
	double most = -INFINITY;

	for (size_t i = 0; i < c->count; i++)
		most = fmax(most, c->low[i] - slope * c->x_low[i]);
	return most;
}

static double greatest(const struct corridor *c, double slope)
{
	double least_high = INFINITY;

	for (size_t i = 0; i < c->count; i++)
		least_high = fmin(least_high, c->high[i] - slope * c->x_high[i]);
	return least_high;
}

/* Concave in the slope: how far the corridor is open, and the highest line at @x; minus the lowest
 * one. */
static double width(const struct corridor *c, double slope, double x)
{
	(void)x;
	return greatest(c, slope) - least(c, slope);
}

static double highest(const struct corridor *c, double slope, double x)
{
	return greatest(c, slope) + slope * x;
}

static double lowest(const struct corridor *c, double slope, double x)
{
	return -least(c, slope) - slope * x;
}

typedef double corridor_fn(const struct corridor *c, double slope, double x);

/* Where the concave @fn is the greatest. */
static double peak(const struct corridor *c, corridor_fn *fn, double x, double from, double to)
{
	for (int i = 0; i < 2 * HALVES; i++) {
		double a = from + (to - from) / 3, b = to - (to - from) / 3;

		if (fn(c, a, x) < fn(c, b, x))
			from = a;
		else
			to = b;
	}
	return (from + to) / 2;
}

/* The last slope on the way from @open to @shut with a line. */
static double edge(const struct corridor *c, double open, double shut)
{
	if (width(c, shut, 0) >= 0)
		return shut;
	for (int i = 0; i < HALVES; i++) {
		double middle = (open + shut) / 2;

		if (width(c, middle, 0) >= 0)
			open = middle;
		else
			shut = middle;
	}
	return open;
}

static void lay_middle(const struct corridor *c, double best, double drift, double last,
		       struct gt_clock_line *line)
{
	double from = edge(c, best, -drift), to = edge(c, best, drift), x[] = {0, last};
	double middle[2], half[2];

	for (int i = 0; i < 2; i++) {
		double high = highest(c, peak(c, highest, x[i], from, to), x[i]);
		double low = -lowest(c, peak(c, lowest, x[i], from, to), x[i]);

		middle[i] = (high + low) / 2;
		half[i] = (high - low) / 2;
	}
	line->drift = last > 0 ? (middle[1] - middle[0]) / last : (from + to) / 2;
	line->off = llround(middle[0]);
	line->bound = fmax(half[0], half[1]) + 1;
	line->skew = fmax(to - line->drift, line->drift - from);
	line->scatter = line->bound;
}

/* Of each block of neighbours the tightest on either side. Returns the last x. */
static double fill_corridor(const struct gt_clock_bounds *bounds, size_t count, struct corridor *c)
{
	int64_t x = bounds[0].x_low, off = bounds[0].low;
	double last = 0;

	for (size_t i = 0; i < c->count; i++) {
		c->low[i] = -INFINITY;
		c->high[i] = INFINITY;
	}
	for (size_t i = 0; i < count; i++) {
		size_t block = i * c->count / count;
		double low = apart(bounds[i].low, off), high = apart(bounds[i].high, off);

		if (low > c->low[block]) {
			c->low[block] = low;
			c->x_low[block] = apart(bounds[i].x_low, x);
		}
		if (high < c->high[block]) {
			c->high[block] = high;
			c->x_high[block] = apart(bounds[i].x_high, x);
		}
		last = fmax(last, fmax(apart(bounds[i].x_low, x), apart(bounds[i].x_high, x)));
	}
	return last;
}

int gt_clock_line_bound(const struct gt_clock_bounds *bounds, size_t count, double drift,
			struct gt_clock_line *ret_line)
{
	struct corridor c = {.count = count < BOUNDS ? count : BOUNDS};
	struct gt_clock_line line = {.x = bounds[0].x_low, .from = bounds[0].x_low};
	double *room = calloc(c.count, 4 * sizeof(*room)), last, best;

	if (!room)
		return -ENOMEM;
	c.x_low = room;
	c.low = room + c.count;
	c.x_high = room + 2 * c.count;
	c.high = room + 3 * c.count;
	last = fill_corridor(bounds, count, &c);
	best = peak(&c, width, 0, -drift, drift);
	if (width(&c, best, 0) >= 0) {
		lay_middle(&c, best, drift, last, &line);
		line.off += bounds[0].low;
		line.to = line.from + llround(last);
		line.used = count;
	} else {
		line.wrong = -width(&c, best, 0);
	}
	free(room);
	*ret_line = line;
	return 0;
}

/* ---- */

int64_t gt_clock_line_at(const struct gt_clock_line *line, int64_t x)
{
	return line->off + llround(line->drift * apart(x, line->x));
}

double gt_clock_line_error(const struct gt_clock_line *line, int64_t x)
{
	double from = fabs(apart(x, line->x)), slant;

	if (line->bound > 0)
		return line->bound +
		       line->skew * fmax(0, fmax(apart(line->from, x), apart(x, line->to)));
	if (line->used < GT_CLOCK_LINE_LEAST || !(line->spread > 0))
		return SURE * line->scatter + GT_CLOCK_LINE_DRIFT * from;
	slant = from / line->spread;
	return SURE * line->scatter * sqrt((1 + slant * slant) / line->points);
}
