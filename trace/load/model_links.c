/* SPDX-License-Identifier: Apache-2.0
 *
 * Which call asked for an operation: the one with its correlation id. A trace of several processes,
 * or of several sessions, has one id for several calls; then the process of the operation's row,
 * the kind of the call and the times decide. One thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "readers/pairmap.h"
#include "trace/load/model_build.h"

#define MOST_CALLS 256 /* of one id that are looked at one by one */

/* Correlation -> call. Ids mostly count up: then a place for each of them, else a hash table. */
struct links {
	const struct gt_model *model;
	uint32_t *at;    /* calls, GT_NONE: free */
	size_t size;     /* of a hash table a power of two */
	int64_t first;   /* the id of the first place; 0: a hash table, open addressing */
	uint8_t *shared; /* by call, one bit: other calls that do not lie in it have its id */
	bool any_shared;
};

/* An operation or a call whose id others have, too. */
struct shared_id {
	int64_t correlation, start;
	uint32_t index;
	uint32_t group; /* of an operation: what decides but for the time */
};

/* Calls and operations of shared ids, both by id and time. */
struct shared {
	GT_VEC(struct shared_id) calls, ops;
	bool *made_calls; /* by number of a process that has rows of operations */
};

static int64_t id_of(const struct gt_model *model, size_t call)
{
	return gt_row_number(model, model->calls.at[call].correlation_code);
}

static size_t hash_place(const struct links *links, int64_t correlation)
{
	size_t mask = links->size - 1, h = (size_t)gt_hash_word((uint64_t)correlation) & mask;

	while (links->at[h] != GT_NONE && id_of(links->model, links->at[h]) != correlation)
		h = (h + 1) & mask;
	return h;
}

/* The call that has an id, or GT_NONE. */
static uint32_t find_call(const struct links *links, int64_t correlation)
{
	uint64_t place = (uint64_t)correlation - (uint64_t)links->first;

	if (correlation <= 0)
		return GT_NONE;
	if (!links->first)
		place = hash_place(links, correlation);
	return place < links->size ? links->at[place] : GT_NONE;
}

static bool is_shared(const struct links *links, uint32_t call)
{
	return links->shared[call / 8] >> call % 8 & 1;
}

/* How many ids there may be from the first to the last one, and the first; 0: no call has one. */
static uint64_t span_of_ids(const struct gt_model *model, int64_t *ret_first)
{
	int64_t first = INT64_MAX, last = 0;

	for (size_t i = 0; i < model->calls.count; i++) {
		int64_t id = id_of(model, i);

		if (id > 0 && id < first)
			first = id;
		if (id > last)
			last = id;
	}
	*ret_first = first;
	return last ? (uint64_t)(last - first) + 1 : 0;
}

static int make_links(const struct gt_model *model, struct links *links)
{
	size_t least = model->calls.count * 2 + 16;
	uint64_t span = span_of_ids(model, &links->first);

	links->model = model;
	links->size = 16;
	if (span && span <= least)
		links->size = (size_t)span;
	else
		links->first = 0;
	while (!links->first && links->size < least)
		links->size *= 2;
	links->at = malloc(links->size * sizeof(*links->at));
	links->shared = calloc(model->calls.count / 8 + 1, 1);
	if (!links->at || !links->shared)
		return -ENOMEM;
	memset(links->at, 0xff, links->size * sizeof(*links->at));
	return 0;
}

/* Does call @b lie in @a, as the driver's in the runtime's? Both are in the order of the model. */
static bool contains(const struct gt_call *a, const struct gt_call *b)
{
	return a->thread == b->thread && b->start < a->start + (a->dur ? a->dur : 1);
}

