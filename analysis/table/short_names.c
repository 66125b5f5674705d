/* SPDX-License-Identifier: Apache-2.0
 *
 * See short_names.h. All names get the shortest form. Of those that read alike and are not, names
 * keep one more of the parts in which they differ, stacks get the next longer form, and so on:
 * sorting brings them together, so that a table may have any number of rows. What reads alike even
 * then is numbered.
 */
#include "analysis/table/short_names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/mangled.h"
#include "analysis/table/table.h"
#include "readers/wrap.h"
#include "trace/frame.h"

#define LONGEST 4096

#define ROUNDS  12 /* in which what reads alike becomes longer */
#define NUMBER  " (1000)"

/* The forms of a stack, shortest first. */
enum form {
	FORM_SHORT,
	FORM_BRANCH,    /* the frames where they part */
	FORM_TEMPLATES, /* with their arguments */
	FORM_LAST = FORM_TEMPLATES,
};

struct table_name {
	size_t cell;
	const char *whole;
	char *shown;                /* owned */
	struct gt_code_name *parts; /* owned; NULL: a stack, or text that is no name */
	size_t common;              /* frames of a stack that all which read alike have in common */
	size_t number;              /* of those that read alike, 0: none does */
	size_t added;               /* characters behind it, of columns that people do not get */
	enum form form;
};

static void write_name(const struct table_name *name, size_t width, char *out, size_t size)
{
	if (name->parts)
		gt_frame_shorten_parts(name->parts, name->whole, width, out, size);
	else if (name->form == FORM_SHORT)
		gt_frame_shorten(name->whole, width, out, size);
	else if (name->form == FORM_BRANCH)
		gt_frame_shorten_branch(name->whole, name->common, width, out, size);
	else
		gt_frame_shorten_less(name->whole, width, out, size);
}

