/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampler's thread, see the header. Its state of a thread is private; the two share only a
 * mailbox. Nothing here runs on application threads.
 */
#include "collectors/sampler/sampler.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/call/records.h"
#include "collectors/sampler/proc.h"
#include "collectors/sampler/sample_record.h"
#include "collectors/sampler/signal.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/memory.h"
#include "core/guest/seccomp.h"
#include "core/thread.h"

/* Attempts at a thread that keeps waking up, before this sample is given up. */
#define ATTEMPTS 3

/* If a thread waits for a processor for at most this many rounds, its answer counts for all. */
#define MISSED   64u

struct target {
	struct gt_thread *thread; /* NULL: free */
	uint32_t tid;
	bool seen;       /* in this round */
	uint32_t missed; /* rounds since it was asked: it has not run, the answer counts for all */
	uint64_t missed_at[MISSED];
	struct gt_sample_slot *slot;
};

static struct {
	_Atomic uint64_t period;
	uint32_t frames;
	uint64_t random;
	_Atomic uint32_t stop, finished, running;
	_Atomic uint64_t due, skipped, lost, late;
	uint32_t launching; /* threads in the last round */
	_Atomic bool has_signal;
	struct gt_thread *self;
	struct target targets[GT_SAMPLER_THREADS];
	union {
		struct gt_call_record record;
		char room[sizeof(struct gt_call_record) + 2 * GT_UNWIND_DEPTH * sizeof(uint64_t)];
	} sample; /* before it is in the ring */
} sampler;

void gt_sampler_set_rate(uint32_t hz)
{
	atomic_store(&sampler.period, 1000000000u / hz);
}

void gt_sampler_configure(uint32_t hz, uint32_t frames)
{
	memset(&sampler, 0, sizeof(sampler));
	gt_sampler_set_rate(hz);
	sampler.frames = frames < GT_UNWIND_DEPTH ? frames : GT_UNWIND_DEPTH;
	sampler.random = gt_clock_now() | 1;
	atomic_store(&sampler.running, 1);
	atomic_store(&sampler.has_signal, gt_sample_signal_start());
}

