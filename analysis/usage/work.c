/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "analysis/usage/work.h"

/* Numbers of calls that have none of their own. */
#define OPERATOR (UINT64_C(1) << 63)
#define NAMELESS (UINT64_C(1) << 62)

static int compare(const struct gt_model_work *work, int64_t at, uint32_t thread)
{
	if (work->thread != thread)
		return work->thread < thread ? -1 : 1;
	return (work->at > at) - (work->at < at);
}

/* Index of the first one of @count at or behind that place. */
static size_t lower(const struct gt_model_work *all, size_t count, int64_t at, uint32_t thread)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (compare(&all[middle], at, thread) < 0)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

static const struct gt_model_work *work_of_operator(const struct gt_model *model,
						    const struct gt_op *op)
{
	const struct gt_call *call = op->call == GT_NONE ? NULL : gt_model_call_at(model, op->call);
	const struct gt_model_range *range;
	uint32_t number;

	if (!call || !model->op_work.count)
		return NULL;
	number = gt_model_range_at(model, call->thread, GT_RANGE_OP, call->start);
	if (number == GT_NONE)
		return NULL;
	range = &model->ranges.at[number];
	for (size_t i = lower(model->op_work.at, model->op_work.count, range->start, range->thread);
	     i < model->op_work.count; i++) {
		const struct gt_model_work *work = &model->op_work.at[i];

		if (compare(work, range->start, range->thread))
			return NULL;
		if (work->dur == range->dur && work->name == range->name)
			return work;
	}
	return NULL;
}

const struct gt_model_work *gt_work_of_op(const struct gt_model *model, const struct gt_op *op)
{
	size_t count = model->library_work.count, i;

	if (op->kind != GT_OP_KERNEL)
		return NULL;
	i = op->correlation < 0 ? count
				: lower(model->library_work.at, count, op->correlation, GT_NONE);
	if (i < count && model->library_work.at[i].at == op->correlation)
		return &model->library_work.at[i];
	return work_of_operator(model, op);
}

uint64_t gt_work_call(const struct gt_model *model, const struct gt_model_work *work)
{
	if (work->thread != GT_NONE)
		return OPERATOR | (uint64_t)(work - model->op_work.at);
	return work->number ? work->number : NAMELESS | (uint64_t)(work - model->library_work.at);
}
