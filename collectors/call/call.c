/* SPDX-License-Identifier: Apache-2.0
 *
 * The hot path of an API call, see the header. Application threads only, except _configure. Must
 * not lock, allocate, or enter the kernel.
 */
#include "collectors/call/call.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/call/passed.h"
#include "collectors/call/records.h"
#include "collectors/call/state.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/schema/tensor_sink.h"
#include "core/thread.h"

/* Beside the number of the source: new calls are not recorded, any more or yet, or some are not. */
#define CLOSED    0x80000000u
#define PAUSED    0x40000000u
#define FILTERED  0x20000000u
#define SPARING   0x10000000u /* of calls that start no GPU work: --max-overhead */
#define SKIPPING  0x08000000u /* in this step: --max-overhead */
#define CROWDED   0x04000000u /* of calls that start no GPU work: --thin */
#define NUMBER    (CROWDED - 1)

/* In `lowered`. */
#define NO_STACKS 1u
#define NO_PYTHON 2u

static uint32_t stack_depth;
static _Atomic uint64_t stack_threshold; /* ns; 0: each call has a stack */
static _Atomic uint64_t query_threshold; /* the same of `queries`, if it is longer */
static struct gt_cuda_set queries;       /* only --api=all records them */
static struct gt_cuda_set launchers;     /* calls that start GPU work */
static uint64_t min_duration;            /* ns; 0: of no call */
static struct gt_cuda_set filtered, droppable;
static _Atomic uint32_t own_correlation;
static _Atomic uint32_t source;
static _Atomic uint32_t lowered;
static _Atomic uint32_t steps, named_steps;
_Atomic uint32_t gt_call_step_period;
static void (*_Atomic enter_tag)(uint64_t id);
static void (*_Atomic leave_tag)(void);

void gt_call_configure(uint32_t depth)
{
	stack_depth = depth;
	gt_cuda_set_init_without(&queries, GT_CUDA_DEFAULT);
	gt_cuda_set_init(&launchers, GT_CUDA_ENQUEUES);
	atomic_fetch_and(&source, ~CLOSED);
}

void gt_call_set_stack_threshold(uint64_t ns, uint64_t of_queries)
{
	atomic_store_explicit(&stack_threshold, ns, memory_order_relaxed);
	atomic_store_explicit(&query_threshold, of_queries, memory_order_relaxed);
}

void gt_call_set_filter(const struct gt_cuda_set *left_out, const struct gt_cuda_set *short_ones,
			uint64_t ns)
{
	static const struct gt_cuda_set none;

	filtered = *left_out;
	droppable = *short_ones;
	min_duration = ns;
	if (memcmp(&filtered, &none, sizeof(none)) != 0)
		atomic_fetch_or(&source, FILTERED);
	else
		atomic_fetch_and(&source, ~FILTERED);
}

void gt_call_next_step(bool named)
{
	uint32_t period = atomic_load(&gt_call_step_period);

	if (named)
		atomic_fetch_add(&named_steps, 1);
	if (period > 1 && atomic_fetch_add(&steps, 1) % period)
		atomic_fetch_or(&source, SKIPPING);
	else
		atomic_fetch_and(&source, ~SKIPPING);
}

uint32_t gt_call_steps(void)
{
	return atomic_load(&named_steps);
}

void gt_call_lower(const struct gt_call_lowered *how)
{
	atomic_store(&lowered, (how->stacks ? NO_STACKS : 0) | (how->python ? NO_PYTHON : 0));
	atomic_store(&gt_call_step_period, how->steps);
	if (how->calls)
		atomic_fetch_or(&source, SPARING);
	else
		atomic_fetch_and(&source, ~SPARING);
	if (how->steps < 2)
		atomic_fetch_and(&source, ~SKIPPING);
}

void gt_call_thin(bool thins)
{
	if (thins)
		atomic_fetch_or(&source, CROWDED);
	else
		atomic_fetch_and(&source, ~CROWDED);
}

uint64_t gt_call_threshold(const struct gt_call_record *record)
{
	uint64_t ns = atomic_load_explicit(&stack_threshold, memory_order_relaxed);
	uint64_t of_queries = atomic_load_explicit(&query_threshold, memory_order_relaxed);

	if (of_queries > ns &&
	    gt_cuda_set_has(&queries, (enum gt_api_domain)record->domain, record->cbid))
		return of_queries;
	return ns;
}

