/* SPDX-License-Identifier: Apache-2.0
 *
 * See fit.h. One thread per table.
 */
#include "analysis/table/fit.h"

#include <string.h>

#include "readers/wrap.h"

#define GAP         2  /* before each column */
#define LEAST_NAMES 36 /* characters of a last column for which numbers are left out */
#define ENOUGH      50 /* the same of one that is far longer, as call stacks are */
#define LEAST_TEXT  24 /* the same of text, whose ends say enough */
#define TOO_SHORT   16 /* to be understood: numbers that are kept are left out, too */
#define LEAST_WIDTH 11 /* of what is shortened */
#define LEAST_CUT   8  /* of what has lost its middle */
#define KEPT_FIRST  2  /* columns that are never left out */

size_t gt_table_text_width(const char *text)
{
	return gt_wrap_width(text, strlen(text));
}

static bool is_text(const struct gt_table *table, size_t column)
{
	return table->columns[column].kind == GT_COLUMN_TEXT ||
	       table->columns[column].kind == GT_COLUMN_CODE;
}

static void measure_column(struct gt_table_fit *fit, const struct gt_table *table, size_t rows,
			   size_t column)
{
	char cell[GT_TABLE_CELL];

	fit->widths[column] = gt_table_text_width(table->columns[column].brief);
	for (size_t row = 0; row < rows; row++) {
		size_t n = gt_table_text_width(gt_table_cell(table, row * table->width + column,
							     &fit->names, cell, sizeof(cell)));

		if (n > fit->widths[column])
			fit->widths[column] = n;
	}
}

/* Of what is shown, but for column @except. */
static size_t whole_width(const struct gt_table_fit *fit, const struct gt_table *table,
			  size_t except)
{
	size_t sum = 0;

	for (size_t c = 0; c < table->width; c++)
		if (c != except && fit->shows[c])
			sum += GAP + fit->widths[c];
	return sum;
}

/* The columns, as bits, that stay while there is another one of numbers. */
static uint32_t last_to_go(const struct gt_table *table)
{
	return table->major ? table->major : (1u << KEPT_FIRST) - 1;
}

/* Leaves a minor column or the rightmost one of numbers out, but for those of @stay. False: there
 * is none that may go. */
static bool leave_one_out(struct gt_table_fit *fit, const struct gt_table *table, uint32_t stay)
{
	size_t found = SIZE_MAX, minor = SIZE_MAX;

	for (size_t c = 0; c < table->width; c++) {
		if (!fit->shows[c] || is_text(table, c))
			continue;
		if (table->minor >> c & 1)
			minor = c;
		if (!(stay >> c & 1))
			found = c;
	}
	if (minor != SIZE_MAX)
		found = minor;
	if (found != SIZE_MAX)
		fit->shows[found] = false;
	return found != SIZE_MAX;
}

/* Shortens the last column for what the others leave of @columns. */
static void shorten_last(struct gt_table_fit *fit, const struct gt_table *table, size_t rows,
			 size_t columns)
{
	size_t last = gt_table_last_shown(table);
	size_t others = whole_width(fit, table, last) + GAP;

	gt_short_names_fini(&fit->names);
	gt_short_names_make(&fit->names, table, rows,
			    columns > others + LEAST_WIDTH ? columns - others : LEAST_WIDTH, true);
	measure_column(fit, table, rows, last);
}

static bool fits(const struct gt_table_fit *fit, const struct gt_table *table, size_t columns)
{
	return whole_width(fit, table, SIZE_MAX) <= columns;
}

/* Names that must not read alike may need more room than they have: more numbers are left out if
 * that helps. */
static void give_more_room(struct gt_table_fit *fit, const struct gt_table *table, size_t rows,
			   size_t columns)
{
	bool shows[GT_TABLE_MAX_COLUMNS];

	memcpy(shows, fit->shows, sizeof(shows));
	while (!fits(fit, table, columns) && leave_one_out(fit, table, last_to_go(table)))
		shorten_last(fit, table, rows, columns);
	if (fits(fit, table, columns))
		return;
	memcpy(fit->shows, shows, sizeof(shows));
	shorten_last(fit, table, rows, columns);
}

/* What the last column, @whole characters wide, should have at least. */
static size_t least_names(const struct gt_column *column, size_t whole)
{
	size_t least = column->kind == GT_COLUMN_CODE ? LEAST_NAMES : LEAST_TEXT;

	if (column->kind == GT_COLUMN_CODE && whole > 2 * LEAST_NAMES)
		return ENOUGH;
	return whole < least ? whole : least;
}

