/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges that begin and end the recording, without and with a session.
 */
#include "collectors/trigger/trigger.h"

#include <criterion/criterion.h>
#include <pthread.h>

#include "core/guest/clock.h"
#include "core/guest/forkguard.h"

static _Atomic int changes, ends;

static void on_change(void)
{
	changes++;
}

/* As the drain thread, at once. */
static void begin_at_once(void)
{
	changes++;
	gt_trigger_begun();
}

static void on_end(void)
{
	ends++;
}

static enum gt_trigger_state state(void)
{
	uint64_t ended;

	return gt_trigger_look(&ended);
}

static void arm(const char *range, const char *end, const char *schedule)
{
	struct gt_capture_plan plan;
	int wrong;

	gt_capture_plan_make(range, end, schedule, NULL, &plan, &wrong);
	gt_trigger_arm(&plan);
}

static void one_range(void)
{
	gt_trigger_enter();
	gt_trigger_leave();
}

static void setup(void)
{
	cr_assert_eq(gt_forkguard_arm(), 0);
}

TestSuite(trigger, .init = setup);

Test(trigger, nothing_asked_for)
{
	arm(NULL, NULL, NULL);
	cr_assert_eq(state(), GT_TRIGGER_NONE);
	gt_trigger_call(GT_API_RUNTIME, 171);
	gt_trigger_disarm();
	cr_assert_eq(state(), GT_TRIGGER_NONE);
	arm("nvtx:", NULL, NULL);
	cr_assert_eq(state(), GT_TRIGGER_NONE, "all is recorded");
}

Test(trigger, a_range_before_the_session)
{
	arm("nvtx:a", NULL, NULL);
	gt_trigger_enter();
	cr_assert_eq(state(), GT_TRIGGER_ASKED);
	gt_trigger_leave();
	cr_assert_eq(state(), GT_TRIGGER_WAITS, "nothing was recorded of it");
	gt_trigger_enter();
	gt_trigger_begun(); /* the session starts in it */
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
}

Test(trigger, nested_ranges)
{
	uint64_t before, ended;

	arm("nvtx:a", NULL, NULL);
	gt_trigger_serve(begin_at_once, on_end);
	gt_trigger_enter();
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
	gt_trigger_enter();
	gt_trigger_leave();
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
	before = gt_clock_now();
	gt_trigger_leave();
	cr_assert_eq(gt_trigger_look(&ended), GT_TRIGGER_ENDED);
	cr_assert(ended >= before && ended <= gt_clock_now());
	cr_assert_eq(ends, 1);
	gt_trigger_enter();
	gt_trigger_leave();
	cr_assert_eq(state(), GT_TRIGGER_ENDED, "once");
	cr_assert_eq(changes, 2, "the begin and the end");
}

Test(trigger, the_profiler)
{
	arm("cudaProfilerApi", NULL, NULL);
	gt_trigger_serve(begin_at_once, on_end);
	gt_trigger_call(GT_API_RUNTIME, 172);
	gt_trigger_call(GT_API_RUNTIME, 211);
	cr_assert_eq(state(), GT_TRIGGER_WAITS, "a stop without a start, a launch");
	gt_trigger_call(GT_API_RUNTIME, 171);
	gt_trigger_call(GT_API_DRIVER, 308);
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
	gt_trigger_call(GT_API_DRIVER, 309);
	cr_assert_eq(state(), GT_TRIGGER_ENDED,
		     "the driver's call inside the runtime's is the same");
}

Test(trigger, without_end)
{
	arm("nvtx:a", "none", NULL);
	gt_trigger_serve(begin_at_once, on_end);
	gt_trigger_enter();
	gt_trigger_leave();
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
	cr_assert_eq(ends, 0);
}

static void *begin_later(void *unused)
{
	while (!changes)
		continue;
	gt_trigger_begun();
	return unused;
}

Test(trigger, the_thread_waits_until_it_is_recorded)
{
	pthread_t thread;

	arm("nvtx:a", NULL, NULL);
	gt_trigger_serve(on_change, on_end);
	cr_assert_eq(pthread_create(&thread, NULL, begin_later, NULL), 0);
	gt_trigger_enter();
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
	pthread_join(thread, NULL);
}

Test(trigger, not_for_ever)
{
	uint64_t start = gt_clock_now();

	arm("nvtx:a", NULL, NULL);
	gt_trigger_serve(on_change, on_end);
	gt_trigger_enter();
	cr_assert_geq(gt_clock_now() - start, 1900000000u);
	cr_assert_eq(state(), GT_TRIGGER_ASKED);
	start = gt_clock_now();
	gt_trigger_enter();
	cr_assert_lt(gt_clock_now() - start, 1000000000u, "one has waited");
	gt_trigger_leave();
	gt_trigger_leave();
	cr_assert_eq(state(), GT_TRIGGER_ENDED, "an empty window");
}

