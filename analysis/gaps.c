/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: finding the gaps, and the use of devices. What explains one gap is in gaps_explain.c,
 * the table of causes in gaps_causes.c, that of collectives in gaps_peers.c. Pure over constant
 * models; one thread per set.
 */
#include "analysis/gaps.h"

#include <errno.h>
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

/* Other work than what the filter lets pass is no gap: a gap ends with what it lets pass. */
static int find_gaps(const struct gt_device_use *use, const struct gt_filter *filter,
		     int64_t min_ns, struct gt_gaps *gaps)
{
	const struct gt_model *model = use->model;
	uint32_t latest = GT_NONE;
	int64_t last = 0;

	for (uint32_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = &model->ops.at[i];

		if (op->device != use->device)
			continue;
		if (latest != GT_NONE && op->start > last && op->start - last >= min_ns &&
		    op->start > use->first && gt_filter_op(filter, model, op) &&
		    !gt_vec_push(&gaps->list,
				 ((struct gt_gap){model, last, op->start, i, latest, use->device})))
			return -ENOMEM;
		if (latest == GT_NONE || op->start + op->dur >= last) {
			last = op->start + op->dur;
			latest = i;
		}
	}
	gaps->wall += use->last - use->first;
	gaps->idle += use->idle;
	return 0;
}

int gt_gaps_build(const struct gt_job *job, const struct gt_filter *filter, int64_t min_ns,
		  struct gt_gaps *ret_gaps)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses), rc = count < 0 ? count : 0;

	*ret_gaps = (struct gt_gaps){0};
	for (int i = 0; !rc && i < count; i++)
		rc = find_gaps(&uses[i], filter, min_ns, ret_gaps);
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

/* Two processes that rank and device do not tell apart. */
static bool same_place(const struct gt_device_use *a, const struct gt_device_use *b)
{
	return a->model != b->model && a->model->rank == b->model->rank && a->device == b->device;
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
			(double)use->idle,
			wall > 0 ? (double)use->idle * 100 / wall : 0,
			(double)use->kernel,
			(double)use->copy,
			(double)use->comm,
			(double)use->kernel_copy,
			(double)use->compute_comm,
		};

		gt_key_of_device(use->model, use->device, text, sizeof(text));
		gt_table_text(ret_table, text);
		for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
			gt_table_number(ret_table, cells[k]);
	}
	free(uses);
	return count < 0 ? count : 0;
}
