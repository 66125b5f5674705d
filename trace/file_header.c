/* SPDX-License-Identifier: Apache-2.0
 *
 * See file_header.h.
 */
#include "trace/file_header.h"

#include <errno.h>

#include "readers/chrome/reading_events.h"
#include "readers/events.h"

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

/* What was found before a damage counts; where there is nothing, a whole reading says why. */
static int read_pftrace(struct gt_input *in, void *data, struct gt_reading *ret_reading)
{
	bool seen = false;
	struct gt_events events = {
		.take_metadata = see_metadata, .take_event = no_event, .data = &seen};
	int rc = gt_events_init(&events);

	(void)data;
	if (!rc)
		gt_events_last_metadata(&events, in->path);
	if (!rc && !seen)
		rc = gt_events_read_pftrace(&events, in->path);
	rc = gt_reading_of_events(&events, in, rc, ret_reading);
	gt_events_fini(&events);
	return rc;
}

static int read_json(struct gt_input *in, void *data, struct gt_reading *ret_reading)
{
	return gt_reader_read_input(in, stop_at_first, data, ret_reading);
}

int gt_file_header(const char *path, struct gt_reading *ret_reading)
{
	int rc = gt_reader_read_either(path, read_json, read_pftrace, NULL, ret_reading);

	return rc == -ECANCELED || rc > 0 ? 0 : rc;
}
