/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines about the evidence of a comparison: noise, what was left out, what was matched. One thread
 * per comparison.
 */
#ifndef GT_ANALYSIS_DIFF_NOTES_H
#define GT_ANALYSIS_DIFF_NOTES_H

#include "analysis/diff/gate.h"

/* Adds a line. 0 or -ENOMEM. */
int gt_diff_say(struct gt_diff_lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The change (a part) that would have been found in half of the table's time; INFINITY: none. */
double gt_diff_could_show(const struct gt_judged *judged);

#endif
