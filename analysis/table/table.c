/* SPDX-License-Identifier: Apache-2.0
 *
 * See table.h. One thread per table.
 */
#include "analysis/table/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table/fit.h"
#include "analysis/table/short_names.h"
#include "readers/show.h"
#include "readers/wrap.h"
#include "trace/frame.h"

void gt_table_init(struct gt_table *table, const char *name, const char *title,
		   const struct gt_column *columns, size_t width)
{
	*table =
		(struct gt_table){.name = name, .title = title, .columns = columns, .width = width};
}

void gt_table_fini(struct gt_table *table)
{
	for (size_t i = 0; i < table->cells.count; i++)
		free((char *)table->cells.at[i].text);
	gt_vec_free(&table->cells);
	table->rows = 0;
}

static bool add_cell(struct gt_table *table, struct gt_cell cell)
{
	if (!gt_vec_push(&table->cells, cell))
		return false;
	table->rows = table->cells.count / table->width;
	return true;
}

/* The same with a copy of @text. */
static bool add_text(struct gt_table *table, const char *text, struct gt_cell cell)
{
	char *copy = strdup(text);

	cell.text = copy;
	if (copy && add_cell(table, cell))
		return true;
	free(copy);
	return false;
}

bool gt_table_text(struct gt_table *table, const char *text)
{
	return add_text(table, text, (struct gt_cell){0});
}

bool gt_table_number(struct gt_table *table, double number)
{
	return add_cell(table, (struct gt_cell){.number = number});
}

bool gt_table_word(struct gt_table *table, double number, const char *word)
{
	return add_text(table, word, (struct gt_cell){.number = number});
}

bool gt_table_absent(struct gt_table *table, const char *word)
{
	return add_text(table, word, (struct gt_cell){.is_absent = true});
}

static bool is_text(enum gt_column_kind kind)
{
	return kind == GT_COLUMN_TEXT || kind == GT_COLUMN_CODE;
}

struct order {
	const struct gt_table *table;
	size_t column;
};

static int compare_rows(const void *a, const void *b, void *data)
{
	const struct order *order = data;
	const struct gt_cell *x = a, *y = b;
	const struct gt_cell *p = x + order->column, *q = y + order->column;

	if (p->text && q->text && is_text(order->table->columns[order->column].kind))
		return strverscmp(p->text, q->text); /* step 10 is behind step 9 */
	if (p->number != q->number)
		return p->number > q->number ? -1 : 1;
	/* equal numbers: by the texts of the row, so that the order is always the same */
	for (size_t i = 0; i < order->table->width; i++)
		if (x[i].text && y[i].text && strcmp(x[i].text, y[i].text))
			return strcmp(x[i].text, y[i].text);
	return 0;
}

int gt_table_sort(struct gt_table *table, const char *column_id)
{
	struct order order = {.table = table};

	while (order.column < table->width && strcmp(table->columns[order.column].id, column_id))
		order.column++;
	if (order.column == table->width)
		return -ENOENT;
	if (table->rows)
		qsort_r(table->cells.at, table->rows, table->width * sizeof(struct gt_cell),
			compare_rows, &order);
	return 0;
}

void gt_table_cut(struct gt_table *table, size_t top)
{
	while (table->rows > top) {
		for (size_t i = 0; i < table->width; i++)
			free((char *)table->cells.at[--table->cells.count].text);
		table->rows--;
	}
}

char *gt_table_time(double ns, char *out, size_t size)
{
	double size_of = fabs(ns);

	if (size_of < 1000)
		snprintf(out, size, "%.0f ns", ns);
	else if (size_of < 1e6)
		snprintf(out, size, "%.3f us", ns / 1e3);
	else if (size_of < 1e9)
		snprintf(out, size, "%.3f ms", ns / 1e6);
	else
		snprintf(out, size, "%.3f s", ns / 1e9);
	return out;
}

char *gt_table_bytes(double bytes, char *out, size_t size)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
	size_t unit = 0;

	while (fabs(bytes) >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1000;
		unit++;
	}
	snprintf(out, size, unit ? "%.3f %s" : "%.0f %s", bytes, units[unit]);
	return out;
}

