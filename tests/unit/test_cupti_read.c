/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers are read in parts: no record is skipped or read twice, and what cannot be read is
 * counted.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/cupti.h"
#include "collectors/cupti/internal.h"
#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/library/lengths.h"
#include "collectors/cupti/replay.h"
#include "collectors/cupti/records/translate.h"

#define BYTES   (1u << 20)
#define KIND    60000 /* of a CUPTI to come: counted, nothing else */
#define RECORDS 2500
#define SPOILED 7  /* and nothing can be read from here on */
#define LAST    33 /* of no kind that is asked for, but CUPTI may make them */

static struct gt_clock trace_clock;
static struct gt_ledger ledger;
static struct gt_translate translate;
static uint32_t kind;

/* As cuptiActivityGetNextRecord, of records that are all 8 bytes. */
static CUptiResult next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + 8 : buffer;

	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return (uint32_t)(*record)->kind == SPOILED ? CUPTI_ERROR_INVALID_KIND : CUPTI_SUCCESS;
}

static void complete(uint32_t records, uint32_t spoiled)
{
	size_t size, max;
	uint8_t *buffer;

	gt_cupti_buffers_request(&buffer, &size, &max);
	cr_assert_geq(size, (size_t)records * 8);
	for (uint32_t i = 0; i < records; i++)
		memcpy(buffer + (size_t)i * 8, &(uint32_t){i == spoiled ? SPOILED : kind}, 4);
	cr_assert(gt_cupti_buffers_complete(buffer, (size_t)records * 8));
}

/* Those that are full at once become larger. */
static void grow(void)
{
	struct gt_cupti_buffer done;
	uint8_t *buffer;
	size_t size, max;

	do {
		gt_cupti_buffers_request(&buffer, &size, &max);
		gt_cupti_buffers_complete(buffer, size);
		cr_assert(gt_cupti_buffers_next(&done));
		gt_cupti_buffers_recycle(&done, 1);
	} while (size < RECORDS * 8);
}

static void setup(void)
{
	memset(&gt_cupti, 0, sizeof(gt_cupti));
	gt_cupti.api.cuptiActivityGetNextRecord = next_record;
	gt_clock_init(&trace_clock);
	ledger = (struct gt_ledger){0};
	kind = KIND;
	translate = (struct gt_translate){.clock = &trace_clock, .ledger = &ledger};
	cr_assert_eq(gt_cupti_buffers_start(BYTES, 8 * BYTES, false, true), 0);
	grow();
}

TestSuite(cupti_read, .init = setup);

/* Returns how many parts the oldest buffer has. */
static int read_one(uint64_t *records)
{
	struct gt_cupti_reading reading;
	int parts = 1;

	*records = 0;
	cr_assert(gt_cupti_read_begin(&reading, &translate));
	while (gt_cupti_read_part(&reading, &translate, records))
		parts++;
	return parts;
}

static uint64_t count(enum gt_ledger_key key)
{
	return ledger.count[key];
}

Test(cupti_read, a_large_buffer_is_read_in_parts_and_whole)
{
	struct gt_cupti_reading reading;
	uint64_t records;

	complete(RECORDS, UINT32_MAX);
	complete(1, UINT32_MAX);
	cr_assert_eq(gt_cupti_buffers_waiting(),
		     gt_cupti_buffer_cost(RECORDS * 8) + gt_cupti_buffer_cost(8));
	cr_assert_gt(read_one(&records), 2);
	cr_assert_eq(records, RECORDS);
	cr_assert_eq(gt_cupti_buffers_waiting(), gt_cupti_buffer_cost(8));
	cr_assert_eq(read_one(&records), 1);
	cr_assert_eq(records, 1);
	cr_assert_not(gt_cupti_read_begin(&reading, &translate));
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNKNOWN), RECORDS + 1);
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNREADABLE_BYTES), 0);
}

Test(cupti_read, parts_end_where_the_buffer_does)
{
	uint64_t records;

	for (uint32_t size = 0; size < 8; size++) {
		complete(1024 * (size / 2) + size % 2, UINT32_MAX);
		read_one(&records);
		cr_assert_eq(records, 1024 * (size / 2) + size % 2);
	}
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNKNOWN), 2 * 1024 * 6 + 4);
}

