/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether lines of code can be known (see stats.h). Pure over constant models.
 */
#include "analysis/stats.h"

#include <string.h>

#include "trace/user_code.h"

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

/* Whether PyTorch's engine launched it, and no line of the user's is known. */
static bool is_lost_backward(const struct gt_model *model, const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	uint8_t rank;

	if (!call || strncmp(gt_model_name(model, model->threads.at[call->thread].name),
			     "pt_autograd_", 12) != 0)
		return false;
	gt_user_code_launching(model, op->stack, &rank);
	return !(rank & GT_FRAME_USER);
}

struct gt_stats_backward gt_stats_backward(const struct gt_job *job, const struct gt_filter *filter)
{
	struct gt_stats_backward sum = {0};

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		sum.is_tied |= model->forwards.count > 0;
		for (size_t i = 0; model->ranks && i < model->ops.count; i++) {
			const struct gt_op *op = &model->ops.at[i];

			if (!gt_filter_op(filter, model, op))
				continue;
			sum.all += op->dur;
			sum.time += is_lost_backward(model, op) ? op->dur : 0;
		}
	}
	return sum;
}
