/* SPDX-License-Identifier: Apache-2.0
 *
 * One CUDA call on the application's thread, from entry to exit: captures the stack into a slot
 * reserved in the thread's ring, reads the clock, commits the slot at exit. Called by the CUPTI
 * callback or, without CUPTI, by the hooks; both make the same record.
 *
 * Application threads. No lock, no allocation, no system call once the thread has been seen.
 */
#ifndef GT_COLLECTORS_CALL_CALL_H
#define GT_COLLECTORS_CALL_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ring.h"
#include "core/schema/cuda_api.h"
#include "core/schema/event.h"

struct gt_python_thread;
struct gt_thread;

/* Properties of one recorded call. */
enum gt_call_flag {
	GT_CALL_CAPTURED = 1, /* the call made graph nodes: it starts no GPU work */
	GT_CALL_WAITING = 2,  /* of a sample: the thread waited in the kernel */
	GT_CALL_CUT = 4,      /* of a sample: the stack has more frames */
	GT_CALL_OWN_ID = 8,   /* the correlation id is ours: no CUPTI record has it */
	GT_CALL_TAGGED = 16,  /* it was pushed as external id: CUPTI reports its own id for it */
	GT_CALL_EMPTY = 32,   /* it copies or sets no bytes: it starts no GPU work */
	GT_CALL_AIMED = 64,   /* stream, symbol and context are set */
	GT_CALL_GOVERNED =
		128, /* in a step that is left out: known only to whom its work belongs */
	GT_CALL_HAS_BLOCK = 256, /* a struct gt_block is behind the addresses and frames */
};

/* Ring record of a finished call (type GT_RECORD_CALL). A sample (GT_RECORD_SAMPLE,
 * collectors/sampler/sampler.h) has the same form: start is its time; no cbid, result,
 * correlation. */
struct gt_call_record {
	struct gt_ring_record head; /* flags: enum gt_call_flag */
	uint32_t tid;
	uint32_t correlation;
	uint16_t domain;      /* enum gt_api_domain */
	uint16_t frame_count; /* addresses in pcs[]; 0: this thread delivered them before */
	uint32_t cbid;
	int32_t result;
	uint16_t python_count; /* Python frames after the addresses (collectors/python/python.h) */
	uint16_t context;      /* GT_CALL_AIMED: CUPTI's id, its low bits */
	uint64_t start, end;   /* CLOCK_MONOTONIC ns */
	uint64_t stack_key;    /* 0: no stack */
	uint64_t stream;       /* GT_CALL_AIMED: the handle */
	uint64_t symbol;       /* GT_CALL_AIMED: address of the kernel's mangled name, which may be
				* unloaded by now; 0: no kernel */
	uint64_t pcs[];
};

/* Room for frames of the tracer, CUPTI, the driver and the runtime at the inner end of a stack:
 * captured in addition to the user's, cut off later. */
#define GT_CALL_OWN_FRAMES 32u

/* Called by the session before the first call. @depth: addresses to capture, 0: no stacks. */
void gt_call_configure(uint32_t stack_depth);

/* Per-thread state of this collector, in bytes, to reserve in gt_threads_start. */
size_t gt_call_state_bytes(void);

/* Ids of our own start here: one trace may also have CUPTI's, which start at 1. */
#define GT_CALL_OWN_IDS 0x40000000u

/* @correlation 0: assign one of ours (hooks only). A call inside a recorded call is counted, not
 * recorded: the user sees the outermost; but CUPTI's id of the inner one replaces an id of ours.
 * errno is kept. */
void gt_call_enter(enum gt_api_domain domain, uint32_t cbid, uint32_t correlation);

/* @result: the cudaError_t or CUresult that the call returned. errno is kept. */
void gt_call_exit(enum gt_api_domain domain, uint32_t cbid, int32_t result);

/* The process is ending: calls that are entered from now on are counted (GT_THREAD_CALLS_LATE), not
 * recorded; open ones are recorded when they return. Until the next gt_call_configure. Any thread;
 * async-signal-safe. */
void gt_call_close(void);

/* Calls that are entered while this is on are counted (GT_THREAD_CALLS_PASSED), not recorded. Any
 * thread. */
void gt_call_pause(bool paused);

/* The source of calls changes: calls that the old one opened may never be closed, so they are
 * dropped. Any thread. */
void gt_call_change_source(void);

/* Sets the functions that push and pop our id as CUPTI's external id; NULL, NULL: none. Both are
 * called on the application's thread. Drain thread. */
void gt_call_set_tags(void (*enter)(uint64_t id), void (*leave)(void));

/* Only calls that take so long have a stack, captured at their end; and those that make graph
 * nodes. 0: all. @of_queries: the same of calls that only --api=all records, if it is longer. Any
 * thread, at any time. */
