/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX state of each annotating thread: its depth in each domain. In a block of our own, because
 * static thread-local memory is scarce in a library that may be loaded by dlopen, and because
 * annotations begin before the session (core/thread.h).
 *
 * Application threads. First sight costs a search through the blocks and a pthread_setspecific;
 * later one load. A block is reused after its thread's end.
 */
#ifndef GT_COLLECTORS_NVTX_SELF_H
#define GT_COLLECTORS_NVTX_SELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/call/stamp.h"

/* Domains in which one thread can have ranges open at the same time. */
#define GT_NVTX_STACKS  16u

/* Recorded levels of one thread and domain. Deeper ranges are lost and counted, so a program that
 * never pops does not fill the memory. */
#define GT_NVTX_LEVELS  60000u

/* Levels of ranges that --thin may leave out; those from GT_NVTX_PACED - 1 on have one pace. */
#define GT_NVTX_THINNED 32u
#define GT_NVTX_PACED   8u

/* Levels of which it is known whether their open range is in the trace. */
#define GT_NVTX_KNOWN   64u

/* Threads that annotate at the same time. */
#define GT_NVTX_THREADS 4096u

/* The open push/pop ranges of one domain. */
struct gt_nvtx_stack {
	uint32_t domain;
	uint32_t depth;   /* 0: may be reused for another domain */
	uint32_t asked;   /* its outermost range of --capture-range: level + 1; 0: none is open */
	uint32_t unknown; /* from this level + 1 on, deeper than GT_NVTX_KNOWN, some open ranges are
			   * not in the trace; 0: all are */
	uint32_t missing; /* how many */
	uint64_t left_out; /* open ranges that are not in the trace, a bit for each level */
};

/* State of one thread. Only the thread itself writes it. */
struct gt_nvtx_self {
	_Alignas(64) _Atomic bool in_use;
	bool busy;    /* in a handler, which a signal handler may interrupt */
	uint32_t tid; /* as of the generation (early.h) */
	uint32_t generation;
	struct gt_stamp stamp;
	uint32_t last;                 /* the stack that was used last */
	uint64_t begun[GT_NVTX_PACED]; /* while --thin leaves out: when a range began, by level */
	struct gt_nvtx_stack stacks[GT_NVTX_STACKS];
};

/* Maps the blocks. May be called again, even by several threads at once. -ENOMEM. */
int gt_nvtx_self_start(void);

/* The calling thread's state, NULL before its first range. */
extern __thread struct gt_nvtx_self *gt_nvtx_self_known;

/* Makes that state. NULL: no block is free. */
struct gt_nvtx_self *gt_nvtx_self_first_sight(void);

/* The calling thread's block. NULL: no block is free. */
static inline struct gt_nvtx_self *gt_nvtx_self(void)
{
	struct gt_nvtx_self *self = gt_nvtx_self_known;

	return __builtin_expect(self != NULL, 1) ? self : gt_nvtx_self_first_sight();
}

/* Searches them all. */
struct gt_nvtx_stack *gt_nvtx_self_search(struct gt_nvtx_self *self, uint32_t domain);

/* The stack of a domain, or an unused one. NULL: too many domains at once. That of the last time is
 * open or the only one of its domain: no other was taken since. */
static inline struct gt_nvtx_stack *gt_nvtx_self_stack(struct gt_nvtx_self *self, uint32_t domain)
{
	struct gt_nvtx_stack *last = &self->stacks[self->last];

	if (__builtin_expect(last->domain == domain, 1))
		return last;
	return gt_nvtx_self_search(self, domain);
}

#endif
