/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain thread's sleep, see the header.
 */
#include "pipeline/pace.h"

#include <stdbool.h>

#include "core/window/attached.h"
#include "pipeline/control.h"
#include "pipeline/turn.h"

#define REST_NS 500000000ull /* nothing is recorded */
#define MANY    4096u        /* records of a round */
#define EIGHTH  125          /* thousandths of a ring */

/* Outside of a window. Who asks for something wakes the thread; gputrace attach can wait that
 * long. */
static bool is_at_rest(const struct gt_pipeline *p)
{
	return gt_turn_rests(p) && !gt_attached_is_asked() &&
	       (gt_turn_is_attached(p) || !gt_control_is_deaf());
}

/* In which the rings fill to an eighth, as fast as they did while the last sleep lasted @last: a
 * full one of 2 MiB takes 20 000 launches, 9 000 with a range each. */
static uint64_t busy_sleep(struct gt_pipeline *p, uint64_t last)
{
	uint32_t fullest = gt_turn_fullest(p);
	uint64_t next = fullest ? last * EIGHTH / fullest : GT_PACE_BUSY_NS;

	if (next < GT_PACE_MIN_NS)
		return GT_PACE_MIN_NS;
	return next < GT_PACE_BUSY_NS ? next : GT_PACE_BUSY_NS;
}

/* Awake in time before a ring fills. Ranges are recorded at rest, too: only when for seconds there
 * were none it is a long one. */
uint64_t gt_pace_sleep(struct gt_pipeline *p, uint64_t work, uint64_t last)
{
	uint64_t most = is_at_rest(p) ? REST_NS : GT_PACE_IDLE_NS;
	uint64_t next = last < GT_PACE_IDLE_NS ? last * 2 : last + last / 8;
	uint64_t busy = busy_sleep(p, last);

	if (work > MANY || gt_control_is_busy())
		return GT_PACE_MIN_NS;
	if (work)
		return busy;
	return next < most ? next : most;
}
