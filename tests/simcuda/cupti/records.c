/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes activity records of what the driver told, in the layout of this CUPTI version, and plays
 * the record faults. Any thread.
 */
#include "cupti/layouts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EARLY_NS 20000000000u

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

#define RECORD_MAX 256

static void put(const void *record, size_t size)
{
	uint8_t whole[RECORD_MAX] = {0};
	size_t grown;
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	memcpy(whole, record, size);
	grown = cupti_record_size(kind);
	cupti_buffers_put(whole, grown > size ? grown : size);
}

static void copy_dims(uint32_t *to, const uint32_t from[3])
{
	memcpy(to, from, 3 * sizeof(*from));
}

static void put_kernel(const struct sim_op *op, uint32_t kind)
{
	const struct sim_kernel_facts *k = &op->kernel;
	cupti_kernel r = {.kind = (CUpti_ActivityKind)kind,
			  .registersPerThread = (uint16_t)k->registers,
			  .start = op->start,
			  .end = op->end,
			  .completed = op->end,
			  .deviceId = op->device,
			  .contextId = op->context,
			  .streamId = op->stream,
			  .staticSharedMemory = (int32_t)k->static_shared,
			  .dynamicSharedMemory = (int32_t)k->dynamic_shared,
			  .localMemoryPerThread = k->local_per_thread,
			  .correlationId = op->correlation,
			  .gridId = (int64_t)k->grid_id,
			  .name = k->name,
			  .queued = cupti.latency ? op->queued : 0,
			  .submitted = cupti.latency ? op->submitted : 0,
			  .launchType = k->launch_type,
			  .sharedMemoryExecuted = k->static_shared + k->dynamic_shared + 1024,
			  .graphNodeId = op->node,
			  .graphId = op->graph,
			  .channelID = op->channel,
			  .channelType = CUPTI_CHANNEL_TYPE_COMPUTE,
			  .clusterX = k->cluster[0],
			  .clusterY = k->cluster[1],
			  .clusterZ = k->cluster[2]};

	copy_dims((uint32_t *)&r.gridX, k->grid);
	copy_dims((uint32_t *)&r.blockX, k->block);
	put(&r, sizeof(r));
}

static void put_copy(const struct sim_op *op)
{
	const struct sim_copy_facts *c = &op->copy;
	cupti_memcpy r = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
			  .copyKind = c->copy_kind,
			  .srcKind = c->src_kind,
			  .dstKind = c->dst_kind,
			  .flags = c->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
			  .bytes = c->bytes,
			  .start = op->start,
			  .end = op->end,
			  .deviceId = op->device,
			  .contextId = op->context,
			  .streamId = op->stream,
			  .correlationId = op->correlation,
			  .graphNodeId = op->node,
			  .graphId = op->graph,
			  .channelID = op->channel,
			  .channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY};

#if SIM_CUPTI_VERSION >= 26
	r.copyCount = 1;
#endif
	put(&r, sizeof(r));
}

static void put_peer_copy(const struct sim_op *op)
{
	const struct sim_copy_facts *c = &op->copy;
	cupti_memcpy_peer r = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
			       .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
			       .srcKind = c->src_kind,
			       .dstKind = c->dst_kind,
			       .flags = c->async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0,
			       .bytes = c->bytes,
			       .start = op->start,
			       .end = op->end,
			       .deviceId = op->device,
			       .contextId = op->context,
			       .streamId = op->stream,
			       .srcDeviceId = c->src_device,
			       .srcContextId = c->src_context,
			       .dstDeviceId = c->dst_device,
			       .dstContextId = c->dst_context,
			       .correlationId = op->correlation,
			       .graphNodeId = op->node,
			       .graphId = op->graph,
			       .channelID = op->channel,
			       .channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY};

	put(&r, sizeof(r));
}

static void put_set(const struct sim_op *op)
{
	cupti_memset r = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
			  .value = op->set.value,
			  .bytes = op->set.bytes,
			  .start = op->start,
			  .end = op->end,
			  .deviceId = op->device,
			  .contextId = op->context,
			  .streamId = op->stream,
			  .correlationId = op->correlation,
			  .flags = op->set.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0,
			  .memoryKind = op->set.memory_kind,
			  .graphNodeId = op->node,
			  .graphId = op->graph,
			  .channelID = op->channel,
			  .channelType = CUPTI_CHANNEL_TYPE_COMPUTE};

	put(&r, sizeof(r));
}

