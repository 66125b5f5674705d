/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of a recovered trace: what the killed process had lost or left out, each counted once.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "collectors/cupti/replay.h"
#include "pipeline/recorder/recorder.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/release.h"
#include "tests/unit/recover_counts.h"

static void count_everything(void *part, struct gt_ledger *ledger)
{
	for (uint64_t i = 0; i < GT_LEDGER_COUNT_; i++)
		ledger->count[i] = 1000 + i;
}

static const struct gt_collector careless = {.name = "careless", .count = count_everything};

/* Recovery knows better: from the rings, the buffers, the losses of the file. */
static bool is_counted_again(enum gt_ledger_key key)
{
	static const enum gt_ledger_key keys[] = {
		GT_LEDGER_CALLS_SEEN,         GT_LEDGER_CALLS_NESTED,
		GT_LEDGER_CALLS_LOST_RING,    GT_LEDGER_CALLS_LOST_THREAD,
		GT_LEDGER_CALLS_OPEN,         GT_LEDGER_LAUNCHES_SEEN,
		GT_LEDGER_RECORDS_SYNC,       GT_LEDGER_RECORDS_OVERHEAD,
		GT_LEDGER_OPS_IN_FLIGHT,      GT_LEDGER_RECORDS_UNREADABLE_BYTES,
		GT_LEDGER_SPOOL_REFUSED,      GT_LEDGER_SPOOL_THREADS,
		GT_LEDGER_BUFFERS_UNREAD,     GT_LEDGER_BYTES_WRITTEN,
		GT_LEDGER_EVENTS_LOST_DISK,   GT_LEDGER_EVENTS_LOST_EARLY,
		GT_LEDGER_EVENTS_LOST_MEMORY, GT_LEDGER_CORRELATION_EVICTED,
		GT_LEDGER_CALLS_LATE,         GT_LEDGER_RECORDS_FACT,
		GT_LEDGER_RECORDS_API,        GT_LEDGER_RECORDS_UNKNOWN,
		GT_LEDGER_RECORDS_INSANE,     GT_LEDGER_TIME_REVERSED,
		GT_LEDGER_TIME_AHEAD,         GT_LEDGER_TIME_UNKNOWN,
		GT_LEDGER_TIME_FOREIGN,       GT_LEDGER_OPS_UNLINKED,
		GT_LEDGER_GPU_BEFORE_LAUNCH,  GT_LEDGER_EARLY_WORK,
		GT_LEDGER_BUFFERS_COMPLETED,  GT_LEDGER_BUFFERS_FOREIGN,
		GT_LEDGER_BUFFERS_DISCARDED,  GT_LEDGER_BUFFERS_LOST_BYTES,
		GT_LEDGER_CALLS_PASSED,       GT_LEDGER_CALLS_FILTERED,
		GT_LEDGER_SYNCS_FILTERED,     GT_LEDGER_SYNCS_GOVERNED,
		GT_LEDGER_CALLS_GOVERNED,     GT_LEDGER_STACKS_GOVERNED,
		GT_LEDGER_TENSORS_LOST,       GT_LEDGER_PYTHON_GOVERNED,
		GT_LEDGER_RANGES_OUTSIDE,     GT_LEDGER_RANGES_FILTERED,
		GT_LEDGER_OPS_OUTSIDE,        GT_LEDGER_EVENTS_LOST_KILLED,
		GT_LEDGER_LAUNCHES_PASSED,    GT_LEDGER_RECORDS_UNIFIED,
		GT_LEDGER_RECORDS_MEMORY,     GT_LEDGER_LIBRARY_UNKNOWN,
		GT_LEDGER_LIBRARY_FREED,      GT_LEDGER_LIBRARY_RANGE,
		GT_LEDGER_LIBRARY_VERSION,    GT_LEDGER_LIBRARY_OVERFLOW,
		GT_LEDGER_NCCL_TOLD,          GT_LEDGER_NCCL_UNMATCHED,
		GT_LEDGER_NCCL_NETWORK,       GT_LEDGER_NCCL_UNTAKEN,
		GT_LEDGER_LIBRARY_KERNELS,    GT_LEDGER_CALLS_THINNED,
		GT_LEDGER_RANGES_THINNED,     GT_LEDGER_LAUNCHES_LOST,
		GT_LEDGER_LAUNCHES_UNLINKED,  GT_LEDGER_RECORDS_UNFINISHED,
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i] == key)
			return true;
	for (int i = 0; i < GT_LEDGER_KINDS_; i++)
		if (gt_ledger_kinds[i].received == key || gt_ledger_kinds[i].untimed == key ||
		    gt_ledger_kinds[i].lost == key || gt_ledger_kinds[i].left_out[0] == key ||
		    gt_ledger_kinds[i].left_out[1] == key ||
		    gt_ledger_kinds[i].left_out[2] == key || gt_ledger_kinds[i].left_out[3] == key)
			return true;
	return false;
}