void gt_call_close(void)
{
	atomic_fetch_or(&source, CLOSED);
}

void gt_call_pause(bool paused)
{
	gt_call_passed_pause(paused);
	if (paused)
		atomic_fetch_or(&source, PAUSED);
	else
		atomic_fetch_and(&source, ~PAUSED);
}

size_t gt_call_state_bytes(void)
{
	return sizeof(struct call_state);
}

static __thread struct call_lost refused_lost; /* of refused; by itself it fills a gap */

/* The open call for which this thread had no block: those inside it may find one, which another
 * thread has left meanwhile. */
static __thread struct {
	uint32_t correlation, depth;
	uintptr_t frame;
} refused;

struct call_state *gt_call_state(struct gt_thread *thread)
{
	struct call_state *state = (struct call_state *)(void *)thread->extra;

	if (__builtin_expect(!state->ready, 0)) {
		gt_unwind_thread_init(&state->unwind);
		state->correlation = refused.correlation;
		state->depth = refused.depth;
		state->frame = refused.frame;
		state->lost = refused_lost;
		refused.depth = 0;
		refused_lost.cbid = 0;
		state->stamp.random = thread->tid;
		state->ready = true;
	}
	return state;
}

static uint64_t join_keys(uint64_t native, uint64_t python)
{
	uint64_t key = (native ^ (python << 1 | python >> 63)) * 0x9e3779b97f4a7c15u;

	return key ? key : 1;
}

/* What --max-overhead leaves of a stack. */
static uint32_t count_lowered(struct gt_thread *thread)
{
	uint32_t now = atomic_load_explicit(&lowered, memory_order_relaxed);

	if (__builtin_expect(now == 0, 1))
		return 0;
	gt_thread_count(thread, GT_THREAD_STACKS_GOVERNED);
	if (now & NO_PYTHON && gt_python_version())
		gt_thread_count(thread, GT_THREAD_PYTHON_GOVERNED);
	return now;
}

void gt_call_capture(struct gt_thread *thread, struct call_state *state,
		     struct gt_call_record *record)
{
	const uint64_t *pcs = NULL, *frames = NULL;
	uint64_t python_key;
	uint32_t without;

	record->stack_key = 0;
	state->frames = state->python = 0;
	if (!stack_depth)
		return;
	without = count_lowered(thread);
	if (!(without & NO_STACKS))
		state->frames =
			gt_unwind_capture(&state->unwind, stack_depth, &pcs, &record->stack_key);
	if (!(without & NO_PYTHON))
		state->python =
			gt_python_capture(&state->python_thread, stack_depth, &frames, &python_key);
	if (state->python)
		record->stack_key = join_keys(record->stack_key, python_key);
	if (gt_unwind_is_delivered(&state->unwind, record->stack_key))
		state->frames = state->python = 0;
	if (state->frames)
		memcpy(record->pcs, pcs, state->frames * sizeof(pcs[0]));
	if (state->python)
		memcpy(record->pcs + state->frames, frames, state->python * sizeof(frames[0]));
}

size_t gt_call_slot_bytes(void)
{
	size_t behind = sizeof(struct gt_block) > sizeof(struct gt_tensor)
				? sizeof(struct gt_block)
				: sizeof(struct gt_tensor);

	return sizeof(struct gt_call_record) + 2 * stack_depth * sizeof(uint64_t) + behind;
}

bool gt_call_is_recording(void)
{
	return !(atomic_load_explicit(&source, memory_order_relaxed) & (CLOSED | PAUSED));
}

/* How long the call takes is known at its end. */
static void leave_stack(struct call_state *state, struct gt_call_record *record)
{
	record->stack_key = 0;
	state->frames = state->python = 0;
}

static uint32_t next_own_correlation(void)
{
	return GT_CALL_OWN_IDS +
	       atomic_fetch_add_explicit(&own_correlation, 1, memory_order_relaxed);
}

void gt_call_change_source(void)
{
	atomic_fetch_add(&source, 1); /* never so often that it reaches PAUSED */
}

