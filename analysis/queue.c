/* SPDX-License-Identifier: Apache-2.0
 *
 * See queue.h.
 */
#include "analysis/queue.h"

#include <errno.h>

/* An operation of the job: which stream, and when it waited. */
struct queue_wait {
	uint16_t device;
	int32_t stream;
	int64_t from, until;
};

/* At a time the depth grows or falls. */
struct queue_change {
	int64_t at;
	int by;
};

struct queue_changes {
	GT_VEC(struct queue_change) list;
};

static int by_stream(const void *a, const void *b)
{
	const struct queue_wait *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* At one time operations leave before others come. */
static int by_time(const void *a, const void *b)
{
	const struct queue_change *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->by - y->by;
}

static int add_points(struct gt_queue *queue, struct queue_changes *changes)
{
	int64_t depth = 0;

	if (!changes->list.count)
		return 0;
	qsort(changes->list.at, changes->list.count, sizeof(*changes->list.at), by_time);
	queue->first = changes->list.at[0].at;
	queue->last = changes->list.at[changes->list.count - 1].at;
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct queue_change *change = &changes->list.at[i];
		int64_t next = i + 1 < changes->list.count ? change[1].at : change->at;

		depth += change->by;
		if (depth > (int64_t)queue->most)
			queue->most = (uint32_t)depth;
		if (next == change->at && i + 1 < changes->list.count)
			continue;
		queue->area += (double)depth * (double)(next - change->at);
		queue->empty += depth ? 0 : next - change->at;
		if (!gt_vec_push(&queue->points,
				 ((struct gt_queue_point){change->at, (uint32_t)depth})))
			return -ENOMEM;
	}
	return 0;
}

/* The waits of one stream. */
static int add_queue(const struct gt_model *model, const struct queue_wait *waits, size_t count,
		     struct gt_queues *queues)
{
	struct queue_changes changes = {0};
	struct gt_queue *queue;
	int rc = 0;

	if (!gt_vec_push(&queues->list, ((struct gt_queue){.model = model,
							   .device = waits->device,
							   .stream = waits->stream,
							   .launches = count})))
		return -ENOMEM;
	queue = &queues->list.at[queues->list.count - 1];
	for (size_t i = 0; !rc && i < count; i++)
		if (waits[i].until > waits[i].from &&
		    (!gt_vec_push(&changes.list, ((struct queue_change){waits[i].from, 1})) ||
		     !gt_vec_push(&changes.list, ((struct queue_change){waits[i].until, -1}))))
			rc = -ENOMEM;
	if (!rc)
		rc = add_points(queue, &changes);
	gt_vec_free(&changes.list);
	return rc;
}

static int add_model(const struct gt_model *model, const struct gt_filter *filter,
		     struct gt_queues *queues)
{
	struct queue_wait *waits = calloc(model->ops.count + 1, sizeof(*waits));
	size_t count = 0, end;
	int rc = waits ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		const struct gt_call *call = gt_model_call_of(model, op);

		if (call && gt_filter_op(filter, model, op))
			waits[count++] =
				(struct queue_wait){op->device, op->stream, call->start, op->start};
	}
	if (count)
		qsort(waits, count, sizeof(*waits), by_stream);
	for (size_t from = 0; !rc && from < count; from = end) {
		end = from + 1;
		while (end < count && waits[end].device == waits[from].device &&
		       waits[end].stream == waits[from].stream)
			end++;
		rc = add_queue(model, &waits[from], end - from, queues);
	}
	free(waits);
	return rc;
}

int gt_queues_build(const struct gt_job *job, const struct gt_filter *filter,
		    struct gt_queues *ret_queues)
{
	int rc = 0;

	*ret_queues = (struct gt_queues){0};
	for (size_t f = 0; !rc && f < job->count; f++)
		rc = add_model(&job->models[f], filter, ret_queues);
	return rc;
}

void gt_queues_fini(struct gt_queues *queues)
{
	for (size_t i = 0; i < queues->list.count; i++)
		gt_vec_free(&queues->list.at[i].points);
	gt_vec_free(&queues->list);
}

uint32_t gt_queue_depth_at(const struct gt_queue *queue, int64_t t)
{
	size_t low = 0, high = queue->points.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (queue->points.at[middle].at <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? queue->points.at[low - 1].depth : 0;
}
