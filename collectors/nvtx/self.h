/* SPDX-License-Identifier: Apache-2.0
 *
 * What each annotating thread keeps for itself: how deep it is in each domain. In a block of our
 * own, because static thread-local memory is scarce in a library that may come by dlopen, and
 * because annotations begin before there is a session (core/thread.h).
 *
 * Application threads. First sight costs a look through the blocks and a pthread_setspecific; then
 * one load. A block serves another thread after its owner's end.
 */
#ifndef GT_COLLECTORS_NVTX_SELF_H
#define GT_COLLECTORS_NVTX_SELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Domains in which one thread can have ranges open at the same time. */
#define GT_NVTX_STACKS  16u

/* Levels of one thread and domain that are recorded. Deeper ranges are lost, and counted: a program
 * that never pops does not fill the memory. */
#define GT_NVTX_LEVELS  60000u

/* Threads that annotate at the same time. */
#define GT_NVTX_THREADS 4096u

/* The open push/pop ranges of one domain. */
struct gt_nvtx_stack {
	uint32_t domain;
	uint32_t depth; /* 0: this place may serve another domain */
};

/* What NVTX keeps of one thread. Only the thread itself writes it. */
struct gt_nvtx_self {
	_Alignas(64) _Atomic bool taken;
	bool busy;    /* in a handler; a signal handler that annotates itself finds it so */
	uint32_t tid; /* as of the generation (early.h) */
	uint32_t generation;
	struct gt_nvtx_stack stacks[GT_NVTX_STACKS];
};

/* Maps the blocks. May be called again, by several threads at once. -ENOMEM. */
int gt_nvtx_self_start(void);

/* The calling thread's state, NULL at its first range. */
extern __thread struct gt_nvtx_self *gt_nvtx_self_known;

/* Makes that state. NULL: no memory. */
struct gt_nvtx_self *gt_nvtx_self_first_sight(void);

/* The calling thread's block. NULL: all are taken. */
static inline struct gt_nvtx_self *gt_nvtx_self(void)
{
	struct gt_nvtx_self *self = gt_nvtx_self_known;

	return __builtin_expect(self != NULL, 1) ? self : gt_nvtx_self_first_sight();
}

/* The stack of a domain, or one that is not used. NULL: too many domains at once. */
struct gt_nvtx_stack *gt_nvtx_self_stack(struct gt_nvtx_self *self, uint32_t domain);

#endif
