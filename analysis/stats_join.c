/* SPDX-License-Identifier: Apache-2.0
 *
 * See stats_join.h. Pure over constant models; one thread per table.
 */
#include "analysis/stats_join.h"

#include <errno.h>
#include <inttypes.h>
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

/* When operations ran. */
struct stats_spell {
	int64_t start, end;
};

#define BLOCK 16 /* operations of a leaf: a tree of all takes more memory than the trace */

/* The operations that the filter lets pass, by thread and time of their calls, and a tree over
 * whole blocks of them: a node covers the nodes of twice its number and the one behind, the leaves
 * are the last @blocks nodes. */
struct stats_launches {
	const struct gt_model *model;
	uint32_t *at;
	struct stats_spell *tree;
	size_t count, blocks;
};

/* Where an operation was launched. */
struct stats_launched {
	uint32_t thread;
	int64_t at;
};

static struct stats_launched launch_of(const struct gt_model *model, uint32_t op)
{
	uint32_t call = model->ops.at[op].call;

	return (struct stats_launched){gt_model_call_traits(model, call)->thread,
				       model->calls.at[call].start};
}

static int compare(struct stats_launched a, struct stats_launched b)
{
	if (a.thread != b.thread)
		return a.thread < b.thread ? -1 : 1;
	return a.at < b.at ? -1 : a.at > b.at;
}

static int by_call(const void *a, const void *b, void *model)
{
	return compare(launch_of(model, *(const uint32_t *)a),
		       launch_of(model, *(const uint32_t *)b));
}

static void find_launches(const struct gt_model *model, const struct gt_filter *filter,
			  struct stats_launches *all)
{
	size_t sorted = 1;

	for (uint32_t i = 0; i < model->ops.count; i++)
		if (model->ops.at[i].call != GT_NONE &&
		    gt_filter_op(filter, model, gt_model_op_at(model, i)))
			all->at[all->count++] = i;
	while (sorted < all->count && compare(launch_of(model, all->at[sorted - 1]),
					      launch_of(model, all->at[sorted])) <= 0)
		sorted++;
	if (sorted < all->count)
		qsort_r(all->at, all->count, sizeof(*all->at), by_call, (void *)model);
}

static struct stats_spell cover(struct stats_spell a, struct stats_spell b)
{
	return (struct stats_spell){a.start < b.start ? a.start : b.start,
				    a.end > b.end ? a.end : b.end};
}

/* Of the launches [from, to), one after the other. */
static struct stats_spell spell_among(const struct stats_launches *all, size_t from, size_t to)
{
	struct stats_spell spell = {INT64_MAX, INT64_MIN};

	for (; from < to; from++) {
		const struct gt_op *op = gt_model_op_at(all->model, all->at[from]);

		spell = cover(spell, (struct stats_spell){op->start, op->start + op->dur});
	}
	return spell;
}

static void fill_tree(struct stats_launches *all)
{
	for (size_t i = 0; i < all->blocks; i++)
		all->tree[all->blocks + i] = spell_among(all, i * BLOCK, (i + 1) * BLOCK);
	for (size_t i = all->blocks; i-- > 1;)
		all->tree[i] = cover(all->tree[2 * i], all->tree[2 * i + 1]);
}

/* Of the launches [from, to), at least one. */
static struct stats_spell spell_of(const struct stats_launches *all, size_t from, size_t to)
{
	size_t first = (from + BLOCK - 1) / BLOCK, end = to / BLOCK;
	struct stats_spell spell;

	if (first >= end)
		return spell_among(all, from, to);
	spell = cover(spell_among(all, from, first * BLOCK), spell_among(all, end * BLOCK, to));
	for (first += all->blocks, end += all->blocks; first < end; first /= 2, end /= 2) {
		if (first & 1)
			spell = cover(spell, all->tree[first++]);
		if (end & 1)
			spell = cover(spell, all->tree[--end]);
	}
	return spell;
}

static void free_launches(struct stats_launches *all)
{
	free(all->at);
	free(all->tree);
}

static int sum_launches(const struct gt_model *model, const struct gt_filter *filter,
			struct stats_launches *ret_all)
{
	*ret_all = (struct stats_launches){
		.model = model, .at = malloc((model->ops.count + 1) * sizeof(*ret_all->at))};
	if (!ret_all->at)
		return -ENOMEM;
	find_launches(model, filter, ret_all);
	ret_all->blocks = ret_all->count / BLOCK;
	ret_all->tree = calloc(2 * ret_all->blocks + 1, sizeof(*ret_all->tree));
	if (!ret_all->tree) {
		free_launches(ret_all);
		return -ENOMEM;
	}
	fill_tree(ret_all);
	return 0;
}

