/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's time stamps as times of the trace, see the header. Drain thread only.
 */
#include "collectors/cupti/records/stamps.h"

/* How far a REALTIME stamp may be outside the session: steps of that clock, work that began
 * before. */
#define CLOCK_SLACK_NS (60ull * 1000000000u)

/* A record that ends so much later than it was received shows that the clocks disagree. */
#define AHEAD_NS       1000000u

static void add(struct gt_translate *t, enum gt_ledger_key key)
{
	gt_ledger_add(t->ledger, key, 1);
}

/* Time from the newest clock sample to the arrival of the records: writing to a slow disk may have
 * delayed us. */
static uint64_t since_sample(const struct gt_translate *t, const struct gt_clock_sample *newest)
{
	uint64_t then = gt_clock_from_monotonic(t->clock, newest->monotonic);

	return t->now > then ? t->now - then : 0;
}

/* CUPTI stamps CLOCK_REALTIME. A stamp far before the session or after now is of another clock,
 * unless this clock was set back to before the session. */
static bool is_realtime(const struct gt_translate *t, uint64_t stamp)
{
	const struct gt_clock_sample *newest = &t->clock->samples[t->clock->count - 1];
	uint64_t begin = newest->realtime < t->session_start ? newest->realtime : t->session_start;

	return stamp + CLOCK_SLACK_NS >= begin &&
	       (stamp <= newest->realtime + CLOCK_SLACK_NS ||
		stamp <= newest->realtime + CLOCK_SLACK_NS + since_sample(t, newest));
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

#define CLOCK_FAR_NS 100000 /* farther from CLOCK_REALTIME it is another clock */

int64_t gt_translate_clock_offset(int64_t offset_ns, uint64_t error_ns)
{
	uint64_t far = offset_ns < 0 ? -(uint64_t)offset_ns : (uint64_t)offset_ns;

	return far > CLOCK_FAR_NS + error_ns ? offset_ns : 0;
}

/* A stamp of the clock that CUPTI had when it was asked, as CLOCK_REALTIME. False: of another. */
static bool from_measured_clock(const struct gt_translate *t, uint64_t stamp, uint64_t *ret_stamp)
{
	*ret_stamp = stamp - (uint64_t)t->clock_offset;
	return t->clock_offset && is_realtime(t, *ret_stamp);
}

/* The clocks that another tool may have switched CUPTI to (REQ-20): the processor's counter, as
 * Kineto does, or CLOCK_MONOTONIC. If both fit, the one closer to now. False: neither fits. */
static bool from_foreign_clock(const struct gt_translate *t, uint64_t stamp, uint64_t *ret_time)
{
	const struct gt_clock_sample *last = &t->clock->samples[t->clock->count - 1];
	uint64_t now = gt_clock_from_monotonic(t->clock, last->monotonic);
	uint64_t counter = 0, monotonic = gt_clock_from_monotonic(t->clock, stamp);
	bool is_counter = gt_clock_from_ticks(t->clock, stamp, &counter) && is_realtime(t, counter);
	bool is_monotonic = is_realtime(t, monotonic);

	if (is_counter && is_monotonic)
		is_counter = distance(counter, now) < distance(monotonic, now);
	*ret_time = is_counter ? counter : monotonic;
	return is_counter || is_monotonic;
}

/* A CUPTI stamp as trace time. False: of no known clock, so it must not be written. */
static bool trace_time(struct gt_translate *t, uint64_t stamp, uint64_t *ret_time)
{
	uint64_t ns;

	if (from_measured_clock(t, stamp, &ns)) {
		add(t, GT_LEDGER_TIME_FOREIGN);
		*ret_time = gt_clock_from_realtime(t->clock, ns);
		return true;
	}
	if (is_realtime(t, stamp)) {
		*ret_time = gt_clock_from_realtime(t->clock, stamp);
		return true;
	}
	if (!from_foreign_clock(t, stamp, &ns))
		return false;
	add(t, GT_LEDGER_TIME_FOREIGN);
	*ret_time = ns;
	return true;
}

uint64_t gt_stamp_or_none(struct gt_translate *t, uint64_t stamp)
{
	uint64_t time = 0;

	if (stamp)
		trace_time(t, stamp, &time);
	return time;
}

/* The span that @stamp is of; an empty one where its clock is not certain at once. Samples may go
 * back: until the first later one that does not come after @stamp. */
static void find_span(struct gt_translate *t, uint64_t stamp)
{
	const struct gt_clock_sample *samples = t->clock->samples;
	uint32_t newest = t->clock->count - 1, i = newest;
	struct gt_translate_span *span = &t->span;

	*span = (struct gt_translate_span){.sampled = samples[newest].monotonic,
					   .last = samples[newest].realtime + CLOCK_SLACK_NS};
	span->until = span->last;
	for (; i > 0 && stamp < samples[i].realtime; i--)
		if (samples[i].realtime < span->until)
			span->until = samples[i].realtime;
	span->from = samples[i].realtime;
	span->offset = gt_clock_from_realtime(t->clock, span->from) - span->from;
	if (!is_realtime(t, span->from))
		span->until = 0;
}

/* Most stamps are of the same span as those before. False: these are not. */
static bool set_at_once(struct gt_translate *t, struct gt_event *event, uint64_t start,
			uint64_t end)
{
	const struct gt_translate_span *span = &t->span;
	const struct gt_clock_sample *newest = &t->clock->samples[t->clock->count - 1];

	if (t->clock_offset)
		return false;
	if (start < span->from || start >= span->until || span->sampled != newest->monotonic)
		find_span(t, start);
	if (start < span->from || start >= span->until || end < start || end > span->last)
		return false;
	event->start = start + span->offset;
	event->end = end + span->offset;
	return true;
}

static void see_ahead(struct gt_translate *t, const struct gt_event *event)
{
	if (t->now && event->end > t->now + AHEAD_NS)
		add(t, GT_LEDGER_TIME_AHEAD);
}

bool gt_stamps_set(struct gt_translate *t, struct gt_event *event, uint64_t start, uint64_t end)
{
	uint64_t stamp;

	if (set_at_once(t, event, start, end)) {
		see_ahead(t, event);
		return true;
	}
	if (!trace_time(t, start, &event->start) || !trace_time(t, end, &event->end)) {
		add(t, GT_LEDGER_TIME_UNKNOWN);
		return false;
	}
	if ((from_measured_clock(t, start, &stamp) || is_realtime(t, start)) && end >= start)
		event->end = event->start + (end - start);
	if (event->end < event->start) {
		event->end = event->start;
		add(t, GT_LEDGER_TIME_REVERSED);
	}
	see_ahead(t, event);
	return true;
}

const char *gt_stamps_why_none(bool ran, bool clock_changed)
{
	if (ran)
		return GT_NOTE_IN_PROGRESS;
	return clock_changed ? "another tool changed CUPTI's clock before this record was delivered"
			     : "CUPTI gave no usable time stamps for this operation";
}
