/* SPDX-License-Identifier: Apache-2.0
 *
 * One trace that a process left, made whole: its spool is found and replayed (recover/replay.h), a
 * first block that was cut is rebuilt (recover/torn.h), what the file lacks is added
 * (recover/join.h), and the file closed (recover/close.h). What its process still writes, or
 * another repair has locked, is not touched, and neither is a file whose spool cannot be read now:
 * a closed trace gets nothing more. One thread, one file at a time.
 */
#ifndef GT_RECOVER_RECOVER_H
#define GT_RECOVER_RECOVER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* What was done to a trace. */
struct gt_recovery {
	bool was_closed;            /* nothing was done */
	bool is_foreign;            /* another program's, not named by the user: the same */
	bool is_empty, is_no_trace; /* of a foreign one: nothing could be made of it */
	bool is_readable;           /* a .pftrace without a spool: nothing was done */
	bool was_repacked;          /* but that its compressed data, which broke off, has an end */
	bool was_torn, was_empty;   /* its header was cut; not a byte was there: rebuilt */
	bool is_joined;             /* its spool was read */
	uint64_t events, cut;       /* kept; bytes behind the last whole event that were given up */
	uint64_t calls, operations; /* recovered from the spool */
	uint64_t maybe_removed;     /* of these, at most: were in files that --keep removed */
	char next[PATH_MAX];        /* a trace of what came while it was closed; empty: none */
	char why[256];              /* what was wrong with the file */
	char warning[PATH_MAX + 512]; /* one line about what is odd; empty: nothing */
	char error[PATH_MAX + 512];   /* one line, after a failure */
};

#define GT_RECOVER_WITHOUT_SPOOL "off"

/* Makes the trace at @path whole; an open file of another program only if it @is_named by the
 * user, not found in a folder, and so that of another user (-EPERM). @spools: a folder in which to
 * look for its spool, too; GT_RECOVER_WITHOUT_SPOOL: it is closed without one; NULL: neither. 0
 * (also when it was whole), or a negative errno with ret_recovery->error: -EBUSY: somebody writes
 * or repairs it. Can be repeated after it was interrupted. */
int gt_recover_file(const char *path, const char *spools, bool is_named,
		    struct gt_recovery *ret_recovery);

#endif