static void add_to(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void count(_Atomic uint64_t *counter)
{
	add_to(counter, 1);
}

/* ---- one sample ---- */

static void put(const struct gt_call_record *sample, uint64_t time)
{
	size_t size = gt_sample_record_bytes(sample->frame_count + (uint32_t)sample->python_count);
	struct gt_call_record *record = (void *)gt_ring_reserve(&sampler.self->ring, size);

	if (!record) {
		count(&sampler.lost);
		return;
	}
	memcpy(record, sample, size);
	record->start = record->end = time;
	gt_ring_commit(&sampler.self->ring, &record->head, size, GT_RECORD_SAMPLE);
}

/* Makes records of the slot's content, for the rounds in which the thread had no processor, too.
 * The first one cannot be copied from the ring: it may be gone from there. */
static void deliver(const struct target *target, struct gt_sample_slot *slot)
{
	struct gt_call_record *sample = &sampler.sample.record;

	if (!gt_sample_record_fill(slot, sampler.frames, sample)) {
		add_to(&sampler.lost, 1 + target->missed);
		return;
	}
	sample->tid = target->tid;
	put(sample, slot->time);
	for (uint32_t i = 0; i < target->missed; i++)
		put(sample, target->missed_at[i]);
}

/* If the thread wakes up while its stack is read, the copy is useless. */
static void sample_waiting(struct target *target, const struct gt_call_view *view, const char *text,
			   uint64_t pc, uint64_t sp)
{
	struct gt_sample_slot *slot = target->slot;
	char again[GT_SAMPLE_TEXT];

	slot->time = gt_clock_now();
	slot->regs = (struct gt_unwind_regs){.pc = pc, .sp = sp};
	slot->has_fp = false;
	slot->waiting = true;
	for (int i = 0; i < ATTEMPTS; i++) {
		gt_sample_copy_stack(slot, 0, 0);
		slot->python_count =
			gt_python_peek(view->python, &slot->window, GT_PYTHON_DEPTH, slot->python);
		if (gt_sample_proc_read(target->tid, again, &pc, &sp) == GT_SAMPLE_WAITING &&
		    !strcmp(text, again)) {
			if (atomic_load(&sampler.stop)) /* it may wait for this thread's end */
				break;
			deliver(target, slot);
			return;
		}
	}
	count(&sampler.lost);
}

static bool may_interrupt(const struct target *target, const struct gt_call_view *view)
{
	if (!atomic_load(&sampler.has_signal))
		return false;
	if (!gt_sample_signal_is_usable()) {
		atomic_store(&sampler.has_signal, false);
		return false;
	}
	return gt_sample_signal_fits(target->tid, view);
}

/* The last check is right before the signal: a thread that fell asleep since the first one would be
 * woken, and some calls do not resume after a signal. */
static void signal_running(struct target *target, const struct gt_call_view *view)
{
	void *_Atomic *mailbox = &target->thread->mailbox;
	char text[GT_SAMPLE_TEXT];
	uint64_t pc, sp;

	if (!may_interrupt(target, view)) {
		count(&sampler.skipped);
		return;
	}
	if (gt_sample_proc_read(target->tid, text, &pc, &sp) == GT_SAMPLE_WAITING) {
		sample_waiting(target, view, text, pc, sp);
		return;
	}
	target->missed = 0;
	atomic_store(&target->slot->state, GT_SAMPLE_ASKED);
	atomic_store(mailbox, target->slot);
	if (syscall(SYS_tgkill, getpid(), target->tid, GT_SAMPLE_SIGNAL) &&
	    atomic_exchange(mailbox, NULL)) {
		atomic_store(&target->slot->state, GT_SAMPLE_IDLE);
		count(&sampler.lost);
	}
}

/* What was asked for is lost: this round's, and those since. */
static void lose_answer(struct target *target)
{
	add_to(&sampler.lost, 1 + target->missed);
	target->missed = 0;
}

/* Withdraws the request. False: the thread is answering. */
static bool withdraw(struct target *target)
{
	if (atomic_exchange(&target->thread->mailbox, NULL) != target->slot)
		return false;
	atomic_store(&target->slot->state, GT_SAMPLE_IDLE);
	lose_answer(target);
	return true;
}

/* No answer yet: the thread waits for a processor, or has blocked the signal meanwhile. */
static void miss(struct target *target)
{
	if (target->missed < MISSED && !gt_sample_proc_blocks(target->tid, GT_SAMPLE_SIGNAL)) {
		target->missed_at[target->missed++] = gt_clock_now();
		return;
	}
	withdraw(target);
	count(&sampler.lost); /* of this round */
}

/* Reads the answer since the last round. False: asked, no answer yet. */
static bool read_answer(struct target *target)
{
	struct gt_sample_slot *slot = target->slot;
	/* pairs with the release in the handler */
	int state = atomic_load_explicit(&slot->state, memory_order_acquire);

	if (state == GT_SAMPLE_ASKED)
		return false;
	if (state == GT_SAMPLE_FILLED) {
		atomic_store(&slot->state, GT_SAMPLE_IDLE);
		if (slot->inside)
			add_to(&sampler.skipped, 1 + target->missed);
		else
			deliver(target, slot);
		target->missed = 0;
	}
	return true;
}

/* ---- threads ---- */

/* Withdraws what is not answered. False: the thread may still be filling the slot. */
static bool settle(struct target *target)
{
	char text[GT_SAMPLE_TEXT];
	uint64_t pc, sp;
	bool gone;

	if (read_answer(target) || withdraw(target))
		return true;
	gone = gt_sample_proc_read(target->tid, text, &pc, &sp) == GT_SAMPLE_GONE;
	if (read_answer(target)) /* it was about to end */
		return true;
	lose_answer(target);
	return gone;
}

/* A slot that a thread may still be filling is not freed. */
static void drop(struct target *target)
{
	struct gt_sample_slot *slot = target->slot;

	if (settle(target))
		gt_memory_unmap(slot, sizeof(*slot));
	*target = (struct target){0};
}

static struct target *add(struct gt_thread *thread, uint32_t tid)
{
	for (uint32_t i = 0; i < GT_SAMPLER_THREADS; i++) {
		struct target *target = &sampler.targets[i];

		if (target->thread)
			continue;
		target->slot = gt_memory_map(sizeof(*target->slot));
		if (!target->slot)
			return NULL;
		target->thread = thread;
		target->tid = tid;
		return target;
	}
	return NULL;
}

/* The target of a thread, if any. Its block may serve another thread now. */
static struct target *find(struct gt_thread *thread)
{
	uint32_t tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < GT_SAMPLER_THREADS; i++) {
		struct target *target = &sampler.targets[i];

		if (target->thread != thread)
			continue;
		if (target->tid == tid)
			return target;
		drop(target);
		break;
	}
	return add(thread, tid);
}

static bool launches(const struct gt_thread *thread)
{
	return thread != sampler.self &&
	       atomic_load_explicit(&thread->life, memory_order_acquire) == GT_THREAD_LIVE &&
	       atomic_load_explicit(&thread->counters[GT_THREAD_CALLS_SEEN], memory_order_relaxed) >
		       0;
}

