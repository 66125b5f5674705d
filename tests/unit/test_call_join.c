/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls and GPU work joined in any order, and what is held back before there is a file.
 */
#include "pipeline/join/join.h"

#include <criterion/criterion.h>
#include <string.h>

#include "core/config.h"
#include "core/guest/memory.h"
#include "core/intern.h"
#include "pipeline/output/outlet.h"
#include "pipeline/spool/spooled.h"

#define MAX_CALLS 4096u

static struct gt_config config;
static struct gt_clock trace_clock;
static struct gt_metadata metadata;
static struct gt_ledger ledger;
static _Atomic bool has_cupti;
static struct gt_spooling spooling; /* without a spool */
static struct gt_output output;
static struct gt_outlet outlet;
static struct gt_origins origins;
static struct gt_call_join join;

static void setup(void)
{
	struct gt_intern *strings = gt_intern_new(1 << 20);
	struct gt_ranges_options options = {.clock = &trace_clock,
					    .strings = strings,
					    .ledger = &ledger,
					    .outlet = &outlet,
					    .step_range = ""};

	gt_config_init(&config);
	cr_assert_eq(gt_config_set(&config, GT_CONFIG_FORMAT, "null"), 0);
	gt_clock_init(&trace_clock);
	has_cupti = true;
	output = (struct gt_output){
		.config = &config, .metadata = &metadata, .ledger = &ledger, .spooling = &spooling};
	outlet = (struct gt_outlet){.output = &output,
				    .clock = &trace_clock,
				    .has_cupti = &has_cupti,
				    .metadata = &metadata};
	join = (struct gt_call_join){.ranges = gt_ranges_new(&options),
				     .outlet = &outlet,
				     .ledger = &ledger,
				     .origins = &origins,
				     .has_cupti = &has_cupti};
	cr_assert_not_null(join.ranges);
	cr_assert_eq(gt_call_join_init(&join, true, MAX_CALLS), 0);
}

static void teardown(void)
{
	gt_ranges_free(join.ranges);
	gt_call_join_fini(&join);
	gt_outlet_fini(&outlet);
	gt_output_close(&output);
}

TestSuite(join, .init = setup, .fini = teardown);

static const struct gt_call_effect launch = {.expects = true, .kernels = true};
static const struct gt_call_effect wait_for_all = {.waits = true, .waits_for_all = true};
static const struct gt_call_effect other = {.expects = false};

static void call(uint32_t correlation, uint64_t start, const struct gt_call_effect *what)
{
	struct gt_event event = {.kind = GT_EVENT_API,
				 .tid = 1,
				 .correlation = correlation,
				 .start = start,
				 .end = start + 10,
				 .api = {.enqueues = what->expects}};

	gt_call_join_call(&join, &event, what);
}

static void kernel(uint32_t correlation, uint64_t start)
{
	struct gt_event event = {.kind = GT_EVENT_KERNEL,
				 .correlation = correlation,
				 .start = start,
				 .end = start + 10};

	gt_call_join_record(&join, &event);
}

Test(join, a_record_waits_for_its_call)
{
	kernel(1, 200);
	cr_assert_eq(join.unlinked.count, 1);
	gt_call_join_settle(&join, false);
	cr_assert_eq(join.unlinked.count, 1, "the call has not returned");
	call(1, 100, &launch);
	gt_call_join_settle(&join, false);
	cr_assert_eq(join.unlinked.count, 0);
	cr_assert_eq(gt_call_join_in_flight(&join), 0);
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 0);
	kernel(2, 300);
	gt_call_join_settle(&join, true);
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 1, "the end");
}

/* cudaEventQuery, which is not recorded: nothing is lost. */
Test(join, a_synchronization_without_its_call_is_no_loss)
{
	struct gt_event sync = {.kind = GT_EVENT_SYNC, .correlation = 1, .start = 200, .end = 300};

	gt_call_join_record(&join, &sync);
	gt_call_join_settle(&join, true);
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 0);
	sync.correlation = 0;
	gt_call_join_record(&join, &sync);
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 1, "no id");
}

static void untimed(uint32_t correlation, const char *what)
{
	struct gt_event event = {
		.kind = GT_EVENT_NOTE, .correlation = correlation, .start = 900, .end = 900};

	event.note = (struct gt_note_event){.name = "kernel (untimed)", .what = what, .count = 1};
	ledger.count[GT_LEDGER_KERNELS_UNTIMED]++; /* as the translation does */
	ledger.count[GT_LEDGER_RECORDS_UNFINISHED] += !strcmp(what, GT_NOTE_IN_PROGRESS);
	gt_call_join_record(&join, &event);
}

