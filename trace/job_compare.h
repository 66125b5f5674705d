/* SPDX-License-Identifier: Apache-2.0
 *
 * What a process's model can only learn from those of the others in its job. One thread per job.
 */
#ifndef GT_TRACE_JOB_COMPARE_H
#define GT_TRACE_JOB_COMPARE_H

#include "trace/job.h"

/*
 * Sets pid, is_twin and origin of all models, which are in the order of their ranks, and the clocks
 * of the job. The origin is one moment for all whose clocks can be compared, the first slice of
 * any; without a base, or where the bases are no times of one job, each process's own first slice.
 * -ENOMEM.
 */
int gt_job_compare(struct gt_job *job);

/* The origins alone, of models that were read elsewhere; the clocks of the job are known. */
void gt_job_set_origins(struct gt_job *job);

#endif
