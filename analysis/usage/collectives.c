/* SPDX-License-Identifier: Apache-2.0
 *
 * Communication by collective and size, and how much of it no other kernel of the device hides.
 * Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/usage/reports.h"
#include "trace/communication.h"

static const struct gt_column columns[] = {
	{"share", "Time (%)", "share", GT_COLUMN_PERCENT},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"exposed", "Exposed Time (ns)", "exposed", GT_COLUMN_TIME},
	{"exposed_share", "Exposed (%)", "of total", GT_COLUMN_PERCENT},
	{"count", "Instances", "count", GT_COLUMN_COUNT},
	{"mean", "Avg (ns)", "mean", GT_COLUMN_MEAN},
	{"median", "Med (ns)", "median", GT_COLUMN_MEAN},
	{"min", "Min (ns)", "min", GT_COLUMN_TIME},
	{"max", "Max (ns)", "max", GT_COLUMN_TIME},
	{"size", "Size (MB)", "size", GT_COLUMN_BYTES},
	{"rate", "GB/s", "GB/s", GT_COLUMN_NUMBER},
	{"name", "Collective", "collective", GT_COLUMN_TEXT},
};

enum { TAG_EXPOSED, TAG_BYTES };

/* Other kernels of a device, merged. */
static int compute_of(const struct gt_model *model, const struct gt_device_track *track,
		      struct gt_intervals *ret)
{
	*ret = (struct gt_intervals){0};
	for (uint32_t i = 0; i < track->count; i++) {
		const struct gt_op *op = gt_model_device_op(model, track, i);

		if (op->kind == GT_OP_KERNEL && !op->comm &&
		    !gt_intervals_add(ret, op->start, op->start + op->dur))
			return -ENOMEM;
	}
	gt_intervals_merge(ret);
	return 0;
}

static int add_op(const struct gt_model *model, const struct gt_op *op,
		  const struct gt_intervals *compute, struct gt_groups *groups)
{
	struct gt_group *group;
	char key[320];

	/* the size behind the name: one row for each */
	snprintf(key, sizeof(key), "%s\n%" PRId64,
		 gt_communication_collective(gt_model_name(model, op->name)).name, op->bytes);
	group = gt_groups_get(groups, key);
	if (!group || !gt_dist_add(&group->value, op->dur))
		return -ENOMEM;
	group->tag[TAG_BYTES] = op->bytes;
	group->tag[TAG_EXPOSED] +=
		op->dur - gt_intervals_within(compute, op->start, op->start + op->dur);
	return 0;
}

static int add_device(const struct gt_model *model, const struct gt_device_track *track,
		      const struct gt_filter *filter, struct gt_groups *groups)
{
	struct gt_intervals compute;
	int rc = compute_of(model, track, &compute);

	for (uint32_t i = 0; !rc && i < track->count; i++) {
		const struct gt_op *op = gt_model_device_op(model, track, i);

		if (op->comm && gt_filter_op(filter, model, op))
			rc = add_op(model, op, &compute, groups);
	}
	gt_intervals_fini(&compute);
	return rc;
}

static void put_row(struct gt_table *table, const struct gt_groups *groups, struct gt_group *group,
		    double all)
{
	struct gt_moments m = gt_dist_moments(&group->value);
	const char *name = gt_group_name(groups, group);
	double total = (double)m.total, bytes = (double)group->tag[TAG_BYTES];
	char collective[300];

	snprintf(collective, sizeof(collective), "%.*s", (int)strcspn(name, "\n"), name);
	gt_table_number(table, all > 0 ? total * 100 / all : 0);
	gt_table_number(table, total);
	gt_table_number(table, (double)group->tag[TAG_EXPOSED]);
	gt_table_number(table, total > 0 ? (double)group->tag[TAG_EXPOSED] * 100 / total : 0);
	gt_table_number(table, (double)m.count);
	gt_table_number(table, m.mean);
	gt_table_number(table, m.median);
	gt_table_number(table, (double)m.min);
	gt_table_number(table, (double)m.max);
	if (bytes > 0) {
		gt_table_number(table, bytes);
		gt_table_number(table, total > 0 ? bytes * (double)m.count / total : 0);
	} else {
		gt_table_absent(table, "-");
		gt_table_absent(table, "-");
	}
	gt_table_text(table, collective);
}

static int add_model(const struct gt_model *model, const struct gt_filter *filter,
		     struct gt_groups *groups)
{
	int rc = 0;

	for (size_t d = 0; !rc && d < model->devices.count; d++)
		rc = add_device(model, &model->devices.at[d], filter, groups);
	return rc;
}

GT_USAGE_MAP(collectives)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		groups->trace = gt_job_order(job, f);
		rc = add_model(&job->models[f], filter, groups);
	}
	return rc;
}

GT_USAGE_FILL(collectives)
{
	double all = 0;

	gt_table_init(ret_table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < groups->list.count; i++)
		all += (double)gt_dist_total(&groups->list.at[i].value);
	for (size_t i = 0; i < groups->list.count; i++)
		put_row(ret_table, groups, &groups->list.at[i], all);
	gt_table_sort(ret_table, "total");
	return 0;
}
