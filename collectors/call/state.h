/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread knows of its calls, in its block (core/thread.h): call.c and open.c write it on
 * that thread, view.c reads it from any other. Private to this folder.
 */
#ifndef GT_COLLECTORS_CALL_STATE_H
#define GT_COLLECTORS_CALL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/call/stamp.h"
#include "collectors/python/python.h"
#include "collectors/unwind/unwind.h"
#include "core/schema/event.h"

struct gt_call_record;
struct gt_thread;

/* A call without a slot, if it starts GPU work as far as is known. */
struct call_lost {
	uint16_t cbid; /* 0: there is none */
	uint8_t domain;
};

/* Of one thread. */
struct call_state {
	bool ready;
	uint32_t depth;              /* calls entered and not left */
	uint32_t source;             /* which source opened the call */
	uint32_t correlation;        /* of the outermost call; 0: ours */
	uintptr_t frame;             /* its stack position */
	struct gt_call_record *open; /* its slot; NULL: the ring was full */
	uint32_t frames, python;     /* captured into the slot */
	struct gt_stamp stamp;
	uint64_t measured; /* since when, CLOCK_MONOTONIC ns; 0: this call is not */
	uint64_t cost;     /* of it so far, ns */
	uint32_t passed;   /* cbid of the call if it is not recorded; 0: it is */
	uint16_t passed_domain;
	struct call_lost lost;
	struct gt_block block; /* of the open call, which has GT_CALL_HAS_BLOCK */
	struct gt_unwind_thread unwind;
	struct gt_python_thread python_thread;
};

/* The state of the calling thread, made when new. */
struct call_state *gt_call_state(struct gt_thread *thread);

/* Puts the addresses, followed by the Python frames, into the slot, unless this thread has
 * delivered them before; counted in state->frames, state->python. */
void gt_call_capture(struct gt_thread *thread, struct call_state *state,
		     struct gt_call_record *record);

/* Takes a slot for the call, with its stack and its start. @flags: GT_CALL_GOVERNED, or 0. */
void gt_call_open(struct gt_thread *thread, struct call_state *state, uint16_t domain,
		  uint32_t cbid, uint16_t flags);

/* The calling thread's; also while it has no block. */
struct call_lost *gt_call_lost(void);

/* How long the call must take to have a stack, ns. */
uint64_t gt_call_threshold(const struct gt_call_record *record);

/* The bytes that a slot may need. */
size_t gt_call_slot_bytes(void);

/* Whether calls are recorded now. */
bool gt_call_is_recording(void);

#endif
