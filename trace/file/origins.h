/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the traces that are put together can be of one job, by their headers. One thread per set.
 */
#ifndef GT_TRACE_FILE_ORIGINS_H
#define GT_TRACE_FILE_ORIGINS_H

#include <stddef.h>

#include "readers/chrome/header.h"

/* What was seen first, and the first that differs from it; the paths are the caller's. Begins
 * zeroed. */
struct gt_job_origins {
	int64_t world, other_world;
	char version[32], other_version[32];
	int64_t schema; /* of the newest form that is not known here; 0: none */
	const char *world_path, *other_world_path, *version_path, *other_version_path, *schema_path;
};

/* Takes the header of a trace into account. */
void gt_job_origins_see(struct gt_job_origins *origins, const struct gt_header *header,
			const char *path);

/* Says through @complain, one line each, that there are traces of jobs of different sizes, or of
 * different versions of gputrace, or of one to come. */
void gt_job_origins_judge(const struct gt_job_origins *origins, void (*complain)(const char *line));

#endif
