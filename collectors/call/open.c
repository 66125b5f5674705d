/* SPDX-License-Identifier: Apache-2.0
 *
 * What is learned of a call while it is open, by the callbacks that come in it: its stream and
 * kernel, the memory that it allocates, that a graph is made of it. Application threads only. Must
 * not lock, allocate, or enter the kernel.
 */
#include "collectors/call/call.h"

#include "collectors/call/kernel_names.h"
#include "collectors/call/records.h"
#include "collectors/call/state.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"

/* The slot of the calling thread's open call, NULL: none. */
static struct gt_call_record *open_record(void)
{
	struct gt_thread *thread = gt_thread_self;
	struct call_state *state;

	if (!thread || !gt_forkguard_holds())
		return NULL;
	state = (struct call_state *)(void *)thread->extra;
	return state->depth ? state->open : NULL;
}

void gt_call_backdate(uint64_t start)
{
	struct gt_call_record *record = open_record();

	if (record)
		record->start = start;
}

void gt_call_mark_empty(enum gt_api_domain domain, uint32_t cbid)
{
	struct gt_call_record *record = open_record();
	struct call_lost *lost;

	if (record && record->cbid == cbid && record->domain == domain)
		record->head.flags |= GT_CALL_EMPTY;
	if (record)
		return;
	lost = gt_call_lost();
	if (lost->cbid == cbid && lost->domain == domain)
		lost->cbid = 0;
}

/* The nodes of a graph are there for long: later windows want to know where it was made. */
static void open_passed(void)
{
	struct gt_thread *thread = gt_thread_self;
	struct call_state *state;

	if (!thread || !gt_forkguard_holds())
		return;
	state = (struct call_state *)(void *)thread->extra;
	if (!state->depth || state->open || !state->passed)
		return;
	gt_thread_count(thread, GT_THREAD_CALLS_SEEN); /* once as passed, once as outside */
	gt_call_open(thread, state, state->passed_domain, state->passed, 0);
}

/* What is kept for long has its stack, however short the call. */
static void capture_all_the_same(struct gt_call_record *record)
{
	if ((gt_call_threshold(record) || record->head.flags & GT_CALL_GOVERNED) &&
	    !record->stack_key)
		gt_call_capture(gt_thread_self, (struct call_state *)(void *)gt_thread_self->extra,
				record);
	record->head.flags &= (uint16_t)~GT_CALL_GOVERNED;
}

uint64_t gt_call_open_stack(void)
{
	struct gt_call_record *record = open_record();

	if (!record)
		return 0;
	if (!(record->head.flags & GT_CALL_GOVERNED))
		capture_all_the_same(record);
	return record->stack_key;
}

void gt_call_mark_captured(void)
{
	struct gt_call_record *record = open_record();

	if (!record) {
		open_passed();
		record = open_record();
	}
	if (!record) {
		gt_call_lost()->cbid = 0;
		return;
	}
	record->head.flags |= GT_CALL_CAPTURED;
	capture_all_the_same(record);
}

void gt_call_set_block(enum gt_api_domain domain, uint32_t cbid, const struct gt_block *block,
		       bool failed)
{
	struct gt_call_record *record = open_record();
	bool is_own = record && record->cbid == cbid && record->domain == domain;
	struct gt_block *own;

	if (!record || (!is_own && (failed || record->head.flags & GT_CALL_HAS_BLOCK)))
		return;
	if (record->head.flags & GT_CALL_CAPTURED && block->op == GT_BLOCK_RELEASE)
		return; /* a node of a graph releases, at its launches */
	own = &((struct call_state *)(void *)gt_thread_self->extra)->block;
	*own = *block;
	if (record->head.flags & GT_CALL_CAPTURED && block->op == GT_BLOCK_ALLOCATE)
		own->op = GT_BLOCK_NODE;
	record->head.flags |= GT_CALL_HAS_BLOCK;
	capture_all_the_same(record);
}

void gt_call_aim(uint64_t stream, uint64_t symbol, uint32_t context)
{
	const struct gt_thread *thread = gt_thread_self;
	struct gt_call_record *record;

	if (!thread)
		return;
	record = ((const struct call_state *)(const void *)thread->extra)->open;
	if (!record || record->head.flags & GT_CALL_AIMED)
		return;
	record->stream = stream;
	record->symbol = symbol;
	record->context = (uint16_t)context;
	record->head.flags |= GT_CALL_AIMED;
	gt_kernel_names_note(symbol);
}
