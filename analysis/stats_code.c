/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether lines of code can be known (see stats.h). Pure over constant models.
 */
#include "analysis/stats.h"

bool gt_stats_has_code(const struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		const struct gt_model *model = &job->models[i];

		if (model->stacks.count)
			return true;
		for (size_t t = 0; t < model->threads.count; t++)
			if (model->threads.at[t].range[GT_RANGE_PYTHON].count)
				return true;
	}
	return false;
}
