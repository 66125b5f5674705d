/* SPDX-License-Identifier: Apache-2.0
 *
 * See before.h.
 */
#include "analysis/gaps/before.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gaps/place.h"

#define PLACE 2048

static bool has_stack(const struct gt_model *model, const struct gt_call *call)
{
	return call->stack < model->stacks.count && model->stacks.at[call->stack].count;
}

const char *gt_gaps_before_place(const struct gt_gap *gap)
{
	static const enum gt_range_kind kinds[] = {GT_RANGE_PYTHON, GT_RANGE_OP};
	const struct gt_model *model = gap->model;
	const struct gt_call *call = gt_model_call_of(model, gt_model_op_at(model, gap->before));
	const char *place = "";

	if (call && has_stack(model, call))
		place = gt_gaps_stack(gap->texts, model, call->stack);
	for (size_t k = 0; call && !*place && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		uint32_t range = gt_model_range_at(model, call->thread, kinds[k], call->start);

		if (range != GT_NONE)
			place = gt_model_name(model, model->ranges.at[range].name);
	}
	return *place ? place
		      : gt_gaps_name(gap->texts, model,
				     gt_model_op_traits(model, gap->before)->name);
}

int gt_gaps_before_find(struct gt_gaps_before *before, const char *key, const char *place,
			struct gt_gaps_numbers *ret_numbers)
{
	struct gt_group *of = gt_groups_get(&before->keys, key), *launch = NULL;
	char cut[PLACE];

	if (!of)
		return -ENOMEM;
	*ret_numbers = (struct gt_gaps_numbers){.key = (size_t)(of - before->keys.list.at)};
	snprintf(cut, sizeof(cut), "%s", place);
	if (!*cut)
		return 0;
	launch = gt_pair_get(&before->launches, key, cut);
	if (!launch)
		return -ENOMEM;
	ret_numbers->launch = (size_t)(launch - before->launches.list.at) + 1;
	return 0;
}

void gt_gaps_before_add(struct gt_gaps_before *before, const struct gt_gaps_numbers *numbers,
			int64_t ns)
{
	before->keys.list.at[numbers->key].tag[0] += ns;
	if (numbers->launch)
		before->launches.list.at[numbers->launch - 1].tag[0] += ns;
}

int gt_gaps_before_choose(struct gt_gaps_before *before)
{
	const struct gt_group *launches = before->launches.list.at;

	for (size_t i = 0; i < before->launches.list.count; i++) {
		struct gt_group *of = gt_pair_first(&before->keys,
						    gt_group_name(&before->launches, &launches[i]));

		if (!of)
			return -ENOMEM;
		if (!of->tag[1] || launches[i].tag[0] > launches[of->tag[1] - 1].tag[0])
			of->tag[1] = (int64_t)i + 1;
	}
	return 0;
}

struct gt_gaps_launch gt_gaps_before_of(struct gt_gaps_before *before, const char *key)
{
	const struct gt_group *of = gt_groups_get(&before->keys, key), *most;

	if (!of || !of->tag[1])
		return (struct gt_gaps_launch){0};
	most = &before->launches.list.at[of->tag[1] - 1];
	return (struct gt_gaps_launch){
		.place = gt_pair_second(gt_group_name(&before->launches, most)),
		.ns = most->tag[0],
		.of = of->tag[0],
	};
}
