/* SPDX-License-Identifier: Apache-2.0
 *
 * See excerpt.h. What lies between two collectives is the difference of two sums from the beginning
 * on, so nobody need know here which of them have a counterpart.
 */
#include "analysis/ranks/excerpt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/intervals.h"
#include "trace/health.h"
#include "trace/meetings.h"

/* A merged set of time, and how much of it is before each of its parts. */
struct covered {
	struct gt_intervals set;
	uint64_t *before;
};

/* What is looked up for each collective of one process. */
struct activity {
	struct covered busy, data; /* data: loaded while the GPU was idle */
	GT_VEC(int64_t) starts;    /* of operations */
};

static void end_activity(struct activity *activity)
{
	gt_intervals_fini(&activity->busy.set);
	gt_intervals_fini(&activity->data.set);
	free(activity->busy.before);
	free(activity->data.before);
	gt_vec_free(&activity->starts);
}

/* The parts of @set, which is merged, that @but does not cover. */
static int without(const struct gt_intervals *set, const struct gt_intervals *but,
		   struct gt_intervals *ret)
{
	for (size_t i = 0, j = 0; i < set->count; i++) {
		int64_t from = set->at[i].start, end = set->at[i].end;

		while (j < but->count && but->at[j].end <= from)
			j++;
		for (size_t k = j; k < but->count && but->at[k].start < end; k++) {
			if (but->at[k].start > from &&
			    !gt_intervals_add(ret, from, but->at[k].start))
				return -ENOMEM;
			from = but->at[k].end;
		}
		if (from < end && !gt_intervals_add(ret, from, end))
			return -ENOMEM;
	}
	return 0;
}

static int take_busy(const struct gt_model *model, struct activity *ret)
{
	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);

		if (op->comm || op->kind == GT_OP_GRAPH)
			continue;
		if (!gt_intervals_add(&ret->busy.set, op->start, op->start + op->dur) ||
		    !gt_vec_push(&ret->starts, op->start))
			return -ENOMEM;
	}
	gt_intervals_merge(&ret->busy.set);
	return 0;
}

static int take_data(const struct gt_model *model, struct activity *ret)
{
	struct gt_intervals data = {0};
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (range->data &&
		    !gt_intervals_add(&data, range->start, range->start + range->dur))
			rc = -ENOMEM;
	}
	gt_intervals_merge(&data);
	if (!rc)
		rc = without(&data, &ret->busy.set, &ret->data.set);
	gt_intervals_fini(&data);
	return rc;
}

static uint64_t length(const struct gt_interval *part)
{
	return (uint64_t)part->end - (uint64_t)part->start;
}

static int sum_up(struct covered *covered)
{
	uint64_t sum = 0;

	covered->before = malloc((covered->set.count + 1) * sizeof(*covered->before));
	if (!covered->before)
		return -ENOMEM;
	for (size_t i = 0; i < covered->set.count; i++) {
		covered->before[i] = sum;
		sum += length(&covered->set.at[i]);
	}
	covered->before[covered->set.count] = sum;
	return 0;
}

static int begin_activity(const struct gt_model *model, struct activity *ret)
{
	int rc = take_busy(model, ret);

	if (!rc)
		rc = take_data(model, ret);
	if (!rc)
		rc = sum_up(&ret->busy);
	return rc ? rc : sum_up(&ret->data);
}

/* How much of it is before @t. */
static uint64_t covered_until(const struct covered *covered, int64_t t)
{
	const struct gt_interval *at = covered->set.at;
	size_t low = 0, high = covered->set.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at[middle].end <= t)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == covered->set.count || at[low].start >= t)
		return covered->before[low];
	return covered->before[low] + ((uint64_t)t - (uint64_t)at[low].start);
}

