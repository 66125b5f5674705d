/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about what the host waits in: synchronization, synchronous copies, allocation.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/rule.h"
#include "trace/cuda_call.h"

/* What a call of a model is, by the number of its name: looked up once. */
struct calls_known {
	const struct gt_model *model;
	uint8_t *of_name; /* 0: not yet; else 1 + the answer */
	int64_t from;     /* allocation: where the steady state begins */
	bool (*is)(const char *name);
};

static bool ask(struct calls_known *known, const struct gt_model *model, uint32_t name)
{
	if (known->model != model) {
		free(known->of_name);
		known->of_name = calloc(model->names.text.count + 1, 1);
		known->model = model;
	}
	if (!known->of_name)
		return known->is(gt_model_name(model, name));
	if (!known->of_name[name])
		known->of_name[name] = 1 + known->is(gt_model_name(model, name));
	return known->of_name[name] == 2;
}

static bool is_wait(const char *name)
{
	return gt_cuda_class_of(name) == GT_CUDA_SYNC &&
	       gt_cuda_call_of(name) == GT_CUDA_CALL_BLOCKS;
}

static bool is_sync_copy(const char *name)
{
	enum gt_cuda_class class = gt_cuda_class_of(name);

	return (class == GT_CUDA_COPY || class == GT_CUDA_SET) &&
	       gt_cuda_call_of(name) == GT_CUDA_CALL_BLOCKS;
}

/* Memory that comes from a pool costs little. */
static bool is_allocation(const char *name)
{
	enum gt_cuda_class class = gt_cuda_class_of(name);

	return (class == GT_CUDA_ALLOC || class == GT_CUDA_FREE) && !strstr(name, "Async");
}

static bool is_one(const struct gt_model *model, const struct gt_call *call, void *data)
{
	return ask(data, model, call->name);
}

/* Judges, and says what the calls cost. */
static void report(const struct gt_survey *survey, const struct gt_survey_calls *calls,
		   const char *what, struct gt_groups *places, struct gt_finding *finding)
{
	char time[32], idle[32];

	gt_survey_judge(survey, calls->saves, finding);
	if (calls->count)
		gt_rule_say(finding,
			    "%" PRIu64 " %s%s took the host %s; the GPU was idle around %s for "
			    "up to %s of that (%.1f %% of wall).",
			    calls->count, what, calls->count == 1 ? "" : "s",
			    gt_table_time((double)calls->total, time, sizeof(time)),
			    calls->count == 1 ? "it" : "them",
			    gt_table_time((double)calls->saves, idle, sizeof(idle)),
			    gt_survey_percent(calls->saves, survey->gaps.wall));
	gt_survey_places(places, finding);
}

static int apply(const struct gt_survey *survey, struct calls_known *known, gt_survey_is is,
		 const char *what, struct gt_finding *finding)
{
	struct gt_survey_calls calls = {0};
	int rc = 0;

	if (gt_rule_lacks_calls(survey, finding))
		return 0;
	rc = gt_survey_take(survey, is, known, &calls);
	if (!rc)
		report(survey, &calls, what, &calls.places, finding);
	gt_survey_calls_fini(&calls);
	free(known->of_name);
	return rc;
}

int gt_rule_synchronization(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct calls_known known = {.is = is_wait};

	return apply(survey, &known, is_one, "synchronizing call", finding);
}

int gt_rule_sync_copies(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct calls_known known = {.is = is_sync_copy};

	return apply(survey, &known, is_one, "synchronous copy call", finding);
}

static int by_start(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The second step; without steps half of the launches are over. */
static int64_t steady_from(const struct gt_model *model)
{
	int64_t *starts, from = INT64_MAX;
	size_t steps = 0, count = 0;

	for (size_t i = 0; i < model->steps.count; i++)
		if (model->steps.at[i].range != GT_NONE && ++steps == 2)
			return model->steps.at[i].from;
	starts = calloc(model->ops.count + 1, sizeof(*starts));
	for (size_t i = 0; starts && i < model->ops.count; i++) {
		const struct gt_call *call = gt_model_call_of(model, gt_model_op_at(model, i));

		if (call && gt_model_op_traits(model, i)->kind == GT_OP_KERNEL)
			starts[count++] = call->start;
	}
	if (count) {
		qsort(starts, count, sizeof(*starts), by_start);
		from = starts[count / 2];
	}
	free(starts);
	return from;
}

static bool is_steady(const struct gt_model *model, const struct gt_call *call, void *data)
{
	struct calls_known *known = data;

	if (known->model != model)
		known->from = steady_from(model);
	return ask(known, model, call->name) && call->start >= known->from;
}

int gt_rule_allocation(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct calls_known known = {.is = is_allocation};

	return apply(survey, &known, is_steady, "allocating or freeing call", finding);
}

static bool loads(const struct gt_model *model, const struct gt_call *call, void *data)
{
	(void)data;
	return gt_model_loads(model, call);
}

/* Of the launches among them the kernel that waited; marks these calls. */
static int add_kernels(const struct gt_survey *survey, const struct gt_model *model,
		       struct gt_groups *places, uint8_t *launches)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		const struct gt_call *call = gt_model_call_of(model, op);

		if (op->kind != GT_OP_KERNEL || !call || !gt_model_loads(model, call))
			continue;
		launches[op->call] = 1;
		if (gt_filter_op(survey->filter, model, op))
			rc = gt_survey_add(places, gt_model_name(model, op->name), 1, call->dur);
	}
	return rc;
}

static int add_others(const struct gt_survey *survey, const struct gt_model *model,
		      struct gt_groups *places, const uint8_t *launches)
{
	struct gt_filter_calls chosen;
	int rc = gt_filter_calls_init(&chosen, survey->filter, model);
	char place[8192];

	for (size_t i = 0; !rc && i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);

		if (call->back || launches[i] || !gt_model_loads(model, call) ||
		    !gt_filter_call(&chosen, call))
			continue;
		gt_survey_place(model, call, place, sizeof(place));
		rc = gt_survey_add(places, place, 1, call->dur);
	}
	gt_filter_calls_fini(&chosen);
	return rc;
}

static int loading_places(const struct gt_survey *survey, const struct gt_model *model,
			  struct gt_groups *places)
{
	uint8_t *launches = calloc(model->calls.count + 1, 1);
	int rc = launches ? add_kernels(survey, model, places, launches) : -ENOMEM;

	if (!rc)
		rc = add_others(survey, model, places, launches);
	free(launches);
	return rc;
}

/* By kernel, of calls that launch none by the call. */
int gt_rule_kernel_loading(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct gt_survey_calls calls = {0};
	struct gt_groups places;
	int rc = gt_groups_init(&places);

	if (!rc && !gt_rule_lacks_calls(survey, finding)) {
		rc = gt_survey_take(survey, loads, NULL, &calls);
		for (size_t f = 0; !rc && f < survey->job->count; f++)
			rc = loading_places(survey, &survey->job->models[f], &places);
		if (!rc)
			report(survey, &calls, "kernel-loading call", &places, finding);
		gt_survey_calls_fini(&calls);
	}
	gt_groups_fini(&places);
	return rc;
}