static void sample_thread(struct gt_thread *thread)
{
	struct target *target = find(thread);
	struct gt_call_view view;
	char text[GT_SAMPLE_TEXT];
	enum gt_sample_where where;
	uint64_t pc, sp;

	if (!target || !gt_call_view(thread, &view)) {
		count(&sampler.due);
		count(&sampler.lost);
		return;
	}
	target->seen = true;
	where = gt_sample_proc_read(target->tid, text, &pc, &sp);
	if (where == GT_SAMPLE_GONE) { /* it has no time that could be sampled */
		drop(target);
		return;
	}
	count(&sampler.due);
	if (!read_answer(target)) {
		if (where == GT_SAMPLE_RUNNING) {
			miss(target);
			return;
		}
		if (!withdraw(target)) { /* it is answering */
			count(&sampler.lost);
			return;
		}
	}
	if (where == GT_SAMPLE_NO_DESCRIPTOR ||
	    (where == GT_SAMPLE_WAITING && gt_call_view_is_inside(&view, sp)))
		count(&sampler.skipped);
	else if (where == GT_SAMPLE_WAITING)
		sample_waiting(target, &view, text, pc, sp);
	else if (where == GT_SAMPLE_RUNNING)
		signal_running(target, &view);
	else if (where == GT_SAMPLE_UNKNOWN)
		count(&sampler.lost);
	if (where == GT_SAMPLE_UNKNOWN)
		drop(target);
}

static void forget_unseen(void)
{
	for (uint32_t i = 0; i < GT_SAMPLER_THREADS; i++) {
		struct target *target = &sampler.targets[i];

		if (target->thread && !target->seen)
			drop(target);
		target->seen = false;
	}
}

/* ---- the thread ---- */

static void round_once(void)
{
	sampler.launching = 0;
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (launches(t) && !atomic_load(&sampler.stop)) {
			sampler.launching++;
			sample_thread(t);
		}
	forget_unseen();
}

/* A random 75 to 125 % of the period, so as not to run in step with a loop of the program. */
static uint64_t next_period(void)
{
	uint64_t x = sampler.random, period = atomic_load(&sampler.period);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	sampler.random = x;
	return period / 4 * 3 + x % (period / 2 + 1);
}

/* Rounds that were due before @now and did not come: this thread had no processor. Until when to
 * wait. */
static uint64_t skip_late(uint64_t next, uint64_t now)
{
	uint64_t rounds = 1 + (now - next) / atomic_load(&sampler.period);

	add_to(&sampler.due, rounds * sampler.launching);
	add_to(&sampler.late, rounds * sampler.launching);
	return now + next_period();
}

static void read_last_answers(void)
{
	for (uint32_t i = 0; i < GT_SAMPLER_THREADS; i++) {
		struct target *target = &sampler.targets[i];

		if (target->thread)
			drop(target);
	}
}

void *gt_sampler_run(void *unused)
{
	uint64_t now, next = gt_clock_now();

	gt_sample_proc_start();
	sampler.self = gt_thread_find();
	while (sampler.self && !atomic_load(&sampler.stop)) {
		round_once();
		now = gt_clock_now();
		next += next_period();
		if (next < now)
			next = skip_late(next, now);
		gt_futex_wait(&sampler.stop, 0, next - now);
	}
	read_last_answers();
	atomic_store(&sampler.finished, 1);
	gt_futex_wake(&sampler.finished);
	return NULL;
}

void gt_sampler_stop(uint64_t timeout_ns)
{
	uint64_t until = gt_clock_now() + timeout_ns, now;

	if (!atomic_exchange(&sampler.running, 0) || !gt_forkguard_holds())
		return;
	atomic_store(&sampler.stop, 1);
	gt_futex_wake(&sampler.stop);
	while (!atomic_load(&sampler.finished) && (now = gt_clock_now()) < until)
		gt_futex_wait(&sampler.finished, 0, until - now);
	gt_sample_signal_stop();
}

bool gt_sampler_is_running(void)
{
	return atomic_load(&sampler.running);
}

struct gt_sampler_counts gt_sampler_count(void)
{
	return (struct gt_sampler_counts){
		.due = atomic_load_explicit(&sampler.due, memory_order_relaxed),
		.skipped = atomic_load_explicit(&sampler.skipped, memory_order_relaxed),
		.lost = atomic_load_explicit(&sampler.lost, memory_order_relaxed),
		.late = atomic_load_explicit(&sampler.late, memory_order_relaxed),
		.has_signal = atomic_load(&sampler.has_signal),
	};
}