Test(cupti_read, what_follows_an_invalid_record_is_counted)
{
	uint64_t records;

	complete(RECORDS, 2000);
	read_one(&records);
	cr_assert_eq(records, 2000);
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNKNOWN), 2000);
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNREADABLE_BYTES), (RECORDS - 1999) * 8);
	complete(RECORDS, 0);
	read_one(&records);
	cr_assert_eq(records, 0);
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNREADABLE_BYTES), (RECORDS - 1999 + RECORDS) * 8);
}

/* Its length is that of the others of its kind. */
Test(cupti_read, the_record_before_an_invalid_one_has_been_read)
{
	uint64_t records;

	kind = LAST;
	complete(RECORDS, 2000);
	read_one(&records);
	cr_assert_eq(records, 2000);
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNREADABLE_BYTES), (RECORDS - 2000) * 8);
	complete(2, 1);
	read_one(&records);
	cr_assert_eq(records, 1);
	cr_assert_eq(count(GT_LEDGER_RECORDS_UNREADABLE_BYTES), (RECORDS - 2000 + 1) * 8);
}

static void ignore(void *context, struct gt_event *event)
{
}

/* The drain thread has hung in CUPTI since it last read the clock; the exiting thread reads
 * what came since. */
Test(cupti_read, what_came_meanwhile_is_not_ahead_of_its_time)
{
	CUpti_ActivityMemset4 record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET, .correlationId = 1};
	uint64_t now = gt_clock_from_monotonic(&trace_clock, gt_clock_now());
	size_t size, max;
	uint8_t *buffer;

	translate.now = now - 10000000000u;
	translate.session_start = trace_clock.first.realtime;
	translate.emit = ignore;
	record.start = trace_clock.first.realtime;
	record.end = record.start + 1000;
	gt_cupti_buffers_request(&buffer, &size, &max);
	memcpy(buffer, &record, sizeof(record));
	gt_cupti_buffers_complete(buffer, sizeof(record));
	gt_cupti_replay_delivered(&translate);
	cr_assert_eq(count(GT_LEDGER_RECORDS_MEMSET), 1);
	cr_assert_eq(count(GT_LEDGER_TIME_AHEAD), 0);
}

#define COPY_BYTES (sizeof(CUpti_ActivityMemcpy5) + 8)

/* Copies as a newer CUPTI makes them, with 8 bytes more, in an unfinished buffer of @size bytes. */
static void make_copies(uint8_t *buffer, size_t size, int copies, uint64_t appended)
{
	CUpti_ActivityMemcpy5 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY, .correlationId = 1};

	copy.start = trace_clock.first.realtime;
	copy.end = copy.start + 1000;
	memset(buffer, 0, size);
	for (int i = 0; i < copies; i++) {
		memcpy(buffer + (size_t)i * COPY_BYTES, &copy, sizeof(copy));
		memcpy(buffer + (size_t)i * COPY_BYTES + sizeof(copy), &appended, 8);
	}
}

/* What is appended to the last record looks like a copy that is under way, or like nothing. */
Test(cupti_read, lengths_are_found_in_unfinished_buffers)
{
	for (uint64_t appended = 0; appended <= CUPTI_ACTIVITY_KIND_MEMCPY; appended++) {
		static struct gt_translate_notes notes;
		struct gt_cupti_replay how = {
			.notes = &notes, .translate = &translate, .unfinished = true};
		static _Alignas(8) uint8_t one[1024], many[1024];
		uint64_t before = count(GT_LEDGER_RECORDS_MEMCPY);

		memset(&notes, 0, sizeof(notes));
		translate.session_start = trace_clock.first.realtime;
		translate.emit = ignore;
		make_copies(one, sizeof(one), 1, appended);
		make_copies(many, sizeof(many), 7, appended);
		gt_cupti_replay_learn(&how, appended ? one : many, sizeof(many));
		gt_cupti_replay(&how, one, sizeof(one));
		gt_cupti_replay(&how, many, sizeof(many));
		cr_assert_eq(count(GT_LEDGER_RECORDS_MEMCPY) - before, 8);
	}
}

