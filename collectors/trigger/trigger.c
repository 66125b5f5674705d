/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. One word is the state; only enter, leave, begun and disarm change it.
 */
#include "collectors/trigger/trigger.h"

#include <errno.h>

#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"

/* CUPTI has been seen to take seconds to begin. Who waits may hold a lock of the driver: not for
 * ever. */
#define PATIENCE_NS (2000u * 1000000ull)

enum gt_capture_range_kind gt_trigger_kind;

static struct gt_capture_range range;
static bool ends_with_range;
static void (*_Atomic wake)(void);
static void (*_Atomic rest)(void);
static _Atomic uint32_t state; /* futex, enum gt_trigger_state */
static _Atomic uint32_t open;  /* ranges */
static _Atomic bool profiled;  /* between Start and Stop */
static _Atomic uint64_t ended;
static _Atomic bool in_vain; /* a thread has waited its time: no other one does */

int gt_trigger_arm(const char *text, bool ends)
{
	int rc = gt_capture_range_parse(text, &range);

	ends_with_range = ends;
	gt_trigger_kind = range.kind;
	atomic_store(&state, range.kind == GT_CAPTURE_ALL ? GT_TRIGGER_NONE : GT_TRIGGER_WAITS);
	return rc;
}

void gt_trigger_serve(void (*on_change)(void), void (*on_end)(void))
{
	atomic_store(&rest, on_end);
	atomic_store(&wake, on_change);
}

void gt_trigger_forked(void)
{
	atomic_store(&wake, NULL);
	atomic_store(&open, 0);
	atomic_store(&profiled, false);
	in_vain = false;
	if (gt_trigger_kind != GT_CAPTURE_ALL)
		atomic_store(&state, GT_TRIGGER_WAITS);
}

static bool change(uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&state, &from, to);
}

static void await(void)
{
	uint64_t now = gt_clock_now(), until = now + PATIENCE_NS;

	while (atomic_load(&state) == GT_TRIGGER_ASKED && now < until && !in_vain) {
		gt_futex_wait(&state, GT_TRIGGER_ASKED, until - now);
		now = gt_clock_now();
	}
	in_vain |= now >= until;
}

/* What the session does, if this process has one. */
static void run(void (*function)(void))
{
	if (function && gt_forkguard_holds())
		function();
}

void gt_trigger_enter(void)
{
	int saved = errno;

	atomic_fetch_add(&open, 1);
	if (change(GT_TRIGGER_WAITS, GT_TRIGGER_ASKED))
		run(atomic_load(&wake));
	if (atomic_load(&wake) && gt_forkguard_holds())
		await();
	errno = saved;
}

static void end(void)
{
	bool ran;

	atomic_store(&ended, gt_clock_now());
	if (!atomic_load(&wake)) { /* nothing was recorded: the next one counts */
		change(GT_TRIGGER_ASKED, GT_TRIGGER_WAITS);
		return;
	}
	ran = change(GT_TRIGGER_RUNS, GT_TRIGGER_ENDED);
	if (ran)
		run(atomic_load(&rest));
	if (ran || change(GT_TRIGGER_ASKED, GT_TRIGGER_ENDED))
		run(atomic_load(&wake));
}

void gt_trigger_leave(void)
{
	int saved = errno;

	if (atomic_fetch_sub(&open, 1) == 1 && ends_with_range)
		end();
	errno = saved;
}

/* The runtime's call, the driver's inside it, and a hook around both are one. */
static const struct {
	enum gt_api_domain domain;
	uint32_t cbid;
	bool starts;
} calls[] = {
	{GT_API_RUNTIME, 171, true}, /* cudaProfilerStart */
	{GT_API_RUNTIME, 172, false},
	{GT_API_DRIVER, 308, true}, /* cuProfilerStart */
	{GT_API_DRIVER, 309, false},
};

void gt_trigger_call(enum gt_api_domain domain, uint32_t cbid)
{
	if (gt_trigger_kind != GT_CAPTURE_PROFILER)
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i].domain != domain || calls[i].cbid != cbid ||
		    atomic_exchange(&profiled, calls[i].starts) == calls[i].starts)
			continue;
		if (calls[i].starts)
			gt_trigger_enter();
		else
			gt_trigger_leave();
	}
}

bool gt_trigger_is_named(const char *name, size_t length, const char *domain)
{
	return gt_capture_range_is_like(range.domain, domain, strlen(domain)) &&
	       gt_capture_range_is_like(range.name, name, length);
}

enum gt_trigger_state gt_trigger_look(uint64_t *ret_ended)
{
	*ret_ended = atomic_load(&ended);
	return (enum gt_trigger_state)atomic_load(&state);
}

void gt_trigger_begun(void)
{
	change(GT_TRIGGER_ASKED, GT_TRIGGER_RUNS);
	gt_futex_wake(&state);
}

void gt_trigger_disarm(void)
{
	if (atomic_load(&state) != GT_TRIGGER_NONE)
		atomic_store(&state, GT_TRIGGER_ENDED);
	gt_futex_wake(&state);
}
