/* SPDX-License-Identifier: Apache-2.0
 *
 * What tracing cost, as its ledgers tell (see stats.h). Pure over constant models.
 */
#include "analysis/stats.h"

#include <stdio.h>

#include "core/schema/ledger.h"

static double count_of(const struct gt_model *model, enum gt_ledger_key key)
{
	int64_t count = 0;

	gt_header_int(&model->reading.header, "ledger", gt_ledger_rows[key].json, &count);
	return (double)count;
}

/* As pipeline/sources/cost.c defines it; negative: the trace does not tell. */
static double overhead_of(const struct gt_model *model)
{
	double elapsed = count_of(model, GT_LEDGER_COST_ELAPSED);
	double tracer = count_of(model, GT_LEDGER_COST_ADDED) + count_of(model, GT_LEDGER_COST_OWN);
	double program = count_of(model, GT_LEDGER_COST_PROCESS) - tracer;

	if (elapsed <= 0)
		return -1;
	return tracer / (program > elapsed ? program : elapsed);
}

static double percent(double part, double whole)
{
	return whole > 0 ? part * 100 / whole : 0;
}

bool gt_stats_cost(const struct gt_job *job, char *ret_text, size_t size)
{
	const struct gt_model *most = NULL;

	for (size_t i = 0; i < job->count; i++)
		if (overhead_of(&job->models[i]) >= 0 &&
		    (!most || overhead_of(&job->models[i]) > overhead_of(most)))
			most = &job->models[i];
	if (!most)
		return false;
	snprintf(ret_text, size,
		 "%.2f %% of the process's time (%.2f %% of the launching threads' time, %.2f %% "
		 "of a "
		 "core for writing)",
		 overhead_of(most) * 100,
		 percent(count_of(most, GT_LEDGER_COST_ADDED),
			 count_of(most, GT_LEDGER_COST_THREADS)),
		 percent(count_of(most, GT_LEDGER_COST_OWN),
			 count_of(most, GT_LEDGER_COST_ELAPSED)));
	return true;
}
