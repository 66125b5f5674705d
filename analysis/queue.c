/* SPDX-License-Identifier: Apache-2.0
 *
 * See queue.h. What is kept of an operation that waits is its number, twice: operations are in the
 * order of their starts, and so, of one stream, most calls are.
 */
#include "analysis/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readers/keymap.h"

static int64_t begin_of(const struct gt_model *model, uint32_t op)
{
	return model->calls.at[model->ops.at[op].call].start;
}

static int64_t end_of(const struct gt_model *model, uint32_t op)
{
	return model->ops.at[op].start;
}

static int by_begin(const void *a, const void *b, void *model)
{
	int64_t x = begin_of(model, *(const uint32_t *)a),
		y = begin_of(model, *(const uint32_t *)b);

	return x < y ? -1 : x > y;
}

static int by_stream(const void *a, const void *b)
{
	const struct gt_queue *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* The next change; all that begins and ends at one time is one. False: there is none. */
static bool take_point(struct gt_queue_walk *walk, struct gt_queue_point *ret_point)
{
	const struct gt_queue *queue = walk->queue;
	const struct gt_model *model = queue->model;
	size_t count = queue->ends.count;
	int64_t at;

	if (walk->ended == count)
		return false;
	at = end_of(model, queue->ends.at[walk->ended]);
	if (walk->begun < count && begin_of(model, queue->begins.at[walk->begun]) < at)
		at = begin_of(model, queue->begins.at[walk->begun]);
	while (walk->ended < count && end_of(model, queue->ends.at[walk->ended]) == at)
		walk->ended++;
	while (walk->begun < count && begin_of(model, queue->begins.at[walk->begun]) == at)
		walk->begun++;
	*ret_point = (struct gt_queue_point){at, (uint32_t)(walk->begun - walk->ended)};
	return true;
}

void gt_queue_walk_start(struct gt_queue_walk *ret_walk, const struct gt_queue *queue)
{
	*ret_walk = (struct gt_queue_walk){.queue = queue};
	take_point(ret_walk, &ret_walk->at);
	ret_walk->has_next = take_point(ret_walk, &ret_walk->next);
}

void gt_queue_walk_on(struct gt_queue_walk *walk)
{
	walk->at = walk->next;
	walk->has_next = take_point(walk, &walk->next);
}

static void measure(struct gt_queue *queue)
{
	struct gt_queue_walk walk;

	if (!queue->ends.count)
		return;
	gt_queue_walk_start(&walk, queue);
	queue->first = walk.at.at;
	for (;; gt_queue_walk_on(&walk)) {
		queue->most = walk.at.depth > queue->most ? walk.at.depth : queue->most;
		if (!walk.has_next)
			break;
		queue->area += (double)walk.at.depth * (double)(walk.next.at - walk.at.at);
		queue->empty += walk.at.depth ? 0 : walk.next.at - walk.at.at;
	}
	queue->last = walk.at.at;
}

/* Puts what waits in the order of its calls, and measures the queue. */
static int finish(struct gt_queue *queue)
{
	size_t count = queue->ends.count, i = 1;

	queue->begins.at = malloc((count + 1) * sizeof(*queue->begins.at));
	if (!queue->begins.at)
		return -ENOMEM;
	queue->begins.count = queue->begins.room = count;
	if (count)
		memcpy(queue->begins.at, queue->ends.at, count * sizeof(*queue->begins.at));
	while (i < count && begin_of(queue->model, queue->begins.at[i - 1]) <=
				    begin_of(queue->model, queue->begins.at[i]))
		i++;
	if (i < count)
		qsort_r(queue->begins.at, count, sizeof(*queue->begins.at), by_begin,
			(void *)queue->model);
	measure(queue);
	return 0;
}

/* The queue of the stream of @op. @known: streams of the model, and 1 + the index of each. */
static struct gt_queue *queue_of(const struct gt_model *model, const struct gt_op *op,
				 struct gt_keymap *known, struct gt_queues *queues)
{
	uint64_t key = ((uint64_t)op->device << 32 | (uint32_t)op->stream) + 1;
	struct gt_keymap_entry *entry = gt_keymap_get(known, key);

	if (!entry)
		return NULL;
	if (!entry->value) {
		if (!gt_vec_push(&queues->list, ((struct gt_queue){.model = model,
								   .device = op->device,
								   .stream = op->stream})))
			return NULL;
		entry->value = (int64_t)queues->list.count;
	}
	return &queues->list.at[entry->value - 1];
}

static int add_ops(const struct gt_model *model, const struct gt_filter *filter,
		   struct gt_queues *queues)
{
	struct gt_keymap known = {0};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		struct gt_queue *queue;

		if (op->call == GT_NONE || !gt_filter_op(filter, model, op))
			continue;
		queue = queue_of(model, op, &known, queues);
		if (!queue || (begin_of(model, i) < op->start && !gt_vec_push(&queue->ends, i)))
			rc = -ENOMEM;
		else
			queue->launches++;
	}
	gt_keymap_fini(&known);
	return rc;
}

static int add_model(const struct gt_model *model, const struct gt_filter *filter,
		     struct gt_queues *queues)
{
	size_t before = queues->list.count;
	int rc = add_ops(model, filter, queues);

	if (queues->list.count > before)
		qsort(&queues->list.at[before], queues->list.count - before,
		      sizeof(*queues->list.at), by_stream);
	for (size_t i = before; !rc && i < queues->list.count; i++)
		rc = finish(&queues->list.at[i]);
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
	for (size_t i = 0; i < queues->list.count; i++) {
		gt_vec_free(&queues->list.at[i].begins);
		gt_vec_free(&queues->list.at[i].ends);
	}
	gt_vec_free(&queues->list);
}

/* How many of @ops are at or before @t. */
static size_t count_until(const struct gt_model *model, const uint32_t *ops, size_t count,
			  int64_t (*time_of)(const struct gt_model *model, uint32_t op), int64_t t)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (time_of(model, ops[middle]) <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t gt_queue_depth_at(const struct gt_queue *queue, int64_t t)
{
	const struct gt_model *model = queue->model;

	return (uint32_t)(count_until(model, queue->begins.at, queue->begins.count, begin_of, t) -
			  count_until(model, queue->ends.at, queue->ends.count, end_of, t));
}
