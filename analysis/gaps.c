/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: finding the gaps, and the use of devices. What explains one gap is in gaps_explain.c, the
 * table of causes in gaps_causes.c. Pure over constant models; one thread per set.
 */
#include "analysis/gaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/stats.h"

const char *const gt_cause_names[GT_CAUSE_COUNT_] = {
	[GT_CAUSE_LAUNCH] = "launch latency", [GT_CAUSE_SYNC] = "synchronisation",
	[GT_CAUSE_API] = "CUDA call",         [GT_CAUSE_DATA] = "data loading",
	[GT_CAUSE_HOST] = "host work",        [GT_CAUSE_COPY] = "copy wait",
	[GT_CAUSE_QUEUED] = "queued",         [GT_CAUSE_UNKNOWN] = "unknown",
};

static int find_gaps(const struct gt_model *model, uint16_t device, const struct gt_filter *filter,
		     int64_t min_ns, struct gt_gaps *gaps)
{
	int64_t first = 0, last = 0;
	uint32_t latest = GT_NONE;

	for (uint32_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = &model->ops.at[i];
		int64_t end = op->start + op->dur;

		if (op->device != device || !gt_filter_op(filter, model, op))
			continue;
		if (latest == GT_NONE) {
			first = op->start;
			last = end;
			latest = i;
			continue;
		}
		if (op->start > last) {
			gaps->idle += op->start - last;
			if (op->start - last >= min_ns &&
			    !gt_vec_push(&gaps->list, ((struct gt_gap){model, last, op->start, i,
								       latest, device})))
				return -ENOMEM;
		}
		if (end >= last) {
			last = end;
			latest = i;
		}
	}
	gaps->wall += last - first;
	return 0;
}

int gt_gaps_build(const struct gt_job *job, const struct gt_filter *filter, int64_t min_ns,
		  struct gt_gaps *ret_gaps)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses), rc = count < 0 ? count : 0;

	*ret_gaps = (struct gt_gaps){0};
	for (int i = 0; !rc && i < count; i++)
		rc = find_gaps(uses[i].model, uses[i].device, filter, min_ns, ret_gaps);
	free(uses);
	return rc;
}

void gt_gaps_fini(struct gt_gaps *gaps)
{
	gt_vec_free(&gaps->list);
}

static const struct gt_column device_columns[] = {
	{"device", "Device", "device", GT_COLUMN_TEXT},
	{"wall", "Wall (ns)", "wall", GT_COLUMN_TIME},
	{"busy", "Busy (ns)", NULL, GT_COLUMN_TIME},
	{"busy_share", "Busy (%)", "busy", GT_COLUMN_PERCENT},
	{"idle", "Idle (ns)", NULL, GT_COLUMN_TIME},
	{"idle_share", "Idle (%)", "idle", GT_COLUMN_PERCENT},
	{"kernels", "Kernels (ns)", "kernels", GT_COLUMN_TIME},
	{"copies", "Copies (ns)", "copies", GT_COLUMN_TIME},
	{"comm", "Communication (ns)", "communication", GT_COLUMN_TIME},
	{"kernel_copy", "Kernels And Copies (ns)", "kernels+copies", GT_COLUMN_TIME},
	{"compute_comm", "Compute And Communication (ns)", "compute+comm.", GT_COLUMN_TIME},
};

static int64_t pid_of(const struct gt_model *model)
{
	int64_t pid = -1;

	if (!gt_header_int(&model->reading.header, "metadata", "pid", &pid) && model->threads.count)
		pid = model->threads.at[0].pid;
	return pid;
}

/* Two processes that rank and device do not tell apart. */
static bool same_place(const struct gt_device_use *a, const struct gt_device_use *b)
{
	return a->model != b->model && a->model->rank == b->model->rank && a->device == b->device;
}

static void print_device(const struct gt_device_use *uses, int count, int i, char *out, size_t size)
{
	const struct gt_device_use *use = &uses[i];
	size_t n = (size_t)snprintf(out, size, "rank %d GPU %u", use->model->rank, use->device);

	for (int k = 0; k < count; k++) {
		if (!same_place(use, &uses[k]))
			continue;
		snprintf(out + n, size - n, " pid %" PRId64, pid_of(use->model));
		return;
	}
}

static bool same_host(const struct gt_model *a, const struct gt_model *b)
{
	char one[256], other[256];

	return gt_header_text(&a->reading.header, "metadata", "hostname", one, sizeof(one)) &&
	       gt_header_text(&b->reading.header, "metadata", "hostname", other, sizeof(other)) &&
	       !strcmp(one, other);
}

/* Were both at work in the same time? Their clocks can only be compared with a base. */
static bool overlap(const struct gt_device_use *a, const struct gt_device_use *b)
{
	const struct gt_header *x = &a->model->reading.header, *y = &b->model->reading.header;

	return x->has_base && y->has_base && a->first + x->base_ns < b->last + y->base_ns &&
	       b->first + y->base_ns < a->last + x->base_ns;
}

bool gt_gaps_shared(const struct gt_job *job, const struct gt_filter *filter)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses);
	bool shared = false;

	for (int i = 0; i < count; i++)
		for (int k = i + 1; k < count; k++)
			shared |= same_place(&uses[i], &uses[k]) && overlap(&uses[i], &uses[k]) &&
				  same_host(uses[i].model, uses[k].model);
	free(uses);
	return shared;
}

