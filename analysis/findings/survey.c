/* SPDX-License-Identifier: Apache-2.0
 *
 * See survey.h.
 */
#include "analysis/findings/survey.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct gt_call *gt_survey_launch(const struct gt_model *model, const struct gt_op *op,
				       struct gt_call *call)
{
	if (op->kind != GT_OP_KERNEL || op->comm || !gt_model_call_into(model, op->call, call) ||
	    strstr(gt_model_name(model, call->name), "GraphLaunch"))
		return NULL;
	return call;
}

static bool is_tiny(const struct gt_model *model, const struct gt_op *op)
{
	struct gt_call own;
	const struct gt_call *call = gt_survey_launch(model, op, &own);

	return call && op->dur < call->dur;
}

static void see_piece(const struct gt_gap *gap, const struct gt_piece *piece, void *data)
{
	struct gt_survey *survey = data;

	survey->by_cause[piece->cause] += piece->ns;
	if (piece->cause == GT_CAUSE_LAUNCH &&
	    is_tiny(gap->model, gt_model_op_at(gap->model, gap->op)))
		survey->launch_tiny += piece->ns;
}

static void count(struct gt_survey *survey)
{
	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		survey->calls += model->calls.count;
		for (size_t i = 0; i < model->ops.count; i++) {
			const struct gt_op *op = gt_model_op_at(model, i);

			if (!gt_filter_op(survey->filter, model, op))
				continue;
			survey->ops++;
			if (op->kind == GT_OP_KERNEL && !op->comm)
				survey->kernels += op->dur;
		}
	}
}

int gt_survey_make(const struct gt_job *job, const struct gt_filter *filter,
		   struct gt_survey *ret_survey)
{
	int rc;

	*ret_survey = (struct gt_survey){.job = job, .filter = filter};
	rc = gt_gaps_build(job, filter, 0, &ret_survey->gaps);
	if (!rc)
		rc = gt_gaps_table(&ret_survey->gaps, see_piece, ret_survey, &ret_survey->causes);
	count(ret_survey);
	return rc;
}

void gt_survey_fini(struct gt_survey *survey)
{
	gt_gaps_fini(&survey->gaps);
	gt_table_fini(&survey->causes);
}

double gt_survey_percent(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part * 100 / (double)whole : 0;
}

void gt_survey_judge(const struct gt_survey *survey, int64_t saves, struct gt_finding *finding)
{
	bool is_enough =
		saves > 0 && gt_survey_percent(saves, survey->gaps.wall) >= finding->rule->least;

	finding->saves = saves < survey->gaps.wall ? saves : survey->gaps.wall;
	finding->state = is_enough ? GT_FINDING_FOUND : GT_FINDING_CLEAR;
}

/* The operator, else the range that a call was made in. A step is everything. */
static uint32_t range_of(const struct gt_model *model, const struct gt_call *call)
{
	uint32_t range = gt_model_range_at(model, call->thread, GT_RANGE_OP, call->start);

	if (range == GT_NONE)
		range = gt_model_range_at(model, call->thread, GT_RANGE_NVTX, call->start);
	while (range != GT_NONE && gt_model_is_step(model, &model->ranges.at[range]))
		range = gt_model_range_around(model, range, call->start);
	return range;
}

void gt_survey_place(const struct gt_model *model, const struct gt_call *call, char *out,
		     size_t size)
{
	uint32_t name = gt_key_launching(model, call->stack), op = range_of(model, call);
	char line[4096] = "", text[1024];

	if (name == GT_NAME_NONE)
		name = gt_key_launching_range(model, call);
	if (name != GT_NAME_NONE)
		gt_key_of_frame(model, name, true, GT_KEY_LINE, line, sizeof(line));
	if (op == GT_NONE) {
		snprintf(out, size, "%s%s%s", gt_model_name(model, call->name),
			 *line ? " from " : "", line);
		return;
	}
	gt_key_of_range(model, &model->ranges.at[op], text, sizeof(text));
	snprintf(out, size, "%s in %s%s%s", gt_model_name(model, call->name), text,
		 *line ? " from " : "", line);
}

/* Calls by their starts, and their ends, each with the sum of durations before it. */
struct survey_edge {
	int64_t at, dur;
};

struct survey_edges {
	GT_VEC(struct survey_edge) starts;
	GT_VEC(struct survey_edge) ends;
};

static int by_time(const void *a, const void *b)
{
	const struct survey_edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Sum of the durations of those before @t, or at it. */
static int64_t sum_until(const struct survey_edge *edges, size_t count, int64_t t, bool at)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (edges[middle].at < t || (at && edges[middle].at == t))
			low = middle + 1;
		else
			high = middle;
	}
	return low ? edges[low - 1].dur : 0;
}

