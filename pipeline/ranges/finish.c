/* SPDX-License-Identifier: Apache-2.0
 *
 * The end of a range, by its program or with its thread. Drain thread.
 */
#include "pipeline/ranges/internal.h"
#include "pipeline/session.h"

void gt_range_finish(struct gt_session *session, struct gt_range *range, uint64_t end,
		     bool unfinished)
{
	struct gt_event event = {.kind = GT_EVENT_RANGE, .tid = range->tid, .start = range->start};

	gt_range_uncross(session->ranges, range);
	range->event.unfinished = unfinished;
	event.end = end > range->start ? end : range->start;
	event.range = range->event;
	session->ranges->emit(session, &event);
	gt_range_steps_end(session->ranges, range);
	gt_range_close(session->ranges, range, event.end);
}

void gt_ranges_thread_ended(struct gt_session *session, uint32_t tid)
{
	struct gt_ranges *ranges = session->ranges;
	struct gt_range *range = gt_range_innermost(ranges, tid);

	while (range) {
		struct gt_range *below = range->below;

		if (range->started) /* another thread may end it */
			gt_range_remove_from_thread(ranges, range);
		else
			gt_range_finish(session, range, session->emit.newest, true);
		range = below;
	}
	gt_range_thread_free(ranges, tid);
}
