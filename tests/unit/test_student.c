/* SPDX-License-Identifier: Apache-2.0
 *
 * Student's t against published values, the derivatives of log Gamma against known ones.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "analysis/diff/student.h"

static void near(double got, double want, double part)
{
	cr_assert(fabs(got - want) <= part * fabs(want), "%.12g, not %.12g", got, want);
}

Test(student, tail)
{
	cr_assert_eq(gt_student_tail(0, 5), 0.5);
	near(gt_student_tail(1, 1), 0.25, 1e-12);            /* Cauchy: 1/2 - atan(1)/pi */
	near(gt_student_tail(1e6, 1), 3.183098862e-7, 1e-9); /* atan(1e-6)/pi */
	near(gt_student_tail(2, 2), 0.0917517095361, 1e-11); /* (1 - 2/sqrt(6))/2 */
	near(gt_student_tail(-2, 2), 0.9082482904639, 1e-11);
	near(gt_student_tail(3, 1e7), 0.00134989803163, 1e-5); /* normal */
	cr_assert_eq(gt_student_tail(INFINITY, 4), 0);
}

Test(student, quantile)
{
	near(gt_student_quantile(0.025, 1), 12.7062047362, 1e-9);
	near(gt_student_quantile(0.025, 4), 2.7764451052, 1e-9);
	near(gt_student_quantile(0.025, 20), 2.0859634473, 1e-9);
	for (double freedom = 1; freedom < 1000; freedom *= 1.7)
		for (double p = 0.4; p > 1e-9; p /= 7)
			near(gt_student_tail(gt_student_quantile(p, freedom), freedom), p, 1e-8);
}

Test(student, gamma)
{
	near(gt_digamma(1), -0.5772156649015329, 1e-11);
	near(gt_digamma(0.5), -1.9635100260214235, 1e-11);
	near(gt_trigamma(1), 1.6449340668482264, 1e-11); /* pi^2/6 */
	near(gt_trigamma(0.5), 4.934802200544679, 1e-11);
	for (double x = 0.01; x < 1e5; x *= 3)
		near(gt_trigamma_inverse(gt_trigamma(x)), x, 1e-6);
}