static char *energy_text(double joules, char *out, size_t size)
{
	static const char *const units[] = {"uJ", "mJ", "J", "kJ", "MJ"};
	size_t unit = 0;

	joules *= 1e6;
	while (joules >= 1000 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		joules /= 1000;
		unit++;
	}
	snprintf(out, size, "%.3f %s", joules, units[unit]);
	return out;
}

#define LARGE 1e21 /* from here on a number has an exponent: as digits it would be cut */

/* A number as csv and json have it; empty if it is none. */
static char *machine_number(const struct gt_column *column, double number, char *out, size_t size)
{
	*out = 0;
	if (!isfinite(number))
		return out;
	if (fabs(number) >= LARGE) {
		snprintf(out, size, "%.17g", number);
		return out;
	}
	switch (column->kind) {
	case GT_COLUMN_COUNT:
	case GT_COLUMN_TIME:
		snprintf(out, size, "%.0f", number);
		break;
	case GT_COLUMN_MEAN:
	case GT_COLUMN_PERCENT:
	case GT_COLUMN_DELTA:
	case GT_COLUMN_CHANGE:
		snprintf(out, size, "%.1f", number);
		break;
	case GT_COLUMN_ENERGY:
		snprintf(out, size, "%.6f", number);
		break;
	case GT_COLUMN_BYTES:
		snprintf(out, size, "%.6f", number / 1e6);
		break;
	default:
		snprintf(out, size, "%.3f", number);
	}
	return out;
}

static char *human_number(const struct gt_column *column, double number, char *out, size_t size)
{
	if (!isfinite(number)) {
		snprintf(out, size, "-");
		return out;
	}
	if (fabs(number) >= LARGE)
		return machine_number(column, number, out, size);
	switch (column->kind) {
	case GT_COLUMN_TIME:
	case GT_COLUMN_MEAN:
		return gt_table_time(number, out, size);
	case GT_COLUMN_BYTES:
		return gt_table_bytes(number, out, size);
	case GT_COLUMN_ENERGY:
		return energy_text(number, out, size);
	case GT_COLUMN_DELTA:
		*out = number < 0 ? '-' : '+';
		gt_table_time(fabs(number), out + 1, size - 1);
		return out;
	case GT_COLUMN_CHANGE:
		snprintf(out, size, "%+.1f %%", number);
		return out;
	case GT_COLUMN_PERCENT:
		snprintf(out, size, "%.1f %%", number);
		return out;
	default:
		return machine_number(column, number, out, size);
	}
}

/* What a program gets as the text of cell @i. */
static const char *machine_text(const struct gt_table *table, size_t i,
				const struct gt_short_names *names)
{
	const char *name = gt_short_names_get(names, i), *text = table->cells.at[i].text;

	return name ? name : text ? text : "";
}

static void print_csv_cell(const struct gt_table *table, size_t i,
			   const struct gt_short_names *names, FILE *out)
{
	const struct gt_column *column = &table->columns[i % table->width];
	const struct gt_cell *cell = &table->cells.at[i];
	const char *text = machine_text(table, i, names);
	char number[64];

	if (is_text(column->kind))
		gt_show_csv(text, strlen(text), false, out);
	else if (!cell->is_absent)
		fputs(machine_number(column, cell->number, number, sizeof(number)), out);
}

static void print_csv(const struct gt_table *table, const struct gt_short_names *names, FILE *out)
{
	const char *gap = "";

	for (size_t c = 0; c < table->width; c++) {
		if (!table->columns[c].title)
			continue;
		fprintf(out, "%s%s", gap, table->columns[c].title);
		gap = ",";
	}
	for (size_t i = 0; i < table->rows * table->width; i++) {
		if (i % table->width == 0)
			gap = "\n";
		if (!table->columns[i % table->width].title)
			continue;
		fputs(gap, out);
		gap = ",";
		print_csv_cell(table, i, names, out);
	}
	fputc('\n', out);
}

static void print_json_cell(const struct gt_table *table, size_t i,
			    const struct gt_short_names *names, FILE *out)
{
	const struct gt_column *column = &table->columns[i % table->width];
	const struct gt_cell *cell = &table->cells.at[i];
	char number[64];

	gt_show_json(column->title, out);
	fputs(": ", out);
	if (is_text(column->kind))
		gt_show_json(machine_text(table, i, names), out);
	else if (cell->is_absent || !isfinite(cell->number))
		fputs("null", out);
	else
		fputs(machine_number(column, cell->number, number, sizeof(number)), out);
}

