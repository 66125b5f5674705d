/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels and functions as people get them: each as short as tells it from all others that
 * are shown. One thread per table.
 */
#ifndef GT_ANALYSIS_TABLE_SHORT_NAMES_H
#define GT_ANALYSIS_TABLE_SHORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct gt_table;
struct gt_print;

/* The form that each name of a column is printed in. */
struct gt_short_names {
	char **text; /* by number of the cell, NULL: the cell's own; owned */
	size_t count;
	bool are_numbered; /* some read alike but for a number behind them */
};

/* Those of the first @rows rows of @table, of @width characters where that is possible; with
 * @fit_text those of a last column that is text too. Without memory they stay as they are. The
 * table must not change while they are used. */
void gt_short_names_make(struct gt_short_names *ret_names, const struct gt_table *table,
			 size_t rows, size_t width, bool fit_text);
/* The mangled forms that @how has, whole. */
void gt_short_names_mangled(struct gt_short_names *ret_names, const struct gt_table *table,
			    size_t rows, const struct gt_print *how);
/* Cuts the middle out of what a column shows until it has @width characters, at least eight. */
void gt_short_names_cut(struct gt_short_names *names, const struct gt_table *table, size_t rows,
			size_t width, size_t column);
void gt_short_names_fini(struct gt_short_names *names);

/* The name in cell @i, or NULL. */
static inline const char *gt_short_names_get(const struct gt_short_names *names, size_t i)
{
	return i < names->count ? names->text[i] : NULL;
}

#endif
