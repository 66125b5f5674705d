/* SPDX-License-Identifier: Apache-2.0
 *
 * See short_names.h. All names get the shortest form; those that read alike and are not get the
 * next longer one, and so on: sorting brings them together, so that a table may have any number of
 * rows.
 */
#include "analysis/table/short_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/table.h"
#include "trace/frame.h"

#define LONGEST 4096

/* The forms of a name, shortest first. */
enum form {
	FORM_SHORT,
	FORM_BRANCH,    /* of stacks the frames where they part */
	FORM_TEMPLATES, /* with their arguments */
	FORM_LONG,      /* and without a limit */
	FORM_WHOLE,
	FORM_COUNT_,
	FORM_FIT, /* of a text that is no name */
};

struct table_name {
	size_t cell;
	const char *whole;
	char *shown;   /* owned */
	size_t common; /* frames of a stack that all which read alike have in common */
};

static void write_form(const struct table_name *name, enum form form, size_t width, char *out,
		       size_t size)
{
	if (form == FORM_SHORT)
		gt_frame_shorten(name->whole, width, out, size);
	else if (form == FORM_BRANCH)
		gt_frame_shorten_branch(name->whole, name->common, width, out, size);
	else if (form == FORM_WHOLE)
		snprintf(out, size, "%s", name->whole);
	else if (form == FORM_FIT)
		gt_frame_fit(name->whole, width, out, size);
	else
		gt_frame_shorten_less(name->whole, form == FORM_LONG ? 0 : width, out, size);
}

static int by_shown(const void *a, const void *b)
{
	const struct table_name *x = a, *y = b;
	int order = strcmp(x->shown, y->shown);

	return order ? order : strcmp(x->whole, y->whole);
}

static int by_whole(const void *a, const void *b)
{
	const struct table_name *x = a, *y = b;

	return strcmp(x->whole, y->whole);
}

/* Names [*@at, end) of which @compare makes no difference. */
static size_t end_of_group(const struct table_name *names, size_t at, size_t count, bool shown)
{
	size_t end = at + 1;

	while (end < count && !strcmp(shown ? names[end].shown : names[end].whole,
				      shown ? names[at].shown : names[at].whole))
		end++;
	return end;
}

static bool show(struct table_name *names, size_t count, enum form form, size_t width)
{
	char text[LONGEST];

	for (size_t i = 0; i < count; i++) {
		write_form(&names[i], form, width, text, sizeof(text));
		free(names[i].shown);
		names[i].shown = strdup(text);
		if (!names[i].shown)
			return false;
	}
	qsort(names, count, sizeof(*names), by_shown);
	return true;
}

/* Those of one group are sorted, so the first and the last are as far apart as any two. */
static void find_common(struct table_name *group, size_t count)
{
	size_t common = gt_frame_common(group[0].whole, group[count - 1].whole);

	for (size_t i = 0; i < count; i++)
		group[i].common = common;
}

/* Moves those that read alike and are not to the front. Returns how many. */
static size_t keep_ambiguous(struct table_name *names, size_t count)
{
	size_t kept = 0, end;

	for (size_t i = 0; i < count; i = end) {
		end = end_of_group(names, i, count, true);
		if (!strcmp(names[i].whole, names[end - 1].whole))
			continue;
		find_common(names + i, end - i);
		for (size_t k = i; k < end; k++, kept++) {
			struct table_name moved = names[kept];

			names[kept] = names[k];
			names[k] = moved;
		}
	}
	return kept;
}

/* Texts that would read alike are not cut. */
static bool fit(struct table_name *names, size_t count, size_t width)
{
	return show(names, count, FORM_FIT, width) &&
	       show(names, keep_ambiguous(names, count), FORM_WHOLE, 0);
}

static bool shorten(struct table_name *names, size_t count, size_t width)
{
	size_t left = count;

	for (enum form form = FORM_SHORT; left && form < FORM_COUNT_; form++) {
		if (!show(names, left, form, width))
			return false;
		left = keep_ambiguous(names, left);
	}
	return true;
}

static double number_of(const struct gt_table *table, const struct table_name *name, size_t column)
{
	return table->cells.at[name->cell - name->cell % table->width + column].number;
}

/* Behind each of @count rows of one name what a column has of them, if that differs: " TID 12". */
static bool add_number(const struct gt_table *table, struct table_name *names, size_t count,
		       size_t column)
{
	bool differs = false;

	for (size_t i = 1; i < count; i++)
		differs |= number_of(table, &names[i], column) != number_of(table, names, column);
	for (size_t i = 0; differs && i < count; i++) {
		char *longer;

		if (asprintf(&longer, "%s %s %.0f", names[i].shown, table->columns[column].title,
			     number_of(table, &names[i], column)) < 0)
			return false;
		free(names[i].shown);
		names[i].shown = longer;
	}
	return true;
}

/* What tells rows of one name apart in columns that people do not get. */
static bool add_hidden(const struct gt_table *table, struct table_name *names, size_t count)
{
	size_t end;

	qsort(names, count, sizeof(*names), by_whole);
	for (size_t i = 0; i < count; i = end) {
		end = end_of_group(names, i, count, false);
		for (size_t c = 0; c < table->width; c++) {
			const struct gt_column *column = &table->columns[c];

			if (column->kind == GT_COLUMN_COUNT && column->title && !column->brief &&
			    !add_number(table, names + i, end - i, c))
				return false;
		}
	}
	return true;
}

static void shorten_column(struct gt_short_names *names, const struct gt_table *table, size_t rows,
			   size_t width, size_t column)
{
	struct table_name *list = calloc(rows + 1, sizeof(*list));
	bool done;

	if (!list)
		return;
	for (size_t row = 0; row < rows; row++) {
		const struct gt_cell *cell = &table->cells.at[row * table->width + column];

		list[row].cell = row * table->width + column;
		list[row].whole = cell->text ? cell->text : "";
	}
	if (table->columns[column].kind == GT_COLUMN_CODE)
		done = shorten(list, rows, width) && add_hidden(table, list, rows);
	else
		done = fit(list, rows, width);
	for (size_t row = 0; row < rows; row++) {
		if (done)
			names->text[list[row].cell] = list[row].shown;
		else
			free(list[row].shown);
	}
	free(list);
}

void gt_short_names_make(struct gt_short_names *ret_names, const struct gt_table *table,
			 size_t rows, size_t width, bool fit_text)
{
	size_t cells = (rows < table->rows ? rows : table->rows) * table->width;

	*ret_names = (struct gt_short_names){.text = calloc(cells + 1, sizeof(char *))};
	if (!ret_names->text)
		return;
	ret_names->count = cells;
	for (size_t c = 0; c < table->width; c++)
		if (table->columns[c].kind == GT_COLUMN_CODE ||
		    (fit_text && table->columns[c].kind == GT_COLUMN_TEXT &&
		     c == gt_table_last_shown(table)))
			shorten_column(ret_names, table, cells / table->width, width, c);
}

void gt_short_names_fini(struct gt_short_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->text[i]);
	free(names->text);
	*names = (struct gt_short_names){0};
}
