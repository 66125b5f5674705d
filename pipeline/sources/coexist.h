/* SPDX-License-Identifier: Apache-2.0
 *
 * Other tools beside us in the process: what the session does when CUPTI is not ours, and when it
 * is ours again. Hooks take the calls over while CUPTI reports none; the trace has the gap and its
 * reason.
 */
#ifndef GT_PIPELINE_SOURCES_COEXIST_H
#define GT_PIPELINE_SOURCES_COEXIST_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/cupti/watch.h"

struct gt_gpu;
struct gt_intern;

/* The state of coexistence with other tools. Given: the first two; the rest is zero at first. */
struct gt_coexist {
	struct gt_gpu *gpu; /* has CUPTI or not, and the join that must know */
	struct gt_intern *strings;
	struct gt_cupti_watch watch;
	struct gt_cupti_signs signs; /* for the poll that is due */
	bool watches;                /* false: no CUPTI, and none to come */
	bool clock_reported;
	uint64_t detached; /* tools that have asked for cuptiFinalize, told so far */
	enum gt_cupti_hold hold;
	uint64_t gaps;               /* told so far */
	uint64_t next_poll, changes; /* what others have done, as of the last poll */
	uint64_t launches_begin;     /* launches_in_gaps when the gap began */
	uint64_t unanswered;         /* launches that no record will come for, see `outstanding` */
};

/* CUPTI's fatal callback, on an application thread: it reports no further call. */
void gt_coexist_on_failure(void);

/* Application thread: @library is about to subscribe. With --coexist=yield it is let in. */
void gt_coexist_before_subscribe(const char *library);

#endif
