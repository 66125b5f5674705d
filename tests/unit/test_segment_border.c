/* SPDX-License-Identifier: Apache-2.0
 *
 * What a file inherits from the previous one.
 */
#include "pipeline/output/segments.h"

#include <criterion/criterion.h>

#include "collectors/call/call.h"
#include "core/schema/event.h"
#include "writers/writer.h"

static struct gt_segments segments;

static uint64_t border_after(uint32_t correlation)
{
	struct gt_event event = {.kind = GT_EVENT_API, .correlation = correlation};

	gt_segments_see(&segments, &event);
	return segments.newest_call;
}

Test(segment_border, the_newest_call_is_that_of_the_source_that_tells_now)
{
	gt_segments_init(&segments, 0, true, gt_writers[0]->open_bytes);
	cr_assert_eq(border_after(1), 1);
	cr_assert_eq(border_after(700), 700);
	cr_assert_eq(border_after(698), 700, "another thread's, a little late");
	cr_assert_eq(border_after(GT_CALL_OWN_IDS), GT_CALL_OWN_IDS);
	cr_assert_eq(border_after(GT_CALL_OWN_IDS + 5), GT_CALL_OWN_IDS + 5);
	cr_assert_eq(border_after(701), 701, "CUPTI tells again");
	cr_assert_eq(border_after(0), 701, "no id");
	gt_segments_fini(&segments);
}

Test(segment_border, ids_go_round)
{
	gt_segments_init(&segments, 0, true, gt_writers[0]->open_bytes);
	for (uint64_t id = 0x10000000; id < 0x100000000; id += 0x10000000)
		cr_assert_eq(border_after((uint32_t)id), id);
	cr_assert_eq(border_after(5), 5);
	cr_assert_eq(border_after(0xfffffff0), 5);
	gt_segments_fini(&segments);
}
