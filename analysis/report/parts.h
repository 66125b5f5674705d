/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the report's page share (report.h). Pure over constant models; one thread per
 * page.
 */
#ifndef GT_ANALYSIS_REPORT_PARTS_H
#define GT_ANALYSIS_REPORT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/key.h"
#include "analysis/stats.h"
#include "analysis/table/table.h"
#include "trace/job.h"

/* Devices that are drawn. */
#define GT_PAGE_DEVICES 64

/* A page in the making. */
struct gt_page {
	const struct gt_job *job;
	const struct gt_filter *filter;
	struct gt_device_use *uses;
	int use_count;
	bool has_graphs;     /* whole ones */
	int64_t base;        /* of the earliest clock, 0: they cannot be compared */
	int64_t first, last; /* over all devices, by that clock */
	FILE *out;
};

/* What a model's times are behind the earliest clock. */
int64_t gt_page_shift(const struct gt_page *page, const struct gt_model *model);

/* A time for people. */
void gt_page_time(double ns, FILE *out);

/* How many devices there are beside those that were drawn. */
void gt_page_more_devices(const struct gt_page *page);

/* head.c: from the doctype to the cards. @title NULL: made of what the traces tell. */
void gt_page_head(const struct gt_page *page, const char *title);

/* findings.c: what could be faster, by rules. 0 or negative errno. */
int gt_page_findings(const struct gt_page *page);

/* timeline.c: how busy each device was over time, and what its time went into. 0 or -ENOMEM. */
int gt_page_timeline(const struct gt_page *page);
void gt_page_overlap(const struct gt_page *page);

/* tables.c. A table with its heading; small rows at its end are one line. */
void gt_page_table(const struct gt_table *table, FILE *out);
/* The tables of sums, and those of idle time. 0 or negative errno. */
int gt_page_sums(const struct gt_page *page);
int gt_page_gaps(const struct gt_page *page);
/* What the flame graph shows, as a table. */
int gt_page_lines(const struct gt_page *page);

/* copies.c: bytes and bandwidth by kind of copy, as a table. 0 or -ENOMEM. */
int gt_page_copies(const struct gt_job *job, const struct gt_filter *filter,
		   struct gt_table *ret_table);

/* roofline.c: what kernels have reached, and what memory and arithmetic units allow; nothing where
 * no FLOPs are known. 0 or -ENOMEM. */
int gt_page_roofline(const struct gt_page *page);

/* memory.c: memory in use over time, where the traces tell. */
void gt_page_memory(const struct gt_page *page);

#endif
