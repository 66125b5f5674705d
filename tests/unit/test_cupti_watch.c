/* SPDX-License-Identifier: Apache-2.0
 *
 * The watch over CUPTI, with a fake CUPTI: what is noticed, when the tracer attaches again, and
 * what it ignores.
 */
#include "collectors/cupti/watch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/foreign.h"
#include "collectors/cupti/internal.h"
#include "core/guest/forkguard.h"

#define SECOND 1000000000ull

static struct {
	CUptiResult subscribe;
	uint32_t callback_enabled;
	bool buffers_are_ours;                       /* a dumped record comes to our callbacks */
	CUpti_BuffersCallbackCompleteFunc completed; /* registered by us */
	int subscribed, registered, enabled, unsubscribed, clocks, flushes, given_back;
	uint64_t disabled; /* a bit each */
} fake;

static struct gt_config config;
static struct gt_cupti_status status;
static struct gt_cupti_watch watch;
static uint64_t now;

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
			     void *user)
{
	(void)handle;
	(void)callback;
	(void)user;
	fake.subscribed++;
	return fake.subscribe;
}

static CUptiResult unsubscribe(CUpti_SubscriberHandle handle)
{
	(void)handle;
	fake.unsubscribed++;
	return CUPTI_SUCCESS;
}

static CUptiResult disable_kind(CUpti_ActivityKind kind)
{
	fake.disabled |= (uint64_t)1 << kind;
	return CUPTI_SUCCESS;
}

static CUptiResult flush(uint32_t flag)
{
	fake.flushes += fake.registered && flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
	return CUPTI_SUCCESS;
}

static CUptiResult register_clock(CUpti_TimestampCallbackFunc timestamp)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	fake.clocks += timestamp() / SECOND - (uint64_t)ts.tv_sec < 100;
	return CUPTI_SUCCESS;
}

static CUptiResult callback_state(uint32_t *enabled, CUpti_SubscriberHandle handle,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	(void)handle;
	(void)domain;
	(void)cbid;
	*enabled = fake.callback_enabled;
	return CUPTI_SUCCESS;
}

static CUptiResult enable_callback(uint32_t enable, CUpti_SubscriberHandle handle,
				   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	(void)enable;
	(void)handle;
	(void)domain;
	(void)cbid;
	return CUPTI_SUCCESS;
}

static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requested,
				      CUpti_BuffersCallbackCompleteFunc completed)
{
	(void)requested;
	fake.completed = completed;
	fake.registered++;
	return CUPTI_SUCCESS;
}

static CUptiResult enable_kind(CUpti_ActivityKind kind)
{
	(void)kind;
	fake.enabled++;
	return CUPTI_SUCCESS;
}

static CUptiResult dump_kind(CUpti_ActivityKind kind)
{
	uint8_t *buffer;
	size_t size, records;

	(void)kind;
	if (!fake.buffers_are_ours)
		return CUPTI_SUCCESS;
	gt_cupti_buffers_request(&buffer, &size, &records);
	gt_cupti_buffers_complete(buffer, 8);
	return CUPTI_SUCCESS;
}

static void its_request(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = NULL;
	*size = *most = 0;
}

static uint64_t its_clock(void)
{
	return 1;
}

static void its_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			 size_t valid)
{
	(void)context;
	(void)stream;
	fake.given_back += buffer && size == 64 && valid == 8;
}

static bool fetch(bool forced)
{
	gt_cupti_fetch(0, forced);
	return true;
}

