/* SPDX-License-Identifier: Apache-2.0
 *
 * See stats_join.h. Pure over constant models; one thread per table.
 */
#include "analysis/stats_join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"

/* What the operations launched inside one range cover on the GPU. */
struct projection {
	int64_t start, end;
	uint64_t ops;
	uint32_t children;
	uint32_t level;
};

enum {
	TAG_OPS,
	TAG_LEVEL,
	TAG_CHILDREN,
};

static const struct gt_column projection_columns[] = {
	{"name", "Range", "range", GT_COLUMN_TEXT},
	{"style", "Style", NULL, GT_COLUMN_TEXT},
	{"total", "Total Proj Time (ns)", "GPU total", GT_COLUMN_TIME},
	{"range_total", "Total Range Time (ns)", "host total", GT_COLUMN_TIME},
	{"count", "Range Instances", "count", GT_COLUMN_COUNT},
	{"mean", "Proj Avg (ns)", "GPU mean", GT_COLUMN_MEAN},
	{"median", "Proj Med (ns)", "median", GT_COLUMN_MEAN},
	{"min", "Proj Min (ns)", "min", GT_COLUMN_TIME},
	{"max", "Proj Max (ns)", "max", GT_COLUMN_TIME},
	{"stddev", "Proj StdDev (ns)", NULL, GT_COLUMN_MEAN},
	{"ops", "Total GPU Ops", "GPU ops", GT_COLUMN_COUNT},
	{"mean_ops", "Avg GPU Ops", NULL, GT_COLUMN_NUMBER},
	{"level", "Avg Range Lvl", NULL, GT_COLUMN_NUMBER},
	{"children", "Avg Num Child", NULL, GT_COLUMN_NUMBER},
};

#define PROJECTION_WIDTH (sizeof(projection_columns) / sizeof(projection_columns[0]))

void gt_stats_range_key(const struct gt_model *model, const struct gt_model_range *range, char *ret,
			size_t size)
{
	int n = snprintf(ret, size, "%s ",
			 model->threads.at[range->thread].is_beside ? "StartEnd" : "PushPop");

	gt_key_of_range(model, range, ret + n, size - (size_t)n);
}

const char *gt_stats_range_style(const char *key)
{
	return *key == 'S' ? "StartEnd" : "PushPop";
}

const char *gt_stats_range_name(const char *key)
{
	return strchr(key, ' ') + 1;
}

/* The ranges of one row that were open at the call. */
static void project_on_row(const struct gt_model *model, uint32_t row, const struct gt_call *call,
			   const struct gt_op *op, struct projection *all)
{
	uint32_t range = gt_model_range_at(model, row, GT_RANGE_NVTX, call->start);

	for (; range != GT_NONE; range = gt_model_range_around(model, range, call->start)) {
		struct projection *p = &all[range];
		bool is_first = !p->ops;

		p->ops++;
		if (is_first || op->start < p->start)
			p->start = op->start;
		if (is_first || op->start + op->dur > p->end)
			p->end = op->start + op->dur;
	}
}

static void project_op(const struct gt_model *model, const struct gt_op *op, struct projection *all)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	uint32_t row = call ? call->thread : GT_NONE;

	for (; row != GT_NONE; row = model->threads.at[row].beside)
		project_on_row(model, row, call, op, all);
}

static void place_ranges(const struct gt_model *model, struct projection *all)
{
	for (uint32_t i = 0; i < model->ranges.count; i++) {
		uint32_t parent = model->ranges.at[i].parent;

		if (parent == GT_NONE)
			continue;
		all[parent].children++;
		all[i].level = all[parent].level + 1;
	}
}

static int project_model(const struct gt_model *model, const struct gt_filter *filter,
			 struct gt_groups *groups)
{
	struct projection *all = calloc(model->ranges.count + 1, sizeof(*all));
	int rc = all ? 0 : -ENOMEM;
	char text[8192];

	if (rc)
		return rc;
	place_ranges(model, all);
	for (size_t i = 0; i < model->ops.count; i++)
		if (gt_filter_op(filter, model, &model->ops.at[i]))
			project_op(model, &model->ops.at[i], all);
	for (uint32_t i = 0; !rc && i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];
		struct gt_group *group;

		if (!all[i].ops || range->kind != GT_RANGE_NVTX ||
		    !gt_filter_range(filter, model, range))
			continue;
		gt_stats_range_key(model, range, text, sizeof(text));
		group = gt_groups_get(groups, text);
		if (!group || !gt_dist_add(&group->value, all[i].end - all[i].start) ||
		    !gt_dist_add(&group->other[0], range->dur)) {
			rc = -ENOMEM;
			break;
		}
		group->tag[TAG_OPS] += (int64_t)all[i].ops;
		group->tag[TAG_LEVEL] += all[i].level;
		group->tag[TAG_CHILDREN] += all[i].children;
	}
	free(all);
	return rc;
}

static void add_projection(struct gt_table *table, const struct gt_groups *groups,
			   struct gt_group *group)
{
	struct gt_moments gpu = gt_dist_moments(&group->value);
	struct gt_moments host = gt_dist_moments(&group->other[0]);
	const double cells[] = {
		(double)gpu.total, (double)host.total, (double)gpu.count,
		gpu.mean,          gpu.median,         (double)gpu.min,
		(double)gpu.max,   gpu.stddev,         (double)group->tag[TAG_OPS],
	};

	gt_table_text(table, gt_stats_range_name(gt_group_name(groups, group)));
	gt_table_text(table, gt_stats_range_style(gt_group_name(groups, group)));
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		gt_table_number(table, cells[i]);
	for (int tag = TAG_OPS; tag <= TAG_CHILDREN; tag++)
		gt_table_number(table, (double)group->tag[tag] / (double)gpu.count);
}

