/* SPDX-License-Identifier: Apache-2.0
 *
 * Student's t distribution and the functions that the estimate of a prior variance needs. Pure, any
 * thread.
 */
#ifndef GT_ANALYSIS_DIFF_STUDENT_H
#define GT_ANALYSIS_DIFF_STUDENT_H

/* The probability that Student's t with @freedom degrees of freedom is greater than @t: the
 * regularised incomplete beta function (DLMF 8.17) by its continued fraction (DLMF 8.17.22). Also
 * far out in the tail, where 1 minus a probability would be rounded away. */
double gt_student_tail(double t, double freedom);

/* The value that t is greater than with probability @tail (0 < tail <= 0.5). */
double gt_student_quantile(double tail, double freedom);

/* The first two derivatives of log Gamma at x > 0 (DLMF 5.11.2, 5.15.8, with the recurrences 5.5.2
 * and 5.15.5), and the x with trigamma(x) = @y (Smyth 2004, appendix). */
double gt_digamma(double x);
double gt_trigamma(double x);
double gt_trigamma_inverse(double y);

#endif