static void start(int started, const char *coexist)
{
	memset(&gt_cupti, 0, sizeof(gt_cupti));
	memset(&fake, 0, sizeof(fake));
	cr_assert_eq(gt_forkguard_arm(), 0);
	fake.callback_enabled = 1;
	gt_cupti.api.version = 130001;
	gt_cupti.api.cuptiSubscribe = subscribe;
	gt_cupti.api.cuptiUnsubscribe = unsubscribe;
	gt_cupti.api.cuptiGetCallbackState = callback_state;
	gt_cupti.api.cuptiEnableCallback = enable_callback;
	gt_cupti.api.cuptiActivityRegisterCallbacks = register_callbacks;
	gt_cupti.api.cuptiActivityEnable = enable_kind;
	gt_cupti.api.cuptiActivityDisable = disable_kind;
	gt_cupti.api.cuptiActivityFlushAll = flush;
	gt_cupti.api.cuptiActivityRegisterTimestampCallback = register_clock;
	gt_cupti.api.cuptiActivityEnableAndDump = dump_kind;
	gt_config_init(&config);
	cr_assert_eq(gt_config_set(&config, GT_CONFIG_COEXIST, coexist), 0);
	gt_cupti.user.fetch = fetch;
	gt_cupti.config = &config;
	gt_cupti.subscribed = started == 0;
	now = 100 * SECOND;
	gt_cupti_buffers_start(65536, 1 << 20, false, true);
	gt_cupti.has_buffers = true;
	gt_cupti_watch_start(&watch, &config, &status, started, now);
}

/* @ms later. @calls, @records: how many there have been. */
static enum gt_cupti_hold look(uint64_t ms, uint64_t calls, uint64_t records, bool unanswered)
{
	struct gt_cupti_signs signs = {
		.calls = calls, .records = records, .unanswered = unanswered};

	signs.now = now += ms * 1000000u;
	gt_cupti_watch_poll(&watch, &signs);
	return watch.hold;
}

Test(cupti_watch, what_works_is_left_alone)
{
	start(0, "own");
	for (uint64_t i = 1; i < 100; i++)
		cr_assert_eq(look(500, i, i, false), GT_CUPTI_OURS);
	cr_assert_eq(look(500, 99, 99, false), GT_CUPTI_OURS, "an idle program");
	cr_assert_eq(fake.subscribed + fake.registered + fake.enabled, 0);
	cr_assert_eq(watch.gaps, 0);
}

Test(cupti_watch, a_refused_subscription_is_asked_for_at_growing_intervals)
{
	start(-EBUSY, "own");
	fake.subscribe = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	for (int i = 0; i < 120; i++)
		cr_assert_eq(look(500, 0, 0, false), GT_CUPTI_REFUSED);
	cr_assert_leq(fake.subscribed, 8, "%d in a minute", fake.subscribed);
	cr_assert_geq(fake.subscribed, 5);
	fake.subscribe = CUPTI_SUCCESS;
	for (int i = 0; i < 40 && watch.hold != GT_CUPTI_OURS; i++)
		look(500, 0, 0, false);
	cr_assert_eq(watch.hold, GT_CUPTI_OURS);
	cr_assert(gt_cupti_watch_has_calls(&watch));
	cr_assert_eq(watch.gaps, 1);
}

Test(cupti_watch, work_without_records_is_buffers_taken)
{
	start(0, "share");
	cr_assert_eq(look(500, 1, 0, true), GT_CUPTI_OURS, "once is not enough");
	cr_assert_eq(look(500, 2, 0, true), GT_CUPTI_BUFFERS_TAKEN);
	cr_assert(gt_cupti_watch_has_calls(&watch), "the subscription is ours still");
	for (int i = 0; i < 19; i++)
		cr_assert_eq(look(500, 3 + (uint64_t)i, 0, true), GT_CUPTI_BUFFERS_TAKEN);
	cr_assert_eq(fake.registered, 0);
	cr_assert_eq(look(500, 30, 0, true), GT_CUPTI_OURS, "after ten seconds");
	cr_assert_eq(fake.registered, 1);
}

Test(cupti_watch, who_yields_does_not_take_buffers_back)
{
	start(0, "yield");
	look(500, 1, 0, true);
	look(500, 2, 0, true);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(look(500, 3 + (uint64_t)i, 0, true), GT_CUPTI_BUFFERS_TAKEN);
	cr_assert_eq(fake.registered, 0);
}

