/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the drain thread sleeps between two rounds: awake before a ring fills, seldom where
 * nothing happens. Drain thread.
 */
#ifndef GT_PIPELINE_PACE_H
#define GT_PIPELINE_PACE_H

#include <stdint.h>

#define GT_PACE_MIN_NS  1000000ull
#define GT_PACE_BUSY_NS 10000000ull /* there was work a moment ago */
#define GT_PACE_IDLE_NS 20000000ull /* in which a burst may begin */

struct gt_pipeline;

/* ns to sleep behind a round that took @work records; @last: ns of the sleep before it. */
uint64_t gt_pace_sleep(struct gt_pipeline *pipeline, uint64_t work, uint64_t last);

#endif