void gt_call_set_stack_threshold(uint64_t ns, uint64_t of_queries);

/* Calls that are not recorded, only counted (GT_THREAD_CALLS_FILTERED): those of @left_out, and of
 * @droppable those that take less than @min_duration ns; not if they make graph nodes. Both are
 * copied. Before the first call. */
void gt_call_set_filter(const struct gt_cuda_set *left_out, const struct gt_cuda_set *droppable,
			uint64_t min_duration);

/* What --max-overhead has left out of calls. */
struct gt_call_lowered {
	bool stacks, python; /* are not captured */
	bool calls;          /* those that start no GPU work (@droppable) are only counted */
	uint32_t steps;      /* of this many one is recorded; 0, 1: all */
};

/* From now on. Drain thread. */
void gt_call_lower(const struct gt_call_lowered *lowered);

/* Calls that start no GPU work (@droppable) are only counted (GT_THREAD_CALLS_THINNED), until this
 * is called again: --thin. Drain thread. */
void gt_call_thin(bool thins);

/* One step of this number is recorded; 0, 1: all. */
extern _Atomic uint32_t gt_call_step_period;

/* Whether some steps are left out: who knows where they begin calls _next_step. Any thread; one
 * load. */
static inline bool gt_call_has_steps(void)
{
	return atomic_load_explicit(&gt_call_step_period, memory_order_relaxed) > 1;
}

/* A step begins. @named: the program says so. Any thread; no lock. */
void gt_call_next_step(bool named);

/* How many the program has named. Any thread. */
uint32_t gt_call_steps(void);

/* Sets the start of the open call, CLOCK_MONOTONIC ns: for the call during which the session
 * started. */
void gt_call_backdate(uint64_t start);

/* The stack key of the open call of this thread; 0: no call is open, or it has none. */
uint64_t gt_call_open_stack(void);

/* The open call of this thread makes graph nodes and starts no GPU work. It is recorded even while
 * calls are passed. */
void gt_call_mark_captured(void);

/* The call that has just been entered copies or sets no bytes. Not if it is one inside another. */
void gt_call_mark_empty(enum gt_api_domain domain, uint32_t cbid);

/* The call that has just been entered concerns this stream, and launches the kernel whose name is
 * at
 * @symbol (0: none). Of calls inside each other the first one counts. Behind gt_call_enter, not in
 * a forked child. */
void gt_call_aim(uint64_t stream, uint64_t symbol, uint32_t context);

/* What the call does with memory: the one that is recorded, or one inside it while it has said
 * nothing itself, if it has not @failed. An allocation is recorded with its stack whatever
 * --stack-threshold and
 * --max-overhead leave out. Between _enter and _exit, not in a forked child. */
void gt_call_set_block(enum gt_api_domain domain, uint32_t cbid, const struct gt_block *block,
		       bool failed);

/* The block of a record, NULL: it has none. The record is whole. */
static inline const struct gt_block *gt_call_block(const struct gt_call_record *record)
{
	if (!(record->head.flags & GT_CALL_HAS_BLOCK))
		return NULL;
	return (const void *)(record->pcs + record->frame_count + record->python_count);
}

/* True between _enter and _exit of a call of @thread, the calling thread, whose slot is the ring's
 * open one. @frame: an address in the caller's stack frame. */
bool gt_call_is_open(const struct gt_thread *thread, uintptr_t frame);

/* State of a thread for the sampler. */
struct gt_call_view {
	uint32_t depth; /* recorded calls entered and not left */
	uint64_t frame; /* stack position of the outermost call, or of the last one */
	uint64_t stack_low, stack_high; /* 0, 0: not known */
	const struct gt_python_thread *python;
};

/* Any thread: of another, running thread it is already out of date. Async-signal-safe. False:
 * @thread has made no call. */
bool gt_call_view(const struct gt_thread *thread, struct gt_call_view *ret_view);

/* The call that a thread is inside of. */
struct gt_call_under_way {
	enum gt_api_domain domain;
	uint32_t cbid;  /* 0: not known, the ring was full */
	uint64_t start; /* CLOCK_MONOTONIC ns; 0: not known, as of a call outside the window */
	bool aimed;     /* stream is set */
	uint64_t stream;
	const struct gt_call_record *record; /* its slot, for the stack; NULL: there is none */
	uint16_t frame_count, python_count;  /* that it will have */
};

/* The call that @thread is inside of now; a thread of the tracer asks. False: none, or it came or
 * went meanwhile. What is long under way is read as it is. */
bool gt_call_find_under_way(const struct gt_thread *thread, struct gt_call_under_way *ret_call);

/* Whether a thread whose stack pointer is @sp is inside a recorded call. */
static inline bool gt_call_view_is_inside(const struct gt_call_view *view, uint64_t sp)
{
	return view->depth > 0 && sp < view->frame;
}

#endif
