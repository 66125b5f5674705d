/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header, and usage.h for the table. Pure over constant models; one thread per sum.
 */
#include "analysis/usage/flops.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key_group.h"
#include "analysis/usage/usage.h"
#include "analysis/usage/work.h"
#include "core/schema/ledger.h"

static const struct gt_column columns[] = {
	{"flops", "FLOPs", NULL, GT_COLUMN_COUNT},
	{"gflop", NULL, "GFLOP", GT_COLUMN_NUMBER},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"rate", "TFLOP/s", "TFLOP/s", GT_COLUMN_NUMBER},
	{"peak", "Of Peak (%)", "of peak", GT_COLUMN_PERCENT},
	{"type", "Type", "type", GT_COLUMN_TEXT},
	{"intensity", "FLOP/Byte", "FLOP/byte", GT_COLUMN_NUMBER},
	{"calls", "Calls", "calls", GT_COLUMN_COUNT},
	{"count", "Kernels", "kernels", GT_COLUMN_COUNT},
	{"name", "Name", "name", GT_COLUMN_CODE},
};

/* One kernel, and the call that it works for. */
struct flops_part {
	uint64_t call;
	const struct gt_model_work *work;
	uint32_t op;
};

struct flops_sum {
	const struct gt_filter *filter;
	enum gt_key key;
	const struct gt_header_device *gpu; /* NULL: all */
	struct gt_flops *all;
	GT_VEC(struct flops_part) parts; /* of one model */
};

bool gt_flops_gpus_are_like(const struct gt_header_device *a, const struct gt_header_device *b)
{
	const char *x = a->name ? a->name : "", *y = b->name ? b->name : "";

	return a->major == b->major && a->minor == b->minor && a->sms == b->sms && !strcmp(x, y);
}

const struct gt_header_device *gt_flops_gpu_of(const struct gt_model *model, uint16_t device)
{
	static const struct gt_header_device not_known;
	const struct gt_header_device *gpu = gt_peak_device(model, device);

	return gpu ? gpu : &not_known;
}

static bool is_wanted(const struct flops_sum *sum, const struct gt_model *model,
		      const struct gt_op *op)
{
	if (!gt_filter_op(sum->filter, model, op))
		return false;
	return !sum->gpu || gt_flops_gpus_are_like(gt_flops_gpu_of(model, op->device), sum->gpu);
}

static struct gt_flops_row *row_of(struct flops_sum *sum, const struct gt_group *group)
{
	size_t at;

	if (!group)
		return NULL;
	at = (size_t)(group - sum->all->groups.list.at);
	while (sum->all->rows.count <= at)
		if (!gt_vec_push(&sum->all->rows, ((struct gt_flops_row){0})))
			return NULL;
	return &sum->all->rows.at[at];
}

static void add_part(struct gt_flops_row *row, const struct gt_model *model,
		     const struct flops_part *part, double share)
{
	const struct gt_model_work *work = part->work;
	double peak = gt_peak_of_device(model, gt_model_op_traits(model, part->op)->device,
					(enum gt_work_type)work->type);

	row->mixed |= row->kernels && row->type != (enum gt_work_type)work->type;
	row->type = (enum gt_work_type)work->type;
	row->flops += (double)work->flops * share;
	row->bytes += (double)work->bytes * share;
	row->ns += (double)gt_model_op_at(model, part->op)->dur;
	row->no_bytes |= !work->bytes;
	row->no_peak |= !(peak > 0);
	if (peak > 0)
		row->peak_ns += (double)work->flops * share / peak * 1e9;
	row->calls += !row->kernels || row->last != part->call;
	row->last = part->call;
	row->kernels++;
}

