/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU work of ranges, see pipeline/ranges/ranges.h. A range belongs to a launch when it was open on
 * the launching thread at that moment; that follows from the chain of ranges from the innermost
 * outwards.
 */
#include "pipeline/ranges/internal.h"

#include "core/guest/clock.h"

#define MS_NS           1000000ull

/* A closed range waits for the first operation of each of its launches, and then for operations
 * that come late (graphs have many); but not for ever. */
#define LATE_NS         (1000 * MS_NS)
#define GIVE_UP_NS      (10000 * MS_NS)

#define SETTLE_EVERY_NS (200 * MS_NS)
#define SETTLE_FORCED   1024u

/* What runs backward is tied to its forward operator by the sequence number that both have: to the
 * place of its last launch, not of an allocation or another call. What the engine does behind the
 * operator (sums of gradients, casts) goes with it. */
static void tie_backward(struct gt_ranges *ranges, struct gt_launch *launch, uint64_t sequence,
			 bool backward, bool expects)
{
	struct gt_range_forward *forward = &ranges->forwards[sequence % GT_RANGE_FORWARDS];
	bool same = forward->tid && forward->sequence == sequence;

	if (backward) {
		launch->forward = same ? forward->stack : launch->forward;
		forward->used |= same;
	} else if (expects && launch->stack) {
		bool several = same && forward->tid != launch->tid && !forward->used;

		*forward = (struct gt_range_forward){
			.sequence = sequence,
			.stack = several ? NULL : launch->stack,
			.tid = several ? forward->tid : launch->tid,
		};
	}
}

/* Operators have no shadows: there are many, and each kernel tells its own. */
static void find_operator(struct gt_ranges *ranges, struct gt_range *range,
			  struct gt_launch *launch, bool expects)
{
	bool backward = false, numbered = false;
	uint64_t sequence = 0;

	for (uint32_t i = 0; range && i < GT_RANGE_CHAIN_MAX; i++) {
		if (range->event.is_operator && !range->left_out && !launch->op)
			launch->op = range->event.id;
		if (!launch->library)
			launch->library = range->library;
		if (!numbered && (range->event.has_sequence || range->has_node)) {
			numbered = true;
			sequence = range->event.has_sequence ? range->event.sequence : range->node;
		}
		backward |= range->event.is_backward;
		range = gt_range_outer(ranges, range);
	}
	if (numbered)
		tie_backward(ranges, launch, sequence, backward, expects);
}

/* Operations are shown inside it, and it on their streams. */
static bool is_shown(const struct gt_range *range)
{
	return !range->event.is_operator && !range->event.is_library && !range->left_out;
}

static void expect_work(struct gt_range *range, bool will_be_reported)
{
	range->has_work = true;
	range->launches += will_be_reported;
	range->pending += will_be_reported;
}

void gt_ranges_launch(struct gt_ranges *ranges, struct gt_launch *launch, bool expects,
		      bool recorded)
{
	struct gt_range *range = gt_range_innermost(ranges, launch->tid);

	find_operator(ranges, range, launch, expects);
	while (range && !is_shown(range))
		range = gt_range_outer(ranges, range);
	if (!range)
		return;
	launch->nvtx = range->label;
	launch->range = range->event.id;
	for (uint32_t i = 0; expects && range && i < GT_RANGE_CHAIN_MAX; i++) {
		if (!range->end && is_shown(range))
			expect_work(range, recorded);
		range = gt_range_outer(ranges, range);
	}
}

static struct gt_shadow *find_shadow(const struct gt_range *range, const struct gt_place *place)
{
	struct gt_shadow *shadow = range->shadows;

	while (shadow &&
	       (shadow->place.stream != place->stream || shadow->place.context != place->context ||
		shadow->place.device != place->device))
		shadow = shadow->next;
	return shadow;
}

