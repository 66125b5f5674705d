/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that hold several processes of a job, beside those of the processes: their sums must not be
 * added up. One thread per job.
 */
#ifndef GT_TRACE_FILE_MERGED_H
#define GT_TRACE_FILE_MERGED_H

#include <stdbool.h>
#include <stddef.h>

/* @is_own, by path: the file has the name that a process gives it, and holds that alone.
 *
 * Sets *ret_in, by path, to the file that holds what each of @paths holds, too: for a merged file
 * one that has its first process, for another one a merged file that stays. Else its own number.
 * Processes are known by host, id and rank. -ENOMEM. */
int gt_job_merged(char *const *paths, const bool *is_own, size_t count, size_t *ret_in);

#endif
