/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking a thread that runs for its registers and its stack, by a signal: SIGURG, which does
 * nothing to a process that has no handler for it, so that one which comes too late does no harm.
 */
#ifndef GT_COLLECTORS_SAMPLER_SIGNAL_H
#define GT_COLLECTORS_SAMPLER_SIGNAL_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/python/peek.h"
#include "collectors/unwind/arch.h"

#define GT_SAMPLE_SIGNAL      SIGURG
#define GT_SAMPLE_STACK_BYTES (32u << 10)
#define GT_SAMPLE_STACK_WORDS (GT_SAMPLE_STACK_BYTES / sizeof(uint64_t))
#define GT_SAMPLE_STACK_PAGES (GT_SAMPLE_STACK_BYTES / 4096u)

/* The steps of one sample by signal. */
enum gt_sample_state {
	GT_SAMPLE_IDLE,  /* the sampler's */
	GT_SAMPLE_ASKED, /* the thread's, from the moment at which it takes it out of its mailbox */
	GT_SAMPLE_FILLED, /* the sampler's again */
};

/* A stack as it was found. */
struct gt_sample_slot {
	_Atomic int state; /* enum gt_sample_state */
	bool inside;       /* the thread is in a recorded call: nothing else is set */
	uint64_t time;     /* CLOCK_MONOTONIC ns */
	struct gt_unwind_regs regs;
	bool has_fp;
	bool waiting;
	uint32_t words, python_count;
	struct gt_python_raw python[GT_PYTHON_DEPTH];
	struct gt_python_window window;
	uint64_t stack[GT_SAMPLE_STACK_WORDS]; /* from sp, rounded down to 8, on */
};

/* Installs the handler unless the program has one. The slot to be filled at a thread's next signal
 * lies in its gt_thread's mailbox. */
bool gt_sample_signal_start(void);

/* Whether the handler is still there: the program may have put its own in its place. */
bool gt_sample_signal_is_ours(void);

/* Puts back what was there before, if the handler is still there. */
void gt_sample_signal_stop(void);

/* Copies up to a slot's room of the stack from slot->regs.sp on. [@low, @high): the bounds of the
 * calling thread's own stack, which are then read directly; 0, 0: by a system call.
 * Async-signal-safe. */
void gt_sample_copy_stack(struct gt_sample_slot *slot, uint64_t low, uint64_t high);

#endif