static void put_graph(const struct sim_op *op)
{
	cupti_graph_trace r = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
			       .correlationId = op->correlation,
			       .start = op->start,
			       .end = op->end,
			       .deviceId = op->device,
			       .graphId = op->graph,
			       .contextId = op->context,
			       .streamId = op->stream};

#if SIM_CUPTI_VERSION >= 22
	r.endDeviceId = op->device;
	r.endContextId = op->context;
#endif
	put(&r, sizeof(r));
}

static void put_operation(const struct sim_op *op)
{
	bool serial = cupti.kinds[CUPTI_ACTIVITY_KIND_KERNEL];

	if (op->kind == SIM_OP_KERNEL)
		put_kernel(op, serial ? CUPTI_ACTIVITY_KIND_KERNEL
				      : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	else if (op->kind == SIM_OP_MEMCPY && op->copy.peer)
		put_peer_copy(op);
	else if (op->kind == SIM_OP_MEMCPY)
		put_copy(op);
	else if (op->kind == SIM_OP_MEMSET)
		put_set(op);
	else
		put_graph(op);
}

static void play(const char *fault, const struct sim_op *op)
{
	cupti.table->truth(
		"{\"truth\":\"fault\",\"fault\":\"%s\",\"correlation\":%u,\"start\":%llu,"
		"\"end\":%llu,\"node\":%llu}\n",
		fault, op->correlation, (unsigned long long)op->start, (unsigned long long)op->end,
		(unsigned long long)op->node);
}

static void put_unknown(const struct sim_op *op)
{
	cupti_unknown r = {.kind = UNKNOWN_KIND};

	memset(r.bytes, 0x5a, sizeof(r.bytes));
	play("unknown_kind", op);
	put(&r, sizeof(r));
}

/* Kernels of graphs keep their place in the buffers on the device. */
static bool pool_is_used_up(const struct sim_op *op)
{
	static _Atomic uint64_t kernels;

	return cupti.faults.pool && op->kind == SIM_OP_KERNEL && op->graph &&
	       atomic_fetch_add(&kernels, 1) >= cupti_attribute_device_kernels();
}

static void spoil_times(struct sim_op *op)
{
	static _Atomic uint64_t zeros, reversals, early, seen;
	const struct cupti_faults *f = &cupti.faults;

	if (f->clock_step && atomic_fetch_add(&seen, 1) >= f->clock_step_after) {
		op->start += (uint64_t)f->clock_step;
		op->end += (uint64_t)f->clock_step;
	}
	if (cupti_fault_due(f->early, &early)) {
		play("early", op);
		op->start -= EARLY_NS;
		op->end -= EARLY_NS;
	}
	if (cupti_fault_due(f->reverse, &reversals)) {
		uint64_t start = op->start;
		play("reverse_ts", op);
		op->start = op->end;
		op->end = start;
	}
	if (cupti_fault_due(f->zero, &zeros) || pool_is_used_up(op)) {
		play("zero_ts", op);
		op->start = op->end = 0;
	}
}

/* A memset in a graph may be done by a kernel, and is reported as one. */
static bool is_memset_kernel(const struct sim_op *op)
{
	return cupti.faults.memset_kernels && op->kind == SIM_OP_MEMSET && op->graph;
}

static void become_kernel(struct sim_op *op)
{
	play("memset_kernel", op);
	op->kind = SIM_OP_KERNEL;
	op->kernel = (struct sim_kernel_facts){
		.name = "memset32_post", .grid = {1, 1, 1}, .block = {256, 1, 1}, .registers = 16};
}

size_t cupti_operation_size(const struct sim_op *op)
{
	static const uint32_t kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
					 CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
	bool is_peer = op->kind == SIM_OP_MEMCPY && op->copy.peer;

	if (is_memset_kernel(op))
		return sizes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL];
	return sizes[is_peer ? CUPTI_ACTIVITY_KIND_MEMCPY2 : kinds[op->kind]];
}