int gt_gaps_devices(const struct gt_job *job, const struct gt_filter *filter,
		    struct gt_table *ret_table)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses);
	char text[128];

	gt_table_init(ret_table, "gpu_devices",
		      "Use of each device (unions of time; the last two are overlaps)",
		      device_columns, sizeof(device_columns) / sizeof(device_columns[0]));
	for (int i = 0; i < count; i++) {
		const struct gt_device_use *use = &uses[i];
		double wall = (double)(use->last - use->first), busy = (double)use->busy;
		const double cells[] = {
			wall,
			busy,
			wall > 0 ? busy * 100 / wall : 0,
			wall - busy,
			wall > 0 ? (wall - busy) * 100 / wall : 0,
			(double)use->kernel,
			(double)use->copy,
			(double)use->comm,
			(double)use->kernel_copy,
			(double)use->compute_comm,
		};

		print_device(uses, count, i, text, sizeof(text));
		gt_table_text(ret_table, text);
		for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
			gt_table_number(ret_table, cells[k]);
	}
	free(uses);
	return count < 0 ? count : 0;
}

static const struct gt_column peer_columns[] = {
	{"rank", "Rank", "rank", GT_COLUMN_TEXT},
	{"count", "Collectives", "collectives", GT_COLUMN_COUNT},
	{"comm", "Time (ns)", "time", GT_COLUMN_TIME},
	{"wait", "Waiting For Peers (ns)", "waiting for peers", GT_COLUMN_TIME},
	{"share", "Waiting (%)", "share", GT_COLUMN_PERCENT},
	{"last", "Was Last", "was last", GT_COLUMN_COUNT},
};

/* The collectives of one rank in order of time. */
struct rank {
	GT_VEC(const struct gt_op *) ops;
	int64_t total, wait;
	uint64_t last;
};

static int64_t absolute(const struct gt_model *model, const struct gt_op *op)
{
	return op->start + (model->reading.header.has_base ? model->reading.header.base_ns : 0);
}

/* The @nth collective of all ranks: who waited for whom. */
static void compare_ranks(const struct gt_job *job, struct rank *ranks, size_t nth)
{
	int64_t latest = INT64_MIN, earliest = INT64_MAX;
	size_t last = 0;

	for (size_t r = 0; r < job->count; r++) {
		int64_t start = absolute(&job->models[r], ranks[r].ops.at[nth]);

		if (start > latest) {
			latest = start;
			last = r;
		}
		if (start < earliest)
			earliest = start;
	}
	ranks[last].last += latest > earliest;
	for (size_t r = 0; r < job->count; r++) {
		const struct gt_op *op = ranks[r].ops.at[nth];
		int64_t wait = latest - absolute(&job->models[r], op);

		ranks[r].total += op->dur;
		ranks[r].wait += wait < op->dur ? wait : op->dur;
	}
}

/* Do all ranks have the same collectives in the same order? */
static bool match_ranks(const struct gt_job *job, const struct rank *ranks)
{
	for (size_t r = 1; r < job->count; r++) {
		if (ranks[r].ops.count != ranks[0].ops.count)
			return false;
		for (size_t i = 0; i < ranks[r].ops.count; i++)
			if (strcmp(gt_model_name(&job->models[r], ranks[r].ops.at[i]->name),
				   gt_model_name(&job->models[0], ranks[0].ops.at[i]->name)))
				return false;
	}
	return true;
}

int gt_gaps_peers(const struct gt_job *job, struct gt_table *ret_table)
{
	struct rank *ranks = calloc(job->count + 1, sizeof(*ranks));
	char text[32];
	int rc = ranks ? 0 : -ENOMEM;

	gt_table_init(ret_table, "peer_wait", "Collectives: waiting for the last peer",
		      peer_columns, sizeof(peer_columns) / sizeof(peer_columns[0]));
	for (size_t r = 0; !rc && r < job->count; r++)
		for (size_t i = 0; !rc && i < job->models[r].ops.count; i++)
			if (job->models[r].ops.at[i].comm &&
			    !gt_vec_push(&ranks[r].ops, &job->models[r].ops.at[i]))
				rc = -ENOMEM;
	if (!rc && job->count > 1 && match_ranks(job, ranks)) {
		for (size_t i = 0; i < ranks[0].ops.count; i++)
			compare_ranks(job, ranks, i);
		for (size_t r = 0; r < job->count && ranks[0].ops.count; r++) {
			snprintf(text, sizeof(text), "rank %d", job->models[r].rank);
			gt_table_text(ret_table, text);
			gt_table_number(ret_table, (double)ranks[r].ops.count);
			gt_table_number(ret_table, (double)ranks[r].total);
			gt_table_number(ret_table, (double)ranks[r].wait);
			gt_table_number(ret_table, ranks[r].total > 0
							   ? (double)ranks[r].wait * 100 /
								     (double)ranks[r].total
							   : 0);
			gt_table_number(ret_table, (double)ranks[r].last);
		}
	}
	for (size_t r = 0; ranks && r < job->count; r++)
		gt_vec_free(&ranks[r].ops);
	free(ranks);
	return rc;
}