int gt_stats_build_projection(const struct gt_report *report, const struct gt_job *job,
			      const struct gt_filter *filter, struct gt_table *ret_table)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups);

	gt_table_init(ret_table, report->name, report->title, projection_columns, PROJECTION_WIDTH);
	for (size_t f = 0; !rc && f < job->count; f++)
		rc = project_model(&job->models[f], filter, &groups);
	for (size_t i = 0; !rc && i < groups.list.count; i++)
		add_projection(ret_table, &groups, &groups.list.at[i]);
	gt_table_sort(ret_table, "total");
	gt_groups_fini(&groups);
	return rc;
}

#define EXEC_PART(id, letter, brief)                                                               \
	{id "_mean", letter "Avg (ns)", brief, GT_COLUMN_MEAN},                                    \
		{id "_median", letter "Med (ns)", NULL, GT_COLUMN_MEAN},                           \
		{id "_min", letter "Min (ns)", NULL, GT_COLUMN_TIME},                              \
		{id "_max", letter "Max (ns)", NULL, GT_COLUMN_TIME},                              \
	{                                                                                          \
		id "_stddev", letter "StdDev (ns)", NULL, GT_COLUMN_MEAN                           \
	}

static const struct gt_column execution_columns[] = {
	{"count", "Count", "count", GT_COLUMN_COUNT},
	{"queued", "QCount", "queued", GT_COLUMN_COUNT},
	EXEC_PART("total", "T", "total mean"),
	EXEC_PART("api", "A", "API mean"),
	EXEC_PART("queue", "Q", "queue mean"),
	EXEC_PART("kernel", "K", "kernel mean"),
	{"api_name", "API Name", "API", GT_COLUMN_TEXT},
	{"name", "Kernel Name", "kernel", GT_COLUMN_CODE},
	{"pid", "PID", NULL, GT_COLUMN_COUNT},
	{"tid", "TID", NULL, GT_COLUMN_COUNT},
	{"device", "DevId", NULL, GT_COLUMN_COUNT},
};

/* Where the first kernel of a group stands: its names and numbers are the group's. */
enum {
	TAG_MODEL,
	TAG_OP,
};

enum {
	PART_API,
	PART_QUEUE,
	PART_KERNEL,
};

static int add_execution(struct gt_groups *groups, const struct gt_model *model, size_t file,
			 size_t index)
{
	const struct gt_op *op = &model->ops.at[index];
	const struct gt_call *call = gt_model_call_of(model, op);
	int64_t queue = op->start - (call->start + call->dur);
	struct gt_group *group;
	char key[80];

	/* names by their numbers in the model: kernels' may be longer than any buffer */
	snprintf(key, sizeof(key), "%zu %u %u %u %u", file, call->thread, op->device, call->name,
		 op->name);
	group = gt_groups_get(groups, key);
	if (!group)
		return -ENOMEM;
	if (!group->value.count) {
		group->tag[TAG_MODEL] = (int64_t)file;
		group->tag[TAG_OP] = (int64_t)index;
	}
	if (!gt_dist_add(&group->value, op->start + op->dur - call->start) ||
	    !gt_dist_add(&group->other[PART_API], call->dur) ||
	    (queue > 0 && !gt_dist_add(&group->other[PART_QUEUE], queue)) ||
	    !gt_dist_add(&group->other[PART_KERNEL], op->dur))
		return -ENOMEM;
	return 0;
}

static void add_part(struct gt_table *table, struct gt_dist *dist)
{
	struct gt_moments m = gt_dist_moments(dist);

	gt_table_number(table, m.mean);
	gt_table_number(table, m.median);
	gt_table_number(table, (double)m.min);
	gt_table_number(table, (double)m.max);
	gt_table_number(table, m.stddev);
}

static void fill_execution(struct gt_table *table, const struct gt_job *job, struct gt_group *group)
{
	const struct gt_model *model = &job->models[group->tag[TAG_MODEL]];
	const struct gt_op *op = &model->ops.at[group->tag[TAG_OP]];
	const struct gt_call *call = gt_model_call_of(model, op);

	gt_table_number(table, (double)group->value.count);
	gt_table_number(table, (double)group->other[PART_QUEUE].count);
	add_part(table, &group->value);
	for (int part = PART_API; part <= PART_KERNEL; part++)
		add_part(table, &group->other[part]);
	gt_table_text(table, gt_model_name(model, call->name));
	gt_table_text(table, gt_model_name(model, op->name));
	gt_table_number(table, (double)model->threads.at[call->thread].pid);
	gt_table_number(table, (double)model->threads.at[call->thread].tid);
	gt_table_number(table, op->device);
}

int gt_stats_build_execution(const struct gt_report *report, const struct gt_job *job,
			     const struct gt_filter *filter, struct gt_table *ret_table)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups);

	gt_table_init(ret_table, report->name, report->title, execution_columns,
		      sizeof(execution_columns) / sizeof(execution_columns[0]));
	for (size_t f = 0; !rc && f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++)
			if (model->ops.at[i].kind == GT_OP_KERNEL &&
			    model->ops.at[i].call != GT_NONE &&
			    gt_filter_op(filter, model, &model->ops.at[i]))
				rc = add_execution(&groups, model, f, i);
	}
	for (size_t i = 0; !rc && i < groups.list.count; i++)
		fill_execution(ret_table, job, &groups.list.at[i]);
	gt_table_sort(ret_table, "count");
	gt_groups_fini(&groups);
	return rc;
}
