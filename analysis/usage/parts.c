/* SPDX-License-Identifier: Apache-2.0
 *
 * Use of the GPUs by stream, step and rank: unions of time on each device of each process, summed
 * over devices. Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/cover.h"
#include "analysis/group.h"
#include "analysis/usage/reports.h"

/* What one device of one process did for a row. */
struct parts_set {
	uint32_t row; /* in the groups */
	struct gt_cover all, compute, comm, copy;
	int64_t both; /* compute and comm at the same time */
	int64_t first, last;
};

/* A row: sums over its sets, ns. */
struct parts_row {
	int64_t span, busy, compute, copy, comm, exposed, total;
	uint64_t count;
};

struct parts_all {
	struct gt_groups sets; /* names: row, process, device; tag[0]: index in set + 1 */
	struct gt_groups rows; /* index in list: of a row */
	GT_VEC(struct parts_set) set;
	GT_VEC(struct parts_row) row;
};

static const struct gt_column columns[] = {
	{"count", "Operations", "count", GT_COLUMN_COUNT},
	{"span", "Span (ns)", "span", GT_COLUMN_TIME},
	{"busy", "Busy (ns)", "busy", GT_COLUMN_TIME},
	{"busy_share", "Busy (%)", "of span", GT_COLUMN_PERCENT},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"compute", "Compute (ns)", "compute", GT_COLUMN_TIME},
	{"copies", "Copies (ns)", "copies", GT_COLUMN_TIME},
	{"comm", "Communication (ns)", "comm.", GT_COLUMN_TIME},
	{"exposed", "Exposed Communication (ns)", "exposed", GT_COLUMN_TIME},
	{"exposed_share", "Exposed (%)", "of comm.", GT_COLUMN_PERCENT},
	{"name", "Name", "name", GT_COLUMN_TEXT},
};

static struct parts_set *set_of(struct parts_all *parts, const struct gt_model *model, size_t file,
				const struct gt_op *op, enum gt_key key)
{
	char name[1024], text[1100];
	struct gt_group *row, *set;

	gt_key_of_op(model, op, key, name, sizeof(name));
	row = gt_groups_get(&parts->rows, name);
	if (!row)
		return NULL;
	if (parts->row.count < parts->rows.list.count &&
	    !gt_vec_push(&parts->row, ((struct parts_row){0})))
		return NULL;
	snprintf(text, sizeof(text), "%zu %zu %u", (size_t)(row - parts->rows.list.at), file,
		 op->device);
	set = gt_groups_get(&parts->sets, text);
	if (!set)
		return NULL;
	if (!set->tag[0]) {
		if (!gt_vec_push(&parts->set,
				 ((struct parts_set){.row = (uint32_t)(row - parts->rows.list.at),
						     .all = GT_COVER_EMPTY,
						     .compute = GT_COVER_EMPTY,
						     .comm = GT_COVER_EMPTY,
						     .copy = GT_COVER_EMPTY,
						     .first = op->start,
						     .last = op->start + op->dur})))
			return NULL;
		set->tag[0] = (int64_t)parts->set.count;
	}
	return &parts->set.at[set->tag[0] - 1];
}

/* Operations come in the order of their starts. */
static void cover(struct parts_set *set, const struct gt_op *op)
{
	bool is_comm = op->kind == GT_OP_KERNEL && op->comm;
	struct gt_cover *kind = op->kind != GT_OP_KERNEL ? &set->copy
				: is_comm                ? &set->comm
							 : &set->compute;
	int64_t end = op->start + op->dur, from;

	gt_cover_add(&set->all, op->start, end);
	if (op->kind == GT_OP_GRAPH)
		return;
	from = gt_cover_add(kind, op->start, end);
	if (op->kind == GT_OP_KERNEL)
		set->both += gt_cover_common(is_comm ? &set->compute : &set->comm, from, end);
}

static int add_op(struct parts_all *parts, const struct gt_model *model, size_t file,
		  const struct gt_op *op, enum gt_key key)
{
	struct parts_set *set = set_of(parts, model, file, op, key);
	int64_t end = op->start + op->dur;

	if (!set)
		return -ENOMEM;
	if (op->start < set->first)
		set->first = op->start;
	if (end > set->last)
		set->last = end;
	parts->row.at[set->row].count++;
	parts->row.at[set->row].total += op->dur;
	cover(set, op);
	return 0;
}

/* Adds a set to its row. */
static void measure(struct parts_all *parts, const struct parts_set *set)
{
	struct parts_row *row = &parts->row.at[set->row];

	row->span += set->last - set->first;
	row->busy += set->all.total;
	row->compute += set->compute.total;
	row->copy += set->copy.total;
	row->comm += set->comm.total;
	row->exposed += set->comm.total - set->both;
}

static double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part * 100 / (double)whole : 0;
}

static void put_row(struct gt_table *table, const struct parts_row *row, const char *name)
{
	gt_table_number(table, (double)row->count);
	gt_table_number(table, (double)row->span);
	gt_table_number(table, (double)row->busy);
	gt_table_number(table, percent(row->busy, row->span));
	gt_table_number(table, (double)row->total);
	gt_table_number(table, (double)row->compute);
	gt_table_number(table, (double)row->copy);
	gt_table_number(table, (double)row->comm);
	gt_table_number(table, (double)row->exposed);
	if (row->comm)
		gt_table_number(table, percent(row->exposed, row->comm));
	else
		gt_table_absent(table, "-");
	gt_table_text(table, name);
}

static int collect(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		   struct parts_all *parts)
{
	int rc = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++)
			if (gt_filter_op(filter, model, gt_model_op_at(model, i)))
				rc = add_op(parts, model, f, gt_model_op_at(model, i), key);
	}
	return rc;
}

static int build(const struct gt_report *report, const struct gt_job *job,
		 const struct gt_filter *filter, enum gt_key key, struct gt_table *table)
{
	struct parts_all parts = {0};
	int rc = gt_groups_init(&parts.sets);

	if (!rc)
		rc = gt_groups_init(&parts.rows);
	gt_table_init(table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	if (!rc)
		rc = collect(job, filter, key, &parts);
	for (size_t i = 0; i < parts.set.count; i++)
		measure(&parts, &parts.set.at[i]);
	for (size_t i = 0; !rc && i < parts.row.count; i++)
		put_row(table, &parts.row.at[i],
			gt_group_name(&parts.rows, &parts.rows.list.at[i]));
	gt_table_sort(table, "busy");
	gt_groups_fini(&parts.sets);
	gt_groups_fini(&parts.rows);
	gt_vec_free(&parts.set);
	gt_vec_free(&parts.row);
	return rc;
}

GT_USAGE_BUILD(streams)
{
	return build(report, job, filter, GT_KEY_STREAM, ret_table);
}

GT_USAGE_BUILD(steps)
{
	return build(report, job, filter, GT_KEY_STEP, ret_table);
}

GT_USAGE_BUILD(ranks)
{
	return build(report, job, filter, GT_KEY_RANK, ret_table);
}
