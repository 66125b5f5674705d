/* SPDX-License-Identifier: Apache-2.0
 *
 * What another tool gets of a CUPTI that is ours: which callbacks, which records, in which buffers.
 */
#include "collectors/cupti/relay.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/internal.h"
#include "core/guest/forkguard.h"

#define RUNTIME CUPTI_CB_DOMAIN_RUNTIME_API
#define OURS    7
#define THEIRS  8
#define KERNEL  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL

static struct {
	unsigned int enabled, disabled, kinds_on, kinds_off, flushes;
	CUptiResult enable;
} fake;

static struct {
	unsigned int called, requested, returned;
	size_t valid, size, most;
	_Alignas(8) uint8_t memory[4096];
} its;

static CUptiResult enable_callback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	(void)subscriber;
	if (domain != RUNTIME || cbid > 100)
		return CUPTI_ERROR_INVALID_PARAMETER;
	fake.enabled += enable;
	fake.disabled += !enable;
	return CUPTI_SUCCESS;
}

static CUptiResult disable_kind(CUpti_ActivityKind kind)
{
	(void)kind;
	fake.kinds_off++;
	return CUPTI_SUCCESS;
}

static CUptiResult flush(uint32_t flag)
{
	(void)flag;
	fake.flushes++;
	return CUPTI_SUCCESS;
}

static void its_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
			 const void *data)
{
	(void)domain;
	(void)cbid;
	(void)data;
	its.called += user == &its;
}

static void its_request(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = its.size ? its.memory : NULL;
	*size = its.size;
	*most = its.most;
	its.requested++;
}

static void its_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			 size_t valid)
{
	(void)context;
	(void)stream;
	cr_assert_eq(buffer, its.memory);
	cr_assert_eq(size, its.size);
	its.returned++;
	its.valid = valid;
}

static uint64_t its_time;

static uint64_t its_clock(void)
{
	return its_time;
}

static void start(void)
{
	cr_assert_eq(gt_forkguard_arm(), 0);
	cr_assert_eq(gt_cupti_buffers_start(65536, 1 << 20, true), 0);
	gt_cupti.api.cuptiEnableCallback = enable_callback;
	gt_cupti.api.cuptiActivityDisable = disable_kind;
	gt_cupti.api.cuptiActivityFlushAll = flush;
	gt_cupti_callbacks_set(&gt_cupti.wanted, RUNTIME, OURS, true);
	gt_cupti.kinds = (uint64_t)1 << KERNEL;
	gt_cupti.active = gt_cupti.subscribed = gt_cupti.serves = true;
	its.size = sizeof(its.memory);
	its_time = 1000;
	gt_cupti_relay_clock(its_clock);
}

static CUpti_SubscriberHandle subscribe(void)
{
	CUpti_SubscriberHandle handle = NULL;
	CUptiResult result;

	cr_assert(gt_cupti_relay_subscribe(&handle, its_callback, &its, &result));
	cr_assert_eq(result, CUPTI_SUCCESS);
	return handle;
}