/*
 * A call that was entered and never left (longjmp, an exception through C) would make every later
 * call look nested. The stack grows down: a call whose frame is not below the open one's proves
 * that the open one is gone. This does not hold for equal ids, as of a runtime call and the driver
 * call inside it: frames are those of CUPTI's callbacks, and their depth differs on the two paths.
 */
static bool is_inside(uintptr_t outer, uint32_t of_outer, uintptr_t frame, uint32_t correlation)
{
	return frame < outer || (correlation && of_outer == correlation);
}

static bool is_nested(const struct call_state *state, uintptr_t frame, uint32_t correlation)
{
	return state->depth && is_inside(state->frame, state->correlation, frame, correlation);
}

static struct call_lost launch_of(uint16_t domain, uint32_t cbid)
{
	bool launches = gt_cuda_set_has(&launchers, (enum gt_api_domain)domain, cbid);

	return (struct call_lost){.cbid = (uint16_t)(launches ? cbid : 0),
				  .domain = (uint8_t)domain};
}

struct call_lost *gt_call_lost(void)
{
	struct gt_thread *thread = gt_thread_self;

	return gt_thread_is_known(thread) ? &gt_call_state(thread)->lost : &refused_lost;
}

/* Which of these apply to a call. */
static uint32_t reasons(uint32_t now, enum gt_api_domain domain, uint32_t cbid)
{
	if (now & FILTERED && !gt_cuda_set_has(&filtered, domain, cbid))
		now &= ~FILTERED;
	if (!(now & (SPARING | SKIPPING | CROWDED)))
		return now;
	if (gt_cuda_set_has(&droppable, domain, cbid))
		return (now & ~SKIPPING) | (now & SKIPPING ? SPARING : 0);
	return now & ~(SPARING | CROWDED);
}

/* Of a call that is not recorded. */
static enum gt_thread_counter counter_of(uint32_t why)
{
	return why & CLOSED     ? GT_THREAD_CALLS_LATE
	       : why & PAUSED   ? GT_THREAD_CALLS_PASSED
	       : why & FILTERED ? GT_THREAD_CALLS_FILTERED
	       : why & SPARING  ? GT_THREAD_CALLS_GOVERNED
				: GT_THREAD_CALLS_THINNED;
}

/* Notes a call that is outside of the window; whether it starts GPU work. */
static bool note_outside(uint32_t correlation, uint16_t domain, uint32_t cbid, uint32_t why)
{
	if (!(why & PAUSED) || why & CLOSED)
		return false;
	gt_call_passed_note(correlation);
	return gt_cuda_set_has(&launchers, (enum gt_api_domain)domain, cbid);
}

/* What would not have been recorded in a block either is not lost. */
static void refuse_call(uintptr_t frame, uint32_t correlation, uint16_t domain, uint32_t cbid)
{
	bool nested =
		refused.depth && is_inside(refused.frame, refused.correlation, frame, correlation);
	uint32_t now = atomic_load_explicit(&source, memory_order_relaxed);
	uint32_t why = reasons(now, (enum gt_api_domain)domain, cbid) & ~(NUMBER | SKIPPING);

	gt_threads_count_refused(GT_THREAD_CALLS_SEEN);
	refused.depth = nested ? refused.depth + 1 : 1;
	if (nested) {
		gt_threads_count_refused(GT_THREAD_CALLS_NESTED);
		return;
	}
	refused.correlation = correlation;
	refused.frame = frame;
	refused_lost = why ? (struct call_lost){0} : launch_of(domain, cbid);
	if (why && note_outside(correlation, domain, cbid, why))
		gt_threads_count_refused(GT_THREAD_LAUNCHES_PASSED);
	if (why)
		gt_threads_count_refused(counter_of(why));
	else
		atomic_fetch_add(&gt_threads_refused()->calls, 1);
}

static void leave_refused(int32_t result)
{
	refused.depth -= refused.depth != 0;
	if (refused.depth || !refused_lost.cbid)
		return;
	if (result == 0)
		gt_threads_count_refused(GT_THREAD_LAUNCHES_LOST);
	refused_lost.cbid = 0;
}

void gt_call_set_tags(void (*enter)(uint64_t id), void (*leave)(void))
{
	atomic_store_explicit(&leave_tag, leave, memory_order_release);
	atomic_store_explicit(&enter_tag, enter, memory_order_release);
}

