/* SPDX-License-Identifier: Apache-2.0
 *
 * Joining operations to calls: any order, several operations of one call, bounded memory, and
 * nothing forgotten without being counted.
 */
#include "core/correlate.h"

#include <criterion/criterion.h>

#include "core/guest/memory.h"

static struct gt_launch launch_of(uint32_t tid)
{
	return (struct gt_launch){.known = true, .tid = tid, .start = tid * 10ull};
}

static void put(struct gt_correlate *table, uint32_t id, bool expects, bool many)
{
	struct gt_launch launch = launch_of(id);

	gt_correlate_put(table, id, &launch, expects, many);
}

Test(correlate, gives_the_call_and_marks_the_first_operation)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_launch launch;

	put(table, 5, true, true);
	cr_assert_eq(gt_correlate_match(table, 6, &launch), GT_CORRELATE_UNKNOWN);
	cr_assert_eq(gt_correlate_match(table, 5, &launch), GT_CORRELATE_KNOWN);
	cr_assert(launch.known && launch.first);
	cr_assert_eq(launch.tid, 5);
	cr_assert_eq(gt_correlate_match(table, 5, &launch), GT_CORRELATE_KNOWN);
	cr_assert(launch.known && !launch.first);
	cr_assert_eq(gt_correlate_count(table).in_flight, 0);
	gt_correlate_free(table);
}

Test(correlate, no_id_is_no_call)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_launch launch;

	cr_assert_eq(gt_correlate_match(table, 0, &launch), GT_CORRELATE_UNKNOWN);
	gt_correlate_free(table);
}

Test(correlate, counts_launches_without_an_operation)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_launch launch;

	for (uint32_t id = 1; id <= 100; id++)
		put(table, id, id % 2, false);
	for (uint32_t id = 1; id <= 100; id += 4)
		gt_correlate_match(table, id, &launch);
	cr_assert_eq(gt_correlate_count(table).in_flight, 25);
	cr_assert_eq(gt_correlate_count(table).evicted, 0);
	gt_correlate_free(table);
}

Test(correlate, grows_while_operations_are_outstanding)
{
	struct gt_correlate *table = gt_correlate_new(1 << 16);
	struct gt_launch launch;

	for (uint32_t id = 1; id <= 50000; id++)
		put(table, id, true, false);
	for (uint32_t id = 1; id <= 50000; id++) {
		cr_assert_eq(gt_correlate_match(table, id, &launch), GT_CORRELATE_KNOWN);
		cr_assert_eq(launch.tid, id);
	}
	gt_correlate_free(table);
}

Test(correlate, over_its_size_the_oldest_outstanding_are_evicted_and_counted)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_correlate_counts counts;

	for (uint32_t id = 1; id <= 3000; id++)
		put(table, id, true, false);
	counts = gt_correlate_count(table);
	cr_assert_eq(counts.evicted, 3000 - 1024);
	cr_assert_eq(counts.in_flight, 3000);
	gt_correlate_free(table);
}

/* Their records came: they are no launches without one, and no work without a call. */
Test(correlate, work_of_an_evicted_call_is_late_and_not_foreign)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_correlate_counts counts;
	struct gt_launch launch;

	for (uint32_t id = 1; id <= 3000; id++)
		put(table, id, true, id <= 10);
	for (uint32_t id = 1; id <= 3000; id++)
		cr_assert_eq(gt_correlate_match(table, id, &launch),
			     id > 3000 - 1024 ? GT_CORRELATE_KNOWN : GT_CORRELATE_EVICTED);
	for (uint32_t id = 1; id <= 10; id++)
		cr_assert_eq(gt_correlate_match(table, id, &launch), GT_CORRELATE_EVICTED,
			     "the next one of a graph");
	cr_assert_eq(gt_correlate_match(table, 3001, &launch), GT_CORRELATE_UNKNOWN);
	counts = gt_correlate_count(table);
	cr_assert_eq(counts.evicted, 3000 - 1024);
	cr_assert_eq(counts.in_flight, 0);
	gt_correlate_free(table);
}

