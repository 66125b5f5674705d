/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery from the spool: what a killed process had not written becomes a trace.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/call/kernel_names.h"
#include "collectors/call/records.h"
#include "collectors/cupti/replay.h"
#include "collectors/nvtx/record.h"
#include "core/spool_view.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/recorder/recorder.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/release.h"
#include "pipeline/replay.h"
#include "tests/unit/spool_template.h"

static char folder[] = "/tmp/gt-recover-XXXXXX";

static void setup(void)
{
	cr_assert(mkdtemp(folder));
}

static void teardown(void)
{
	char command[128];

	gt_spool_remove();
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(recover, .init = setup, .fini = teardown);

/* The one trace in the folder, as text; free(). */
static char *read_trace(void)
{
	char path[4096] = "", *text = calloc(1, 1 << 20);
	DIR *entries = opendir(folder);
	struct dirent *entry;
	FILE *file;

	while ((entry = readdir(entries)))
		if (strstr(entry->d_name, ".pt.trace.json"))
			snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
	closedir(entries);
	if (!*path)
		return text;
	file = fopen(path, "rb");
	cr_assert(file && fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

static int count(const char *text, const char *what)
{
	int found = 0;

	for (; (text = strstr(text, what)); text++)
		found++;
	return found;
}

static char *recover(void)
{
	size_t size;
	void *data = template_read(&size);

	cr_assert_eq(gt_recover_bytes(data, size, folder), 0);
	free(data);
	return read_trace();
}

Test(recover, makes_events_of_rings_and_buffers)
{
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	template_kernels(2, "_Z5scalePffi");
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"cat\": \"cuda_runtime\""), TEMPLATE_CALLS, "%s", text);
	cr_assert_eq(count(text, "\"cat\": \"kernel\""), 2);
	cr_assert_eq(count(text, "\"ph\":\"f\""), 2);
	cr_assert(strstr(text, "\"launches_without_record\": 1"));
	cr_assert(strstr(text, "(name not recovered)"), "nobody had read the name");
	free(text);
}

static void launch(uint32_t correlation, const char *symbol)
{
	gt_call_enter(GT_API_RUNTIME, TEMPLATE_LAUNCH, correlation);
	gt_call_aim(0, (uint64_t)(uintptr_t)symbol, 1);
	gt_call_exit(GT_API_RUNTIME, TEMPLATE_LAUNCH, 0);
}

/* Killed before any record of the kernel was read: the launch had its name. The record shows it at
 * another address than the launch, or at the same and its call is not known. */
Test(recover, names_kernels_by_their_launches)
{
	static const char symbol[] = "_Z5scalePffi", other[] = "_Z5scalePffi ";
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	launch(1, symbol);
	launch(7, symbol);
	template_kernels(1, other);
	template_kernels(2, symbol);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"cat\": \"kernel\", \"name\": \"scale(float*, float, int)\""), 3,
		     "%s", text);
	cr_assert_not(strstr(text, "not recovered"));
	free(text);
}

/* The last clock sample may be old: the process was busy when it died. */
Test(recover, takes_times_behind_the_last_look_at_the_clock)
{
	struct gt_clock_sample *look;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	template_kernels(2, "_Z5scalePffi");
	template.clock.count = 1;
	look = &template.clock.samples[0];
	look->realtime -= 60000000000u;
	look->monotonic -= 60000000000u;
	template.clock.first = *look;
	gt_spooling_clock(&template.spooling);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"cat\": \"kernel\""), 2, "%s", text);
	cr_assert_eq(count(text, "untimed"), 4, "in the ledger alone");
	free(text);
}

/* Killed in the round that began with a clock sample: what it has written has these times. */
Test(recover, takes_times_by_the_look_at_the_clock_that_the_file_has)
{
	struct gt_clock *clock = &template.clock;
	char *text, start[64];
	uint64_t time;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	gt_release_buffers(&template.release);
	clock->samples[clock->count] = clock->first;
	clock->samples[clock->count++].realtime += 500;
	gt_spooling_clock(&template.spooling);
	template_calls(1);
	template_kernels(1, "_Z5scalePffi");
	time = gt_clock_from_realtime(clock, clock->first.realtime + 1000) - template.metadata.base;
	snprintf(start, sizeof(start), "\"ts\": %" PRIu64 ".%03" PRIu64 ", \"dur\": 0.500,",
		 time / 1000, time % 1000);
	text = recover();
	cr_assert_eq(count(text, start), 1, "%s not in %s", start, text);
	free(text);
}

