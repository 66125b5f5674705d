/* SPDX-License-Identifier: Apache-2.0
 *
 * A .pftrace as JSON for the readers of analysis/ (readers/translated.h): converted into a pipe.
 * One thread per file.
 */
#include <stdio.h>
#include <unistd.h>

#include "core/guest/log.h"
#include "readers/translated.h"
#include "transform/conversion.h"

struct translation {
	struct gt_input *in;
	int fd;
};

static struct gt_sink *open_pipe(struct gt_conversion *c, int *ret_error)
{
	struct translation *t = c->data;
	int fd = t->fd;

	t->fd = -1;
	return gt_sink_open_pipe(fd, ret_error);
}

static int read_pftrace(struct gt_conversion *c, struct gt_events *events)
{
	struct translation *t = c->data;

	return gt_events_read_pftrace_input(events, t->in);
}

static int no_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return 0;
}

/* What a file ends with: a pipe's first bytes cannot be written again as the tracer writes those of
 * a file, and devices, versions and clock are known only after the first event. */
static const struct gt_metadata *read_last(struct gt_events *events, const char *path)
{
	*events = (struct gt_events){.take_metadata = no_metadata};
	if (gt_input_is_stream(path) || gt_events_init(events))
		return NULL;
	return gt_events_last_metadata(events, path) ? NULL : &events->metadata;
}

static int translate(struct gt_input *in, int fd, struct gt_translation *ret)
{
	struct translation t = {.in = in, .fd = fd};
	struct gt_conversion c = {.format = "chrome",
				  .options = {.sync_lanes = true},
				  .open = open_pipe,
				  .to = in->path,
				  .data = &t};
	struct gt_events before;
	int rc;

	c.last = read_last(&before, in->path);
	rc = gt_conversion_run(&c, read_pftrace);
	gt_events_fini(&before);
	*ret = (struct gt_translation){.closed = c.closed, .strange = c.strange};
	snprintf(ret->error, sizeof(ret->error), "%.500s", c.error);
	snprintf(ret->doubt, sizeof(ret->doubt), "%s", c.doubt);
	gt_conversion_fini(&c, false);
	if (t.fd >= 0)
		close(t.fd);
	return rc;
}

void gt_translate_install(void)
{
	gt_log_set_level(GT_LOG_QUIET); /* what goes wrong comes back as words */
	gt_translated_by(translate);
}
