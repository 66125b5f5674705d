/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that have several traces, of processes, windows or dumps: their number and their names. One
 * thread per job.
 */
#ifndef GT_TRACE_JOB_TWINS_H
#define GT_TRACE_JOB_TWINS_H

#include "trace/job.h"

/* Sets twin of all models that are twins: behind gt_job_compare. */
void gt_job_name_twins(const struct gt_job *job);

/* How many ranks and processes of them are among @models, which are in the order of their ranks.
 * Windows of one process are one. */
void gt_job_count(const struct gt_model *models, size_t count, size_t *ret_ranks,
		  size_t *ret_processes);

/* "2 ranks", "2 processes" of one rank, "2 ranks, 4 processes"; "" for one of each. */
void gt_job_words(size_t ranks, size_t processes, char *ret, size_t size);

#endif
