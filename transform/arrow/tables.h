/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a dataset: a trace's events, and what the analysis of its job says of it, as rows
 * of plain values (docs/DATASET.md). Pure over constant models; one thread per table.
 */
#ifndef GT_TRANSFORM_ARROW_TABLES_H
#define GT_TRANSFORM_ARROW_TABLES_H

#include "analysis/gaps/gaps.h"
#include "analysis/ranks/tables.h"
#include "transform/arrow/batch.h"

/* A job, and what is found out about it as a whole. */
struct gt_arrow_job {
	struct gt_job job;
	struct gt_filter filter; /* lets all pass */
	struct gt_gaps gaps;
	struct gt_ranks ranks;
	size_t *gaps_from; /* of each process the first one in gaps, and behind the last */
};

/* A table of one process. Units of the job (a gap, a member of a collective) are looked at in their
 * order; each has rows or none. */
struct gt_arrow_table {
	const char *name;
	const struct gt_arrow_column *columns;
	size_t width;
	size_t (*count)(const struct gt_arrow_job *job, size_t process);
	int (*put)(const struct gt_arrow_job *job, size_t process, size_t unit,
		   struct gt_arrow_batch *batch);
};

/* All of them; name NULL: the end. */
extern const struct gt_arrow_table gt_arrow_tables[];

/* Fills gaps_from, which is freed with free. 0 or -ENOMEM. */
int gt_arrow_job_index(struct gt_arrow_job *job);

#endif
