/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes per second of copies, sets and kernels whose sizes the trace holds. Pure over constant
 * models; one thread per table.
 */
#include <errno.h>

#include "analysis/group.h"
#include "analysis/usage/reports.h"

static const struct gt_column columns[] = {
	{"total", "Total (MB)", "total", GT_COLUMN_BYTES},
	{"count", "Count", "count", GT_COLUMN_COUNT},
	{"of", "Operations", "of", GT_COLUMN_COUNT},
	{"time", "Total Time (ns)", "time", GT_COLUMN_TIME},
	{"rate", "GB/s", "GB/s", GT_COLUMN_NUMBER},
	{"mean", "Avg (GB/s)", "mean", GT_COLUMN_NUMBER},
	{"median", "Med (GB/s)", "median", GT_COLUMN_NUMBER},
	{"min", "Min (GB/s)", "min", GT_COLUMN_NUMBER},
	{"max", "Max (GB/s)", "max", GT_COLUMN_NUMBER},
	{"name", "Operation", "operation", GT_COLUMN_CODE},
};

enum { TAG_ALL, TAG_BYTES, TAG_TIME };

/* Kernels tell a size only where they exchange data. */
static bool has_size(const struct gt_op *op)
{
	return op->bytes != GT_NO_BYTES && (op->kind != GT_OP_KERNEL || op->bytes > 0);
}

static int add_op(const struct gt_model *model, const struct gt_op *op, struct gt_groups *groups)
{
	struct gt_group *group = gt_groups_get(groups, gt_model_name(model, op->name));

	if (!group)
		return -ENOMEM;
	group->tag[TAG_ALL]++;
	if (!has_size(op) || op->dur <= 0)
		return 0;
	group->tag[TAG_BYTES] += op->bytes;
	group->tag[TAG_TIME] += op->dur;
	/* bytes per second */
	return gt_dist_add(&group->value, (int64_t)((double)op->bytes * 1e9 / (double)op->dur))
		       ? 0
		       : -ENOMEM;
}

static void put_row(struct gt_table *table, const struct gt_groups *groups, struct gt_group *group)
{
	struct gt_moments m = gt_dist_moments(&group->value);
	const double rates[] = {m.mean, m.median, (double)m.min, (double)m.max};

	gt_table_number(table, (double)group->tag[TAG_BYTES]);
	gt_table_number(table, (double)m.count);
	gt_table_number(table, (double)group->tag[TAG_ALL]);
	gt_table_number(table, (double)group->tag[TAG_TIME]);
	gt_table_number(table, (double)group->tag[TAG_BYTES] / (double)group->tag[TAG_TIME]);
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		gt_table_number(table, rates[i] / 1e9);
	gt_table_text(table, gt_group_name(groups, group));
}

static int add_model(const struct gt_model *model, const struct gt_filter *filter,
		     struct gt_groups *groups)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++)
		if (gt_model_op_traits(model, i)->kind != GT_OP_GRAPH &&
		    gt_filter_op(filter, model, gt_model_op_at(model, i)))
			rc = add_op(model, gt_model_op_at(model, i), groups);
	return rc;
}

GT_USAGE_MAP(rates)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		groups->trace = gt_job_order(job, f);
		rc = add_model(&job->models[f], filter, groups);
	}
	return rc;
}

GT_USAGE_FILL(rates)
{
	gt_table_init(ret_table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < groups->list.count; i++)
		if (gt_dist_count(&groups->list.at[i].value))
			put_row(ret_table, groups, &groups->list.at[i]);
	gt_table_sort(ret_table, "total");
	return 0;
}
