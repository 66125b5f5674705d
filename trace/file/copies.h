/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of a folder that hold the same trace under two names: their sums must not be added up. One
 * thread per job.
 */
#ifndef GT_TRACE_FILE_COPIES_H
#define GT_TRACE_FILE_COPIES_H

#include <stddef.h>

/* Into @ret_copy_of, by path, which of the files before it each of @paths is a copy of, by what
 * they begin with, packed or not; else its own number. -ENOMEM. */
int gt_job_copies(char *const *paths, size_t count, size_t *ret_copy_of);

#endif