static void tag_call(struct gt_call_record *record)
{
	void (*enter)(uint64_t) = atomic_load_explicit(&enter_tag, memory_order_acquire);

	if (!enter)
		return;
	record->head.flags |= GT_CALL_TAGGED;
	enter(record->correlation);
}

static void untag_call(void)
{
	void (*leave)(void) = atomic_load_explicit(&leave_tag, memory_order_acquire);

	if (leave)
		leave();
}

void gt_call_open(struct gt_thread *thread, struct call_state *state, uint16_t domain,
		  uint32_t cbid, uint16_t flags)
{
	uint32_t correlation = state->correlation;
	struct gt_call_record *record;

	record = (void *)gt_ring_reserve(&thread->ring, gt_call_slot_bytes());
	state->open = record;
	state->passed = 0;
	if (!record) {
		gt_thread_count(thread, GT_THREAD_CALLS_LOST);
		state->lost = launch_of(domain, cbid);
		return;
	}
	record->head.flags = (uint16_t)(flags | (correlation ? 0 : GT_CALL_OWN_ID));
	record->tid = thread->tid;
	record->domain = domain;
	record->cbid = cbid;
	record->correlation = correlation ? correlation : next_own_correlation();
	if (__builtin_expect(gt_call_threshold(record) != 0 || flags, 0))
		leave_stack(state, record);
	else
		gt_call_capture(thread, state, record);
	if (!correlation)
		tag_call(record);
	record->start = gt_clock_now(); /* last, so that the slice does not contain the unwinding */
}

/* A hook opened the call and CUPTI has begun to report calls since: its id finds the GPU work. */
static void adopt_correlation(struct call_state *state, uint32_t correlation)
{
	if (!correlation || !state->open || !(state->open->head.flags & GT_CALL_OWN_ID))
		return;
	state->correlation = state->open->correlation = correlation;
	state->open->head.flags &= (uint16_t)~GT_CALL_OWN_ID;
}

/* The last of the ring is kept for calls that start GPU work. */
static bool is_crowded_out(struct gt_thread *thread, enum gt_api_domain domain, uint32_t cbid)
{
	return gt_ring_is_crowded(&thread->ring) && gt_cuda_set_has(&droppable, domain, cbid);
}

/* Forgets what another source opened. CLOSED, PAUSED, FILTERED, SPARING, CROWDED: this new call is
 * not recorded; SKIPPING: only whose its work is; 0: it is. */
static uint32_t look_at_source(struct call_state *state, enum gt_api_domain domain, uint32_t cbid)
{
	uint32_t now = atomic_load_explicit(&source, memory_order_relaxed);

	if (__builtin_expect(state->source == now, 1))
		return 0;
	if (state->source != (now & NUMBER))
		state->depth = 0;
	state->source = now & NUMBER;
	return reasons(now, domain, cbid) & ~NUMBER;
}

static void pass_call(struct gt_thread *thread, struct call_state *state, uint16_t domain,
		      uint32_t cbid, uint32_t why)
{
	state->open = NULL;
	state->passed = why & CLOSED ? 0 : cbid;
	state->passed_domain = domain;
	state->lost.cbid = 0;
	if (note_outside(state->correlation, domain, cbid, why))
		gt_thread_count(thread, GT_THREAD_LAUNCHES_PASSED);
	gt_thread_count(thread, counter_of(why));
}

/* The entry of a measured call is over. The reading of its start is part of it. */
static void begin_cost(struct call_state *state)
{
	uint64_t now = state->open ? state->open->start : gt_clock_now();

	state->cost = now > state->measured ? now - state->measured : 0;
}

/* The exit, which began at @end, is over, too. */
static void count_cost(struct gt_thread *thread, struct call_state *state, uint64_t end)
{
	uint64_t cost = state->cost + (end ? gt_clock_now() - end : 0);

	gt_thread_add(thread, GT_THREAD_COST_NS, gt_stamp_scale(&state->stamp, cost));
	state->measured = 0;
}