static void print_json(const struct gt_table *table, const struct gt_short_names *names, FILE *out)
{
	const char *gap = "";

	gt_show_json(table->name, out);
	fputs(": [", out);
	for (size_t i = 0; i < table->cells.count; i++) {
		if (i % table->width == 0) {
			fputs(i ? "},\n  {" : "\n  {", out);
			gap = "";
		}
		if (!table->columns[i % table->width].title)
			continue;
		fputs(gap, out);
		gap = ", ";
		print_json_cell(table, i, names, out);
	}
	fputs(table->rows ? "}\n]" : "]", out);
}

static void print_for_programs(const struct gt_table *table, const struct gt_print *how, FILE *out)
{
	struct gt_short_names names = {0};

	if (how->names == GT_NAMES_MANGLED)
		gt_short_names_mangled(&names, table, table->rows, how);
	else if (how->names == GT_NAMES_SHORT)
		gt_short_names_make(&names, table, table->rows, GT_TABLE_NAME_WIDTH, false);
	if (how->format == GT_FORMAT_CSV)
		print_csv(table, &names, out);
	else
		print_json(table, &names, out);
	gt_short_names_fini(&names);
}

static size_t shown_rows(const struct gt_table *table, const struct gt_print *how)
{
	return how->top && how->top < table->rows ? how->top : table->rows;
}

size_t gt_table_last_shown(const struct gt_table *table)
{
	size_t c = table->width;

	while (c && !table->columns[c - 1].brief)
		c--;
	return c ? c - 1 : 0;
}

const char *gt_table_cell(const struct gt_table *table, size_t i,
			  const struct gt_short_names *names, char *out, size_t size)
{
	const struct gt_column *column = &table->columns[i % table->width];
	const struct gt_cell *cell = &table->cells.at[i];
	const char *name = gt_short_names_get(names, i);

	if (!is_text(column->kind) && !cell->text)
		return human_number(column, cell->number, out, size);
	return name ? name : cell->text ? cell->text : "";
}

static void print_markdown(const struct gt_table *table, const struct gt_print *how, FILE *out)
{
	struct gt_short_names names = {0};
	char cell[GT_TABLE_CELL];

	if (how->names == GT_NAMES_MANGLED)
		gt_short_names_mangled(&names, table, shown_rows(table, how), how);
	else if (how->names != GT_NAMES_FULL)
		gt_short_names_make(&names, table, shown_rows(table, how), GT_TABLE_NAME_WIDTH,
				    false);
	fprintf(out, "### %s\n\n", table->title);
	for (size_t c = 0; c < table->width; c++)
		if (table->columns[c].brief)
			fprintf(out, "| %s ", table->columns[c].brief);
	fputs("|\n", out);
	for (size_t c = 0; c < table->width; c++)
		if (table->columns[c].brief)
			fputs(is_text(table->columns[c].kind) ? "|---" : "|---:", out);
	fputs("|\n", out);
	for (size_t i = 0; i < shown_rows(table, how) * table->width; i++) {
		if (table->columns[i % table->width].brief) {
			fputs("| ", out);
			gt_show_markdown(gt_table_cell(table, i, &names, cell, sizeof(cell)), out);
			fputc(' ', out);
		}
		if ((i + 1) % table->width == 0)
			fputs("|\n", out);
	}
	if (shown_rows(table, how) < table->rows)
		fprintf(out, "\n%zu more rows\n", table->rows - shown_rows(table, how));
	gt_short_names_fini(&names);
}

static void pad(FILE *out, size_t n)
{
	fprintf(out, "%*s", (int)n, "");
}

/* Of a column that was cut, cut as well. */
static const char *heading(const struct gt_column *column, size_t width, char *out, size_t size)
{
	if (gt_table_text_width(column->brief) <= width)
		return column->brief;
	gt_frame_fit(column->brief, width, out, size);
	return out;
}

