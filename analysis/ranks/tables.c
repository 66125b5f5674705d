/* SPDX-License-Identifier: Apache-2.0
 *
 * See tables.h: processes, clocks and steps; collectives and kernels are in tables_kernels.c.
 */
#include "analysis/ranks/tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"

#define COST_OTHERS 3 /* of these columns */

static const struct gt_column late_columns[] = {
	{"rank", "Rank", "rank", GT_COLUMN_TEXT},
	{"count", "Collectives", "collectives", GT_COLUMN_COUNT},
	{"last", "Was Last", "was last", GT_COLUMN_COUNT},
	{"cost", "Cost Others (ns)", "cost others", GT_COLUMN_TIME},
	{"waited", "Waited (ns)", "waited", GT_COLUMN_TIME},
	{"late", "Late (ns)", "late by", GT_COLUMN_TIME},
	{"gpu", "Slower GPU (ns)", "slower GPU", GT_COLUMN_TIME},
	{"work", "More GPU Work (ns)", "more work", GT_COLUMN_TIME},
	{"data", "Loading Data (ns)", "loading", GT_COLUMN_TIME},
	{"host", "Host (ns)", "host", GT_COLUMN_TIME},
	{"network", "Network (ns)", "network", GT_COLUMN_TIME},
	{"path", "Critical Path (ns)", "critical path", GT_COLUMN_TIME},
	{"path_busy", "Critical Path Busy (ns)", NULL, GT_COLUMN_TIME},
	{"cause", "Cause", "cause", GT_COLUMN_TEXT},
};

static const struct gt_column clock_columns[] = {
	{"rank", "Rank", "rank", GT_COLUMN_TEXT},
	{"host", "Host", "host", GT_COLUMN_TEXT},
	{"by", "Clock By", "clock by", GT_COLUMN_TEXT},
	{"ahead", "Ahead (ns)", "ahead", GT_COLUMN_DELTA},
	{"drift", "Drift (ppm)", "drift (ppm)", GT_COLUMN_NUMBER},
	{"error", "Error (ns)", "within", GT_COLUMN_TIME},
	{"used", "Collectives", "collectives", GT_COLUMN_COUNT},
};

static const struct gt_column step_columns[] = {
	{"step", "Step", "step", GT_COLUMN_TEXT},
	{"ranks", "Ranks", "ranks", GT_COLUMN_COUNT},
	{"min", "Fastest (ns)", "fastest", GT_COLUMN_TIME},
	{"median", "Med (ns)", "median", GT_COLUMN_TIME},
	{"max", "Slowest (ns)", "slowest", GT_COLUMN_TIME},
	{"slowest", "Slowest Rank", "slowest rank", GT_COLUMN_TEXT},
	{"count", "Collectives", "collectives", GT_COLUMN_COUNT},
	{"waited", "Waited (ns)", "waited", GT_COLUMN_TIME},
	{"late", "Late Rank", "late rank", GT_COLUMN_TEXT},
	{"cost", "Cost Others (ns)", "cost others", GT_COLUMN_TIME},
	{"cause", "Cause", "cause", GT_COLUMN_TEXT},
};

#define COLUMNS(table) (sizeof(table) / sizeof((table)[0]))

int gt_ranks_compare(const struct gt_job *job, struct gt_rank_excerpt *excerpts,
		     struct gt_ranks *ret_ranks)
{
	int rc;

	*ret_ranks = (struct gt_ranks){.job = job, .excerpts = excerpts};
	rc = gt_rounds_find(job, NULL, excerpts, &ret_ranks->rounds);
	return rc ? rc : gt_lates_find(job, excerpts, &ret_ranks->rounds, &ret_ranks->lates);
}

int gt_ranks_find(const struct gt_job *job, const struct gt_filter *filter,
		  struct gt_ranks *ret_ranks)
{
	struct gt_rank_excerpt *excerpts;
	int rc = gt_rank_excerpts_take(job, filter, &excerpts);

	if (!rc)
		return gt_ranks_compare(job, excerpts, ret_ranks);
	*ret_ranks = (struct gt_ranks){.job = job, .excerpts = excerpts};
	return rc;
}

void gt_ranks_fini(struct gt_ranks *ranks)
{
	if (ranks->excerpts)
		gt_rank_excerpts_fini(ranks->excerpts, ranks->job->count);
	gt_lates_fini(&ranks->lates);
	gt_rounds_fini(&ranks->rounds);
}

const char *gt_ranks_cause(const int64_t by[GT_LATE_COUNT_], int64_t late, double *ret_share)
{
	int most = 0;

	for (int c = 1; c < GT_LATE_COUNT_; c++)
		if (by[c] > by[most])
			most = c;
	*ret_share = late > 0 ? (double)by[most] * 100 / (double)late : 0;
	return *ret_share >= 50 ? gt_late_names[most] : NULL;
}

