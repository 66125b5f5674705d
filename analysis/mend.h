/* SPDX-License-Identifier: Apache-2.0
 *
 * The first block of a trace (docs/FORMAT.md, "Two forms of one file"), when its process died while it
 * wrote it: at the very beginning, when a fact changed, or as the last step of closing the file. What
 * can still be read of it, what the file's name tells and what was recovered becomes a block of the
 * running form; the events behind it are not touched. One thread per file.
 */
#ifndef GT_ANALYSIS_MEND_H
#define GT_ANALYSIS_MEND_H

#include <stdbool.h>
#include <stdint.h>

/* What the name of a trace file tells: "[rank3_]host_PID.MILLISECONDS[.partN]....json". */
struct gt_mend_name {
	bool is_ours;
	bool has_rank;
	int64_t rank, pid, started; /* started: ms since the epoch */
	unsigned long part;         /* from 1 */
};

struct gt_mend {
	bool was_torn;   /* the block was made anew */
	bool was_empty;  /* not a byte had been written */
	char error[640]; /* one line, after a failure */
};

void gt_mend_name(const char *path, struct gt_mend_name *ret_name);

/* True when the first block of @path is torn, or the file is empty and has a trace's name. */
bool gt_mend_is_due(const char *path);

/*
 * Makes the first block of @path anew if it is torn. @recovered: a trace whose header tells the same
 * facts, or NULL. What nobody knows is listed in the header's "header_unknown". Can be repeated after
 * it was interrupted. 0 or a negative errno with ret_mend->error: -ENODATA: empty, and its name is not
 * that of a trace; the file is not touched then. What is no trace of ours is no failure.
 */
int gt_mend_file(const char *path, const char *recovered, struct gt_mend *ret_mend);

#endif
