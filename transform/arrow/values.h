/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns and values that several tables of a dataset have, and the tables that lie in files of
 * their own. Pure over constant models; one thread per table.
 */
#ifndef GT_TRANSFORM_ARROW_VALUES_H
#define GT_TRANSFORM_ARROW_VALUES_H

#include "transform/arrow/tables.h"

/* Types of columns. */
#define GT_ARROW_INT          "l", false
#define GT_ARROW_INT_OR_NONE  "l", true
#define GT_ARROW_REAL         "g", false
#define GT_ARROW_BOOL         "b", false
#define GT_ARROW_TEXT         "U", false
#define GT_ARROW_TEXT_OR_NONE "U", true

/* "stop": "end" is a word of SQL. */
#define GT_ARROW_SPAN                                                                              \
	{"start", GT_ARROW_INT}, {"stop", GT_ARROW_INT}, {"dur", GT_ARROW_INT},                    \
	{                                                                                          \
		"process", GT_ARROW_INT                                                            \
	}

/* The model of a process. */
static inline const struct gt_model *gt_arrow_model(const struct gt_arrow_job *job, size_t process)
{
	return &job->job.models[process];
}

/* On the clock of the job, ns since 1970 where the trace tells it. */
int64_t gt_arrow_moment(const struct gt_arrow_job *job, size_t process, int64_t t);

/* The values of GT_ARROW_SPAN. */
void gt_arrow_put_span(const struct gt_arrow_job *job, size_t process, int64_t start, int64_t dur,
		       struct gt_arrow_batch *batch);

/* A number, or that it is not known. */
void gt_arrow_put_known(struct gt_arrow_batch *batch, int64_t value, bool is_known);

/* ---- pages.c: unified memory ---- */

#define GT_ARROW_PAGE_COLUMNS 12
/* Its columns. */
extern const struct gt_arrow_column gt_arrow_page_columns[GT_ARROW_PAGE_COLUMNS];
/* Events of the process. */
size_t gt_arrow_count_pages(const struct gt_arrow_job *job, size_t process);
/* One of them. */
int gt_arrow_put_page(const struct gt_arrow_job *job, size_t process, size_t unit,
		      struct gt_arrow_batch *batch);

#endif
