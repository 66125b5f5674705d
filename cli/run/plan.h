/* SPDX-License-Identifier: Apache-2.0
 *
 * The work before the program of `gputrace run` starts. Main thread.
 */
#ifndef GT_CLI_RUN_PLAN_H
#define GT_CLI_RUN_PLAN_H

#include <limits.h>
#include <stdbool.h>

#include "cli/run/environment.h"
#include "cli/run/folder.h"
#include "cli/run/target.h"
#include "core/config.h"
#include "core/schema/metadata.h"

/* A run before its program starts. For the life of the process. */
struct gt_plan {
	struct gt_config config;
	struct gt_metadata process; /* of the wrapper: host, rank */
	struct gt_target target;
	struct gt_folder folder;
	struct gt_environment environment; /* for the program alone */
	char name[64];                     /* unique over all hosts */
	char output[2 * PATH_MAX];         /* GPUTRACE_OUTPUT */
	bool writes_nothing;               /* by its options the run has no file */
	bool compresses;
	bool symbolizes;
};

/* Plans the run of @command by the options in the environment, creates its folder and sets the
 * variables that the program and the commands afterwards share. After other failures, which are
 * printed (cli/run/say.h), the program can run untraced. A negative errno after a line on stderr:
 * the output folder has no name. */
int gt_plan_make(const struct gt_run_parts *parts, const char *command, struct gt_plan *ret_plan);

#endif
