/* SPDX-License-Identifier: Apache-2.0
 *
 * What PyTorch's backward pass launched without a line of the user's, and why none is known (see
 * stats.h). Pure over constant models.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stats.h"
#include "trace/user_code.h"

#define ENGINE      "autograd::engine::evaluate_function: "
#define NODE_WITHIN 4 /* operators from the engine's range on, of which one is its node */

/* The numbers of the forward operators, and which of them launched something: bits by number. */
struct numbers {
	uint8_t *seen, *launched;
	size_t count;
};

static bool is_engine(const struct gt_model *model, uint32_t thread)
{
	return !strncmp(gt_model_name(model, model->threads.at[thread].name), "pt_autograd_", 12);
}

/* Whether PyTorch's engine launched it, and no line of the user's is known. */
static bool is_lost(const struct gt_model *model, const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	uint8_t rank;

	if (!call || !is_engine(model, call->thread))
		return false;
	gt_user_code_launching(model, op->stack, &rank);
	return !(rank & GT_FRAME_USER);
}

/* The number of the innermost operator around a call that has one; 0: none. */
static int32_t number_around(const struct gt_model *model, const struct gt_call *call)
{
	uint32_t at = gt_model_range_at(model, call->thread, GT_RANGE_OP, call->start);

	while (at != GT_NONE && !model->ranges.at[at].sequence)
		at = gt_model_range_around(model, at, call->start);
	return at == GT_NONE ? 0 : model->ranges.at[at].sequence;
}

static int take_numbers(const struct gt_model *model, struct numbers *ret_numbers)
{
	*ret_numbers = (struct numbers){0};
	for (size_t i = 0; i < model->ranges.count; i++)
		if (model->ranges.at[i].sequence > (int64_t)ret_numbers->count)
			ret_numbers->count = (size_t)model->ranges.at[i].sequence;
	ret_numbers->seen = calloc(2, ret_numbers->count / 8 + 1);
	if (!ret_numbers->seen)
		return -ENOMEM;
	ret_numbers->launched = ret_numbers->seen + ret_numbers->count / 8 + 1;
	for (size_t i = 0; i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (range->sequence > 0 && !is_engine(model, range->thread))
			ret_numbers->seen[range->sequence / 8] |=
				(uint8_t)(1 << range->sequence % 8);
	}
	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_call *call = gt_model_call_of(model, gt_model_op_at(model, i));
		int32_t number =
			call && !is_engine(model, call->thread) ? number_around(model, call) : 0;

		if (number > 0)
			ret_numbers->launched[number / 8] |= (uint8_t)(1 << number % 8);
	}
	return 0;
}

/* The range of the engine around a call: the outermost one. */
static uint32_t node_around(const struct gt_model *model, const struct gt_call *call)
{
	uint32_t found = GT_NONE;

	for (uint32_t at = gt_model_range_at(model, call->thread, GT_RANGE_OP, call->start);
	     at != GT_NONE; at = gt_model_range_around(model, at, call->start))
		if (!strncmp(gt_model_name(model, model->ranges.at[at].name), ENGINE,
			     sizeof(ENGINE) - 1))
			found = at;
	return found;
}

/* Also of what the engine does behind its node. */
static int32_t number_of(const struct gt_model *model, uint32_t node)
{
	const struct gt_model_range *around = &model->ranges.at[node];

	for (uint32_t i = node + 1; i < model->ranges.count && i < node + NODE_WITHIN; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (range->thread != around->thread || range->kind != GT_RANGE_OP ||
		    range->start >= around->start + around->dur)
			return 0;
		if (range->sequence)
			return abs(range->sequence);
	}
	return 0;
}

/* Where the time of a lost one belongs. */
static int64_t *cause_of(const struct gt_model *model, const struct numbers *numbers,
			 const struct gt_op *op, struct gt_stats_backward *sum)
{
	uint32_t node = node_around(model, gt_model_call_of(model, op));
	int32_t number;

	if (node == GT_NONE)
		return &sum->unknown;
	if (strstr(gt_model_name(model, model->ranges.at[node].name), "AccumulateGrad"))
		return &sum->accumulated;
	number = number_of(model, node);
	if (number > 0 && (size_t)number <= numbers->count &&
	    numbers->seen[number / 8] >> number % 8 & 1 &&
	    !(numbers->launched[number / 8] >> number % 8 & 1))
		return &sum->silent;
	return &sum->unknown;
}

static int add_model(const struct gt_model *model, const struct gt_filter *filter,
		     struct gt_stats_backward *sum)
{
	struct numbers numbers = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);

		if (!gt_filter_op(filter, model, op))
			continue;
		sum->all += op->dur;
		if (!is_lost(model, op))
			continue;
		if (!numbers.seen)
			rc = take_numbers(model, &numbers);
		if (!rc)
			*cause_of(model, &numbers, op, sum) += op->dur;
	}
	free(numbers.seen);
	return rc;
}

int gt_stats_backward(const struct gt_job *job, const struct gt_filter *filter,
		      struct gt_stats_backward *ret_sum)
{
	int rc = 0;

	*ret_sum = (struct gt_stats_backward){0};
	for (size_t f = 0; !rc && f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		ret_sum->is_tied |= model->forwards.count > 0;
		if (model->ranks)
			rc = add_model(model, filter, ret_sum);
	}
	return rc;
}