static void put_cause(const int64_t by[GT_LATE_COUNT_], int64_t late, struct gt_table *table)
{
	double share;
	const char *cause = gt_ranks_cause(by, late, &share);

	if (late <= 0)
		cause = "-";
	else if (!cause)
		cause = share > 0 ? "several" : "not known";
	gt_table_text(table, cause);
}

static void put_cause_of(const struct gt_rank_excerpt *excerpt, const struct gt_late *late,
			 struct gt_table *table)
{
	char text[260];
	double share;
	const char *cause = gt_ranks_cause(late->by, late->late, &share);

	if (late->late <= 0 || cause != gt_late_names[GT_LATE_GPU] || !*excerpt->throttled) {
		put_cause(late->by, late->late, table);
		return;
	}
	snprintf(text, sizeof(text), "%s, throttled: %s", cause, excerpt->throttled);
	gt_table_text(table, text);
}

int gt_ranks_late(const struct gt_ranks *ranks, struct gt_table *ret_table)
{
	char text[64];

	gt_table_init(ret_table, "rank_late", "Who was late: collectives, and what made them wait",
		      late_columns, COLUMNS(late_columns));
	ret_table->kept = COST_OTHERS + 1;
	ret_table->major = 1u << COST_OTHERS;
	for (size_t f = 0; f < ranks->lates.count; f++) {
		const struct gt_late *late = &ranks->lates.of[f];

		if (!late->count)
			continue;
		gt_key_of_place(&ranks->job->models[f], "", text, sizeof(text));
		gt_table_text(ret_table, text);
		gt_table_number(ret_table, (double)late->count);
		gt_table_number(ret_table, (double)late->last);
		gt_table_number(ret_table, (double)late->cost);
		gt_table_number(ret_table, (double)late->waited);
		gt_table_number(ret_table, (double)late->late);
		for (int c = 0; c < GT_LATE_COUNT_; c++)
			gt_table_number(ret_table, (double)late->by[c]);
		gt_table_number(ret_table, (double)late->path);
		gt_table_number(ret_table, (double)late->path_busy);
		put_cause_of(&ranks->excerpts[f], late, ret_table);
	}
	return gt_table_sort(ret_table, "cost");
}

static void put_clock(const struct gt_clock_map *map, bool is_reference, int64_t first,
		      struct gt_table *table)
{
	static const char *const by[GT_CLOCK_BY_COUNT_] = {
		[GT_CLOCK_BY_MONOTONIC] = "same boot",     [GT_CLOCK_BY_HOST] = "same host",
		[GT_CLOCK_BY_COLLECTIVES] = "collectives", [GT_CLOCK_BY_REALTIME] = "wall clock",
		[GT_CLOCK_BY_NOTHING] = "not aligned",
	};
	int64_t behind = gt_clock_line_at(&map->line, first);

	gt_table_text(table, is_reference ? "reference" : by[map->by]);
	gt_table_number(table, behind ? -(double)behind : 0);
	gt_table_number(table, map->line.drift ? -map->line.drift * 1e6 : 0);
	if (map->error < 0)
		gt_table_absent(table, "not known");
	else
		gt_table_number(table, (double)map->error);
	gt_table_number(table, (double)map->used);
}

int gt_ranks_clocks(const struct gt_ranks *ranks, struct gt_table *ret_table)
{
	char text[256];

	gt_table_init(ret_table, "rank_clocks", "Clocks of the ranks, against that of the job",
		      clock_columns, COLUMNS(clock_columns));
	for (size_t f = 0; f < ranks->job->count; f++) {
		const struct gt_model *model = &ranks->job->models[f];
		const struct gt_header *header = &model->reading.header;
		int64_t first;

		if (!header->has_base ||
		    __builtin_add_overflow(header->base_ns, model->first, &first))
			first = model->first;
		gt_key_of_place(model, "", text, sizeof(text));
		gt_table_text(ret_table, text);
		gt_table_text(ret_table,
			      *ranks->excerpts[f].host ? ranks->excerpts[f].host : "not known");
		put_clock(&ranks->job->clocks.of[f], f == ranks->job->clocks.reference, first,
			  ret_table);
	}
	return 0;
}

/* What the ranks have of one step. */
struct step {
	struct gt_dist durations;
	uint64_t count;
	int64_t slowest, waited;
	size_t slowest_model;
	struct step_late {
		int64_t cost, late, by[GT_LATE_COUNT_];
	} * of; /* by model */
};

struct steps {
	struct gt_groups names; /* tag[0]: index in all */
	GT_VEC(struct step) all;
};

