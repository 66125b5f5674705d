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

/* What is summed for one model. */
struct inside {
	const struct gt_model *model;
	enum gt_key key;
	struct gt_groups *groups;
	int64_t *times;     /* by stack */
	uint32_t *group_of; /* by name of a Python function: its group's place + 1; 0: not looked up
			       yet, or it has no text of its own */
	int64_t *number;    /* of the stack or operation in hand, among those of all files */
};

/* Once for each number: recursion counts once. */
static void add_to(struct gt_group *group, int64_t time, int64_t number)
{
	if (group->tag[TAG_STACK] == number)
		return;
	group->tag[TAG_STACK] = number;
	group->tag[GT_TAG_INSIDE] += time;
}

static bool add(struct gt_groups *groups, const char *name, int64_t time, int64_t number)
{
	struct gt_group *group = gt_groups_get(groups, name);

	if (group)
		add_to(group, time, number);
	return group;
}

static bool add_stack(const struct inside *in, uint32_t stack)
{
	const struct gt_frames *frames = &in->model->stacks.at[stack];
	const char *launching = gt_key_launching(in->model, stack);
	int64_t number = ++*in->number;
	char text[KEY_TEXT];

	for (uint32_t i = 0; i < frames->count; i++)
		if (gt_key_of_frame(gt_model_name(in->model, frames->frame[i]), launching, in->key,
				    text, sizeof(text)) &&
		    !add(in->groups, text, in->times[stack], number))
			return false;
	return true;
}

/* A Python function around an operation. */
static bool add_range(const struct inside *in, uint32_t range, const char *launching, int64_t time)
{
	uint32_t name = in->model->ranges.at[range].name;
	const char *function = gt_model_name(in->model, name);
	struct gt_group *group;
	char text[KEY_TEXT];

	if (!in->group_of[name]) {
		if (!gt_key_of_frame(function, launching, in->key, text, sizeof(text)))
			return true;
		group = gt_groups_get(in->groups, text);
		if (!group)
			return false;
		add_to(group, time, *in->number);
		if (gt_key_of_frame(function, NULL, in->key, text, sizeof(text)))
			in->group_of[name] = (uint32_t)(group - in->groups->list.at) + 1;
		return true;
	}
	add_to(&in->groups->list.at[in->group_of[name] - 1], time, *in->number);
	return true;
}

/* All Python functions that are open when the operation is asked for. */
static bool add_ranges(const struct inside *in, const struct gt_call *call, const char *launching,
		       int64_t time)
{
	++*in->number;
	for (uint32_t row = call->thread; row != GT_NONE; row = in->model->threads.at[row].beside) {
		uint32_t range = gt_model_range_at(in->model, row, GT_RANGE_PYTHON, call->start);

		for (; range != GT_NONE;
		     range = gt_model_range_around(in->model, range, call->start))
			if (!add_range(in, range, launching, time))
				return false;
	}
	return true;
}

static bool add_op(const struct inside *in, const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(in->model, op);
	const char *launching;

	if (op->stack < in->model->stacks.count && in->model->stacks.at[op->stack].count) {
		in->times[op->stack] += op->dur;
		return true;
	}
	launching = call ? gt_key_launching_range(in->model, call) : NULL;
	if (launching)
		return add_ranges(in, call, launching, op->dur);
	return add(in->groups, GT_KEY_UNKNOWN, op->dur, ++*in->number);
}

static int add_model(struct inside *in, const struct gt_filter *filter)
{
	const struct gt_model *model = in->model;
	bool ok = true;

	in->times = calloc(model->stacks.count + 1, sizeof(*in->times));
	in->group_of = calloc(model->names.text.count + 1, sizeof(*in->group_of));
	ok = in->times && in->group_of;
	for (size_t i = 0; ok && i < model->ops.count; i++)
		if (gt_filter_op(filter, model, &model->ops.at[i]))
			ok = add_op(in, &model->ops.at[i]);
	for (uint32_t i = 0; ok && i < model->stacks.count; i++)
		if (in->times[i])
			ok = add_stack(in, i);
	free(in->times);
	free(in->group_of);
	return ok ? 0 : -ENOMEM;
}

int gt_stats_inside(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		    struct gt_groups *groups)
{
	int64_t number = 0;
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		struct inside in = {
			.model = &job->models[f], .key = key, .groups = groups, .number = &number};

		rc = add_model(&in, filter);
	}
	return rc;
}
