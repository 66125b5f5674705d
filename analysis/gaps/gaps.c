/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: finding the gaps. Pure over constant models; one thread per set.
 */
#include "analysis/gaps/gaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stats.h"
#include "core/schema/os_call.h"

const char *const gt_cause_names[GT_CAUSE_COUNT_] = {
	[GT_CAUSE_LAUNCH] = "launch latency",  [GT_CAUSE_SYNC] = "synchronization",
	[GT_CAUSE_LOADING] = "kernel loading", [GT_CAUSE_API] = "CUDA call",
	[GT_CAUSE_DATA] = "data loading",      [GT_CAUSE_HOST] = "host work",
	[GT_CAUSE_BLOCKED] = "blocking call",  [GT_CAUSE_COPY] = "copy wait",
	[GT_CAUSE_QUEUED] = "queued",          [GT_CAUSE_FUNCTION] = "host function",
	[GT_CAUSE_UNKNOWN] = "unknown",
};

/* Whether the minimum hides an idle time. */
static bool is_hidden(struct gt_gaps *gaps, int64_t idle, int64_t min_ns)
{
	if (idle >= min_ns)
		return false;
	gaps->shorter += idle > 0;
	if (idle > gaps->longest_shorter)
		gaps->longest_shorter = idle;
	return true;
}

static void add_edge(struct gt_gaps *gaps, struct gt_gaps_edge *edge, int64_t idle, int64_t min_ns)
{
	if (is_hidden(gaps, idle, min_ns))
		return;
	edge->total += idle;
	edge->count += idle > 0;
	edge->max = idle > edge->max ? idle : edge->max;
}

/* Other work than what the filter lets pass is no gap: a gap ends with what it lets pass. */
static int find_gaps(const struct gt_device_use *use, const struct gt_filter *filter,
		     int64_t min_ns, struct gt_gaps *gaps)
{
	const struct gt_model *model = use->model;
	uint32_t latest = GT_NONE;
	int64_t last = 0;

	if (!gt_vec_push(&gaps->devices,
			 ((struct gt_gaps_device){model, gaps->list.count, use->device})))
		return -ENOMEM;
	for (uint32_t k = 0; k < use->track->count; k++) {
		uint32_t i = gt_model_op_of(model, use->track, k);
		const struct gt_op *op = gt_model_op_at(model, i);

		if (latest != GT_NONE && op->start > last && op->start > use->first &&
		    gt_filter_op(filter, model, op) && !is_hidden(gaps, op->start - last, min_ns) &&
		    !gt_vec_push(&gaps->list, ((struct gt_gap_row){i, latest})))
			return -ENOMEM;
		if (latest == GT_NONE || op->start + op->dur >= last) {
			last = op->start + op->dur;
			latest = i;
		}
	}
	gaps->wall += use->last - use->first;
	gaps->idle += use->idle;
	gaps->window += use->until - use->from;
	add_edge(gaps, &gaps->before, use->before, min_ns);
	add_edge(gaps, &gaps->after, use->after, min_ns);
	return 0;
}

int gt_gaps_build(const struct gt_job *job, const struct gt_filter *filter, int64_t min_ns,
		  struct gt_gaps *ret_gaps)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses), rc = count < 0 ? count : 0;

	*ret_gaps = (struct gt_gaps){.job = job, .texts = calloc(1, sizeof(*ret_gaps->texts))};
	if (!rc && !ret_gaps->texts)
		rc = -ENOMEM;
	for (int i = 0; !rc && i < count; i++)
		rc = find_gaps(&uses[i], filter, min_ns, ret_gaps);
	free(uses);
	return rc;
}

struct gt_gap gt_gaps_get(const struct gt_gaps *gaps, size_t i)
{
	const struct gt_gap_row *row = &gaps->list.at[i];
	size_t low = 1, high = gaps->devices.count;
	const struct gt_gaps_device *device;
	const struct gt_op *before;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gaps->devices.at[middle].first <= i)
			low = middle + 1;
		else
			high = middle;
	}
	device = &gaps->devices.at[low - 1];
	before = gt_model_op_at(device->model, row->before);
	return (struct gt_gap){.model = device->model,
			       .texts = gaps->texts,
			       .start = before->start + before->dur,
			       .end = device->model->ops.at[row->op].start,
			       .op = row->op,
			       .before = row->before,
			       .device = device->device};
}

void gt_gaps_fini(struct gt_gaps *gaps)
{
	gt_vec_free(&gaps->list);
	gt_vec_free(&gaps->devices);
	if (gaps->texts)
		gt_gaps_texts_fini(gaps->texts);
	free(gaps->texts);
}
