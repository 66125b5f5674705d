/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about launches: kernels shorter than theirs, a host far ahead of the GPU.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/rule.h"
#include "analysis/queue.h"

#define MOST_TINY  50 /* % of the kernels that must be tiny */
#define DEEP       10 /* operations that wait, on average, where the host is ahead */
#define BUSY       90 /* % of wall */
#define NEAR_FULL  512
#define SLOW_TIMES 10 /* medians: a launch that takes longer waits for room in the queue */

struct launches_tiny {
	struct gt_groups places;
	uint64_t count, of;
	int64_t ns;
};

static int add_kernels(const struct gt_survey *survey, struct launches_tiny *tiny)
{
	char place[8192];

	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		for (size_t i = 0; i < model->ops.count; i++) {
			const struct gt_op *op = gt_model_op_at(model, i);
			struct gt_call own;
			const struct gt_call *call = gt_survey_launch(model, op, &own);

			if (!call || !gt_filter_op(survey->filter, model, op))
				continue;
			tiny->of++;
			if (op->dur >= call->dur)
				continue;
			tiny->count++;
			tiny->ns += op->dur;
			gt_survey_place(model, call, place, sizeof(place));
			if (gt_survey_add(&tiny->places, place, 1, op->dur))
				return -ENOMEM;
		}
	}
	return 0;
}

int gt_rule_tiny_kernels(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct launches_tiny tiny = {0};
	int64_t idle = survey->launch_tiny;
	int rc = gt_groups_init(&tiny.places);
	char text[2][32];

	if (!rc)
		rc = add_kernels(survey, &tiny);
	if (!rc && !gt_rule_lacks_calls(survey, finding)) {
		gt_survey_judge(survey, idle, finding);
		if (tiny.count * 100 < tiny.of * MOST_TINY)
			finding->state = GT_FINDING_CLEAR;
		gt_rule_say(finding,
			    "%" PRIu64 " of %" PRIu64 " kernels (%s in all) are shorter than the "
			    "calls that launched them; before them the GPU was idle for %s in "
			    "launch calls.",
			    tiny.count, tiny.of,
			    gt_table_time((double)tiny.ns, text[0], sizeof(text[0])),
			    gt_table_time((double)idle, text[1], sizeof(text[1])));
		gt_survey_places(&tiny.places, finding);
	}
	gt_groups_fini(&tiny.places);
	return rc;
}

/* What all queues have in common. */
struct launches_ahead {
	double area, span; /* of depth x ns, ns */
	uint32_t most;
	uint64_t launches, full;
	int64_t full_ns;
};

/* The calls that put work into a queue, each once: a graph is one. */
static void find_calls(const struct gt_queue *queue, const struct gt_filter *filter, bool *is_one)
{
	const struct gt_model *model = queue->model;

	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);

		if (op->call == GT_NONE || is_one[op->call] || op->device != queue->device ||
		    op->stream != queue->stream || !gt_filter_op(filter, model, op))
			continue;
		is_one[op->call] = true;
	}
}

/* Calls that launch at a nearly full queue, and take far longer than others. */
static int find_full(const struct gt_queue *queue, const struct gt_filter *filter,
		     struct launches_ahead *ahead)
{
	const struct gt_model *model = queue->model;
	bool *is_one = queue->most < NEAR_FULL ? NULL : calloc(model->calls.count + 1, 1);
	struct gt_dist durations = {0};
	int64_t usual;
	int rc = is_one || queue->most < NEAR_FULL ? 0 : -ENOMEM;

	if (!is_one)
		return rc;
	find_calls(queue, filter, is_one);
	for (size_t i = 0; !rc && i < model->calls.count; i++)
		if (is_one[i] && !gt_dist_add(&durations, gt_model_call_at(model, i)->dur))
			rc = -ENOMEM;
	usual = gt_dist_middle(&durations);
	for (size_t i = 0; !rc && i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);

		if (!is_one[i] || call->dur < usual * SLOW_TIMES ||
		    gt_queue_depth_at(queue, call->start) < NEAR_FULL)
			continue;
		ahead->full++;
		ahead->full_ns += call->dur;
	}
	gt_dist_fini(&durations);
	free(is_one);
	return rc;
}

static int measure(const struct gt_survey *survey, const struct gt_queues *queues,
		   struct launches_ahead *ahead)
{
	const struct gt_queue *deepest = NULL;

	for (size_t i = 0; i < queues->list.count; i++) {
		const struct gt_queue *queue = &queues->list.at[i];

		ahead->launches += queue->launches;
		ahead->area += queue->area;
		ahead->span += (double)(queue->last - queue->first);
		if (deepest && queue->most <= deepest->most)
			continue;
		deepest = queue;
		ahead->most = queue->most;
	}
	return deepest ? find_full(deepest, survey->filter, ahead) : 0;
}

int gt_rule_cpu_ahead(const struct gt_survey *survey, struct gt_finding *finding)
{
	int64_t busy = survey->gaps.wall - survey->gaps.idle;
	struct launches_ahead ahead = {0};
	struct gt_queues queues = {0};
	double mean, part = gt_survey_percent(busy, survey->gaps.wall);
	int rc = 0, n;
	char time[32];

	if (gt_rule_lacks_calls(survey, finding))
		return 0;
	rc = gt_queues_build(survey->job, survey->filter, &queues);
	if (!rc)
		rc = measure(survey, &queues, &ahead);
	mean = ahead.span > 0 ? ahead.area / ahead.span : 0;
	finding->state = mean >= DEEP && part >= BUSY ? GT_FINDING_FOUND : GT_FINDING_CLEAR;
	n = snprintf(finding->evidence, sizeof(finding->evidence),
		     "%.1f operations waited in a stream's queue on average, %" PRIu32
		     " at most; the GPU was busy for %.1f %% of wall.",
		     mean, ahead.most, part);
	if (ahead.full && n > 0 && (size_t)n < sizeof(finding->evidence))
		snprintf(finding->evidence + n, sizeof(finding->evidence) - (size_t)n,
			 " %" PRIu64 " call%s waited %s at a full queue.", ahead.full,
			 ahead.full == 1 ? "" : "s",
			 gt_table_time((double)ahead.full_ns, time, sizeof(time)));
	gt_queues_fini(&queues);
	return rc;
}