/* The first of a thread's launches at or behind @t. */
static size_t launch_from(const struct stats_launches *all, uint32_t thread, int64_t t)
{
	const struct stats_launched wanted = {thread, t};
	size_t low = 0, high = all->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(launch_of(all->model, all->at[middle]), wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What was launched while a range was open, on its thread or that of its row. */
static void project_range(const struct gt_model *model, const struct gt_model_range *range,
			  const struct stats_launches *all, struct projection *p)
{
	uint32_t owner = model->threads.at[range->thread].owner;
	size_t from = launch_from(all, owner, range->start);
	size_t to = launch_from(all, owner, range->start + range->dur);
	struct stats_spell spell;

	if (from >= to)
		return;
	spell = spell_of(all, from, to);
	p->ops = to - from;
	p->start = spell.start;
	p->end = spell.end;
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

static bool has_nvtx(const struct gt_model *model)
{
	for (size_t i = 0; i < model->ranges.count; i++)
		if (model->ranges.at[i].kind == GT_RANGE_NVTX)
			return true;
	return false;
}

static int project_model(const struct gt_model *model, const struct gt_filter *filter,
			 struct gt_groups *groups)
{
	struct projection *all = calloc(model->ranges.count + 1, sizeof(*all));
	struct stats_launches launches;
	int rc = all ? sum_launches(model, filter, &launches) : -ENOMEM;
	char text[8192];

	if (rc) {
		free(all);
		return rc;
	}
	place_ranges(model, all);
	for (uint32_t i = 0; i < model->ranges.count; i++)
		if (model->ranges.at[i].kind == GT_RANGE_NVTX)
			project_range(model, &model->ranges.at[i], &launches, &all[i]);
	free_launches(&launches);
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

int gt_stats_map_projection(const struct gt_report *report, const struct gt_job *job,
			    const struct gt_filter *filter, struct gt_groups *groups)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		groups->trace = gt_job_order(job, f);
		if (has_nvtx(&job->models[f]))
			rc = project_model(&job->models[f], filter, groups);
	}
	return rc;
}

int gt_stats_fill_projection(const struct gt_report *report, struct gt_groups *groups,
			     struct gt_table *ret_table)
{
	gt_table_init(ret_table, report->name, report->title, projection_columns, PROJECTION_WIDTH);
	for (size_t i = 0; i < groups->list.count; i++)
		add_projection(ret_table, groups, &groups->list.at[i]);
	gt_table_sort(ret_table, "total");
	return 0;
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

/* Of a group, whose label is the call and behind it the kernel: how long the call's name is, and
 * its place. */
enum {
	TAG_LENGTH,
	TAG_PID,
	TAG_TID,
	TAG_DEVICE,
};

enum {
	PART_API,
	PART_QUEUE,
	PART_KERNEL,
};

/* Names may be longer than any buffer. */
static bool describe(struct gt_groups *groups, struct gt_group *group, const struct gt_model *model,
		     const struct gt_op *op, const struct gt_call *call)
{
	const char *name = gt_model_name(model, call->name);
	char *text;
	int length = asprintf(&text, "%s%s", name, gt_model_name(model, op->name));

	if (length < 0)
		return false;
	group->label = gt_names_put(&groups->names, text, (size_t)length);
	free(text);
	group->tag[TAG_LENGTH] = (int64_t)strlen(name);
	group->tag[TAG_PID] = model->threads.at[call->thread].pid;
	group->tag[TAG_TID] = model->threads.at[call->thread].tid;
	group->tag[TAG_DEVICE] = op->device;
	return true;
}

static int add_execution(struct gt_groups *groups, const struct gt_model *model,
			 const struct gt_op *op)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	int64_t queue = op->start - (call->start + call->dur);
	struct gt_group *group;
	char key[100];

	/* names by their numbers in the model, which only the order of the trace makes one */
	snprintf(key, sizeof(key), "%" PRIu64 " %u %u %u %u", groups->trace, call->thread,
		 op->device, call->name, op->name);
	group = gt_groups_get(groups, key);
	if (!group || (!group->value.count && !describe(groups, group, model, op, call)))
		return -ENOMEM;
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

static void put_execution(struct gt_table *table, const struct gt_groups *groups,
			  struct gt_group *group)
{
	const char *label = gt_names_get(&groups->names, group->label);
	size_t length = strlen(label), of_call = (size_t)group->tag[TAG_LENGTH];
	char *call = strndup(label, of_call < length ? of_call : length);

	gt_table_number(table, (double)gt_dist_count(&group->value));
	gt_table_number(table, (double)gt_dist_count(&group->other[PART_QUEUE]));
	add_part(table, &group->value);
	for (int part = PART_API; part <= PART_KERNEL; part++)
		add_part(table, &group->other[part]);
	gt_table_text(table, call ? call : "");
	gt_table_text(table, of_call < length ? label + of_call : "");
	gt_table_number(table, (double)group->tag[TAG_PID]);
	gt_table_number(table, (double)group->tag[TAG_TID]);
	gt_table_number(table, (double)group->tag[TAG_DEVICE]);
	free(call);
}

int gt_stats_map_execution(const struct gt_report *report, const struct gt_job *job,
			   const struct gt_filter *filter, struct gt_groups *groups)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		groups->trace = gt_job_order(job, f);
		for (size_t i = 0; !rc && i < model->ops.count; i++)
			if (gt_model_op_traits(model, i)->kind == GT_OP_KERNEL &&
			    model->ops.at[i].call != GT_NONE &&
			    gt_filter_op(filter, model, gt_model_op_at(model, i)))
				rc = add_execution(groups, model, gt_model_op_at(model, i));
	}
	return rc;
}

int gt_stats_fill_execution(const struct gt_report *report, struct gt_groups *groups,
			    struct gt_table *ret_table)
{
	gt_table_init(ret_table, report->name, report->title, execution_columns,
		      sizeof(execution_columns) / sizeof(execution_columns[0]));
	for (size_t i = 0; i < groups->list.count; i++)
		put_execution(ret_table, groups, &groups->list.at[i]);
	gt_table_sort(ret_table, "count");
	return 0;
}
