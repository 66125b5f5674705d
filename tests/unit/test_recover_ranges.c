/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery of ranges: of those whose beginning is in the spool, and of those that had left their
 * ring when the process was killed.
 */
#include <criterion/criterion.h>

#include "collectors/call/kernel_names.h"
#include "collectors/call/records.h"
#include "collectors/nvtx/record.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/sources/release.h"
#include "tests/unit/recover_fixture.h"

static void put_range(uint16_t op, uint64_t level, const char *name, uint32_t string)
{
	size_t size = sizeof(struct gt_nvtx_record) + strlen(name);
	struct gt_nvtx_record *record = (void *)gt_ring_reserve(&gt_thread_self->ring, size);

	memset(record, 0, sizeof(*record));
	record->head.flags = op;
	record->time = gt_clock_now();
	record->id = level;
	record->tid = gt_thread_self->tid;
	record->string = string;
	record->text_length = (uint16_t)strlen(name);
	memcpy(record->data, name, strlen(name));
	gt_ring_commit(&gt_thread_self->ring, &record->head, size, GT_RECORD_NVTX);
}

/* In a domain, by references into the registry of the dead process. */
static void put_registered(uint32_t string, uint32_t domain)
{
	struct gt_nvtx_record *record =
		(void *)gt_ring_reserve(&gt_thread_self->ring, sizeof(*record));

	memset(record, 0, sizeof(*record));
	record->head.flags = GT_NVTX_MARK;
	record->time = gt_clock_now();
	record->tid = gt_thread_self->tid;
	record->string = string;
	record->domain = domain;
	gt_ring_commit(&gt_thread_self->ring, &record->head, sizeof(*record), GT_RECORD_NVTX);
}

Test(recover, has_names_that_were_registered_with_nvtx)
{
	static char name[2000]; /* more than one may have */
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	memset(name, 'n', sizeof(name) - 1);
	template_calls(1);
	gt_kernel_names_note_as(GT_KERNEL_NAMES_NVTX | 5, "load a batch");
	gt_kernel_names_note_as(GT_KERNEL_NAMES_NVTX | 6, "reader");
	gt_kernel_names_note_as(GT_KERNEL_NAMES_NVTX | 7, name);
	put_registered(5, 6);
	put_registered(5, 0);
	put_registered(7, 0);
	put_registered(8, 9); /* had no room in the table */
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"name\": \"load a batch\""), 2, "%s", text);
	cr_assert_eq(count(text, "\"domain\":\"reader\""), 1, "%s", text);
	cr_assert_eq(count(text, "\"domain\""), 1, "%s", text);
	cr_assert_eq(count(text, "\"name\": \"nnnn"), 1, "%s", text);
	cr_assert_eq(count(text, "\"name\": \"(name not recovered)\""), 1, "%s", text);
	free(text);
}

Test(recover, has_the_ranges_of_the_rings)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	put_range(GT_NVTX_PUSH, 0, "epoch", 0);
	put_range(GT_NVTX_PUSH, 1, "step", 0);
	put_range(GT_NVTX_POP, 1, "", 0);
	put_range(GT_NVTX_POP, 0, "", 0);
	put_range(GT_NVTX_MARK, 0, "", 5);
	put_range(GT_NVTX_SAMPLE, 0, "", 6);
	put_range(GT_NVTX_PUSH, 0, "left open", 0);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"cat\": \"user_annotation\""), 4, "%s", text);
	cr_assert(strstr(text, "\"name\": \"epoch\"") && strstr(text, "\"name\": \"step\""));
	cr_assert(strstr(strstr(text, "\"name\": \"left open\""), "unfinished"), "%s", text);
	cr_assert(strstr(text, "\"name\": \"(name not recovered)\""), "it was registered");
	cr_assert(strstr(text, "\"ranges_lost\": 1"), "a counter: %s", text);
	free(text);
}

/* Not with this process's looking at them. */
Test(recover, ends_open_ranges_with_the_last_record)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	put_range(GT_NVTX_PUSH, 0, "left open", 0);
	template_calls(1 + TEMPLATE_CALLS);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_leq(end_of(text, "\"name\": \"left open\""),
		      end_of(text, "\"cat\": \"cuda_runtime\"") + 0.01, "%s", text);
	free(text);
}

/* Takes the records of ranges, as the drain thread does. @rings_too: they leave their ring. */
static void take_ranges(bool rings_too)
{
	const struct gt_ring_record *record;

	template.output.failed = rings_too; /* records need not wait for a file */
	while ((record = gt_ring_next(&gt_thread_self->ring))) {
		if (record->type == GT_RECORD_NVTX)
			gt_ranges_record(template.ranges, (const void *)record);
		gt_ring_pass(&gt_thread_self->ring, record);
	}
	gt_release_rings(&template.release);
}

Test(recover, has_ranges_whose_beginning_left_the_ring)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	put_range(GT_NVTX_PUSH, 0, "epoch", 0);
	put_range(GT_NVTX_PUSH, 1, "step", 0);
	put_range(GT_NVTX_START, 77, "request", 0);
	put_range(GT_NVTX_PUSH, 2, "over", 0);
	put_range(GT_NVTX_POP, 2, "", 0);
	take_ranges(true);
	template_calls(4);
	put_range(GT_NVTX_POP, 1, "", 0);
	put_range(GT_NVTX_PUSH, 1, "next", 0);
	put_range(GT_NVTX_END, 77, "", 0);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"cat\": \"user_annotation\""), 4, "%s", text);
	cr_assert_eq(count(text, "\"name\": \"step\""), 1, "%s", text);
	cr_assert_eq(count(text, "\"name\": \"request\""), 1, "%s", text);
	cr_assert_eq(count(text, "\"name\": \"next\""), 1, "%s", text);
	cr_assert_eq(count(text, "\"name\": \"epoch\""), 1, "%s", text);
	cr_assert_eq(count(text, "\"unfinished\""), 2, "epoch and next: %s", text);
	cr_assert(strstr(text, "\"ranges_lost\": 0"), "%s", text);
	free(text);
}

Test(recover, has_ranges_once_that_are_in_a_ring_too)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	put_range(GT_NVTX_PUSH, 0, "epoch", 0);
	put_range(GT_NVTX_START, 77, "request", 0);
	take_ranges(false); /* killed before the ring gives them back */
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"name\": \"epoch\""), 1, "%s", text);
	cr_assert_eq(count(text, "\"name\": \"request\""), 1, "%s", text);
	free(text);
}

Test(recover, counts_open_ranges_that_had_no_room)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	for (uint64_t level = 0; level < GT_SPOOLED_RANGES + 3; level++) {
		put_range(GT_NVTX_PUSH, level, "deep", 0);
		take_ranges(true);
	}
	template_calls(4);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"name\": \"deep\""), GT_SPOOLED_RANGES, "%d",
		     count(text, "\"name\": \"deep\""));
	cr_assert(strstr(text, "\"ranges_lost\": 3"), "%s", text);
	free(text);
}
