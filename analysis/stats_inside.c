/* SPDX-License-Identifier: Apache-2.0
 *
 * See stats_inside.h. There are far fewer stacks than operations: the time is summed by stack
 * first. Where Python functions stand for stacks, each takes what was launched while it was open.
 */
#include "analysis/stats_inside.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/user_code.h"

#define KEY_TEXT  16384

/* Number of struct gt_group's tag that tells the last stack which was added. */
#define TAG_STACK 1
/* Of a Python function: the row of its last range, and up to when it was open there. */
#define TAG_ROW   2
#define TAG_UNTIL 3

bool gt_stats_has_inside(enum gt_key key)
{
	return key == GT_KEY_LINE || key == GT_KEY_FUNCTION || key == GT_KEY_MODULE;
}

/* An operation without a stack: when its thread asked for it, and the time of all up to it. */
struct inside_launch {
	uint32_t thread;
	int64_t at, time;
};

/* What is summed for one model. */
struct inside {
	const struct gt_model *model;
	enum gt_key key;
	struct gt_groups *groups;
	int64_t *times;                        /* by stack */
	GT_VEC(struct inside_launch) launches; /* by thread, then time */
	uint32_t *group_of; /* by name of a Python function: its group's place + 1; 0: not looked up
			       yet, or it has no text */
	int64_t *number;    /* of the stack, row or operation in hand, among those of all files */
};

/* Once for each number: recursion counts once. */
static bool add(struct gt_groups *groups, const char *name, int64_t time, int64_t number)
{
	struct gt_group *group = gt_groups_get(groups, name);

	if (!group)
		return false;
	if (group->tag[TAG_STACK] == number)
		return true;
	group->tag[TAG_STACK] = number;
	group->tag[GT_TAG_INSIDE] += time;
	return true;
}

/* The group of a launching frame is the user's, or a library's where its stacks have no other. */
static bool mark_frame(const struct inside *in, uint32_t launching)
{
	char text[KEY_TEXT];
	struct gt_group *group;

	if (launching == GT_NAME_NONE)
		return true;
	gt_key_of_frame(in->model, launching, true, in->key, text, sizeof(text));
	group = gt_groups_get(in->groups, text);
	if (!group)
		return false;
	group->tag[GT_TAG_FRAME] |= gt_user_code_rank_of(in->model, launching) & GT_FRAME_USER
					    ? GT_TAG_FRAME_USER
					    : GT_TAG_FRAME_LIBRARY;
	return true;
}

static bool add_stack(const struct inside *in, uint32_t stack)
{
	const struct gt_frames *frames = &in->model->stacks.at[stack];
	uint32_t launching = gt_key_launching(in->model, stack);
	int64_t number = ++*in->number;
	char text[KEY_TEXT];

	for (uint32_t i = 0; i < frames->count; i++)
		if (gt_key_of_frame(in->model, frames->frame[i], frames->frame[i] == launching,
				    in->key, text, sizeof(text)) &&
		    !add(in->groups, text, in->times[stack], number))
			return false;
	return mark_frame(in, launching);
}

/* A function without a line counts for what it launches itself, if no other around has one. */
static bool add_op(struct inside *in, const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(in->model, op);
	uint32_t launching;
	char text[KEY_TEXT];

	if (op->stack < in->model->stacks.count && in->model->stacks.at[op->stack].count) {
		in->times[op->stack] += op->dur;
		return true;
	}
	launching = call ? gt_key_launching_range(in->model, call) : GT_NAME_NONE;
	if (launching == GT_NAME_NONE)
		return add(in->groups, GT_KEY_UNKNOWN, op->dur, ++*in->number);
	if (!mark_frame(in, launching))
		return false;
	if (gt_key_of_frame(in->model, launching, false, in->key, text, sizeof(text)))
		return gt_vec_push(&in->launches,
				   ((struct inside_launch){call->thread, call->start, op->dur}));
	gt_key_of_frame(in->model, launching, true, in->key, text, sizeof(text));
	return add(in->groups, text, op->dur, ++*in->number);
}

