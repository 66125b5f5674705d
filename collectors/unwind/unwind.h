/* SPDX-License-Identifier: Apache-2.0
 *
 * The native call stack of the calling thread, captured in the middle of a CUDA call. A walk
 * applies one rule per frame from a table shared by all threads; a new address gets its rule from
 * its module's call frame information (collectors/unwind/learn.h). The words read by a thread's
 * last walk are kept: where the stack still holds them, its frames are reused.
 *
 * Application threads. With known addresses: no lock, no allocation, no system call, no dl* call,
 * no descriptor. Never in a signal handler that interrupted a capture.
 */
#ifndef GT_COLLECTORS_UNWIND_UNWIND_H
#define GT_COLLECTORS_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/unwind/arch.h"

/* Frames per walk and per capture, at most. */
#define GT_UNWIND_DEPTH     256

/* Delivered stacks that a thread remembers, a power of two. */
#define GT_UNWIND_DELIVERED 1024

/* One frame of a captured stack. */
struct gt_unwind_frame {
	struct gt_unwind_regs regs; /* on entering the frame */
	uint32_t outer_loads;       /* words read from here to the end of the stack */
};

/* One walk: frames innermost first, and the words of the stack that it read. The arrays are filled
 * towards their end, so that the outer frames stay in place while the inner ones are replaced. */
struct gt_unwind_trail {
	uint32_t frames, loads;
	uint64_t low; /* no word lies below this address; 0: not known */
	struct gt_unwind_frame frame[GT_UNWIND_DEPTH];
	uint64_t rule[GT_UNWIND_DEPTH]; /* of the frames' addresses */
	struct gt_unwind_load load[GT_UNWIND_DEPTH * GT_UNWIND_LOADS_PER_FRAME];
};

/* State of a thread. Zeroed memory, then gt_unwind_thread_init. About 54 KiB, touched only as far
 * as stacks are deep. */
struct gt_unwind_thread {
	uint64_t stack_low, stack_high; /* the thread's own stack; 0, 0: not known */
	uint32_t generation;            /* of the rules that made the trail */
	bool complete;                  /* the trail reaches the end of the stack */
	uint32_t key_count;             /* addresses that key was made of, 0: none */
	uint64_t key;
	struct gt_unwind_trail trail;
	struct gt_unwind_trail scratch;
	uint64_t pcs[GT_UNWIND_DEPTH]; /* of the trail, filled towards the end */
	uint64_t delivered[GT_UNWIND_DELIVERED];
};

/* Counts of all threads. */
struct gt_unwind_counts {
	uint64_t rules;   /* addresses learned */
	uint64_t guessed; /* of these: no rule found, frame pointer assumed */
	uint64_t jit;     /* of these: in no module */
	uint64_t refused; /* of these: not code, the walk ends there */
	uint64_t broken;  /* walks that ended before the end of the stack */
	uint64_t probed;  /* captures on a stack other than the thread's own: a system call each */
};

/* First sight of the calling thread: finds the bounds of its stack. A few system calls, and what
 * pthread_getattr_np allocates temporarily. */
void gt_unwind_thread_init(struct gt_unwind_thread *thread);

/*
 * Captures the stack of the calling thread, whose state is @thread. *ret_pcs are at most @max
 * return addresses, innermost first, the first one in the calling function; valid until the
 * thread's next capture. (An address where a signal interrupted the code is increased by one, so
 * that pc - 1 is in the instruction for every frame.) *ret_key is a hash of them, never 0. Returns
 * their number; 0, with nothing set, when the stack is unknown. errno is kept.
 */
uint32_t gt_unwind_capture(struct gt_unwind_thread *thread, uint32_t max, const uint64_t **ret_pcs,
			   uint64_t *ret_key);

/* True when the thread has delivered the addresses of @key (gt_unwind_set_delivered) and may send
 * the key alone. False negatives are allowed: then they are sent again. */
static inline bool gt_unwind_is_delivered(const struct gt_unwind_thread *thread, uint64_t key)
{
	return thread->delivered[key & (GT_UNWIND_DELIVERED - 1)] == key;
}

/* To be called after the record with the addresses was committed. */
static inline void gt_unwind_set_delivered(struct gt_unwind_thread *thread, uint64_t key)
{
	thread->delivered[key & (GT_UNWIND_DELIVERED - 1)] = key;
}

/* The module in [@start, @end) was unloaded: forgets its rules, and which stacks were delivered.
 * Drain thread. */
void gt_unwind_forget(uint64_t start, uint64_t end);

/* Any thread. */
struct gt_unwind_counts gt_unwind_get_counts(void);

#endif
