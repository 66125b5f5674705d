/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of a job as one .pftrace: each process has the packets that a file of its own has, with
 * sequences, tracks, calls and GPUs that no other one has (docs/FORMAT.md, "Several processes").
 * Traces of gputrace only, JSON or .pftrace, also what merge made of several. One thread per merge.
 */
#ifndef GT_TRANSFORM_JOB_PFTRACE_H
#define GT_TRANSFORM_JOB_PFTRACE_H

#include "transform/job/merge.h"

/* Appends all @paths to @fd, which stays open, process by process; @request and @ret_result as in
 * gt_merge. Memory is that of the largest process. A JSON is read three times for each of its
 * processes. -EBADMSG: one is no trace of gputrace. */
int gt_merge_pftrace(char *const *paths, size_t count, const struct gt_merge_request *request,
		     int fd, struct gt_merge_result *ret_result);

#endif
