/* SPDX-License-Identifier: Apache-2.0
 *
 * Nested calls, as CUPTI's callbacks report them: what belongs to the outer one, and what shows
 * that the outer one was never left.
 */
#include "collectors/call/call.h"
#include "collectors/call/passed.h"

#include <criterion/criterion.h>
#include <string.h>

#include "collectors/unwind/unwind.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"

#define LAUNCH     211 /* cudaLaunchKernel */
#define DRIVER     307 /* cuLaunchKernel */
#define GET_DEVICE 17

static void setup(void)
{
	struct gt_thread_limits limits = {.ring_bytes = 1 << 20,
					  .extra_bytes = gt_call_state_bytes(),
					  .max_bytes = 256 << 20};

	gt_forkguard_arm();
	gt_threads_start(&limits);
	gt_call_configure(0);
}

TestSuite(call, .init = setup);

/* From a frame far below the caller's. */
static __attribute__((noinline)) void enter_below(enum gt_api_domain domain, uint32_t cbid,
						  uint32_t id)
{
	volatile char way[4096];

	way[0] = 1;
	gt_call_enter(domain, cbid, id);
	way[1] = way[0];
}

/* The next finished call; NULL: none. */
static const struct gt_call_record *next_call(void)
{
	struct gt_thread *self = gt_thread_get();
	const struct gt_ring_record *record = gt_ring_next(&self->ring);

	if (record)
		gt_ring_pass(&self->ring, record);
	return (const void *)record;
}

static void expect_one(enum gt_api_domain domain, uint32_t id, uint64_t nested)
{
	const struct gt_call_record *call = next_call();

	cr_assert_not_null(call);
	cr_assert_eq(call->domain, domain);
	cr_assert_eq(call->correlation, id);
	cr_assert_null(next_call());
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_NESTED), nested);
}

Test(call, inside_another_one)
{
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 7);
	enter_below(GT_API_DRIVER, DRIVER, 7);
	gt_call_exit(GT_API_DRIVER, DRIVER, 0);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	expect_one(GT_API_RUNTIME, 7, 1);
}

Test(call, inside_another_one_though_its_way_is_shorter)
{
	enter_below(GT_API_RUNTIME, LAUNCH, 7);
	gt_call_enter(GT_API_DRIVER, DRIVER, 7);
	gt_call_exit(GT_API_DRIVER, DRIVER, 0);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	expect_one(GT_API_RUNTIME, 7, 1);
}

Test(call, after_the_end_began)
{
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 7);
	gt_call_close();
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	expect_one(GT_API_RUNTIME, 7, 0); /* it was there before */
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 8);
	enter_below(GT_API_DRIVER, DRIVER, 8);
	gt_call_exit(GT_API_DRIVER, DRIVER, 0);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	cr_assert_null(next_call());
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_SEEN), 3);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_LATE), 1);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_NESTED), 1);
	gt_call_configure(0); /* a session of its own, as in a forked child */
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 9);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	expect_one(GT_API_RUNTIME, 9, 1);
}

static void start_threads(size_t max_bytes)
{
	struct gt_thread_limits limits = {.ring_bytes = 1 << 14,
					  .extra_bytes = gt_call_state_bytes(),
					  .max_bytes = max_bytes};

	gt_threads_start(&limits);
}

/* Two driver calls of the runtime call 7, by the way @enter. */
static void two_inside(void (*enter)(enum gt_api_domain domain, uint32_t cbid, uint32_t id))
{
	for (int i = 0; i < 2; i++) {
		enter(GT_API_DRIVER, DRIVER, 7);
		gt_call_exit(GT_API_DRIVER, DRIVER, 0);
	}
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	cr_assert_null(next_call());
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_NESTED), 2);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 8);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	expect_one(GT_API_RUNTIME, 8, 2);
}

Test(call, inside_one_that_found_no_block)
{
	start_threads(1);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 7);
	cr_assert_eq(gt_threads_refused()->calls, 1);
	start_threads(64 << 20);
	two_inside(enter_below);
}

static void refuse_two(uint32_t first)
{
	for (uint32_t id = first; id < first + 2; id++) {
		enter_below(GT_API_RUNTIME, LAUNCH, id);
		gt_call_enter(GT_API_DRIVER, DRIVER, id);
		gt_call_exit(GT_API_DRIVER, DRIVER, 0);
		gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	}
}

Test(call, each_that_found_no_block_is_counted_once)
{
	start_threads(1);
	refuse_two(7);
	cr_assert_eq(gt_threads_refused()->calls, 2);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_NESTED), 2);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_SEEN), 4);
	start_threads(64 << 20);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 9);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	expect_one(GT_API_RUNTIME, 9, 0);
}

