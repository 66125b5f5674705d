/* SPDX-License-Identifier: Apache-2.0
 *
 * Two counters, each raised before the other is read: a fork waits for threads in the loader, a
 * thread that finds a fork running turns back. The handlers run on the application's threads, at
 * fork only; every wait is bounded.
 */
#include "core/guest/forkgate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/guest/clock.h"
#include "core/guest/futex.h"
#include "core/guest/uncancelled.h"

#define WAIT_MAX_NS 200000000u
#define WAIT_NS     50000u

__thread uint32_t gt_own_works;

static _Atomic uint32_t forks;     /* running now */
static _Atomic uint32_t in_loader; /* threads in the loader */

/* Sleeps in short steps until @counter is 0 or the time is up. */
static void wait_for_zero(_Atomic uint32_t *counter)
{
	uint64_t until = gt_clock_now() + WAIT_MAX_NS;
	uint32_t seen;

	while ((seen = atomic_load(counter)) != 0 && gt_clock_now() < until)
		gt_futex_wait(counter, seen, WAIT_NS);
}

static void before_fork(void)
{
	atomic_fetch_add(&forks, 1);
	wait_for_zero(&in_loader);
}

static void after_fork(void)
{
	atomic_fetch_sub(&forks, 1);
}

/* The parent's other threads do not exist here: nothing to wait for, and nobody steers the clock.
 */
static void after_fork_in_child(void)
{
	gt_fast_clock_forget(&gt_fast_clock);
	atomic_store(&forks, 0);
	atomic_store(&in_loader, 0);
}

static void register_handlers(void)
{
	static _Atomic bool registered;

	if (!atomic_load_explicit(&registered, memory_order_relaxed) &&
	    !atomic_exchange(&registered, true))
		pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

bool gt_forkgate_trylock(void)
{
	register_handlers();
	atomic_fetch_add(&in_loader, 1);
	gt_own_works++;
	if (atomic_load(&forks) == 0)
		return true;
	gt_own_works--;
	atomic_fetch_sub(&in_loader, 1);
	return false;
}

bool gt_forkgate_timedlock(void)
{
	if (gt_forkgate_trylock())
		return true;
	wait_for_zero(&forks);
	return gt_forkgate_trylock();
}

void gt_forkgate_lock(void)
{
	if (gt_forkgate_trylock())
		return;
	wait_for_zero(&forks);
	atomic_fetch_add(&in_loader, 1);
	gt_own_works++;
}

void gt_forkgate_unlock(void)
{
	uint32_t seen = atomic_load(&in_loader);

	gt_own_works--;
	/* 0: this is the child of a fork that gave up waiting */
	while (seen && !atomic_compare_exchange_weak(&in_loader, &seen, seen - 1))
		continue;
}

bool gt_forkgate_is_closed(void)
{
	return atomic_load(&forks) != 0;
}