/* A newer CUPTI with longer records, whose additional fields look like the kind of a record. */
Test(recover, finds_the_lengths_of_records)
{
	static const CUpti_ActivityKernel8 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
	static const CUpti_ActivityMemset4 set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET};
	uint32_t appended[6] = {CUPTI_ACTIVITY_KIND_MEMCPY, 0, CUPTI_ACTIVITY_KIND_MEMSET, 7};
	uint8_t *buffer, *end;
	size_t size, records;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	gt_cupti_buffers_request(&buffer, &size, &records);
	end = buffer;
	for (uint32_t i = 0; i < 6; i++) {
		CUpti_ActivityKernel8 a = kernel;
		CUpti_ActivityMemset4 b = set;

		a.start = b.start = template.clock.first.realtime + 1000 * (i + 1);
		a.end = b.end = a.start + 500;
		a.correlationId = b.correlationId = i + 1;
		appended[2] = i ? 0 : CUPTI_ACTIVITY_KIND_MEMSET;
		appended[0] = i ? 100 : CUPTI_ACTIVITY_KIND_MEMCPY;
		memcpy(end, &a, sizeof(a));
		memcpy(end + sizeof(a), appended, sizeof(appended));
		end += sizeof(a) + sizeof(appended);
		memcpy(end, &b, sizeof(b));
		memcpy(end + sizeof(b), appended, 8);
		end += sizeof(b) + 8;
	}
	gt_cupti_buffers_complete(buffer, (size_t)(end - buffer));
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"cat\": \"kernel\""), 6, "%s", text);
	cr_assert_eq(count(text, "\"cat\": \"gpu_memset\""), 6, "%s", text);
	cr_assert(strstr(text, "\"unreadable_bytes\": 0"));
	free(text);
}

Test(recover, knows_names_that_were_read_in_time)
{
	static const char mangled[] = "_Z5scalePffi";
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	*gt_translate_name_slot(gt_spooling_notes(&template.spooling),
				(uint64_t)(uintptr_t)mangled) =
		(struct gt_translate_name){(uint64_t)(uintptr_t)mangled,
					   gt_intern_cstr(template.stores.strings, "scale(float*)"),
					   gt_intern_cstr(template.stores.strings, mangled)};
	template_kernels(1, mangled);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert(strstr(text, "\"name\": \"scale(float*)\""), "%s", text);
	cr_assert(strstr(text, "\"mangled name\":\"_Z5scalePffi\""), "%s", text);
	free(text);
}

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

/* Of the last event with @what in it, in microseconds. */
static double end_of(const char *text, const char *what)
{
	const char *last = NULL;
	double ts, duration;

	while ((text = strstr(text, what)))
		last = text++;
	cr_assert_not_null(last, "%s", what);
	cr_assert_eq(sscanf(strstr(last, "\"ts\""), "\"ts\": %lf, \"dur\": %lf", &ts, &duration),
		     2);
	return ts + duration;
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

static double start_of(const char *text, const char *what)
{
	const char *at = strstr(text, what);
	double ts;

	cr_assert(at && (at = strstr(at, "\"ts\"")) && sscanf(at, "\"ts\": %lf", &ts) == 1, "%s",
		  what);
	return ts;
}

/* A kernel without times; one call has id 1. The recovered file. */
static char *recover_untimed(uint32_t correlation)
{
	CUpti_ActivityKernel8 *record;
	uint8_t *buffer;
	size_t size, records;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	gt_cupti_buffers_request(&buffer, &size, &records);
	record = (void *)buffer;
	*record = (CUpti_ActivityKernel8){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					  .correlationId = correlation};
	gt_cupti_buffers_complete(buffer, sizeof(*record));
	gt_release_buffers(&template.release);
	return recover();
}

Test(recover, puts_work_without_times_at_its_launch)
{
	char *text = recover_untimed(1);

	cr_assert_eq(start_of(text, "\"name\": \"kernel (untimed)\""),
		     start_of(text, "\"cat\": \"cuda_runtime\""), "%s", text);
	free(text);
}

Test(recover, puts_work_without_times_and_without_a_launch_into_the_life_of_the_process)
{
	char *text = recover_untimed(1000);

	cr_assert_leq(start_of(text, "\"name\": \"kernel (untimed)\""),
		      end_of(text, "\"cat\": \"cuda_runtime\""), "%s", text);
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

Test(recover, has_the_samples_of_the_rings)
{
	struct gt_call_record *record;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	record = (void *)gt_ring_reserve(&gt_thread_self->ring, sizeof(*record));
	memset(record, 0, sizeof(*record));
	record->tid = gt_thread_self->tid;
	record->start = gt_clock_now();
	gt_ring_commit(&gt_thread_self->ring, &record->head, sizeof(*record), GT_RECORD_SAMPLE);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"cat\": \"cpu_sample\""), 1, "%s", text);
	cr_assert(strstr(text, "\"samples_received\": 1"), "%s", text);
	free(text);
}

Test(recover, leaves_out_what_was_released)
{
	const struct gt_ring_record *record;
	char *text;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	while ((record = gt_ring_next(&gt_thread_self->ring)))
		gt_ring_pass(&gt_thread_self->ring, record);
	gt_ring_release(&gt_thread_self->ring);
	template_calls(10);
	gt_release_buffers(&template.release);
	text = recover();
	cr_assert_eq(count(text, "\"correlation\": 1,"), 0);
	cr_assert_eq(count(text, "\"cat\": \"cuda_runtime\""), TEMPLATE_CALLS);
	free(text);
}

