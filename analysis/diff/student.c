/* SPDX-License-Identifier: Apache-2.0
 *
 * See student.h. Pure, any thread.
 */
#include "analysis/diff/student.h"

#include <math.h>

#define TINY 1e-300

static double not_zero(double x)
{
	return fabs(x) < TINY ? TINY : x;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), result = d;

	for (int m = 1; m < 1000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		result *= c * d;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		factor = c * d;
		result *= factor;
		if (fabs(factor - 1) < 1e-14)
			break;
	}
	return result;
}

/* I_x(a, b) */
static double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double gt_student_tail(double t, double freedom)
{
	double tail;

	if (t < 0)
		return 1 - gt_student_tail(-t, freedom);
	if (isinf(t))
		return 0;
	tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
	return tail;
}

double gt_student_quantile(double tail, double freedom)
{
	double low = 0, high = 1;

	while (gt_student_tail(high, freedom) > tail && high < 1e300)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double middle = (low + high) / 2;

		if (gt_student_tail(middle, freedom) > tail)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double gt_digamma(double x)
{
	double sum = 0, y;

	for (; x < 15; x++)
		sum -= 1 / x;
	y = 1 / (x * x);
	return sum + log(x) - 0.5 / x -
	       y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y / 240)));
}

double gt_trigamma(double x)
{
	double sum = 0, y;

	for (; x < 15; x++)
		sum += 1 / (x * x);
	y = 1 / (x * x);
	return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y / 30)));
}

double gt_trigamma_inverse(double y)
{
	double low = 1e-8, high = 1e8; /* it falls */

	for (int i = 0; i < 200; i++) {
		double middle = sqrt(low * high);

		if (gt_trigamma(middle) > y)
			low = middle;
		else
			high = middle;
	}
	return sqrt(low * high);
}
