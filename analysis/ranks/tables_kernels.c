/* SPDX-License-Identifier: Apache-2.0
 *
 * See tables.h: what the ranks' kernels tell, collectives and others.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/ranks/tables.h"
#include "trace/communication.h"
#include "trace/meetings.h"

static const struct gt_column collective_columns[] = {
	{"name", "Collective", "collective", GT_COLUMN_TEXT},
	{"size", "Size (MB)", "size", GT_COLUMN_BYTES},
	{"ranks", "Ranks", "ranks", GT_COLUMN_COUNT},
	{"count", "Count", "count", GT_COLUMN_COUNT},
	{"skew", "Med Skew (ns)", "median skew", GT_COLUMN_TIME},
	{"max_skew", "Max Skew (ns)", "max skew", GT_COLUMN_TIME},
	{"waited", "Waited (ns)", "waited", GT_COLUMN_TIME},
	{"min", "Min Transfer (ns)", "min transfer", GT_COLUMN_TIME},
	{"transfer", "Med Transfer (ns)", "median transfer", GT_COLUMN_TIME},
	{"rate", "Algorithm GB/s", "GB/s", GT_COLUMN_NUMBER},
	{"bus", "Bus GB/s", "bus GB/s", GT_COLUMN_NUMBER},
};

static const struct gt_column kernel_columns[] = {
	{"excess", "Excess (ns)", "excess", GT_COLUMN_TIME},
	{"imbalance", "Imbalance (%)", "imbalance", GT_COLUMN_PERCENT},
	{"mean", "Avg Per Rank (ns)", "mean per rank", GT_COLUMN_TIME},
	{"max", "Slowest (ns)", "slowest", GT_COLUMN_TIME},
	{"slowest", "Slowest Rank", "slowest rank", GT_COLUMN_TEXT},
	{"ranks", "Ranks", "ranks", GT_COLUMN_COUNT},
	{"name", "Name", "name", GT_COLUMN_CODE},
};

#define COLUMNS(table) (sizeof(table) / sizeof((table)[0]))

enum { TRANSFER }; /* of other[] */
enum { TAG_BYTES, TAG_RANKS, TAG_WAITED, TAG_SIZE };

/* Bytes on the busiest link for each of the message, by n ranks: nccl-tests' PERFORMANCE.md. */
static double bus_factor(const char *collective, double n)
{
	static const struct {
		const char *name;
		double all, others; /* all + others * (n - 1) / n */
	} factors[] = {
		{"AllReduce", 0, 2}, {"AllGather", 0, 1}, {"ReduceScatter", 0, 1},
		{"AllToAll", 0, 1},  {"Broadcast", 1, 0}, {"Reduce", 1, 0},
		{"SendRecv", 1, 0},
	};

	for (size_t i = 0; i < COLUMNS(factors); i++)
		if (!strcmp(factors[i].name, collective))
			return factors[i].all + factors[i].others * (n - 1) / n;
	return 0;
}

/* Of the communicator; else of the job, 0: not known. */
static uint32_t size_of_group(const struct gt_model *model, const struct gt_op *op)
{
	uint32_t size =
		op->comm >= GT_COMM_GROUPS ? model->group_size[op->comm - GT_COMM_GROUPS] : 0;
	int64_t world = model->reading.header.world_size;

	return size ? size : world > 0 && world < UINT32_MAX ? (uint32_t)world : 0;
}

static int add_round(const struct gt_ranks *ranks, const struct gt_round *round,
		     struct gt_groups *groups)
{
	const struct gt_round_member *member = &ranks->rounds.members.at[round->first];
	const struct gt_model *model = &ranks->job->models[member->model];
	struct gt_op op = gt_meeting_op(model, member->op);
	struct gt_group *group;
	uint32_t size = size_of_group(model, &op);
	char key[320];

	/* size and members behind the name: one row for each */
	snprintf(key, sizeof(key), "%s\n%" PRId64 "\n%u\n%u",
		 gt_communication_collective(gt_model_name(model, op.name)).name, op.bytes,
		 round->count, size);
	group = gt_groups_get(groups, key);
	if (!group || !gt_dist_add(&group->value, round->arrived - round->earliest) ||
	    !gt_dist_add(&group->other[TRANSFER],
			 round->end > round->arrived ? round->end - round->arrived : 0))
		return -ENOMEM;
	group->tag[TAG_BYTES] = op.bytes;
	group->tag[TAG_RANKS] = round->count;
	group->tag[TAG_SIZE] = size;
	for (uint32_t i = 0; i < round->count; i++)
		group->tag[TAG_WAITED] += gt_round_wait(round, &member[i]);
	return 0;
}

