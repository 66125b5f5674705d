/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffers: who asks for them, attributes, sizes. See probes.def.
 */
#include "probes.h"

#include <pthread.h>

bool probe_buffers_from_caller(void)
{
	pid_t self = (pid_t)syscall(SYS_gettid);

	rig_start();
	rig_launch();
	return probe_seen(rig.requests > 0 && rig.request_tid == self,
			  "%u requests, thread %d of %d", rig.requests, rig.request_tid, self);
}

/* ~0: refused. */
static size_t attribute(CUpti_ActivityAttribute which)
{
	size_t value = 0, size = sizeof(value);

	return rig.cupti.cuptiActivityGetAttribute(which, &size, &value) ? ~(size_t)0 : value;
}

/* --gpu-memory relies on the size. */
bool probe_device_buffers(void)
{
	size_t size, limit;

	rig_open();
	size = attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
	limit = attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
	return probe_seen(size == 3200000 && limit == 250, "%zu buffers of %zu bytes", limit, size);
}

static CUptiResult set_flag(CUpti_ActivityAttribute which, uint8_t value)
{
	size_t size = sizeof(value);

	return rig.cupti.cuptiActivitySetAttribute(which, &size, &value);
}

static void *launch_some(void *unused)
{
	(void)unused;
	cuCtxSetCurrent(rig.context);
	for (int i = 0; i < 100; i++)
		rig_launch();
	return NULL;
}

/* This thread and another one launch 100 kernels each. */
static void launch_on_two_threads(void)
{
	pthread_t thread;

	launch_some(NULL);
	if (pthread_create(&thread, NULL, launch_some, NULL))
		exit(CANNOT_TRY);
	pthread_join(thread, NULL);
	rig_flush(0);
}

bool probe_buffers_per_thread(void)
{
	uint32_t version = 0;
	size_t value;

	rig_open();
	rig.cupti.cuptiGetVersion(&version);
	value = attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) & 0xff;
	rig_use_device();
	launch_on_two_threads();
	return probe_seen((version >= 130000) == (rig.other_tid != 0) && rig.kernels == 200,
			  "CUPTI %u, attribute %zu, %u requests, a second thread asked: %s, "
			  "%u kernel records",
			  version, value, rig.requests, rig.other_tid ? "yes" : "no", rig.kernels);
}

/* The attribute is set as the tracer does: before the buffer callbacks are registered. */
static bool try_per_thread(uint8_t value, bool shares)
{
	CUptiResult error;

	rig_load();
	rig.share_buffer = shares;
	error = set_flag(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, value);
	if (error) {
		fprintf(stderr, "the attribute is refused with %d\n", error);
		exit(CANNOT_TRY);
	}
	rig_start();
	launch_on_two_threads();
	return probe_seen(true,
			  "%u requests, %u completions, a second thread asked: %s, %u records",
			  rig.requests, rig.completions, rig.other_tid ? "yes" : "no", rig.kernels);
}

bool probe_one_buffer_for_all(void)
{
	return try_per_thread(0, false) && !rig.other_tid && rig.kernels == 200;
}

bool probe_discard_buffer_is_shared(void)
{
	return try_per_thread(1, true);
}

bool probe_cleared_by_us(void)
{
	CUptiResult error;

	rig_load();
	rig.clear_buffers = true;
	error = set_flag(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
	probe_one_kernel();
	return probe_seen(!error && rig_count(KERNEL) == 1 && rig.lent_tail,
			  "result %d, %u kernel records, the end of the buffer is %s", error,
			  rig_count(KERNEL), rig.lent_tail ? "as lent" : "cleared");
}

#define MEASURED 20000
#define BATCH    500

/* Host ns of a launch, the waits left out. */
static double time_launches(void)
{
	uint64_t spent = 0;

	for (int i = 0; i < MEASURED; i += BATCH) {
		uint64_t begin = rig_realtime();

		for (int k = 0; k < BATCH; k++)
			rig_launch();
		spent += rig_realtime() - begin;
		cuStreamSynchronize(rig.stream);
	}
	return (double)spent / MEASURED;
}

bool probe_launch_by_buffer_size(void)
{
	static const size_t kib[] = {8, 64, 1024, 4096, 8, 64, 1024, 4096};
	unsigned rounds = sizeof(kib) / sizeof(kib[0]);

	rig.count_only = true;
	rig_start();
	for (unsigned i = 0; i < rounds; i++) {
		unsigned requests = rig.requests;
		double ns;

		rig_flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		rig.buffer_bytes = kib[i] << 10;
		ns = time_launches();
		rig_flush(0);
		printf("%zu KiB: %.0f ns a launch, %u buffers\n", kib[i], ns,
		       rig.requests - requests);
	}
	return probe_seen(rig.kernels == rounds * MEASURED, "%u of %u kernel records", rig.kernels,
			  rounds * MEASURED);
}
