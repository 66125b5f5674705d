/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a spool, handed to the parts that take them in a living process. One thread; the
 * bytes may be anything.
 */
#ifndef GT_PIPELINE_REPLAY_RECORDS_H
#define GT_PIPELINE_REPLAY_RECORDS_H

#include <stdint.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/memory/spooled.h"
#include "core/schema/ledger.h"
#include "core/spool_view.h"
#include "core/thread.h"

struct gt_call_join;
struct gt_calls;
struct gt_ranges;
struct gt_samples;
struct gt_kernel_names;
struct gt_spooled;
struct gt_translate;
struct gt_translate_notes;

/* Given: the first six; the rest is made by gt_replay_records_init. */
struct gt_replay_records {
	const struct gt_spool_view *view;
	struct gt_calls *calls;
	const struct gt_samples *samples;
	struct gt_call_join *join;
	struct gt_ranges *ranges;
	struct gt_translate *translate;
	struct gt_translate_notes *notes; /* a copy of the spool's, which is added to */
	const struct gt_kernel_names *kernels;
	uint64_t *waited; /* gt_waiting_key of records that waited, sorted */
	bool *came;       /* of each, whether it was read again; in the same memory */
	size_t waited_count;
	struct gt_ledger late; /* what became of those */
	uint64_t unlisted;     /* others that waited */
	struct gt_cupti_spooled buffers[GT_CUPTI_BUFFERS_MAX];
	uint32_t buffer_count;
	uint64_t counters[GT_THREAD_COUNTERS_]; /* of all threads, as they counted */
	/* records that are in no ring any more, by type, and what they counted */
	uint64_t released[GT_RING_TYPES + GT_RING_COUNTS];
	uint64_t ranges_lost; /* records of NVTX that mean nothing without the process's memory */
};

/* -ENOMEM: @records must not be used. */
int gt_replay_records_init(struct gt_replay_records *records, const struct gt_spooled *spooled);

/* Also of a zeroed struct. */
void gt_replay_records_fini(struct gt_replay_records *records);

/* The ranges whose beginnings are in no ring any more. Before the rings. */
void gt_replay_open_ranges(struct gt_replay_records *records, const struct gt_spooled *spooled);

/* Those of the rings: calls, ranges, samples. */
void gt_replay_rings(struct gt_replay_records *records);

/* Those of the activity buffers, in the order of their completion. The dead process has counted
 * those that it had read: they are not counted again. */
void gt_replay_buffers(struct gt_replay_records *records);

#endif
