/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI in a program that uses CUDA already (gputrace attach, detach). See probes.def.
 */
#include <cudaProfiler.h>

#include "probes.h"

bool probe_late_subscription(void)
{
	const uint64_t *at = rig.opening;

	rig_load();
	rig_use_device();
	rig_spin(SPIN_NS);
	rig_open();
	rig_launch();
	rig_flush(0);
	return probe_seen(rig_count(KERNEL) == 1,
			  "%u records of 2 kernels; us: subscribing %lu, enabling kernels %lu, "
			  "copies and sets %lu",
			  rig_count(KERNEL), (unsigned long)((at[1] - at[0]) / 1000),
			  (unsigned long)((at[2] - at[1]) / 1000),
			  (unsigned long)((at[3] - at[2]) / 1000));
}

/* The edges of a window: its kinds are disabled before and behind it. */
bool probe_disabled_between(void)
{
	unsigned before, between, took;
	uint64_t since;

	rig_start();
	rig_launch();
	rig_flush(0);
	before = rig_count(KERNEL);
	rig.cupti.cuptiActivityDisable(KERNEL);
	rig_launch();
	rig_flush(0);
	between = rig_count(KERNEL) - before;
	since = rig_realtime();
	rig.cupti.cuptiActivityEnable(KERNEL);
	took = (unsigned)((rig_realtime() - since) / 1000);
	rig_launch();
	rig_flush(0);
	return probe_seen(before == 1 && !between && rig_count(KERNEL) == 2,
			  "%u records before, %u between, %u after; enabling again took %u us",
			  before, between, rig_count(KERNEL) - before - between, took);
}

/* A window that ends while work is under way. */
bool probe_disabled_under_way(void)
{
	unsigned records;

	rig_start();
	rig_spin(SPIN_NS);
	rig.cupti.cuptiActivityDisable(KERNEL);
	rig_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	records = rig_count(KERNEL);
	rig.cupti.cuptiActivityEnable(KERNEL);
	rig_launch();
	rig_flush(0);
	return probe_seen(records == 1 && rig_count(KERNEL) == 2,
			  "%u records of the kernel under way, %u of the one after", records,
			  rig_count(KERNEL) - records);
}

bool probe_subscribe_again(void)
{
	unsigned callbacks, records;

	rig_start();
	rig_launch();
	rig_flush(0);
	rig.cupti.cuptiActivityDisable(KERNEL);
	rig.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	rig.cupti.cuptiUnsubscribe(rig.subscriber);
	callbacks = rig.callback_count;
	records = rig_count(KERNEL);
	rig_launch();
	cuCtxSynchronize();
	if (rig.callback_count != callbacks || records != 1)
		return probe_seen(false, "%u callbacks of nobody, %u records",
				  rig.callback_count - callbacks, records);
	rig_open();
	rig_launch();
	rig_flush(0);
	return probe_seen(rig_count(KERNEL) == 2 && rig.callback_count > callbacks,
			  "%u records of 3 kernels, %u callbacks again", rig_count(KERNEL),
			  rig.callback_count - callbacks);
}

/* What an attachment asks for. */
bool probe_late_dump(void)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_DEVICE,
						   CUPTI_ACTIVITY_KIND_CONTEXT,
						   CUPTI_ACTIVITY_KIND_STREAM};
	unsigned found[3], all = 1;

	rig_load();
	rig_use_device();
	rig_open();
	for (size_t i = 0; i < 3; i++)
		rig.cupti.cuptiActivityEnableAndDump(kinds[i]);
	rig_flush(0);
	for (size_t i = 0; i < 3; i++) {
		found[i] = rig_count(kinds[i]);
		all &= found[i] > 0;
	}
	return probe_seen(all, "%u records of devices, %u of contexts, %u of streams", found[0],
			  found[1], found[2]);
}

/* The edges of --capture-range=cudaProfilerApi. */
bool probe_profiler_calls(void)
{
	const struct rig_callback *start, *stop;

	rig_start();
	cuProfilerStart();
	cuProfilerStop();
	start = rig_find_callback(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, CUPTI_API_ENTER,
				  0);
	stop = rig_find_callback(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, CUPTI_API_EXIT, 0);
	return probe_seen(start && stop, "start: %s, stop: %s", start ? "yes" : "no",
			  stop ? "yes" : "no");
}
