/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the calls of another thread while it makes them. Crash handler, watchdog, sampler.
 */
#include <stdatomic.h>

#include "collectors/call/call.h"
#include "collectors/call/records.h"
#include "collectors/call/state.h"
#include "core/thread.h"

/* The owner may be writing: each word is read as it is at that moment. */
__attribute__((no_sanitize("thread"))) bool gt_call_view(const struct gt_thread *thread,
							 struct gt_call_view *ret_view)
{
	const volatile struct call_state *state =
		(const volatile struct call_state *)(const volatile void *)thread->extra;

	*ret_view = (struct gt_call_view){
		.depth = state->depth,
		.frame = state->frame,
		.stack_low = state->unwind.stack_low,
		.stack_high = state->unwind.stack_high,
		.python = &((const struct call_state *)(const void *)thread->extra)->python_thread,
	};
	return state->ready;
}

__attribute__((no_sanitize("thread"))) static void describe(const volatile struct call_state *state,
							    const struct gt_call_record *open,
							    struct gt_call_under_way *ret_call)
{
	const volatile struct gt_call_record *record = open;

	*ret_call =
		(struct gt_call_under_way){.domain = state->passed_domain, .cbid = state->passed};
	if (!record)
		return;
	*ret_call = (struct gt_call_under_way){
		.domain = record->domain,
		.cbid = record->cbid,
		.start = record->start,
		.aimed = record->head.flags & GT_CALL_AIMED,
		.stream = record->stream,
		.record = open,
		.frame_count = (uint16_t)state->frames,
		.python_count = (uint16_t)state->python,
	};
}

/* The slot is filled when the call is entered, and its owner leaves it alone until it returns. The
 * count tells a call from one at the same place. */
__attribute__((no_sanitize("thread"))) bool gt_call_find_under_way(
	const struct gt_thread *thread, struct gt_call_under_way *ret_call)
{
	const volatile struct call_state *state =
		(const volatile struct call_state *)(const volatile void *)thread->extra;
	uint64_t seen = atomic_load(&thread->counters[GT_THREAD_CALLS_SEEN]);
	const struct gt_call_record *open = state->open;

	if (!state->ready || !state->depth)
		return false;
	describe(state, open, ret_call);
	atomic_thread_fence(memory_order_seq_cst);
	return state->depth && state->open == open &&
	       atomic_load(&thread->counters[GT_THREAD_CALLS_SEEN]) == seen;
}
