/* SPDX-License-Identifier: Apache-2.0
 *
 * What each file of a process repeats: names of threads, the newest of very many. The next file has
 * its memory when all other has been given out.
 */
#include "pipeline/output/segments.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/guest/memory.h"
#include "pipeline/output/output.h"
#include "pipeline/spool/spooled.h"

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
	struct gt_segments segments = {0};

	gt_segments_init(&segments, 0, true, gt_writers[0]->open_bytes);
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

static struct gt_config config;
static struct gt_metadata metadata = {.process = "test", .host = "host", .pid = 1};
static struct gt_ledger ledger;
static struct gt_spooling spooling;
static struct gt_output output = {
	.config = &config,
	.metadata = &metadata,
	.ledger = &ledger,
	.spooling = &spooling,
};

static void configure(const char *format, const char *folder)
{
	gt_config_init(&config);
	cr_assert_eq(gt_config_set(&config, GT_CONFIG_OUTPUT, folder), 0);
	cr_assert_eq(gt_config_set(&config, GT_CONFIG_FORMAT, format), 0);
	cr_assert_eq(gt_config_set(&config, GT_CONFIG_MAX_SIZE, "1M"), 0);
}

static void remove_all(const char *folder)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

static void check_next_file(const char *format)
{
	char folder[] = "/tmp/gt-segments-XXXXXX";
	struct gt_event event = {.kind = GT_EVENT_NOTE,
				 .note = {.name = "capture gap", .what = "nothing to see"}};
	size_t before;

	cr_assert_not_null(mkdtemp(folder));
	configure(format, folder);
	gt_output_find(&output);
	before = gt_memory_count().now;
	cr_assert_eq(gt_output_open(&output), 0);
	cr_expect_leq(gt_memory_count().now - before, 2 * output.writer->ops->open_bytes,
		      "of this writer and the next");
	gt_memory_limit(gt_memory_count().now, "--max-rss");
	for (int i = 0; i < 100000 && !metadata.segment[GT_SEGMENT_NUMBER]; i++) {
		event.start = event.end += 20;
		gt_output_event(&output, &event);
	}
	cr_expect_eq(metadata.segment[GT_SEGMENT_NUMBER], 2, "%s: its memory was given out",
		     format);
	gt_memory_limit(0, "--max-rss");
	gt_output_close(&output);
	remove_all(folder);
}

Test(segments, next_file_has_its_memory)
{
	check_next_file("chrome");
}

Test(segments, next_pftrace_has_its_memory)
{
	check_next_file("perfetto");
}

/* A buffer that came back after its file was closed is no debt of the next one. */
Test(segments, buffers_that_come_back_are_no_debt)
{
	struct gt_segments segments = {0};
	struct gt_ledger first = {0}, second = {0};

	gt_segments_init(&segments, 0, true, gt_writers[0]->open_bytes);
	first.count[GT_LEDGER_CALLS_SEEN] = 5;
	first.count[GT_LEDGER_BUFFERS_KEPT] = first.count[GT_LEDGER_BUFFERS_UNREAD] = 1;
	gt_segments_end(&segments, &first);
	second.count[GT_LEDGER_CALLS_SEEN] = 7;
	gt_segments_rest(&segments, &second);
	cr_assert_eq(second.count[GT_LEDGER_CALLS_SEEN], 2);
	cr_assert_eq(second.count[GT_LEDGER_BUFFERS_KEPT], 0);
	cr_assert_eq(second.count[GT_LEDGER_BUFFERS_UNREAD], 0);
	gt_segments_fini(&segments);
}