/* Killed behind a round, however it was counted. */
Test(recover, knows_every_count_of_a_ledger)
{
	struct gt_collector_entry *entry = template.collectors.entries;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	while (entry->collector)
		entry++;
	entry->collector = &careless;
	template_calls(1);
	gt_release_buffers(&template.release);
	text = recover();
	for (uint64_t i = 0; i < GT_LEDGER_COUNT_; i++)
		if (!is_counted_again((enum gt_ledger_key)i))
			cr_expect_geq(count_in(text, (enum gt_ledger_key)i), 1000 + i, "%s",
				      gt_ledger_rows[i].json);
	free(text);
}

/* Killed between two rounds: what threads count is in the spool at once. */
Test(recover, adds_ranges_that_were_lost_behind_the_last_round)
{
	struct gt_ledger ledger = {0};
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	gt_thread_count(gt_thread_self, GT_THREAD_RANGES_LOST);
	ledger.count[GT_LEDGER_RANGES_LOST] = 1 + 3;
	gt_spooling_update(&template.spooling, &ledger);
	for (int i = 0; i < 2; i++)
		gt_thread_count(gt_thread_self, GT_THREAD_RANGES_LOST);
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_RANGES_LOST), 3 + 3);
	free(text);
}

/* A recorder that is smaller than one round: its oldest block is gone, and what was in it still in
 * its ring. */
Test(recover, counts_once_what_a_small_recorder_gave_up)
{
	struct gt_recorder recorder = {.plan = {60000000000u, 1 << 20},
				       .strings = template.stores.strings};
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	cr_assert_eq(gt_recorder_start(&recorder), 0);
	gt_spooling_recorder(&template.spooling, recorder.store);
	template_calls(1);
	recorder.store->states[0].gone[GT_EVENT_API] = TEMPLATE_CALLS;
	recorder.store->now =
		gt_clock_from_monotonic(&template.clock, template.clock.first.monotonic);
	while (gt_ring_has_before(&gt_thread_self->ring, gt_ring_end(&gt_thread_self->ring)))
		gt_ring_pass(&gt_thread_self->ring, gt_ring_next(&gt_thread_self->ring));
	gt_release_buffers(&template.release);
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_WRITTEN), TEMPLATE_CALLS, "%s", text);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_RECEIVED), TEMPLATE_CALLS);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_OLDER), 0);
	free(text);
}

/* A forced flush gives work that is under way a record without an end; one more comes out of the
 * spool. */
Test(recover, knows_work_that_was_under_way)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	template_kernels_of(1, 2, "_Z5scalePffi")[1].end = 0;
	gt_cupti_replay_delivered(&template.gpu.translate);
	gt_release_buffers(&template.release);
	template_kernels_of(3, 1, "_Z5scalePffi")->end = 0;
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_UNTIMED), 2);
	cr_expect_eq(count_in(text, GT_LEDGER_RECORDS_UNFINISHED), 2, "%s", text);
	free(text);
}

/* The dead process had forgotten two calls; the record of one had come, that of the other comes out
 * of the spool. */
Test(recover, knows_calls_that_were_evicted)
{
	const struct gt_launch launch = {.tid = 1};
	struct gt_launch found;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	gt_correlate_free(template.join.calls);
	template.join.calls = gt_correlate_new(4096);
	for (uint32_t id = 1; id <= 4096 + 3; id++)
		gt_correlate_put(template.join.calls, id, &launch, true, false);
	gt_correlate_match(template.join.calls, 2, &found);
	template_kernels(1, "_Z5scalePffi");
	gt_release_buffers(&template.release);
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_CORRELATION_EVICTED), 3);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), 4096 + 3 - 2);
	free(text);
}

/* The table of calls found no room in the spool when it grew: which were in flight is not known,
 * but how many were. */
Test(recover, counts_launches_of_a_table_outside_of_the_spool)
{
	const struct gt_launch launch = {.tid = 1};
	struct gt_launch found;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	gt_correlate_free(template.join.calls);
	template.join.calls = gt_correlate_new(1u << 16);
	template_kernels(3, "_Z5scalePffi");
	hide_spool(true);
	for (uint32_t id = 1; id <= 5000; id++)
		gt_correlate_put(template.join.calls, id, &launch, true, false);
	hide_spool(false);
	for (uint32_t id = 4; id <= 10; id++)
		gt_correlate_match(template.join.calls, id, &found);
	gt_correlate_leave_rings(template.join.calls);
	gt_release_note_read(&template.spooling, &template.join);
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_RECORDS_KERNEL), 3);
	cr_expect_eq(count_in(text, GT_LEDGER_LAUNCHES_UNLINKED), 3);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), 5000 - 10, "%s", text);
	cr_expect_eq(count_in(text, GT_LEDGER_LAUNCHES_UNLINKED), 3);
	free(text);
}

