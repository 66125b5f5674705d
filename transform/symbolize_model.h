/* SPDX-License-Identifier: Apache-2.0
 *
 * Source positions for the frames of a loaded trace: what gputrace symbolize writes into a file,
 * for a command that reads one. Modules are read in a child process (confined.h), so that a damaged
 * one costs its own positions only. One thread per job.
 */
#ifndef GT_TRANSFORM_SYMBOLIZE_MODEL_H
#define GT_TRANSFORM_SYMBOLIZE_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/job.h"

/* What looking came to. */
struct gt_symbolized {
	size_t frames; /* native ones of modules whose build id is known, each text once */
	size_t found;  /* of these: now with a position */
	bool is_late;  /* the time was over before all were looked up */
	bool failed;   /* there could be no child */
};

/* Replaces native frames in the stacks of all models of @count jobs, in at most @seconds. @damaged
 * gets the path of each module whose reader crashed or took all its memory. 0 or -ENOMEM. */
int gt_symbolize_jobs(struct gt_job *jobs, size_t count, unsigned int seconds,
		      void (*damaged)(const char *path), struct gt_symbolized *ret_result);

#endif
