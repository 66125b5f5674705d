/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "trace/load/model_loading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CUPTI's kinds of overhead that are the driver's work, not the tracer's. */
static const char *const names[] = {
	"Lazy Function Loading",
	"Runtime Triggered Module Loading",
	"Driver Compiler",
};

static bool loads(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The thread of a row that is called "thread 4100 tracing overhead", or GT_NONE. */
static uint32_t owner_of(const struct gt_builder *b, const struct gt_thread_track *row)
{
	const int64_t *number;
	int64_t tid;
	int read = 0;

	if (sscanf(gt_model_name(b->model, row->name), "thread %" SCNd64 " tracing overhead%n",
		   &tid, &read) != 1 ||
	    !read)
		return GT_NONE;
	number = gt_pairmap_find(&b->threads, row->pid, tid);
	return number && *number ? (uint32_t)*number - 1 : GT_NONE;
}

static int by_thread(const void *a, const void *b)
{
	const struct gt_model_loading *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

int gt_build_loadings(struct gt_builder *b)
{
	struct gt_model *model = b->model;

	for (size_t i = 0; i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];
		struct gt_model_loading loading = {.start = range->start,
						   .until = range->start + range->dur};

		if (range->kind != GT_RANGE_OVERHEAD || !loads(gt_model_name(model, range->name)))
			continue;
		loading.thread = owner_of(b, &model->threads.at[range->thread]);
		if (loading.thread != GT_NONE && !gt_vec_push(&model->loadings, loading))
			return -ENOMEM;
	}
	if (model->loadings.count)
		qsort(model->loadings.at, model->loadings.count, sizeof(model->loadings.at[0]),
		      by_thread);
	for (size_t i = 1; i < model->loadings.count; i++) {
		struct gt_model_loading *at = &model->loadings.at[i];

		if (at[-1].thread == at->thread && at[-1].until > at->until)
			at->until = at[-1].until;
	}
	return 0;
}
