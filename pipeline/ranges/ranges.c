/* SPDX-License-Identifier: Apache-2.0
 *
 * Lives of ranges, see the header: open on a thread, then closed and waiting for the GPU work that
 * was launched inside, then settled, then free once no inner range refers to it.
 */
#include "pipeline/ranges/internal.h"

#include "core/guest/clock.h"

/* External ids of ranges begin here, away from those that frameworks give; in recovery behind
 * them. */
#define FIRST_ID   1000000000u
#define MORE_IDS   1000000000000u
#define MORE_CALLS 1000000000u

struct gt_ranges *gt_ranges_new(const struct gt_ranges_options *options)
{
	struct gt_ranges *ranges = gt_memory_map(sizeof(*ranges));

	if (!ranges)
		return NULL;
	gt_arena_init(&ranges->arena, GT_RANGE_MEMORY);
	ranges->closed_last = &ranges->closed_first;
	ranges->next_id = FIRST_ID;
	ranges->steps.wanted = options->step_range;
	ranges->steps.strings = options->strings;
	ranges->operators = options->operators;
	ranges->clock = options->clock;
	ranges->strings = options->strings;
	ranges->ledger = options->ledger;
	ranges->outlet = options->outlet;
	return ranges;
}

void gt_ranges_free(struct gt_ranges *ranges)
{
	if (!ranges)
		return;
	gt_arena_fini(&ranges->arena);
	gt_nccl_order_fini(&ranges->nccl);
	if (ranges->told)
		gt_memory_unmap(ranges->told, GT_RANGE_TOLD * sizeof(*ranges->told));
	if (ranges->libraries)
		gt_memory_unmap(ranges->libraries, GT_RANGE_LIBRARIES * sizeof(*ranges->libraries));
	gt_memory_unmap(ranges, sizeof(*ranges));
}

uint32_t gt_ranges_open(const struct gt_ranges *ranges)
{
	return ranges->open_count;
}

uint64_t gt_ranges_unshadowed(const struct gt_ranges *ranges)
{
	return ranges->unshadowed;
}

uint32_t gt_ranges_fill(const struct gt_ranges *ranges)
{
	bool waits = ranges->closed_first && ranges->closed_first->pending;

	return waits ? (uint32_t)(ranges->in_use * 1000 / GT_RANGE_MOST) : 0;
}

void gt_ranges_new_ids(struct gt_ranges *ranges)
{
	ranges->next_id += MORE_IDS;
	ranges->last_library += MORE_CALLS;
}

uint64_t gt_ranges_lost(const struct gt_ranges *ranges)
{
	return ranges->lost;
}

static struct gt_range_thread **thread_slot(const struct gt_ranges *ranges, uint32_t tid)
{
	struct gt_range_thread **slot =
		(struct gt_range_thread **)&ranges->threads[tid % GT_RANGE_BUCKETS];

	while (*slot && (*slot)->tid != tid)
		slot = &(*slot)->next;
	return slot;
}

struct gt_range_thread *gt_range_thread_get(struct gt_ranges *ranges, uint32_t tid)
{
	struct gt_range_thread **slot = thread_slot(ranges, tid);
	struct gt_range_thread *thread = *slot;

	if (thread)
		return thread;
	thread = ranges->free_threads;
	if (thread)
		ranges->free_threads = thread->next;
	else
		thread = gt_arena_get(&ranges->arena, sizeof(*thread));
	if (!thread)
		return NULL;
	*thread = (struct gt_range_thread){.tid = tid};
	*slot = thread;
	return thread;
}

struct gt_range *gt_range_innermost(const struct gt_ranges *ranges, uint32_t tid)
{
	const struct gt_range_thread *thread = *thread_slot(ranges, tid);

	return thread ? thread->open : NULL;
}

uint32_t gt_ranges_backward_threads(const struct gt_ranges *ranges)
{
	return ranges->backward_threads;
}

bool gt_ranges_runs_backward(const struct gt_ranges *ranges, uint32_t tid)
{
	const struct gt_range_thread *thread = *thread_slot(ranges, tid);

	return thread && thread->runs_backward && !thread->runs_forward;
}

struct gt_range *gt_range_find(const struct gt_ranges *ranges, uint64_t id)
{
	struct gt_range *range = ranges->by_id[id % GT_RANGE_IDS];

	return range && range->event.id == id ? range : NULL;
}