/* ---- what the process had lost ---- */

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
		GT_LEDGER_RANGES_THINNED,
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

static uint64_t count_in(const char *text, enum gt_ledger_key key)
{
	char name[64];
	const char *at;

	snprintf(name, sizeof(name), "\"%s\": ", gt_ledger_rows[key].json);
	at = strstr(text, name);
	cr_assert_not_null(at, "%s", name);
	return strtoull(at + strlen(name), NULL, 10);
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

/* What a full disk left of it is not taken for all that the spool holds. */
Test(recover, tells_that_its_trace_could_not_be_written)
{
	static const rlim_t sizes[] = {0, 20000};
	char *text;
	void *data;
	size_t size;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	for (uint32_t i = 0; i < 10; i++)
		template_calls(1 + i * TEMPLATE_CALLS);
	gt_release_buffers(&template.release);
	data = template_read(&size);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct rlimit limit, before;

		getrlimit(RLIMIT_FSIZE, &before);
		limit = (struct rlimit){.rlim_cur = sizes[i], .rlim_max = before.rlim_max};
		setrlimit(RLIMIT_FSIZE, &limit);
		cr_expect_lt(gt_recover_bytes(data, size, folder), 0, "%u bytes",
			     (unsigned)sizes[i]);
		setrlimit(RLIMIT_FSIZE, &before);
	}
	cr_assert_eq(gt_recover_bytes(data, size, folder), 0);
	text = read_trace();
	free(text);
	free(data);
}

Test(recover, refuses_what_is_no_spool)
{
	static _Alignas(8) char bytes[sizeof(struct gt_spool_header)];

	cr_assert_eq(gt_recover_bytes(bytes, sizeof(bytes), folder), -EBADMSG);
	cr_assert_eq(gt_recover_bytes(bytes, 3, folder), -EBADMSG);
	cr_assert_eq(gputrace_recover(-1, folder, 0), -EBADF);
}

Test(recover, checks_every_address)
{
	struct gt_spool_view view = {
		.data = (const uint8_t *)folder, .size = 4096, .base = 1 << 20};

	cr_assert_not_null(gt_spool_view_at(&view, 1 << 20, 4096));
	cr_assert_null(gt_spool_view_at(&view, 1 << 20, 4097));
	cr_assert_null(gt_spool_view_at(&view, (1 << 20) + 8, 4096));
	cr_assert_null(gt_spool_view_at(&view, (1 << 20) + 4, 8), "not aligned");
	cr_assert_null(gt_spool_view_at(&view, 8, 8));
	cr_assert_null(gt_spool_view_at(&view, 0, UINT64_MAX));
	cr_assert_null(gt_spool_view_at(&view, UINT64_MAX - 7, 16));
}

/* ---- the spool ---- */

static int start_spool(const char *where, size_t max_bytes, char *why, size_t size)
{
	struct gt_spool_options options = {.where = where,
					   .build_id = "00",
					   .folder = "",
					   .max_bytes = max_bytes,
					   .started = 1};

	return gt_spool_start(&options, why, size);
}

Test(recover, takes_no_disk)
{
	char why[256];

	cr_assert_lt(start_spool("/proc", 64 << 20, why, sizeof(why)), 0);
	cr_assert(strstr(why, "is no tmpfs"), "%s", why);
	cr_assert_lt(start_spool("/nowhere", 64 << 20, why, sizeof(why)), 0);
	cr_assert(strstr(why, "is not there"), "%s", why);
	cr_assert_not(gt_spool_holds(gt_spool_map(100)));
}

Test(recover, gives_anonymous_memory_when_it_is_full)
{
	char why[256];
	void *first;

	if (start_spool("on", 1 << 20, why, sizeof(why)))
		cr_skip("no tmpfs with enough room");
	first = gt_spool_map(600000);
	cr_assert(gt_spool_holds(first));
	memset(first, 1, 600000);
	cr_assert_not(gt_spool_holds(gt_spool_map(600000)));
	cr_assert_eq(gt_spool_refused(), 602112);
	cr_assert(gt_spool_holds(gt_spool_map(100000)), "there is room for less");
}

Test(recover, is_the_parents_alone_after_fork)
{
	char why[256];
	uint32_t *word;
	int status;

	if (start_spool("on", 1 << 20, why, sizeof(why)))
		cr_skip("no tmpfs with enough room");
	word = gt_spool_map(4096);
	*word = 1;
	if (fork() == 0) {
		*word = 2;
		gt_spool_remove();
		_exit(gt_spool_is_open() || *gt_spool_path());
	}
	wait(&status);
	cr_assert_eq(status, 0);
	cr_assert_eq(*word, 1);
	cr_assert_eq(access(gt_spool_path(), F_OK), 0);
	gt_spool_remove();
	cr_assert_neq(access(gt_spool_path(), F_OK), 0);
	*word = 3; /* the memory stays */
}
