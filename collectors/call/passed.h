/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of CUPTI's ids are of calls that a window leaves out: CUPTI may have records of their work.
 * Its ids grow, so one before the window and one behind it tell. Ids of pauses take turns in two
 * places; which one is new is decided in one step.
 */
#ifndef GT_COLLECTORS_CALL_PASSED_H
#define GT_COLLECTORS_CALL_PASSED_H

#include <stdbool.h>
#include <stdint.h>

/* 0: there was none. */
struct gt_call_passed {
	uint32_t before; /* the largest one before the window */
	uint32_t behind; /* the smallest one behind it */
};

/* Recording pauses, or goes on. Any thread. */
void gt_call_passed_pause(bool paused);

/* A call that was passed in this pause, or at the end of the last one; @correlation 0: its id is
 * not known. Application threads: lock-free. */
void gt_call_passed_note(uint32_t correlation);

/* @in_window: it has begun, so a pause is behind it, not before. Any thread. */
struct gt_call_passed gt_call_passed_get(bool in_window);

#endif
