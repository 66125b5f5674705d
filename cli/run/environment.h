/* SPDX-License-Identifier: Apache-2.0
 *
 * Environment variables by which the tracer is loaded into the program. Main thread.
 */
#ifndef GT_CLI_RUN_ENVIRONMENT_H
#define GT_CLI_RUN_ENVIRONMENT_H

#include <stdbool.h>

#include "cli/run/target.h"
#include "core/config.h"

/* Paths of the parts of gputrace that are loaded into a program. */
struct gt_run_parts {
	const char *library; /* libgputrace.so */
	const char *modules; /* folder of the Python modules */
};

#define GT_ENVIRONMENT_MOST 6

/* Variables for the program alone. */
struct gt_environment {
	char *word[GT_ENVIRONMENT_MOST +
		   1];  /* "NAME=VALUE", NULL-terminated, for the process's life */
	bool is_traced; /* the library can be loaded */
};

/* Chooses them for the program @target. Prints what prevents tracing (cli/run/say.h). */
void gt_environment_plan(const struct gt_run_parts *parts, const struct gt_config *config,
			 const struct gt_target *target, struct gt_environment *ret_environment);

#endif
