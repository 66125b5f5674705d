/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as tables of another kind: an SQLite file with the names and columns of an nsys export, or
 * CSV files. Streams: one pass, no model. One thread per export.
 */
#ifndef GT_TRANSFORM_EXPORT_H
#define GT_TRANSFORM_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Type of a column. */
enum gt_export_kind {
	GT_EXPORT_INT,  /* may be absent */
	GT_EXPORT_NAME, /* a text; its number in StringIds where the format has that */
	GT_EXPORT_TEXT,
};

/* A column of a table. */
struct gt_export_column {
	const char *name;
	enum gt_export_kind kind;
};

/* The tables of an export. */
enum gt_export_table_id {
	GT_EXPORT_KERNEL,
	GT_EXPORT_MEMCPY,
	GT_EXPORT_MEMSET,
	GT_EXPORT_GRAPH,
	GT_EXPORT_RUNTIME,
	GT_EXPORT_SYNC,
	GT_EXPORT_CPU_FAULT,
	GT_EXPORT_GPU_FAULT,
	GT_EXPORT_CALLCHAIN,
	GT_EXPORT_NVTX,
	GT_EXPORT_GPU,
	GT_EXPORT_CUDA_DEVICE,
	GT_EXPORT_PROCESS,
	GT_EXPORT_THREAD,
	GT_EXPORT_TABLE_COUNT_
};

/* A table: its name and columns. */
struct gt_export_table {
	const char *name;
	const struct gt_export_column *columns;
	size_t width;
};

/* Indexed by enum gt_export_table_id. */
extern const struct gt_export_table gt_export_tables[GT_EXPORT_TABLE_COUNT_];

#define GT_EXPORT_WIDTH 32

/* A value of a row. */
struct gt_export_value {
	bool known;
	int64_t number;
	const char *text; /* of @len bytes */
	size_t len;
};

/* Where rows go. All return 0 or negative errno and say what went wrong themselves on failure. */
struct gt_export_sink {
	/* called once before any row; @path is a file or folder */
	int (*open)(struct gt_export_sink *sink, const char *path);
	/* called for each row, width values */
	int (*row)(struct gt_export_sink *sink, enum gt_export_table_id table,
		   const struct gt_export_value *values);
	/* called behind the last row of each process: GPU rows learn whose they are */
	int (*process)(struct gt_export_sink *sink, int64_t global_pid);
	/* called last, also after a failure; @failed: throw away what was written */
	int (*close)(struct gt_export_sink *sink, bool failed);
	bool (*goes_on)(void); /* gt_export's */
	char error[512];
	void *priv;
};

/* The two targets. */
extern const struct gt_export_sink gt_export_sqlite, gt_export_csv;

/* Exports all files of @paths to @target. -EEXIST: it is there already. -EINTR: @goes_on is no
 * longer true. Nothing is left after a failure. ret_error: one line. What the files do not hold is
 * written to @losses, as gt_holes_of does. */
int gt_export(char *const *paths, size_t count, const struct gt_export_sink *kind,
	      const char *target, bool (*goes_on)(void), FILE *losses, char *ret_error,
	      size_t error_size);

#endif
