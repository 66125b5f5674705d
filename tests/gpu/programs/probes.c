/* SPDX-License-Identifier: Apache-2.0
 *
 * One probe per behaviour of CUPTI that the tracer relies on and tests/simcuda imitates. `probes
 * --list` names them with what each claims; `probes NAME` tries one in this process and exits with
 * 0 (holds), 1 (does not hold) or 77 (cannot be tried here). What was seen goes to stdout.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti_rig.h"

#define LAUNCH  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
#define DRIVER  CUPTI_CB_DOMAIN_DRIVER_API

#define SPIN_NS 500000000u

/* Prints what was seen and passes the verdict on. */
static bool seen(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool seen(bool holds, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	return holds;
}

static const CUpti_ActivityKernel9 *one_kernel(void)
{
	rig_start();
	rig_launch();
	rig_flush(0);
	return rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
}

static bool flush_delivers(void)
{
	one_kernel();
	return seen(rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 1, "%u kernel records",
		    rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
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

static bool busy_buffer_is_kept(void)
{
	unsigned int before;

	launch_beside_spin();
	rig.cupti.cuptiActivityFlushAll(0);
	before = rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	rig_flush(0);
	return seen(before == 0 && rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2,
		    "%u kernel records while one ran, %u afterwards", before,
		    rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* Why the tracer forces nothing out while another context may have work in progress. */
static bool forced_work_has_no_end(void)
{
	const CUpti_ActivityKernel9 *kernel;
	unsigned forced, unfinished = 0;

	launch_beside_spin();
	rig.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	forced = rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	rig_flush(0);
	for (unsigned n = 0; (kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, n)); n++)
		unfinished += kernel->end == 0;
	return seen(forced == 2 && unfinished == 1 &&
			    rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2,
		    "%u kernel records forced out, %u without an end, %u after the wait", forced,
		    unfinished, rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* Work in a context that was waited for, and no flush before the context goes. */
static bool lost_with_context(void)
{
	rig_start();
	rig_launch();
	cuCtxSynchronize();
	if (cuDevicePrimaryCtxReset(0) || cuDevicePrimaryCtxRetain(&rig.context, 0) ||
	    cuCtxSetCurrent(rig.context))
		return seen(false, "the context was not reset");
	rig_flush(0);
	return seen(rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 0, "%u kernel records",
		    rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static bool second_subscriber(void)
{
	CUpti_SubscriberHandle other;
	CUptiResult result;

	rig_start();
	result = rig.cupti.cuptiSubscribe(&other, NULL, NULL);
	return seen(result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "result %d", result);
}

static bool callbacks_on_caller(void)
{
	const struct rig_callback *enter, *leave;
	pid_t self = (pid_t)syscall(SYS_gettid);

	one_kernel();
	enter = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_ENTER, 0);
	leave = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_EXIT, 0);
	if (!enter || !leave)
		return seen(false, "no callback");
	return seen(enter->tid == self && leave->tid == self &&
			    enter->correlation == leave->correlation && enter->correlation,
		    "threads %d %d of %d, correlation %u %u", enter->tid, leave->tid, self,
		    enter->correlation, leave->correlation);
}

static bool correlation_of_kernel(void)
{
	const CUpti_ActivityKernel9 *kernel = one_kernel();
	const struct rig_callback *enter = rig_find_callback(DRIVER, LAUNCH, CUPTI_API_ENTER, 0);

	if (!kernel || !enter)
		return seen(false, "no record or no callback");
	return seen(kernel->correlationId == enter->correlation, "record %u, callback %u",
		    kernel->correlationId, enter->correlation);
}

static bool kernel_times_are_realtime(void)
{
	uint64_t before, after;
	const CUpti_ActivityKernel9 *kernel;

	rig_start();
	before = rig_realtime();
	rig_launch();
	cuCtxSynchronize();
	after = rig_realtime();
	rig_flush(0);
	kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	if (!kernel)
		return seen(false, "no record");
	return seen(kernel->start >= before && kernel->end <= after && kernel->start <= kernel->end,
		    "start %+lld ns after the launch began, end %+lld ns before the wait ended",
		    (long long)(kernel->start - before), (long long)(after - kernel->end));
}

static bool timestamp_is_realtime(void)
{
	uint64_t before, stamp = 0, after;

	rig_start();
	before = rig_realtime();
	rig.cupti.cuptiGetTimestamp(&stamp);
	after = rig_realtime();
	return seen(before <= stamp && stamp <= after, "%+lld ns, bracket %llu ns",
		    (long long)(stamp - before), (unsigned long long)(after - before));
}

static bool end_of_buffer(void)
{
	one_kernel();
	return seen(rig.end_of_buffer == CUPTI_ERROR_MAX_LIMIT_REACHED, "result %d",
		    rig.end_of_buffer);
}

static bool buffers_from_caller(void)
{
	pid_t self = (pid_t)syscall(SYS_gettid);

	rig_start();
	rig_launch();
	return seen(rig.requests > 0 && rig.request_tid == self, "%u requests, thread %d of %d",
		    rig.requests, rig.request_tid, self);
}

static bool refused_buffers_are_counted(void)
{
	size_t dropped = 0;

	rig.refuse_buffers = true;
	rig_start();
	for (int i = 0; i < 10; i++)
		rig_launch();
	rig_flush(0);
	rig.cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);
	return seen(dropped > 0, "%zu dropped", dropped);
}

static bool copied_buffers_are_read(void)
{
	rig.read_copies = true;
	one_kernel();
	return seen(rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 1,
		    "%u kernel records out of a copy",
		    rig_count(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

/* Records picked out of buffers, one behind the other: how --coexist=share fills another tool's
 * buffer. */
static bool picked_records_are_read(void)
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
	return seen(kernels == 4 && n == 4 && end == CUPTI_ERROR_MAX_LIMIT_REACHED,
		    "%u of %u kernel records, then result %d", n, kernels, end);
}

static bool buffers_are_zeroed(void)
{
	one_kernel();
	return seen(rig.zeroed, "the bytes behind the records are %s",
		    rig.zeroed ? "0" : "as lent");
}

static bool kernel_kinds_exclude(void)
{
	CUptiResult result;

	rig_start();
	result = rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_KERNEL);
	return seen(result == CUPTI_ERROR_NOT_COMPATIBLE, "result %d", result);
}

static bool stream_ids(void)
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
		return seen(false, "no record");
	return seen((own->streamId == 13 && null->streamId == 7) ||
			    (own->streamId == 7 && null->streamId == 13),
		    "%u and %u", own->streamId, null->streamId);
}

static bool kernel_record_size(void)
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
	return seen(rig.kernel_stride == sizeof(CUpti_ActivityKernel10),
		    "%zu bytes apart, struct %zu", rig.kernel_stride,
		    sizeof(CUpti_ActivityKernel10));
}

static bool thread_ids_are_system(void)
{
	const CUpti_ActivityAPI *call;
	pid_t self = (pid_t)syscall(SYS_gettid);

	one_kernel();
	for (unsigned n = 0; (call = rig_find(CUPTI_ACTIVITY_KIND_DRIVER, n)); n++) {
		if (call->cbid == LAUNCH)
			return seen(call->threadId == (uint32_t)self, "record %u, thread %d",
				    call->threadId, self);
	}
	return seen(false, "no record of the launch");
}

static bool copies_and_sets(void)
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
		return seen(false, "no record");
	return seen(copy->bytes == 1000 && copy->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_HTOD &&
			    set->bytes == 2000 && set->value == 3,
		    "copy of %llu bytes, kind %u; set of %llu bytes to %u",
		    (unsigned long long)copy->bytes, copy->copyKind, (unsigned long long)set->bytes,
		    set->value);
}

static bool context_and_stream_are_told(void)
{
	bool context, stream;

	rig_start();
	context = rig_find_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
				    0, 0);
	stream = rig_find_callback(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_STREAM_CREATED, 0,
				   0);
	return seen(context && stream, "context %d, stream %d", context, stream);
}

/* A chain of three kernels as a graph, launched @times. */
static void run_graph(int times)
{
	void *arguments[] = {&rig.memory};
	CUDA_KERNEL_NODE_PARAMS node = {.func = rig.kernel,
					.gridDimX = 1,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1,
					.kernelParams = arguments};
	CUgraphNode nodes[3] = {0};
	CUgraphExec executable;
	CUgraph graph;

	if (cuGraphCreate(&graph, 0))
		exit(77);
	for (int i = 0; i < 3; i++) {
		if (cuGraphAddKernelNode(&nodes[i], graph, i ? &nodes[i - 1] : NULL, i > 0, &node))
			exit(77);
	}
	if (cuGraphInstantiate(&executable, graph, 0))
		exit(77);
	for (int i = 0; i < times; i++) {
		if (cuGraphLaunch(executable, rig.stream))
			exit(77);
	}
	rig_flush(0);
}

static bool graph_kernels_share_correlation(void)
{
	const struct rig_callback *first, *second;
	unsigned of_first = 0, of_second = 0;
	const CUpti_ActivityKernel9 *kernel;

	rig_start();
	run_graph(2);
	first = rig_find_callback(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_ENTER,
				  0);
	second = rig_find_callback(DRIVER, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_API_ENTER,
				   1);
	if (!first || !second)
		return seen(false, "no callback of the graph launch");
	for (unsigned n = 0; (kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, n)); n++) {
		of_first += kernel->correlationId == first->correlation;
		of_second += kernel->correlationId == second->correlation;
	}
	return seen(of_first == 3 && of_second == 3, "%u and %u of 3 and 3", of_first, of_second);
}

/* True when a callback @id reported a node with @graph_node_id. */
static bool node_was_told(CUpti_CallbackId id, uint64_t graph_node_id)
{
	const struct rig_callback *callback;

	for (unsigned n = 0; (callback = rig_find_callback(CUPTI_CB_DOMAIN_RESOURCE, id, 0, n));
	     n++) {
		if (callback->graph_node_id == graph_node_id)
			return true;
	}
	return false;
}

static bool graph_node_ids_are_the_clones(void)
{
	const CUpti_ActivityKernel9 *kernel;
	unsigned cloned = 0, created = 0, kernels = 0;

	rig_start();
	run_graph(2);
	for (; (kernel = rig_find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, kernels)); kernels++) {
		cloned += node_was_told(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, kernel->graphNodeId);
		created +=
			node_was_told(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, kernel->graphNodeId);
	}
	return seen(kernels == 6 && cloned == 6,
		    "of %u kernels %u have the id of a clone, %u that of a created node", kernels,
		    cloned, created);
}

