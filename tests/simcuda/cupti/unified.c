/* SPDX-License-Identifier: Apache-2.0
 *
 * Unified memory: each kernel touches all managed memory of the process, and so does the host
 * behind each synchronization; what is not there comes in pieces of 2 MiB. Memory that went to and
 * fro often is thrashing, then a processor is kept waiting, and at last it stays on the CPU.
 */
#include "cupti/layouts.h"

#include <string.h>
#include <unistd.h>

#define BLOCKS     256
#define PIECE      ((uint64_t)2 << 20)
#define GROUP      65536u /* bytes of a group of faults */
#define THRASHES   4      /* migrations of a block from which on it does */
#define THROTTLES  6
#define STAYS      8
#define SHORT_NS   2000u

#define CPU        CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID
#define KIND(kind) CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##kind

struct managed {
	uint64_t address, bytes; /* 0: free */
	uint32_t at;             /* device, or CPU */
	uint32_t moves, devices;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct managed blocks[BLOCKS];
static _Atomic uint32_t counted; /* a bit for each kind of counter */

static void put(const struct managed *block, CUpti_ActivityUnifiedMemoryCounterKind kind,
		uint64_t value, uint64_t address, uint64_t start, uint64_t end, uint32_t from,
		uint32_t to, uint32_t flags)
{
	cupti_unified r = {.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
			   .counterKind = kind,
			   .value = value,
			   .start = start,
			   .end = end,
			   .address = address,
			   .srcId = from,
			   .dstId = to,
			   .streamId = 12345, /* "the value of this field is invalid" */
			   .processId = (uint32_t)getpid(),
			   .flags = flags};

	if (!(counted >> kind & 1))
		return;
	if (kind == KIND(BYTES_TRANSFER_HTOD))
		r.srcId = 0;
	if (kind == KIND(BYTES_TRANSFER_DTOH))
		r.dstId = 0;
	if (kind == KIND(THRASHING))
		r.srcId = block->devices;
#if SIM_CUPTI_VERSION >= 26
	if (kind == KIND(THRASHING))
		r.processors[0] = block->devices;
#endif
	cupti.table->truth("{\"truth\":\"unified\",\"kind\":%u,\"address\":%llu,\"value\":%llu,"
			   "\"start\":%llu,\"end\":%llu,\"from\":%d,\"to\":%d,\"flags\":%u}\n",
			   kind, (unsigned long long)address, (unsigned long long)value,
			   (unsigned long long)start, (unsigned long long)end, (int)from, (int)to,
			   flags);
	cupti_buffers_put(&r, sizeof(r));
}

static void move(struct managed *block, uint32_t to, uint64_t start, uint64_t end, uint32_t cause)
{
	CUpti_ActivityUnifiedMemoryCounterKind kind = to == CPU ? KIND(BYTES_TRANSFER_DTOH)
						      : block->at == CPU
							      ? KIND(BYTES_TRANSFER_HTOD)
							      : KIND(BYTES_TRANSFER_DTOD);
	uint64_t pieces = (block->bytes + PIECE - 1) / PIECE, each = (end - start) / pieces;

	for (uint64_t i = 0; i < pieces; i++) {
		uint64_t left = block->bytes - i * PIECE;

		put(block, kind, left < PIECE ? left : PIECE, block->address + i * PIECE,
		    start + i * each, start + (i + 1) * each, block->at, to, cause);
	}
	block->at = to;
	block->moves++;
}

/* Caller holds the mutex, as of the next one. */
static void fight(struct managed *block, uint32_t device, uint64_t start, uint64_t end)
{
	if (block->moves >= THRASHES)
		put(block, KIND(THRASHING), block->bytes, block->address, start, 0, 0, 0,
		    CUPTI_ACTIVITY_FLAG_THRASHING_IN_CPU);
	if (block->moves >= THROTTLES)
		put(block, KIND(THROTTLING), 0, block->address, start, end, device, 0, 0);
	if (block->moves == STAYS)
		put(block, KIND(REMOTE_MAP), block->bytes, block->address, end, 0, CPU, device,
		    CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_THRASHING);
}

static void touch_on_device(struct managed *block, const struct sim_op *op)
{
	uint64_t span = (op->end - op->start) / 2;

	block->devices |= 1u << op->device % 32;
	if (block->at == op->device || block->moves > STAYS)
		return;
	fight(block, op->device, op->start, op->start + span / 4);
	if (block->moves == STAYS) {
		block->moves++;
		return;
	}
	put(block, KIND(GPU_PAGE_FAULT), (block->bytes + GROUP - 1) / GROUP, block->address,
	    op->start, op->start + span, op->device, 0,
	    CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE);
	move(block, op->device, op->start + span / 4, op->start + span,
	     CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
}

/* In the last moment of the synchronization, as nothing may lie in the future. */
static void touch_on_host(struct managed *block, uint64_t start, uint64_t end)
{
	if (block->at == CPU)
		return;
	if (end - start > SHORT_NS)
		start = end - SHORT_NS;
	put(block, KIND(CPU_PAGE_FAULT_COUNT), 0x401000, block->address, start, 0, 0, 0,
	    CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ);
	move(block, CPU, start, end, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
}

static bool is_on(void)
{
	return cupti.kinds[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] && !cupti.dead;
}

/* @op has the times of its record. */
void cupti_unified_operation(const struct sim_op *op)
{
	if (op->kind != SIM_OP_KERNEL || !is_on())
		return;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i].bytes)
			touch_on_device(&blocks[i], op);
	pthread_mutex_unlock(&mutex);
}

void cupti_unified_synchronized(const struct sim_sync *sync)
{
	if (!is_on())
		return;
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < BLOCKS; i++)
		if (blocks[i].bytes)
			touch_on_host(&blocks[i], cupti_gpu_time(sync->start),
				      cupti_gpu_time(sync->end));
	pthread_mutex_unlock(&mutex);
}