/* The widest column of text that may be cut; SIZE_MAX: none. */
static size_t widest_text(const struct gt_table_fit *fit, const struct gt_table *table)
{
	size_t widest = SIZE_MAX;

	for (size_t c = 0; c < table->width; c++)
		if (fit->shows[c] && is_text(table, c) && fit->widths[c] > LEAST_CUT &&
		    (widest == SIZE_MAX || fit->widths[c] >= fit->widths[widest]))
			widest = c;
	return widest;
}

/* Columns that @may lets go, from the right, but for the first and the last one. */
static void drop_inner(struct gt_table_fit *fit, const struct gt_table *table, size_t columns,
		       uint32_t may)
{
	for (size_t c = gt_table_last_shown(table); !fits(fit, table, columns) && c-- > 1;)
		if (may >> c & 1)
			fit->shows[c] = false;
}

/* The last resort: all columns of text are cut, the widest first, with their headings; then only
 * the first and the last column and what the table is about stay, then only the first two. */
static void squeeze(struct gt_table_fit *fit, const struct gt_table *table, size_t rows,
		    size_t columns)
{
	size_t column;

	while (!fits(fit, table, columns) && (column = widest_text(fit, table)) != SIZE_MAX) {
		size_t excess = whole_width(fit, table, SIZE_MAX) - columns;
		size_t width = fit->widths[column], most = width - LEAST_CUT;

		fit->widths[column] = width - (excess < most ? excess : most);
		gt_short_names_cut(&fit->names, table, rows, fit->widths[column], column);
	}
	drop_inner(fit, table, columns, ~table->major);
	drop_inner(fit, table, columns, UINT32_MAX);
}

static size_t least_of(size_t least, size_t whole)
{
	return whole < least ? whole : least;
}

/* The column that is shortened first: the last one, else the first that is text. */
static size_t main_text(const struct gt_table *table)
{
	size_t last = gt_table_last_shown(table);

	if (is_text(table, last))
		return last;
	for (size_t c = 0; c < table->width; c++)
		if (table->columns[c].brief && is_text(table, c))
			return c;
	return last;
}

static void fit_into(struct gt_table_fit *fit, const struct gt_table *table, size_t rows,
		     size_t columns)
{
	size_t text = main_text(table), whole = fit->widths[text];
	uint32_t first = (1u << (table->kept ? table->kept : KEPT_FIRST)) - 1;

	if (is_text(table, text))
		fit->widths[text] = table->least ? least_of(table->least, whole)
						 : least_names(&table->columns[text], whole);
	while (!fits(fit, table, columns) && leave_one_out(fit, table, first | table->major))
		;
	if (is_text(table, text) && whole > TOO_SHORT)
		fit->widths[text] = TOO_SHORT;
	while (!fits(fit, table, columns) && leave_one_out(fit, table, last_to_go(table)))
		;
	fit->widths[text] = whole;
	if (fits(fit, table, columns))
		return;
	if (text == gt_table_last_shown(table) && is_text(table, text)) {
		shorten_last(fit, table, rows, columns);
		give_more_room(fit, table, rows, columns);
	}
	squeeze(fit, table, rows, columns);
}

void gt_table_fit_make(struct gt_table_fit *ret_fit, const struct gt_table *table, size_t rows,
		       const struct gt_print *how)
{
	*ret_fit = (struct gt_table_fit){0};
	if (how->names == GT_NAMES_MANGLED)
		gt_short_names_mangled(&ret_fit->names, table, rows, how);
	else if (how->names != GT_NAMES_FULL)
		gt_short_names_make(&ret_fit->names, table, rows,
				    how->columns ? how->columns : GT_TABLE_NAME_WIDTH,
				    how->columns > 0);
	for (size_t c = 0; c < table->width; c++) {
		ret_fit->shows[c] = table->columns[c].brief;
		if (ret_fit->shows[c])
			measure_column(ret_fit, table, rows, c);
	}
	if (how->columns && how->names < GT_NAMES_FULL)
		fit_into(ret_fit, table, rows, how->columns);
}

void gt_table_fit_fini(struct gt_table_fit *fit)
{
	gt_short_names_fini(&fit->names);
}