/* A queue that is still long when the window ends: CUPTI gives records without times. */
Test(join, work_without_times_that_was_launched_outside_is_no_loss)
{
	struct gt_event before = {.kind = GT_EVENT_API, .correlation = 2, .start = 40, .end = 50};

	metadata.window_begin = 100;
	join.last_passed = 1;
	gt_call_join_call_outside(&join, &before, &launch);
	call(3, 110, &launch);
	untimed(1, GT_NOTE_IN_PROGRESS); /* not recorded: before the window */
	untimed(2, "");
	untimed(3, "");
	untimed(4, "");
	metadata.window_end = 500;
	join.first_behind = 4;
	join.has_lost = true;
	gt_call_join_settle(&join, true);
	cr_assert_eq(ledger.count[GT_LEDGER_KERNELS_UNTIMED], 1);
	cr_assert_eq(ledger.count[GT_LEDGER_RECORDS_UNFINISHED], 0);
	cr_assert_eq(ledger.count[GT_LEDGER_KERNELS_OUTSIDE], 3);
}

/* It has no event that recovery could count. */
Test(join, an_unwanted_graph_is_counted_before_its_call)
{
	struct gt_event graph = {
		.kind = GT_EVENT_GRAPH, .correlation = 1, .start = 200, .end = 300};

	join.leaves_out_graphs = true;
	gt_call_join_record(&join, &graph);
	cr_assert_eq(join.unlinked.count, 1);
	cr_assert_eq(ledger.count[GT_LEDGER_GRAPHS_LEFT_OUT], 1);
	call(1, 100, &launch);
	gt_call_join_settle(&join, false);
	cr_assert_eq(ledger.count[GT_LEDGER_GRAPHS_LEFT_OUT], 1, "once");
	cr_assert_eq(gt_call_join_in_flight(&join), 0);
}

/* Written at once: its call may still come, and is then not in flight. */
Test(join, without_memory_a_record_does_not_wait)
{
	call(1, 100, &launch);
	kernel(1, 200);
	gt_memory_limit(gt_memory_count().now + 1, "--max-rss");
	kernel(2, 300);
	gt_memory_limit(0, "--max-rss");
	cr_assert_eq(join.unlinked.count, 0);
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 1);
	kernel(3, 400);
	cr_assert_eq(join.unlinked.count, 1);
	call(2, 250, &launch);
	cr_assert_eq(ledger.count[GT_LEDGER_EARLY_WORK], 1);
	cr_assert_eq(gt_call_join_in_flight(&join), 0, "its work came");
}

/* Its call was lost, as to a full ring: that is counted there, and no lack of memory here. */
Test(join, work_of_a_lost_call_is_not_early)
{
	gt_memory_limit(gt_memory_count().now + 1, "--max-rss");
	kernel(2, 200);
	gt_memory_limit(0, "--max-rss");
	kernel(3, 300);
	gt_call_join_spill(&join);
	call(4, 400, &launch);
	gt_call_join_settle(&join, true);
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 2);
	cr_assert_eq(ledger.count[GT_LEDGER_EARLY_WORK], 0);
}

/* Of launches that a full ring lost those count as without a record that have none. */
Test(join, launches_of_lost_calls)
{
	struct gt_event sync = {.kind = GT_EVENT_SYNC, .correlation = 9, .start = 200, .end = 300};

	kernel(1, 200);
	kernel(2, 210);
	kernel(2, 220); /* of a graph */
	kernel(0, 230); /* nobody knows whose */
	gt_call_join_record(&join, &sync);
	gt_call_join_settle(&join, true);
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_UNLINKED], 2);
	cr_assert_eq(gt_call_join_lost(&join, 5), 3);
	cr_assert_eq(gt_call_join_lost(&join, 1), 0, "others have work without a call, too");
	call(3, 300, &launch);
	cr_assert_eq(gt_call_join_give_up(&join, 1 + 3), 1 + 3);
	cr_assert_eq(gt_call_join_lost(&join, 5), 0);
	cr_assert_eq(gt_call_join_in_flight(&join), 0);
	cr_assert_eq(gt_call_join_lost(&join, 7), 2, "of the next window");
}

