/* SPDX-License-Identifier: Apache-2.0
 *
 * See filter_nvtx.h.
 */
#include "analysis/filter_nvtx.h"

#include <fnmatch.h>
#include <stdlib.h>

void gt_filter_seen_fini(struct gt_filter_seen *seen)
{
	gt_keymap_fini(&seen->names);
	free(seen->ends);
	*seen = (struct gt_filter_seen){0};
}

static struct gt_filter_seen *seen_of(const struct gt_filter_term *term,
				      const struct gt_model *model)
{
	if (term->seen->model != model)
		gt_filter_seen_fini(term->seen);
	term->seen->model = model;
	return term->seen;
}

struct gt_keymap_entry *gt_filter_seen_of(const struct gt_filter_term *term,
					  const struct gt_model *model, uint64_t key)
{
	return gt_keymap_get(&seen_of(term, model)->names, key);
}

static bool fits(const char *glob, const struct gt_model *model, const struct gt_model_range *range)
{
	char name[8192];

	if (!fnmatch(glob, gt_model_name(model, range->name), 0))
		return true;
	gt_key_of_range(model, range, name, sizeof(name));
	return range->domain != GT_NAME_NONE && !fnmatch(glob, name, 0);
}

bool gt_filter_is_nvtx(const struct gt_filter_term *term, const struct gt_model *model,
		       const struct gt_model_range *range)
{
	uint64_t key = ((uint64_t)range->domain << 32 | range->name) + 1;
	struct gt_keymap_entry *entry = gt_filter_seen_of(term, model, key);

	if (!entry)
		return fits(term->glob, model, range);
	if (!entry->value)
		entry->value = fits(term->glob, model, range) ? 1 : -1;
	return entry->value > 0;
}

/* For each range, the latest end of the ranges that fit in its row, up to it. The ranges of a row
 * are consecutive, in the order of their start. */
static const int64_t *ends_of(const struct gt_filter_term *term, const struct gt_model *model)
{
	struct gt_filter_seen *seen = seen_of(term, model);
	int64_t last = INT64_MIN;

	if (seen->ends)
		return seen->ends;
	seen->ends = malloc((model->ranges.count + 1) * sizeof(*seen->ends));
	for (uint32_t i = 0; seen->ends && i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (i == model->threads.at[range->thread].range[range->kind].first)
			last = INT64_MIN;
		if (range->kind == GT_RANGE_NVTX && range->start + range->dur > last &&
		    gt_filter_is_nvtx(term, model, range))
			last = range->start + range->dur;
		seen->ends[i] = last;
	}
	return seen->ends;
}

/* Without memory for what is known of all ranges. */
static bool is_in_one(const struct gt_filter_term *term, const struct gt_model *model, uint32_t row,
		      int64_t from, int64_t until)
{
	uint32_t i = gt_model_range_at(model, row, GT_RANGE_NVTX, from);

	for (; i != GT_NONE; i = gt_model_range_around(model, i, from)) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (range->start + range->dur >= until && gt_filter_is_nvtx(term, model, range))
			return true;
	}
	return false;
}

/* One look-up, however many ranges are open. */
static bool in_range_of(const struct gt_filter_term *term, const struct gt_model *model,
			uint32_t row, int64_t from, int64_t until)
{
	const int64_t *ends = ends_of(term, model);
	uint32_t last = gt_model_last_range(model, row, GT_RANGE_NVTX, from);

	if (!ends)
		return is_in_one(term, model, row, from, until);
	return last != GT_NONE && ends[last] > from && ends[last] >= until;
}

bool gt_filter_in_nvtx(const struct gt_filter_term *term, const struct gt_model *model,
		       uint32_t thread, int64_t from, int64_t until)
{
	uint32_t row = model->threads.at[thread].owner;

	for (; row != GT_NONE; row = model->threads.at[row].beside)
		if (in_range_of(term, model, row, from, until))
			return true;
	return false;
}
