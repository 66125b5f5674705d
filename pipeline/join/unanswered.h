/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that the program has waited for and that no record came of: what it looks like when
 * another tool has taken CUPTI's buffers. Drain thread.
 */
#ifndef GT_PIPELINE_JOIN_UNANSWERED_H
#define GT_PIPELINE_JOIN_UNANSWERED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/event.h"

struct gt_call_effect;

/* Zeroed: nothing has been launched. */
struct gt_unanswered {
	uint64_t since;    /* trace ns of the first kernel launch since the last GPU record */
	uint64_t launched; /* kernel launches since then */
	uint64_t waited;   /* trace ns since when the program has waited for it */
	bool idle;         /* the program has waited for all work, and asked for none since */
};

/* A finished call. */
void gt_unanswered_call(struct gt_unanswered *unanswered, const struct gt_event *event,
			const struct gt_call_effect *what);

/* A record of GPU work has come. */
void gt_unanswered_record(struct gt_unanswered *unanswered);

/* What was waited for before @flush (trace ns) began must have come with it, unless CUPTI keeps its
 * buffer for work that is under way: when there may be some, more than the @most records that fit
 * into a buffer must be missing. */
bool gt_unanswered_is_certain(const struct gt_unanswered *unanswered, uint64_t flush,
			      uint64_t most);

#endif
