/* SPDX-License-Identifier: Apache-2.0
 *
 * What tracing cost, as its ledgers tell (see stats.h). Pure over constant models.
 */
#include "analysis/stats.h"

#include <stdio.h>

#include "core/overhead/cost.h"
#include "core/schema/ledger.h"

/* Of all processes, so that a merged trace says the same as its parts. */
static uint64_t sum_of(const struct gt_job *job, enum gt_ledger_key key)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < job->count; i++) {
		int64_t count = 0;

		gt_header_int(&job->models[i].reading.header, "ledger", gt_ledger_rows[key].json,
			      &count);
		sum = gt_ledger_join(key, sum, count > 0 ? (uint64_t)count : 0);
	}
	return sum;
}

static double percent(uint32_t hundredths)
{
	return (double)hundredths / 100;
}

struct gt_stats_cost gt_stats_cost(const struct gt_job *job)
{
	return (struct gt_stats_cost){
		.processes = job->count,
		.added = sum_of(job, GT_LEDGER_COST_ADDED),
		.own = sum_of(job, GT_LEDGER_COST_OWN),
		.elapsed = sum_of(job, GT_LEDGER_COST_ELAPSED),
		.process = sum_of(job, GT_LEDGER_COST_PROCESS),
		.threads = sum_of(job, GT_LEDGER_COST_THREADS),
	};
}

bool gt_stats_cost_text(const struct gt_stats_cost *cost, char *ret_text, size_t size)
{
	const struct gt_cost_sums sums = {
		.added = cost->added,
		.own = cost->own,
		.process = cost->process,
		.elapsed = cost->elapsed,
		.threads = cost->threads,
	};
	struct gt_cost_shares shares = gt_cost_shares_of(&sums);

	if (!cost->elapsed)
		return false;
	snprintf(ret_text, size,
		 "%.2f %% of the %s time (%.2f %% of the launching threads' time, %.2f %% of a "
		 "core for writing)",
		 percent(shares.overhead), cost->processes > 1 ? "processes'" : "process's",
		 percent(shares.threads), percent(shares.writing));
	return true;
}
