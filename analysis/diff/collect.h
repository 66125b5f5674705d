/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of each table of a comparison, and their values by unit. Pure over constant models; one
 * thread per set of rows.
 */
#ifndef GT_ANALYSIS_DIFF_COLLECT_H
#define GT_ANALYSIS_DIFF_COLLECT_H

#include "analysis/diff/diff.h"
#include "analysis/diff/sides.h"
#include "analysis/group.h"

/* Where a row was first met, for rows that have another name on the other side. */
struct gt_diff_origin {
	uint32_t line;           /* launching line, number in the rows' lines; GT_NAME_NONE */
	uint32_t before, behind; /* its neighbours on the stream: row + 1, 0: none */
	uint32_t became;         /* the row that it was matched with, + 1; 0: none */
};

/* Whose code the frame of a launching line is. */
enum gt_diff_frame { GT_DIFF_FRAME_NONE, GT_DIFF_FRAME_INNERMOST, GT_DIFF_FRAME_USER };

#define GT_DIFF_TRIPLE 3 /* unit, ns, how many: of a group's other[side] */

/* The rows of a table: a group each, whose other[side] holds triples by unit, and tag[side] how
 * many operations or calls it has. */
struct gt_diff_rows {
	struct gt_groups groups;
	GT_VEC(struct gt_diff_origin) origins; /* by number of the group */
	GT_VEC(uint8_t) frames; /* of lines: enum gt_diff_frame, by number of the group */
	struct gt_names lines;
	bool of_one_rank; /* values are not means of the ranks */
	bool of_time;     /* a row is no operations, but the time in which they are */
};

/* Starts the empty rows of a table and fills them; one triple a unit, by unit. A table that would
 * say nothing (no stacks, no operators) gets no row. 0 or -ENOMEM; free with gt_diff_rows_fini in
 * any case. */
int gt_diff_collect(struct gt_diff_rows *ret_rows, const struct gt_diff_sides *sides,
		    enum gt_diff_table which);
void gt_diff_rows_fini(struct gt_diff_rows *rows);

/* Operations of a row per rank of a side, of whole traces, and their time into @ret_ns. */
double gt_diff_ops_of_rank(const struct gt_diff_sides *sides, const struct gt_diff_rows *rows,
			   uint32_t row, int s, double *ret_ns);

/* Whether @b operations of B and @a of A are by the length of the recording. */
bool gt_diff_follows(const struct gt_diff_sides *sides, double a, double b);

/* Finds sides->longer, the median of all kernels that both sides have, and is_mixed. -ENOMEM. */
int gt_diff_find_longer(struct gt_diff_sides *sides, const struct gt_diff_rows *kernels);

/* One triple for each unit, by unit. */
void gt_diff_sum_units(struct gt_dist *triples);

#endif
