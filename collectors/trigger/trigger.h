/* SPDX-License-Identifier: Apache-2.0
 *
 * --capture-range, --schedule: the program itself says from when to when it is recorded. Where it
 * does, its thread waits for a moment until the drain thread records: what it launches next is in
 * the trace.
 *
 * Ranges may be nested and lie on several threads: the window lasts while one is open. With a
 * schedule each range, when none is open, is a step, and the window lasts for the steps that are
 * asked for.
 */
#ifndef GT_COLLECTORS_TRIGGER_TRIGGER_H
#define GT_COLLECTORS_TRIGGER_TRIGGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"
#include "core/window/capture_plan.h"

/* From one to the next. */
enum gt_trigger_state {
	GT_TRIGGER_NONE,  /* no range is asked for */
	GT_TRIGGER_WAITS, /* none has begun */
	GT_TRIGGER_WARMS, /* steps in which CUPTI records and nothing is written */
	GT_TRIGGER_SPENT, /* the window was over before its range */
	GT_TRIGGER_ASKED, /* a range has begun, and the drain thread does not record yet */
	GT_TRIGGER_RUNS,
	GT_TRIGGER_ENDED, /* the last one has ended */
};

/* ---- library start, session start ---- */

/* @plan is copied. */
void gt_trigger_arm(const struct gt_capture_plan *plan);

/* From now on a thread looks when @on_change has been called; @on_end: after the last range nothing
 * more is recorded. Both on the thread of the range; no lock. */
void gt_trigger_serve(void (*on_change)(void), void (*on_end)(void));

/* A forked child has no such thread, and ranges that its parent has seen do not count. */
void gt_trigger_forked(void);

/* ---- application threads; no lock, no allocation ---- */

/* What is asked for, from the start of the library on. */
extern enum gt_capture_range_kind gt_trigger_kind;

/* A range that is asked for begins, before anything else of it. Waits, 2 s at most, until it is
 * recorded. errno is kept. */
void gt_trigger_enter(void);
void gt_trigger_leave(void);

/* A call of CUDA begins that starts or stops the profiler, or none of these. */
void gt_trigger_call(enum gt_api_domain domain, uint32_t cbid);

/* A call begins that launches a graph. The runtime's has the driver's inside it: those of the API
 * count that is used first. */
void gt_trigger_graph(enum gt_api_domain domain);

/* Whether NVTX ranges with this name, in the domain of this name (empty: the default one), are
 * asked for. */
bool gt_trigger_is_named(const char *name, size_t length, const char *domain);

/* ---- drain thread ---- */

/* *ret_ended: CLOCK_MONOTONIC ns, with ENDED. */
enum gt_trigger_state gt_trigger_look(uint64_t *ret_ended);

/* What begins now is recorded. */
void gt_trigger_begun(void);

/* The window is over and its file closed; another one may follow. */
void gt_trigger_again(void);

/* A thread waits in its range for the end of the window before, or a warm-up is due. */
bool gt_trigger_is_awaited(void);

/* The last window has ended. */
bool gt_trigger_is_over(void);

/* Nothing will be recorded any more: no thread waits. */
void gt_trigger_disarm(void);

#endif
