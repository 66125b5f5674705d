/* SPDX-License-Identifier: Apache-2.0
 *
 * See conversion.h.
 */
#include "transform/conversion.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What is written is counted again. */
static const enum gt_ledger_key written[] = {
	GT_LEDGER_CALLS_WRITTEN,   GT_LEDGER_KERNELS_WRITTEN,  GT_LEDGER_MEMCPYS_WRITTEN,
	GT_LEDGER_MEMSETS_WRITTEN, GT_LEDGER_SYNCS_WRITTEN,    GT_LEDGER_OVERHEADS_WRITTEN,
	GT_LEDGER_RANGES_WRITTEN,  GT_LEDGER_SHADOWS_WRITTEN,  GT_LEDGER_FRAMES_WRITTEN,
	GT_LEDGER_SAMPLES_WRITTEN, GT_LEDGER_COUNTERS_WRITTEN, GT_LEDGER_NOTES_WRITTEN,
	GT_LEDGER_FLOWS_WRITTEN,   GT_LEDGER_STACKS_WRITTEN,   GT_LEDGER_NAMES_WRITTEN,
	GT_LEDGER_BYTES_WRITTEN,   GT_LEDGER_GRAPHS_WRITTEN,   GT_LEDGER_TENSORS_WRITTEN,
};

static int fail(struct gt_conversion *c, int error)
{
	if (!c->error[0])
		snprintf(c->error, sizeof(c->error), "%.900s: %s", c->to, strerror(-error));
	c->is_output_at_fault = true;
	return error;
}

static int refuse_merged(struct gt_conversion *c)
{
	snprintf(c->error, sizeof(c->error),
		 "%.500s: holds several processes, and is JSON already: take the traces that "
		 "gputrace merge made it of",
		 c->from);
	c->is_merged = true;
	return -EINVAL;
}

static int take_metadata(const struct gt_metadata *metadata, void *data)
{
	struct gt_conversion *c = data;
	struct gt_metadata changed;
	int error = 0;

	if (!c->takes_part && (c->events->parts > 1 || c->events->told_parts > 1))
		return refuse_merged(c);
	if (c->last)
		metadata = c->last;
	if (c->change_metadata) {
		changed = *metadata;
		c->change_metadata(c, &changed);
		metadata = &changed;
	}
	if (c->sink) {
		c->writer->ops->metadata(c->writer, metadata);
		return 0;
	}
	c->options.few_details = strstr(metadata->options, "details=few") != NULL;
	c->options.own_flows |= strstr(metadata->options, "details=all") != NULL;
	c->sink = c->open(c, &error);
	if (c->sink)
		error = c->writer->ops->open(c->writer, c->sink, metadata, &c->options);
	return error ? fail(c, error) : 0;
}

static int take_event(const struct gt_event *event, void *data)
{
	struct gt_conversion *c = data;
	struct gt_event changed;
	int error;

	if (c->change_event) {
		changed = *event;
		c->change_event(c, &changed);
		event = &changed;
	}
	if (c->takes_event && !c->takes_event(c, event))
		return 0;
	error = c->writer->ops->event(c->writer, event);
	return error ? fail(c, error) : 0;
}

/* What the process had not written stays unknown. */
static void mark_cut(struct gt_events *events)
{
	struct gt_metadata_repaired *repaired = &events->metadata.repaired;

	if (events->has_ledger)
		return;
	repaired->without_ledger = true;
	if (!repaired->done)
		repaired->events = events->count;
	repaired->done = true;
}

static int close_output(struct gt_conversion *c, struct gt_events *events)
{
	int error;

	gt_events_doubt(events, c->doubt, sizeof(c->doubt));
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		events->ledger.count[written[i]] = 0;
	gt_events_complete_ledger(events, &events->ledger);
	if (c->change_ledger)
		c->change_ledger(c, &events->ledger);
	mark_cut(events);
	if (c->change_metadata)
		c->change_metadata(c, &events->metadata);
	error = c->writer->ops->close(c->writer, &events->metadata, &events->ledger);
	return error ? fail(c, error) : 0;
}

/* It should hold more processes than there are, and the last of those was read. */
static bool lacks_next(const struct gt_events *events)
{
	return events->told_parts > events->parts && events->parts == events->part + 1;
}

int gt_conversion_run(struct gt_conversion *c,
		      int (*read)(struct gt_conversion *c, struct gt_events *events))
{
	struct gt_events events = {
		.take_metadata = take_metadata, .take_event = take_event, .data = c};
	int error = gt_events_init(&events);

	events.part = c->part;
	c->events = &events;
	c->writer = gt_writer_new(c->format);
	if (!error && !c->writer)
		error = -ENOMEM;
	if (!error)
		error = read(c, &events);
	if (error && !c->error[0])
		snprintf(c->error, sizeof(c->error), "%s",
			 events.error[0] ? events.error : strerror(-error));
	if (!error && c->sink)
		error = close_output(c, &events);
	c->parts = events.parts;
	c->closed = events.closed && !lacks_next(&events);
	c->strange = events.strange;
	gt_events_fini(&events);
	c->events = NULL;
	return error;
}

void gt_conversion_fini(struct gt_conversion *c, bool failed)
{
	if (c->writer)
		c->writer->ops->fini(c->writer);
	gt_writer_free(c->writer);
	if (c->sink && failed)
		gt_sink_discard(c->sink);
	else
		gt_sink_close(c->sink);
}
