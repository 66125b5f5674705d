/* SPDX-License-Identifier: Apache-2.0
 *
 * Records and how they are read. See probes.def.
 */
#include "probes.h"

bool probe_end_of_buffer(void)
{
	probe_one_kernel();
	return probe_seen(rig.end_of_buffer == CUPTI_ERROR_MAX_LIMIT_REACHED, "result %d",
			  rig.end_of_buffer);
}

bool probe_copied_buffers_are_read(void)
{
	rig.read_copies = true;
	probe_one_kernel();
	return probe_seen(rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 1,
			  "%u kernel records out of a copy",
			  rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* Records picked out of buffers, one behind the other: how --coexist=share fills another tool's
 * buffer. */
bool probe_picked_records_are_read(void)
{
	static _Alignas(8) uint8_t buffer[4096];
	CUpti_Activity *record = NULL;
	unsigned kernels, n = 0;
	size_t size;
	CUptiResult end;

	rig_start();
	for (int i = 0; i < 4; i++) {
		rig_launch();
		cuMemsetD8Async(rig.memory, 0, 4096, rig.stream);
	}
	rig_flush(0);
	kernels = rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	size = rig.kernel_stride < 1024 ? rig.kernel_stride : 0;
	for (unsigned i = 0; i < kernels && i < 4; i++)
		memcpy(buffer + i * size,
		       rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kernels - 1 - i), size);
	do
		end = rig.cupti.cuptiActivityGetNextRecord(buffer, 4 * size, &record);
	while (end == CUPTI_SUCCESS && record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
	       ++n <= kernels);
	return probe_seen(kernels == 4 && n == 4 && end == CUPTI_ERROR_MAX_LIMIT_REACHED,
			  "%u of %u kernel records, then result %d", n, kernels, end);
}

bool probe_buffers_are_zeroed(void)
{
	probe_one_kernel();
	return probe_seen(rig.zeroed, "the bytes behind the records are %s",
			  rig.zeroed ? "0" : "as lent");
}

bool probe_stream_ids(void)
{
	const CUpti_ActivityKernel9 *own, *null;

	rig_start();
	rig_launch();
	rig.stream = NULL;
	rig_launch();
	rig_flush(0);
	own = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	null = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 1);
	if (!own || !null)
		return probe_seen(false, "no record");
	return probe_seen((own->streamId == 13 && null->streamId == 7) ||
				  (own->streamId == 7 && null->streamId == 13),
			  "%u and %u", own->streamId, null->streamId);
}

bool probe_kernel_record_size(void)
{
	uint32_t version = 0;

	rig_start();
	rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	for (int i = 0; i < 50; i++)
		rig_launch();
	rig_flush(0);
	rig.cupti.cuptiGetVersion(&version);
	if (version / 100 != CUPTI_API_VERSION / 100) {
		printf("CUPTI %u, header %u\n", version, CUPTI_API_VERSION);
		exit(77);
	}
	return probe_seen(rig.kernel_stride == sizeof(CUpti_ActivityKernel10),
			  "%zu bytes apart, struct %zu", rig.kernel_stride,
			  sizeof(CUpti_ActivityKernel10));
}

/* CUpti_ActivityHostLaunch, kind 58: not in every toolkit's header. */
#define HOST_LAUNCH       58
#define HOST_LAUNCH_SINCE 130100
struct host_launch {
	uint32_t kind, stream, context, device, correlation, process, thread, padding;
	uint64_t start, end;
};

static void CUDA_CB do_nothing(void *data)
{
	(void)data;
}

bool probe_host_functions_are_recorded(void)
{
	const struct host_launch *record;
	const struct rig_callback *enter;
	uint32_t version = 0;
	CUptiResult result;

	rig_start();
	rig.cupti.cuptiGetVersion(&version);
	if (version < HOST_LAUNCH_SINCE) {
		printf("CUPTI %u has no such records\n", version);
		exit(CANNOT_TRY);
	}
	result = rig.cupti.cuptiActivityEnable((CUpti_ActivityKind)HOST_LAUNCH);
	cuLaunchHostFunc(rig.stream, do_nothing, NULL);
	rig_flush(0);
	record = rig_find((CUpti_ActivityKind)HOST_LAUNCH, 0);
	enter = rig_find_callback(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc, CUPTI_API_ENTER,
				  0);
	if (!record || !enter)
		return probe_seen(false, "enabling gave %d, %s", result,
				  record ? "no callback" : "no record");
	return probe_seen(rig_count((CUpti_ActivityKind)HOST_LAUNCH) == 1 && record->start &&
				  record->end >= record->start &&
				  record->correlation == enter->correlation,
			  "%u records, the first of id %u and %lld ns, callback %u",
			  rig_count((CUpti_ActivityKind)HOST_LAUNCH), record->correlation,
			  (long long)(record->end - record->start), enter->correlation);
}

bool probe_copies_and_sets(void)
{
	const CUpti_ActivityMemcpy5 *copy;
	const CUpti_ActivityMemset4 *set;
	char host[4096] = "";

	rig_start();
	cuMemcpyHtoD(rig.memory, host, 1000);
	cuMemsetD8(rig.memory, 3, 2000);
	rig_flush(0);
	copy = rig_find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
	set = rig_find(CUPTI_ACTIVITY_KIND_MEMSET, 0);
	if (!copy || !set)
		return probe_seen(false, "no record");
	return probe_seen(copy->bytes == 1000 &&
				  copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD &&
				  set->bytes == 2000 && set->value == 3,
			  "copy of %llu bytes, kind %u; set of %llu bytes to %u",
			  (unsigned long long)copy->bytes, copy->copyKind,
			  (unsigned long long)set->bytes, set->value);
}