static struct step *get_step(struct steps *steps, const char *name, size_t models)
{
	size_t before = steps->names.list.count;
	struct gt_group *group = gt_groups_get(&steps->names, name);
	struct step step = {0};

	if (!group)
		return NULL;
	if (steps->names.list.count == before)
		return &steps->all.at[group->tag[0]];
	step.of = calloc(models + 1, sizeof(*step.of));
	group->tag[0] = (int64_t)steps->all.count;
	if (!step.of || !gt_vec_push(&steps->all, step)) {
		free(step.of);
		return NULL;
	}
	return &steps->all.at[steps->all.count - 1];
}

static int add_durations(const struct gt_ranks *ranks, size_t f, struct steps *steps)
{
	const struct gt_model *model = &ranks->job->models[f];

	for (size_t i = 0; i < ranks->excerpts[f].steps.count; i++) {
		const struct gt_rank_time *time = &ranks->excerpts[f].steps.at[i];
		struct step *step =
			get_step(steps, gt_model_name(model, time->name), ranks->job->count);

		if (!step || !gt_dist_add(&step->durations, time->time))
			return -ENOMEM;
		if (step->durations.count == 1 || time->time > step->slowest) {
			step->slowest = time->time;
			step->slowest_model = f;
		}
	}
	return 0;
}

/* A collective belongs to the step of the one that came last. @blame: the first of @round or later;
 * moves on behind those of @round. */
static int add_step_round(const struct gt_ranks *ranks, size_t r, size_t *blame,
			  struct steps *steps)
{
	const struct gt_round *round = &ranks->rounds.all.at[r];
	const struct gt_round_member *member = &ranks->rounds.members.at[round->first];
	const struct gt_round_member *last = &member[round->last];
	const struct gt_model *model = &ranks->job->models[last->model];
	uint32_t name = gt_rank_meeting_of(&ranks->excerpts[last->model], last->op)->step;
	struct step *step = NULL;

	if (name != GT_NONE) {
		step = get_step(steps, gt_model_name(model, name), ranks->job->count);
		if (!step)
			return -ENOMEM;
		step->count++;
	}
	for (; *blame < ranks->lates.blames.count; ++*blame) {
		const struct gt_late_blame *one = &ranks->lates.blames.at[*blame];
		struct step_late *late;

		if (one->round != r)
			break;
		if (!step)
			continue;
		late = &step->of[one->model];
		late->late += one->late;
		late->cost += one->cost;
		for (int c = 0; c < GT_LATE_COUNT_; c++)
			late->by[c] += one->by[c];
		step->waited += one->cost;
	}
	return 0;
}

static void put_step(const struct gt_ranks *ranks, const char *name, struct step *step,
		     struct gt_table *table)
{
	struct gt_moments moments = gt_dist_moments(&step->durations);
	char text[64];
	size_t most = 0;

	for (size_t f = 1; f < ranks->job->count; f++)
		if (step->of[f].cost > step->of[most].cost)
			most = f;
	gt_table_text(table, name);
	gt_table_number(table, (double)moments.count);
	gt_table_number(table, (double)moments.min);
	gt_table_number(table, moments.median);
	gt_table_number(table, (double)moments.max);
	gt_key_of_place(&ranks->job->models[step->slowest_model], "", text, sizeof(text));
	gt_table_text(table, text);
	gt_table_number(table, (double)step->count);
	gt_table_number(table, (double)step->waited);
	gt_key_of_place(&ranks->job->models[most], "", text, sizeof(text));
	gt_table_text(table, step->of[most].cost ? text : "-");
	gt_table_number(table, (double)step->of[most].cost);
	put_cause(step->of[most].by, step->of[most].late, table);
}

int gt_ranks_steps(const struct gt_ranks *ranks, struct gt_table *ret_table)
{
	struct steps steps = {0};
	int rc = gt_groups_init(&steps.names);

	gt_table_init(ret_table, "rank_steps", "Steps: the slowest rank, and the late one",
		      step_columns, COLUMNS(step_columns));
	for (size_t f = 0; !rc && f < ranks->job->count; f++)
		rc = add_durations(ranks, f, &steps);
	for (size_t i = 0, blame = 0; !rc && i < ranks->rounds.all.count; i++)
		rc = add_step_round(ranks, i, &blame, &steps);
	for (size_t i = 0; i < steps.all.count; i++) {
		struct step *step = &steps.all.at[i];

		if (!rc)
			put_step(ranks, gt_group_name(&steps.names, &steps.names.list.at[i]), step,
				 ret_table);
		gt_dist_fini(&step->durations);
		free(step->of);
	}
	gt_vec_free(&steps.all);
	gt_groups_fini(&steps.names);
	return rc;
}
