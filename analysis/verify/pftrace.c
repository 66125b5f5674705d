/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of analysis/verify/verify.c on a .pftrace itself: its packets, the slices of its
 * tracks, ids and ledger. What only JSON has - lines, flows, names of tracks before their slices -
 * is not asked for. One thread per file.
 */
#include <errno.h>
#include <inttypes.h>

#include "analysis/verify/state.h"
#include "readers/chrome/reading_events.h"
#include "readers/events.h"
#include "readers/show.h"

#define HOST (-1) /* as a process: tracks of threads; those of GPUs are their devices */

struct verify_pftrace {
	struct gt_verify *v;
	struct gt_events events;
};

static enum gt_verify_role role_of(const struct gt_event *event)
{
	static const uint8_t roles[GT_EVENT_COUNT_] = {
		[GT_EVENT_API] = GT_VERIFY_CALL,    [GT_EVENT_KERNEL] = GT_VERIFY_KERNEL,
		[GT_EVENT_MEMCPY] = GT_VERIFY_COPY, [GT_EVENT_MEMSET] = GT_VERIFY_SET,
		[GT_EVENT_SYNC] = GT_VERIFY_SYNC,   [GT_EVENT_OVERHEAD] = GT_VERIFY_OVERHEAD,
		[GT_EVENT_RANGE] = GT_VERIFY_RANGE, [GT_EVENT_FRAME] = GT_VERIFY_FRAME,
		[GT_EVENT_GRAPH] = GT_VERIFY_GRAPH,
	};

	return roles[event->kind];
}

static void check_correlation(struct gt_verify *v, const struct gt_event *event, uint64_t number)
{
	/* GPU work of id 0 may be accounted for: gt_verify_flows */
	if (event->kind == GT_EVENT_API && !event->correlation)
		gt_verify_find(v, GT_CHECK_CORRELATION, number, "no correlation id of 1 or more");
}

/* The operator that an event names, or is. */
static uint64_t operator_of(const struct gt_event *event)
{
	if (event->kind == GT_EVENT_API)
		return event->api.op;
	if (event->kind == GT_EVENT_RANGE)
		return event->range.is_operator ? event->range.id : 0;
	return gt_event_is_gpu(event->kind) && event->launch.known ? event->launch.op : 0;
}

static int take_operator(struct gt_verify *v, const struct gt_event *event, uint64_t number)
{
	const struct gt_verify_item external = {
		.id = (int64_t)operator_of(event), .line = number, .role = role_of(event)};

	return external.id ? gt_verify_sorted_add(&v->lists[GT_VERIFY_EXTERNALS], &external) : 0;
}

/* Perfetto puts GPU work that overlaps on tracks of its own, so these are not compared by place. */
static int take_slice(struct verify_pftrace *p, const struct gt_event *event, uint64_t number)
{
	bool on_gpu = gt_event_is_gpu(event->kind);
	const struct gt_verify_item slice = {
		.pid = on_gpu ? (int64_t)event->place.device : HOST,
		.tid = on_gpu ? (int64_t)number : (int64_t)p->events.track,
		.ts = (int64_t)event->start,
		.dur = (int64_t)(event->end - event->start),
		.id = on_gpu || event->kind == GT_EVENT_API ? (int64_t)event->correlation : -1,
		.line = number,
		.role = role_of(event),
	};

	if (event->end > INT64_MAX) {
		gt_verify_find(p->v, GT_CHECK_TIME, number, "no time is %" PRIu64 " ns",
			       event->end);
		return 0;
	}
	return gt_verify_take_slice(p->v, &slice);
}

static int take_event(const struct gt_event *event, void *data)
{
	struct verify_pftrace *p = data;
	uint64_t number = p->events.count;
	int rc;

	check_correlation(p->v, event, number);
	rc = take_operator(p->v, event, number);
	if (rc || role_of(event) == GT_VERIFY_HOST ||
	    (event->kind == GT_EVENT_RANGE && event->range.on_gpu))
		return rc;
	return take_slice(p, event, number);
}

static int take_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return 0;
}

int gt_verify_read_pftrace(struct gt_verify *v, struct gt_input *in)
{
	struct verify_pftrace p = {.v = v};
	int rc = gt_events_init(&p.events);

	p.events.take_metadata = take_metadata;
	p.events.take_event = take_event;
	p.events.data = &p;
	p.events.part = v->part;
	v->reading.is_pftrace = true;
	if (!rc)
		rc = gt_events_read_pftrace_input(&p.events, in);
	if (p.events.broken)
		gt_verify_find(v, GT_CHECK_UTF8, 0, "%" PRIu64 " text%s not in UTF-8",
			       p.events.broken, gt_plural(p.events.broken));
	v->parts = p.events.parts;
	v->ended = true; /* a file that does not end is not closed */
	rc = gt_reading_of_events(&p.events, in, rc, &v->reading);
	gt_events_fini(&p.events);
	return rc;
}
