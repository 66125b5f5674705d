/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a spool, handed to the parts that take them in a living process. One thread; the
 * bytes may be anything.
 */
#ifndef GT_PIPELINE_REPLAY_RECORDS_H
#define GT_PIPELINE_REPLAY_RECORDS_H

#include <stdint.h>

#include "collectors/cupti/buffers.h"
#include "core/spool_view.h"
#include "core/thread.h"

struct gt_call_join;
struct gt_calls;
struct gt_ranges;
struct gt_samples;
struct gt_translate;
struct gt_translate_notes;

/* Given: the first six; the rest is zero at first. */
struct gt_replay_records {
	const struct gt_spool_view *view;
	struct gt_calls *calls;
	const struct gt_samples *samples;
	struct gt_ranges *ranges;
	struct gt_translate *translate;
	struct gt_translate_notes *notes; /* a copy of the spool's, which is added to */
	struct gt_cupti_spooled buffers[GT_CUPTI_BUFFERS_MAX];
	uint32_t buffer_count;
	uint64_t counters[GT_THREAD_COUNTERS_]; /* of all threads, as they counted */
	struct gt_call_join *join;
	uint64_t read_unlinked; /* records without a call in buffers that the process had read */
	/* records that are in no ring any more, by type, and what they counted */
	uint64_t released[GT_RING_TYPES + GT_RING_COUNTS];
	uint64_t ranges_lost; /* records of NVTX that mean nothing without the process's memory */
};

/* Those of the rings: calls, ranges, samples. */
void gt_replay_rings(struct gt_replay_records *records);

/* Those of the activity buffers, in the order of their completion. The dead process has counted
 * those that it had read: they are not counted again. */
void gt_replay_buffers(struct gt_replay_records *records);

#endif
