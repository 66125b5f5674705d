/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/first_call.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guest/clock.h"
#include "core/guest/futex.h"

/* cuInit takes seconds on a machine with many GPUs; without us the thread would wait inside it. */
#define WAIT_MAX_NS 5000000000ull

static struct {
	_Atomic uint32_t first;    /* thread of the call that is left to the driver; 0: none yet */
	_Atomic uint32_t starter;  /* thread that starts the session; 0: none yet */
	_Atomic uint32_t returned; /* the first call has */
	_Atomic uint32_t started;  /* or it cannot be */
	_Atomic uint32_t steps;    /* futex: one more with each of the two */
} state;

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void report(_Atomic uint32_t *what)
{
	atomic_store(what, 1);
	atomic_fetch_add(&state.steps, 1);
	gt_futex_wake(&state.steps);
}

/* What is under way on a thread other than @tid, which may be inside it itself. */
static bool must_wait(uint32_t tid)
{
	uint32_t first = atomic_load(&state.first), starter = atomic_load(&state.starter);

	if (atomic_load(&state.started))
		return false;
	if (starter)
		return starter != tid;
	return first && first != tid && !atomic_load(&state.returned);
}

bool gt_first_call_may_start(bool driver_injects)
{
	uint32_t tid = own_tid(), none = 0, seen;
	uint64_t now, until;

	if (driver_injects && atomic_compare_exchange_strong(&state.first, &none, tid))
		return false;
	until = gt_clock_now() + WAIT_MAX_NS;
	for (;;) {
		seen = atomic_load(&state.steps);
		now = gt_clock_now();
		if (!must_wait(tid) || now >= until)
			return true;
		gt_futex_wait(&state.steps, seen, until - now);
	}
}

void gt_first_call_returned(void)
{
	if (!atomic_load(&state.returned) && atomic_load(&state.first) == own_tid())
		report(&state.returned);
}

bool gt_first_call_claim(void)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong(&state.starter, &none, own_tid());
}

void gt_first_call_started(void)
{
	report(&state.started);
}

void gt_first_call_forget(void)
{
	atomic_store(&state.returned, 1);
	atomic_store(&state.started, 0);
	atomic_store(&state.starter, 0);
}
