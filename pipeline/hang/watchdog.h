/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the process makes progress. Progress is a record of GPU work, or a CUDA call that returns
 * and does more than ask (cudaEventQuery and its like are no progress: a thread that polls hides no
 * hang). Drain thread.
 */
#ifndef GT_PIPELINE_HANG_WATCHDOG_H
#define GT_PIPELINE_HANG_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct gt_call_join;
struct gt_config;

/* When progress was seen last. Zeroed, but for the first two: it has not begun. */
struct gt_watchdog {
	/* operations that are done, in buffers that CUPTI has not delivered */
	uint64_t (*done)(const void *of);
	const void *of;           /* for that */
	uint64_t records, calls;  /* counts as of the last look */
	uint64_t gpu_at, call_at; /* CLOCK_MONOTONIC ns: when they changed; 0: never */
	uint64_t since;           /* nothing has moved since then */
	uint64_t looked;          /* at the last look */
	uint64_t done_count;      /* what done() said at asked_at */
	uint64_t asked_at;        /* CLOCK_MONOTONIC ns */
	bool told;                /* this stall is reported */
};

/* What a look found. */
enum gt_watchdog_state {
	GT_WATCHDOG_MOVES,
	GT_WATCHDOG_STALLS, /* nothing has moved for as long as --watchdog says; said once */
	GT_WATCHDOG_MOVES_AGAIN,
};

/* One look, as often as the drain thread wakes. @now: CLOCK_MONOTONIC ns. */
enum gt_watchdog_state gt_watchdog_look(struct gt_watchdog *watchdog,
					const struct gt_config *config,
					const struct gt_call_join *join, uint64_t now);

#endif
