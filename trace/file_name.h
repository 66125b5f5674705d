/* SPDX-License-Identifier: Apache-2.0
 *
 * What the name of a trace file says of the process that wrote it (docs/FORMAT.md). Pure, any
 * thread.
 */
#ifndef GT_TRACE_FILE_NAME_H
#define GT_TRACE_FILE_NAME_H

#include <stdbool.h>
#include <stdint.h>

/* "[rank3_]host_PID.MILLISECONDS[.partN]....json" */
struct gt_file_name {
	bool is_ours;
	bool has_rank;
	int64_t rank, pid, started; /* started: ms since the epoch */
	unsigned long part;         /* from 1 */
};

/* @path: folders before the name do not matter. Fields that the name lacks are zero. */
void gt_file_name_parse(const char *path, struct gt_file_name *ret_name);

#endif
