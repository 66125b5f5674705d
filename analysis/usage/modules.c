/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU time by the nn.Module whose forward launched it: torch.profiler's Python functions
 * "nn.Module: Linear_0" around the launch, outermost first, are a path in the tree of modules. What
 * the backward pass launches counts for the module of the forward operator with its sequence
 * number. Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/usage/reports.h"

#define MARK    "nn.Module: "
#define GAP     " > "
#define DEEPEST 256  /* modules around a launch */
#define OPEN    1024 /* Python functions around it: Python's limit of recursion */
#define NOWHERE "(no module)"

static const struct gt_column columns[] = {
	{"share", "Time (%)", "share", GT_COLUMN_PERCENT},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"inside", "Inside Time (ns)", "inside", GT_COLUMN_TIME},
	{"inside_share", "Inside (%)", "of all", GT_COLUMN_PERCENT},
	{"count", "Instances", "count", GT_COLUMN_COUNT},
	{"level", "Level", NULL, GT_COLUMN_COUNT},
	{"name", "Module", "module", GT_COLUMN_TEXT},
};

enum { TAG_INSIDE, TAG_LEVEL };

/* The forward operators of a model, by number. */
struct forward {
	GT_VEC(uint32_t) ranges;
};

/* Modules around a moment on a thread, innermost first. Returns how many. */
static size_t modules_around(const struct gt_model *model, uint32_t row, int64_t t,
			     const char **ret_modules)
{
	size_t count = 0;
	int seen = 0;

	for (; row != GT_NONE && !count; row = model->threads.at[row].beside) {
		uint32_t range = gt_model_range_at(model, row, GT_RANGE_PYTHON, t);

		for (; range != GT_NONE && seen < OPEN && count < DEEPEST;
		     seen++, range = gt_model_range_around(model, range, t)) {
			const char *name = gt_model_name(model, model->ranges.at[range].name);

			if (!strncmp(name, MARK, sizeof(MARK) - 1))
				ret_modules[count++] = name + sizeof(MARK) - 1;
		}
	}
	return count;
}

static int by_sequence(const void *a, const void *b, void *data)
{
	const struct gt_model *model = data;
	const struct gt_model_range *x = &model->ranges.at[*(const uint32_t *)a];
	const struct gt_model_range *y = &model->ranges.at[*(const uint32_t *)b];

	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

static int find_forward(const struct gt_model *model, struct forward *forward)
{
	for (uint32_t i = 0; i < model->ranges.count; i++)
		if (model->ranges.at[i].sequence > 0 && !gt_vec_push(&forward->ranges, i))
			return -ENOMEM;
	if (forward->ranges.count)
		qsort_r(forward->ranges.at, forward->ranges.count, sizeof(uint32_t), by_sequence,
			(void *)model);
	return 0;
}

/* The first forward operator of that number or a greater one. */
static size_t first_of(const struct gt_model *model, const struct forward *forward,
		       int32_t sequence)
{
	size_t low = 0, high = forward->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->ranges.at[forward->ranges.at[middle]].sequence < sequence)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The last one of that number that began before @t: those before it share the number because no
 * node of the graph was made between them. NULL: there is none, or several threads had that number
 * then, and nothing tells which one is meant. */
static const struct gt_model_range *forward_of(const struct gt_model *model,
					       const struct forward *forward, int32_t sequence,
					       int64_t t)
{
	const struct gt_model_range *found = NULL;

	for (size_t i = first_of(model, forward, sequence); i < forward->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[forward->ranges.at[i]];

		if (range->sequence != sequence || range->start > t)
			break;
		if (found && found->thread != range->thread)
			return NULL;
		found = range;
	}
	return found;
}

/* The modules of the forward operator that a call of the backward pass belongs to. */
static size_t modules_of_forward(const struct gt_model *model, const struct forward *forward,
				 const struct gt_call *call, const char **ret_modules)
{
	uint32_t range = gt_model_range_at(model, call->thread, GT_RANGE_OP, call->start);

	for (int seen = 0; range != GT_NONE && seen < OPEN;
	     seen++, range = gt_model_range_around(model, range, call->start)) {
		const struct gt_model_range *at = &model->ranges.at[range], *source = NULL;

		if (at->sequence < 0)
			source = forward_of(model, forward, -at->sequence, at->start);
		if (source)
			return modules_around(model, source->thread, source->start, ret_modules);
	}
	return 0;
}

static size_t modules_of(const struct gt_model *model, const struct forward *forward,
			 const struct gt_op *op, const char **ret_modules)
{
	const struct gt_call *call = gt_model_call_of(model, op);
	size_t count = call ? modules_around(model, call->thread, call->start, ret_modules) : 0;

	if (count || !call || !forward->ranges.count)
		return count;
	return modules_of_forward(model, forward, call, ret_modules);
}

/* Puts the time under each module of the path, and as its own under the last. */
static int add_path(struct gt_groups *groups, const char *const *modules, size_t count,
		    int64_t time)
{
	struct gt_group *group = NULL;
	char path[8192];
	size_t n = 0;

	for (size_t i = count; i-- > 0;) {
		size_t gap = n ? sizeof(GAP) - 1 : 0, length = strlen(modules[i]);

		if (n + gap + length >= sizeof(path))
			break;
		memcpy(path + n, GAP, gap);
		memcpy(path + n + gap, modules[i], length + 1);
		n += gap + length;
		group = gt_groups_get(groups, path);
		if (!group)
			return -ENOMEM;
		group->tag[TAG_INSIDE] += time;
		group->tag[TAG_LEVEL] = (int64_t)(count - i);
	}
	return !group || gt_dist_add(&group->value, time) ? 0 : -ENOMEM;
}

static int collect_model(const struct gt_model *model, const struct gt_filter *filter,
			 struct gt_groups *groups)
{
	static const char *const nowhere[] = {NOWHERE};
	const char *modules[DEEPEST];
	struct forward forward = {0};
	int rc = find_forward(model, &forward);

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		size_t count;

		if (!gt_filter_op(filter, model, op))
			continue;
		count = modules_of(model, &forward, op, modules);
		rc = add_path(groups, count ? modules : nowhere, count ? count : 1, op->dur);
	}
	gt_vec_free(&forward.ranges);
	return rc;
}

GT_USAGE_MAP(modules)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		groups->trace = gt_job_order(job, f);
		rc = collect_model(&job->models[f], filter, groups);
	}
	return rc;
}

GT_USAGE_FILL(modules)
{
	double all = 0;

	gt_table_init(ret_table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < groups->list.count; i++)
		all += (double)gt_dist_total(&groups->list.at[i].value);
	for (size_t i = 0; i < groups->list.count; i++) {
		struct gt_group *group = &groups->list.at[i];
		double total = (double)gt_dist_total(&group->value);
		double part = all > 0 ? 100 / all : 0;

		gt_table_number(ret_table, total * part);
		gt_table_number(ret_table, total);
		gt_table_number(ret_table, (double)group->tag[TAG_INSIDE]);
		gt_table_number(ret_table, (double)group->tag[TAG_INSIDE] * part);
		gt_table_number(ret_table, (double)gt_dist_count(&group->value));
		gt_table_number(ret_table, (double)group->tag[TAG_LEVEL]);
		gt_table_text(ret_table, gt_group_name(groups, group));
	}
	gt_table_sort(ret_table, "inside");
	return 0;
}