/* How many operations begin before @t. */
static size_t begun(const struct activity *activity, int64_t t)
{
	size_t low = 0, high = activity->starts.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (activity->starts.at[middle] < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct gt_rank_mark mark_at(const struct activity *activity, int64_t t)
{
	return (struct gt_rank_mark){covered_until(&activity->busy, t),
				     covered_until(&activity->data, t), begun(activity, t)};
}

static uint32_t step_of(const struct gt_model *model, uint32_t number, const struct gt_op *op)
{
	uint32_t range = gt_meeting_is_mpi(model, number) ? gt_model_step_at(model, op->start)
							  : gt_key_step(model, op);

	return range == GT_NONE ? GT_NONE : model->ranges.at[range].name;
}

static int take_meetings(const struct gt_model *model, const struct gt_filter *filter,
			 const struct activity *activity, struct gt_rank_excerpt *ret)
{
	size_t count = model->ops.count + model->mpi_calls.count;

	for (size_t i = 0; i < count; i++) {
		struct gt_op op = gt_meeting_op(model, (uint32_t)i);
		struct gt_rank_meeting meeting = {.op = (uint32_t)i};
		int64_t end;

		if (!op.comm)
			continue;
		if (__builtin_add_overflow(op.start, op.dur, &end))
			end = op.start;
		meeting.came = mark_at(activity, op.start);
		meeting.left = mark_at(activity, end);
		meeting.step = step_of(model, meeting.op, &op);
		meeting.passes = gt_filter_op(filter, model, &op);
		if (!gt_vec_push(&ret->meetings, meeting))
			return -ENOMEM;
	}
	return 0;
}

static int take_steps(const struct gt_model *model, struct gt_rank_excerpt *ret)
{
	for (size_t i = 0; i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];

		if (gt_model_is_step(model, range) &&
		    !gt_vec_push(&ret->steps, ((struct gt_rank_time){range->name, range->dur})))
			return -ENOMEM;
	}
	return 0;
}

static int take_kernels(const struct gt_model *model, const struct gt_filter *filter,
			struct gt_rank_excerpt *ret)
{
	uint32_t *place = calloc(model->names.text.count + 1, sizeof(*place)); /* + 1 */
	int rc = place ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);

		if (op->kind != GT_OP_KERNEL || op->comm || !gt_filter_op(filter, model, op))
			continue;
		if (!place[op->name]) {
			if (!gt_vec_push(&ret->kernels, ((struct gt_rank_time){op->name, 0})))
				rc = -ENOMEM;
			place[op->name] = (uint32_t)ret->kernels.count;
		}
		if (!rc)
			ret->kernels.at[place[op->name] - 1].time += op->dur;
	}
	free(place);
	return rc;
}

/* A GPU that is slower because its clocks were kept down, as run --nvml recorded. */
static void take_throttled(const struct gt_model *model, struct gt_rank_excerpt *ret)
{
	for (size_t i = 0; i < model->devices.count; i++)
		for (int r = GT_HEALTH_THROTTLED_FIRST; r <= GT_HEALTH_THROTTLED_LAST; r++)
			if (gt_health_over_time(model, model->devices.at[i].device,
						(enum gt_health_reading)r)
				    .mean > 0) {
				gt_health_throttled(model, model->devices.at[i].device,
						    ret->throttled, sizeof(ret->throttled));
				return;
			}
}

static void take_gpus(const struct gt_model *model, struct gt_rank_excerpt *ret)
{
	const struct gt_header *header = &model->reading.header;
	size_t n = 0;

	for (size_t i = 0; i < header->device_count; i++) {
		const char *uuid = header->devices[i].uuid;
		bool used = false;

		for (size_t d = 0; d < model->devices.count; d++)
			used |= model->devices.at[d].device == header->devices[i].id;
		if (used && uuid && *uuid && !strchr(uuid, ' ') &&
		    n + strlen(uuid) + 2 < sizeof(ret->gpus))
			n += (size_t)snprintf(ret->gpus + n, sizeof(ret->gpus) - n, "%s%s",
					      n ? " " : "", uuid);
	}
}

static int take(const struct gt_model *model, const struct gt_filter *filter,
		struct gt_rank_excerpt *ret)
{
	struct activity activity = {0};
	int rc = begin_activity(model, &activity);

	if (!rc)
		rc = take_meetings(model, filter, &activity, ret);
	end_activity(&activity);
	if (!rc)
		rc = take_steps(model, ret);
	if (!rc)
		rc = take_kernels(model, filter, ret);
	if (!gt_header_text(&model->reading.header, "metadata", "hostname", ret->host,
			    sizeof(ret->host)))
		*ret->host = 0;
	gt_header_int(&model->reading.header, "metadata", "starts", &ret->starts);
	take_throttled(model, ret);
	take_gpus(model, ret);
	ret->network = model->network;
	return rc;
}

int gt_rank_excerpts_take(const struct gt_job *job, const struct gt_filter *filter,
			  struct gt_rank_excerpt **ret_excerpts)
{
	struct gt_rank_excerpt *excerpts = calloc(job->count + 1, sizeof(*excerpts));
	int rc = excerpts ? 0 : -ENOMEM;

	for (size_t f = 0; !rc && f < job->count; f++)
		rc = take(&job->models[f], filter, &excerpts[f]);
	*ret_excerpts = excerpts;
	return rc;
}

void gt_rank_excerpts_fini(struct gt_rank_excerpt *excerpts, size_t count)
{
	for (size_t f = 0; excerpts && f < count; f++) {
		gt_vec_free(&excerpts[f].meetings);
		gt_vec_free(&excerpts[f].steps);
		gt_vec_free(&excerpts[f].kernels);
	}
	free(excerpts);
}

const struct gt_rank_meeting *gt_rank_meeting_of(const struct gt_rank_excerpt *excerpt, uint32_t op)
{
	size_t low = 0, high = excerpt->meetings.count - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (excerpt->meetings.at[middle].op < op)
			low = middle + 1;
		else
			high = middle;
	}
	return &excerpt->meetings.at[low];
}
