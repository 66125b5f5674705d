/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a thread died: its call stack, made by the drain thread while the thread waits in its
 * signal handler. Drain thread only.
 */
#ifndef GT_PIPELINE_CRASH_STACK_H
#define GT_PIPELINE_CRASH_STACK_H

#include "collectors/unwind/arch.h"

struct gt_session;
struct gt_stack;
struct gt_thread;

/* The stack that begins with @regs, whose pc is one more than the address that broke; with Python's
 * frames where @thread, the one that broke, is known (else NULL). Nothing is cut off at the near
 * end. NULL: there is nothing to be told, or call stacks are off. */
const struct gt_stack *gt_crash_stack(struct gt_session *session, const struct gt_unwind_regs *regs,
				      const struct gt_thread *thread);

#endif
