/* SPDX-License-Identifier: Apache-2.0
 *
 * See sides.h. One thread.
 */
#include "analysis/diff/sides.h"

#include <errno.h>
#include <stdlib.h>

/* What of a rank passes the filter. */
static int choose(struct gt_diff_rank *rank, const struct gt_filter *filter)
{
	const struct gt_model *model = rank->model;

	if (gt_filter_calls_init(&rank->chosen, filter, model))
		return -ENOMEM;
	if (!filter->terms.count)
		return 0;
	rank->is_out = calloc(model->ops.count + 1, sizeof(*rank->is_out));
	if (!rank->is_out)
		return -ENOMEM;
	for (size_t i = 0; i < model->ops.count; i++)
		rank->is_out[i] = !gt_filter_op(filter, model, gt_model_op_at(model, i));
	return 0;
}

static uint64_t count_ops(const struct gt_diff_rank *rank)
{
	uint64_t count = 0;

	for (size_t i = 0; i < rank->model->ops.count; i++)
		count += gt_diff_counts(rank, i);
	return count;
}

/* The steps of a rank, by time. */
static int number_steps(struct gt_diff_rank *rank, const struct gt_filter *filter)
{
	const struct gt_model *model = rank->model;

	rank->unit_of_range = calloc(model->ranges.count + 1, sizeof(uint32_t));
	if (!rank->unit_of_range)
		return -ENOMEM;
	for (size_t i = 0; i < model->steps.count; i++) {
		uint32_t range = model->steps.at[i].range;

		if (range != GT_NONE && !rank->unit_of_range[range] &&
		    gt_filter_step(filter, model, &model->ranges.at[range]))
			rank->unit_of_range[range] = ++rank->units;
	}
	return 0;
}

static void widen(int64_t extent[2], int64_t t, bool first)
{
	if (first || t < extent[0])
		extent[0] = t;
	if (first || t > extent[1])
		extent[1] = t;
}

/* Only processes that used the GPU; a helper that only looked for one would halve all means. */
static void number_blocks(struct gt_diff_rank *rank, bool on_gpu)
{
	const struct gt_model *model = rank->model;

	bool has_op = false, has_call = false;

	for (size_t i = 0; i < model->ops.count; i++)
		if (gt_diff_counts(rank, i)) {
			widen(rank->ops, model->ops.at[i].start, !has_op);
			has_op = true;
		}
	for (size_t i = 0; i < model->calls.count; i++)
		if (gt_filter_call(&rank->chosen, gt_model_call_at(model, i))) {
			widen(rank->calls, model->calls.at[i].start, !has_call);
			has_call = true;
		}
	rank->units = (on_gpu ? has_op : has_call) ? GT_DIFF_BLOCKS : 0;
}

static int add_rank(struct gt_diff_side *side, const struct gt_model *model, uint32_t run,
		    const struct gt_filter *filter)
{
	struct gt_diff_rank *rank;

	if (!gt_vec_push(&side->ranks, ((struct gt_diff_rank){.model = model, .run = run})))
		return -ENOMEM;
	rank = &side->ranks.at[side->ranks.count - 1];
	if (choose(rank, filter))
		return -ENOMEM;
	side->op_count += count_ops(rank);
	return number_steps(rank, filter);
}

static int add_ranks(struct gt_diff_side *side, const struct gt_job *runs, size_t count,
		     const struct gt_filter *filter)
{
	side->runs = count;
	for (size_t r = 0; r < count; r++)
		for (size_t f = 0; f < runs[r].count; f++)
			if (add_rank(side, &runs[r].models[f], (uint32_t)r, filter))
				return -ENOMEM;
	return 0;
}

static bool has_steps(const struct gt_diff_side *side)
{
	for (size_t i = 0; i < side->ranks.count; i++)
		if (side->ranks.at[i].units)
			return true;
	return false;
}

static bool had_steps(const struct gt_diff_side *side)
{
	for (size_t i = 0; i < side->ranks.count; i++) {
		const struct gt_model *model = side->ranks.at[i].model;

		for (size_t k = 0; k < model->steps.count; k++)
			if (model->steps.at[k].range != GT_NONE)
				return true;
	}
	return false;
}

