/* SPDX-License-Identifier: Apache-2.0
 *
 * The counts of a recovered trace where some of what the killed process had was not in its spool,
 * which was full: each launch is counted once, whatever became of it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>

#include "collectors/cupti/replay.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/release.h"
#include "tests/unit/recover_counts.h"

#define NAME     "_Z5scalePffi"
#define LAUNCHES 5000u /* more than a table has room for at first */

/* Kills the process after this many more records of buffers. */
static struct {
	void (*emit)(void *context, struct gt_event *event);
	uint32_t left;
	void *spool;
	size_t size;
} kill;

static void take_and_die(void *context, struct gt_event *event)
{
	kill.emit(context, event);
	if (--kill.left == 0)
		kill.spool = template_read(&kill.size);
}

static void read_buffers_until(uint32_t records)
{
	struct gt_translate *translate = &template.gpu.translate;

	kill.left = records;
	kill.emit = translate->emit;
	translate->emit = take_and_die;
	gt_cupti_replay_delivered(translate);
	cr_assert_not_null(kill.spool);
}

/* A file that had stopped takes nothing, and rings are released all the same. */
static bool begin(void)
{
	bool has_spool = template_begin();

	template.output.failed = true;
	template.output.lost.error = -ENOSPC;
	return has_spool;
}

/* From now on buffers are not in the spool. */
static void leave_spool(void)
{
	hide_spool(true);
	cr_assert_eq(gt_cupti_buffers_start(65536, 1 << 20, false, true), 0);
	hide_spool(false);
}

/* The table of calls is not in the spool; it has calls from 1 on. */
static void move_table(void)
{
	const struct gt_launch launch = {.tid = 1};

	gt_correlate_free(template.join.calls);
	template.join.calls = gt_correlate_new(1u << 16);
	hide_spool(true);
	for (uint32_t id = 1; id <= LAUNCHES; id++)
		gt_correlate_put(template.join.calls, id, &launch, true, false);
	hide_spool(false);
	gt_release_rings(&template.release);
}

/* Two kernels are in the spool, not read; of four that are not three had been taken. */
Test(recover, counts_records_of_a_buffer_outside_of_the_spool)
{
	char *text;

	if (!begin())
		cr_skip("no tmpfs with enough room");
	template_kernels(2, NAME);
	template_calls(1);
	template_calls(1 + TEMPLATE_CALLS);
	gt_collectors_drain(&template.collectors);
	leave_spool();
	template_kernels_of(3, 4, NAME);
	read_buffers_until(3);
	text = recover_from(kill.spool, kill.size);
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_WRITTEN), 2);
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_LOST_FILE), 3);
	cr_expect_eq(count_in(text, GT_LEDGER_RECORDS_KERNEL), 5);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), 1, "%s", text);
	free(text);
}

/* Three calls are in a ring. A record had been read when the process was killed, behind the last
 * one of its buffer or not. */
static void check_waiting(bool all)
{
	char *text;

	if (!begin())
		cr_skip("no tmpfs with enough room");
	leave_spool();
	template_calls(1);
	template_kernels(all ? 1 : 3, NAME);
	read_buffers_until(1);
	cr_assert_eq(gt_call_join_waiting(&template.join), all ? 1 : 3);
	text = all ? recover() : recover_from(kill.spool, kill.size);
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_LOST_FILE), 1);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), TEMPLATE_CALLS - 1, "%s", text);
	free(text);
	if (all)
		free(kill.spool);
}

/* It waited for its call, which is not in flight. */
Test(recover, counts_records_that_waited_outside_of_the_spool)
{
	check_waiting(true);
}

Test(recover, counts_records_that_waited_in_a_half_read_buffer)
{
	check_waiting(false);
}

/* They are of no call that is known by their keys: the ids of nodes as CUPTI gives them. */
Test(recover, counts_no_nodes_that_waited_outside_of_the_spool)
{
	const uint64_t graph = (uint64_t)2 << 32;
	CUpti_ActivityKernel8 *nodes;
	char *text;

	if (!begin())
		cr_skip("no tmpfs with enough room");
	leave_spool();
	template_calls(1);
	nodes = template_kernels_of(1, TEMPLATE_CALLS, NAME);
	for (uint32_t i = 0; i < TEMPLATE_CALLS; i++) {
		nodes[i].correlationId = 1;
		nodes[i].graphNodeId = graph + i;
	}
	read_buffers_until(1);
	cr_assert_eq(gt_call_join_waiting(&template.join), TEMPLATE_CALLS);
	free(kill.spool);
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_LAUNCHES_UNLINKED), 0, "%s", text);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), TEMPLATE_CALLS);
	free(text);
}

/* Of three kernels that come out of the spool two had been taken, and their calls were not in
 * flight any more: how many is all that is known of the table. */
Test(recover, counts_answered_launches_of_a_table_outside_of_the_spool)
{
	char *text;

	if (!begin())
		cr_skip("no tmpfs with enough room");
	move_table();
	template_kernels(3, NAME);
	read_buffers_until(2);
	text = recover_from(kill.spool, kill.size);
	cr_expect_eq(count_in(text, GT_LEDGER_KERNELS_WRITTEN), 3);
	cr_expect_eq(count_in(text, GT_LEDGER_LAUNCHES_UNLINKED), 3);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), LAUNCHES - 3, "%s", text);
	free(text);
}

/* Killed behind the round that took three calls, before they left their ring. */
Test(recover, counts_once_calls_that_were_in_a_table_and_in_a_ring)
{
	const struct gt_launch launch = {.tid = 1};
	char *text;

	if (!begin())
		cr_skip("no tmpfs with enough room");
	move_table();
	template_calls(LAUNCHES + 1);
	for (uint32_t i = 1; i <= TEMPLATE_CALLS; i++)
		gt_correlate_put(template.join.calls, LAUNCHES + i, &launch, true, false);
	text = recover();
	cr_expect_eq(count_in(text, GT_LEDGER_CALLS_WRITTEN), TEMPLATE_CALLS);
	cr_expect_eq(count_in(text, GT_LEDGER_OPS_IN_FLIGHT), LAUNCHES + TEMPLATE_CALLS, "%s",
		     text);
	free(text);
}
