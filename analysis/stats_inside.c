/* SPDX-License-Identifier: Apache-2.0
 *
 * See stats_inside.h. There are far fewer stacks than operations: the time is summed by stack
 * first.
 */
#include "analysis/stats_inside.h"

#include <errno.h>
#include <stdlib.h>

#define KEY_TEXT  16384

/* Number of struct gt_group's tag that tells the last stack which was added. */
#define TAG_STACK 1

bool gt_stats_has_inside(enum gt_key key)
{
	return key == GT_KEY_LINE || key == GT_KEY_FUNCTION || key == GT_KEY_MODULE;
}

static bool add(struct gt_groups *groups, const char *name, int64_t time, int64_t stack)
{
	struct gt_group *group = gt_groups_get(groups, name);

	if (!group)
		return false;
	if (stack && group->tag[TAG_STACK] == stack) /* recursion */
		return true;
	group->tag[TAG_STACK] = stack;
	group->tag[GT_TAG_INSIDE] += time;
	return true;
}

/* @number: of the stack among those of all files, from 1 on. */
static bool add_stack(const struct gt_model *model, uint32_t stack, enum gt_key key, int64_t time,
		      int64_t number, struct gt_groups *groups)
{
	const struct gt_frames *frames = &model->stacks.at[stack];
	const char *launching = gt_key_launching(model, stack);
	char text[KEY_TEXT];

	for (uint32_t i = 0; i < frames->count; i++)
		if (gt_key_of_frame(gt_model_name(model, frames->frame[i]), launching, key, text,
				    sizeof(text)) &&
		    !add(groups, text, time, number))
			return false;
	return true;
}

/* Time by stack; of operations without one at once, under the name that they have. */
static bool sum_stacks(const struct gt_model *model, const struct gt_filter *filter,
		       enum gt_key key, int64_t *times, struct gt_groups *groups)
{
	char text[KEY_TEXT];

	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = &model->ops.at[i];

		if (!gt_filter_op(filter, model, op))
			continue;
		if (op->stack < model->stacks.count && model->stacks.at[op->stack].count) {
			times[op->stack] += op->dur;
			continue;
		}
		gt_key_of_op(model, op, key, text, sizeof(text));
		if (!add(groups, text, op->dur, 0))
			return false;
	}
	return true;
}

static int add_model(const struct gt_model *model, const struct gt_filter *filter, enum gt_key key,
		     int64_t *number, struct gt_groups *groups)
{
	int64_t *times = calloc(model->stacks.count + 1, sizeof(*times));
	bool ok = times && sum_stacks(model, filter, key, times, groups);

	for (uint32_t i = 0; ok && i < model->stacks.count; i++)
		if (times[i])
			ok = add_stack(model, i, key, times[i], ++*number, groups);
	free(times);
	return ok ? 0 : -ENOMEM;
}

int gt_stats_inside(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		    struct gt_groups *groups)
{
	int64_t number = 0;
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++)
		rc = add_model(&job->models[f], filter, key, &number, groups);
	return rc;
}
