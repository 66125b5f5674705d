/* SPDX-License-Identifier: Apache-2.0
 *
 * See usage.h: durations by powers of two. Pure over constant models; one thread per table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/usage/usage.h"

#define BINS GT_DIST_POWERS
#define BAR  20 /* characters of a bar */

static const struct gt_column columns[] = {
	{"from", "From (ns)", "from", GT_COLUMN_TIME},
	{"to", "To (ns)", "below", GT_COLUMN_TIME},
	{"count", "Instances", "count", GT_COLUMN_COUNT},
	{"share", "Instances (%)", "share", GT_COLUMN_PERCENT},
	{"bar", NULL, "", GT_COLUMN_TEXT},
	{"name", "Name", "name", GT_COLUMN_CODE},
};

static int by_total(const void *a, const void *b)
{
	const struct gt_group *x = a, *y = b;
	int64_t p = gt_dist_total(&x->value), q = gt_dist_total(&y->value);

	if (p != q)
		return p > q ? -1 : 1;
	return x->trace != y->trace ? (x->trace < y->trace ? -1 : 1)
				    : (x->place < y->place ? -1 : x->place > y->place);
}

static void put_group(struct gt_table *table, const struct gt_groups *groups,
		      const struct gt_group *group)
{
	uint64_t bins[BINS] = {0}, most = 0;
	char bar[BAR + 1];

	gt_dist_powers(&group->value, bins);
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
		gt_table_number(table,
				(double)bins[i] * 100 / (double)gt_dist_count(&group->value));
		gt_table_text(table, bar);
		gt_table_text(table, gt_group_name(groups, group));
	}
}

static int fill(const struct gt_report *report, struct gt_groups *groups,
		struct gt_table *ret_table)
{
	gt_table_init(ret_table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	if (groups->list.count)
		qsort(groups->list.at, groups->list.count, sizeof(*groups->list.at), by_total);
	for (size_t i = 0; i < groups->list.count; i++)
		put_group(ret_table, groups, &groups->list.at[i]);
	return 0;
}

struct gt_report gt_usage_histogram(enum gt_key key)
{
	return (struct gt_report){
		.name = "gpu_duration_hist",
		.title = "Durations of GPU operations",
		.build = gt_stats_by_groups,
		.map = gt_stats_map_ops,
		.fill = fill,
		.key = key,
		.kinds = ~0u,
	};
}
