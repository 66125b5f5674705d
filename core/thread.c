/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry of application threads, see the header. First sight runs on the application's thread
 * and costs an mmap, a gettid and a pthread_setspecific; it takes no lock (the list only grows, by
 * compare-and-swap).
 */
#include "core/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guest/forkguard.h"
#include "core/guest/memory.h"
#include "core/guest/seccomp.h"
#include "core/guest/signal_stack.h"
#include "core/spool_view.h"

__thread struct gt_thread *gt_thread_self;
_Atomic uint32_t gt_thread_epoch;

/* Sizes of rings: full size in the first half of the memory (the very first ring: in three
 * quarters). After that at most 1/RING_SHARE of the rest, and at least RING_LEAST bytes. */
#define RING_WHOLE  2
#define RING_SHARE  64
#define RING_LEAST  (16u << 10)

/* A ring that fills up grows to this many times its usual size, once; it gets at most this part of
 * what is left in the spool. */
#define RING_GROWTH 16u
#define SPOOL_SHARE 4u

/* The blocks in the spool, for recovery. */
#define SPOOLED_MAX 1024u
struct spooled {
	struct gt_thread_refused refused;
	_Atomic uint32_t count;
	uint64_t blocks[SPOOLED_MAX];
};

static struct {
	struct gt_thread_limits limits;
	struct spooled *spooled; /* NULL: there is no spool */
	struct gt_thread *_Atomic first;
	_Atomic size_t bytes;
	struct gt_thread_refused refused; /* if there is no spool */
	_Atomic uint64_t degraded;
	_Atomic bool stopped;
	bool cannot_grow; /* there was no memory; the drain thread's */
	uint32_t last_epoch;
	pthread_key_t key; /* its destructor runs when a thread ends */
	bool has_key;
} registry;

/* Runs when a thread ends. Destructors that run later may still call CUDA: then the thread is seen
 * for the first time again, and this runs once more. */
static void thread_ended(void *block)
{
	struct gt_thread *thread = block;

	if (gt_forkguard_is_child()) /* the block is the parent's */
		return;
	if (gt_thread_self == thread) /* before another thread reuses the block */
		gt_thread_self = NULL;
	if (thread->epoch == atomic_load(&gt_thread_epoch)) {
		gt_signal_stack_reclaim(&thread->signal_stack);
		atomic_store_explicit(&thread->life, GT_THREAD_ENDED, memory_order_release);
	}
}

int gt_threads_start(const struct gt_thread_limits *limits)
{
	if (!registry.has_key && pthread_key_create(&registry.key, thread_ended) == 0)
		registry.has_key = true;
	registry.limits = *limits;
	atomic_store(&registry.first, NULL);
	atomic_store(&registry.bytes, 0);
	registry.refused = (struct gt_thread_refused){0};
	atomic_store(&registry.degraded, 0);
	atomic_store(&registry.stopped, false);
	registry.cannot_grow = !limits->grow;
	registry.spooled = gt_spool_is_open() ? gt_spool_map(sizeof(*registry.spooled)) : NULL;
	gt_spool_set_root(GT_SPOOL_THREADS, registry.spooled);
	atomic_store(&gt_thread_epoch, ++registry.last_epoch);
	return 0;
}

void gt_threads_stop(void)
{
	atomic_store(&registry.stopped, true);
}

static size_t block_bytes(void)
{
	return sizeof(struct gt_thread) + registry.limits.extra_bytes;
}

/* Reuses a drained block of an ended thread, claimed by compare-and-swap. Its counters continue. */
static struct gt_thread *reuse_block(void)
{
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next) {
		int expected = GT_THREAD_FREE;

		if (atomic_load_explicit(&t->life, memory_order_relaxed) == GT_THREAD_FREE &&
		    atomic_compare_exchange_strong(&t->life, &expected, GT_THREAD_TAKEN)) {
			memset(t->extra, 0, registry.limits.extra_bytes);
			return t;
		}
	}
	return NULL;
}

static void push_block(struct gt_thread *thread)
{
	struct gt_thread *first = atomic_load(&registry.first);

	do
		thread->next = first;
	while (!atomic_compare_exchange_weak(&registry.first, &first, thread));
}

static void note_spooled(const struct gt_thread *thread)
{
	struct spooled *spooled = registry.spooled;
	uint32_t i = SPOOLED_MAX;

	if (!spooled)
		return;
	if (gt_spool_holds(thread))
		i = atomic_fetch_add(&spooled->count, 1);
	if (i < SPOOLED_MAX)
		spooled->blocks[i] = gt_spool_address(thread);
	if (i >= SPOOLED_MAX || !gt_spool_holds(thread->ring.data))
		gt_spool_refuse_thread();
}

/* Rings shrink as memory gets short, so that later threads get a small one instead of none. */
static size_t affordable_ring(size_t used, size_t max)
{
	size_t bytes = registry.limits.ring_bytes, left = used < max ? max - used : 0;

	if (used + bytes <= max / RING_WHOLE || (!used && bytes <= max / 4 * 3))
		return bytes;
	while (bytes / 2 >= RING_LEAST && bytes > left / RING_SHARE)
		bytes /= 2;
	return bytes;
}