void gt_call_enter(enum gt_api_domain domain, uint32_t cbid, uint32_t correlation)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	struct gt_thread *thread;
	struct call_state *state;
	int saved = errno;
	uint32_t why_not;

	if (!gt_forkguard_holds())
		goto out;
	thread = gt_thread_get();
	if (!thread) {
		refuse_call(frame, correlation, (uint16_t)domain, cbid);
		goto out;
	}
	state = gt_call_state(thread);
	gt_thread_count(thread, GT_THREAD_CALLS_SEEN);
	why_not = look_at_source(state, domain, cbid);
	if (is_nested(state, frame, correlation)) {
		state->depth++;
		adopt_correlation(state, correlation);
		gt_thread_count(thread, GT_THREAD_CALLS_NESTED);
		goto out;
	}
	state->depth = 1;
	state->correlation = correlation;
	state->frame = frame;
	state->measured = gt_stamp_is_due(&state->stamp) ? gt_clock_now() : 0;
	if (!why_not && is_crowded_out(thread, domain, cbid))
		why_not = CROWDED;
	if (__builtin_expect(why_not & ~SKIPPING, 0))
		pass_call(thread, state, (uint16_t)domain, cbid, why_not);
	else
		gt_call_open(thread, state, (uint16_t)domain, cbid, why_not ? GT_CALL_GOVERNED : 0);
	if (__builtin_expect(state->measured != 0, 0))
		begin_cost(state);
out:
	errno = saved;
}

/* Known to be too short to be recorded. */
static bool is_dropped(const struct gt_call_record *record)
{
	return record->end - record->start < min_duration &&
	       !(record->head.flags & GT_CALL_CAPTURED) &&
	       gt_cuda_set_has(&droppable, (enum gt_api_domain)record->domain, record->cbid);
}

/* Returns when it began. */
static uint64_t commit_call(struct gt_thread *thread, struct call_state *state, int32_t result)
{
	struct gt_call_record *record = state->open;
	uint64_t end = gt_clock_now();
	size_t size;

	record->end = end;
	if (__builtin_expect(min_duration != 0, 0) && is_dropped(record)) {
		if (record->head.flags & GT_CALL_TAGGED)
			untag_call();
		state->open = NULL;
		gt_thread_count(thread, GT_THREAD_CALLS_FILTERED);
		return end;
	}
	if (__builtin_expect(!record->stack_key, 0) && gt_call_threshold(record) &&
	    record->end - record->start >= gt_call_threshold(record) &&
	    !(record->head.flags & GT_CALL_GOVERNED))
		gt_call_capture(thread, state, record);
	size = sizeof(*record) + (state->frames + state->python) * sizeof(record->pcs[0]);
	if (__builtin_expect(record->head.flags & GT_CALL_TAGGED, 0))
		untag_call();
	if (__builtin_expect(record->head.flags & GT_CALL_HAS_BLOCK, 0)) {
		memcpy((char *)record + size, &state->block, sizeof(state->block));
		size += sizeof(state->block);
	}
	record->result = result;
	record->frame_count = (uint16_t)state->frames;
	record->python_count = (uint16_t)state->python;
	gt_ring_commit(&thread->ring, &record->head, size, GT_RECORD_CALL);
	if (state->frames || state->python)
		gt_unwind_set_delivered(&state->unwind, record->stack_key);
	state->open = NULL;
	return end;
}

/* Whether it has started work is known only now. */
static void leave_lost(struct gt_thread *thread, struct call_state *state, int32_t result)
{
	if (result == 0)
		gt_thread_count(thread, GT_THREAD_LAUNCHES_LOST);
	state->lost.cbid = 0;
}

void gt_call_exit(enum gt_api_domain domain, uint32_t cbid, int32_t result)
{
	struct gt_thread *thread = gt_thread_self;
	struct call_state *state;
	int saved = errno;
	uint64_t end = 0;

	if (!gt_forkguard_holds())
		return;
	if (!gt_thread_is_known(thread)) {
		leave_refused(result);
		return;
	}
	state = gt_call_state(thread);
	if (state->depth == 0 || --state->depth > 0)
		return;
	if (state->open)
		end = commit_call(thread, state, result);
	else if (state->lost.cbid)
		leave_lost(thread, state, result);
	if (__builtin_expect(state->measured != 0, 0))
		count_cost(thread, state, end);
	errno = saved;
}

bool gt_call_is_open(const struct gt_thread *thread, uintptr_t frame)
{
	const struct call_state *state = (const struct call_state *)(const void *)thread->extra;

	return state->open && is_nested(state, frame, 0);
}
