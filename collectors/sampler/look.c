/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/sampler/look.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/python/others.h"
#include "collectors/sampler/sample_record.h"
#include "collectors/sampler/sampler.h"
#include "collectors/sampler/signal.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/clock.h"
#include "core/guest/futex.h"
#include "core/thread.h"

#define ATTEMPTS  4          /* at a thread that keeps waking up */
#define ANSWER_NS 200000000u /* a thread that waits for a processor answers late ... */
#define ALL_NS    400000000u /* ... and all together may take so long */
#define NAP_NS    500000u
#define STEADY    5 /* looks that find a thread running before it is asked by a signal */

static struct {
	bool has_signal;
	uint64_t until; /* answers are awaited, at most */
	bool lent;      /* a thread may still be filling the slot that it was asked with */
	struct gt_sample_slot slot, asked;
	struct gt_python_others others;
	_Alignas(8) char record[sizeof(struct gt_call_record) +
				2 * GT_UNWIND_DEPTH * sizeof(uint64_t)];
} work;

/* Threads that have called CUDA from Python have told their thread states. */
static void find_python(void)
{
	struct gt_call_view view;

	work.others.count = 0;
	for (const struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (atomic_load_explicit(&t->life, memory_order_acquire) == GT_THREAD_LIVE &&
		    gt_call_view(t, &view) && view.python)
			gt_python_others_add(&work.others, view.python, &work.slot.window);
}

/* While --sample-cpu is on, the signal and the threads' mailboxes are the sampler's. */
void gt_look_begin(void)
{
	work.until = gt_clock_now() + ALL_NS;
	work.has_signal = !gt_sampler_is_running() && gt_sample_signal_start();
	find_python();
}

void gt_look_end(void)
{
	if (work.has_signal)
		gt_sample_signal_stop();
	work.has_signal = false;
}

static void nap(void)
{
	static _Atomic uint32_t never;

	gt_futex_wait(&never, 0, NAP_NS);
}

static const struct gt_call_record *fill(struct gt_sample_slot *slot, uint32_t frames)
{
	struct gt_call_record *record = (struct gt_call_record *)(void *)work.record;

	return gt_sample_record_fill(slot, frames, record) ? record : NULL;
}

static void peek_python(const struct gt_call_view *view)
{
	struct gt_sample_slot *slot = &work.slot;

	slot->python_count = 0;
	if (view->python)
		slot->python_count =
			gt_python_peek(view->python, &slot->window, GT_PYTHON_DEPTH, slot->python);
}

/* False: it has run meanwhile. */
static bool read_waiting(uint32_t tid, const struct gt_call_view *view, const char *text,
			 uint64_t pc, uint64_t sp)
{
	struct gt_sample_slot *slot = &work.slot;
	char again[GT_SAMPLE_TEXT];

	slot->time = gt_clock_now();
	slot->regs = (struct gt_unwind_regs){.pc = pc, .sp = sp};
	slot->has_fp = false;
	slot->waiting = true;
	gt_sample_copy_stack(slot, 0, 0);
	peek_python(view);
	return gt_sample_proc_read(tid, again, &pc, &sp) == GT_SAMPLE_WAITING &&
	       !strcmp(text, again);
}

static bool take_back(struct gt_thread *thread)
{
	void *expected = &work.asked;

	work.lent = !atomic_compare_exchange_strong(&thread->mailbox, &expected, NULL);
	return !work.lent;
}

static bool is_answered(void)
{
	return atomic_load_explicit(&work.asked.state, memory_order_acquire) == GT_SAMPLE_FILLED;
}

/* False: it did not answer in time. */
static bool ask(struct gt_thread *thread, uint32_t tid)
{
	uint64_t until = gt_clock_now() + ANSWER_NS;
	void *expected = NULL;

	if (work.lent && !is_answered())
		return false;
	atomic_store(&work.asked.state, GT_SAMPLE_ASKED);
	if (!atomic_compare_exchange_strong(&thread->mailbox, &expected, &work.asked))
		return false;
	if (syscall(SYS_tgkill, getpid(), tid, GT_SAMPLE_SIGNAL)) {
		take_back(thread);
		return false;
	}
	while (!is_answered() && gt_clock_now() < until && gt_clock_now() < work.until)
		nap();
	work.lent = false;
	return is_answered() || (!take_back(thread) && is_answered());
}

/* Read while it runs: the innermost ones may be of two moments. */
static const struct gt_call_record *read_python(const struct gt_call_view *view, uint32_t frames)
{
	struct gt_sample_slot *slot = &work.slot;

	slot->words = 0;
	slot->waiting = false;
	slot->time = gt_clock_now();
	peek_python(view);
	return fill(slot, frames);
}

/* Its Python frames alone if nothing better is to be had. */
static const struct gt_call_record *read_running(struct gt_thread *thread, uint32_t tid,
						 const struct gt_call_view *view, uint32_t frames)
{
	if (work.has_signal && gt_sample_signal_is_usable() && gt_sample_signal_fits(tid, view) &&
	    ask(thread, tid) && !work.asked.inside)
		return fill(&work.asked, frames);
	if (view->depth)
		return NULL; /* the call has its stack */
	return read_python(view, frames);
}

/* False: it runs, or cannot be read. */
static bool look_outside(uint32_t tid, const struct gt_call_view *view, uint32_t frames,
			 struct gt_look *ret_look)
{
	char text[GT_SAMPLE_TEXT];
	uint64_t pc, sp;

	for (int i = 0; i < ATTEMPTS; i++) {
		ret_look->where = gt_sample_proc_read(tid, text, &pc, &sp);
		if (ret_look->where != GT_SAMPLE_WAITING)
			return false;
		ret_look->has_call =
			gt_sample_proc_call(text, &ret_look->system_call, &ret_look->argument);
		if (frames && read_waiting(tid, view, text, pc, sp)) {
			ret_look->record = fill(&work.slot, frames);
			return true;
		}
	}
	return false;
}

/* A signal ends the nanosleep that begins just then: a thread that runs and sleeps in turn is met
 * asleep. True: it has been. */
static bool await_waiting(uint32_t tid, const struct gt_call_view *view, uint32_t frames,
			  struct gt_look *ret_look)
{
	for (int i = 0; i < STEADY; i++) {
		if (i)
			nap();
		if (look_outside(tid, view, frames, ret_look))
			return true;
		if (!frames || ret_look->where != GT_SAMPLE_RUNNING)
			return false;
	}
	return false;
}

void gt_look_at(struct gt_thread *thread, uint32_t frames, struct gt_look *ret_look)
{
	uint32_t tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);
	struct gt_call_view view;

	*ret_look = (struct gt_look){.where = GT_SAMPLE_UNKNOWN};
	gt_call_view(thread, &view);
	if (!await_waiting(tid, &view, frames, ret_look) && frames &&
	    ret_look->where == GT_SAMPLE_RUNNING)
		ret_look->record = read_running(thread, tid, &view, frames);
}

void gt_look_at_other(uint32_t tid, uint32_t frames, struct gt_look *ret_look)
{
	static struct gt_python_thread python;
	struct gt_call_view view = {0};

	if (frames && gt_python_others_find(&work.others, tid, &python))
		view.python = &python;
	*ret_look = (struct gt_look){.where = GT_SAMPLE_UNKNOWN};
	if (!look_outside(tid, &view, frames, ret_look) && view.python &&
	    ret_look->where == GT_SAMPLE_RUNNING)
		ret_look->record = read_python(&view, frames);
}
