/* SPDX-License-Identifier: Apache-2.0
 *
 * Where every event leaves the pipeline: held back until something asks for a file, then handed to
 * the writer. Drain thread.
 */
#ifndef GT_PIPELINE_OUTPUT_OUTLET_H
#define GT_PIPELINE_OUTPUT_OUTLET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/guest/clock.h"
#include "core/schema/event.h"
#include "pipeline/output/filters.h"
#include "pipeline/output/output.h"
#include "pipeline/output/waiting.h"
#include "pipeline/recorder/recorder.h"

/* Recovery: events that are in the file already are no more. */
struct gt_outlet_gate {
	bool (*pass)(void *context, struct gt_event *event); /* false: not this one */
	void *context;
};

/* The end of the pipeline. Given: the first six; the rest is zero at first. */
struct gt_outlet {
	struct gt_output *output;
	const struct gt_clock *clock;  /* for notes */
	const _Atomic bool *has_cupti; /* GPU work is recorded: not every call asks for a file */
	const struct gt_metadata *metadata; /* its window */
	struct gt_ledger *ledger;           /* counts what is outside */
	struct gt_filters *filters;         /* NULL: none */
	struct gt_recorder *recorder;       /* keeps events instead; NULL: they are written */
	const struct gt_outlet_gate *gate;  /* before the file; NULL: none */
	struct gt_waiting early; /* before the file: no GPU work has been asked for yet */
	uint64_t newest;         /* trace ns of the latest end, for what has to be closed */
};

/* Also of a zeroed struct. */
void gt_outlet_fini(struct gt_outlet *outlet);

/* Whether the event is outside the window: a call that is not wholly inside, as CUPTI may not have
 * recorded its work; else what ended before or began after. */
bool gt_outlet_is_outside(const struct gt_outlet *outlet, const struct gt_event *event);

/* Whether a filter leaves the event out, which is then counted; as if written it asks for a file.
 */
bool gt_outlet_filter(struct gt_outlet *outlet, const struct gt_event *event);
static inline bool gt_outlet_leaves_out(struct gt_outlet *outlet, const struct gt_event *event)
{
	return outlet->filters && gt_outlet_filter(outlet, event);
}

/* A whole event. Copied, or counted as lost. */
void gt_outlet_event(struct gt_outlet *outlet, const struct gt_event *event);

/* A note at this moment: a loss with its count, a gap, a step. Strings are literals or interned. */
void gt_outlet_note(struct gt_outlet *outlet, const struct gt_note_event *note);

/* Opens the file if it is not open, whether there is reason to or not. With a recorder only a dump
 * opens one. */
void gt_outlet_open(struct gt_outlet *outlet);

/* An event that the recorder has kept: into the file. */
void gt_outlet_write(struct gt_outlet *outlet, const struct gt_event *event);

/* Writes what is final: all that ended before now less GT_SPOOLED_SETTLE_NS; @everything: all. */
void gt_outlet_flush(struct gt_outlet *outlet, bool everything);

#endif
