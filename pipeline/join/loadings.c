/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/join/loadings.h"

#include "pipeline/output/outlet.h"

#define MOST 512 /* a record of GPU work looks through them */

bool gt_loadings_hold(struct gt_waiting *waiting, const struct gt_event *event)
{
	return event->kind == GT_EVENT_OVERHEAD && event->correlation && waiting->count < MOST &&
	       gt_waiting_push(waiting, event);
}

/* The call of a graph starts many kernels, and only some were loaded. */
static const struct gt_string *name_of(const struct gt_event *work)
{
	return work->kind == GT_EVENT_KERNEL && !work->kernel.graph_id ? work->kernel.name : NULL;
}

void gt_loadings_see(struct gt_waiting *waiting, const struct gt_event *work,
		     struct gt_outlet *outlet)
{
	size_t kept = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		struct gt_event *event = &waiting->events[i].event;

		if (event->correlation != work->correlation) {
			waiting->events[kept++] = waiting->events[i];
			continue;
		}
		event->overhead.kernel = name_of(work);
		gt_outlet_event(outlet, event);
	}
	waiting->count = kept;
}

void gt_loadings_settle(struct gt_waiting *waiting, uint64_t until, struct gt_outlet *outlet)
{
	size_t kept = 0;

	for (size_t i = 0; i < waiting->count; i++) {
		if (waiting->events[i].since < until)
			gt_outlet_event(outlet, &waiting->events[i].event);
		else
			waiting->events[kept++] = waiting->events[i];
	}
	waiting->count = kept;
}