static void add_up(struct survey_edge *edges, size_t count)
{
	if (count)
		qsort(edges, count, sizeof(*edges), by_time);
	for (size_t i = 1; i < count; i++)
		edges[i].dur += edges[i - 1].dur;
}

static int take_call(const struct gt_model *model, const struct gt_call *call,
		     struct survey_edges *edges, struct gt_survey_calls *calls)
{
	char place[8192];

	gt_survey_place(model, call, place, sizeof(place));
	if (gt_survey_add(&calls->places, place, 1, call->dur) ||
	    !gt_vec_push(&edges->starts, ((struct survey_edge){call->start, call->dur})) ||
	    !gt_vec_push(&edges->ends, ((struct survey_edge){call->start + call->dur, call->dur})))
		return -ENOMEM;
	calls->count++;
	calls->total += call->dur;
	return 0;
}

/* Of each gap of a model the part that the calls can be the reason for. *next_gap: the first of the
 * model's, as gaps are in the order of the models; moves on behind them. */
static void add_savings(const struct gt_survey *survey, const struct gt_model *model,
			struct survey_edges *edges, size_t *next_gap, struct gt_survey_calls *calls)
{
	add_up(edges->starts.at, edges->starts.count);
	add_up(edges->ends.at, edges->ends.count);
	for (; *next_gap < survey->gaps.list.count; ++*next_gap) {
		const struct gt_gap *gap = gt_gaps_at(&survey->gaps, *next_gap);
		int64_t touching, length = gap->end - gap->start;

		if (gap->model != model)
			break;
		touching = sum_until(edges->starts.at, edges->starts.count, gap->end, false) -
			   sum_until(edges->ends.at, edges->ends.count, gap->start, false);
		calls->saves += touching < length ? touching : length;
	}
}

static int take_model(const struct gt_survey *survey, const struct gt_model *model, gt_survey_is is,
		      void *data, size_t *next_gap, struct gt_survey_calls *calls)
{
	struct survey_edges edges = {0};
	struct gt_filter_calls chosen;
	int rc = gt_filter_calls_init(&chosen, survey->filter, model);

	for (size_t i = 0; !rc && i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);

		if (!call->back && gt_filter_call(&chosen, call) && is(model, call, data))
			rc = take_call(model, call, &edges, calls);
	}
	if (!rc)
		add_savings(survey, model, &edges, next_gap, calls);
	gt_filter_calls_fini(&chosen);
	gt_vec_free(&edges.starts);
	gt_vec_free(&edges.ends);
	return rc;
}

int gt_survey_take(const struct gt_survey *survey, gt_survey_is is, void *data,
		   struct gt_survey_calls *ret_calls)
{
	size_t next_gap = 0;
	int rc;

	*ret_calls = (struct gt_survey_calls){0};
	rc = gt_groups_init(&ret_calls->places);
	for (size_t f = 0; !rc && f < survey->job->count; f++)
		rc = take_model(survey, &survey->job->models[f], is, data, &next_gap, ret_calls);
	if (ret_calls->saves > ret_calls->total)
		ret_calls->saves = ret_calls->total;
	return rc;
}

void gt_survey_calls_fini(struct gt_survey_calls *calls)
{
	gt_groups_fini(&calls->places);
}

int gt_survey_add(struct gt_groups *places, const char *where, uint64_t count, int64_t ns)
{
	struct gt_group *group = gt_groups_get(places, where);

	if (!group)
		return -ENOMEM;
	group->tag[GT_SURVEY_COUNT] += (int64_t)count;
	group->tag[GT_SURVEY_NS] += ns;
	return 0;
}

/* Inserts a place where it belongs, the smallest drops out. */
static void put_place(struct gt_finding *finding, const char *where, uint64_t times, int64_t ns)
{
	struct gt_finding_place *places = finding->places;
	size_t at = finding->place_count;

	while (at && (places[at - 1].ns < ns ||
		      (places[at - 1].ns == ns && strcmp(places[at - 1].where, where) > 0)))
		at--;
	if (at == GT_FINDING_PLACES)
		return;
	if (finding->place_count == GT_FINDING_PLACES)
		free(places[--finding->place_count].where);
	memmove(&places[at + 1], &places[at], (finding->place_count - at) * sizeof(*places));
	places[at] = (struct gt_finding_place){strdup(where), times, ns};
	if (places[at].where)
		finding->place_count++;
	else
		memmove(&places[at], &places[at + 1],
			(finding->place_count - at) * sizeof(*places));
}

void gt_survey_places(struct gt_groups *groups, struct gt_finding *finding)
{
	finding->place_total = groups->list.count;
	for (size_t i = 0; i < groups->list.count; i++) {
		const struct gt_group *group = &groups->list.at[i];

		put_place(finding, gt_group_name(groups, group),
			  (uint64_t)group->tag[GT_SURVEY_COUNT], group->tag[GT_SURVEY_NS]);
	}
}