/* A rate needs the size of the message, that of the bus all members. */
static void put_rates(const struct gt_group *group, const char *name, double transfer,
		      bool is_whole, struct gt_table *table)
{
	double rate = transfer > 0 ? (double)group->tag[TAG_BYTES] / transfer : 0;
	double factor = bus_factor(name, (double)group->tag[TAG_RANKS]);

	if (group->tag[TAG_BYTES] <= 0 || transfer <= 0) {
		gt_table_absent(table, "-");
		gt_table_absent(table, "-");
		return;
	}
	gt_table_number(table, rate);
	if (is_whole && factor > 0)
		gt_table_number(table, rate * factor);
	else
		gt_table_absent(table, "-");
}

static void put_collective(const struct gt_ranks *ranks, const struct gt_groups *groups,
			   struct gt_group *group, struct gt_table *table)
{
	struct gt_moments skew = gt_dist_moments(&group->value);
	struct gt_moments transfer = gt_dist_moments(&group->other[TRANSFER]);
	char name[320];

	snprintf(name, sizeof(name), "%s", gt_group_name(groups, group));
	name[strcspn(name, "\n")] = 0;
	gt_table_text(table, name);
	if (group->tag[TAG_BYTES] > 0)
		gt_table_number(table, (double)group->tag[TAG_BYTES]);
	else
		gt_table_absent(table, "-");
	gt_table_number(table, (double)group->tag[TAG_RANKS]);
	gt_table_number(table, (double)skew.count);
	gt_table_number(table, skew.median);
	gt_table_number(table, (double)skew.max);
	gt_table_number(table, (double)group->tag[TAG_WAITED]);
	gt_table_number(table, (double)transfer.min);
	gt_table_number(table, transfer.median);
	put_rates(group, name, transfer.median, group->tag[TAG_RANKS] == group->tag[TAG_SIZE],
		  table);
}

int gt_ranks_collectives(const struct gt_ranks *ranks, struct gt_table *ret_table)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups);

	gt_table_init(ret_table, "rank_collectives", "Collectives: how far apart the ranks came",
		      collective_columns, COLUMNS(collective_columns));
	for (size_t i = 0; !rc && i < ranks->rounds.all.count; i++)
		rc = add_round(ranks, &ranks->rounds.all.at[i], &groups);
	for (size_t i = 0; !rc && i < groups.list.count; i++)
		put_collective(ranks, &groups, &groups.list.at[i], ret_table);
	gt_groups_fini(&groups);
	return rc ? rc : gt_table_sort(ret_table, "waited");
}

enum { TAG_MAX, TAG_SLOWEST };

static int add_kernels(const struct gt_ranks *ranks, size_t f, struct gt_groups *groups)
{
	const struct gt_model *model = &ranks->job->models[f];

	for (size_t i = 0; i < ranks->excerpts[f].kernels.count; i++) {
		const struct gt_rank_time *kernel = &ranks->excerpts[f].kernels.at[i];
		struct gt_group *group = gt_groups_get(groups, gt_model_name(model, kernel->name));

		if (!group || !gt_dist_add(&group->value, kernel->time))
			return -ENOMEM;
		if (kernel->time > group->tag[TAG_MAX]) {
			group->tag[TAG_MAX] = kernel->time;
			group->tag[TAG_SLOWEST] = (int64_t)f;
		}
	}
	return 0;
}

static void put_kernel(const struct gt_ranks *ranks, const struct gt_groups *groups,
		       struct gt_group *group, struct gt_table *table)
{
	struct gt_moments m = gt_dist_moments(&group->value);
	char text[64];

	if (m.count < 2)
		return;
	gt_key_of_place(&ranks->job->models[group->tag[TAG_SLOWEST]], "", text, sizeof(text));
	gt_table_number(table, (double)m.max - m.mean);
	gt_table_number(table, m.mean > 0 ? ((double)m.max / m.mean - 1) * 100 : 0);
	gt_table_number(table, m.mean);
	gt_table_number(table, (double)m.max);
	gt_table_text(table, text);
	gt_table_number(table, (double)m.count);
	gt_table_text(table, gt_group_name(groups, group));
}

int gt_ranks_kernels(const struct gt_ranks *ranks, struct gt_table *ret_table)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups);

	gt_table_init(ret_table, "rank_kernels", "Kernels: how unevenly the ranks take them",
		      kernel_columns, COLUMNS(kernel_columns));
	for (size_t f = 0; !rc && f < ranks->job->count; f++)
		if (!ranks->rounds.is_repeat[f])
			rc = add_kernels(ranks, f, &groups);
	for (size_t i = 0; !rc && i < groups.list.count; i++)
		put_kernel(ranks, &groups, &groups.list.at[i], ret_table);
	gt_groups_fini(&groups);
	return rc ? rc : gt_table_sort(ret_table, "excess");
}