/* An operation that is not done has a record without an end, or with the fault one that cannot be
 * read: kind 0, error 21. */
static void put_incomplete(const struct sim_op *original)
{
	uint8_t nothing[RECORD_MAX] = {0};
	struct sim_op op = *original;

	play("incomplete", &op);
	if (cupti.faults.unreadable) {
		cupti_buffers_put(nothing, cupti_operation_size(&op));
		return;
	}
	op.start = op.start > cupti.table->done_until() ? 0 : cupti_gpu_time(op.start);
	op.end = 0;
	put_operation(&op);
}

/* Without a word, or told by cuptiActivityGetNumDroppedRecords. */
static bool lose_one(const struct sim_op *op)
{
	static _Atomic uint64_t silent, counted;

	if (cupti_fault_due(cupti.faults.drop, &silent)) {
		play("drop", op);
		return true;
	}
	if (!cupti_fault_due(cupti.faults.dropped, &counted))
		return false;
	play("dropped", op);
	cupti_buffers_count_dropped();
	return true;
}

/* Plays all faults on one operation; under a lock, so that "every third" means the same third
 * whichever threads make the records. False: the record is lost. */
static bool play_faults(struct sim_op *op, bool *ret_add_unknown)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static _Atomic uint64_t nulls, unknowns;

	pthread_mutex_lock(&mutex);
	bool is_lost = lose_one(op);
	if (!is_lost)
		spoil_times(op);
	if (!is_lost && cupti_fault_due(cupti.faults.null_correlation, &nulls)) {
		play("null_corr", op);
		op->correlation = 0;
	}
	*ret_add_unknown = !is_lost && cupti_fault_due(cupti.faults.unknown_kind, &unknowns);
	pthread_mutex_unlock(&mutex);
	return !is_lost;
}

static void give_times(struct sim_op *op)
{
	bool has_none = cupti_clock_is_after(op->start);

	op->start = has_none ? 0 : cupti_gpu_time(op->start);
	op->end = has_none ? 0 : cupti_gpu_time(op->end);
}

void cupti_record_operation(const struct sim_op *original, bool is_complete)
{
	struct sim_op op = *original;
	bool add_unknown;

	if (is_memset_kernel(&op))
		become_kernel(&op);
	if (!is_complete) {
		put_incomplete(&op);
		return;
	}
	give_times(&op);
	cupti_unified_operation(&op);
	if (!play_faults(&op, &add_unknown))
		return;
	put_operation(&op);
	if (add_unknown)
		put_unknown(&op);
	for (uint64_t i = 0; i < cupti.faults.overheads; i++)
		cupti_record_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, 0,
				      op.start - i, op.start - i + 1);
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

	put(&r, sizeof(r));
}

void cupti_record_external(uint32_t correlation, CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	cupti_external r = {.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
			    .externalKind = kind,
			    .externalId = id,
			    .correlationId = correlation};

	put(&r, sizeof(r));
}

void cupti_record_context(const struct sim_resource *what)
{
	cupti_context r = {.kind = CUPTI_ACTIVITY_KIND_CONTEXT,
			   .contextId = what->context_id,
			   .deviceId = what->device,
			   .computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA,
			   .nullStreamId = 7};

	if (cupti.kinds[CUPTI_ACTIVITY_KIND_CONTEXT])
		put(&r, sizeof(r));
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
		put(&r, sizeof(r));
}

static void put_device_attributes(int ordinal, const struct sim_device_facts *f)
{
	cupti_device_attribute r = {.kind = CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE,
				    .flags = CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE,
				    .deviceId = (uint32_t)ordinal};

	r.attribute.cu = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
	r.value.vUint32 = f->multiprocessors;
	put(&r, sizeof(r));
	r.attribute.cu = CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
	r.value.vUint32 = f->shared_per_block_optin;
	put(&r, sizeof(r));
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
	put(&r, sizeof(r));
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
		put(&r, sizeof(r));
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
		put(&r, sizeof(r));
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
		put(&r, sizeof(r));
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
		put(&r, sizeof(r));
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
		put(&r, sizeof(r));
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
		put(&r, sizeof(r));
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
		put(&r, sizeof(r));
}
