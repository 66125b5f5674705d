/* SPDX-License-Identifier: Apache-2.0
 *
 * The reports of run --libraries=mpi: calls of MPI by function (mpi_sum), and what each rank has
 * sent to which (mpi_peer_sum). Pure over constant models; one thread per table.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/usage/reports.h"
#include "core/mpi/mpi_call.h"

static const struct gt_column call_columns[] = {
	{"share", "Time (%)", "time", GT_COLUMN_PERCENT},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"count", "Num Calls", "calls", GT_COLUMN_COUNT},
	{"mean", "Avg (ns)", "mean", GT_COLUMN_MEAN},
	{"median", "Med (ns)", "median", GT_COLUMN_MEAN},
	{"min", "Min (ns)", "min", GT_COLUMN_TIME},
	{"max", "Max (ns)", "max", GT_COLUMN_TIME},
	{"stddev", "StdDev (ns)", NULL, GT_COLUMN_MEAN},
	{"sent", "Sent (MB)", "sent", GT_COLUMN_BYTES},
	{"received", "Received (MB)", "received", GT_COLUMN_BYTES},
	{"failed", "Failed", "failed", GT_COLUMN_COUNT},
	{"name", "Name", "call", GT_COLUMN_TEXT},
};

static const struct gt_column peer_columns[] = {
	{"count", "Messages", "messages", GT_COLUMN_COUNT},
	{"bytes", "Sent (MB)", "sent", GT_COLUMN_BYTES},
	{"mean", "Avg (MB)", "mean", GT_COLUMN_BYTES},
	{"rank", "Rank", "rank", GT_COLUMN_TEXT},
	{"peer", "To", "to", GT_COLUMN_TEXT},
};

enum { TAG_SENT, TAG_RECEIVED, TAG_FAILED };

static int add_call(const struct gt_model *model, const struct gt_model_mpi_call *call,
		    struct gt_groups *groups)
{
	struct gt_group *group = gt_groups_get(groups, gt_model_name(model, call->name));

	if (!group || !gt_dist_add(&group->value, call->dur))
		return -ENOMEM;
	group->tag[TAG_SENT] += call->has_failed ? 0 : call->sent;
	group->tag[TAG_RECEIVED] += call->has_failed ? 0 : call->received;
	group->tag[TAG_FAILED] += call->has_failed;
	return 0;
}

/* Each call of the job that the filter lets pass. */
static int each(const struct gt_job *job, const struct gt_filter *filter,
		int (*add)(const struct gt_model *model, const struct gt_model_mpi_call *call,
			   struct gt_groups *groups),
		struct gt_groups *groups)
{
	int rc = 0;

	for (size_t f = 0; f < job->count; f++) {
		groups->trace = gt_job_order(job, f);
		for (size_t i = 0; !rc && i < job->models[f].mpi_calls.count; i++) {
			const struct gt_model_mpi_call *call = &job->models[f].mpi_calls.at[i];

			if (gt_filter_mpi_call(filter, &job->models[f], call))
				rc = add(&job->models[f], call, groups);
		}
	}
	return rc;
}

static void put_calls(const struct gt_groups *groups, struct gt_table *table)
{
	double total = 0;

	for (size_t i = 0; i < groups->list.count; i++)
		total += (double)gt_dist_moments(&groups->list.at[i].value).total;
	for (size_t i = 0; i < groups->list.count; i++) {
		struct gt_group *group = &groups->list.at[i];
		struct gt_moments m = gt_dist_moments(&group->value);

		gt_table_number(table, total > 0 ? (double)m.total * 100 / total : 0);
		gt_table_number(table, (double)m.total);
		gt_table_number(table, (double)m.count);
		gt_table_number(table, m.mean);
		gt_table_number(table, m.median);
		gt_table_number(table, (double)m.min);
		gt_table_number(table, (double)m.max);
		gt_table_number(table, m.stddev);
		gt_table_number(table, (double)group->tag[TAG_SENT]);
		gt_table_number(table, (double)group->tag[TAG_RECEIVED]);
		gt_table_number(table, (double)group->tag[TAG_FAILED]);
		gt_table_text(table, gt_group_name(groups, group));
	}
	gt_table_sort(table, "total");
}

