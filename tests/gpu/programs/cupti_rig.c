/* SPDX-License-Identifier: Apache-2.0 */
#include "cupti_rig.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_BYTES (256 * 1024)
#define SKIP         77
#define LENT         0xab /* what a buffer holds when it is lent */
#define TAIL         8

struct rig rig;

/* CUPTI calls back on whatever thread it likes, and on two at once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char ptx[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
			  ".visible .entry probe_kernel(.param .u64 data)\n{\n\tret;\n}\n"
			  ".visible .entry probe_spin(.param .u64 ns)\n{\n"
			  "\t.reg .u64 %begin, %now, %ns;\n\t.reg .pred %more;\n"
			  "\tld.param.u64 %ns, [ns];\n\tmov.u64 %begin, %globaltimer;\n"
			  "again:\n\tmov.u64 %now, %globaltimer;\n\tsub.u64 %now, %now, %begin;\n"
			  "\tsetp.lt.u64 %more, %now, %ns;\n\t@%more bra again;\n\tret;\n}\n";

static void must(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(SKIP);
}
#define MUST(call) must((int)(call), #call)

static pid_t thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

uint64_t rig_realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t buffer_bytes(void)
{
	return rig.buffer_bytes ? rig.buffer_bytes : BUFFER_BYTES;
}

static uint8_t *make_buffer(size_t size)
{
	uint8_t *buffer = aligned_alloc(8, size);

	memset(buffer, rig.clear_buffers ? 0 : LENT, size);
	memset(buffer + size - TAIL, LENT, TAIL);
	return buffer;
}

static void CUPTIAPI request_buffer(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max)
{
	static uint8_t *shared;
	pid_t self = thread_id();

	*ret_buffer = NULL;
	*ret_size = 0;
	*ret_max = 0;
	pthread_mutex_lock(&mutex);
	if (rig.requests++ == 0)
		rig.request_tid = self;
	else if (self != rig.request_tid && !rig.other_tid)
		rig.other_tid = self;
	if (rig.share_buffer && !shared)
		shared = make_buffer(buffer_bytes());
	if (!rig.refuse_buffers) {
		*ret_size = buffer_bytes();
		*ret_buffer = rig.share_buffer ? shared : make_buffer(*ret_size);
	}
	pthread_mutex_unlock(&mutex);
}

static void note_kernel(const CUpti_ActivityKernel9 *kernel)
{
	rig.kernels++;
	rig.untimed_kernels += kernel->start == 0 && kernel->end == 0;
}

static void read_buffer(uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL, *before = NULL;

	rig.zeroed = valid < size && buffer[valid] == 0 && buffer[size - 1] == 0;
	rig.lent_tail = *(const uint64_t *)(buffer + size - TAIL);
	if (rig.read_copies) {
		uint8_t *copy = aligned_alloc(8, size);

		memcpy(copy, buffer, valid);
		memset(buffer, 0xdb, valid);
		buffer = copy;
	}
	while (!(rig.end_of_buffer =
			 rig.cupti.cuptiActivityGetNextRecord(buffer, valid, &record))) {
		if (before && before->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			rig.kernel_stride = (size_t)((uint8_t *)record - (uint8_t *)before);
		before = record;
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			note_kernel((const CUpti_ActivityKernel9 *)record);
		if (rig.record_count < RIG_RECORDS && !rig.count_only)
			rig.records[rig.record_count++] = record;
	}
}

static void CUPTIAPI complete_buffer(CUcontext context, uint32_t stream, uint8_t *buffer,
				     size_t size, size_t valid)
{
	unsigned before;

	(void)context;
	(void)stream;
	pthread_mutex_lock(&mutex);
	rig.completions++;
	before = rig.record_count;
	if (buffer && valid)
		read_buffer(buffer, size, valid);
	if (rig.record_count == before && !rig.share_buffer && !rig.read_copies)
		free(buffer);
	pthread_mutex_unlock(&mutex);
}

static void see_resource(CUpti_CallbackId id, const CUpti_ResourceData *data,
			 struct rig_callback *callback)
{
	const CUpti_GraphData *graph;

	if (id != CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED &&
	    id != CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
		return; /* with CU_INIT_FINISHED @data is NULL */
	graph = data->resourceDescriptor;
	rig.cupti.cuptiGetGraphNodeId(graph->node, &callback->graph_node_id);
}

