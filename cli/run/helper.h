/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands of gputrace-cli that process traces after the program ended, each in a child process:
 * a crash in one does not change the exit status of `gputrace run`. Main thread.
 */
#ifndef GT_CLI_RUN_HELPER_H
#define GT_CLI_RUN_HELPER_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/run/exec.h"

/* A command. It runs several times if the files do not fit into one command line. */
struct gt_helper {
	const char *const *words; /* "stats", "--summary", ..., NULL */
	/* Receives each line of its stdout; NULL: stdout is stderr. */
	void (*line)(const char *line);
	bool is_steady; /* SIGINT is blocked in it */
};

/* Runs it on @count files with stdin from /dev/null and the signal mask before @exec; waits.
 * Soft limits of the program (CPU time, file size) do not hold for it. Prints one line if a signal
 * kills it. */
void gt_helper_run(const struct gt_helper *helper, const struct gt_exec *exec, char *const *files,
		   size_t count);

#endif
