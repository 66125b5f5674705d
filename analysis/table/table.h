/* SPDX-License-Identifier: Apache-2.0
 *
 * Results as tables, and the four ways to print one: for people, csv, json, markdown. Numbers keep
 * their units in the column titles (ns, MB) in csv and json; people get "12.345 ms" and short
 * names. One thread per table.
 */
#ifndef GT_ANALYSIS_TABLE_TABLE_H
#define GT_ANALYSIS_TABLE_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "readers/vec.h"

/* What a column holds, which decides its alignment and unit. */
enum gt_column_kind {
	GT_COLUMN_TEXT,
	GT_COLUMN_CODE, /* a kernel's or function's name: shortened for people */
	GT_COLUMN_COUNT,
	GT_COLUMN_TIME,  /* whole ns */
	GT_COLUMN_MEAN,  /* ns with one decimal */
	GT_COLUMN_BYTES, /* bytes, shown as MB */
	GT_COLUMN_PERCENT,
	GT_COLUMN_NUMBER,
	GT_COLUMN_ENERGY, /* J, six decimals */
	GT_COLUMN_DELTA,  /* ns with a sign */
	GT_COLUMN_CHANGE, /* % with a sign */
};

/* One column: its kind, its title for people and its title in csv and json. */
struct gt_column {
	const char *id;    /* as written behind --sort= */
	const char *title; /* csv, json: nsys's where it has one; NULL: not there */
	const char *brief; /* for people; NULL: not for them */
	enum gt_column_kind kind;
};

/* One value; which member counts follows from the column's kind. */
struct gt_cell {
	const char *text; /* owned by the table; NULL: empty or a number */
	double number;
	bool is_absent; /* there is no such number: text says why, csv and json have nothing */
};

/* A table: columns, and cells row by row. */
struct gt_table {
	const char *name;  /* "cuda_gpu_kern_sum" */
	const char *title; /* one line for people */
	const struct gt_column *columns;
	size_t width;
	size_t kept;                  /* first columns that a narrow terminal gets too; 0: two */
	uint32_t minor;               /* bits: columns that are left out first there */
	uint32_t major;               /* bits: what it is about, left out last; 0: the first two */
	size_t least;                 /* characters that its last column needs there; 0: as usual */
	GT_VEC(struct gt_cell) cells; /* row after row */
	size_t rows;
};

/* How a table is printed (--format). */
enum gt_format {
	GT_FORMAT_TABLE,
	GT_FORMAT_CSV,
	GT_FORMAT_JSON,
	GT_FORMAT_MARKDOWN,
};

#define GT_TABLE_NAME_WIDTH 72 /* characters of a short name */

struct gt_short_names;
struct gt_mangled_names;

/* How names of code are printed (--names). */
enum gt_names_form {
	GT_NAMES_BY_FORMAT, /* short for people, full for programs */
	GT_NAMES_SHORT,
	GT_NAMES_FULL,
	GT_NAMES_MANGLED, /* kernels as their modules have them, where that is known; else full */
};

/* Options of printing. */
struct gt_print {
	enum gt_format format;
	bool color;
	enum gt_names_form names;
	size_t top;                             /* rows for people and markdown, 0: all */
	size_t columns;                         /* that a table may be wide, 0: any number */
	const struct gt_mangled_names *mangled; /* for GT_NAMES_MANGLED; NULL: none */
};

/* Starts an empty table; @name and @columns are kept. */
void gt_table_init(struct gt_table *table, const char *name, const char *title,
		   const struct gt_column *columns, size_t width);
/* Frees the cells. Also of a zeroed struct. */
void gt_table_fini(struct gt_table *table);

/* Adds cells in the order of the columns; a row is complete after width of them. */
bool gt_table_text(struct gt_table *table, const char *text);
bool gt_table_number(struct gt_table *table, double number);

/* The same for a number that people read a word for (copied), and for one that does not exist. */
bool gt_table_word(struct gt_table *table, double number, const char *word);
bool gt_table_absent(struct gt_table *table, const char *word);

/* Sorts rows by a column, numbers falling, texts rising. -ENOENT: no such column. */
int gt_table_sort(struct gt_table *table, const char *column_id);

/* Keeps the first @top rows. */
void gt_table_cut(struct gt_table *table, size_t top);

/* Prints @count tables (json: one object of arrays). */
void gt_table_print(const struct gt_table *tables, size_t count, const struct gt_print *how,
		    FILE *out);

/* Cell number @i (row after row) as people see it: a text of the table, one of @names, or @out. */
const char *gt_table_cell(const struct gt_table *table, size_t i,
			  const struct gt_short_names *names, char *out, size_t size);

/* The last column for people: nothing pads it. */
size_t gt_table_last_shown(const struct gt_table *table);

/* "12.345 ms", "1.5 GB" into @out. Returns @out. */
char *gt_table_time(double ns, char *out, size_t size);
char *gt_table_bytes(double bytes, char *out, size_t size);

#endif
