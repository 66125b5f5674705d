/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes activity records of GPU work, in the layout of this CUPTI version, and plays the faults of
 * records. Any thread.
 */
#include "cupti/layouts.h"

#include <pthread.h>
#include <string.h>

#define EARLY_NS 20000000000u

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
	cupti_record_put(&r, sizeof(r));
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
	cupti_record_put(&r, sizeof(r));
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

	cupti_record_put(&r, sizeof(r));
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

	cupti_record_put(&r, sizeof(r));
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
	cupti_record_put(&r, sizeof(r));
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
	cupti_record_put(&r, sizeof(r));
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
		return cupti_record_size(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	return cupti_record_size(is_peer ? CUPTI_ACTIVITY_KIND_MEMCPY2 : kinds[op->kind]);
}

/* An operation that is not done has a record without an end, or with the fault one that cannot be
 * read: kind 0, error 21. */
static void put_incomplete(const struct sim_op *original)
{
	uint8_t nothing[CUPTI_RECORD_MAX] = {0};
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