Test(trigger, a_forked_child)
{
	arm("nvtx:a", NULL, NULL);
	gt_trigger_serve(begin_at_once, on_end);
	gt_trigger_enter();
	gt_trigger_leave();
	gt_trigger_forked();
	cr_assert_eq(state(), GT_TRIGGER_WAITS);
	gt_trigger_enter();
	cr_assert_eq(state(), GT_TRIGGER_ASKED, "nobody is there to begin, and nobody waits");
}

Test(trigger, names)
{
	arm("nvtx:st*@l?b", NULL, NULL);
	cr_assert(gt_trigger_is_named("step", 4, "lib"));
	cr_assert_not(gt_trigger_is_named("step", 4, ""));
	cr_assert_not(gt_trigger_is_named("rest", 4, "lib"));
}

Test(trigger, several_windows)
{
	arm("nvtx:a", "repeat:2", NULL);
	gt_trigger_serve(begin_at_once, on_end);
	for (int i = 1; i <= 2; i++) {
		gt_trigger_enter();
		cr_assert_eq(state(), GT_TRIGGER_RUNS);
		gt_trigger_leave();
		cr_assert_eq(state(), GT_TRIGGER_ENDED);
		cr_assert_eq(ends, i);
		if (i == 1)
			gt_trigger_again();
	}
	one_range(); /* and nobody waits */
	cr_assert_eq(state(), GT_TRIGGER_ENDED);
}

Test(trigger, a_window_that_ends_before_its_range)
{
	arm("nvtx:a", "repeat", NULL);
	gt_trigger_serve(begin_at_once, on_end);
	gt_trigger_enter();
	gt_trigger_again(); /* as after --duration */
	cr_assert_eq(state(), GT_TRIGGER_SPENT);
	one_range(); /* nested */
	cr_assert_eq(state(), GT_TRIGGER_SPENT);
	gt_trigger_leave();
	cr_assert_eq(state(), GT_TRIGGER_WAITS);
	gt_trigger_enter();
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
}

Test(trigger, who_waits_for_the_end_of_the_window_before)
{
	arm("nvtx:a", "repeat", "0,1,1,1");
	gt_trigger_serve(begin_at_once, on_end);
	cr_assert_not(gt_trigger_is_awaited());
	one_range(); /* rest, warm-up, active */
	one_range();
	gt_trigger_begun();
	one_range();
	cr_assert_eq(state(), GT_TRIGGER_ENDED);
	cr_assert_not(gt_trigger_is_awaited());
	gt_trigger_enter();
	cr_assert_not(gt_trigger_is_awaited(), "it rests");
	gt_trigger_leave();
	gt_trigger_enter();
	cr_assert(gt_trigger_is_awaited(), "the warm-up");
}

/* The drain thread closes the file of the window before. */
static void *close_file(void *unused)
{
	gt_clock_now();
	gt_trigger_again();
	while (state() != GT_TRIGGER_ASKED)
		continue;
	gt_trigger_begun();
	return NULL;
}

Test(trigger, a_range_waits_for_the_end_of_the_window_before)
{
	pthread_t thread;

	arm("nvtx:a", "repeat", NULL);
	gt_trigger_serve(on_change, on_end);
	gt_trigger_forked();
	gt_trigger_serve(begin_at_once, on_end);
	one_range();
	cr_assert_eq(state(), GT_TRIGGER_ENDED);
	gt_trigger_serve(on_change, on_end);
	pthread_create(&thread, NULL, close_file, NULL);
	gt_trigger_enter();
	cr_assert_eq(state(), GT_TRIGGER_RUNS);
	pthread_join(thread, NULL);
}

Test(trigger, schedule)
{
	/* skip one; then a step of rest, one of warm-up, two that are recorded; twice */
	static const enum gt_trigger_state during[] = {
		GT_TRIGGER_WAITS, GT_TRIGGER_WAITS, GT_TRIGGER_WARMS,
		GT_TRIGGER_RUNS,  GT_TRIGGER_RUNS,  GT_TRIGGER_WAITS,
		GT_TRIGGER_WARMS, GT_TRIGGER_RUNS,  GT_TRIGGER_RUNS};

	arm(NULL, NULL, "1,1,1,2,2");
	cr_assert(gt_trigger_is_named("ProfilerStep#7", 14, ""));
	gt_trigger_serve(begin_at_once, on_end);
	for (size_t i = 0; i < sizeof(during) / sizeof(during[0]); i++) {
		gt_trigger_enter();
		gt_trigger_begun();
		cr_assert_eq(state(), during[i], "step %zu: %d", i, state());
		one_range();
		gt_trigger_leave();
		if (state() == GT_TRIGGER_ENDED && i < 8)
			gt_trigger_again();
	}
	cr_assert_eq(ends, 2);
	one_range();
	cr_assert_eq(state(), GT_TRIGGER_ENDED, "no window follows");
}