static int by_call(const void *a, const void *b)
{
	const struct flops_part *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

static int find_parts(struct flops_sum *sum, const struct gt_model *model)
{
	sum->parts.count = 0;
	for (size_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		const struct gt_model_work *work = gt_work_of_op(model, op);
		struct flops_part part = {.work = work, .op = (uint32_t)i};

		if (!work || work->overflow)
			continue;
		part.call = gt_work_call(model, work);
		if (!gt_vec_push(&sum->parts, part))
			return -ENOMEM;
	}
	if (sum->parts.count)
		qsort(sum->parts.at, sum->parts.count, sizeof(*sum->parts.at), by_call);
	return 0;
}

/* Those of one call, whose durations are @ns together. */
static int add_call(struct flops_sum *sum, const struct gt_model *model, struct gt_keymap *known,
		    const struct flops_part *parts, size_t count, double ns)
{
	for (size_t i = 0; i < count; i++) {
		const struct gt_op *op = gt_model_op_at(model, parts[i].op);
		double share = ns > 0 ? (double)op->dur / ns : 1.0 / (double)count;
		struct gt_flops_row *row;

		if (!is_wanted(sum, model, op))
			continue;
		row = row_of(sum, gt_key_group(model, op, sum->key, known, &sum->all->groups));
		if (!row)
			return -ENOMEM;
		add_part(row, model, &parts[i], share);
	}
	return 0;
}

static int add_model(struct flops_sum *sum, const struct gt_model *model)
{
	struct gt_keymap known = {0};
	int rc = find_parts(sum, model);

	for (size_t i = 0, end; !rc && i < sum->parts.count; i = end) {
		const struct flops_part *first = &sum->parts.at[i];
		double ns = 0;

		for (end = i; end < sum->parts.count && sum->parts.at[end].call == first->call;
		     end++)
			ns += (double)gt_model_op_at(model, sum->parts.at[end].op)->dur;
		rc = add_call(sum, model, &known, first, end - i, ns);
	}
	gt_keymap_fini(&known);
	return rc;
}

static void put_or_absent(struct gt_table *table, bool is_there, double number)
{
	if (is_there)
		gt_table_number(table, number);
	else
		gt_table_absent(table, "-");
}

static void put_row(struct gt_table *table, const struct gt_flops_row *row, const char *name)
{
	gt_table_number(table, row->flops);
	gt_table_number(table, row->flops / 1e9);
	gt_table_number(table, row->ns);
	put_or_absent(table, row->ns > 0, row->flops / row->ns / 1e3);
	put_or_absent(table, row->ns > 0 && !row->no_peak, row->peak_ns * 100 / row->ns);
	gt_table_text(table, row->mixed ? "several" : gt_peak_type_name(row->type));
	put_or_absent(table, !row->no_bytes && row->bytes > 0, row->flops / row->bytes);
	gt_table_number(table, (double)row->calls);
	gt_table_number(table, (double)row->kernels);
	gt_table_text(table, name);
}

uint64_t gt_usage_flops_too_large(const struct gt_job *job)
{
	uint64_t count = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; i < model->library_work.count; i++)
			count += model->library_work.at[i].overflow;
		for (size_t i = 0; i < model->op_work.count; i++)
			count += model->op_work.at[i].overflow;
	}
	return count;
}

bool gt_usage_flops_recorded(const struct gt_job *job)
{
	char given[512];

	for (size_t i = 0; i < job->count; i++) {
		char *word, *rest = given;

		if (!gt_header_text(&job->models[i].reading.header, "metadata", "options", given,
				    sizeof(given)))
			continue;
		while ((word = strsep(&rest, " ")))
			if (!strncmp(word, "libraries=", 10) && strstr(word, "cu"))
				return true;
	}
	return false;
}

bool gt_usage_flops_unknown(const struct gt_job *job, char *line, size_t size)
{
	static const struct {
		enum gt_ledger_key key;
		const char *why;
	} rows[] = {
		{GT_LEDGER_LIBRARY_UNKNOWN, "with an unknown descriptor"},
		{GT_LEDGER_LIBRARY_FREED, "with a freed descriptor"},
		{GT_LEDGER_LIBRARY_RANGE, "with sizes out of range"},
		{GT_LEDGER_LIBRARY_VERSION, "of an unknown version"},
	};
	int64_t counts[sizeof(rows) / sizeof(rows[0])] = {0}, all = 0;
	size_t n;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t f = 0; f < job->count; f++) {
			int64_t count = 0;

			gt_header_int(&job->models[f].reading.header, "ledger",
				      gt_ledger_rows[rows[i].key].json, &count);
			counts[i] += count;
		}
		all += counts[i];
	}
	n = (size_t)snprintf(line, size, "%" PRId64 ":", all);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (counts[i] && n < size)
			n += (size_t)snprintf(line + n, size - n, "%s %" PRId64 " %s",
					      line[n - 1] == ':' ? "" : ",", counts[i],
					      rows[i].why);
	return all > 0;
}

int gt_flops_build(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		   const struct gt_header_device *gpu, struct gt_flops *ret_flops)
{
	struct flops_sum sum = {.filter = filter, .key = key, .gpu = gpu, .all = ret_flops};
	int rc;

	*ret_flops = (struct gt_flops){0};
	rc = gt_groups_init(&ret_flops->groups);
	for (size_t f = 0; !rc && f < job->count; f++)
		rc = add_model(&sum, &job->models[f]);
	gt_vec_free(&sum.parts);
	return rc;
}

void gt_flops_fini(struct gt_flops *flops)
{
	gt_groups_fini(&flops->groups);
	gt_vec_free(&flops->rows);
}

int gt_usage_flops(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		   struct gt_table *ret_table)
{
	struct gt_flops flops;
	int rc = gt_flops_build(job, filter, key, NULL, &flops);

	gt_table_init(ret_table, "gpu_flops_sum", "FLOPs", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; !rc && i < flops.rows.count; i++)
		if (flops.rows.at[i].kernels)
			put_row(ret_table, &flops.rows.at[i],
				gt_group_name(&flops.groups, &flops.groups.list.at[i]));
	gt_table_sort(ret_table, "flops");
	gt_flops_fini(&flops);
	return rc;
}
