/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX ranges as triggers of the recording (--capture-range=nvtx:...), see
 * collectors/trigger/trigger.h. Of a thread's nested ranges in one domain the outermost counts.
 * Application threads.
 */
#ifndef GT_COLLECTORS_NVTX_ASKED_H
#define GT_COLLECTORS_NVTX_ASKED_H

#include "collectors/call/call.h"
#include "collectors/nvtx/internal.h"
#include "collectors/nvtx/self.h"
#include "collectors/trigger/trigger.h"

/* Ranges of nvtxRangeStart that are asked for and open at the same time; more are none. */
#define GT_NVTX_ASKED_MAX 64

/* Before the record of a range that begins: @call->id is its level, or its id. */
void gt_nvtx_asked_look(const struct gt_nvtx_call *call, struct gt_nvtx_stack *stack);
void gt_nvtx_asked_start(const struct gt_nvtx_call *call);

/* After that of its end. */
void gt_nvtx_asked_ended(const struct gt_nvtx_call *call, struct gt_nvtx_stack *stack);
void gt_nvtx_asked_end(uint64_t id);

/* gt_nvtx_asked_look, if any range may be asked for. Hot. */
static inline void gt_nvtx_asked_push(const struct gt_nvtx_call *call, struct gt_nvtx_stack *stack)
{
	if (__builtin_expect(gt_trigger_kind == GT_CAPTURE_NVTX || gt_call_has_steps(), 0))
		gt_nvtx_asked_look(call, stack);
}

/* gt_nvtx_asked_ended, if one of the stack is open. Hot. */
static inline void gt_nvtx_asked_pop(const struct gt_nvtx_call *call, struct gt_nvtx_stack *stack)
{
	if (__builtin_expect(stack->asked != 0, 0))
		gt_nvtx_asked_ended(call, stack);
}

/* Whether a pushed range is a step. */
bool gt_nvtx_asked_is_step(const struct gt_nvtx_call *call);

/* The name of the pushed ranges that are steps (--step-range); empty, "auto":
 * those of torch.profiler. It is kept. Drain thread. */
void gt_nvtx_asked_steps(const char *name);

#endif
