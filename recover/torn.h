/* SPDX-License-Identifier: Apache-2.0
 *
 * The first block of a trace (docs/FORMAT.md, "Two forms of one file"), when its process died while
 * it wrote it: at the very beginning, when a fact changed, or as the last step of closing the file.
 * What can still be read of it, what the file's name tells and what was recovered becomes a block
 * of the running form; the events behind it are not touched. One thread per file.
 */
#ifndef GT_RECOVER_TORN_H
#define GT_RECOVER_TORN_H

#include <stdbool.h>
#include <stdint.h>

#include "recover/pin.h"

/* What was done to a first block. */
struct gt_torn {
	bool was_torn;   /* the block was rebuilt */
	bool was_empty;  /* not a byte had been written */
	char error[640]; /* one line, after a failure */
};

/*
 * Makes the first block of the file again if it is torn. @recovered: a trace whose header tells the
 * same facts, or NULL. What nobody knows is listed in the header's "header_unknown". Can be
 * repeated after it was interrupted. 0 or a negative errno with ret_torn->error: -ENODATA: empty,
 * and its name is not that of a trace; the file is not touched then. What is no trace of ours is no
 * failure.
 */
int gt_torn_rebuild(const struct gt_pin *pin, const char *recovered, struct gt_torn *ret_torn);

#endif