Test(cupti_watch, who_asks_for_buffers_has_our_callbacks)
{
	uint8_t *buffer;
	size_t size, records;

	start(0, "own");
	for (uint64_t i = 1; i < 20; i++) {
		gt_cupti_buffers_request(&buffer, &size, &records);
		cr_assert_eq(look(500, i, 0, true), GT_CUPTI_OURS,
			     "work under way keeps the buffer");
	}
}

Test(cupti_watch, a_record_that_comes_after_all_ends_the_suspicion)
{
	start(0, "yield");
	look(500, 1, 0, true);
	cr_assert_eq(look(500, 2, 0, true), GT_CUPTI_BUFFERS_TAKEN);
	cr_assert_not(gt_cupti.away, "flushes go on");
	cr_assert_eq(look(500, 3, 0, true), GT_CUPTI_BUFFERS_TAKEN);
	cr_assert_eq(look(500, 4, 1, false), GT_CUPTI_OURS);
	cr_assert_eq(fake.registered, 0, "nothing had to be attached again");
}

Test(cupti_watch, work_without_records_though_the_buffers_come_is_kinds_off)
{
	start(0, "yield");
	fake.buffers_are_ours = true;
	gt_cupti.active = true;
	look(500, 1, 0, true);
	cr_assert_eq(look(500, 2, 0, true), GT_CUPTI_OURS, "switched on again at once");
	cr_assert_eq(watch.gaps, 1);
	cr_assert_eq(watch.reason, GT_CUPTI_KINDS_OFF);
	cr_assert_gt(fake.enabled, 0);
	for (int i = 0; i < 20; i++)
		look(500, 3 + (uint64_t)i, 0, true);
	cr_assert_eq(watch.gaps, 1,
		     "what gives no records for another reason is one gap, not many");
	look(500, 40, 1, false);
	look(500, 41, 1, true);
	look(500, 42, 1, true);
	cr_assert_eq(watch.gaps, 2);
}

Test(cupti_watch, a_subscription_that_cupti_forgot_is_made_again)
{
	start(0, "own");
	look(500, 5, 1, false);
	fake.callback_enabled = 0;
	cr_assert_eq(look(500, 6, 1, false), GT_CUPTI_OURS, "calls still come");
	cr_assert_eq(look(500, 6, 1, false), GT_CUPTI_DETACHED);
	cr_assert_not(gt_cupti_watch_has_calls(&watch));
	fake.callback_enabled = 1;
	look(500, 7, 1, false);
	cr_assert_eq(look(600, 8, 1, false), GT_CUPTI_OURS);
	cr_assert_eq(fake.subscribed, 1);
}

Test(cupti_watch, a_collection_that_is_seen_is_waited_for)
{
	start(0, "own");
	gt_cupti_foreign_registering("libother.so", its_request, its_complete);
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMCPY, true);
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMSET, true);
	for (int i = 0; i < 100; i++)
		cr_assert_eq(look(500, (uint64_t)i, 0, false), GT_CUPTI_BUFFERS_TAKEN);
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMSET, false);
	cr_assert_eq(look(1, 200, 0, false), GT_CUPTI_BUFFERS_TAKEN);
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMCPY, false);
	cr_assert_eq(look(1, 201, 0, false), GT_CUPTI_OURS);
	cr_assert_str_eq(gt_cupti_foreign_library(), "libother.so");
	cr_assert_eq(watch.gaps, 1);
}

Test(cupti_watch, a_buffer_that_comes_late_is_given_back)
{
	uint8_t buffer[64] = {0};

	start(0, "own");
	gt_cupti_foreign_registering("libother.so", its_request, its_complete);
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMCPY, true);
	look(500, 1, 0, false);
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMCPY, false);
	cr_assert_eq(look(1, 2, 0, false), GT_CUPTI_OURS);
	fake.completed(NULL, 0, buffer, sizeof(buffer), 8);
	cr_assert_eq(fake.given_back, 1);
	cr_assert_eq(gt_cupti_buffers_count().foreign, 1, "and read");
}

