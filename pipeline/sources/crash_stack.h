/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a thread died: its call stack, made by the drain thread while the thread waits in its
 * signal handler. Drain thread only.
 */
#ifndef GT_PIPELINE_SOURCES_CRASH_STACK_H
#define GT_PIPELINE_SOURCES_CRASH_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/arch.h"

struct gt_call_stacks;
struct gt_stack;
struct gt_thread;

/* What a crash handler has to say. */
struct gt_crash_report {
	uint32_t tid;
	const char *cause, *what;       /* as of a note in the trace */
	bool is_last;                   /* nothing comes behind it: the file can be closed */
	struct gt_unwind_regs regs;     /* where it broke */
	const struct gt_thread *thread; /* its block, or NULL */
};

/* Whoever broke inside a call may hold locks of CUPTI's; so may a thread that has never made one,
 * which may be CUPTI's own. True: neither. */
bool gt_crash_is_outside_calls(const struct gt_crash_report *crash);

/* The stack that begins with @regs, whose pc is one more than the address that broke; with Python's
 * frames where @thread, the one that broke, is known (else NULL). Nothing is cut off at the near
 * end. NULL: there is nothing to be told, or call stacks are off. */
const struct gt_stack *gt_crash_stack(struct gt_call_stacks *stacks,
				      const struct gt_unwind_regs *regs,
				      const struct gt_thread *thread);

#endif