static void name_units(struct gt_diff_side *side, const struct gt_diff_rank *rank)
{
	const struct gt_model *model = rank->model;

	for (size_t i = 0; i < model->steps.count; i++) {
		uint32_t range = model->steps.at[i].range;
		struct gt_unit *unit;

		if (range == GT_NONE || !rank->unit_of_range[range])
			continue;
		unit = &side->units.at[rank->first + rank->unit_of_range[range] - 1];
		if (!unit->name)
			unit->name = gt_model_name(model, model->ranges.at[range].name);
	}
}

/* One unit for the steps of all ranks of a run that have the same place among their rank's. */
static int add_units(struct gt_diff_side *side, uint32_t run, bool stepped)
{
	uint32_t most = 0, first = (uint32_t)side->units.count;

	for (size_t i = 0; i < side->ranks.count; i++) {
		struct gt_diff_rank *rank = &side->ranks.at[i];

		if (rank->run != run)
			continue;
		rank->first = first;
		for (; most < rank->units; most++)
			if (!gt_vec_push(
				    &side->units,
				    ((struct gt_unit){.run = run, .index = most, .factor = 1})))
				return -ENOMEM;
		for (uint32_t u = 0; u < rank->units; u++)
			side->units.at[first + u].ranks++;
	}
	for (size_t i = 0; stepped && i < side->ranks.count; i++)
		if (side->ranks.at[i].run == run && side->ranks.at[i].units)
			name_units(side, &side->ranks.at[i]);
	return 0;
}

int gt_diff_sides_make(struct gt_diff_sides *ret_sides, const struct gt_diff_request *request)
{
	struct gt_diff_sides *sides = ret_sides;
	int rc = 0;

	*sides = (struct gt_diff_sides){.is_chosen = gt_filter_chooses_work(request->filter)};
	for (int s = 0; !rc && s < 2; s++) {
		rc = add_ranks(&sides->side[s], request->runs[s], request->run_count[s],
			       request->filter);
		sides->has_steps[s] = has_steps(&sides->side[s]);
		sides->lost_steps[s] =
			!sides->has_steps[s] &&
			(gt_filter_chooses_steps(request->filter) || had_steps(&sides->side[s]));
	}
	sides->stepped = sides->has_steps[0] && sides->has_steps[1];
	for (int s = 0; !rc && s < 2; s++) {
		struct gt_diff_side *side = &sides->side[s];

		for (size_t i = 0; !sides->stepped && i < side->ranks.count; i++)
			number_blocks(&side->ranks.at[i], side->op_count > 0);
		for (uint32_t r = 0; !rc && r < side->runs; r++)
			rc = add_units(side, r, sides->stepped);
		side->kept = side->units.count;
	}
	return rc;
}

void gt_diff_sides_fini(struct gt_diff_sides *sides)
{
	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < sides->side[s].ranks.count; i++) {
			struct gt_diff_rank *rank = &sides->side[s].ranks.at[i];

			free(rank->unit_of_range);
			free(rank->is_out);
			gt_filter_calls_fini(&rank->chosen);
		}
		gt_vec_free(&sides->side[s].ranks);
		gt_vec_free(&sides->side[s].units);
	}
}

static int64_t block_of(const int64_t extent[2], int64_t t)
{
	double part = ((double)t - (double)extent[0]) /
		      ((double)extent[1] - (double)extent[0] + 1) * GT_DIFF_BLOCKS;

	return part <= 0 ? 0 : part >= GT_DIFF_BLOCKS ? GT_DIFF_BLOCKS - 1 : (int64_t)part;
}

static int64_t unit_of_step(const struct gt_diff_rank *rank, uint32_t range)
{
	if (range == GT_NONE || !rank->unit_of_range[range])
		return -1;
	return (int64_t)rank->first + rank->unit_of_range[range] - 1;
}

int64_t gt_diff_unit_of_call(const struct gt_diff_sides *sides, const struct gt_diff_rank *rank,
			     const struct gt_call *call)
{
	if (!rank->units)
		return -1;
	if (!sides->stepped)
		return rank->first + block_of(rank->calls, call->start);
	return unit_of_step(rank, gt_model_step_at(rank->model, call->start));
}

int64_t gt_diff_unit_of_op(const struct gt_diff_sides *sides, const struct gt_diff_rank *rank,
			   const struct gt_op *op)
{
	if (!rank->units)
		return -1;
	if (!sides->stepped)
		return rank->first + block_of(rank->ops, op->start);
	return unit_of_step(rank, gt_model_step_of(rank->model, op));
}
