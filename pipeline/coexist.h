/* SPDX-License-Identifier: Apache-2.0
 *
 * Other tools beside us in the process: what the session does when CUPTI is not ours, and when it
 * is ours again. Hooks take the calls over while CUPTI tells of none; the trace has the gap and its
 * reason.
 */
#ifndef GT_PIPELINE_COEXIST_H
#define GT_PIPELINE_COEXIST_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/cupti/watch.h"

struct gt_session;

/* One call that the hooks have recorded and CUPTI has numbered. */
struct gt_tie {
	uint32_t correlation, id;
};

/* The state of coexistence with other tools. */
struct gt_coexist {
	struct gt_cupti_watch watch;
	bool watches; /* false: no CUPTI, and none to come */
	bool in_gap;  /* CUPTI is not ours, as far as the trace has been told */
	bool clock_reported;
	uint64_t detached; /* tools that have asked for cuptiFinalize, told so far */
	enum gt_cupti_hold hold;
	uint64_t gaps;               /* told so far */
	struct gt_tie *ties;         /* ids of CUPTI's to ids of ours; NULL: there were none */
	uint64_t next_poll, changes; /* what others have done, as of the last look */
	uint64_t launches_begin;     /* launches_in_gaps when the gap began */
	uint64_t unanswered; /* launches that no record will come for, see gt_coexist_expected */
};

/* Session start. @started: what gt_cupti_start returned. */
void gt_coexist_start(struct gt_session *session, int started);

/* Drain thread, holding the session: is a look due? @flushed: everything that CUPTI had was
 * fetched. */
bool gt_coexist_is_due(struct gt_session *session, uint64_t now, bool flushed);

/* The look itself. Drain thread, NOT holding the session: it calls CUPTI. @now: CLOCK_MONOTONIC
 * ns. */
void gt_coexist_poll(struct gt_session *session, const struct gt_cupti_signs *signs);

/* What the session knows of CUPTI's doings. @flushed: what was there at @now has been fetched
 * since. Drain thread, holding. */
struct gt_cupti_signs gt_coexist_signs(const struct gt_session *session, uint64_t now,
				       bool flushed);

/* A fatal error inside CUPTI, told at once. Whoever holds the session; calls nothing of CUPTI's. */
void gt_coexist_poll_failure(struct gt_session *session, uint64_t now);

/* CUPTI's fatal callback, on an application thread: it tells of no further call. */
void gt_coexist_on_failure(void);

/* Tells the trace, and switches between callbacks and hooks. Drain thread, holding. */
void gt_coexist_report(struct gt_session *session);

/* The translator's callback, see collectors/cupti/translate.h. */
void gt_coexist_tie(void *session, uint32_t correlation, uint32_t id);

/* The id that our record of the call has, which CUPTI's record numbers @correlation. Drain
 * thread. */
uint32_t gt_coexist_id(const struct gt_session *session, uint32_t correlation);

/* Launches whose record may still come. Whoever holds the session. */
uint64_t gt_coexist_outstanding(const struct gt_session *session);

/* Application thread: @library is about to subscribe. With --coexist=yield it is let in. */
void gt_coexist_before_subscribe(const char *library);

#endif