Test(cupti_relay, one_subscriber_beside_us)
{
	CUpti_SubscriberHandle handle, second = NULL;
	CUptiResult result;

	start();
	handle = subscribe();
	cr_assert(gt_cupti_relay_subscribe(&second, its_callback, &its, &result));
	cr_assert_eq(result, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	cr_assert_not(gt_cupti_relay_unsubscribe((CUpti_SubscriberHandle)&result, &result),
		      "the handle is CUPTI's");
	cr_assert(gt_cupti_relay_unsubscribe(handle, &result));
	cr_assert_eq(result, CUPTI_SUCCESS);
	cr_assert(gt_cupti_relay_unsubscribe(handle, &result));
	cr_assert_eq(result, CUPTI_ERROR_INVALID_PARAMETER, "as from CUPTI");
	cr_assert_eq(subscribe(), handle);
}

Test(cupti_relay, cupti_has_the_callbacks_of_both)
{
	CUpti_SubscriberHandle handle;
	CUptiResult result;

	start();
	handle = subscribe();
	gt_cupti_relay_enable_callback(true, handle, RUNTIME, OURS, &result);
	cr_assert_eq(fake.enabled, 0, "it is on");
	gt_cupti_relay_enable_callback(true, handle, RUNTIME, THEIRS, &result);
	cr_assert_eq(fake.enabled, 1);
	gt_cupti_relay_callback(RUNTIME, OURS, NULL);
	gt_cupti_relay_callback(RUNTIME, THEIRS, NULL);
	gt_cupti_relay_callback(RUNTIME, THEIRS + 1, NULL);
	cr_assert_eq(its.called, 2);
	gt_cupti_relay_enable_domain(true, handle, RUNTIME, &result);
	cr_assert_eq(result, CUPTI_SUCCESS);
	cr_assert_eq(fake.enabled, 1 + 99, "of a hundred ids one is ours");
	gt_cupti_relay_unsubscribe(handle, &result);
	cr_assert_eq(fake.disabled, 99, "ours stays");
	gt_cupti_relay_callback(RUNTIME, THEIRS, NULL);
	cr_assert_eq(its.called, 2);
}

Test(cupti_relay, what_does_not_exist_is_refused)
{
	CUpti_SubscriberHandle handle;
	CUptiResult result;
	uint32_t enabled = 1;

	start();
	handle = subscribe();
	gt_cupti_relay_enable_callback(true, handle, RUNTIME, 101, &result);
	cr_assert_eq(result, CUPTI_ERROR_INVALID_PARAMETER);
	gt_cupti_relay_callback_state(&enabled, handle, RUNTIME, 101, &result);
	cr_assert_eq(enabled, 0);
	gt_cupti_relay_enable_callback(true, handle, RUNTIME, GT_CUPTI_CBIDS, &result);
	cr_assert_eq(result, CUPTI_ERROR_INVALID_PARAMETER);
	gt_cupti_relay_enable_domain(true, handle, CUPTI_CB_DOMAIN_SIZE, &result);
	cr_assert_eq(result, CUPTI_ERROR_INVALID_PARAMETER);
}

static CUpti_ActivityKernel8 kernel_at(uint64_t begin, uint64_t end)
{
	return (CUpti_ActivityKernel8){.kind = KERNEL, .start = begin, .end = end};
}

static bool wants(const void *record)
{
	return gt_cupti_relay_wants(record, gt_cupti_buffers_order());
}

static bool wants_kernel(uint64_t begin, uint64_t end)
{
	CUpti_ActivityKernel8 kernel = kernel_at(begin, end);

	return wants(&kernel);
}

static void collect(void)
{
	cr_assert(gt_cupti_relay_register(its_request, its_complete));
	cr_assert(gt_cupti_relay_kind(KERNEL, true));
}

Test(cupti_relay, records_of_its_time)
{
	start();
	cr_assert_not(wants_kernel(2000, 3000), "before it has asked");
	collect();
	cr_assert(wants_kernel(2000, 3000));
	cr_assert(wants_kernel(500, 1500), "under way");
	cr_assert_not(wants_kernel(500, 999), "over before");
	its_time = 5000;
	gt_cupti_relay_kind(KERNEL, false);
	cr_assert(wants_kernel(6000, 7000), "launched before, perhaps");
	cr_assert_not(wants_kernel(2000005000, 2000006000));
	gt_cupti_relay_kind(KERNEL, true);
	cr_assert(wants_kernel(2000005000, 2000006000));
}

Test(cupti_relay, records_of_another_clock)
{
	start();
	its_time = 1000000;
	collect();
	cr_assert_not(wants_kernel(2000, 3000));
	gt_cupti_relay_clock(NULL);
	cr_assert(wants_kernel(2000, 3000));
	gt_cupti_relay_clock(its_clock);
	gt_cupti_relay_kind(KERNEL, false);
	gt_cupti_relay_clock(NULL);
	cr_assert(wants_kernel(2000005000, 2000006000));
}

Test(cupti_relay, kinds_of_both)
{
	CUpti_ActivityExternalCorrelation id = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

	start();
	collect();
	cr_assert(gt_cupti_relay_keeps_kind(KERNEL), "disabled for the tool alone");
	cr_assert_not(gt_cupti_relay_keeps_kind(CUPTI_ACTIVITY_KIND_RUNTIME));
	cr_assert_eq(gt_cupti_relay_kinds(), 0);
	cr_assert_not(wants(&id));
	gt_cupti_relay_kind(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, true);
	cr_assert_eq(gt_cupti_relay_kinds(),
		     (uint64_t)1 << CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	cr_assert(wants(&id));
	id.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
	cr_assert_not(wants(&id), "an id of ours");
}

static void put_kernel(void)
{
	CUpti_ActivityKernel8 kernel = kernel_at(2000, 3000);

	gt_cupti_relay_put((const void *)&kernel, sizeof(kernel));
}

Test(cupti_relay, buffers_are_filled_and_returned)
{
	start();
	collect();
	cr_assert_eq(its.requested, 1, "with the kind, not with the first record");
	for (size_t i = 0; i < sizeof(its.memory) / sizeof(CUpti_ActivityKernel8); i++)
		put_kernel();
	cr_assert_eq(its.returned, 0);
	put_kernel();
	cr_assert_eq(its.returned, 1);
	cr_assert_eq(its.valid, sizeof(its.memory) / sizeof(CUpti_ActivityKernel8) *
					sizeof(CUpti_ActivityKernel8));
	gt_cupti_relay_close();
	cr_assert_eq(its.returned, 2);
	cr_assert_eq(its.valid, sizeof(CUpti_ActivityKernel8));
	cr_assert_eq(its.requested, 2);
}

Test(cupti_relay, a_buffer_has_no_more_records_than_it_may)
{
	start();
	its.most = 2;
	collect();
	for (int i = 0; i < 5; i++)
		put_kernel();
	cr_assert_eq(its.returned, 2);
	cr_assert_eq(its.valid, 2 * sizeof(CUpti_ActivityKernel8));
}

Test(cupti_relay, records_without_a_buffer_are_counted)
{
	CUptiResult result;
	size_t dropped = 0;

	start();
	its.size = 0;
	collect();
	put_kernel();
	put_kernel();
	gt_cupti_relay_add_dropped(3);
	cr_assert(gt_cupti_relay_dropped(&dropped, &result));
	cr_assert_eq(dropped, 5);
	gt_cupti_relay_dropped(&dropped, &result);
	cr_assert_eq(dropped, 0);
}

static _Atomic bool over;

static void *drain(void *unused)
{
	struct timespec pause = {.tv_nsec = 1000000};

	while (!atomic_load(&over)) {
		gt_cupti_relay_serve();
		nanosleep(&pause, NULL);
	}
	return unused;
}

Test(cupti_relay, a_flush_returns_with_the_buffer)
{
	CUptiResult result;
	pthread_t thread;

	start();
	collect();
	put_kernel();
	gt_cupti_relay_kind(KERNEL, false);
	cr_assert_eq(pthread_create(&thread, NULL, drain, NULL), 0);
	cr_assert(gt_cupti_relay_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, &result));
	cr_assert_eq(its.returned, 1);
	cr_assert_eq(its.valid, sizeof(CUpti_ActivityKernel8));
	cr_assert_eq(its.requested, 1, "no kind is on");
	cr_assert_not(wants_kernel(2000, 3000), "it has what it asked for");
	atomic_store(&over, true);
	pthread_join(thread, NULL);
}

Test(cupti_relay, who_has_called_finalize_is_left_alone)
{
	CUptiResult result;

	start();
	subscribe();
	collect();
	gt_cupti_relay_kind(CUPTI_ACTIVITY_KIND_RUNTIME, true);
	put_kernel();
	gt_cupti_relay_forget();
	cr_assert_eq(fake.kinds_off, 1, "the one that we do not have");
	memset(its.memory, 0xdb, sizeof(its.memory));
	put_kernel();
	gt_cupti_relay_close();
	cr_assert_eq(its.returned, 0);
	cr_assert_eq(its.memory[0], 0xdb);
	cr_assert_not(wants_kernel(2000, 3000));
	cr_assert_not(gt_cupti_relay_flush(0, &result), "CUPTI answers");
}

Test(cupti_relay, without_cupti_nothing_is_promised)
{
	CUpti_SubscriberHandle handle = NULL;
	CUptiResult result;

	start();
	gt_cupti.away = true;
	cr_assert_not(gt_cupti_relay_subscribe(&handle, its_callback, &its, &result));
	cr_assert_not(gt_cupti_relay_register(its_request, its_complete));
	cr_assert_not(gt_cupti_relay_kind(KERNEL, true));
	cr_assert_not(gt_cupti_relay_keeps_kind(KERNEL));
}

Test(cupti_relay, a_crash_is_written_without_calls_of_the_tool)
{
	start();
	collect();
	gt_cupti_relay_pause(true);
	put_kernel();
	gt_cupti_relay_close();
	cr_assert_eq(its.returned, 0);
}
