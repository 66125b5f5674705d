/* SPDX-License-Identifier: Apache-2.0
 *
 * A job as one HTML page that needs nothing else: summary, timeline, tables, gaps, flame graph,
 * roofline, memory, overlap, losses. Pure over constant models; one thread per page.
 */
#ifndef GT_ANALYSIS_REPORT_REPORT_H
#define GT_ANALYSIS_REPORT_REPORT_H

#include <stdio.h>

#include "analysis/key.h"
#include "trace/job.h"

/* In the first 100 bytes of each page: it is one of ours. */
#define GT_REPORT_MARK "<meta name=\"generator\" content=\"gputrace\">"

/* Writes the page. @title NULL: the program, the date, the GPUs and the ranks. 0 or negative errno.
 */
int gt_report_print(const struct gt_job *job, const struct gt_filter *filter, const char *title,
		    FILE *out);

#endif
