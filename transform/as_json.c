/* SPDX-License-Identifier: Apache-2.0
 *
 * See as_json.h.
 */
#include "transform/as_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "readers/chrome/reading_events.h"
#include "readers/events.h"
#include "transform/conversion.h"

/* ---- the file without a name ---- */

static int open_in(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[4096];

	if (fd >= 0 ||
	    (size_t)snprintf(path, sizeof(path), "%s/gputrace-XXXXXX", folder) >= sizeof(path))
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static int open_nameless(void)
{
	const char *folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (folders[i] && *folders[i])
			fd = open_in(folders[i]);
	return fd < 0 ? -errno : fd;
}

/* ---- conversion ---- */

static struct gt_sink *open_output(struct gt_conversion *c, int *ret_error)
{
	const struct gt_as_json *trace = c->data;
	int fd = fcntl(trace->fd, F_DUPFD_CLOEXEC, 0);

	*ret_error = -errno;
	return fd < 0 ? NULL : gt_sink_open_pipe(fd, ret_error);
}

static int read_pftrace(struct gt_conversion *c, struct gt_events *events)
{
	struct gt_as_json *trace = c->data;

	return gt_events_read_pftrace_input(events, &trace->in);
}

static int no_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return 0;
}

/* What a file ends with: the first bytes of the output are written once, and devices, versions and
 * clock are known only after the first event. */
static const struct gt_metadata *read_last(struct gt_events *events, const struct gt_as_json *trace)
{
	*events = (struct gt_events){.take_metadata = no_metadata, .part = trace->wish.part};
	if (gt_input_is_stream(trace->path) || gt_events_init(events))
		return NULL;
	return gt_events_last_metadata(events, trace->path) ? NULL : &events->metadata;
}

/* The state of the .pftrace, not of the JSON. */
static void take_outcome(struct gt_as_json *trace, const struct gt_conversion *c)
{
	struct gt_reading *outcome = &trace->outcome;

	outcome->is_pftrace = true;
	outcome->compressed = trace->in.compressed;
	outcome->closed = c->closed;
	outcome->strange = c->strange;
	snprintf(outcome->note, sizeof(outcome->note), "%s", c->closed ? "" : GT_READING_CUT_NOTE);
	snprintf(outcome->doubt, sizeof(outcome->doubt), "%s", c->doubt);
	snprintf(outcome->error, sizeof(outcome->error), "%.500s", c->error);
}

static int convert(struct gt_as_json *trace)
{
	struct gt_conversion c = {.format = "chrome",
				  .options = {.sync_tracks = true,
					      .full_stacks = trace->wish.full_stacks,
					      .own_flows = trace->wish.own_flows},
				  .open = open_output,
				  .from = trace->path,
				  .to = "the JSON of a .pftrace (TMPDIR)",
				  .part = trace->wish.part,
				  .takes_part = true,
				  .data = trace};
	struct gt_events before;
	int rc;

	trace->fd = open_nameless();
	if (trace->fd < 0)
		return gt_reading_fail(&trace->outcome, c.to, trace->fd);
	c.last = read_last(&before, trace);
	rc = gt_conversion_run(&c, read_pftrace);
	trace->parts = c.parts;
	gt_events_fini(&before);
	take_outcome(trace, &c);
	gt_conversion_fini(&c, false);
	return rc;
}

/* ---- the trace ---- */

int gt_as_json_open(struct gt_as_json *trace, const char *path, struct gt_as_json_wish wish)
{
	int rc;

	*trace = (struct gt_as_json){.path = path, .wish = wish, .parts = 1, .fd = -1};
	rc = gt_input_open(&trace->in, path);
	if (!rc)
		rc = gt_input_more(&trace->in);
	if (rc < 0)
		return gt_reading_fail(&trace->outcome, path, rc);
	return gt_input_is_pftrace(&trace->in) ? convert(trace) : 0;
}

/* Reading the JSON of a .pftrace is no progress: its file has been read. */
static int read_converted(struct gt_as_json *trace, gt_reader_event event, void *data,
			  struct gt_reading *ret_reading)
{
	const struct gt_reading *outcome = &trace->outcome;
	int fd = fcntl(trace->fd, F_DUPFD_CLOEXEC, 0), rc = fd < 0 ? -errno : 0;
	struct gt_input in;

	*ret_reading = (struct gt_reading){0};
	if (!rc && lseek(fd, 0, SEEK_SET) < 0)
		rc = -errno;
	if (!rc)
		rc = gt_input_open_fd(&in, trace->path, fd);
	if (rc)
		return gt_reading_fail(ret_reading, trace->path, rc);
	rc = gt_reader_read_input(&in, event, data, ret_reading);
	gt_input_close(&in);
	ret_reading->is_pftrace = true;
	ret_reading->form = GT_FORM_OBJECT;
	ret_reading->mixed = false;
	ret_reading->compressed = outcome->compressed;
	ret_reading->closed = outcome->closed;
	ret_reading->strange = outcome->strange;
	memcpy(ret_reading->note, outcome->note, sizeof(outcome->note));
	memcpy(ret_reading->doubt, outcome->doubt, sizeof(outcome->doubt));
	return rc;
}

int gt_as_json_read(struct gt_as_json *trace, gt_reader_event event, void *data,
		    struct gt_reading *ret_reading)
{
	if (trace->fd >= 0)
		return read_converted(trace, event, data, ret_reading);
	if (trace->was_read)
		return gt_reader_read(trace->path, event, data, ret_reading);
	trace->was_read = true;
	return gt_reader_read_input(&trace->in, event, data, ret_reading);
}

void gt_as_json_close(struct gt_as_json *trace)
{
	gt_input_close(&trace->in);
	gt_reading_fini(&trace->outcome);
	if (trace->fd >= 0)
		close(trace->fd);
	trace->fd = -1;
}
