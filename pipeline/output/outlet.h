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
#include "pipeline/output/output.h"
#include "pipeline/output/waiting.h"

/* The end of the pipeline. Given: the first five; the rest is zero at first. */
struct gt_outlet {
	struct gt_output *output;
	const struct gt_clock *clock;  /* for notes */
	const _Atomic bool *has_cupti; /* GPU work is recorded: calls alone ask for no file */
	const uint64_t *window_begin;  /* of the metadata */
	struct gt_ledger *ledger;      /* counts what is before it */
	struct gt_waiting early;       /* before the file: no GPU work has been asked for yet */
	uint64_t newest;               /* trace ns of the latest end, for what has to be closed */
};

/* Also of a zeroed struct. */
void gt_outlet_fini(struct gt_outlet *outlet);

/* Whether the window began after the event had ended. */
bool gt_outlet_is_before_window(const struct gt_outlet *outlet, const struct gt_event *event);

/* A whole event. Copied, or counted as lost. */
void gt_outlet_event(struct gt_outlet *outlet, const struct gt_event *event);

/* A note at this moment: a loss with its count, a gap, a step. Strings are literals or interned. */
void gt_outlet_note(struct gt_outlet *outlet, const struct gt_note_event *note);

/* Opens the file if it is not open, whether there is reason to or not. */
void gt_outlet_open(struct gt_outlet *outlet);

/* Writes what is final: all that ended before now less GT_SPOOLED_SETTLE_NS; @everything: all. */
void gt_outlet_flush(struct gt_outlet *outlet, bool everything);

#endif
