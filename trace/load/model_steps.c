/* SPDX-License-Identifier: Apache-2.0
 *
 * Which training step is open at which time: steps of many threads may overlap. One thread while
 * loading, then any.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/load/model_build.h"

/* Steps that may be open at the time in hand, as a heap; the first is the one that counts. */
struct open_steps {
	const struct gt_model *model;
	uint32_t *at;
	size_t count;
};

static int64_t end_of(const struct gt_model *model, uint32_t range)
{
	return model->ranges.at[range].start + model->ranges.at[range].dur;
}

/* Of several threads the first counts, of one thread's the innermost. */
static bool comes_first(const struct gt_model *model, uint32_t a, uint32_t b)
{
	uint32_t x = model->ranges.at[a].thread, y = model->ranges.at[b].thread;

	return x != y ? x < y : a > b;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t was = *a;

	*a = *b;
	*b = was;
}

static void push(struct open_steps *open, uint32_t range)
{
	size_t i = open->count++;

	open->at[i] = range;
	for (; i && comes_first(open->model, open->at[i], open->at[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&open->at[i], &open->at[(i - 1) / 2]);
}

static void pop(struct open_steps *open)
{
	size_t i = 0, child;

	open->at[0] = open->at[--open->count];
	while ((child = 2 * i + 1) < open->count) {
		if (child + 1 < open->count &&
		    comes_first(open->model, open->at[child + 1], open->at[child]))
			child++;
		if (!comes_first(open->model, open->at[child], open->at[i]))
			return;
		swap(&open->at[i], &open->at[child]);
		i = child;
	}
}

struct step_bound { /* where a step begins or ends */
	int64_t at;
	uint32_t range; /* that begins, GT_NONE: one ends */
};

static int by_time(const void *a, const void *b)
{
	const struct step_bound *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->range < y->range ? -1 : x->range > y->range;
}

/* Both bounds of all steps, by time. Returns how many. */
static size_t find_bounds(const struct gt_model *model, struct step_bound *bounds)
{
	size_t count = 0;

	for (uint32_t i = 0; i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (range->dur <= 0 || !gt_model_is_step(model, range))
			continue;
		if (bounds) {
			bounds[count] = (struct step_bound){range->start, i};
			bounds[count + 1] = (struct step_bound){end_of(model, i), GT_NONE};
		}
		count += 2;
	}
	return count;
}

static int sweep(struct gt_model *model, const struct step_bound *bounds, size_t count,
		 struct open_steps *open)
{
	uint32_t last = GT_NONE;

	for (size_t i = 0; i < count; i++) {
		uint32_t first;

		if (bounds[i].range != GT_NONE)
			push(open, bounds[i].range);
		if (i + 1 < count && bounds[i + 1].at == bounds[i].at)
			continue;
		while (open->count && end_of(model, open->at[0]) <= bounds[i].at)
			pop(open);
		first = open->count ? open->at[0] : GT_NONE;
		if (first != last &&
		    !gt_vec_push(&model->steps, ((struct gt_step_from){bounds[i].at, first})))
			return -ENOMEM;
		last = first;
	}
	return 0;
}

static void take_id(struct gt_model *model, int64_t correlation)
{
	if (correlation > 0 && correlation < model->first_correlation)
		model->first_correlation = correlation;
}

int gt_build_steps(struct gt_model *model)
{
	size_t count = find_bounds(model, NULL);
	struct step_bound *bounds = malloc((count + 1) * sizeof(*bounds));
	struct open_steps open = {.model = model, .at = malloc((count + 1) * sizeof(*open.at))};
	int rc = bounds && open.at ? 0 : -ENOMEM;

	model->first_correlation = INT64_MAX;
	for (size_t i = 0; i < model->calls.count; i++)
		take_id(model, gt_row_number(model, model->calls.at[i].correlation_code));
	if (!rc) {
		find_bounds(model, bounds);
		qsort(bounds, count, sizeof(*bounds), by_time);
		rc = sweep(model, bounds, count, &open);
	}
	free(bounds);
	free(open.at);
	return rc;
}

uint32_t gt_model_step_of(const struct gt_model *model, const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	bool has_calls = model->first_correlation != INT64_MAX;

	if (call)
		return gt_model_step_at(model, call->start);
	if (has_calls && op->correlation > 0 && op->correlation < model->first_correlation)
		return GT_NONE;
	return gt_model_step_at(model, op->start);
}

uint32_t gt_model_step_at(const struct gt_model *model, int64_t t)
{
	size_t low = 0, high = model->steps.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->steps.at[middle].from <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? model->steps.at[low - 1].range : GT_NONE;
}
