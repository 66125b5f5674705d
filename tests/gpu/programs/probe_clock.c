/* SPDX-License-Identifier: Apache-2.0
 *
 * On which clock CUPTI's times are. See probes.def.
 */
#include "probes.h"

#include <time.h>

static bool look_at_kernel(void)
{
	uint64_t before, after;
	const CUpti_ActivityKernel9 *kernel;

	before = rig_realtime();
	rig_launch();
	cuCtxSynchronize();
	after = rig_realtime();
	rig_flush(0);
	kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	if (!kernel)
		return probe_seen(false, "no record");
	return probe_seen(
		kernel->start >= before && kernel->end <= after && kernel->start <= kernel->end,
		"start %+lld ns after the launch began, end %+lld ns before the wait ended",
		(long long)(kernel->start - before), (long long)(after - kernel->end));
}

bool probe_kernel_times_are_realtime(void)
{
	rig_start();
	return look_at_kernel();
}

/* Before 13.4 Update 1 it corrupts memory. */
#define HW_TRACE_VERSION 130401

static void leave_hw_trace(const char *why, CUptiResult error)
{
	probe_seen(false, "%s, result %d", why, error);
	exit(CANNOT_TRY);
}

/* CUPTI may give it up later, and says so by a STATE callback. */
bool probe_hw_trace_is_accepted(void)
{
	uint32_t version = 0;
	CUptiResult error;
	bool has_times;

	rig_open();
	rig.cupti.cuptiGetVersion(&version);
	if (version < HW_TRACE_VERSION || !rig.cupti.cuptiActivityEnableHWTrace)
		leave_hw_trace("this CUPTI is too old", CUPTI_SUCCESS);
	rig.cupti.cuptiEnableDomain(1, rig.subscriber, CUPTI_CB_DOMAIN_STATE);
	error = rig.cupti.cuptiActivityEnableHWTrace(1);
	if (error)
		leave_hw_trace("CUPTI refuses it here", error);
	rig_use_device();
	has_times = look_at_kernel();
	for (unsigned i = 0; i < rig.callback_count; i++) {
		if (rig.callbacks[i].domain == CUPTI_CB_DOMAIN_STATE)
			leave_hw_trace("CUPTI gave it up: a STATE callback", CUPTI_SUCCESS);
	}
	return has_times;
}

bool probe_timestamp_is_realtime(void)
{
	uint64_t before, stamp = 0, after;

	rig_start();
	before = rig_realtime();
	rig.cupti.cuptiGetTimestamp(&stamp);
	after = rig_realtime();
	return probe_seen(before <= stamp && stamp <= after, "%+lld ns, bracket %llu ns",
			  (long long)(stamp - before), (unsigned long long)(after - before));
}

/* CUPTI's clock against the two clocks of the system, at one time; true: it is CLOCK_REALTIME. */
static bool look_at_clock(const char *when)
{
	uint64_t before = rig_realtime(), stamp = 0, monotonic, after;
	CUptiResult error = rig.cupti.cuptiGetTimestamp(&stamp);
	struct timespec now;

	after = rig_realtime();
	clock_gettime(CLOCK_MONOTONIC, &now);
	monotonic = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	return probe_seen(!error && before <= stamp && stamp <= after,
			  "%s: result %d, %+lld ns from CLOCK_REALTIME, %+lld ns from "
			  "CLOCK_MONOTONIC, bracket %llu ns",
			  when, error, (long long)(stamp - before), (long long)(stamp - monotonic),
			  (unsigned long long)(after - before));
}

bool probe_clock_offset(void)
{
	bool early, late;

	rig_load();
	early = look_at_clock("before cuInit");
	rig_start();
	late = look_at_clock("after CU_INIT_FINISHED");
	rig_launch();
	rig_flush(0);
	return look_at_clock("after a kernel") && early && late;
}

bool probe_version_without_driver(void)
{
	uint32_t version = 0;
	CUptiResult error;

	rig_load();
	error = rig.cupti.cuptiGetVersion(&version);
	return probe_seen(!error && version, "result %d, version %u", error, version);
}