/* They would not have been recorded in a block either: nothing of them is lost. */
Test(call, outside_of_the_window_and_no_block)
{
	start_threads(1);
	gt_call_pause(true);
	refuse_two(7);
	cr_assert_eq(gt_threads_refused()->calls, 0);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_PASSED), 2);
	cr_assert_eq(gt_threads_sum(GT_THREAD_LAUNCHES_PASSED), 2);
	cr_assert_eq(gt_call_passed_get(false).before, 8, "its GPU work may come later");
	gt_call_pause(false);
	refuse_two(9);
	cr_assert_eq(gt_threads_refused()->calls, 2);
	gt_call_close();
	refuse_two(11);
	cr_assert_eq(gt_threads_refused()->calls, 2);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_LATE), 2);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_SEEN), 12);
}

static void expect_passed(bool in_window, uint32_t before, uint32_t behind)
{
	struct gt_call_passed passed = gt_call_passed_get(in_window);

	cr_assert_eq(passed.before, before, "before: %u", passed.before);
	cr_assert_eq(passed.behind, behind, "behind: %u", passed.behind);
}

/* Windows follow each other: what is behind one is before the next. */
Test(call, ids_around_windows)
{
	start_threads(1);
	expect_passed(true, 0, 0);
	gt_call_pause(true);
	refuse_two(7);
	expect_passed(false, 8, 0);
	gt_call_pause(false);
	expect_passed(true, 8, 0);
	gt_call_passed_note(9); /* it had seen the pause */
	expect_passed(true, 9, 0);
	gt_call_pause(true);
	expect_passed(true, 9, 0);
	refuse_two(20);
	gt_call_pause(true);
	gt_call_passed_note(0);
	expect_passed(true, 9, 20);
	expect_passed(false, 21, 0);
	gt_call_pause(false);
	expect_passed(true, 21, 0);
	gt_call_pause(true);
	expect_passed(true, 21, 0);
}

Test(call, left_out_by_a_filter_and_no_block)
{
	struct gt_cuda_set launch = {0}, none = {0};

	gt_cuda_set_add(&launch, GT_API_RUNTIME, LAUNCH);
	start_threads(1);
	gt_call_set_filter(&launch, &none, 0);
	refuse_two(7);
	cr_assert_eq(gt_threads_refused()->calls, 0);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_FILTERED), 2);
}

Test(call, inside_one_that_found_the_ring_full)
{
	uint32_t id = 100;

	start_threads(64 << 20);
	while (gt_threads_sum(GT_THREAD_CALLS_LOST) == 0) {
		enter_below(GT_API_RUNTIME, LAUNCH, id);
		gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
		id++;
	}
	while (next_call())
		continue;
	enter_below(GT_API_RUNTIME, LAUNCH, 7); /* not released yet: no room */
	gt_ring_release(&gt_thread_get()->ring);
	two_inside(gt_call_enter);
}

static void lose(uint32_t cbid, int32_t result)
{
	uint64_t lost = gt_threads_sum(GT_THREAD_CALLS_LOST);

	gt_call_enter(GT_API_RUNTIME, cbid, 7);
	cr_assert_eq(gt_threads_sum(GT_THREAD_CALLS_LOST), lost + 1);
	gt_call_exit(GT_API_RUNTIME, cbid, result);
}

/* Whether a lost call has started work is known at its end. */
Test(call, launches_among_those_that_found_the_ring_full)
{
	uint64_t before;

	start_threads(64 << 20);
	while (gt_threads_sum(GT_THREAD_CALLS_LOST) == 0) {
		gt_call_enter(GT_API_RUNTIME, LAUNCH, 7);
		cr_assert_eq(gt_threads_lost_launches(), 0);
		gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	}
	before = gt_threads_lost_launches();
	cr_assert_eq(before, 1);
	lose(LAUNCH, 0);
	cr_assert_eq(gt_threads_lost_launches(), before + 1);
	lose(LAUNCH, 1);
	lose(GET_DEVICE, 0);
	cr_assert_eq(gt_threads_lost_launches(), before + 1);
}

Test(call, those_that_start_no_work_after_all)
{
	start_threads(1);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 7);
	gt_call_mark_captured();
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 8);
	gt_call_mark_empty(GT_API_RUNTIME, LAUNCH);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	cr_assert_eq(gt_threads_lost_launches(), 0);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 9);
	gt_call_mark_empty(GT_API_DRIVER, DRIVER); /* another one, inside */
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	cr_assert_eq(gt_threads_lost_launches(), 1);
	gt_call_pause(true);
	refuse_two(10);
	cr_assert_eq(gt_threads_lost_launches(), 1);
	gt_call_pause(false);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 12);
	start_threads(64 << 20);
	two_inside(enter_below);
	cr_assert_eq(gt_threads_sum(GT_THREAD_LAUNCHES_LOST), 1, "it has a block by now");
}

Test(call, behind_one_that_was_never_left)
{
	enter_below(GT_API_RUNTIME, LAUNCH, 7);
	gt_call_enter(GT_API_RUNTIME, LAUNCH, 8);
	gt_call_exit(GT_API_RUNTIME, LAUNCH, 0);
	expect_one(GT_API_RUNTIME, 8, 0);
}