static int by_time(const void *a, const void *b)
{
	const struct inside_launch *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void sum_launches(struct inside *in)
{
	int64_t sum = 0;

	if (in->launches.count)
		qsort(in->launches.at, in->launches.count, sizeof(in->launches.at[0]), by_time);
	for (size_t i = 0; i < in->launches.count; i++)
		sum = in->launches.at[i].time += sum;
}

/* Time of all operations of earlier threads, and of this one up to @t. */
static int64_t time_before(const struct inside *in, uint32_t thread, int64_t t)
{
	const struct inside_launch wanted = {.thread = thread, .at = t};
	size_t low = 0, high = in->launches.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_time(&in->launches.at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? in->launches.at[low - 1].time : 0;
}

/* NULL: memory is out, or, with *@ret_is_nameless, there is none. */
static struct gt_group *group_of(struct inside *in, uint32_t name, bool *ret_is_nameless)
{
	struct gt_group *group;
	char text[KEY_TEXT];

	*ret_is_nameless = false;
	if (in->group_of[name])
		return &in->groups->list.at[in->group_of[name] - 1];
	*ret_is_nameless = !gt_key_of_frame(in->model, name, false, in->key, text, sizeof(text));
	group = *ret_is_nameless ? NULL : gt_groups_get(in->groups, text);
	if (group)
		in->group_of[name] = (uint32_t)(group - in->groups->list.at) + 1;
	return group;
}

/* What was asked for while the function was open and none of its group before it: ranges of a row
 * are in the order of their starts. */
static bool add_range(struct inside *in, const struct gt_model_range *range)
{
	uint32_t owner = in->model->threads.at[range->thread].owner;
	int64_t from = range->start, end = range->start + range->dur, time;
	struct gt_group *group;
	bool is_nameless;

	time = time_before(in, owner, end) - time_before(in, owner, from);
	if (!time)
		return true;
	group = group_of(in, range->name, &is_nameless);
	if (!group)
		return is_nameless;
	if (group->tag[TAG_ROW] == *in->number && group->tag[TAG_UNTIL] > from)
		from = group->tag[TAG_UNTIL];
	if (from >= end)
		return true;
	group->tag[TAG_ROW] = *in->number;
	group->tag[TAG_UNTIL] = end;
	group->tag[GT_TAG_INSIDE] += time_before(in, owner, end) - time_before(in, owner, from);
	return true;
}

static bool add_ranges(struct inside *in)
{
	const struct gt_model *model = in->model;
	bool ok = true;

	for (size_t t = 0; ok && in->launches.count && t < model->threads.count; t++) {
		const struct gt_thread_track *track = &model->threads.at[t];
		uint32_t first = track->range[GT_RANGE_PYTHON].first;

		++*in->number;
		for (uint32_t i = 0; ok && i < track->range[GT_RANGE_PYTHON].count; i++)
			ok = add_range(in, &model->ranges.at[first + i]);
	}
	return ok;
}

static int add_model(struct inside *in, const struct gt_filter *filter)
{
	const struct gt_model *model = in->model;
	bool ok = true;

	in->times = calloc(model->stacks.count + 1, sizeof(*in->times));
	in->group_of = calloc(model->names.text.count + 1, sizeof(*in->group_of));
	ok = in->times && in->group_of;
	for (size_t i = 0; ok && i < model->ops.count; i++)
		if (gt_filter_op(filter, model, gt_model_op_at(model, i)))
			ok = add_op(in, gt_model_op_at(model, i));
	for (uint32_t i = 0; ok && i < model->stacks.count; i++)
		if (in->times[i])
			ok = add_stack(in, i);
	sum_launches(in);
	ok = ok && add_ranges(in);
	gt_vec_free(&in->launches);
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

		groups->trace = gt_job_order(job, f);
		rc = add_model(&in, filter);
	}
	return rc;
}
