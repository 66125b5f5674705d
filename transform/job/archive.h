/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of a job as a zip of their traces, as they are, with Perfetto's manifest (version 1,
 * Perfetto 58 and later), which says whose each is and how its clock relates to that of the job:
 * https://perfetto.dev/docs/reference/perfetto-manifest. One thread per zip.
 */
#ifndef GT_TRANSFORM_JOB_ARCHIVE_H
#define GT_TRANSFORM_JOB_ARCHIVE_H

#include "transform/job/merge.h"

/* Writes all @paths to @out. What gzip packed is unpacked before: Perfetto relates the clock of no
 * packed member. @request and @ret_result as in gt_merge. -EFBIG: more than a zip can hold. */
int gt_merge_zip(char *const *paths, size_t count, const struct gt_merge_request *request,
		 FILE *out, struct gt_merge_result *ret_result);

#endif
