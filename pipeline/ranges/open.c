/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for a range that begins, which the oldest closed ones may have to give. Drain thread.
 */
#include <string.h>

#include "pipeline/ranges/internal.h"

/* Ids whose place is taken by a range that lives very long are left out. */
static uint64_t new_id(struct gt_ranges *ranges)
{
	for (uint32_t i = 0; i < GT_RANGE_IDS; i++) {
		uint64_t id = ranges->next_id++;

		if (!ranges->by_id[id % GT_RANGE_IDS])
			return id;
	}
	return 0;
}

static struct gt_range *get_room(struct gt_ranges *ranges)
{
	struct gt_range *range;

	if (!ranges->free_ranges) {
		range = ranges->made < GT_RANGE_MOST ? gt_arena_get(&ranges->arena, sizeof(*range))
						     : NULL;
		ranges->made += range != NULL;
		if (range)
			return range;
		gt_range_settle_oldest(ranges);
	}
	range = ranges->free_ranges;
	if (range)
		ranges->free_ranges = range->chain;
	return range;
}

static struct gt_range *new_range(struct gt_ranges *ranges)
{
	uint64_t id = new_id(ranges);
	struct gt_range *range = id ? get_room(ranges) : NULL;

	if (!range)
		return NULL;
	memset(range, 0, sizeof(*range));
	ranges->in_use++;
	range->event.id = id;
	range->references = 1;
	ranges->by_id[id % GT_RANGE_IDS] = range;
	return range;
}

struct gt_range *gt_range_open(struct gt_ranges *ranges, uint32_t tid, uint64_t start)
{
	struct gt_range_thread *thread = gt_range_thread_get(ranges, tid);
	struct gt_range *range = thread ? new_range(ranges) : NULL;

	if (!range) {
		ranges->lost++;
		return NULL;
	}
	range->tid = tid;
	range->start = start;
	range->outer = range->below = thread->open;
	if (range->outer)
		range->outer->references++;
	thread->open = range;
	ranges->open_count++;
	return range;
}
