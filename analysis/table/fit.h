/* SPDX-License-Identifier: Apache-2.0
 *
 * How wide the columns of a table are for people. On a terminal a table is made to fit: its last
 * column is shortened; where that would leave too little of it numbers are left out, the minor ones
 * first, then from the right, but for those that a table keeps: what it is about goes last. One
 * thread per table.
 */
#ifndef GT_ANALYSIS_TABLE_FIT_H
#define GT_ANALYSIS_TABLE_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/table/short_names.h"
#include "analysis/table/table.h"

#define GT_TABLE_CELL        4096 /* bytes of a cell's text, with its end */
#define GT_TABLE_MAX_COLUMNS 32

/* The widths of a table's columns, and its shortened names. */
struct gt_table_fit {
	struct gt_short_names names;
	size_t widths[GT_TABLE_MAX_COLUMNS]; /* characters */
	bool shows[GT_TABLE_MAX_COLUMNS];
};

/* For the first @rows rows. The table must not change while the fit is used. */
void gt_table_fit_make(struct gt_table_fit *ret_fit, const struct gt_table *table, size_t rows,
		       const struct gt_print *how);
void gt_table_fit_fini(struct gt_table_fit *fit);

/* Characters, not bytes, of a UTF-8 text. */
size_t gt_table_text_width(const char *text);

#endif