static struct gt_shadow *shadow_of(struct gt_ranges *ranges, struct gt_range *range,
				   const struct gt_place *place)
{
	struct gt_shadow *shadow = find_shadow(range, place);

	if (shadow)
		return shadow;
	shadow = ranges->free_shadows;
	if (shadow)
		ranges->free_shadows = shadow->next;
	else
		shadow = gt_arena_get(&ranges->arena, sizeof(*shadow));
	if (!shadow)
		return NULL;
	*shadow = (struct gt_shadow){.next = range->shadows, .place = *place, .first = UINT64_MAX};
	range->shadows = shadow;
	return shadow;
}

/* Viewers and readers draw the longer one of two slices around the other. */
static void extend(struct gt_shadow *shadow, const struct gt_event *event)
{
	if (event->start < shadow->first)
		shadow->first = event->start;
	if (event->end > shadow->last) {
		shadow->last = event->end;
		shadow->slack = 0;
	}
	if (event->start == shadow->first && event->end == shadow->last && !shadow->slack)
		shadow->slack = 1;
}

static void cover(struct gt_ranges *ranges, struct gt_range *range, const struct gt_event *event)
{
	struct gt_shadow *shadow = shadow_of(ranges, range, &event->place);

	range->touched = gt_clock_now();
	if (event->launch.first && range->pending)
		range->pending--;
	if (!shadow) {
		ranges->lost++;
		return;
	}
	extend(shadow, event);
}

static bool was_open(const struct gt_range *range, uint64_t time)
{
	return !range->end || range->end >= time;
}

void gt_ranges_operation(struct gt_ranges *ranges, struct gt_event *event)
{
	struct gt_range *range;
	bool innermost = true;

	if (event->kind == GT_EVENT_KERNEL && event->launch.library)
		gt_range_library_kernel(ranges, event);
	if (!event->launch.range || event->kind == GT_EVENT_SYNC)
		return;
	range = gt_range_find(ranges, event->launch.range);
	if (range)
		event->launch.nvtx = NULL;
	for (uint32_t i = 0; range && i < GT_RANGE_CHAIN_MAX; i++) {
		/* an outer one may have been closed before the launch */
		if (is_shown(range) && was_open(range, event->launch.start)) {
			if (innermost)
				event->launch.nvtx = range->label;
			innermost = false;
			if (!range->settled)
				cover(ranges, range, event);
		}
		range = gt_range_outer(ranges, range);
	}
}

void gt_ranges_left_out(struct gt_ranges *ranges, const struct gt_event *event)
{
	struct gt_range *range = event->launch.range && event->launch.first
					 ? gt_range_find(ranges, event->launch.range)
					 : NULL;

	for (uint32_t i = 0; range && i < GT_RANGE_CHAIN_MAX; i++) {
		if (range->pending && was_open(range, event->launch.start))
			range->pending--;
		range = gt_range_outer(ranges, range);
	}
}

/* The shadow of the next range outwards ends no earlier than @shadow, and later if both have the
 * same work. */
static void extend_outer(struct gt_ranges *ranges, struct gt_range *range,
			 const struct gt_shadow *shadow)
{
	struct gt_shadow *outer = NULL;
	uint32_t slack;

	for (uint32_t i = 0; range && !outer && i < GT_RANGE_CHAIN_MAX; i++) {
		range = gt_range_outer(ranges, range);
		outer = range ? find_shadow(range, &shadow->place) : NULL;
	}
	if (!outer || outer->last != shadow->last)
		return;
	slack = shadow->slack + (outer->first == shadow->first);
	if (outer->slack < slack)
		outer->slack = slack;
}

static void emit_shadows(struct gt_ranges *ranges, struct gt_range *range)
{
	struct gt_event event = {.kind = GT_EVENT_RANGE};

	event.range = range->event;
	event.range.on_gpu = true;
	event.range.detached = false;
	while (range->shadows) {
		struct gt_shadow *shadow = range->shadows;

		event.place = shadow->place;
		event.start = shadow->first;
		event.end = shadow->last + shadow->slack;
		extend_outer(ranges, range, shadow);
		gt_outlet_event(ranges->outlet, &event);
		range->shadows = shadow->next;
		shadow->next = ranges->free_shadows;
		ranges->free_shadows = shadow;
	}
}