/* Ids count from 1. Of calls that lie in each other the outer one has the id. */
static void enter_calls(struct links *links)
{
	const struct gt_model *model = links->model;

	for (uint32_t i = 0; i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);
		size_t place;

		if (call->correlation <= 0)
			continue;
		place = links->first ? (size_t)(call->correlation - links->first)
				     : hash_place(links, call->correlation);
		if (links->at[place] == GT_NONE) {
			links->at[place] = i;
		} else if (!contains(gt_model_call_at(model, links->at[place]), call)) {
			links->shared[links->at[place] / 8] |= (uint8_t)(1 << links->at[place] % 8);
			links->any_shared = true;
		}
	}
}

static int by_id(const void *a, const void *b)
{
	const struct shared_id *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Does the last one of the same id and thread contain it? */
static bool lies_in_one(const struct gt_model *model, struct gt_pairmap *outer, uint32_t index)
{
	const struct gt_call *call = gt_model_call_at(model, index);
	int64_t *last = gt_pairmap_get(outer, call->correlation, call->thread);

	if (last && *last && contains(gt_model_call_at(model, *last - 1), call))
		return true;
	if (last)
		*last = (int64_t)index + 1;
	return false;
}

static int gather_calls(const struct gt_model *model, const struct links *links,
			struct shared *shared)
{
	struct gt_pairmap outer = {0};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);

		if (call->correlation > 0 &&
		    is_shared(links, find_call(links, call->correlation)) &&
		    !lies_in_one(model, &outer, i) &&
		    !gt_vec_push(&shared->calls,
				 ((struct shared_id){call->correlation, call->start, i, 0})))
			rc = -ENOMEM;
	}
	gt_pairmap_fini(&outer);
	if (shared->calls.count)
		qsort(shared->calls.at, shared->calls.count, sizeof(*shared->calls.at), by_id);
	return rc;
}

/* What stands in the name of a call that asks for work of a kind. */
static const char *const words[GT_OP_KIND_COUNT_] = {
	[GT_OP_KERNEL] = "aunch",
	[GT_OP_COPY] = "emcpy",
	[GT_OP_SET] = "emset",
	[GT_OP_GRAPH] = "aunch",
};

/* The calls of one id that an operation may be of. */
struct candidates {
	GT_VEC(struct gt_call) list;
};

