/* SPDX-License-Identifier: Apache-2.0
 *
 * The report osrt_sum: calls of the operating system by name (run --osrt), and where most of their
 * time was spent. Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/place.h"
#include "analysis/group.h"
#include "analysis/usage/reports.h"

#define COLUMNS(...)                                                                               \
	{                                                                                          \
		{"share", "Time (%)", "time", GT_COLUMN_PERCENT},                                  \
			{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},                     \
			{"count", "Num Calls", "calls", GT_COLUMN_COUNT},                          \
			{"mean", "Avg (ns)", "mean", GT_COLUMN_MEAN},                              \
			{"median", "Med (ns)", "median", GT_COLUMN_MEAN},                          \
			__VA_ARGS__{"min", "Min (ns)", "min", GT_COLUMN_TIME},                     \
			{"max", "Max (ns)", "max", GT_COLUMN_TIME},                                \
			{"stddev", "StdDev (ns)", NULL, GT_COLUMN_MEAN},                           \
			{"bytes", "Total (MB)", "bytes", GT_COLUMN_BYTES},                         \
			{"failed", "Failed", "failed", GT_COLUMN_COUNT},                           \
			{"name", "Name", "call", GT_COLUMN_TEXT},                                  \
			{"site_total", "Top Call Site (ns)", "of that", GT_COLUMN_TIME},           \
			{"site", "Top Call Site", "most time in", GT_COLUMN_TEXT},                 \
	}

static const struct gt_column columns[] = COLUMNS();
static const struct gt_column percentiles[] = COLUMNS({"p90", "P90 (ns)", "p90", GT_COLUMN_MEAN},
						      {"p99", "P99 (ns)", "p99", GT_COLUMN_MEAN}, );
#define WIDTH      (sizeof(columns) / sizeof(columns[0]))

#define NAME_BYTES 1024 /* of a call's name that tell it from others */

/* What a group of calls has besides its durations. */
enum { TAG_BYTES, TAG_MOVES, TAG_FAILED, TAG_BEST, TAG_SITE };

/* Of a place: TAG_BEST is its time, TAG_SITE the group of its calls. */
struct os_calls_sum {
	struct gt_groups calls; /* by name */
	struct gt_groups sites; /* by name and place */
	uint32_t *place;        /* by stack of the model in hand: name in places + 1 */
	struct gt_names places;
};

/* Where it was called; "" where the trace has no stack. Looked for once for each stack. */
static const char *place_of(struct os_calls_sum *sum, const struct gt_model *model, uint32_t stack)
{
	char text[2048];
	bool is_data;

	if (stack >= model->stacks.count)
		return "";
	if (!sum->place[stack]) {
		gt_gaps_place(model, stack, text, sizeof(text), &is_data);
		sum->place[stack] = gt_names_put(&sum->places, text, strlen(text)) + 1;
	}
	return gt_names_get(&sum->places, sum->place[stack] - 1);
}

static int add_call(struct os_calls_sum *sum, const struct gt_model *model,
		    const struct gt_model_os_call *call)
{
	const char *name = gt_model_name(model, call->name);
	struct gt_group *group = gt_groups_get(&sum->calls, name), *site;
	char key[4096];

	if (!group || !gt_dist_add(&group->value, call->dur))
		return -ENOMEM;
	if (call->bytes != GT_NO_BYTES) {
		group->tag[TAG_BYTES] += call->bytes;
		group->tag[TAG_MOVES]++;
	}
	group->tag[TAG_FAILED] += call->error != 0;
	snprintf(key, sizeof(key), "%.*s\n%s", NAME_BYTES, name, place_of(sum, model, call->stack));
	site = gt_groups_get(&sum->sites, key);
	if (!site)
		return -ENOMEM;
	site->tag[TAG_BEST] += call->dur;
	site->tag[TAG_SITE] = group - sum->calls.list.at;
	return 0;
}