GT_USAGE_MAP(mpi_calls)
{
	return each(job, filter, add_call, groups);
}

GT_USAGE_FILL(mpi_calls)
{
	gt_table_init(ret_table, report->name, report->title, call_columns,
		      sizeof(call_columns) / sizeof(call_columns[0]));
	put_calls(groups, ret_table);
	return 0;
}

/* ---- who sends to whom ---- */

/* A communicator's rank: its process is known by what it says of itself there. */
static void put_member(char *out, size_t size, uint64_t communicator, uint32_t rank)
{
	snprintf(out, size, "%" PRIx64 " %u", communicator, rank);
}

static int add_member(const struct gt_model *model, const struct gt_model_mpi_call *call,
		      struct gt_groups *members)
{
	char key[48];
	struct gt_group *group;

	if (!call->communicator || !call->rank)
		return 0;
	put_member(key, sizeof(key), call->communicator, call->rank - 1);
	group = gt_groups_get(members, key);
	if (!group)
		return -ENOMEM;
	group->tag[0] = model->rank;
	return 0;
}

static bool is_message(const struct gt_model_mpi_call *call)
{
	enum gt_mpi_class class = gt_mpi_class_of(call->function);

	return call->peer && !call->has_failed && call->communicator &&
	       (class == GT_MPI_CLASS_SEND || class == GT_MPI_CLASS_SENDRECV);
}

/* Key: rank, peer; a peer whose process has said nothing there by its rank in the communicator. */
static int add_message(const struct gt_model *model, const struct gt_model_mpi_call *call,
		       struct gt_groups *members, struct gt_groups *groups)
{
	char key[96], to[48];
	struct gt_group *group;
	size_t before = members->list.count;

	put_member(key, sizeof(key), call->communicator, call->peer - 1);
	group = gt_groups_get(members, key);
	if (!group)
		return -ENOMEM;
	if (members->list.count > before)
		group->tag[0] = -1;
	if (group->tag[0] >= 0)
		snprintf(to, sizeof(to), "rank %" PRId64, group->tag[0]);
	else
		snprintf(to, sizeof(to), "%u of 0x%016" PRIx64, call->peer - 1, call->communicator);
	snprintf(key, sizeof(key), "rank %d\n%s", model->rank, to);
	group = gt_groups_get(groups, key);
	if (!group || !gt_dist_add(&group->value, call->sent))
		return -ENOMEM;
	return 0;
}

static void put_peers(const struct gt_groups *groups, struct gt_table *table)
{
	for (size_t i = 0; i < groups->list.count; i++) {
		struct gt_group *group = &groups->list.at[i];
		struct gt_moments m = gt_dist_moments(&group->value);
		const char *name = gt_group_name(groups, group);
		size_t length = strcspn(name, "\n");
		char rank[48];

		snprintf(rank, sizeof(rank), "%.*s", (int)length, name);
		gt_table_number(table, (double)m.count);
		gt_table_number(table, (double)m.total);
		gt_table_number(table, m.mean);
		gt_table_text(table, rank);
		gt_table_text(table, name + length + 1);
	}
	gt_table_sort(table, "bytes");
}

GT_USAGE_BUILD(mpi_peers)
{
	static const struct gt_filter all = {0};
	struct gt_groups members, groups;
	int rc = gt_groups_init(&members);

	if (!gt_groups_init(&groups) && !rc)
		rc = each(job, &all, add_member, &members);
	for (size_t f = 0; f < job->count; f++)
		for (size_t i = 0; !rc && i < job->models[f].mpi_calls.count; i++) {
			const struct gt_model_mpi_call *call = &job->models[f].mpi_calls.at[i];

			if (is_message(call) && gt_filter_mpi_call(filter, &job->models[f], call))
				rc = add_message(&job->models[f], call, &members, &groups);
		}
	gt_table_init(ret_table, report->name, report->title, peer_columns,
		      sizeof(peer_columns) / sizeof(peer_columns[0]));
	if (!rc)
		put_peers(&groups, ret_table);
	gt_groups_fini(&members);
	gt_groups_fini(&groups);
	return rc;
}
