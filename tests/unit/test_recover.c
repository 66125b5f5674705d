/* SPDX-License-Identifier: Apache-2.0
 *
 * Recovery from the spool: what a killed process had not written becomes a trace.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/resource.h>

#include "collectors/call/kernel_names.h"
#include "collectors/call/records.h"
#include "core/spool_view.h"
#include "pipeline/replay.h"
#include "pipeline/sources/release.h"
#include "tests/unit/recover_fixture.h"

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

/* The stamps were ahead of the clock, and the process looked at it again when it had read them, or
 * some of them, and written their work. */
static void read_by_an_earlier_clock(bool whole)
{
	struct gt_clock *clock = &template.clock;
	struct gt_cupti_buffer buffer;
	char *text, start[64];
	uint64_t time;

	if (!template_begin())
		cr_skip("no tmpfs with enough room");
	template_calls(1);
	template_kernels(1, "_Z5scalePffi");
	cr_assert(gt_cupti_buffers_next(&buffer));
	buffer.sampled = gt_clock_newest(clock);
	if (whole)
		gt_cupti_buffers_recycle(&buffer, template.metadata.start);
	else
		gt_cupti_buffers_begin(&buffer, template.metadata.start);
	time = gt_clock_from_realtime(clock, clock->first.realtime + 1000) - template.metadata.base;
	clock->samples[clock->count] = clock->first;
	clock->samples[clock->count].monotonic += 486;
	clock->samples[clock->count++].realtime += 500;
	gt_spooling_clock(&template.spooling);
	gt_release_buffers(&template.release);
	snprintf(start, sizeof(start), "\"ts\": %" PRIu64 ".%03" PRIu64 ", \"dur\": 0.500,",
		 time / 1000, time % 1000);
	text = recover();
	cr_assert_eq(count(text, start), 1, "%s not in %s", start, text);
	free(text);
}

Test(recover, takes_times_of_read_buffers_by_the_clock_that_they_were_read_by)
{
	read_by_an_earlier_clock(true);
}

Test(recover, takes_times_of_half_read_buffers_by_the_clock_that_they_were_read_by)
{
	read_by_an_earlier_clock(false);
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

/* What a full disk left of it is not taken for all that the spool holds. */
Test(recover, tells_that_its_trace_could_not_be_written)
{
	static const rlim_t sizes[] = {0, 20000};
	char roomy[64], *text;
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
	snprintf(roomy, sizeof(roomy), "%s/roomy", folder);
	cr_assert_eq(gt_recover_bytes(data, size, roomy), 0);
	text = read_trace(roomy);
	cr_expect_eq(count(text, "\"cat\": \"cuda_runtime\""), 10 * TEMPLATE_CALLS, "%s", text);
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
