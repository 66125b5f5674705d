/* SPDX-License-Identifier: Apache-2.0
 *
 * The handler, see the header. It interrupts application threads anywhere: only loads, stores, the
 * clock, and system calls that cannot affect the program. No lock, no ring; errno is kept.
 */
#include "collectors/sampler/signal.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/sampler/proc.h"
#include "core/guest/clock.h"
#include "core/guest/forkgate.h"
#include "core/guest/forkguard.h"
#include "core/guest/peek.h"
#include "core/guest/seccomp.h"
#include "core/thread.h"

/* Threads with a smaller stack are not interrupted: a signal's frame and the handler need room. */
#define SMALL_STACK (96u << 10)

static struct sigaction before;

struct sampler_line {
	uint64_t word[8];
} __attribute__((may_alias));

GT_UNWIND_UNFENCED static void copy_words(uint64_t *to, uint64_t from, uint32_t words)
{
	const uint64_t *source = (const uint64_t *)from;
	uint32_t i = 0;

	for (; i + 8 <= words; i += 8)
		*(struct sampler_line *)(void *)&to[i] =
			*(const struct sampler_line *)(const void *)&source[i];
	for (; i < words; i++)
		to[i] = ((const volatile uint64_t *)source)[i];
}

void gt_sample_copy_stack(struct gt_sample_slot *slot, uint64_t low, uint64_t high)
{
	uint64_t from = slot->regs.sp & ~(uint64_t)7;
	uint64_t words = (high - from) / sizeof(uint64_t);

	if (from < low || from >= high) {
		slot->words = (uint32_t)(gt_peek_copy(slot->stack, from, GT_SAMPLE_STACK_BYTES) /
					 sizeof(uint64_t));
		return;
	}
	slot->words = words < GT_SAMPLE_STACK_WORDS ? (uint32_t)words : GT_SAMPLE_STACK_WORDS;
	copy_words(slot->stack, from, slot->words);
}

/* pc in the form of a return address: plus one. */
static void fill(struct gt_sample_slot *slot, struct gt_thread *self, const ucontext_t *context)
{
	const greg_t *regs = context->uc_mcontext.gregs;
	struct gt_call_view view;

	slot->time = gt_clock_now();
	slot->regs = (struct gt_unwind_regs){.pc = (uint64_t)regs[REG_RIP] + 1,
					     .sp = (uint64_t)regs[REG_RSP],
					     .fp = (uint64_t)regs[REG_RBP]};
	slot->has_fp = true;
	slot->waiting = false;
	slot->inside = !gt_call_view(self, &view) || gt_call_view_is_inside(&view, slot->regs.sp);
	if (slot->inside)
		return;
	gt_sample_copy_stack(slot, view.stack_low, view.stack_high);
	slot->python_count =
		gt_python_peek(view.python, &slot->window, GT_PYTHON_DEPTH, slot->python);
}

/* A signal from somebody else, or one that comes too late, finds no slot. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	struct gt_thread *self = gt_thread_self;
	struct gt_sample_slot *slot;
	int saved = errno;

	if (!self || !gt_forkguard_holds() || !gt_thread_is_known(self))
		return;
	slot = atomic_exchange(&self->mailbox, NULL);
	if (slot) {
		fill(slot, self, context);
		/* pairs with the acquire in the sampler: the slot is whole */
		atomic_store_explicit(&slot->state, GT_SAMPLE_FILLED, memory_order_release);
	}
	errno = saved;
}

bool gt_sample_signal_is_ours(void)
{
	struct sigaction now;

	return sigaction(GT_SAMPLE_SIGNAL, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
	       now.sa_sigaction == on_signal;
}

bool gt_sample_signal_is_usable(void)
{
	return gt_seccomp_permits(GT_SYS_tgkill) && gt_sample_signal_is_ours();
}

/* The stack of a coroutine, or of a thread, may be too small for a signal. */
static bool has_room(const struct gt_call_view *view)
{
	return view->stack_high - view->stack_low >= SMALL_STACK &&
	       view->frame >= view->stack_low && view->frame < view->stack_high;
}

bool gt_sample_signal_fits(uint32_t tid, const struct gt_call_view *view)
{
	return !view->depth && has_room(view) && !gt_forkgate_is_closed() &&
	       !gt_sample_proc_blocks(tid, GT_SAMPLE_SIGNAL);
}

static bool is_in_use(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) ||
	       (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

bool gt_sample_signal_start(void)
{
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	if (!gt_seccomp_permits_now(GT_SYS_rt_sigreturn))
		return false;
	if (gt_sample_signal_is_ours()) /* in a forked child */
		return true;
	if (sigaction(GT_SAMPLE_SIGNAL, NULL, &before) || is_in_use(&before))
		return false;
	sigfillset(&action.sa_mask);
	return sigaction(GT_SAMPLE_SIGNAL, &action, NULL) == 0;
}

void gt_sample_signal_stop(void)
{
	if (gt_sample_signal_is_ours())
		sigaction(GT_SAMPLE_SIGNAL, &before, NULL);
}