/* Of five launches that a full ring lost the work of two came, of another two it is in a buffer. */
Test(recover, knows_launches_of_lost_calls)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(10);
	gt_thread_add(gt_thread_self, GT_THREAD_CALLS_SEEN, 5);
	gt_thread_add(gt_thread_self, GT_THREAD_CALLS_LOST, 5);
	gt_thread_add(gt_thread_self, GT_THREAD_LAUNCHES_LOST, 5);
	gt_ledger_add(&template.ledger, GT_LEDGER_LAUNCHES_UNLINKED, 2);
	gt_release_note_read(&template.spooling, &template.join);
	template_kernels(2, "_Z5scalePffi");
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_LAUNCHES_LOST), 5);
	cr_expect_eq(count_in(text, GT_LEDGER_LAUNCHES_UNLINKED), 4);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), TEMPLATE_CALLS + 1, "%s", text);
	free(text);
}

/* A record that waits for its call is filtered when that has come: long after its buffer was read.
 */
static void check_filtered(bool settled, bool released)
{
	struct gt_capture_filter *asked = &template.filters.asked;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	cr_assert_eq(gt_capture_filter_set(asked, GT_CAPTURE_KERNELS, "!*"), 0);
	gt_capture_filter_describe(asked, template.metadata.filters);
	template.metadata.generation++;
	template.outlet.filters = &template.filters;
	gt_spooling_begun(&template.spooling);
	template_kernels(2, "_Z5scalePffi");
	gt_cupti_replay_delivered(&template.gpu.translate);
	cr_assert_eq(template.ledger.count[GT_LEDGER_KERNELS_FILTERED], 0, "they wait");
	template_calls(1);
	if (settled) {
		gt_collectors_drain(&template.collectors);
		gt_call_join_settle(&template.join, false);
		cr_assert_eq(template.ledger.count[GT_LEDGER_KERNELS_FILTERED], 2);
	}
	if (released) {
		gt_release_buffers(&template.release);
		gt_cupti_buffers_release(UINT64_MAX);
	}
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_RECORDS_KERNEL), 2);
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_FILTERED), 2);
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_WRITTEN), 0);
	free(text);
}

Test(recover, counts_what_would_be_filtered)
{
	check_filtered(false, false);
}

Test(recover, counts_what_was_filtered_after_its_buffer_was_read)
{
	check_filtered(true, false);
}

Test(recover, counts_what_was_filtered_and_left_the_spool)
{
	check_filtered(true, true);
}

/* Calls that left their ring, records of a buffer that was read: not in the file, not in the spool.
 */
Test(recover, knows_what_was_lost_by_kind)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template.output.failed = true;
	template.output.lost.error = -ENOSPC;
	template_calls(1);
	gt_collectors_drain(&template.collectors);
	template_kernels(2, "_Z5scalePffi");
	gt_cupti_replay_delivered(&template.gpu.translate);
	gt_call_join_settle(&template.join, true);
	gt_release_buffers(&template.release);
	gt_cupti_buffers_release(UINT64_MAX);
	template_calls(1 + TEMPLATE_CALLS);
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_WRITTEN), TEMPLATE_CALLS);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_LOST_FILE), TEMPLATE_CALLS);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_RECEIVED), 2 * TEMPLATE_CALLS);
	cr_expect_eq(count_in(text, GT_LEDGER_RECORDS_KERNEL), 2);
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_LOST_FILE), 2);
	cr_expect_eq(count_in(text, GT_LEDGER_EVENTS_LOST_DISK), TEMPLATE_CALLS + 2);
	cr_expect_eq(count(text, "{\"cause\": \"disk full\", \"events\": 5}"), 1, "%s", text);
	free(text);
}

/* They waited in memory for a file, and their ring wanted the room. */
Test(recover, knows_calls_that_were_lost_before_there_was_a_file)
{
	uint64_t lost;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	for (uint32_t i = 1; i <= 400; i++) {
		gt_call_enter(GT_API_RUNTIME, TEMPLATE_LOOK, i);
		gt_call_exit(GT_API_RUNTIME, TEMPLATE_LOOK, 0);
		gt_collectors_drain(&template.collectors);
	}
	gt_release_buffers(&template.release);
	template_calls(401);
	text = recover();
	lost = count_in(text, GT_LEDGER_EVENTS_LOST_EARLY);
	cr_expect_gt(lost, 0);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_LOST_FILE), lost);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_RECEIVED), 400 + TEMPLATE_CALLS);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_WRITTEN), 400 + TEMPLATE_CALLS - lost);
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_OPEN), 0);
	free(text);
}
