/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that the driver loaded or compiled: CUPTI's record of it comes before that of the kernel
 * that waited, so it is held back until that one tells the name. Drain thread.
 */
#ifndef GT_PIPELINE_JOIN_LOADINGS_H
#define GT_PIPELINE_JOIN_LOADINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/event.h"
#include "pipeline/output/waiting.h"

struct gt_outlet;

/* True: @event is one of those, and waits. */
bool gt_loadings_hold(struct gt_waiting *waiting, const struct gt_event *event);

/* A record of GPU work: what waits for it is written, with the name of a kernel that is none of
 * many. */
void gt_loadings_see(struct gt_waiting *waiting, const struct gt_event *work,
		     struct gt_outlet *outlet);

/* Writes, without a name, what began to wait before @until (gt_clock_now()). */
void gt_loadings_settle(struct gt_waiting *waiting, uint64_t until, struct gt_outlet *outlet);

#endif
