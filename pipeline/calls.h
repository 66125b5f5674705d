/* SPDX-License-Identifier: Apache-2.0
 *
 * From the rings of the application threads to events. Drain thread.
 */
#ifndef GT_PIPELINE_CALLS_H
#define GT_PIPELINE_CALLS_H

#include <stdint.h>

#include "core/schema/cuda_api.h"

struct gt_session;
struct gt_string;

#define GT_CALLS_THREADS 1024u

/* What is asked for once a session. Zeroed memory. */
struct gt_calls {
	const struct gt_string *names[GT_API_DOMAIN_COUNT_][GT_CUDA_SET_BITS]; /* by cbid */
	uint32_t threads[GT_CALLS_THREADS]; /* whose names stand in the trace; one that had to
					     * make room is only told again */
};

/* Empties every ring and emits its calls. Returns how many records there were. */
uint64_t gt_calls_drain(struct gt_session *session);

/* One finished call; recovery reads rings by itself. */
struct gt_call_record;
void gt_calls_take(struct gt_session *session, const struct gt_call_record *record);

#endif
