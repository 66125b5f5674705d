/* SPDX-License-Identifier: Apache-2.0
 *
 * State of each application thread that the tracer has seen: a ring, counters, and room for the
 * collectors. Reached through one initial-exec __thread pointer, so the hot path costs one load;
 * the block is mapped once, at first sight.
 *
 * Blocks of ended threads are drained, then reused. They stay mapped while the session runs,
 * because the drain thread walks their list without a lock.
 */
#ifndef GT_CORE_THREAD_H
#define GT_CORE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ring.h"

/* Counters of an application thread; only it writes, the drain thread reads. */
enum gt_thread_counter {
	GT_THREAD_CALLS_SEEN,
	GT_THREAD_CALLS_NESTED,
	GT_THREAD_CALLS_LOST,     /* ring full */
	GT_THREAD_CALLS_LATE,     /* after the end of the process had begun */
	GT_THREAD_CALLS_PASSED,   /* before the recording began */
	GT_THREAD_RANGES_LOST,    /* ring full */
	GT_THREAD_CALLS_FILTERED, /* --calls, --min-duration */
	/* --max-overhead: */
	GT_THREAD_CALLS_GOVERNED,  /* calls that start no GPU work */
	GT_THREAD_STACKS_GOVERNED, /* calls without a stack */
	GT_THREAD_PYTHON_GOVERNED, /* calls without Python frames */
	GT_THREAD_TENSORS_LOST,    /* blocks of PyTorch: ring full */
	GT_THREAD_COST_NS,         /* not a count: what tracing has cost the thread */
	GT_THREAD_LAUNCHES_PASSED, /* of the calls that passed those that start GPU work */
	GT_THREAD_CALLS_THINNED,   /* --thin: calls that start no GPU work */
	GT_THREAD_RANGES_THINNED,  /* --thin */
	GT_THREAD_LAUNCHES_LOST,   /* of the calls that are lost those that started GPU work */
	GT_THREAD_COUNTERS_
};

/* The state of a thread block. */
enum gt_thread_life {
	GT_THREAD_LIVE,
	GT_THREAD_ENDED, /* its thread is gone, its ring may hold records */
	GT_THREAD_FREE,  /* drained, may serve another thread */
	GT_THREAD_TAKEN, /* claimed by a thread that is not ready yet */
};

/* A thread of the program and its ring. */
struct gt_thread {
	struct gt_ring ring;
	uint32_t tid;
	uint32_t epoch;   /* of its registry: in a forked child the blocks are stale */
	_Atomic int life; /* enum gt_thread_life */
	_Atomic uint64_t counters[GT_THREAD_COUNTERS_];
	uint64_t until;         /* the drain thread's: where it reads its ring to in this round */
	struct gt_thread *next; /* in the registry, set once */
	void *_Atomic mailbox;  /* owned and cleared by the sampler: outlives the thread */
	void *signal_stack;     /* lent to the thread (core/guest/signal_stack.h), or NULL */
	_Alignas(64) unsigned char extra[]; /* collectors' state, zeroed for each new thread */
};

/* Sizes of each new block (ring, collectors' state) and the cap on all blocks together. */
struct gt_thread_limits {
	size_t ring_bytes;
	size_t extra_bytes;
	size_t max_bytes;
	bool signal_stacks; /* threads without a signal stack get one */
	bool keep_room;     /* in each ring for what matters most */
	bool grow;          /* rings that fill up, while there is memory */
};

/* Starts (or, in a forked child, restarts) the registry. Not while threads are in gt_thread_get. */
int gt_threads_start(const struct gt_thread_limits *limits);

/* From now on gt_thread_get returns NULL for new threads. */
void gt_threads_stop(void);

/* The calling thread's block; NULL before its first call. */
extern __thread struct gt_thread *gt_thread_self;
extern _Atomic uint32_t gt_thread_epoch; /* 0: no registry */

/* Makes the block of the calling thread, unless all blocks together would use more than @percent of
 * the memory. A few system calls, no malloc. NULL: refused. */
struct gt_thread *gt_thread_first_sight(uint32_t percent);

/* Of the threads that have no block: calls that are lost, and all else as a block counts it. */
struct gt_thread_refused {
	_Atomic uint64_t calls;
	_Atomic uint64_t counters[GT_THREAD_COUNTERS_];
};

/* To be counted by whoever found none. Any thread. */
struct gt_thread_refused *gt_threads_refused(void);
void gt_threads_count_refused(enum gt_thread_counter which);

/* Whether @self, which may be NULL, is a block of the current registry. Hot. */
static inline bool gt_thread_is_known(const struct gt_thread *self)
{
	return __builtin_expect(
		self && self->epoch == atomic_load_explicit(&gt_thread_epoch, memory_order_relaxed),
		1);
}

/* The calling thread's block, for a CUDA call. NULL: refused; the caller counts it. Hot: two loads
 * and a compare. */
static inline struct gt_thread *gt_thread_get(void)
{
	struct gt_thread *self = gt_thread_self;

	return gt_thread_is_known(self) ? self : gt_thread_first_sight(100);
}

/* The same for anything but a CUDA call: a new thread is refused when less than a quarter of the
 * memory is left, which is kept for threads that call CUDA. The caller counts its losses. */
static inline struct gt_thread *gt_thread_find(void)
{
	struct gt_thread *self = gt_thread_self;

	return gt_thread_is_known(self) ? self : gt_thread_first_sight(75);
}

/* A single-writer counter: no locked instruction. */
static inline void gt_thread_count(struct gt_thread *thread, enum gt_thread_counter which)
{
	uint64_t n = atomic_load_explicit(&thread->counters[which], memory_order_relaxed);

	/* pairs with the acquire in gt_threads_sum: a call counted as nested is counted as seen */
	atomic_store_explicit(&thread->counters[which], n + 1, memory_order_release);
}

/* The same, by more than one. */
static inline void gt_thread_add(struct gt_thread *thread, enum gt_thread_counter which, uint64_t n)
{
	uint64_t sum = atomic_load_explicit(&thread->counters[which], memory_order_relaxed);

	atomic_store_explicit(&thread->counters[which], sum + n, memory_order_release);
}

/* Head of the list of all blocks, newest first; follow ->next. Drain thread. */
struct gt_thread *gt_threads_first(void);

/* Sum of a counter over all threads, those that have ended and those without a block included. Any
 * thread. */
uint64_t gt_threads_sum(enum gt_thread_counter which);

/* For recovery: the blocks of a spool. */
struct gt_spool_view;
void gt_threads_each(const struct gt_spool_view *view,
		     void (*found)(void *context, const struct gt_thread *thread), void *context);

/* The same in a spool. */
const struct gt_thread_refused *gt_threads_refused_in(const struct gt_spool_view *view);

/* Drain thread: the ring is filling up, and may be larger from now on: at most 16 times as large as
 * it usually is, in the first half of the memory. A few system calls, once or twice in its life. */
void gt_thread_grow(struct gt_thread *thread);

/* Launches whose call was lost, of all threads. Any thread. */
uint64_t gt_threads_lost_launches(void);

/* Blocks whose ring is smaller than --ring-size, because memory is short. */
uint64_t gt_threads_degraded(void);

#endif