static void write_text(const struct table_name *name, size_t width, char *out, size_t size)
{
	gt_frame_fit(name->whole, width, out, size);
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

static bool show(struct table_name *names, size_t count, size_t width,
		 void (*write)(const struct table_name *name, size_t width, char *out, size_t size))
{
	char text[LONGEST];

	for (size_t i = 0; i < count; i++) {
		write(&names[i], width, text, sizeof(text));
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

static bool is_numbered(const struct table_name *names, size_t count)
{
	bool numbered = false;

	for (size_t i = 0; i < count; i++)
		numbered |= names[i].number > 0;
	return numbered;
}

/* Behind texts that read alike and are not: " (1)", " (2)". */
static bool number(struct table_name *names, size_t count)
{
	for (size_t i = 0, nth = 0; i < count; i++) {
		bool is_first = !i || strcmp(names[i].shown, names[i - 1].shown);
		bool is_new = is_first || strcmp(names[i].whole, names[i - 1].whole);

		nth = is_first ? 1 : nth + is_new;
		names[i].number = nth;
	}
	for (size_t i = 0; i < count; i++) {
		char *longer;

		if (asprintf(&longer, "%s (%zu)", names[i].shown, names[i].number) < 0)
			return false;
		free(names[i].shown);
		names[i].shown = longer;
	}
	return true;
}

static size_t leave_room(size_t width)
{
	return width > 2 * sizeof(NUMBER) ? width - (sizeof(NUMBER) - 1) : width;
}

static bool fit(struct table_name *names, size_t count, size_t width)
{
	size_t alike;

	if (!show(names, count, width, write_text))
		return false;
	alike = keep_ambiguous(names, count);
	return show(names, alike, leave_room(width), write_text) && number(names, alike);
}

/* Makes those of one group longer where they differ, two by two: what each keeps for one other is
 * mostly enough for all. False: that is not possible. */
static bool tell_apart(struct table_name *group, size_t count)
{
	bool differ = false, told = false;

	for (size_t i = 0; i < count; i++) {
		if (!group[i].parts) {
			differ |= group[i].form < FORM_LAST;
			group[i].form += group[i].form < FORM_LAST;
		} else if (i && group[i - 1].parts && (!told || i + 1 == count)) {
			told = gt_code_name_tell_apart(group[i - 1].parts, group[i].parts);
			differ |= told;
		} else {
			told = false;
		}
	}
	return differ;
}

static bool tell_all_apart(struct table_name *names, size_t count)
{
	bool differ = false;
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		end = end_of_group(names, i, count, true);
		differ |= tell_apart(names + i, end - i);
	}
	return differ;
}

static void take_apart(struct table_name *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		names[i].parts =
			gt_frame_is_stack(names[i].whole) ? NULL : gt_frame_parts(names[i].whole);
}

static bool shorten(struct table_name *names, size_t count, size_t width)
{
	size_t alike;
	bool differ = true;

	if (!show(names, count, width, write_name))
		return false;
	alike = keep_ambiguous(names, count);
	for (int round = 0; alike && differ && round < ROUNDS; round++) {
		differ = tell_all_apart(names, alike);
		if (!show(names, alike, width, write_name))
			return false;
		alike = keep_ambiguous(names, alike);
	}
	return !alike ||
	       (show(names, alike, leave_room(width), write_name) && number(names, alike));
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
		names[i].added += strlen(longer) - strlen(names[i].shown);
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

/* By how much what was added makes a name wider than @width. */
static size_t find_excess(const struct table_name *names, size_t count, size_t width)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++) {
		size_t n = gt_wrap_width(names[i].shown, strlen(names[i].shown));
		size_t excess = n > width ? n - width : 0;

		if (excess > names[i].added)
			excess = names[i].added;
		if (excess > most)
			most = excess;
	}
	return most;
}

static bool shorten_code(const struct gt_table *table, struct table_name *names, size_t count,
			 size_t width, bool must_fit)
{
	size_t excess;

	take_apart(names, count);
	if (!shorten(names, count, width) || !add_hidden(table, names, count))
		return false;
	excess = must_fit ? find_excess(names, count, width) : 0;
	if (!excess || excess >= width)
		return true;
	for (size_t i = 0; i < count; i++) {
		names[i].form = FORM_SHORT;
		names[i].number = 0;
		gt_code_name_free(names[i].parts);
	}
	take_apart(names, count);
	return shorten(names, count, width - excess) && add_hidden(table, names, count);
}

static void shorten_column(struct gt_short_names *names, const struct gt_table *table, size_t rows,
			   size_t width, bool must_fit, size_t column)
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
		done = shorten_code(table, list, rows, width, must_fit);
	else
		done = fit(list, rows, width);
	names->are_numbered |= done && is_numbered(list, rows);
	for (size_t row = 0; row < rows; row++) {
		if (done)
			names->text[list[row].cell] = list[row].shown;
		else
			free(list[row].shown);
		gt_code_name_free(list[row].parts);
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
			shorten_column(ret_names, table, cells / table->width, width, fit_text, c);
}

void gt_short_names_mangled(struct gt_short_names *ret_names, const struct gt_table *table,
			    size_t rows, const struct gt_print *how)
{
	size_t cells = (rows < table->rows ? rows : table->rows) * table->width;

	*ret_names = (struct gt_short_names){.text = calloc(cells + 1, sizeof(char *))};
	if (!ret_names->text)
		return;
	ret_names->count = cells;
	for (size_t i = 0; i < cells; i++) {
		const char *mangled = NULL, *name = table->cells.at[i].text;

		if (name && table->columns[i % table->width].kind == GT_COLUMN_CODE)
			mangled = gt_mangled_names_get(how->mangled, name);
		ret_names->text[i] = mangled ? strdup(mangled) : NULL;
	}
}

void gt_short_names_cut(struct gt_short_names *names, const struct gt_table *table, size_t rows,
			size_t width, size_t column)
{
	char text[LONGEST];

	for (size_t row = 0; row < rows; row++) {
		size_t i = row * table->width + column;
		const char *shown = gt_short_names_get(names, i);

		if (i >= names->count)
			return;
		gt_frame_fit(shown                     ? shown
			     : table->cells.at[i].text ? table->cells.at[i].text
						       : "",
			     width, text, sizeof(text));
		free(names->text[i]);
		names->text[i] = strdup(text);
	}
}

void gt_short_names_fini(struct gt_short_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->text[i]);
	free(names->text);
	*names = (struct gt_short_names){0};
}
