/* SPDX-License-Identifier: Apache-2.0
 *
 * Is CUPTI still ours? CUPTI has one slot each per process (subscriber, buffer callbacks, kinds,
 * clock), and nobody is notified when another tool takes one. The watch notices, waits until the
 * other tool is done, and attaches again.
 *
 * Drain thread only, holding no lock: it calls CUPTI, which may block.
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
	GT_CUPTI_DETACHED,      /* another tool, unseen, called cuptiFinalize; or CUPTI failed */
	GT_CUPTI_FAILED,        /* a fatal error inside CUPTI */
	GT_CUPTI_HOLD_COUNT_
};

/* What only the session knows, at each poll. */
struct gt_cupti_signs {
	uint64_t now;     /* CLOCK_MONOTONIC ns */
	uint64_t calls;   /* seen by callbacks and hooks so far */
	uint64_t records; /* of GPU work received so far */
	bool unanswered;  /* the program has waited for kernels that have no record */
};

/* The state of the watch. Owned by the drain thread. */
struct gt_cupti_watch {
	const struct gt_config *config;
	struct gt_cupti_status *status; /* of the last attempt to attach */
	enum gt_cupti_hold hold;
	uint64_t since; /* CLOCK_MONOTONIC ns: when the hold changed */
	uint64_t gaps;  /* times that CUPTI was lost */
	uint64_t next_try, pause;
	enum gt_cupti_hold reason;  /* of the last gap */
	bool unseen;                /* the other tool is known only by its effect */
	bool doubted;               /* reattached because no records came, and none came since */
	uint64_t calls, records;    /* at the last poll; when last doubted */
	uint64_t unanswered;        /* consecutive polls */
	uint64_t requested;         /* buffers, at the last poll */
	uint64_t changes, disabled; /* of other tools, as far as handled */
};

/* @started: result of gt_cupti_start. False: no CUPTI to watch. */
bool gt_cupti_watch_start(struct gt_cupti_watch *watch, const struct gt_config *config,
			  struct gt_cupti_status *status, int started, uint64_t now);

/* One poll; then, when due, one attempt to attach again. */
void gt_cupti_watch_poll(struct gt_cupti_watch *watch, const struct gt_cupti_signs *signs);

/* Only the part without CUPTI calls: true when CUPTI has failed for good since the last poll. */
bool gt_cupti_watch_poll_failure(struct gt_cupti_watch *watch, uint64_t now);

/* True while callbacks report calls, so hooks need not. */
bool gt_cupti_watch_has_calls(const struct gt_cupti_watch *watch);

/* True while GPU work is recorded. */
bool gt_cupti_watch_has_records(const struct gt_cupti_watch *watch);

/* The hold as text, for the trace. */
const char *gt_cupti_hold_text(enum gt_cupti_hold hold);

#endif
