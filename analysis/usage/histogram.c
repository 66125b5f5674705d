/* SPDX-License-Identifier: Apache-2.0
 *
 * See usage.h: durations by powers of two. Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/key_group.h"
#include "analysis/usage/usage.h"

#define BINS 64
#define BAR  20 /* characters of a bar */

static const struct gt_column columns[] = {
	{"from", "From (ns)", "from", GT_COLUMN_TIME},
	{"to", "To (ns)", "below", GT_COLUMN_TIME},
	{"count", "Instances", "count", GT_COLUMN_COUNT},
	{"share", "Instances (%)", "share", GT_COLUMN_PERCENT},
	{"bar", NULL, "", GT_COLUMN_TEXT},
	{"name", "Name", "name", GT_COLUMN_CODE},
};

/* Bin 0 holds 0 and 1 ns, bin n from 2^n up to 2^(n+1). */
static size_t bin_of(int64_t ns)
{
	size_t bin = 0;

	while (bin + 1 < BINS && ns >> (bin + 1))
		bin++;
	return bin;
}

static int64_t total_of(const struct gt_group *group)
{
	int64_t total = 0;

	for (size_t i = 0; i < group->value.count; i++)
		total += group->value.at[i];
	return total;
}

static int by_total(const void *a, const void *b)
{
	const struct gt_group *x = a, *y = b;
	int64_t p = total_of(x), q = total_of(y);

	return p != q ? (p > q ? -1 : 1) : x->name < y->name ? -1 : x->name > y->name;
}

static void put_group(struct gt_table *table, const struct gt_groups *groups,
		      const struct gt_group *group)
{
	uint64_t bins[BINS] = {0}, most = 0;
	char bar[BAR + 1];

	for (size_t i = 0; i < group->value.count; i++)
		bins[bin_of(group->value.at[i])]++;
	for (size_t i = 0; i < BINS; i++)
		most = bins[i] > most ? bins[i] : most;
	for (size_t i = 0; i < BINS; i++) {
		size_t length = (size_t)((double)bins[i] * BAR / (double)most + 0.5);

		if (!bins[i])
			continue;
		memset(bar, '#', length);
		bar[length] = 0;
		gt_table_number(table, i ? (double)(UINT64_C(1) << i) : 0);
		gt_table_number(table, i + 1 < BINS ? (double)(UINT64_C(1) << (i + 1)) : 0x1p64);
		gt_table_number(table, (double)bins[i]);
		gt_table_number(table, (double)bins[i] * 100 / (double)group->value.count);
		gt_table_text(table, bar);
		gt_table_text(table, gt_group_name(groups, group));
	}
}

static int collect(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		   struct gt_groups *groups)
{
	int rc = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];
		struct gt_keymap known = {0};

		for (size_t i = 0; !rc && i < model->ops.count; i++) {
			const struct gt_op *op = &model->ops.at[i];
			struct gt_group *group;

			if (!gt_filter_op(filter, model, op))
				continue;
			group = gt_key_group(model, op, key, &known, groups);
			if (!group || !gt_dist_add(&group->value, op->dur))
				rc = -ENOMEM;
		}
		gt_keymap_fini(&known);
	}
	return rc;
}

int gt_usage_histogram(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		       struct gt_table *ret_table)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups);

	gt_table_init(ret_table, "gpu_duration_hist", "Durations of GPU operations", columns,
		      sizeof(columns) / sizeof(columns[0]));
	if (!rc)
		rc = collect(job, filter, key, &groups);
	if (groups.list.count)
		qsort(groups.list.at, groups.list.count, sizeof(*groups.list.at), by_total);
	for (size_t i = 0; !rc && i < groups.list.count; i++)
		put_group(ret_table, &groups, &groups.list.at[i]);
	gt_groups_fini(&groups);
	return rc;
}
