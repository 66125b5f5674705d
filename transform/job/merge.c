/* SPDX-License-Identifier: Apache-2.0
 *
 * See merge.h.
 */
#include "transform/job/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/file/header.h"
#include "transform/as_json.h"
#include "transform/job/merging.h"

/* The number of a device in the merged file, given before its first event. */
static int64_t number_device(void *merging, int64_t id)
{
	struct gt_merging *m = merging;
	const struct gt_merge_row *row = gt_merge_rows_find(&m->rows, m->source->process, id);

	return row ? row->merged : id;
}

/* All processes, in the order in which they are copied. */
static int find_devices(struct gt_merging *m)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < m->sources.count; i++) {
		m->source = &m->sources.of[i];
		rc = gt_merge_devices_take(&m->devices, &m->source->device_list, number_device, m);
	}
	return rc;
}

/* The smallest: no time of the merged file comes to stand before it. */
static void find_base(struct gt_merging *m)
{
	const struct gt_merge_source *sources = m->sources.of;

	for (size_t i = 0; i < m->sources.count; i++) {
		if (!sources[i].has_base || (m->has_base && m->base <= sources[i].base))
			continue;
		m->has_base = true;
		m->base = sources[i].base;
	}
}

static void add_ledger(struct gt_merging *m, const struct gt_header *header)
{
	uint64_t *sum = m->ledger.count;
	int64_t count;

	m->has_ledger |= gt_header_find(header, "ledger") != NULL;
	for (enum gt_ledger_key i = 0; i < GT_LEDGER_COUNT_; i++)
		if (gt_header_int(header, "ledger", gt_ledger_rows[i].json, &count))
			sum[i] = gt_ledger_join(i, sum[i], (uint64_t)count);
}

int gt_merge_open(const struct gt_merging *m, struct gt_as_json *trace)
{
	struct gt_as_json_wish wish = m->wish;

	wish.part = m->source->part;
	return gt_as_json_open(trace, m->source->path, wish);
}

static int copy_events(struct gt_merging *m, struct gt_reading *ret_reading)
{
	struct gt_as_json trace;
	int rc = gt_merge_open(m, &trace);

	if (rc < 0)
		*ret_reading = trace.outcome;
	else
		rc = gt_as_json_read(&trace, gt_merge_copy_event, m, ret_reading);
	gt_as_json_close(&trace);
	return rc;
}

/* The window on the clock of the merged file. */
static void place_window(struct gt_merging *m)
{
	if (!m->window.is_set)
		return;
	if (__builtin_sub_overflow(m->source->from, m->window_shift, &m->window.from))
		m->window.from = INT64_MIN;
	if (__builtin_sub_overflow(m->source->to, m->window_shift, &m->window.to))
		m->window.to = INT64_MAX;
}

/* Its clock, and whether it is the one of the merged file. */
void gt_merge_take_in_hand(struct gt_merging *m, const struct gt_merge_source *source)
{
	m->source = source;
	m->is_ours = source->metadata && strstr(source->metadata, "\"gputrace_version\"");
	m->clock = &m->clocks.of[source->process];
	m->is_lost = m->has_base && !source->has_base && m->clock->by != GT_CLOCK_BY_COLLECTIVES;
	if (!m->has_base || m->is_lost)
		m->ts_shift = 0;
	else if (__builtin_sub_overflow(source->base, m->base, &m->ts_shift))
		m->ts_shift = INT64_MAX;
	m->moves = m->ts_shift || m->clock->line.off || m->clock->line.drift != 0;
	m->window_shift = m->has_base && !m->is_lost ? m->base : 0;
	place_window(m);
}

static int copy_source(struct gt_merging *m, const struct gt_merge_source *source)
{
	struct gt_merge_result *result = m->result;
	struct gt_reading reading;
	int rc;

	gt_merge_take_in_hand(m, source);
	result->baseless += m->is_lost;
	rc = copy_events(m, &reading);
	if (rc < 0)
		snprintf(result->error, sizeof(result->error), "%s", reading.error);
	if (!reading.closed && !result->cut++)
		result->cut_path = source->path;
	result->without_ledger += !reading.closed || reading.without_ledger;
	if (reading.closed)
		add_ledger(m, &reading.header);
	gt_reading_fini(&reading);
	return rc < 0 ? rc : 0;
}

/* Behind the last file of a process: the next one's ids follow. */
static void shift_ids(struct gt_merging *m)
{
	for (int kind = 0; kind < GT_MERGE_ID_COUNT_; kind++) {
		struct gt_merge_ids *ids = &m->ids[kind];

		ids->shift = gt_merge_id_sum(ids->shift, ids->largest);
		ids->largest = 0;
	}
}

/* All files of the process that begins at @first. */
static int copy_process(struct gt_merging *m, size_t first, size_t end)
{
	int rc = end - first > 1 ? gt_merge_connect_begin(m) : 0;

	if (!rc && m->window.is_set)
		rc = gt_merge_window_begin(m, first, end);
	for (size_t i = first; !rc && i < end; i++)
		rc = copy_source(m, &m->sources.of[i]);
	gt_merge_window_end(m);
	gt_merge_connect_end(m);
	shift_ids(m);
	return rc;
}

static int copy_all(struct gt_merging *m)
{
	const struct gt_merge_sources *sources = &m->sources;
	int rc = 0;

	for (size_t i = 0, end; !rc && i < sources->count; i = end) {
		end = gt_merge_process_end(sources, i);
		rc = copy_process(m, i, end);
	}
	return rc;
}

static int put_all(struct gt_merging *m)
{
	int rc;

	gt_merge_put_head(m);
	rc = copy_all(m);
	if (rc)
		return rc;
	gt_merge_put_tail(m);
	if (!fflush(m->out) && !ferror(m->out))
		return 0;
	snprintf(m->result->error, sizeof(m->result->error),
		 "the merged trace could not be written");
	return -EIO;
}

int gt_merge(char *const *paths, size_t count, const struct gt_merge_request *request, FILE *out,
	     struct gt_merge_result *ret_result)
{
	struct gt_merging m = {.out = out,
			       .result = ret_result,
			       .window.is_set = request->has_time,
			       .wish = request->wish};
	int rc;

	*ret_result = (struct gt_merge_result){0};
	rc = gt_merge_sources_read(paths, count, true, &m.sources, ret_result);
	if (!rc) {
		find_base(&m);
		rc = gt_merge_sources_clocks(&m.sources, request->force, &m.clocks, ret_result);
	}
	if (!rc && request->has_time)
		rc = gt_merge_extents(&m.sources, &m.clocks, request);
	if (!rc)
		rc = find_devices(&m);
	if (!rc)
		rc = put_all(&m);
	ret_result->kept = m.window.kept;
	gt_clocks_fini(&m.clocks);
	gt_merge_rows_fini(&m.rows);
	gt_vec_free(&m.devices.list);
	gt_merge_sources_fini(&m.sources);
	return rc;
}
