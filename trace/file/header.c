/* SPDX-License-Identifier: Apache-2.0
 *
 * See header.h.
 */
#include "trace/file/header.h"

#include <errno.h>

#include "readers/chrome/reading_events.h"
#include "readers/events.h"
#include "readers/progress.h"

static int stop_at_first(const struct gt_trace_event *record, const struct gt_header *header,
			 void *data)
{
	(void)record;
	(void)header;
	(void)data;
	return -ECANCELED;
}

static int see_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	*(bool *)data = true;
	return 0;
}

static int no_event(const struct gt_event *event, void *data)
{
	(void)event;
	(void)data;
	return 0;
}

/* What was found before a damage counts; where there is nothing, a whole reading says why. @data:
 * the process, or NULL for the first. */
static int read_pftrace(struct gt_input *in, void *data, struct gt_reading *ret_reading)
{
	bool seen = false;
	struct gt_events events = {.take_metadata = see_metadata,
				   .take_event = no_event,
				   .part = data ? *(const uint32_t *)data : 0,
				   .data = &seen};
	int rc = gt_events_init(&events);

	if (!rc)
		gt_events_last_metadata(&events, in->path);
	if (!rc && !seen && events.part)
		rc = -ENODATA;
	else if (!rc && !seen)
		rc = gt_events_read_pftrace(&events, in->path);
	rc = gt_reading_of_events(&events, in, rc, ret_reading);
	gt_events_fini(&events);
	return rc;
}

static int read_json(struct gt_input *in, void *data, struct gt_reading *ret_reading)
{
	return gt_reader_read_input(in, stop_at_first, data, ret_reading);
}

static int read_json_whole(struct gt_input *in, void *data, struct gt_reading *ret_reading)
{
	(void)data;
	return gt_reader_read_input(in, NULL, NULL, ret_reading);
}

int gt_file_header(const char *path, struct gt_reading *ret_reading)
{
	int rc = gt_reader_read_either(path, read_json, read_pftrace, NULL, ret_reading);

	return rc == -ECANCELED || rc > 0 ? 0 : rc;
}

int gt_file_header_part(const char *path, uint32_t part, struct gt_reading *ret_reading)
{
	return gt_reader_read_either(path, read_json, read_pftrace, &part, ret_reading);
}

/* Kineto writes what it learns last, as the base of its times, behind the events. */
static bool may_go_on_behind(const struct gt_reading *reading)
{
	const struct gt_header *header = &reading->header;

	return !reading->is_pftrace && reading->form == GT_FORM_OBJECT && reading->events &&
	       !(header->has_base && header->has_rank &&
		 gt_header_find(header, "deviceProperties"));
}

int gt_file_header_whole(const char *path, struct gt_reading *ret_reading)
{
	int rc = gt_file_header(path, ret_reading);

	if (rc || !may_go_on_behind(ret_reading))
		return rc;
	gt_reading_fini(ret_reading);
	gt_progress_expect_file(path);
	return gt_reader_read_either(path, read_json_whole, read_pftrace, NULL, ret_reading);
}

bool gt_file_is_whole_pftrace(const char *path, uint32_t parts)
{
	struct gt_events events = {.take_metadata = see_metadata,
				   .take_event = no_event,
				   .part = parts > 1 ? parts - 1 : 0};
	bool seen = false, is_whole;

	events.data = &seen;
	gt_progress_expect_file(path);
	is_whole =
		!gt_events_init(&events) && !gt_events_read_pftrace(&events, path) && events.closed;
	gt_events_fini(&events);
	return is_whole;
}
