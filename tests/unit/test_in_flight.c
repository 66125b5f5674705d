/* SPDX-License-Identifier: Apache-2.0
 *
 * Which launches may not be done: one without a record is done where a wait, or later work of its
 * stream, shows it. And what the parameters of a call say about its stream.
 */
#include "pipeline/join/in_flight.h"

#include <criterion/criterion.h>
#include <cupti.h>
#include <string.h>

#include "collectors/cupti/library/streams.h"
#include "pipeline/join/join.h"

#define KERNEL 211u /* cudaLaunchKernel */
#define MS     1000000u

static struct gt_in_flight flight;
static struct gt_correlate *calls;
static uint64_t found[8]; /* starts */
static size_t found_count;

static void setup(void)
{
	memset(&flight, 0, sizeof(flight));
	calls = gt_correlate_new(64);
	cr_assert_not_null(calls);
}

static void teardown(void)
{
	gt_correlate_free(calls);
}

TestSuite(in_flight, .init = setup, .fini = teardown);

static void call(uint32_t id, uint32_t tid, uint64_t start, const struct gt_call_effect *what)
{
	struct gt_event event = {.kind = GT_EVENT_API,
				 .tid = tid,
				 .correlation = id,
				 .start = start,
				 .end = start + 10};
	struct gt_launch launch = {.tid = tid, .start = start};

	gt_in_flight_call(&flight, &event, what);
	gt_correlate_put(calls, id, &launch, what->expects, what->many);
	if (what->expects)
		gt_correlate_aim(calls, id, &what->aim);
}

static void launch_by(uint32_t id, uint32_t tid, uint64_t start, uint64_t stream)
{
	call(id, tid, start,
	     &(struct gt_call_effect){
		     .expects = true,
		     .aim = {.stream = stream, .context = 1, .cbid = KERNEL, .aimed = true}});
}

static void launch(uint32_t id, uint64_t start, uint64_t stream)
{
	launch_by(id, 1, start, stream);
}

static void wait_for(uint32_t tid, uint64_t start, uint64_t stream, uint16_t context)
{
	call(1000 + tid, tid, start,
	     &(struct gt_call_effect){
		     .waits = true, .aim = {.stream = stream, .context = context, .aimed = true}});
}

static void record(uint32_t id, uint32_t stream)
{
	struct gt_event event = {.kind = GT_EVENT_KERNEL,
				 .correlation = id,
				 .place = {.device = 2, .context = 1, .stream = stream}};

	gt_correlate_match(calls, id, &event.launch);
	gt_in_flight_linked(&flight, &event, calls);
}

static void note(void *context, const struct gt_in_flight_launch *launched)
{
	(void)context;
	if (found_count < 8)
		found[found_count++] = launched->launch->start;
}

/* The starts of what may not be done, which has come in this order. */
static void check(size_t count, uint64_t first, uint64_t second)
{
	found_count = 0;
	gt_in_flight_each(&flight, calls, note, NULL);
	cr_assert_eq(found_count, count, "%zu of %zu", found_count, count);
	cr_assert(count < 1 || found[0] == first);
	cr_assert(count < 2 || found[1] == second);
}

Test(in_flight, a_wait_for_the_stream)
{
	launch(1, 100, 0xa0);
	launch(2, 200, 0xb0);
	check(2, 100, 200);
	wait_for(1, 300, 0xa0, 1);
	check(1, 200, 0);
	wait_for(1, 300, GT_CUPTI_STREAM_ALL, 2);
	check(1, 200, 0); /* another device */
	launch(3, 400, 0xa0);
	check(2, 200, 400);
	wait_for(2, 350, 0xa0, 1);
	check(2, 200, 400); /* it began before that launch */
	wait_for(1, 500, GT_CUPTI_STREAM_ALL, 1);
	check(0, 0, 0);
}

