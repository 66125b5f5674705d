/* SPDX-License-Identifier: Apache-2.0
 *
 * Open ranges as the spool keeps them: their beginnings are in no ring any more, and no file has
 * them before they end. Drain thread; recovery.
 */
#include <string.h>

#include "collectors/nvtx/record.h"
#include "core/guest/text.h"
#include "pipeline/ranges/internal.h"

#define SAME_NS 1000u /* a time that was converted twice */

_Static_assert(sizeof(((struct gt_open_range *)0)->payload) ==
		       sizeof(((struct gt_range_event *)0)->payload),
	       "a payload is copied whole");

struct keeper {
	struct gt_open_range *at;
	uint32_t count, max;
};

static void put(char *out, size_t size, const struct gt_string *text)
{
	gt_text_format(out, size, "%s", text ? text->text : "");
}

static uint32_t flags_of(const struct gt_range *range)
{
	const struct gt_range_event *event = &range->event;

	return (range->started ? GT_OPEN_STARTED : 0) |
	       (event->is_operator ? GT_OPEN_OPERATOR : 0) |
	       (event->is_backward ? GT_OPEN_BACKWARD : 0) |
	       (event->has_sequence ? GT_OPEN_SEQUENCE : 0) |
	       (event->is_library ? GT_OPEN_LIBRARY : 0);
}

static void keep(void *context, struct gt_range *range)
{
	struct keeper *keeper = context;
	const struct gt_range_event *event = &range->event;
	struct gt_open_range *open;

	if (keeper->count == keeper->max)
		return;
	open = &keeper->at[keeper->count++];
	open->id = event->id;
	open->start = range->start;
	open->key = range->key;
	open->sequence = event->sequence;
	open->tid = range->tid;
	open->domain = range->domain;
	open->color = event->color;
	open->flags = flags_of(range);
	open->library = event->library;
	put(open->name, sizeof(open->name), event->name);
	put(open->category, sizeof(open->category), event->category);
	gt_text_format(open->payload, sizeof(open->payload), "%s", event->payload);
}

uint32_t gt_ranges_keep(const struct gt_ranges *ranges, struct gt_open_range *ret_open,
			uint32_t max)
{
	struct keeper keeper = {.at = ret_open, .max = max};

	if (ranges->open_count)
		gt_range_each_open(ranges, keep, &keeper);
	return keeper.count;
}

/* That which work in the file refers to. */
static void take_id(struct gt_ranges *ranges, struct gt_range *range, uint64_t id)
{
	if (!id || ranges->by_id[id % GT_RANGE_IDS])
		return;
	ranges->by_id[range->event.id % GT_RANGE_IDS] = NULL;
	range->event.id = id;
	ranges->by_id[id % GT_RANGE_IDS] = range;
}

static const struct gt_string *text_of(struct gt_ranges *ranges, const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	return length ? gt_range_string(ranges, text, length) : NULL;
}

static void describe(struct gt_ranges *ranges, struct gt_range *range,
		     const struct gt_open_range *open)
{
	struct gt_range_event *event = &range->event;

	event->name = text_of(ranges, open->name, sizeof(open->name));
	if (!event->name)
		event->name = gt_intern_cstr(ranges->strings, "(no name)");
	event->category = text_of(ranges, open->category, sizeof(open->category));
	if (!(open->flags & GT_OPEN_OPERATOR))
		event->domain = gt_range_registered(ranges, open->domain);
	event->color = open->color;
	event->is_operator = open->flags & GT_OPEN_OPERATOR;
	event->is_backward = open->flags & GT_OPEN_BACKWARD;
	event->has_sequence = open->flags & GT_OPEN_SEQUENCE;
	event->sequence = open->sequence;
	event->detached = open->flags & GT_OPEN_STARTED;
	memcpy(event->payload, open->payload, sizeof(event->payload));
	event->payload[sizeof(event->payload) - 1] = 0;
	gt_range_label(ranges, range);
}

void gt_ranges_reopen(struct gt_ranges *ranges, const struct gt_open_range *open)
{
	struct gt_range *range = gt_range_open(ranges, open->tid, open->start);

	if (!range)
		return;
	take_id(ranges, range, open->id);
	range->domain = open->domain;
	range->key = open->key;
	if (open->flags & GT_OPEN_LIBRARY) {
		gt_range_describe_library(ranges, range, &open->library);
		return;
	}
	describe(ranges, range, open);
	gt_range_steps_begin(&ranges->steps, range);
	if (open->flags & GT_OPEN_STARTED)
		gt_range_add_started(ranges, range);
}

bool gt_ranges_has(const struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	uint64_t start = gt_clock_from_monotonic(ranges->clock, record->time);
	const struct gt_range *range = NULL;

	if (record->head.flags == GT_NVTX_PUSH)
		range = gt_range_find_pushed(ranges, record->tid, record->domain, record->id);
	else if (record->head.flags == GT_NVTX_START)
		range = gt_range_find_started(ranges, record->id);
	return range && range->start + SAME_NS > start && start + SAME_NS > range->start;
}
