/* SPDX-License-Identifier: Apache-2.0
 *
 * What tracing costs, as shares of what the program takes without it: from sums that the tracer
 * keeps, and that the ledger has (docs/benchmarks/overhead.md defines them). Pure.
 */
#ifndef GT_CORE_OVERHEAD_COST_H
#define GT_CORE_OVERHEAD_COST_H

#include <stdint.h>

/* In ns, over the same time. */
struct gt_cost_sums {
	uint64_t added;   /* to the program's threads: calls and ranges, by sampled stamps */
	uint64_t own;     /* processor time of our threads */
	uint64_t process; /* processor time of the process, with both */
	uint64_t elapsed; /* time that passed */
	uint64_t threads; /* the same, summed over the threads that call CUDA */
};

/* Shares in hundredths of a percent, cut; 0 where there is nothing to compare with. */
struct gt_cost_shares {
	uint32_t overhead; /* added + own, of the time of the process without both */
	uint32_t threads;  /* added, of the launching threads' time */
	uint32_t writing;  /* own, of one processor's time */
};

/* The time of the process is its processor time without both, or the time that passed, if that is
 * more, without what was added to a launching thread in the mean. */
struct gt_cost_shares gt_cost_shares_of(const struct gt_cost_sums *sums);

#endif