/* Row SIZE_MAX is the header. Without a line break: the header has something before it. */
static void print_row(const struct gt_table *table, size_t row, const struct gt_table_fit *fit,
		      FILE *out)
{
	char cell[GT_TABLE_CELL];

	for (size_t c = 0; c < table->width; c++) {
		const struct gt_column *column = &table->columns[c];
		const char *text;
		size_t padding;

		if (!fit->shows[c])
			continue;
		text = row == SIZE_MAX ? heading(column, fit->widths[c], cell, sizeof(cell))
				       : gt_table_cell(table, row * table->width + c, &fit->names,
						       cell, sizeof(cell));
		padding = fit->widths[c] - gt_table_text_width(text);
		fputs("  ", out);
		if (!is_text(column->kind))
			pad(out, padding);
		gt_show(text, out);
		if (is_text(column->kind) && c != gt_table_last_shown(table))
			pad(out, padding);
	}
}

static void print_left_out(const struct gt_table *table, const struct gt_table_fit *fit,
			   size_t columns, FILE *out)
{
	const char *gap = "";
	char *names = NULL;
	size_t size;
	FILE *memory = open_memstream(&names, &size);

	if (!memory)
		return;
	for (size_t c = 0; c < table->width; c++) {
		const char *brief = table->columns[c].brief;

		if (brief && *brief && !fit->shows[c]) {
			fprintf(memory, "%s%s", gap, brief);
			gap = ", ";
		}
	}
	if (!fclose(memory) && *gap)
		gt_wrap_line(out, columns, 4, "  no room for %s", names);
	free(names);
	if (fit->names.are_numbered)
		gt_wrap_line(out, columns, 4,
			     "  (1), (2): names that differ in what was left out; --names=full "
			     "shows it");
}

static void print_rows(const struct gt_table *table, const struct gt_print *how, FILE *out)
{
	size_t rows = shown_rows(table, how);
	struct gt_table_fit fit;

	gt_table_fit_make(&fit, table, rows, how);
	fputs(how->color ? "\033[2m" : "", out);
	print_row(table, SIZE_MAX, &fit, out);
	fputs(how->color ? "\033[0m\n" : "\n", out);
	for (size_t row = 0; row < rows; row++) {
		print_row(table, row, &fit, out);
		fputc('\n', out);
	}
	print_left_out(table, &fit, how->columns, out);
	gt_table_fit_fini(&fit);
}

/* A colour ends with its line, as pagers show line by line. */
static void print_title(const struct gt_table *table, const struct gt_print *how, FILE *out)
{
	char *text = NULL, *line, *rest;
	size_t size;
	FILE *memory = how->color ? open_memstream(&text, &size) : NULL;

	gt_wrap_line(memory ? memory : out, how->columns, 2, "%s", table->title);
	if (!memory || fclose(memory))
		return;
	for (rest = text; (line = strsep(&rest, "\n")) && rest;)
		fprintf(out, "\033[1m%s\033[0m\n", line);
	free(text);
}

static void print_human(const struct gt_table *table, const struct gt_print *how, FILE *out)
{
	print_title(table, how, out);
	if (table->rows)
		print_rows(table, how, out);
	else
		fputs("  none\n", out);
	if (shown_rows(table, how) < table->rows)
		fprintf(out, "  ... and %zu more\n", table->rows - shown_rows(table, how));
}

void gt_table_print(const struct gt_table *tables, size_t count, const struct gt_print *how,
		    FILE *out)
{
	if (how->format == GT_FORMAT_JSON)
		fputc('{', out);
	for (size_t i = 0; i < count; i++) {
		switch (how->format) {
		case GT_FORMAT_CSV:
			fputs(i ? "\n" : "", out);
			print_for_programs(&tables[i], how, out);
			break;
		case GT_FORMAT_JSON:
			fputs(i ? ",\n" : "", out);
			print_for_programs(&tables[i], how, out);
			break;
		case GT_FORMAT_MARKDOWN:
			fputs(i ? "\n" : "", out);
			print_markdown(&tables[i], how, out);
			break;
		default:
			fputs(i ? "\n" : "", out);
			print_human(&tables[i], how, out);
		}
	}
	if (how->format == GT_FORMAT_JSON)
		fputs("}\n", out);
}