static struct managed *find(uint64_t address)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if (address >= blocks[i].address && address - blocks[i].address < blocks[i].bytes)
			return &blocks[i];
	return NULL;
}

static void prefetch(const struct sim_memory *memory)
{
	struct managed *block = find(memory->address);
	uint64_t now = cupti_gpu_time(memory->timestamp);

	if (block && block->at != memory->device && is_on())
		move(block, memory->device, now - SHORT_NS, now,
		     CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER);
}

static void add(const struct sim_memory *memory)
{
	for (size_t i = 0; i < BLOCKS; i++)
		if (!blocks[i].bytes) {
			blocks[i] = (struct managed){
				.address = memory->address, .bytes = memory->bytes, .at = CPU};
			return;
		}
}

void cupti_unified_memory(const struct sim_memory *memory)
{
	struct managed *block;

	pthread_mutex_lock(&mutex);
	block = find(memory->address);
	if (memory->operation == SIM_MEMORY_PREFETCH)
		prefetch(memory);
	else if (memory->operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE && block)
		block->bytes = 0;
	else if (memory->operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
		 memory->memory_kind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED)
		add(memory);
	pthread_mutex_unlock(&mutex);
}

/* The fault early_counters: asked for while the driver starts, they are refused for good. */
static bool is_spoiled(void)
{
	static _Atomic bool spoiled;

	if (cupti.faults.early_counters && !cupti.table->driver_ready())
		spoiled = true;
	return spoiled;
}

CUptiResult CUPTIAPI cuptiActivityConfigureUnifiedMemoryCounter(
	CUpti_ActivityUnifiedMemoryCounterConfig *config, uint32_t count)
{
	static _Atomic uint64_t calls;
	CUptiResult result = cupti_check();
	uint32_t fault = cupti.faults.enable[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER];

	if (result)
		return result;
	if (!config || !count)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	if (is_spoiled())
		return cupti_fail((CUptiResult)cupti.faults.early_counters);
	if (cupti.table->in_init() && !cupti.table->driver_ready()) /* as CUPTI 13.0.1 does */
		return cupti_fail(CUPTI_ERROR_NOT_READY);
	if (atomic_fetch_add(&calls, 1) < cupti.faults.not_ready)
		return cupti_fail(CUPTI_ERROR_NOT_READY);
	if (!cupti.table->driver_ready()) /* "should be called after CUDA driver initialization" */
		return cupti_fail(CUPTI_ERROR_NOT_INITIALIZED);
	if (fault)
		return cupti_fail((CUptiResult)fault);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t kind = (uint32_t)config[i].kind;

		if (!kind || kind >= CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_COUNT)
			return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
		counted = config[i].enable ? counted | 1u << kind : counted & ~(1u << kind);
	}
	return CUPTI_SUCCESS;
}
