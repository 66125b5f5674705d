/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks a running thread for its registers and its stack by SIGURG, which a process without a
 * handler ignores: a late signal does no harm.
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

/* Steps of a sample by signal. */
enum gt_sample_state {
	GT_SAMPLE_IDLE,   /* owned by the sampler */
	GT_SAMPLE_ASKED,  /* owned by the thread once it has taken it from its mailbox */
	GT_SAMPLE_FILLED, /* owned by the sampler again */
};

/* A stack as captured. */
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
	uint64_t stack[GT_SAMPLE_STACK_WORDS]; /* from sp on, rounded down to 8 */
};

/* Installs the handler unless the program has one. A thread's next signal fills the slot in the
 * mailbox of its gt_thread. */
bool gt_sample_signal_start(void);

/* Whether the handler is still installed: the program may have replaced it. */
bool gt_sample_signal_is_ours(void);

/* Restores the previous action, if the handler is still installed. */
void gt_sample_signal_stop(void);

/* Whether it is, and may be used. */
bool gt_sample_signal_is_usable(void);

/* Whether the signal can do thread @tid no harm: it is outside of recorded calls, does not block
 * it, has room for it on its own stack, and no fork is under way. That it runs, not waits, is for
 * the caller to know. */
struct gt_call_view;
bool gt_sample_signal_fits(uint32_t tid, const struct gt_call_view *view);

/* Copies the stack from slot->regs.sp on, up to the slot's size. [@low, @high): bounds of the
 * calling thread's own stack, which is read directly; 0, 0: by system calls. Async-signal-safe. */
void gt_sample_copy_stack(struct gt_sample_slot *slot, uint64_t low, uint64_t high);

#endif