/* What a newer CUPTI appends to a copy looks like the kind of a copy, and two copies would fill the
 * buffer. */
Test(cupti_read, a_record_that_begins_inside_another_is_refused_by_its_times)
{
	CUpti_ActivityMemcpy5 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY, .correlationId = 1};
	CUpti_ActivityMemset4 set = {
		.kind = CUPTI_ACTIVITY_KIND_MEMSET, .bytes = 64, .correlationId = 2};
	const uint64_t appended[2] = {0, CUPTI_ACTIVITY_KIND_MEMCPY};
	size_t size, max;
	uint8_t *buffer;

	_Static_assert(sizeof(set) == sizeof(copy), "else two copies do not fill the buffer");
	translate.session_start = trace_clock.first.realtime;
	translate.emit = ignore;
	copy.start = set.start = trace_clock.first.realtime;
	copy.end = set.end = copy.start + 1000;
	gt_cupti_buffers_request(&buffer, &size, &max);
	memcpy(buffer, &copy, sizeof(copy));
	memcpy(buffer + sizeof(copy), appended, sizeof(appended));
	memcpy(buffer + sizeof(copy) + sizeof(appended), &set, sizeof(set));
	gt_cupti_buffers_complete(buffer, sizeof(copy) + sizeof(appended) + sizeof(set));
	gt_cupti_replay_delivered(&translate);
	cr_assert_eq(count(GT_LEDGER_RECORDS_MEMCPY), 1);
	cr_assert_eq(count(GT_LEDGER_RECORDS_MEMSET), 1);
	cr_assert_eq(count(GT_LEDGER_MEMCPYS_UNTIMED), 0);
}

/* The only copy of a process that was killed: its lengths would fit another one, which begins with
 * what 12.8 appends to it. */
Test(cupti_read, lengths_of_a_known_version_need_not_be_found)
{
	static struct gt_translate_notes notes;
	static _Alignas(8) uint8_t data[1024];
	struct gt_cupti_replay how = {.notes = &notes, .translate = &translate, .unfinished = true};
	CUpti_ActivityGraphTrace graph = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
					  .correlationId = 2};

	translate.session_start = trace_clock.first.realtime;
	translate.emit = ignore;
	make_copies(data, sizeof(data), 1, CUPTI_ACTIVITY_KIND_MEMCPY);
	graph.start = trace_clock.first.realtime;
	graph.end = graph.start + 1000;
	memcpy(data + COPY_BYTES, &graph, sizeof(graph));
	gt_translate_note_lengths(&notes, 26);
	gt_cupti_replay(&how, data, sizeof(data));
	cr_assert_eq(count(GT_LEDGER_RECORDS_MEMCPY), 1);
	cr_assert_eq(count(GT_LEDGER_RECORDS_GRAPH), 1);
}

Test(cupti_read, lengths_of_versions)
{
	cr_assert_eq(gt_cupti_record_bytes(18, CUPTI_ACTIVITY_KIND_MEMCPY), 88);
	cr_assert_eq(gt_cupti_record_bytes(25, CUPTI_ACTIVITY_KIND_MEMCPY), 88);
	cr_assert_eq(gt_cupti_record_bytes(26, CUPTI_ACTIVITY_KIND_MEMCPY), 96);
	cr_assert_eq(gt_cupti_record_bytes(130401, CUPTI_ACTIVITY_KIND_MEMCPY), 112);
	cr_assert_eq(gt_cupti_record_bytes(18, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	cr_assert_eq(gt_cupti_record_bytes(130500, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 248);
	cr_assert_eq(gt_cupti_record_bytes(130600, CUPTI_ACTIVITY_KIND_MEMCPY), 0, "not checked");
	cr_assert_eq(gt_cupti_record_bytes(130500, CUPTI_ACTIVITY_KIND_NAME), 0, "not read");
}
