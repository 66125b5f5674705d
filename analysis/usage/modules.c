/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU time by the nn.Module whose forward launched it: torch.profiler's Python functions
 * "nn.Module: Linear_0" around the launch, outermost first, are a path in the tree of modules. Pure
 * over constant models; one thread per table.
 */
#include <errno.h>
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

/* Modules around a call, innermost first. Returns how many. */
static size_t modules_around(const struct gt_model *model, const struct gt_call *call,
			     const char **ret_modules)
{
	size_t count = 0;
	int seen = 0;
	uint32_t row = call ? call->thread : GT_NONE;

	for (; row != GT_NONE && !count; row = model->threads.at[row].beside) {
		uint32_t range = gt_model_range_at(model, row, GT_RANGE_PYTHON, call->start);

		for (; range != GT_NONE && seen < OPEN && count < DEEPEST;
		     seen++, range = gt_model_range_around(model, range, call->start)) {
			const char *name = gt_model_name(model, model->ranges.at[range].name);

			if (!strncmp(name, MARK, sizeof(MARK) - 1))
				ret_modules[count++] = name + sizeof(MARK) - 1;
		}
	}
	return count;
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

static int collect(const struct gt_job *job, const struct gt_filter *filter,
		   struct gt_groups *groups, int64_t *ret_all)
{
	static const char *const nowhere[] = {NOWHERE};
	const char *modules[DEEPEST];
	int rc = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++) {
			const struct gt_op *op = &model->ops.at[i];
			size_t count;

			if (!gt_filter_op(filter, model, op))
				continue;
			*ret_all += op->dur;
			count = modules_around(model, gt_model_call_of(model, op), modules);
			rc = add_path(groups, count ? modules : nowhere, count ? count : 1,
				      op->dur);
		}
	}
	return rc;
}

GT_USAGE_BUILD(modules)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups);
	int64_t all = 0;

	gt_table_init(ret_table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	if (!rc)
		rc = collect(job, filter, &groups, &all);
	for (size_t i = 0; !rc && i < groups.list.count; i++) {
		struct gt_group *group = &groups.list.at[i];
		struct gt_moments m = gt_dist_moments(&group->value);
		double part = all > 0 ? 100 / (double)all : 0;

		gt_table_number(ret_table, (double)m.total * part);
		gt_table_number(ret_table, (double)m.total);
		gt_table_number(ret_table, (double)group->tag[TAG_INSIDE]);
		gt_table_number(ret_table, (double)group->tag[TAG_INSIDE] * part);
		gt_table_number(ret_table, (double)m.count);
		gt_table_number(ret_table, (double)group->tag[TAG_LEVEL]);
		gt_table_text(ret_table, gt_group_name(&groups, group));
	}
	gt_table_sort(ret_table, "inside");
	gt_groups_fini(&groups);
	return rc;
}
