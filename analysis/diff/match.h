/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that have another name on the other side: a kernel with other template arguments, with
 * another number in its name, from the same line, or between the same neighbours on its stream; of
 * launching lines those of a file. What is left is new or gone. One thread per set of rows.
 */
#ifndef GT_ANALYSIS_DIFF_MATCH_H
#define GT_ANALYSIS_DIFF_MATCH_H

#include "analysis/diff/collect.h"

/* Two rows that became one: row @a, with the values of both sides. */
struct gt_diff_match {
	uint32_t a, b;           /* rows */
	uint32_t more_a, more_b; /* further rows that went into it */
	const char *how;         /* "same base name" */
};

/* All matches of a table. */
struct gt_diff_matches {
	GT_VEC(struct gt_diff_match) list;
	uint32_t *of_row; /* place in the list + 1; NULL: nothing is matched */
};

/* Matches what only one side has, and moves the values of each such row into its match. 0 or
 * -ENOMEM; free with gt_diff_matches_fini in any case. */
int gt_diff_match(struct gt_diff_matches *ret_matches, struct gt_diff_rows *rows,
		  const struct gt_diff_sides *sides, enum gt_diff_table which);
void gt_diff_matches_fini(struct gt_diff_matches *matches);

/* The match that became row @row of the table, or NULL. */
const struct gt_diff_match *gt_diff_match_of(const struct gt_diff_matches *matches, uint32_t row);

#endif
