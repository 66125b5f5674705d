/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a range, by its program or with its thread. Drain thread.
 */
#include "pipeline/ranges/internal.h"

void gt_range_finish(struct gt_ranges *ranges, struct gt_range *range, uint64_t end,
		     bool unfinished)
{
	struct gt_event event = {.kind = GT_EVENT_RANGE, .tid = range->tid, .start = range->start};

	gt_range_uncross(ranges, range);
	range->event.unfinished = unfinished;
	event.end = end > range->start ? end : range->start;
	event.range = range->event;
	if (range->event.is_library)
		event.range.id = 0; /* nothing refers to it */
	if (!range->left_out)
		gt_outlet_event(ranges->outlet, &event);
	gt_range_steps_end(&ranges->steps, range);
	gt_range_close(ranges, range, event.end);
}

void gt_ranges_thread_ended(struct gt_ranges *ranges, uint32_t tid)
{
	struct gt_range *range = gt_range_innermost(ranges, tid);

	while (range) {
		struct gt_range *below = range->below;

		if (range->started) /* another thread may end it */
			gt_range_remove_from_thread(ranges, range);
		else
			gt_range_finish(ranges, range, ranges->outlet->newest, true);
		range = below;
	}
	gt_range_thread_free(ranges, tid);
}