Test(cupti_watch, a_fatal_error_is_the_end)
{
	start(0, "own");
	gt_cupti.dead = true;
	cr_assert(gt_cupti_watch_poll_failure(&watch, now));
	cr_assert_not(gt_cupti_watch_poll_failure(&watch, now), "reported once");
	for (int i = 0; i < 100; i++)
		cr_assert_eq(look(500, (uint64_t)i, 0, true), GT_CUPTI_FAILED);
	cr_assert_eq(fake.subscribed + fake.registered, 0);
}

/* As if CUPTI had asked us for a buffer once. */
static void have_asked(void)
{
	uint8_t *buffer;
	size_t size, records;

	gt_cupti_buffers_request(&buffer, &size, &records);
}

static uint64_t bit(CUpti_ActivityKind kind)
{
	return (uint64_t)1 << kind;
}

Test(cupti_watch, who_calls_finalize_is_detached_alone)
{
	start(0, "own");
	gt_cupti.active = true;
	have_asked();
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMCPY, true);
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_DRIVER, true);
	gt_cupti_foreign_clock("libother.so", its_clock);
	cr_assert(gt_cupti_foreign_finalizing("libother.so"));
	cr_assert_eq(fake.disabled, bit(CUPTI_ACTIVITY_KIND_DRIVER), "we want the other, too");
	cr_assert_eq(fake.clocks, 1);
	cr_assert_eq(fake.registered + fake.flushes + fake.unsubscribed, 0, "those are ours");
	cr_assert_eq(look(500, 1, 0, false), GT_CUPTI_OURS);
	cr_assert_eq(watch.gaps, 0);
	cr_assert_eq(gt_cupti_foreign_get().detached, 1);
	cr_assert(gt_cupti_foreign_finalizing("libother.so"));
	cr_assert_eq(fake.clocks, 1, "it has none any more");
}

Test(cupti_watch, all_that_it_had_is_taken_from_who_calls_finalize)
{
	uint8_t buffer[64] = {0};
	int its_own;

	start(-EBUSY, "own");
	gt_cupti.active = true;
	have_asked();
	gt_cupti_foreign_subscribed(&its_own);
	gt_cupti_foreign_registering("libother.so", its_request, its_complete);
	fake.disabled = 0;
	gt_cupti_foreign_kind(CUPTI_ACTIVITY_KIND_MEMCPY, true);
	cr_assert_eq(look(500, 1, 0, false), GT_CUPTI_REFUSED);
	cr_assert(gt_cupti_foreign_finalizing("libother.so"));
	cr_assert_eq(fake.unsubscribed, 1);
	cr_assert_eq(fake.disabled, bit(CUPTI_ACTIVITY_KIND_MEMCPY));
	cr_assert_eq(fake.registered, 1);
	cr_assert_eq(fake.flushes, 1, "with our callbacks registered");
	fake.completed(NULL, 0, buffer, sizeof(buffer), 8);
	cr_assert_eq(fake.given_back, 0, "CUPTI would not call it either");
	cr_assert_eq(look(1, 2, 0, false), GT_CUPTI_OURS, "at once");
}

Test(cupti_watch, finalize_is_passed_on_while_we_have_nothing)
{
	start(-EBUSY, "own");
	cr_assert_not(gt_cupti_foreign_finalizing("libother.so"), "never had");
	gt_cupti.active = true;
	gt_cupti.dead = true;
	cr_assert_not(gt_cupti_foreign_finalizing("libother.so"), "after a fatal error");
	cr_assert_eq(gt_cupti_foreign_get().detached, 0);
}