static struct gt_thread *map_block(uint32_t percent)
{
	size_t max = registry.limits.max_bytes / 100 * percent;
	size_t ring = affordable_ring(atomic_load(&registry.bytes), max);
	size_t size = block_bytes() + ring;
	struct gt_thread *thread;

	if (atomic_fetch_add(&registry.bytes, size) + size > max)
		goto refused;
	thread = gt_spool_map(block_bytes());
	if (!thread)
		goto refused;
	if (gt_ring_init(&thread->ring, ring)) {
		gt_memory_unmap(thread, block_bytes());
		goto refused;
	}
	if (registry.limits.keep_room)
		gt_ring_keep_room(&thread->ring);
	if (ring < registry.limits.ring_bytes)
		atomic_fetch_add_explicit(&registry.degraded, 1, memory_order_relaxed);
	return thread;
refused:
	atomic_fetch_sub(&registry.bytes, size);
	return NULL;
}

static bool is_affordable(const struct gt_ring *ring, size_t bytes)
{
	size_t used = atomic_load(&registry.bytes);

	return used + bytes <= registry.limits.max_bytes / RING_WHOLE &&
	       gt_memory_is_ample(bytes) &&
	       (!gt_spool_holds(ring->from.data) || bytes <= gt_spool_room() / SPOOL_SHARE);
}

void gt_thread_grow(struct gt_thread *thread)
{
	struct gt_ring *ring = &thread->ring;
	size_t bytes = registry.limits.ring_bytes * RING_GROWTH;
	int error;

	if (registry.cannot_grow || gt_ring_reach(ring) > registry.limits.ring_bytes)
		return;
	while (bytes > registry.limits.ring_bytes && !is_affordable(ring, bytes))
		bytes /= 2;
	if (bytes <= registry.limits.ring_bytes)
		return;
	error = gt_ring_offer(ring, bytes);
	if (!error)
		atomic_fetch_add(&registry.bytes, bytes);
	registry.cannot_grow = error == -ENOMEM;
}

struct gt_thread *gt_thread_first_sight(uint32_t percent)
{
	uint32_t epoch = atomic_load(&gt_thread_epoch);
	struct gt_thread *thread = NULL;
	int saved = errno;
	bool fresh = false;

	if (epoch && !atomic_load(&registry.stopped)) {
		thread = reuse_block();
		if (!thread) {
			thread = map_block(percent);
			fresh = thread != NULL;
		}
	}
	if (thread) {
		/* the sampler may be reading it */
		__atomic_store_n(&thread->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
		thread->epoch = epoch;
		/* pairs with the sampler's acquire: the block is this thread's now */
		atomic_store_explicit(&thread->life, GT_THREAD_LIVE, memory_order_release);
		if (fresh) {
			note_spooled(thread);
			push_block(thread);
		}
		if (registry.has_key)
			pthread_setspecific(registry.key, thread);
		if (registry.limits.signal_stacks && gt_seccomp_permits_now(GT_SYS_sigaltstack))
			gt_signal_stack_lend(&thread->signal_stack);
		gt_thread_self = thread;
	}
	errno = saved;
	return thread;
}

struct gt_thread_refused *gt_threads_refused(void)
{
	return registry.spooled ? &registry.spooled->refused : &registry.refused;
}

void gt_threads_count_refused(enum gt_thread_counter which)
{
	atomic_fetch_add(&gt_threads_refused()->counters[which], 1);
}

struct gt_thread *gt_threads_first(void)
{
	return atomic_load_explicit(&registry.first, memory_order_acquire);
}

uint64_t gt_threads_sum(enum gt_thread_counter which)
{
	uint64_t sum = atomic_load(&gt_threads_refused()->counters[which]);

	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		sum += atomic_load_explicit(&t->counters[which], memory_order_acquire);
	return sum;
}

uint64_t gt_threads_lost_launches(void)
{
	return gt_threads_sum(GT_THREAD_LAUNCHES_LOST);
}

uint64_t gt_threads_degraded(void)
{
	return atomic_load_explicit(&registry.degraded, memory_order_relaxed);
}

const struct gt_thread_refused *gt_threads_refused_in(const struct gt_spool_view *view)
{
	static const struct gt_thread_refused none;
	const struct spooled *spooled =
		gt_spool_view_root(view, GT_SPOOL_THREADS, sizeof(*spooled));

	return spooled ? &spooled->refused : &none;
}

void gt_threads_each(const struct gt_spool_view *view,
		     void (*found)(void *context, const struct gt_thread *thread), void *context)
{
	const struct spooled *spooled =
		gt_spool_view_root(view, GT_SPOOL_THREADS, sizeof(*spooled));
	uint32_t count = spooled ? atomic_load(&spooled->count) : 0;

	for (uint32_t i = 0; i < count && i < SPOOLED_MAX; i++) {
		const struct gt_thread *thread =
			gt_spool_view_at(view, spooled->blocks[i], sizeof(*thread));

		if (thread && (uintptr_t)thread % _Alignof(struct gt_thread) == 0)
			found(context, thread);
	}
}