static const struct shared_id *first_of(const struct shared *shared, int64_t correlation)
{
	size_t low = 0, high = shared->calls.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (shared->calls.at[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return shared->calls.at + low;
}

/* Keeps those that @is holds for, if it does for any. */
static void prefer(struct candidates *c, const struct gt_model *model, const void *what,
		   bool (*is)(const struct gt_model *, const struct gt_call *, const void *))
{
	size_t kept = 0;

	for (size_t i = 0; i < c->list.count; i++) {
		if (is(model, &c->list.at[i], what)) {
			struct gt_call call = c->list.at[i];

			c->list.at[i] = c->list.at[kept];
			c->list.at[kept++] = call;
		}
	}
	if (kept)
		c->list.count = kept;
}

static bool is_of_process(const struct gt_model *model, const struct gt_call *call, const void *pid)
{
	return model->threads.at[call->thread].pid == *(const int64_t *)pid;
}

static bool asks_for(const struct gt_model *model, const struct gt_call *call, const void *word)
{
	return strstr(gt_model_name(model, call->name), word);
}

static int by_time(const void *a, const void *b)
{
	const struct gt_call *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* By number of a process that has rows of operations: whether it made calls. NULL: no memory. */
static bool *find_callers(const struct gt_builder *b)
{
	bool *calls = calloc(b->pids.count + 1, sizeof(*calls));

	for (size_t i = 0; calls && b->pids.count && i < b->model->threads.count; i++) {
		const struct gt_thread_track *track = &b->model->threads.at[i];
		const int64_t *place = gt_pairmap_find(&b->pid_of, track->pid, 0);

		if (place && *place && track->call.count)
			calls[*place - 1] = true;
	}
	return calls;
}

/* Is it the call of another process than the operation's row, which made calls, too? */
static bool is_of_another(const struct gt_builder *b, const bool *made_calls,
			  const struct gt_op *op, const struct gt_call *call)
{
	return op->call != GT_NONE && made_calls[op->call] &&
	       b->model->threads.at[call->thread].pid != b->pids.at[op->call];
}

static size_t count_calls(const struct shared *shared, const struct shared_id *first)
{
	const struct shared_id *end = shared->calls.at + shared->calls.count, *at = first;

	while (at < end && at->correlation == first->correlation)
		at++;
	return (size_t)(at - first);
}

static int find_candidates(const struct gt_builder *b, const struct shared *shared,
			   const struct shared_id *first, size_t count, const struct gt_op *op,
			   struct candidates *ret)
{
	const struct gt_model *model = b->model;

	ret->list.count = 0;
	for (size_t i = 0; i < count; i++)
		if (!gt_vec_push(&ret->list, gt_model_call(model, first[i].index)))
			return -ENOMEM;
	if (count > MOST_CALLS)
		return 0;
	if (op->call != GT_NONE)
		prefer(ret, model, &b->pids.at[op->call], is_of_process);
	if (is_of_another(b, shared->made_calls, op, &ret->list.at[0]))
		ret->list.count = 0;
	prefer(ret, model, words[op->kind], asks_for);
	qsort(ret->list.at, ret->list.count, sizeof(ret->list.at[0]), by_time);
	return 0;
}

/* The last that began before @t, else the first. */
static const struct gt_call *last_before(const struct candidates *c, int64_t t)
{
	size_t low = 0, high = c->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->list.at[middle].start <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return c->list.count ? &c->list.at[low ? low - 1 : 0] : NULL;
}

/* As many operations as calls: each has its own, in the order of time. */
static bool match_in_order(const struct gt_model *model, const struct shared_id *ops, size_t count,
			   const struct candidates *c)
{
	if (count != c->list.count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (c->list.at[i].start > model->ops.at[ops[i].index].start)
			return false;
	return true;
}

static bool are_of_several(const struct gt_model *model, const struct candidates *c)
{
	for (size_t i = 1; i < c->list.count; i++)
		if (model->threads.at[c->list.at[i].thread].pid !=
		    model->threads.at[c->list.at[0].thread].pid)
			return true;
	return false;
}

static void link_group(struct gt_model *model, const struct shared_id *ops, size_t count,
		       const struct candidates *c)
{
	bool in_order = match_in_order(model, ops, count, c);

	if (are_of_several(model, c))
		model->odd.shared_ids += count;
	for (size_t i = 0; i < count; i++) {
		struct gt_op_row *op = &model->ops.at[ops[i].index];
		const struct gt_call *call = in_order ? &c->list.at[i] : last_before(c, op->start);

		op->call = call ? call->index : GT_NONE;
	}
}

static bool is_same_group(const struct shared_id *a, const struct shared_id *b)
{
	return a->correlation == b->correlation && a->group == b->group;
}

static int link_shared_ops(const struct gt_builder *b, const struct shared *shared)
{
	struct candidates c = {.list.at = NULL};
	const struct shared_id *at = shared->ops.at, *end = at ? at + shared->ops.count : at;
	const struct shared_id *first = NULL;
	size_t calls = 0;
	int rc = 0;

	for (size_t n; !rc && at < end; at += n) {
		bool is_new = !first || first->correlation != at->correlation;

		for (n = 1; at + n < end && is_same_group(at, at + n);)
			n++;
		if (is_new) {
			first = first_of(shared, at->correlation);
			calls = count_calls(shared, first);
		}
		if (is_new || calls <= MOST_CALLS)
			rc = find_candidates(b, shared, first, calls,
					     gt_model_op_at(b->model, at->index), &c);
		if (!rc)
			link_group(b->model, at, n, &c);
	}
	gt_vec_free(&c.list);
	return rc;
}

/* Operations of one id that the same calls may have asked for. */
static uint32_t group_of(const struct gt_op *op)
{
	uint32_t kind = op->kind == GT_OP_GRAPH ? GT_OP_KERNEL : op->kind;

	return (op->call + 1) * GT_OP_KIND_COUNT_ + kind;
}

/* Those of shared ids are left for later. */
static int link_ops(const struct gt_builder *b, const struct links *links, struct shared *shared)
{
	struct gt_model *model = b->model;

	for (uint32_t i = 0; i < model->ops.count; i++) {
		const struct gt_op *op = gt_model_op_at(model, i);
		uint32_t call = find_call(links, op->correlation);

		if (call != GT_NONE && is_shared(links, call)) {
			if (!gt_vec_push(&shared->ops,
					 ((struct shared_id){op->correlation, op->start, i,
							     group_of(op)})))
				return -ENOMEM;
			continue;
		}
		if (call != GT_NONE &&
		    !is_of_another(b, shared->made_calls, op, gt_model_call_at(model, call)))
			model->ops.at[i].call = call;
		else
			model->ops.at[i].call = GT_NONE;
	}
	if (shared->ops.count)
		qsort(shared->ops.at, shared->ops.count, sizeof(*shared->ops.at), by_id);
	return 0;
}

/* The last call of a shared id that began before @t; @otherwise: none did. */
static uint32_t last_call_before(const struct shared *shared, int64_t correlation, int64_t t,
				 uint32_t otherwise)
{
	size_t low = 0, high = shared->calls.count;
	const struct shared_id *call;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		call = &shared->calls.at[middle];
		if (call->correlation < correlation ||
		    (call->correlation == correlation && call->start <= t))
			low = middle + 1;
		else
			high = middle;
	}
	call = low ? &shared->calls.at[low - 1] : NULL;
	return call && call->correlation == correlation ? call->index : otherwise;
}

static void link_waits(struct gt_model *model, const struct links *links,
		       const struct shared *shared)
{
	for (size_t i = 0; i < model->waits.count; i++) {
		struct gt_host_wait *wait = &model->waits.at[i];

		wait->call = find_call(links, wait->correlation);
		if (wait->call != GT_NONE && is_shared(links, wait->call))
			wait->call = last_call_before(shared, wait->correlation, wait->start,
						      wait->call);
	}
}

static int take_stacks(struct gt_model *model)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < model->ops.count; i++) {
		uint32_t call = model->ops.at[i].call, stack;

		if (call == GT_NONE || gt_model_op_traits(model, i)->stack != GT_NONE)
			continue;
		stack = gt_model_call_traits(model, call)->stack;
		if (stack != GT_NONE)
			rc = gt_model_set_op_stack(model, i, stack);
	}
	return rc;
}

int gt_build_links(struct gt_builder *b)
{
	struct links links = {.at = NULL};
	struct shared shared = {.made_calls = find_callers(b)};
	int rc = shared.made_calls ? make_links(b->model, &links) : -ENOMEM;

	if (!rc)
		enter_calls(&links);
	if (!rc)
		rc = link_ops(b, &links, &shared);
	if (!rc && links.any_shared)
		rc = gather_calls(b->model, &links, &shared);
	if (!rc)
		rc = link_shared_ops(b, &shared);
	if (!rc)
		link_waits(b->model, &links, &shared);
	if (!rc)
		rc = take_stacks(b->model);
	gt_vec_free(&shared.calls);
	gt_vec_free(&shared.ops);
	free(links.at);
	free(links.shared);
	free(shared.made_calls);
	return rc;
}

uint32_t gt_build_process(struct gt_builder *b, int64_t pid)
{
	int64_t *place = gt_pairmap_get(&b->pid_of, pid, 0);

	if (!place)
		return GT_NONE;
	if (!*place) {
		if (!gt_vec_push(&b->pids, pid))
			return GT_NONE;
		*place = (int64_t)b->pids.count;
	}
	return (uint32_t)(*place - 1);
}