/* Their work cannot be told from that of unknown calls. */
Test(correlate, without_memory_evicted_calls_are_a_number)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_launch launch;
	struct gt_correlate_counts counts;

	gt_memory_limit(gt_memory_count().now, "--max-memory");
	for (uint32_t id = 1; id <= 3000; id++)
		put(table, id, true, false);
	cr_assert_eq(gt_correlate_match(table, 1, &launch), GT_CORRELATE_UNKNOWN);
	cr_assert_eq(gt_correlate_match(table, 3000, &launch), GT_CORRELATE_KNOWN);
	counts = gt_correlate_count(table);
	cr_assert_eq(counts.evicted, 3000 - 1024);
	cr_assert_eq(counts.unlisted, 3000 - 1024);
	cr_assert_eq(counts.in_flight, 1023);
	cr_assert_eq(gt_correlate_give_up(table), 1023);
	gt_memory_limit(0, "--max-memory");
	gt_correlate_free(table);
}

/* The id comes again when the counter has gone round. */
Test(correlate, evicted_id_of_a_new_call_is_the_new_calls)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_launch launch;

	put(table, 1, true, false);
	put(table, 1025, true, false);
	put(table, 1, true, false);
	cr_assert_eq(gt_correlate_match(table, 1, &launch), GT_CORRELATE_KNOWN);
	cr_assert_eq(gt_correlate_match(table, 1025, &launch), GT_CORRELATE_EVICTED);
	gt_correlate_free(table);
}

Test(correlate, finished_calls_make_room_without_growth_or_loss)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_launch launch;

	for (uint32_t id = 1; id <= 100000; id++) {
		put(table, id, true, false);
		cr_assert_eq(gt_correlate_match(table, id, &launch), GT_CORRELATE_KNOWN);
	}
	cr_assert_eq(gt_correlate_count(table).evicted, 0);
	cr_assert_eq(gt_correlate_count(table).in_flight, 0);
	gt_correlate_free(table);
}

Test(correlate, a_graph_launch_whose_work_came_is_not_told_as_forgotten)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_correlate_counts counts;
	struct gt_launch launch;

	for (uint32_t id = 1; id <= 3000; id++) {
		put(table, id, true, true);
		cr_assert_eq(gt_correlate_match(table, id, &launch), GT_CORRELATE_KNOWN);
	}
	counts = gt_correlate_count(table);
	cr_assert_eq(counts.evicted, 0);
	cr_assert_eq(counts.in_flight, 0);
	gt_correlate_free(table);
}

/* They were written before their call: that counts when it comes, and for whoever replays. */
Test(correlate, early_operations_are_told_with_their_call)
{
	struct gt_correlate *table = gt_correlate_new(1024);
	struct gt_launch launch = launch_of(7);

	put(table, 5, true, false);
	cr_assert(!gt_correlate_early(table, 5 + 1024), "the place is taken");
	cr_assert(gt_correlate_early(table, 7));
	cr_assert(gt_correlate_early(table, 7));
	gt_correlate_restore(table, &(struct gt_correlate_call){.correlation = 8, .operations = 3});
	cr_assert_eq(gt_correlate_match(table, 7, &launch), GT_CORRELATE_UNKNOWN);
	cr_assert_eq(gt_correlate_put(table, 7, &launch, true, true), 2);
	cr_assert_eq(gt_correlate_put(table, 8, &launch, true, true), 3);
	cr_assert_eq(gt_correlate_put(table, 9, &launch, false, false), 0);
	cr_assert_eq(gt_correlate_count(table).in_flight, 1, "5");
	cr_assert_eq(gt_correlate_match(table, 7, &launch), GT_CORRELATE_KNOWN);
	cr_assert(launch.first, "its flow begins here");
	gt_correlate_free(table);
}

/* A dead process's table, read place by place: the newest calls may have the first places. */
Test(correlate, all_calls_of_a_dead_process_are_there_again)
{
	const uint32_t places = 1 << 14, newest = (1 << 14) + 3000;
	struct gt_correlate *table = gt_correlate_new(1 << 16);
	struct gt_launch launch;

	for (uint32_t place = 0; place < places; place++) {
		struct gt_correlate_call call = {.correlation =
							 place > 3000 ? place : places + place,
						 .operations = 1,
						 .expects = true};

		call.launch = launch_of(call.correlation);
		gt_correlate_restore(table, &call);
	}
	for (uint32_t id = newest - places + 1; id <= newest; id++) {
		cr_assert_eq(gt_correlate_match(table, id, &launch), GT_CORRELATE_KNOWN,
			     "%u is not there", id);
		cr_assert_eq(launch.tid, id);
	}
	gt_correlate_free(table);
}
