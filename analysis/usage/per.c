/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels per step and per rank: how the time of each is spread over them. A step of one rank is a
 * step. Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/usage/reports.h"

#define PER_COLUMNS(many, brief, one)                                                              \
	{                                                                                          \
		{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},                             \
			{"count", "Instances", "count", GT_COLUMN_COUNT},                          \
			{"parts", many, brief, GT_COLUMN_COUNT},                                   \
			{"mean", "Avg Per " one " (ns)", "mean", GT_COLUMN_MEAN},                  \
			{"median", "Med Per " one " (ns)", "median", GT_COLUMN_MEAN},              \
			{"min", "Min Per " one " (ns)", "min", GT_COLUMN_TIME},                    \
			{"max", "Max Per " one " (ns)", "max", GT_COLUMN_TIME},                    \
			{"stddev", "StdDev Per " one " (ns)", "stddev", GT_COLUMN_MEAN},           \
			{"most", "Most In", "most in", GT_COLUMN_TEXT},                            \
			{"name", "Name", "name", GT_COLUMN_CODE},                                  \
	}

static const struct gt_column step_columns[] = PER_COLUMNS("Steps", "steps", "Step");
static const struct gt_column rank_columns[] = PER_COLUMNS("Ranks", "ranks", "Rank");

#define WIDTH (sizeof(step_columns) / sizeof(step_columns[0]))

/* Tags: of a kernel in a part its time and its kernel; of a kernel its instances, the time of the
 * part with the most, and that part. */
enum { TAG_TIME, TAG_KERNEL, TAG_PART };
enum { TAG_COUNT, TAG_MOST, TAG_MOST_PART };

struct per {
	struct gt_groups cells;   /* a kernel in a part */
	struct gt_groups kernels; /* value: times of its parts */
	struct gt_groups parts;
};

/* False: the operation is in no part. */
static bool part_of(const struct gt_job *job, const struct gt_model *model, const struct gt_op *op,
		    bool steps, char *out, size_t size)
{
	char place[128];
	uint32_t step;

	if (!steps) { /* processes of a rank are one part */
		gt_key_of_op(model, op, GT_KEY_RANK, out, size);
		return true;
	}
	gt_key_of_place(model, "", place, sizeof(place));
	step = gt_key_step(model, op);
	if (step == GT_NONE)
		return false;
	snprintf(out, size, "%s%s%s", job->count > 1 ? place : "", job->count > 1 ? " " : "",
		 gt_model_name(model, model->ranges.at[step].name));
	return true;
}

static int add_op(struct per *per, const struct gt_job *job, const struct gt_model *model,
		  const struct gt_op *op, bool steps)
{
	struct gt_group *kernel, *part, *cell;
	size_t kernel_at;
	char text[1200];

	if (!part_of(job, model, op, steps, text, sizeof(text)))
		return 0;
	part = gt_groups_get(&per->parts, text);
	kernel = gt_groups_get(&per->kernels, gt_model_name(model, op->name));
	if (!part || !kernel)
		return -ENOMEM;
	kernel_at = (size_t)(kernel - per->kernels.list.at);
	kernel->tag[TAG_COUNT]++;
	snprintf(text, sizeof(text), "%zu %zu", kernel_at, (size_t)(part - per->parts.list.at));
	cell = gt_groups_get(&per->cells, text);
	if (!cell)
		return -ENOMEM;
	cell->tag[TAG_TIME] += op->dur;
	cell->tag[TAG_KERNEL] = (int64_t)kernel_at;
	cell->tag[TAG_PART] = part - per->parts.list.at;
	return 0;
}

static int spread(struct per *per)
{
	for (size_t i = 0; i < per->cells.list.count; i++) {
		const struct gt_group *cell = &per->cells.list.at[i];
		struct gt_group *kernel = &per->kernels.list.at[cell->tag[TAG_KERNEL]];

		if (!kernel->value.count || cell->tag[TAG_TIME] > kernel->tag[TAG_MOST]) {
			kernel->tag[TAG_MOST] = cell->tag[TAG_TIME];
			kernel->tag[TAG_MOST_PART] = cell->tag[TAG_PART];
		}
		if (!gt_dist_add(&kernel->value, cell->tag[TAG_TIME]))
			return -ENOMEM;
	}
	return 0;
}

static void put_row(struct gt_table *table, struct per *per, struct gt_group *kernel)
{
	struct gt_moments m = gt_dist_moments(&kernel->value);
	const struct gt_group *most = &per->parts.list.at[kernel->tag[TAG_MOST_PART]];

	gt_table_number(table, (double)m.total);
	gt_table_number(table, (double)kernel->tag[TAG_COUNT]);
	gt_table_number(table, (double)m.count);
	gt_table_number(table, m.mean);
	gt_table_number(table, m.median);
	gt_table_number(table, (double)m.min);
	gt_table_number(table, (double)m.max);
	gt_table_number(table, m.stddev);
	gt_table_text(table, gt_group_name(&per->parts, most));
	gt_table_text(table, gt_group_name(&per->kernels, kernel));
}

static int collect(const struct gt_job *job, const struct gt_filter *filter, bool steps,
		   struct per *per)
{
	int rc = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++)
			if (gt_model_op_traits(model, i)->kind == GT_OP_KERNEL &&
			    gt_filter_op(filter, model, gt_model_op_at(model, i)))
				rc = add_op(per, job, model, gt_model_op_at(model, i), steps);
	}
	return rc;
}

static int build(const struct gt_report *report, const struct gt_job *job,
		 const struct gt_filter *filter, bool steps, struct gt_table *table)
{
	struct per per = {0};
	int rc = gt_groups_init(&per.cells);

	if (!rc)
		rc = gt_groups_init(&per.kernels);
	if (!rc)
		rc = gt_groups_init(&per.parts);
	gt_table_init(table, report->name, report->title, steps ? step_columns : rank_columns,
		      WIDTH);
	if (!rc)
		rc = collect(job, filter, steps, &per);
	if (!rc)
		rc = spread(&per);
	for (size_t i = 0; !rc && i < per.kernels.list.count; i++)
		put_row(table, &per, &per.kernels.list.at[i]);
	gt_table_sort(table, "total");
	gt_groups_fini(&per.cells);
	gt_groups_fini(&per.kernels);
	gt_groups_fini(&per.parts);
	return rc;
}

GT_USAGE_BUILD(per_step)
{
	return build(report, job, filter, true, ret_table);
}

GT_USAGE_BUILD(per_rank)
{
	return build(report, job, filter, false, ret_table);
}