static void CUPTIAPI see_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				  const void *data)
{
	struct rig_callback callback = {.domain = domain, .id = id, .tid = thread_id()};
	const CUpti_CallbackData *call = data;

	(void)user;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		callback.site = call->callbackSite;
		callback.correlation = call->correlationId;
		callback.context = call->contextUid;
		/* of other calls it is no pointer: CUPTI 13.0 leaves there what it finds */
		if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
		    id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel && call->symbolName)
			snprintf(callback.symbol, sizeof(callback.symbol), "%s", call->symbolName);
		if (rig.during)
			rig.during(domain, id, call->callbackSite);
	} else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		see_resource(id, data, &callback);
		if (rig.resource)
			rig.resource(id);
	}
	if (rig.callback_count < RIG_CALLBACKS)
		rig.callbacks[rig.callback_count++] = callback;
}

static void *open_cupti(void)
{
	static const char *const names[] = {
		"libcupti.so.13", "/usr/local/cuda/lib64/libcupti.so.13",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", "libcupti.so.12",
		"/usr/local/cuda/lib64/libcupti.so.12"};
	const char *given = getenv("GPUTRACE_CUPTI");
	void *handle = given && *given ? dlopen(given, RTLD_NOW) : NULL;

	for (size_t i = 0; !handle && i < sizeof(names) / sizeof(names[0]); i++)
		handle = dlopen(names[i], RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "no libcupti: %s\n", dlerror());
		exit(SKIP);
	}
	return handle;
}

void rig_load(void)
{
	void *library = open_cupti();

#define RIG_FUNCTION(name) *(void **)&rig.cupti.name = dlsym(library, #name);
#include "cupti_rig.def"
#undef RIG_FUNCTION
}

CUptiResult rig_register(void)
{
	return rig.cupti.cuptiActivityRegisterCallbacks(request_buffer, complete_buffer);
}

void rig_open(void)
{
	if (!rig.cupti.cuptiGetVersion)
		rig_load();
	MUST(rig.cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	rig.opening[0] = rig_realtime();
	MUST(rig.cupti.cuptiSubscribe(&rig.subscriber, see_callback, NULL));
	MUST(rig_register());
	MUST(rig.cupti.cuptiEnableDomain(1, rig.subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	MUST(rig.cupti.cuptiEnableDomain(1, rig.subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	rig.opening[1] = rig_realtime();
	MUST(rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	rig.opening[2] = rig_realtime();
	MUST(rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	MUST(rig.cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	rig.opening[3] = rig_realtime();
}

void rig_use_device(void)
{
	CUdevice device;
	CUmodule module;

	MUST(cuInit(0));
	MUST(cuDeviceGet(&device, 0));
	MUST(cuDevicePrimaryCtxRetain(&rig.context, device));
	MUST(cuCtxSetCurrent(rig.context));
	MUST(cuModuleLoadData(&module, ptx));
	MUST(cuModuleGetFunction(&rig.kernel, module, "probe_kernel"));
	MUST(cuModuleGetFunction(&rig.spin, module, "probe_spin"));
	MUST(cuMemAlloc(&rig.memory, 4096));
	MUST(cuStreamCreate(&rig.stream, CU_STREAM_NON_BLOCKING));
}

void rig_start(void)
{
	rig_open();
	rig_use_device();
}

void rig_launch(void)
{
	void *arguments[] = {&rig.memory};

	MUST(cuLaunchKernel(rig.kernel, 1, 1, 1, 32, 1, 1, 0, rig.stream, arguments, NULL));
}

void rig_spin(uint64_t ns)
{
	void *arguments[] = {&ns};
	CUstream other;

	MUST(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	MUST(cuLaunchKernel(rig.spin, 1, 1, 1, 1, 1, 1, 0, other, arguments, NULL));
}

void rig_flush(uint32_t flag)
{
	MUST(cuCtxSynchronize());
	if (rig.subscriber)
		MUST(rig.cupti.cuptiActivityFlushAll(flag));
}

const void *rig_find(CUpti_ActivityKind kind, unsigned n)
{
	for (unsigned i = 0; i < rig.record_count; i++) {
		if (rig.records[i]->kind == kind && n-- == 0)
			return rig.records[i];
	}
	return NULL;
}

unsigned rig_count(CUpti_ActivityKind kind)
{
	unsigned count = 0;

	while (rig_find(kind, count))
		count++;
	return count;
}

const struct rig_callback *rig_find_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id,
					     CUpti_ApiCallbackSite site, unsigned n)
{
	for (unsigned i = 0; i < rig.callback_count; i++) {
		const struct rig_callback *callback = &rig.callbacks[i];

		if (callback->domain == domain && callback->id == id && callback->site == site &&
		    n-- == 0)
			return callback;
	}
	return NULL;
}
