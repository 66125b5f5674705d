/* SPDX-License-Identifier: Apache-2.0
 *
 * Is CUPTI still ours? CUPTI's slots are one each for the whole process (subscriber, buffer
 * callbacks, kinds, clock), and nobody is notified when another tool takes one. The watch notices,
 * waits until the other tool is done, and takes CUPTI again.
 *
 * Drain thread only, holding nothing: it calls CUPTI, which may block.
 */
#ifndef GT_COLLECTORS_CUPTI_WATCH_H
#define GT_COLLECTORS_CUPTI_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/cupti/cupti.h"

/* Who holds CUPTI, and how it was lost. */
enum gt_cupti_hold {
	GT_CUPTI_OURS,
	GT_CUPTI_SHARED,        /* another tool is subscribed, buffers and kinds are ours */
	GT_CUPTI_REFUSED,       /* another tool had subscribed before us */
	GT_CUPTI_YIELDED,       /* we unsubscribed for another tool */
	GT_CUPTI_BUFFERS_TAKEN, /* another tool registered its own buffer callbacks */
	GT_CUPTI_KINDS_OFF,     /* another tool disabled the activity kinds */
	GT_CUPTI_DETACHED,      /* another tool, unseen, called cuptiFinalize */
	GT_CUPTI_FAILED,        /* a fatal error inside CUPTI */
	GT_CUPTI_HOLD_COUNT_
};

/* What only the session knows, at each look. */
struct gt_cupti_signs {
	uint64_t now;     /* CLOCK_MONOTONIC ns */
	uint64_t calls;   /* that callbacks and hooks have seen so far */
	uint64_t records; /* of GPU work, received so far */
	bool unanswered;  /* the program has waited for kernels of which no record came */
};

/* The state of the watch. Owned by the drain thread. */
struct gt_cupti_watch {
	const struct gt_config *config;
	struct gt_cupti_status *status; /* of the last attempt to take it */
	enum gt_cupti_hold hold;
	uint64_t since; /* CLOCK_MONOTONIC ns: when the hold was found to be what it is */
	uint64_t gaps;  /* times that it was found not to be OURS any more */
	uint64_t next_try, pause;
	enum gt_cupti_hold reason; /* of the newest gap */
	bool unseen;               /* the other tool is known by its effect only */
	bool doubted;            /* CUPTI was taken back for want of records, and gave none since */
	uint64_t calls, records; /* at the last look, at the last doubt */
	uint64_t unanswered;     /* looks in a row */
	uint64_t requested;      /* buffers, at the last look */
	uint64_t changes, disabled; /* of the others, as far as considered */
};

/* @started: what gt_cupti_start returned. False: there is no CUPTI to watch. */
bool gt_cupti_watch_start(struct gt_cupti_watch *watch, const struct gt_config *config,
			  struct gt_cupti_status *status, int started, uint64_t now);

/* One look; then, when it is due, one attempt to take CUPTI again. */
void gt_cupti_watch_poll(struct gt_cupti_watch *watch, const struct gt_cupti_signs *signs);

/* The part of it that calls nothing: true when CUPTI has failed for good since the last time. */
bool gt_cupti_watch_poll_failure(struct gt_cupti_watch *watch, uint64_t now);

/* True while callbacks tell of calls: then hooks need not. */
bool gt_cupti_watch_has_calls(const struct gt_cupti_watch *watch);

/* True while GPU work is recorded. */
bool gt_cupti_watch_has_records(const struct gt_cupti_watch *watch);

/* In words, for the trace. */
const char *gt_cupti_hold_text(enum gt_cupti_hold hold);

#endif
