/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/output/filters.h"

#include <string.h>

#include "core/guest/text.h"
#include "core/intern.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"

_Static_assert(sizeof(((struct gt_metadata *)0)->filters) == GT_CAPTURE_FILTER,
	       "GT_METADATA_FILTERS");

static const char *text_of(const struct gt_string *string)
{
	return string ? string->text : NULL;
}

/* ---- names ---- */

static bool keeps_kernel(const struct gt_capture_filter *asked, const struct gt_string *name,
			 const struct gt_string *domain)
{
	char base[GT_CAPTURE_LIST];
	const char *start, *names[2] = {text_of(name), base};
	size_t length;

	(void)domain;
	if (!name)
		return gt_capture_filter_keeps(asked, GT_CAPTURE_KERNELS, NULL, 0);
	length = gt_capture_filter_base(name->text, &start);
	if (length >= sizeof(base))
		length = sizeof(base) - 1;
	memcpy(base, start, length);
	base[length] = 0;
	return gt_capture_filter_keeps(asked, GT_CAPTURE_KERNELS, names, 2);
}

static bool keeps_call(const struct gt_capture_filter *asked, const struct gt_string *name,
		       const struct gt_string *domain)
{
	const char *names[1] = {text_of(name)};

	(void)domain;
	return gt_capture_filter_keeps(asked, GT_CAPTURE_CALLS, names, 1);
}

static bool keeps_range(const struct gt_capture_filter *asked, const struct gt_string *name,
			const struct gt_string *domain)
{
	return gt_capture_filter_keeps_range(asked, name ? name->text : "",
					     domain ? domain->text : "");
}

typedef bool (*keeps_function)(const struct gt_capture_filter *, const struct gt_string *,
			       const struct gt_string *);

/* Strings are interned: one address, one name. */
static bool remember(struct gt_filters *filters, struct gt_filters_memory *memory,
		     keeps_function keeps, const struct gt_string *name,
		     const struct gt_string *domain)
{
	uintptr_t at = ((uintptr_t)name >> 4) ^ ((uintptr_t)domain >> 6);
	__typeof__(&memory->entries[0]) entry = &memory->entries[at % GT_FILTERS_REMEMBERED];

	if (!name)
		return keeps(&filters->asked, NULL, domain);
	if (entry->name != name || entry->domain != domain) {
		entry->name = name;
		entry->domain = domain;
		entry->kept = keeps(&filters->asked, name, domain);
	}
	return entry->kept;
}

/* ---- places ---- */

static bool keeps_device(const struct gt_filters *filters, uint32_t device)
{
	const struct gt_metadata *metadata = filters->metadata;
	const char *names[2] = {NULL, NULL};
	char number[24];

	if (!*filters->asked.list[GT_CAPTURE_DEVICES])
		return true;
	number[gt_text_decimal(number, device)] = 0;
	names[0] = number;
	if (device < metadata->device_count && metadata->devices[device].id == device)
		names[1] = text_of(metadata->devices[device].name);
	return gt_capture_filter_keeps(&filters->asked, GT_CAPTURE_DEVICES, names, 2);
}

static bool keeps_stream(const struct gt_filters *filters, const struct gt_place *place)
{
	uint32_t count = filters->stream_count < GT_FILTERS_STREAMS ? filters->stream_count
								    : GT_FILTERS_STREAMS;
	const char *names[2] = {NULL, NULL};
	char number[24];

	if (!*filters->asked.list[GT_CAPTURE_STREAMS])
		return true;
	number[gt_text_decimal(number, place->stream)] = 0;
	names[0] = number;
	for (uint32_t i = 0; i < count; i++)
		if (filters->streams[i].stream == place->stream &&
		    filters->streams[i].device == place->device)
			names[1] = text_of(filters->streams[i].name);
	return gt_capture_filter_keeps(&filters->asked, GT_CAPTURE_STREAMS, names, 2);
}

void gt_filters_see(struct gt_filters *filters, const struct gt_event *event)
{
	uint32_t i;

	if (!filters || event->kind != GT_EVENT_STREAM || !event->stream.name)
		return;
	for (i = 0; i < filters->stream_count && i < GT_FILTERS_STREAMS; i++)
		if (filters->streams[i].stream == event->place.stream &&
		    filters->streams[i].device == event->place.device)
			break;
	if (i == filters->stream_count || i == GT_FILTERS_STREAMS)
		i = filters->stream_count++ % GT_FILTERS_STREAMS;
	filters->streams[i].device = event->place.device;
	filters->streams[i].stream = event->place.stream;
	filters->streams[i].name = event->stream.name;
}

/* ---- events ---- */

static const enum gt_ledger_key keys[GT_EVENT_COUNT_] = {
	[GT_EVENT_API] = GT_LEDGER_CALLS_FILTERED_LATER,
	[GT_EVENT_KERNEL] = GT_LEDGER_KERNELS_FILTERED,
	[GT_EVENT_MEMCPY] = GT_LEDGER_MEMCPYS_FILTERED,
	[GT_EVENT_MEMSET] = GT_LEDGER_MEMSETS_FILTERED,
	[GT_EVENT_GRAPH] = GT_LEDGER_GRAPHS_FILTERED,
	[GT_EVENT_SYNC] = GT_LEDGER_SYNCS_FILTERED,
	[GT_EVENT_RANGE] = GT_LEDGER_RANGES_FILTERED,
	[GT_EVENT_MARK] = GT_LEDGER_RANGES_FILTERED,
};

static bool keeps(struct gt_filters *filters, const struct gt_event *event)
{
	bool is_short = event->end - event->start < filters->asked.min_duration;

	if (event->kind == GT_EVENT_RANGE && event->range.is_unified)
		return true;
	if (event->kind == GT_EVENT_RANGE || event->kind == GT_EVENT_MARK)
		return remember(filters, &filters->ranges, keeps_range, event->range.name,
				event->range.domain);
	if (event->kind == GT_EVENT_API)
		return event->api.block.op ||
		       (!is_short &&
			remember(filters, &filters->calls, keeps_call, event->api.name, NULL));
	if (event->kind == GT_EVENT_KERNEL &&
	    !remember(filters, &filters->kernels, keeps_kernel, event->kernel.name, NULL))
		return false;
	return !is_short && keeps_device(filters, event->place.device) &&
	       keeps_stream(filters, &event->place);
}

bool gt_filters_leave_out(struct gt_filters *filters, const struct gt_event *event)
{
	if (!filters || !keys[event->kind] || keeps(filters, event))
		return false;
	gt_ledger_add(filters->ledger, keys[event->kind], 1);
	return true;
}

bool gt_filters_begin(struct gt_filters *filters)
{
	if (!filters->is_changed)
		return false;
	filters->is_changed = false;
	filters->asked = filters->next;
	memset(&filters->kernels, 0, sizeof(filters->kernels));
	memset(&filters->calls, 0, sizeof(filters->calls));
	memset(&filters->ranges, 0, sizeof(filters->ranges));
	return true;
}
