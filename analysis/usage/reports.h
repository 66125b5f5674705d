/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of gt_usage_reports: each makes its table, or its groups and then its table. 0 or
 * -ENOMEM. One thread per table.
 */
#ifndef GT_ANALYSIS_USAGE_REPORTS_H
#define GT_ANALYSIS_USAGE_REPORTS_H

#include "analysis/usage/usage.h"

/* A report's build function. */
#define GT_USAGE_BUILD(name)                                                                       \
	int gt_usage_##name(const struct gt_report *report, const struct gt_job *job,              \
			    const struct gt_filter *filter, struct gt_table *ret_table)

/* The map and the fill of a report that is made of groups. */
#define GT_USAGE_MAP(name)                                                                         \
	int gt_usage_map_##name(const struct gt_report *report, const struct gt_job *job,          \
				const struct gt_filter *filter, struct gt_groups *groups)
#define GT_USAGE_FILL(name)                                                                        \
	int gt_usage_fill_##name(const struct gt_report *report, struct gt_groups *groups,         \
				 struct gt_table *ret_table)

/* Use by stream, step, rank: parts.c. */
GT_USAGE_BUILD(streams);
GT_USAGE_BUILD(steps);
GT_USAGE_BUILD(ranks);
/* Kernels per step and rank: per.c. */
GT_USAGE_BUILD(per_step);
GT_USAGE_BUILD(per_rank);
/* Collectives, by name and size: collectives.c. */
GT_USAGE_MAP(collectives);
GT_USAGE_FILL(collectives);
/* Bytes per second: rates.c. */
GT_USAGE_MAP(rates);
GT_USAGE_FILL(rates);
/* Launch queues: queues.c. */
GT_USAGE_BUILD(queues);
GT_USAGE_BUILD(queue_times);
/* Power, clocks and health of each GPU: health.c. */
GT_USAGE_BUILD(health);
/* Calls of the operating system: os_calls.c. */
GT_USAGE_BUILD(os_calls);
/* Calls of MPI, by function and by who sends to whom: mpi.c. */
GT_USAGE_MAP(mpi_calls);
GT_USAGE_FILL(mpi_calls);
GT_USAGE_BUILD(mpi_peers);
/* Modules of torch: modules.c. */
GT_USAGE_MAP(modules);
GT_USAGE_FILL(modules);

#endif