static int add_model(struct os_calls_sum *sum, const struct gt_model *model,
		     const struct gt_filter *filter)
{
	int rc = 0;

	sum->place = calloc(model->stacks.count + 1, sizeof(*sum->place));
	if (!sum->place)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < model->os_calls.count; i++)
		if (gt_filter_os_call(filter, model, &model->os_calls.at[i]))
			rc = add_call(sum, model, &model->os_calls.at[i]);
	free(sum->place);
	return rc;
}

/* Of places with the same time the first one. */
static void choose_sites(struct os_calls_sum *sum)
{
	for (size_t i = 0; i < sum->sites.list.count; i++) {
		const struct gt_group *site = &sum->sites.list.at[i];
		struct gt_group *call = &sum->calls.list.at[site->tag[TAG_SITE]];

		if (call->tag[TAG_SITE] && site->tag[TAG_BEST] <= call->tag[TAG_BEST])
			continue;
		call->tag[TAG_BEST] = site->tag[TAG_BEST];
		call->tag[TAG_SITE] = (int64_t)i + 1;
	}
}

static void put_site(const struct os_calls_sum *sum, const struct gt_group *call,
		     struct gt_table *table)
{
	const struct gt_group *site = &sum->sites.list.at[call->tag[TAG_SITE] - 1];
	size_t name = strnlen(gt_group_name(&sum->calls, call), NAME_BYTES);
	const char *place = gt_group_name(&sum->sites, site) + name + 1;

	if (*place)
		gt_table_number(table, (double)call->tag[TAG_BEST]);
	else
		gt_table_absent(table, "-");
	gt_table_text(table, place);
}

static void put_row(const struct os_calls_sum *sum, struct gt_group *call, double total,
		    bool has_percentiles, struct gt_table *table)
{
	struct gt_moments m = gt_dist_moments(&call->value);

	gt_table_number(table, total > 0 ? (double)m.total * 100 / total : 0);
	gt_table_number(table, (double)m.total);
	gt_table_number(table, (double)m.count);
	gt_table_number(table, m.mean);
	gt_table_number(table, m.median);
	if (has_percentiles) {
		gt_table_number(table, m.p90);
		gt_table_number(table, m.p99);
	}
	gt_table_number(table, (double)m.min);
	gt_table_number(table, (double)m.max);
	gt_table_number(table, m.stddev);
	if (call->tag[TAG_MOVES])
		gt_table_number(table, (double)call->tag[TAG_BYTES]);
	else
		gt_table_absent(table, "-");
	gt_table_number(table, (double)call->tag[TAG_FAILED]);
	gt_table_text(table, gt_group_name(&sum->calls, call));
	put_site(sum, call, table);
}

static void fill(struct os_calls_sum *sum, bool has_percentiles, struct gt_table *table)
{
	double total = 0;

	choose_sites(sum);
	for (size_t i = 0; i < sum->calls.list.count; i++)
		total += (double)gt_dist_moments(&sum->calls.list.at[i].value).total;
	for (size_t i = 0; i < sum->calls.list.count; i++)
		put_row(sum, &sum->calls.list.at[i], total, has_percentiles, table);
	gt_table_sort(table, "total");
}

GT_USAGE_BUILD(os_calls)
{
	struct os_calls_sum sum = {.place = NULL};
	int rc = gt_groups_init(&sum.calls);

	if (!rc)
		rc = gt_groups_init(&sum.sites);
	if (!rc)
		rc = gt_names_init(&sum.places);
	for (size_t f = 0; !rc && f < job->count; f++)
		rc = add_model(&sum, &job->models[f], filter);
	gt_table_init(ret_table, report->name, report->title,
		      report->percentiles ? percentiles : columns,
		      WIDTH + (report->percentiles ? 2 : 0));
	if (!rc)
		fill(&sum, report->percentiles, ret_table);
	gt_groups_fini(&sum.calls);
	gt_groups_fini(&sum.sites);
	gt_names_fini(&sum.places);
	return rc;
}
