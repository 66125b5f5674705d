/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of an export in the making: values are put one after the other, and the end of a row gives
 * it to the sink. Shared by the files of transform/export*.c; one thread per export.
 */
#ifndef GT_TRANSFORM_EXPORT_ROWS_H
#define GT_TRANSFORM_EXPORT_ROWS_H

#include "readers/chrome/reader.h"
#include "readers/keymap.h"
#include "readers/pairmap.h"
#include "readers/vec.h"
#include "transform/export.h"
#include "transform/export_processes.h"

/* A domain of NVTX in a process. */
struct gt_export_domain {
	int64_t process; /* its globalPid */
	char *name;
	int64_t id; /* in the process, from 1 on */
};

/* What no table has, or not as it is, by its cause. */
struct gt_export_left {
	uint64_t unknown;      /* slices of categories that no table has or leaves out */
	uint64_t no_ts;        /* events */
	uint64_t bad_ts;       /* events */
	uint64_t halves;       /* of a slice: its begin or its end */
	uint64_t asynchronous; /* slices */
	uint64_t no_dur;       /* slices that tables have */
	uint64_t negative_dur; /* slices that tables have */
};

/* The export of one file. */
struct gt_export_rows {
	struct gt_export_sink *sink;
	struct gt_export_processes *processes;
	struct gt_pairmap *devices; /* that are reported */
	int64_t *chains;            /* ids of call chains that are taken; of all files */
	int64_t chain_base;         /* what is added to this file's stack numbers */
	struct gt_pairmap chains_put;
	GT_VEC(struct gt_export_domain) domains;
	GT_VEC(char *) mangled;      /* names of kernels */
	struct gt_keymap mangled_of; /* by hash of a kernel's name: the number of its mangled one */
	bool is_ours;                /* the numbers of rows have a meaning */
	struct gt_export_left left;
	struct gt_export_value row[GT_EXPORT_WIDTH];
	size_t filled;
};

/* The next value of the row. A text stays the caller's and must live until the row ends. */
void gt_export_put_int(struct gt_export_rows *e, int64_t number);
void gt_export_put_none(struct gt_export_rows *e);
void gt_export_put_text(struct gt_export_rows *e, const char *text, size_t len);
/* An argument that is a number; what the trace does not tell is absent. */
void gt_export_put_arg(struct gt_export_rows *e, const struct gt_trace_event *record,
		       enum gt_arg arg);
/* The same, by its name. */
void gt_export_put_member(struct gt_export_rows *e, const struct gt_trace_event *record,
			  const char *key);
/* Three numbers of an array argument. */
void gt_export_put_three(struct gt_export_rows *e, const struct gt_trace_event *record,
			 enum gt_arg arg);
/* Gives the row to the sink. 0 or negative errno. */
int gt_export_end_row(struct gt_export_rows *e, enum gt_export_table_id table);

/* ---- export_mangled.c ---- */

/* The mangled name of a kernel as the next value; where the trace does not tell it, its name. 0 or
 * negative errno. */
int gt_export_put_mangled(struct gt_export_rows *e, const struct gt_trace_event *record);
/* Frees them. */
void gt_export_mangled_fini(struct gt_export_rows *e);

/* ---- export_nvtx.c ---- */

/* A range or mark, and at its first use its domain. 0 or negative errno. */
int gt_export_nvtx(struct gt_export_rows *e, const struct gt_trace_event *record);
/* Frees the domains. */
void gt_export_nvtx_fini(struct gt_export_rows *e);

/* ---- export_unified.c ---- */

/* What happened to unified memory; nothing where no table has it. 0 or negative errno. */
int gt_export_unified(struct gt_export_rows *e, const struct gt_trace_event *record);

/* ---- export_stacks.c ---- */

/* The call stacks whose frames an event brings. 0 or negative errno. */
int gt_export_stacks(struct gt_export_rows *e, const struct gt_trace_event *record);
/* The id of the event's call stack as the next value. */
void gt_export_put_chain(struct gt_export_rows *e, const struct gt_trace_event *record);

#endif
