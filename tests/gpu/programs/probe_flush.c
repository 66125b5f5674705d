/* SPDX-License-Identifier: Apache-2.0
 *
 * What a flush delivers, and what is lost. See probes.def.
 */
#include "probes.h"

#include <pthread.h>
#include <stdatomic.h>

bool probe_flush_delivers(void)
{
	probe_one_kernel();
	return probe_seen(rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 1,
			  "%u kernel records", rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* A kernel that runs on, and one beside it that was waited for. Not many blocks: CUPTI gives out
 * work in the order of submission. */
static void launch_beside_spin(void)
{
	rig_start();
	rig_spin(SPIN_NS);
	rig_launch();
	cuStreamSynchronize(rig.stream);
}

bool probe_busy_buffer_is_kept(void)
{
	unsigned int before;

	launch_beside_spin();
	rig.cupti.cuptiActivityFlushAll(0);
	before = rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	rig_flush(0);
	return probe_seen(before == 0 && rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2,
			  "%u kernel records while one ran, %u afterwards", before,
			  rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* Why the tracer forces nothing out while another context may have work in progress. */
bool probe_forced_work_has_no_end(void)
{
	const CUpti_ActivityKernel9 *kernel;
	unsigned forced, unfinished = 0;

	launch_beside_spin();
	rig.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	forced = rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	rig_flush(0);
	for (unsigned n = 0; (kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, n)); n++)
		unfinished += kernel->end == 0;
	return probe_seen(forced == 2 && unfinished == 1 &&
				  rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2,
			  "%u kernel records forced out, %u without an end, %u after the wait",
			  forced, unfinished, rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* Work in a context that was waited for, and no flush before the context goes. The tracer fetches
 * the records before, and so is right whichever it is. */
bool probe_lost_with_context(void)
{
	unsigned records;

	rig_start();
	rig_launch();
	cuCtxSynchronize();
	if (cuDevicePrimaryCtxReset(0) || cuDevicePrimaryCtxRetain(&rig.context, 0) ||
	    cuCtxSetCurrent(rig.context))
		return probe_seen(false, "the context was not reset");
	rig_flush(0);
	records = rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	return probe_seen(records <= 1, "%u kernel records: %s", records,
			  records ? "the flush after it delivers them"
				  : "they are lost with the context");
}

#define RESET CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2

static struct {
	_Atomic bool is_over;
	bool in_time; /* it was over before the callback returned */
	unsigned records;
} aside;

static void *flush_aside(void *unused)
{
	rig.cupti.cuptiActivityFlushAll(0);
	atomic_store(&aside.is_over, true);
	return unused;
}

static void flush_in_reset(CUpti_CallbackDomain domain, CUpti_CallbackId id,
			   CUpti_ApiCallbackSite site)
{
	pthread_t thread;

	if (domain != DRIVER || id != RESET || site != CUPTI_API_ENTER ||
	    pthread_create(&thread, NULL, flush_aside, NULL))
		return;
	for (int ms = 0; ms < 2000 && !atomic_load(&aside.is_over); ms++)
		usleep(1000);
	aside.in_time = atomic_load(&aside.is_over);
	aside.records = rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	pthread_detach(thread);
}

/* What the tracer does before a context goes: its own thread flushes, the call waits. */
bool probe_flush_during_a_call(void)
{
	rig_start();
	rig_launch();
	cuCtxSynchronize();
	rig.during = flush_in_reset;
	cuDevicePrimaryCtxReset(0);
	return probe_seen(aside.in_time && aside.records == 1, "%s, %u kernel records",
			  aside.in_time ? "over" : "not over in 2 s", aside.records);
}

static _Atomic bool counts_on;

static void *flush_again(void *unused)
{
	while (atomic_load(&counts_on))
		rig.cupti.cuptiActivityFlushAll(0);
	return unused;
}

/* The tracer does not: both were seen to deadlock in other tools. Where they do the probe never
 * ends. */
bool probe_drops_during_a_flush(void)
{
	unsigned calls = 0, failed = 0;
	pthread_t thread;
	size_t dropped;

	launch_beside_spin();
	atomic_store(&counts_on, true);
	if (pthread_create(&thread, NULL, flush_again, NULL))
		return probe_seen(false, "no thread");
	for (uint64_t until = rig_realtime() + SPIN_NS / 2; rig_realtime() < until; calls++)
		failed += rig.cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped) !=
			  CUPTI_SUCCESS;
	atomic_store(&counts_on, false);
	pthread_join(thread, NULL);
	return probe_seen(!failed, "%u calls returned, %u failed", calls, failed);
}

bool probe_refused_buffers_are_counted(void)
{
	size_t dropped = 0;

	rig.refuse_buffers = true;
	rig_start();
	for (int i = 0; i < 10; i++)
		rig_launch();
	rig_flush(0);
	rig.cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	return probe_seen(dropped > 0, "%zu dropped", dropped);
}
