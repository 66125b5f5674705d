/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The stack may be what broke: it is read by system calls that fail instead of
 * faulting.
 */
#include "pipeline/sources/crash_stack.h"

#include <string.h>

#include "collectors/call/call.h"
#include "collectors/sampler/sample_record.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/clock.h"
#include "pipeline/sources/stacks.h"

#define PAGE_BYTES   4096u

#define RECORD_BYTES (sizeof(struct gt_call_record) + 2 * GT_UNWIND_DEPTH * sizeof(uint64_t))

bool gt_crash_is_outside_calls(const struct gt_crash_report *crash)
{
	struct gt_call_view view;

	return crash->thread && gt_call_view(crash->thread, &view) && !view.depth;
}

static struct {
	struct gt_sample_slot slot;
	_Alignas(8) char record[RECORD_BYTES];
} work;

static struct gt_call_record *record(void)
{
	return (struct gt_call_record *)(void *)work.record;
}

/* A stack that ran over ends in pages that cannot be read: they count as zeros, for what the frames
 * need stands behind them. */
static void copy_stack(const struct gt_unwind_regs *regs)
{
	struct gt_sample_slot *slot = &work.slot;
	uint64_t sp = regs->sp & ~(uint64_t)7, skipped;

	slot->regs = *regs;
	gt_sample_copy_stack(slot, 0, 0);
	for (uint64_t at = (sp | (PAGE_BYTES - 1)) + 1;
	     !slot->words && at - sp < GT_SAMPLE_STACK_BYTES; at += PAGE_BYTES) {
		slot->regs.sp = at;
		gt_sample_copy_stack(slot, 0, 0);
	}
	skipped = ((slot->regs.sp & ~(uint64_t)7) - sp) / sizeof(uint64_t);
	if (slot->words > GT_SAMPLE_STACK_WORDS - skipped)
		slot->words = (uint32_t)(GT_SAMPLE_STACK_WORDS - skipped);
	memmove(slot->stack + skipped, slot->stack, slot->words * sizeof(uint64_t));
	memset(slot->stack, 0, skipped * sizeof(uint64_t));
	slot->words += slot->words ? (uint32_t)skipped : 0;
	slot->regs = *regs;
	slot->has_fp = true;
}

static void copy_python(const struct gt_thread *thread)
{
	struct gt_sample_slot *slot = &work.slot;
	struct gt_call_view view;

	slot->python_count = 0;
	if (thread && gt_call_view(thread, &view))
		slot->python_count =
			gt_python_peek(view.python, &slot->window, GT_PYTHON_DEPTH, slot->python);
}

/* A jump to where no code is: the return address is the last thing that was pushed. */
static bool step_back(const struct gt_unwind_regs *regs, struct gt_unwind_regs *ret_caller)
{
	if (work.slot.words < 2 || regs->sp % sizeof(uint64_t))
		return false;
	*ret_caller = *regs;
	ret_caller->pc = work.slot.stack[0];
	ret_caller->sp += sizeof(uint64_t);
	return true;
}

static bool fill(const struct gt_unwind_regs *regs, const struct gt_thread *thread, uint32_t max)
{
	copy_stack(regs);
	copy_python(thread);
	return gt_sample_record_fill(&work.slot, max, record()) && record()->frame_count;
}

const struct gt_stack *gt_crash_stack(struct gt_call_stacks *stacks,
				      const struct gt_unwind_regs *regs,
				      const struct gt_thread *thread)
{
	uint32_t max = stacks->captured_frames;
	struct gt_unwind_regs caller;

	if (!max)
		return NULL;
	work.slot.time = gt_clock_now();
	work.slot.waiting = false;
	if (!fill(regs, thread, max)) {
		copy_stack(regs);
		if (!step_back(regs, &caller) || !fill(&caller, thread, max))
			return NULL;
	}
	return gt_call_stacks_of_crash(stacks, record());
}
