/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the traces of one run; the folder may hold traces of other runs. Main thread.
 */
#ifndef GT_CLI_RUN_TRACES_H
#define GT_CLI_RUN_TRACES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/run/folder.h"
#include "core/schema/metadata.h"

/* Properties of the traces to find. */
struct gt_traces_wanted {
	const struct gt_folder *folder;
	const char *run;    /* first name in GPUTRACE_RUN; each trace holds it */
	const char *output; /* GPUTRACE_OUTPUT of the program */
	uint64_t began;     /* start of the program in ms since 1970: no trace is older */
	/* Of the wrapper. If it has a rank, only files with its host or rank in their name are
	 * read: with thousands of ranks each would read all files. */
	const struct gt_metadata *process;
};

/* Paths, sorted, those in the folder first. */
struct gt_traces {
	char **path;
	size_t count;
	size_t elsewhere; /* how many are in the folder for temporary files, where the library
			   * writes when it cannot write into the output folder */
};

/* Finds them; files that cannot be read are ignored. Free with gt_traces_fini. */
void gt_traces_find(const struct gt_traces_wanted *wanted, struct gt_traces *ret_traces);

/* Frees them. Also of a zeroed struct. */
void gt_traces_fini(struct gt_traces *traces);

#endif