Test(in_flight, the_default_stream_of_a_thread)
{
	launch_by(1, 1, 100, GT_CUPTI_STREAM_PER_THREAD);
	launch_by(2, 2, 110, GT_CUPTI_STREAM_PER_THREAD);
	wait_for(1, 200, GT_CUPTI_STREAM_PER_THREAD, 1);
	check(1, 110, 0);
}

Test(in_flight, later_work_of_the_stream_has_a_record)
{
	launch(1, 1 * MS, 0xa0);
	launch(2, 2 * MS, 0xa0);
	launch(3, 3 * MS, 0xa0);
	launch(4, 1 * MS, 0xb0);
	record(2, 13);
	check(2, 3 * MS, 1 * MS);
	cr_assert_eq(gt_in_flight_stream(&flight, 1, 0xa0)->stream, 13);
	cr_assert_eq(gt_in_flight_stream(&flight, 1, 0xa0)->device, 2);
	cr_assert_null(gt_in_flight_stream(&flight, 1, 0xb0));
	cr_assert_null(gt_in_flight_stream(&flight, 2, 0xa0));
}

/* Two threads that launch at one time: which was first is not known. */
Test(in_flight, launches_of_two_threads)
{
	launch_by(1, 1, 2 * MS, 0xa0);
	launch_by(2, 2, 2 * MS + 10, 0xa0);
	record(2, 13);
	check(1, 2 * MS, 0);
	launch_by(3, 2, 4 * MS, 0xa0);
	record(3, 13);
	check(0, 0, 0);
}

/* A handle may serve another stream when the first is destroyed. */
Test(in_flight, a_handle_that_is_used_again)
{
	launch(1, 100, 0xa0);
	record(1, 13);
	launch(2, 200, 0xa0);
	record(2, 14);
	cr_assert_eq(gt_in_flight_stream(&flight, 1, 0xa0)->stream, 14);
}

Test(in_flight, calls_that_only_ask)
{
	call(1, 1, 100, &(struct gt_call_effect){.is_query = true});
	cr_assert_eq(flight.calls, 0);
	cr_assert_null(gt_in_flight_last_call(&flight, 1));
	wait_for(1, 200, 0, 1);
	cr_assert_eq(flight.calls, 1);
	cr_assert_eq(gt_in_flight_last_call(&flight, 1)->end, 210);
}

Test(in_flight, parameters)
{
	cudaLaunchKernel_v7000_params kernel = {.stream = (cudaStream_t)0xa0};
	cudaLaunchConfig_t config = {.stream = (cudaStream_t)0xb0};
	cudaLaunchKernelExC_v11060_params ex = {.config = &config};
	struct gt_cupti_stream stream;

	cr_assert(gt_cupti_stream_of(GT_API_RUNTIME, 211, &kernel, &stream));
	cr_assert(stream.handle == 0xa0 && stream.is_launch);
	cr_assert(gt_cupti_stream_of(GT_API_RUNTIME, 430, &ex, &stream));
	cr_assert(stream.handle == 0xb0 && stream.is_launch);
	ex.config = NULL;
	cr_assert_not(gt_cupti_stream_of(GT_API_RUNTIME, 430, &ex, &stream));
	kernel.stream = NULL;
	cr_assert(gt_cupti_stream_of(GT_API_RUNTIME, 214, &kernel, &stream));
	cr_assert_eq(stream.handle, GT_CUPTI_STREAM_PER_THREAD, "_ptsz");
	cr_assert(gt_cupti_stream_of(GT_API_RUNTIME, 165, NULL, &stream));
	cr_assert(stream.handle == GT_CUPTI_STREAM_ALL && !stream.is_launch);
	cr_assert(gt_cupti_stream_of(GT_API_RUNTIME, 31, NULL, &stream), "cudaMemcpy");
	cr_assert_eq(stream.handle, 0);
	cr_assert_not(gt_cupti_stream_of(GT_API_RUNTIME, 20, &kernel, &stream), "cudaMalloc");
	cr_assert_not(gt_cupti_stream_of(GT_API_DRIVER, 100000, &kernel, &stream));
}
