/* SPDX-License-Identifier: Apache-2.0
 *
 * See sides.h. One thread.
 */
#include "analysis/diff/sides.h"

#include <errno.h>
#include <stdlib.h>

/* The steps of a rank, by time. */
static int number_steps(struct gt_diff_rank *rank)
{
	const struct gt_model *model = rank->model;

	rank->unit_of_range = calloc(model->ranges.count + 1, sizeof(uint32_t));
	if (!rank->unit_of_range)
		return -ENOMEM;
	for (size_t i = 0; i < model->steps.count; i++) {
		uint32_t range = model->steps.at[i].range;

		if (range != GT_NONE && !rank->unit_of_range[range])
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

	for (size_t i = 0; i < model->ops.count; i++)
		widen(rank->ops, model->ops.at[i].start, !i);
	for (size_t i = 0; i < model->calls.count; i++)
		widen(rank->calls, model->calls.at[i].start, !i);
	rank->units = (on_gpu ? model->ops.count : model->calls.count) ? GT_DIFF_BLOCKS : 0;
}

static int add_ranks(struct gt_diff_side *side, const struct gt_job *runs, size_t count)
{
	side->runs = count;
	for (size_t r = 0; r < count; r++)
		for (size_t f = 0; f < runs[r].count; f++) {
			struct gt_diff_rank rank = {.model = &runs[r].models[f],
						    .run = (uint32_t)r};

			side->op_count += rank.model->ops.count;
			if (!gt_vec_push(&side->ranks, rank))
				return -ENOMEM;
			if (number_steps(&side->ranks.at[side->ranks.count - 1]))
				return -ENOMEM;
		}
	return 0;
}

static bool has_steps(const struct gt_diff_side *side)
{
	for (size_t i = 0; i < side->ranks.count; i++)
		if (side->ranks.at[i].units)
			return true;
	return false;
}

static void name_units(struct gt_diff_side *side, const struct gt_diff_rank *rank)
{
	const struct gt_model *model = rank->model;

	for (size_t i = 0; i < model->steps.count; i++) {
		uint32_t range = model->steps.at[i].range;
		struct gt_unit *unit;

		if (range == GT_NONE)
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

int gt_diff_sides_make(struct gt_diff_sides *ret_sides, const struct gt_job *const runs[2],
		       const size_t counts[2])
{
	struct gt_diff_sides *sides = ret_sides;
	int rc = 0;

	*sides = (struct gt_diff_sides){0};
	for (int s = 0; !rc && s < 2; s++) {
		rc = add_ranks(&sides->side[s], runs[s], counts[s]);
		sides->has_steps[s] = has_steps(&sides->side[s]);
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
		for (size_t i = 0; i < sides->side[s].ranks.count; i++)
			free(sides->side[s].ranks.at[i].unit_of_range);
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

int64_t gt_diff_unit_at(const struct gt_diff_sides *sides, const struct gt_diff_rank *rank,
			bool is_call, int64_t t)
{
	uint32_t range;

	if (!rank->units)
		return -1;
	if (!sides->stepped)
		return rank->first + block_of(is_call ? rank->calls : rank->ops, t);
	range = gt_model_step_at(rank->model, t);
	return range == GT_NONE ? -1 : (int64_t)rank->first + rank->unit_of_range[range] - 1;
}