/* What was written without its call was no lost one's, if that comes. */
Test(join, early_work_is_not_of_a_lost_call)
{
	gt_memory_limit(gt_memory_count().now + 1, "--max-rss");
	kernel(1, 200);
	kernel(2, 210);
	gt_memory_limit(0, "--max-rss");
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_UNLINKED], 2);
	call(2, 100, &launch);
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_UNLINKED], 1);
	cr_assert_eq(gt_call_join_lost(&join, 1), 0);
}

/* Work of what was launched before the window, or runs behind it. */
Test(join, work_outside_of_the_window_is_not_of_a_lost_call)
{
	join.last_passed = 5;
	kernel(5, 200);
	kernel(6, 210);
	metadata.window_end = 300;
	kernel(7, 290);
	kernel(8, 300);
	join.first_behind = 9;
	join.has_lost = true;
	kernel(9, 299);
	gt_call_join_settle(&join, true);
	metadata.window_end = 0;
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_UNLINKED], 2);
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 2, "6 and 7 waited");
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_OUTSIDE], 2, "5 and 9");
}

Test(join, launches_without_a_record_are_in_flight)
{
	call(1, 100, &launch);
	call(2, 110, &launch);
	call(3, 120, &other);
	kernel(2, 200);
	cr_assert_eq(gt_call_join_in_flight(&join), 1);
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_SEEN], 2);
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_IN_GAPS], 0);
	join.in_gap = true;
	call(4, 130, &launch);
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_IN_GAPS], 1);
}

/* It was in a ring when another tool took CUPTI's buffers: its record came to us. */
Test(join, an_earlier_launch_is_not_in_the_gap)
{
	join.in_gap = true;
	join.gap_from = 110;
	call(1, 100, &launch);
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_IN_GAPS], 0);
	call(2, 110, &launch);
	cr_assert_eq(ledger.count[GT_LEDGER_LAUNCHES_IN_GAPS], 1);
}

/* The call was recorded by a hook, with an id of ours. */
Test(join, another_id_leads_to_the_call)
{
	static const struct gt_call_effect own = {.expects = true, .kernels = true};

	call(70, 100, &own);
	gt_ties_put(&join.ties, 5, 70);
	kernel(5, 200);
	cr_assert_eq(gt_call_join_in_flight(&join), 0);
	cr_assert_eq(gt_ties_find(&join.ties, 6), 6, "not tied");
}

Test(join, what_was_waited_for_in_vain_is_certain)
{
	call(1, 100, &launch);
	cr_assert_not(gt_unanswered_is_certain(&join.unanswered, 1000, 10), "nobody has waited");
	call(2, 200, &wait_for_all);
	cr_assert(gt_unanswered_is_certain(&join.unanswered, 1000, 10));
	cr_assert_not(gt_unanswered_is_certain(&join.unanswered, 150, 10), "the flush was before");
	call(3, 300, &launch);
	cr_assert_not(gt_unanswered_is_certain(&join.unanswered, 1000, 10), "it may be under way");
	cr_assert(gt_unanswered_is_certain(&join.unanswered, 1000, 1), "two do not fit");
	kernel(1, 400);
	cr_assert_not(gt_unanswered_is_certain(&join.unanswered, 1000, 1), "a record has come");
}

/* Forgotten for want of memory: its work came, and was launched by a recorded call. */
Test(join, work_of_an_evicted_call_is_written_at_once_and_has_its_cause)
{
	call(1, 100, &launch);
	call(1 + MAX_CALLS, 110, &launch);
	kernel(1, 200);
	cr_assert_eq(join.unlinked.count, 0, "no call will come");
	cr_assert_eq(ledger.count[GT_LEDGER_OPS_UNLINKED], 0);
	cr_assert_eq(gt_correlate_count(join.calls).evicted, 1);
	cr_assert_eq(gt_call_join_in_flight(&join), 1, "the other one");
}

/* A process that only looks at the devices leaves no file behind. */
Test(join, calls_alone_ask_for_no_file)
{
	call(1, 100, &other);
	cr_assert_null(output.writer);
	cr_assert_eq(outlet.early.count, 1);
	cr_assert_eq(outlet.newest, 110);
	call(2, 200, &launch);
	cr_assert_not_null(output.writer);
	cr_assert_eq(outlet.early.count, 0, "written");
}

Test(join, without_cupti_every_call_asks_for_one)
{
	has_cupti = false;
	call(1, 100, &other);
	cr_assert_not_null(output.writer);
}

Test(join, what_cannot_be_written_is_counted)
{
	output.failed = true;
	call(1, 100, &launch);
	kernel(1, 200);
	cr_assert_eq(output.lost.disk, 2);
	output.failed = false;
}