static bool is_complete(const struct gt_range *range, uint64_t now)
{
	uint64_t patience = range->pending ? GIVE_UP_NS : LATE_NS;

	return range->touched + patience < now;
}

static void close_all(struct gt_ranges *ranges)
{

	for (uint32_t i = 0; i < GT_RANGE_BUCKETS; i++) {
		while (ranges->threads[i])
			gt_ranges_thread_ended(ranges, ranges->threads[i]->tid);
		while (ranges->started[i])
			gt_range_finish(ranges, ranges->started[i], ranges->outlet->newest, true);
	}
}

/* Takes the range at @at out of the list of closed ones. */
static void settle(struct gt_ranges *ranges, struct gt_range **at)
{
	struct gt_range *range = *at;

	*at = range->chain;
	if (!*at)
		ranges->closed_last = at;
	emit_shadows(ranges, range);
	range->settled = true;
	gt_range_drop_reference(ranges, range);
}

void gt_range_settle_oldest(struct gt_ranges *ranges)
{
	for (uint32_t i = 0; i < SETTLE_FORCED && ranges->closed_first; i++) {
		ranges->unshadowed += ranges->closed_first->pending != 0;
		settle(ranges, &ranges->closed_first);
	}
}

static struct gt_event event_of_open(const struct gt_ranges *ranges, const struct gt_range *range)
{
	struct gt_event event = {.kind = GT_EVENT_RANGE, .tid = range->tid, .start = range->start};

	event.end = ranges->outlet->newest > range->start ? ranges->outlet->newest : range->start;
	event.range = range->event;
	event.range.unfinished = true;
	return event;
}

/* Of all threads; what another thread may end stands elsewhere, too. */
void gt_range_each_open(const struct gt_ranges *ranges,
			void (*take)(void *context, struct gt_range *range), void *context)
{
	for (uint32_t i = 0; i < GT_RANGE_BUCKETS; i++) {
		for (struct gt_range_thread *t = ranges->threads[i]; t; t = t->next)
			for (struct gt_range *range = t->open; range; range = range->below)
				if (!range->started && !range->left_out)
					take(context, range);
		for (struct gt_range *range = ranges->started[i]; range; range = range->chain)
			if (!range->left_out)
				take(context, range);
	}
}

static void cut(void *context, struct gt_range *range)
{
	struct gt_ranges *ranges = context;
	struct gt_event event = event_of_open(ranges, range);

	gt_outlet_event(ranges->outlet, &event);
	emit_shadows(ranges, range);
}

void gt_ranges_cut(struct gt_ranges *ranges)
{
	while (ranges->closed_first) /* they are inside those */
		settle(ranges, &ranges->closed_first);
	gt_range_each_open(ranges, cut, ranges);
}

struct open_taker {
	const struct gt_ranges *ranges;
	void (*take)(void *context, const struct gt_event *event);
	void *context;
};

static void hand_out(void *context, struct gt_range *range)
{
	const struct open_taker *taker = context;
	struct gt_event event = event_of_open(taker->ranges, range);

	taker->take(taker->context, &event);
}

void gt_ranges_each_open(const struct gt_ranges *ranges,
			 void (*take)(void *context, const struct gt_event *event), void *context)
{
	struct open_taker taker = {.ranges = ranges, .take = take, .context = context};

	if (ranges->open_count)
		gt_range_each_open(ranges, hand_out, &taker);
}

void gt_ranges_settle(struct gt_ranges *ranges, bool all)
{
	struct gt_range **at = &ranges->closed_first;
	uint64_t now = gt_clock_now();

	if (!all && now < ranges->next_settle)
		return;
	ranges->next_settle = now + SETTLE_EVERY_NS;
	if (all) {
		close_all(ranges);
		gt_range_told_round(ranges, true);
	}
	while (*at) {
		if (!all && !is_complete(*at, now)) {
			at = &(*at)->chain;
			continue;
		}
		settle(ranges, at);
	}
}
