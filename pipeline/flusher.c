/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Flushes for the drain thread, one at a time: it sets `state` from IDLE to ASKED,
 * the flusher's thread to OVER, the drain thread takes it back to IDLE. Fetches for the program's
 * threads: each takes a ticket, and those that come during a fetch share the next one.
 */
#include "pipeline/flusher.h"

#include <stdatomic.h>
#include <string.h>

#include "core/guest/background.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/seccomp.h"
#include "pipeline/sources/collector.h"

#define STACK_BYTES (256u * 1024u) /* CUPTI's, and our callback's */
#define SLEEP_NS    (3600ull * 1000000000ull)
#define FETCH_NS    1000000000ull /* so long a call of the program waits at most */
#define IN_VAIN_NS  100000000ull  /* when the last one has waited in vain */

enum flusher_state {
	FLUSHER_IDLE,
	FLUSHER_ASKED,
	FLUSHER_OVER, /* not yet taken */
	FLUSHER_STOPPED,
};

static struct {
	struct gt_collectors *_Atomic collectors; /* NULL: not started */
	void (*finished)(void);
	_Atomic uint32_t wake;  /* futex: changed to wake the thread */
	_Atomic uint32_t state; /* futex: enum flusher_state */
	uint64_t began;
	bool by_force; /* the one that is asked for */
	_Atomic bool has_thread;
	_Atomic uint32_t asked;   /* tickets given out */
	_Atomic uint32_t fetched; /* futex: the last one served */
	_Atomic uint32_t overdue; /* the last one that was not awaited to its end */
	_Atomic bool forced;      /* by one of those not served yet */
	_Atomic bool in_vain;     /* the last wait was too short */
} flusher;

static void wake(void)
{
	atomic_fetch_add(&flusher.wake, 1);
	gt_futex_wake(&flusher.wake);
}

static bool fetch(void)
{
	uint32_t asked = atomic_load(&flusher.asked);

	if (asked == atomic_load(&flusher.fetched))
		return false;
	gt_collectors_fetch(flusher.collectors, atomic_exchange(&flusher.forced, false));
	atomic_store(&flusher.fetched, asked);
	gt_futex_wake(&flusher.fetched);
	return true;
}

static bool flush(void)
{
	uint32_t asked = FLUSHER_ASKED;

	if (atomic_load(&flusher.state) != FLUSHER_ASKED)
		return false;
	gt_collectors_flush(flusher.collectors, flusher.by_force);
	/* unless it is STOPPED by now */
	atomic_compare_exchange_strong(&flusher.state, &asked, FLUSHER_OVER);
	gt_futex_wake(&flusher.state);
	return true;
}

static void *run(void *argument)
{
	uint32_t seen;

	(void)argument;
	gt_background_enter("gputrace-f");
	gt_seccomp_unwatch();
	do {
		seen = atomic_load(&flusher.wake);
		if (fetch() || flush())
			flusher.finished();
		else if (atomic_load(&flusher.state) != FLUSHER_STOPPED)
			gt_futex_wait(&flusher.wake, seen, SLEEP_NS);
	} while (atomic_load(&flusher.state) != FLUSHER_STOPPED);
	gt_background_leave();
	return NULL;
}

int gt_flusher_start(struct gt_collectors *collectors, void (*finished)(void))
{
	int error;

	memset(&flusher, 0, sizeof(flusher));
	flusher.finished = finished;
	atomic_store(&flusher.collectors, collectors);
	error = gt_background_start(run, NULL, STACK_BYTES);
	atomic_store(&flusher.has_thread, error == 0);
	return error;
}

void gt_flusher_ask(bool forced)
{
	if (atomic_load(&flusher.state) != FLUSHER_IDLE)
		return;
	flusher.began = gt_clock_now();
	flusher.by_force = forced;
	if (!atomic_load(&flusher.has_thread)) {
		gt_collectors_flush(flusher.collectors, forced);
		atomic_store(&flusher.state, FLUSHER_OVER);
		return;
	}
	atomic_store(&flusher.state, FLUSHER_ASKED);
	wake();
}

bool gt_flusher_is_busy(void)
{
	return atomic_load(&flusher.state) == FLUSHER_ASKED;
}

uint64_t gt_flusher_busy_ns(uint64_t now)
{
	return gt_flusher_is_busy() && now > flusher.began ? now - flusher.began : 0;
}

bool gt_flusher_take(uint64_t *ret_began)
{
	if (atomic_load(&flusher.state) != FLUSHER_OVER)
		return false;
	*ret_began = flusher.began;
	atomic_store(&flusher.state, FLUSHER_IDLE);
	return true;
}

void gt_flusher_await(void)
{
	while (gt_flusher_is_busy())
		gt_futex_wait(&flusher.state, FLUSHER_ASKED, SLEEP_NS);
}

static bool is_served(uint32_t ticket)
{
	return (int32_t)(atomic_load(&flusher.fetched) - ticket) >= 0;
}

static bool await(uint32_t ticket)
{
	uint64_t patience = atomic_load(&flusher.in_vain) ? IN_VAIN_NS : FETCH_NS;
	uint64_t until = gt_clock_now() + patience, now;
	uint32_t seen;

	while (seen = atomic_load(&flusher.fetched), !is_served(ticket)) {
		now = gt_clock_now();
		if (now >= until)
			return false;
		gt_futex_wait(&flusher.fetched, seen, until - now);
	}
	return true;
}

bool gt_flusher_fetch(bool forced)
{
	uint32_t ticket;

	if (!gt_forkguard_holds() || !atomic_load(&flusher.collectors))
		return true;
	if (!atomic_load(&flusher.has_thread)) {
		gt_collectors_fetch(flusher.collectors, forced);
		return true;
	}
	if (forced)
		atomic_store(&flusher.forced, true);
	ticket = atomic_fetch_add(&flusher.asked, 1) + 1;
	wake();
	/* what has kept one waiting in vain is not awaited by others */
	if (is_served(atomic_load(&flusher.overdue)) && await(ticket)) {
		atomic_store(&flusher.in_vain, false);
		return true;
	}
	atomic_store(&flusher.in_vain, true);
	atomic_store(&flusher.overdue, ticket);
	return false;
}

void gt_flusher_stop(void)
{
	atomic_store(&flusher.state, FLUSHER_STOPPED);
	gt_futex_wake(&flusher.state);
	wake();
	atomic_store(&flusher.has_thread, false);
}

uint32_t gt_flusher_threads(void)
{
	return atomic_load(&flusher.has_thread);
}
