/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes activity records of what the driver reports, but for GPU work (operations.c), in the layout
 * of this CUPTI version. Any thread.
 */
#include "cupti/layouts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What 13.4 added behind the last member that the toolkit's header has. */
#if SIM_CUPTI_VERSION >= 130400
#define GROWN(type, bytes) (bytes)
#else
#define GROWN(type, bytes) sizeof(type)
#endif

static const size_t sizes[CUPTI_KINDS] = {
	[CUPTI_ACTIVITY_KIND_KERNEL] = GROWN(cupti_kernel, 248),
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = GROWN(cupti_kernel, 248),
	[CUPTI_ACTIVITY_KIND_MEMCPY] = GROWN(cupti_memcpy, 112),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = sizeof(cupti_memcpy_peer),
	[CUPTI_ACTIVITY_KIND_MEMSET] = GROWN(cupti_memset, 104),
	[CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(cupti_api),
	[CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(cupti_api),
	[CUPTI_ACTIVITY_KIND_DEVICE] = GROWN(cupti_device, 192),
	[CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE] = sizeof(cupti_device_attribute),
	[CUPTI_ACTIVITY_KIND_CONTEXT] = GROWN(cupti_context, 40),
	[CUPTI_ACTIVITY_KIND_STREAM] = sizeof(cupti_stream),
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = sizeof(cupti_sync),
	[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = sizeof(cupti_event),
	[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = sizeof(cupti_external),
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = sizeof(cupti_overhead),
	[CUPTI_ACTIVITY_KIND_MEMORY2] = sizeof(cupti_memory),
	[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = sizeof(cupti_memory_pool),
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = sizeof(cupti_graph_trace),
	[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = sizeof(cupti_unified),
#if SIM_CUPTI_VERSION >= 130100
	[HOST_NODE_KIND] = sizeof(cupti_host_node),
	[HOST_LAUNCH_KIND] = sizeof(cupti_host_launch),
#endif
	[UNKNOWN_KIND] = sizeof(cupti_unknown),
};

/* 0: this version has no such record. */
size_t cupti_record_size(uint32_t kind)
{
	return kind < CUPTI_KINDS ? sizes[kind] : 0;
}

void cupti_record_put(const void *record, size_t size)
{
	uint8_t whole[CUPTI_RECORD_MAX] = {0};
	size_t grown;
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	memcpy(whole, record, size);
	grown = cupti_record_size(kind);
	cupti_buffers_put(whole, grown > size ? grown : size);
}

void cupti_record_api(const struct sim_call *call)
{
	cupti_api r = {.kind = call->domain == SIM_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER
							  : CUPTI_ACTIVITY_KIND_RUNTIME,
		       .cbid = call->cbid,
		       .start = cupti_gpu_time(call->start),
		       .end = cupti_gpu_time(call->end),
		       .processId = (uint32_t)getpid(),
		       .threadId = cupti_thread_id(),
		       .correlationId = call->correlation,
		       .returnValue = (uint32_t)call->result};

	cupti_record_put(&r, sizeof(r));
}

void cupti_record_external(uint32_t correlation, CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	cupti_external r = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
			    .externalKind = kind,
			    .externalId = id,
			    .correlationId = correlation};

	cupti_record_put(&r, sizeof(r));
}

void cupti_record_context(const struct sim_resource *what)
{
	cupti_context r = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
			   .contextId = what->context_id,
			   .deviceId = what->device,
			   .computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
			   .nullStreamId = 7};

	if (cupti.kinds[CUPTI_ACTIVITY_KIND_CONTEXT])
		cupti_record_put(&r, sizeof(r));
}

void cupti_record_stream(const struct sim_resource *what)
{
	cupti_stream r = {.kind = CUPTI_ACTIVITY_KIND_STREAM,
			  .contextId = what->context_id,
			  .streamId = what->stream_id,
			  .priority = (uint32_t)what->priority,
			  .flag = what->stream_flags & CU_STREAM_NON_BLOCKING
					  ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
					  : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT,
			  .correlationId = what->correlation};

	if (cupti.kinds[CUPTI_ACTIVITY_KIND_STREAM])
		cupti_record_put(&r, sizeof(r));
}

static void put_device_attributes(int ordinal, const struct sim_device_facts *f)
{
	cupti_device_attribute r = {.kind = CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE,
				    .flags = CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE,
				    .deviceId = (uint32_t)ordinal};

	r.attribute.cu = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
	r.value.vUint32 = f->multiprocessors;
	cupti_record_put(&r, sizeof(r));
	r.attribute.cu = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
	r.value.vUint32 = f->shared_per_block_optin;
	cupti_record_put(&r, sizeof(r));
}

void cupti_record_device(int ordinal)
{
	const struct sim_device_facts *f = cupti.table->device_facts(ordinal);
	cupti_device r = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
			  .flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS,
			  .globalMemoryBandwidth = f->bandwidth_kbs,
			  .globalMemorySize = f->memory,
			  .constantMemorySize = 65536,
			  .l2CacheSize = f->l2_bytes,
			  .numThreadsPerWarp = 32,
			  .coreClockRate = f->clock_khz,
			  .numMemcpyEngines = f->copy_engines,
			  .numMultiprocessors = f->multiprocessors,
			  .maxIPC = 4,
			  .maxWarpsPerMultiprocessor = f->threads_per_multiprocessor / 32,
			  .maxBlocksPerMultiprocessor = f->blocks_per_multiprocessor,
			  .maxSharedMemoryPerMultiprocessor = f->shared_per_multiprocessor,
			  .maxRegistersPerMultiprocessor = f->registers_per_multiprocessor,
			  .maxRegistersPerBlock = 65536,
			  .maxSharedMemoryPerBlock = 49152,
			  .maxThreadsPerBlock = 1024,
			  .maxBlockDimX = 1024,
			  .maxBlockDimY = 1024,
			  .maxBlockDimZ = 64,
			  .maxGridDimX = 2147483647,
			  .maxGridDimY = 65535,
			  .maxGridDimZ = 65535,
			  .computeCapabilityMajor = f->major,
			  .computeCapabilityMinor = f->minor,
			  .id = (uint32_t)ordinal,
			  .eccEnabled = 1,
			  .isCudaVisible = 1};

	cupti.table->device_uuid(ordinal, (unsigned char *)r.uuid.bytes);
	if (cupti.kinds[CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE])
		put_device_attributes(ordinal, f);
	if (!cupti.kinds[CUPTI_ACTIVITY_KIND_DEVICE])
		return;
	/* the text behind Device4 says shared, behind Device5 that the client may free it */
	r.name = SIM_CUPTI_VERSION < 22 ? f->name : strdup(f->name);
	cupti_record_put(&r, sizeof(r));
}

void cupti_record_sync(const struct sim_sync *sync)
{
	cupti_sync r = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
			.type = (CUpti_ActivitySynchronizationType)sync->kind,
			.start = cupti_gpu_time(sync->start),
			.end = cupti_gpu_time(sync->end),
			.correlationId = sync->correlation,
			.contextId = sync->context_id,
			.streamId = sync->stream_id,
			.cudaEventId = sync->event_id};

#if SIM_CUPTI_VERSION >= 26
	r.cudaEventSyncId = sync->event_sync_id;
	r.returnValue = (uint32_t)sync->result;
#endif
	if (cupti.kinds[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION])
		cupti_record_put(&r, sizeof(r));
}

#if SIM_CUPTI_VERSION >= 130100
static void put_host_node(const struct sim_host_function *function)
{
	cupti_host_node r = {.kind = HOST_NODE_KIND,
			     .streamId = function->stream,
			     .contextId = function->context,
			     .deviceId = function->device,
			     .correlationId = function->correlation,
			     .graphId = function->graph,
			     .graphNodeId = function->node,
			     .processId = (uint32_t)getpid(),
			     .threadId = cupti_thread_id(),
			     .start = cupti_gpu_time(function->start),
			     .end = cupti_gpu_time(function->end)};

	if (cupti.kinds[HOST_NODE_KIND] && !cupti.whole_graphs)
		cupti_record_put(&r, sizeof(r));
}

static void put_host_launch(const struct sim_host_function *function)
{
	cupti_host_launch r = {.kind = HOST_LAUNCH_KIND,
			       .streamId = function->stream,
			       .contextId = function->context,
			       .deviceId = function->device,
			       .correlationId = function->correlation,
			       .processId = (uint32_t)getpid(),
			       .threadId = cupti_thread_id(),
			       .start = cupti_gpu_time(function->start),
			       .end = cupti_gpu_time(function->end)};

	if (cupti.kinds[HOST_LAUNCH_KIND])
		cupti_record_put(&r, sizeof(r));
}

void cupti_record_host_function(const struct sim_host_function *function)
{
	if (cupti.dead)
		return;
	if (function->graph)
		put_host_node(function);
	else
		put_host_launch(function);
}
#else
void cupti_record_host_function(const struct sim_host_function *function)
{
}
#endif

void cupti_record_event(const struct sim_event_recorded *event)
{
	cupti_event r = {.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT,
			 .correlationId = event->correlation,
			 .contextId = event->context,
			 .streamId = event->stream,
			 .eventId = event->event_id};

#if SIM_CUPTI_VERSION >= 26
	r.deviceId = event->device;
	r.cudaEventSyncId = event->event_sync_id;
#endif
	if (cupti.kinds[CUPTI_ACTIVITY_KIND_CUDA_EVENT])
		cupti_record_put(&r, sizeof(r));
}

static void put_pool(const struct sim_memory *memory)
{
	cupti_memory_pool r = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
			       .memoryPoolOperationType =
				       (CUpti_ActivityMemoryPoolOperationType)memory->operation,
			       .memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
			       .correlationId = memory->correlation,
			       .processId = (uint32_t)getpid(),
			       .deviceId = memory->device,
			       .address = memory->pool,
			       .size = memory->pool_size,
			       .releaseThreshold = memory->pool_threshold,
			       .timestamp = cupti_gpu_time(memory->timestamp),
			       .utilizedSize = memory->pool_used};

	if (cupti.kinds[CUPTI_ACTIVITY_KIND_MEMORY_POOL])
		cupti_record_put(&r, sizeof(r));
}

static void put_memory(const struct sim_memory *memory)
{
	cupti_memory r = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
			  .memoryOperationType =
				  (CUpti_ActivityMemoryOperationType)memory->operation,
			  .memoryKind = (CUpti_ActivityMemoryKind)memory->memory_kind,
			  .correlationId = memory->correlation,
			  .address = memory->address,
			  .bytes = memory->bytes,
			  .timestamp = cupti_gpu_time(memory->timestamp),
			  .processId = (uint32_t)getpid(),
			  .deviceId = memory->device,
			  .contextId = memory->context,
			  .streamId = memory->stream,
			  .isAsync = memory->async};

	if (memory->pool) {
		r.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
		r.memoryPoolConfig.address = memory->pool;
		r.memoryPoolConfig.releaseThreshold = memory->pool_threshold;
		r.memoryPoolConfig.pool.size = memory->pool_size;
		r.memoryPoolConfig.utilizedSize = memory->pool_used;
	}
	if (cupti.kinds[CUPTI_ACTIVITY_KIND_MEMORY2])
		cupti_record_put(&r, sizeof(r));
}

void cupti_record_memory(const struct sim_memory *memory)
{
	cupti_unified_memory(memory);
	if (memory->operation == SIM_MEMORY_PREFETCH)
		return;
	if (memory->is_pool)
		put_pool(memory);
	else
		put_memory(memory);
}

void cupti_record_overhead(CUpti_ActivityOverheadKind kind, uint32_t correlation, uint64_t start,
			   uint64_t end)
{
	cupti_overhead r = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
			    .overheadKind = kind,
			    .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
			    .start = start,
			    .end = end};

	r.objectId.pt.processId = (uint32_t)getpid();
	r.objectId.pt.threadId = cupti_thread_id();
#if SIM_CUPTI_VERSION >= 22
	r.correlationId = correlation;
#else
	(void)correlation;
#endif
	if (cupti.kinds[CUPTI_ACTIVITY_KIND_OVERHEAD])
		cupti_record_put(&r, sizeof(r));
}