void gt_range_drop_reference(struct gt_ranges *ranges, struct gt_range *range)
{
	while (range && --range->references == 0) {
		struct gt_range *outer = range->outer;

		ranges->by_id[range->event.id % GT_RANGE_IDS] = NULL;
		range->chain = ranges->free_ranges;
		ranges->free_ranges = range;
		ranges->in_use--;
		range = outer;
	}
}

struct gt_range *gt_range_outer(struct gt_ranges *ranges, struct gt_range *range)
{
	while (range->outer && range->outer->settled) {
		struct gt_range *settled = range->outer;

		range->outer = settled->outer;
		if (range->outer)
			range->outer->references++;
		gt_range_drop_reference(ranges, settled);
	}
	return range->outer;
}

void gt_range_remove_from_thread(struct gt_ranges *ranges, struct gt_range *range)
{
	struct gt_range_thread *thread = *thread_slot(ranges, range->tid);
	struct gt_range **at = thread ? &thread->open : NULL;

	while (at && *at && *at != range)
		at = &(*at)->below;
	if (at && *at)
		*at = range->below;
	range->below = NULL;
}

static struct gt_range **started_bucket(const struct gt_ranges *ranges, uint64_t program_id)
{
	return (struct gt_range **)&ranges->started[program_id % GT_RANGE_BUCKETS];
}

void gt_range_add_started(struct gt_ranges *ranges, struct gt_range *range)
{
	struct gt_range **bucket = started_bucket(ranges, range->key);

	range->started = true;
	range->chain = *bucket;
	*bucket = range;
}

struct gt_range *gt_range_find_started(const struct gt_ranges *ranges, uint64_t program_id)
{
	struct gt_range *range = *started_bucket(ranges, program_id);

	while (range && range->key != program_id)
		range = range->chain;
	return range;
}

static void remove_from_started(struct gt_ranges *ranges, struct gt_range *range)
{
	struct gt_range **at = started_bucket(ranges, range->key);

	while (*at && *at != range)
		at = &(*at)->chain;
	if (*at)
		*at = range->chain;
}

struct gt_range *gt_range_find_pushed(const struct gt_ranges *ranges, uint32_t tid, uint32_t domain,
				      uint64_t level)
{
	struct gt_range *range = gt_range_innermost(ranges, tid);

	while (range && (range->started || range->domain != domain || range->key > level))
		range = range->below;
	return range && range->key == level ? range : NULL; /* levels grow inwards */
}

/* Each domain has a stack of its own. What began later gives way, but an operator never: readers
 * look for those on their thread, and as they are of one domain no two of them cross. */
void gt_range_uncross(const struct gt_ranges *ranges, struct gt_range *range)
{
	struct gt_range *const top = gt_range_innermost(ranges, range->tid);

	if (range->event.detached || range->left_out)
		return;
	for (struct gt_range *inner = top; inner && inner != range; inner = inner->below)
		if (inner->event.is_operator && !inner->left_out)
			range->event.detached = true;
	if (range->event.detached)
		return;
	for (struct gt_range *inner = top; inner && inner != range; inner = inner->below)
		inner->event.detached = true;
}

/* The engine's range tells only by what runs in it which forward operator it belongs to. */
static void tell_node(struct gt_ranges *ranges, struct gt_range *range)
{
	struct gt_range *outer = range->event.has_sequence ? gt_range_outer(ranges, range) : NULL;

	if (!outer || !outer->event.is_backward)
		return;
	outer->has_node = true;
	outer->node = range->event.sequence;
}

void gt_range_close(struct gt_ranges *ranges, struct gt_range *range, uint64_t end)
{
	tell_node(ranges, range);
	gt_range_remove_from_thread(ranges, range);
	ranges->open_count -= !range->left_out;
	if (range->started)
		remove_from_started(ranges, range);
	range->end = end > range->start ? end : range->start;
	range->touched = gt_clock_now();
	range->chain = NULL;
	if (range->launches) {
		*ranges->closed_last = range;
		ranges->closed_last = &range->chain;
	} else {
		range->settled = true; /* nothing can come */
		gt_range_drop_reference(ranges, range);
	}
}

void gt_range_thread_free(struct gt_ranges *ranges, uint32_t tid)
{
	struct gt_range_thread **slot = thread_slot(ranges, tid);
	struct gt_range_thread *thread = *slot;

	if (!thread || thread->open)
		return;
	*slot = thread->next;
	thread->next = ranges->free_threads;
	ranges->free_threads = thread;
}