static size_t attribute(CUpti_ActivityAttribute which)
{
	size_t value = 0, size = sizeof(value);

	rig.cupti.cuptiActivityGetAttribute(which, &size, &value);
	return value;
}

/* --gpu-memory relies on the size. */
static bool device_buffers(void)
{
	size_t size, limit;

	rig_open();
	size = attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE);
	limit = attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
	return seen(size == 3200000 && limit == 250, "%zu buffers of %zu bytes", limit, size);
}

static bool graphs_use_up_device_buffers(void)
{
	size_t bytes = 256u << 10, limit = 4, size = sizeof(size_t);

	rig_open();
	rig.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &bytes);
	rig.cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size,
					    &limit);
	rig_use_device();
	run_graph(20000);
	return seen(rig.untimed_kernels > 0, "%u of %u kernels without times", rig.untimed_kernels,
		    rig.kernels);
}

static const struct {
	const char *name, *claim;
	bool (*try)(void);
} probes[] = {
	{"flush-delivers", "after a wait, FlushAll(0) delivers the kernel's record",
	 flush_delivers},
	{"busy-buffer-is-kept", "FlushAll(0) keeps a buffer with work under way",
	 busy_buffer_is_kept},
	{"forced-work-has-no-end", "FlushAll(FORCED) gives running work end 0, and never again",
	 forced_work_has_no_end},
	{"lost-with-context", "records not fetched before a context is destroyed are lost",
	 lost_with_context},
	{"second-subscriber", "a second cuptiSubscribe is refused with 39", second_subscriber},
	{"callbacks-on-caller", "enter and exit come on the calling thread with one id",
	 callbacks_on_caller},
	{"correlation-of-kernel", "the record has the correlation id of the callback",
	 correlation_of_kernel},
	{"kernel-times-are-realtime",
	 "a kernel's times lie on CLOCK_REALTIME between launch and wait",
	 kernel_times_are_realtime},
	{"timestamp-is-realtime", "cuptiGetTimestamp reads CLOCK_REALTIME", timestamp_is_realtime},
	{"end-of-buffer", "the last record is followed by MAX_LIMIT_REACHED", end_of_buffer},
	{"buffers-from-caller", "the first buffer is asked for on the application's thread",
	 buffers_from_caller},
	{"refused-buffers-are-counted", "records without a buffer count as dropped",
	 refused_buffers_are_counted},
	{"copied-buffers-are-read", "GetNextRecord reads a copy of a buffer",
	 copied_buffers_are_read},
	{"picked-records-are-read", "GetNextRecord reads records put together by us",
	 picked_records_are_read},
	{"buffers-are-zeroed", "CUPTI clears a buffer before it writes into it",
	 buffers_are_zeroed},
	{"kernel-kinds-exclude", "KERNEL beside CONCURRENT_KERNEL is refused with 14",
	 kernel_kinds_exclude},
	{"stream-ids", "the default stream is 7, the first one made is 13", stream_ids},
	{"kernel-record-size", "kernel records lie sizeof(CUpti_ActivityKernel10) apart",
	 kernel_record_size},
	{"thread-ids-are-system", "THREAD_ID_TYPE_SYSTEM gives the thread's id",
	 thread_ids_are_system},
	{"copies-and-sets", "copies and sets give bytes, kind and value", copies_and_sets},
	{"context-and-stream-are-told", "RESOURCE callbacks name context and stream",
	 context_and_stream_are_told},
	{"graph-kernels-share-correlation", "all kernels of a graph launch have the launch's id",
	 graph_kernels_share_correlation},
	{"graph-node-ids-are-the-clones", "a replayed kernel has the id of the cloned node",
	 graph_node_ids_are_the_clones},
	{"device-buffers", "250 buffers of 3200000 bytes on the device, per context",
	 device_buffers},
	{"graphs-use-up-device-buffers", "kernels of graphs keep them: later ones have no times",
	 graphs_use_up_device_buffers},
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--list";

	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (!strcmp(name, "--list"))
			printf("%s\t%s\n", probes[i].name, probes[i].claim);
		else if (!strcmp(name, probes[i].name))
			return probes[i].try() ? 0 : 1;
	}
	return strcmp(name, "--list") ? 2 : 0;
}
