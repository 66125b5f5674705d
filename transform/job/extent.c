/* SPDX-License-Identifier: Apache-2.0
 *
 * When the traces of a merge begin and end, and where a window of time is in each: it counts from
 * the job's first slice, as that of --filter=time does (trace/job_compare.c).
 */
#include <errno.h>
#include <string.h>

#include "readers/events.h"
#include "trace/category.h"
#include "trace/job.h"
#include "transform/job/window.h"

/* The first and last moment of a trace, on its own clock. */
struct merge_extent {
	int64_t base, first, last;
};

static void widen(struct merge_extent *extent, int64_t start, int64_t dur)
{
	int64_t end;

	if (__builtin_add_overflow(start, extent->base, &start) ||
	    __builtin_add_overflow(start, dur > 0 ? dur : 0, &end))
		return;
	extent->first = start < extent->first ? start : extent->first;
	extent->last = end > extent->last ? end : extent->last;
}

static int see_record(const struct gt_trace_event *record, const struct gt_header *header,
		      void *data)
{
	(void)header;
	if (record->has_ts && (record->ph == 'X' || record->ph == 'B' || record->ph == 'E') &&
	    (record->cat.kind == GT_SPAN_NONE || gt_category_role(&record->cat) < GT_ROLE_IGNORED))
		widen(data, record->ts, record->has_dur ? record->dur : 0);
	return 0;
}

static int see_event(const struct gt_event *event, void *data)
{
	static const bool is_slice[GT_EVENT_COUNT_] = {
		[GT_EVENT_API] = true,      [GT_EVENT_KERNEL] = true, [GT_EVENT_MEMCPY] = true,
		[GT_EVENT_MEMSET] = true,   [GT_EVENT_GRAPH] = true,  [GT_EVENT_RANGE] = true,
		[GT_EVENT_OVERHEAD] = true,
	};

	if (is_slice[event->kind] && event->start <= INT64_MAX && event->end <= INT64_MAX)
		widen(data, (int64_t)event->start, (int64_t)event->end - (int64_t)event->start);
	return 0;
}

static int see_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return 0;
}

static int read_part(struct merge_extent *extent, const char *path, uint32_t *part)
{
	struct gt_events events = {.take_metadata = see_metadata,
				   .take_event = see_event,
				   .unjoined = true,
				   .part = (*part)++,
				   .data = extent};
	int rc = gt_events_init(&events);

	if (!rc)
		rc = gt_events_read_pftrace(&events, path);
	if (!rc && *part < events.parts)
		rc = 1;
	gt_events_fini(&events);
	return rc;
}

/* What cannot be read is said when it is copied. */
static int read_extent(const struct gt_merge_source *source, struct merge_extent *ret_extent)
{
	struct gt_reading reading;
	uint32_t part = source->part;
	int rc = 1;

	*ret_extent =
		(struct merge_extent){source->is_pftrace ? 0 : source->base, INT64_MAX, INT64_MIN};
	if (source->is_pftrace) {
		do
			rc = read_part(ret_extent, source->path, &part);
		while (rc > 0 && !source->is_part);
		return rc == -ENOMEM ? rc : 0;
	}
	rc = gt_reader_read(source->path, see_record, ret_extent, &reading);
	gt_reading_fini(&reading);
	return rc == -ENOMEM ? rc : 0;
}

static int64_t sum(int64_t a, int64_t b)
{
	int64_t result;

	if (__builtin_add_overflow(a, b, &result))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return result;
}

/* The first slice of the processes whose clocks can be compared; INT64_MAX: of each its own. */
static int64_t find_origin(const struct gt_merge_sources *sources)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < sources->count; i++) {
		const struct gt_merge_source *source = &sources->of[i];

		if (!source->has_base || source->first_slice > source->last_slice)
			continue;
		first = source->first_slice < first ? source->first_slice : first;
		last = source->first_slice > last ? source->first_slice : last;
	}
	return first <= last && (double)last - (double)first > (double)GT_JOB_NS ? INT64_MAX
										 : first;
}

/* That of a process: its files follow each other. */
static int64_t own_origin(const struct gt_merge_sources *sources, size_t process)
{
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < sources->count; i++)
		if (sources->of[i].process == process && sources->of[i].first_slice < first)
			first = sources->of[i].first_slice;
	return first;
}

int gt_merge_extents(struct gt_merge_sources *sources, const struct gt_clocks *clocks,
		     const struct gt_merge_request *request)
{
	int64_t origin;

	for (size_t i = 0; i < sources->count; i++) {
		struct gt_merge_source *source = &sources->of[i];
		const struct gt_clock_map *clock = &clocks->of[source->process];
		struct merge_extent extent;
		int rc = read_extent(source, &extent);

		if (rc)
			return rc;
		source->first_slice = extent.first;
		source->last_slice = extent.last;
		if (extent.first > extent.last)
			continue;
		source->first_slice = gt_clock_map_time(clock, extent.first);
		source->last_slice = gt_clock_map_time(clock, extent.last);
	}
	origin = find_origin(sources);
	for (size_t i = 0; i < sources->count; i++) {
		struct gt_merge_source *source = &sources->of[i];
		int64_t start = source->has_base ? origin : INT64_MAX;

		if (start == INT64_MAX)
			start = own_origin(sources, source->process);
		source->from = sum(start, request->from);
		source->to = sum(start, request->to);
	}
	return 0;
}
