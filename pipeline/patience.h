/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the last records are awaited: completed ones while any arrive, then unfinished ones are
 * forced out. Drain thread.
 */
#ifndef GT_PIPELINE_PATIENCE_H
#define GT_PIPELINE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* At most, where the program ends or its next range waits. */
#define GT_PATIENCE_SOON_NS 500000000ull

/* Times are CLOCK_MONOTONIC ns. */
struct gt_patience {
	uint64_t until;       /* in any case */
	uint64_t until_soon;  /* once the program ends, or its next range waits */
	uint64_t outstanding; /* that are missing */
	uint64_t undelivered; /* that CUPTI holds though they are done */
	uint64_t since;       /* when one of them came last, or was done */
	uint64_t quiet_ns;    /* without any */
	uint32_t still;       /* rounds without any */
	uint64_t sleep_ns;    /* before the next round */
};

/* What is missing now. */
struct gt_patience_state {
	uint64_t outstanding, undelivered; /* as above */
	bool is_awaited;                   /* the program ends, or its next range waits */
};

/* Waits @longest_ns from @now on, at most. */
void gt_patience_start(struct gt_patience *patience, uint64_t now, uint64_t longest_ns);

/* ns to sleep before the next round: longer each time. */
uint64_t gt_patience_sleep(struct gt_patience *patience);

/* Work that began after the exit holds the rest back: no longer than a moment for each. */
void gt_patience_held_back(struct gt_patience *patience);

/* Behind a round, at @now: is another one worth it? */
bool gt_patience_lasts(struct gt_patience *patience, uint64_t now,
		       const struct gt_patience_state *state);

#endif
