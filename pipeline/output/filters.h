/* SPDX-License-Identifier: Apache-2.0
 *
 * --kernels, --calls, --nvtx-ranges, --streams, --devices, --min-duration, applied to events: what
 * they leave out is counted by kind (GT_LEDGER_*_FILTERED) and not written. A name is looked up
 * once: the answer is remembered by its address. Drain thread.
 */
#ifndef GT_PIPELINE_OUTPUT_FILTERS_H
#define GT_PIPELINE_OUTPUT_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"
#include "core/window/capture_filter.h"

struct gt_ledger;
struct gt_metadata;

#define GT_FILTERS_REMEMBERED 512u
#define GT_FILTERS_STREAMS    64u /* with names */

/* Answers, by where the name lies. */
struct gt_filters_memory {
	struct {
		const void *name, *domain; /* NULL: empty */
		bool kept;
	} entries[GT_FILTERS_REMEMBERED];
};

/* Given: the first three; the rest is zero at first. */
struct gt_filters {
	struct gt_capture_filter asked;
	const struct gt_metadata *metadata; /* names of devices */
	struct gt_ledger *ledger;
	struct gt_filters_memory kernels, calls, ranges;
	struct {
		uint32_t device, stream;
		const struct gt_string *name;
	} streams[GT_FILTERS_STREAMS];
	uint32_t stream_count;         /* named so far; the oldest makes room */
	struct gt_capture_filter next; /* of the next trace ... */
	bool is_changed;               /* ... if it is another one */
};

/* Whether any GPU work may be left out: then a kept call tells its stack itself. */
static inline bool gt_filters_has_gpu(const struct gt_filters *filters)
{
	return filters && gt_capture_filter_has_gpu(&filters->asked);
}

/* Whether a filter leaves the event out, which is then counted. @filters: NULL leaves out nothing.
 * Events of other kinds than calls, GPU work, ranges and marks are never left out. */
bool gt_filters_leave_out(struct gt_filters *filters, const struct gt_event *event);

/* The next trace begins. True: it is filtered otherwise than the one before. */
bool gt_filters_begin(struct gt_filters *filters);

/* Learns the names of streams. */
void gt_filters_see(struct gt_filters *filters, const struct gt_event *event);

#endif
