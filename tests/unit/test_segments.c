/* SPDX-License-Identifier: Apache-2.0
 *
 * What each file of a process repeats: names of threads, the newest of very many.
 */
#include "pipeline/output/segments.h"

#include <criterion/criterion.h>

#define KEPT 4096u

static const struct gt_event *find(const struct gt_segments *segments, uint32_t tid)
{
	for (uint32_t i = 0; i < segments->named_count; i++)
		if (segments->named[i].tid == tid)
			return &segments->named[i];
	return NULL;
}

Test(segments, newest_names_stay)
{
	struct gt_segments segments;

	gt_segments_init(&segments, 0, true);
	for (uint32_t tid = 1; tid <= KEPT + 100; tid++) {
		struct gt_event event = {.kind = GT_EVENT_THREAD, .tid = tid};

		gt_segments_see(&segments, &event);
	}
	cr_assert_eq(segments.named_count, KEPT);
	cr_assert_null(find(&segments, 100), "it gave way");
	for (uint32_t tid = 101; tid <= KEPT + 100; tid++)
		cr_assert_not_null(find(&segments, tid), "%u", tid);
	gt_segments_fini(&segments);
}
