/* SPDX-License-Identifier: Apache-2.0
 *
 * The newest collective that this process has called in each communicator, for gputrace hang: a
 * peer may be waiting for the next one. Drain thread.
 */
#ifndef GT_PIPELINE_RANGES_COLLECTIVES_H
#define GT_PIPELINE_RANGES_COLLECTIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/library_call.h"

#define GT_RANGE_COLLECTIVES 64u

/* One of them. */
struct gt_range_collective {
	struct gt_library_call call; /* communicator 0: the place is free */
	uint64_t start;              /* trace ns */
	bool is_inside;              /* the call has not returned */
};

/* Those of the communicators that were used last. Zeroed: none. */
struct gt_range_collectives {
	struct gt_range_collective of[GT_RANGE_COLLECTIVES];
};

/* A call of a library begins at @start. What ends a communicator takes it out. */
void gt_range_collectives_call(struct gt_range_collectives *all, const struct gt_library_call *call,
			       uint64_t start);

/* A call of MPI has returned. */
void gt_range_collectives_end(struct gt_range_collectives *all, const struct gt_library_call *call);

#endif
