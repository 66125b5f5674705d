/* SPDX-License-Identifier: Apache-2.0
 *
 * The file that a command writes: never over one that exists, which may be its own input; gone
 * again when it could not be written whole; and the reason is the first write's that failed. One
 * thread.
 */
#ifndef GT_CLI_OUTFILE_H
#define GT_CLI_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "recover/pin.h"

/* An output file that is being written. */
struct gt_outfile {
	FILE *file; /* to be written to; of a name in .gz it becomes gzip */
	int fd;     /* of it, for a writer that buffers itself, of no such name */

	/* private */
	const char *path;
	struct gt_pin folder; /* of a file that we made */
	void *packed;         /* zlib's, of a name in .gz */
	int error;            /* errno of the first write that failed */
	bool is_new;          /* a file that we made */
};

/* Whether the name @path ends in @ending. */
bool gt_outfile_ends(const char *path, const char *ending);

/* Whether anything lies at @path; says so on stderr. */
bool gt_outfile_is_taken(const char *path);

/* Opens @path for writing; NULL or "-": standard output, and devices and
 * FIFOs may be there. 0, or a negative errno that has been told on
 * stderr. @path is kept until gt_outfile_close. */
int gt_outfile_open(struct gt_outfile *out, const char *path);

/* Closes it when the work came to @rc, 0 or a negative errno, with @words for why (NULL: the
 * errno's). An exit status. What failed is reported on stderr, the output before all else, and the
 * file removed. */
int gt_outfile_close(struct gt_outfile *out, int rc, const char *words);

#endif
