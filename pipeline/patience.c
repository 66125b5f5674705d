/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for the last records, see the header.
 */
#include "pipeline/patience.h"

#include "pipeline/pace.h"

#define HELD_BACK_NS 10000000ull
#define STILL_ROUNDS 4 /* beside the time: each is long on a slow machine */

void gt_patience_start(struct gt_patience *patience, uint64_t now, uint64_t longest_ns)
{
	*patience = (struct gt_patience){.until = now + longest_ns,
					 .until_soon = now + GT_PATIENCE_SOON_NS,
					 .outstanding = UINT64_MAX,
					 .since = now,
					 .quiet_ns = GT_PATIENCE_SOON_NS};
}

uint64_t gt_patience_sleep(struct gt_patience *patience)
{
	uint64_t now = patience->sleep_ns;
	uint64_t next = now * 2 + GT_PACE_MIN_NS;

	patience->sleep_ns = next < GT_PACE_BUSY_NS ? next : GT_PACE_BUSY_NS;
	return now;
}

void gt_patience_held_back(struct gt_patience *patience)
{
	patience->quiet_ns = HELD_BACK_NS;
}

bool gt_patience_lasts(struct gt_patience *patience, uint64_t now,
		       const struct gt_patience_state *state)
{
	patience->still++;
	if (state->outstanding < patience->outstanding ||
	    state->undelivered > patience->undelivered) {
		patience->since = now;
		patience->still = 0;
	}
	patience->outstanding = state->outstanding;
	patience->undelivered = state->undelivered;
	return state->outstanding &&
	       now < (state->is_awaited ? patience->until_soon : patience->until) &&
	       (now < patience->since + patience->quiet_ns || patience->still < STILL_ROUNDS);
}
