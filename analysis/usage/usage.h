/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of `gputrace stats` that nsys does not have, in the form of its own (analysis/stats.h);
 * columns and definitions are in docs/STATS.md. Pure over constant models; one thread per table.
 */
#ifndef GT_ANALYSIS_USAGE_USAGE_H
#define GT_ANALYSIS_USAGE_USAGE_H

#include "analysis/stats.h"

/* All of them, ended by a NULL name. */
extern const struct gt_report gt_usage_reports[];

/* How GPU operations of one key are spread over powers of two of their durations: a row a key and
 * power that has any. */
struct gt_report gt_usage_histogram(enum gt_key key);

/* The energy that GPU operations of one key have used, by what run --nvml recorded, with its error,
 * and a row for the time in which none ran. Empty: no trace has such readings. 0 or -ENOMEM. */
int gt_usage_energy(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		    struct gt_table *ret_table);

/* What calls of one key have computed, as far as that is known (work.h), and how far that is
 * from the peak of the device. Empty: nothing is known. 0 or -ENOMEM. */
int gt_usage_flops(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		   struct gt_table *ret_table);

/* Whether a library that computes was recorded: any of --libraries but nccl and mpi. */
bool gt_usage_flops_recorded(const struct gt_job *job);

/* How many kernels and operators have more FLOPs than fit into 63 bits: they are in no sum. */
uint64_t gt_usage_flops_too_large(const struct gt_job *job);

/* Of how many calls of libraries the sizes are not known, and why: "3: 2 with an unknown
 * descriptor, 1 with a freed descriptor". False: of none. */
bool gt_usage_flops_unknown(const struct gt_job *job, char *line, size_t size);

#endif
