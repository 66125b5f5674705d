/* SPDX-License-Identifier: Apache-2.0
 *
 * The work after the program ended: repairs, compresses and summarizes its traces, or prints why
 * there are none. Main thread, with all signals blocked: Ctrl-C does not interrupt it.
 */
#ifndef GT_CLI_RUN_FINISH_H
#define GT_CLI_RUN_FINISH_H

#include <stdbool.h>

#include "cli/run/exec.h"
#include "cli/run/target.h"
#include "cli/run/traces.h"

/* A run whose program has ended. */
struct gt_finish {
	struct gt_traces_wanted wanted;
	const char *command;            /* the program's name, as given */
	const struct gt_target *target; /* its properties */
	const struct gt_exec *exec;
	bool is_traced; /* the trial load succeeded */
	bool compress;
	bool symbolize;
};

/* Does all of it. */
void gt_finish_run(const struct gt_finish *run);

#endif
