/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers that processes and devices have in a merged file: their own where it is free, else
 * the next of their kind. One merge at a time.
 */
#ifndef GT_TRANSFORM_JOB_ROWS_H
#define GT_TRANSFORM_JOB_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "readers/pairmap.h"
#include "readers/vec.h"
#include "transform/job/devices.h"

#define GT_MERGE_FIRST_HOST GT_MERGE_DEVICES /* rows below are GPUs */

/* A process or device of one traced process -> its number in the merged file. */
struct gt_merge_row {
	size_t process;
	int64_t pid, merged;
	bool is_reported; /* in the merged file */
	bool is_inner;    /* its file was merged before, and says whose it is: */
	size_t owner;     /* process of this merge */
	int64_t rank, was;
};

/* All of a merge. Begins zeroed. */
struct gt_merge_rows {
	GT_VEC(struct gt_merge_row) all;
	struct gt_pairmap of;    /* process, pid -> place in all + 1 */
	struct gt_pairmap taken; /* number, step -> where to look for a free one */
};

/* Frees all rows. */
void gt_merge_rows_fini(struct gt_merge_rows *rows);

/* The row of a pid of a process, which stays where it is until the next call. NULL: no memory. */
struct gt_merge_row *gt_merge_rows_find(struct gt_merge_rows *rows, size_t process, int64_t pid);

/* Where viewers show it: processes in their order, each one's GPUs below its host. */
int64_t gt_merge_row_place(const struct gt_merge_row *row);

#endif
