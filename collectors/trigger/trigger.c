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

static struct gt_capture_plan plan;
static void (*_Atomic wake)(void);
static void (*_Atomic rest)(void);
static _Atomic uint32_t state;   /* futex, enum gt_trigger_state */
static _Atomic uint32_t open;    /* ranges */
static _Atomic uint64_t steps;   /* that have begun */
static _Atomic uint32_t windows; /* that are over */
static _Atomic bool profiled;    /* between Start and Stop */
static _Atomic uint64_t ended;
static _Atomic uint64_t launches; /* of graphs */
static _Atomic uint32_t launcher; /* enum gt_api_domain + 1 of those that count; 0: none yet */
static _Atomic bool is_over;      /* no window follows */
static _Atomic bool in_vain;      /* a thread has waited its time: no other one does */

void gt_trigger_arm(const struct gt_capture_plan *asked)
{
	plan = *asked;
	gt_trigger_kind = plan.range.kind;
	atomic_store(&state,
		     gt_trigger_kind == GT_CAPTURE_ALL ? GT_TRIGGER_NONE : GT_TRIGGER_WAITS);
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
	atomic_store(&steps, 0);
	atomic_store(&windows, 0);
	atomic_store(&profiled, false);
	atomic_store(&launches, 0);
	is_over = in_vain = false;
	if (gt_trigger_kind != GT_CAPTURE_ALL)
		atomic_store(&state, GT_TRIGGER_WAITS);
}

static bool change(uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&state, &from, to);
}

/* Recording is about to begin, perhaps behind the end of the window before. */
static bool is_awaited(uint32_t now)
{
	return now == GT_TRIGGER_ASKED || (now == GT_TRIGGER_ENDED && !is_over);
}

static void await(void)
{
	uint64_t now = gt_clock_now(), until = now + PATIENCE_NS;
	uint32_t seen = atomic_load(&state);

	while (is_awaited(seen) && now < until && !in_vain) {
		gt_futex_wait(&state, seen, until - now);
		now = gt_clock_now();
		seen = atomic_load(&state);
	}
	in_vain |= now >= until;
}

/* What the session does, if this process has one. */
static void run(void (*function)(void))
{
	if (function && gt_forkguard_holds())
		function();
}

/* What is to be done while the newest step lasts. */
static enum gt_capture_phase phase(void)
{
	uint64_t count = atomic_load(&steps);

	return plan.schedule.active ? gt_capture_phase_of(&plan.schedule, count ? count - 1 : 0)
				    : GT_CAPTURE_RECORD_LAST;
}

/* A range is open: is it to be recorded? True: the drain thread has to do something. */
static bool ask(void)
{
	enum gt_capture_phase now = phase();

	if (now == GT_CAPTURE_REST)
		return false;
	if (now == GT_CAPTURE_WARM_UP)
		return change(GT_TRIGGER_WAITS, GT_TRIGGER_WARMS);
	return change(GT_TRIGGER_WAITS, GT_TRIGGER_ASKED) ||
	       change(GT_TRIGGER_WARMS, GT_TRIGGER_ASKED);
}

/* What the range contains is recorded from its first call on. */
static void await_begin(void)
{
	int saved = errno;

	if (is_awaited(atomic_load(&state)) && phase() >= GT_CAPTURE_RECORD && atomic_load(&wake) &&
	    gt_forkguard_holds())
		await();
	errno = saved;
}

void gt_trigger_enter(void)
{
	if (!atomic_fetch_add(&open, 1))
		atomic_fetch_add(&steps, 1);
	if (ask())
		run(atomic_load(&wake));
	await_begin();
}

/* False: none that is recorded, or about to be. */
static bool end_window(void)
{
	bool ran = change(GT_TRIGGER_RUNS, GT_TRIGGER_ENDED);

	if (ran)
		run(atomic_load(&rest));
	return ran || change(GT_TRIGGER_ASKED, GT_TRIGGER_ENDED);
}

static void end(void)
{
	if (atomic_load(&state) != GT_TRIGGER_ENDED) /* else of a range behind the window */
		atomic_store(&ended, gt_clock_now());
	change(GT_TRIGGER_SPENT, GT_TRIGGER_WAITS);
	if (!atomic_load(&wake)) { /* nothing was recorded: the next one counts */
		change(GT_TRIGGER_ASKED, GT_TRIGGER_WAITS);
		return;
	}
	if (!end_window())
		return;
	if (atomic_fetch_add(&windows, 1) + 1 == plan.windows) {
		is_over = true;
		gt_futex_wake(&state);
	}
	run(atomic_load(&wake));
}

void gt_trigger_leave(void)
{
	int saved = errno;

	if (atomic_fetch_sub(&open, 1) == 1 && plan.ends && phase() == GT_CAPTURE_RECORD_LAST)
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

/* What launches them ends the range before, too: there is no end of a call to wait for. */
void gt_trigger_graph(enum gt_api_domain domain)
{
	uint32_t none = 0, ours = (uint32_t)domain + 1;
	uint64_t before;

	if (gt_trigger_kind != GT_CAPTURE_GRAPHS)
		return;
	if (!atomic_compare_exchange_strong(&launcher, &none, ours) && none != ours)
		return;
	before = atomic_fetch_add(&launches, 1);
	if (before % plan.range.launches) {
		await_begin(); /* of the range that another thread's launch has begun */
		return;
	}
	if (before)
		gt_trigger_leave();
	gt_trigger_enter();
}

bool gt_trigger_is_named(const char *name, size_t length, const char *domain)
{
	return gt_capture_range_has(&plan.range, name, length, domain);
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

/* Who has begun a range meanwhile has found ENDED, and waits. */
void gt_trigger_again(void)
{
	if (!change(GT_TRIGGER_ENDED, GT_TRIGGER_WAITS))
		change(GT_TRIGGER_RUNS, GT_TRIGGER_SPENT);
	if (atomic_load(&open))
		ask();
	gt_futex_wake(&state);
}

bool gt_trigger_is_awaited(void)
{
	return atomic_load(&state) == GT_TRIGGER_ENDED && !is_over && atomic_load(&open) &&
	       phase() > GT_CAPTURE_REST;
}

bool gt_trigger_is_over(void)
{
	return atomic_load(&is_over);
}

void gt_trigger_disarm(void)
{
	is_over = true;
	if (atomic_load(&state) != GT_TRIGGER_NONE)
		atomic_store(&state, GT_TRIGGER_ENDED);
	gt_futex_wake(&state);
}
