/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of a launch: it begins when its stream is ready, and ends when all that it meets have
 * begun and their bytes have gone over the slowest one's network: SIMNCCL_GBS (100) GB/s of each.
 */
#include "nccl/sim_nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATENCY_NS  8000u
#define DEFAULT_GBS 100.0
#define KBS_PER_GBS 1e6
#define CHANNELS    4
#define THREADS     512

/* Bytes on the bus for each byte of the message, of n ranks, by doc/PERFORMANCE.md of nccl-tests;
 * and its size for each element of the count. */
static double bus_bytes(const struct sim_operation *op)
{
	static const size_t sizes[ncclNumTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	double n = op->comm->ranks, bytes = (double)op->count * (double)sizes[op->type];

	switch (op->function) {
	case SIM_ALL_REDUCE:
		return bytes * 2 * (n - 1) / n;
	case SIM_ALL_GATHER:
	case SIM_REDUCE_SCATTER:
	case SIM_ALL_TO_ALL:
	case SIM_GATHER:
	case SIM_SCATTER:
		return bytes * (n - 1);
	default:
		return bytes;
	}
}

static uint64_t own_kbs(void)
{
	const char *text = getenv("SIMNCCL_GBS");
	double kbs = (text ? atof(text) : 0) * KBS_PER_GBS;

	return (uint64_t)(kbs >= 1 ? kbs : DEFAULT_GBS * KBS_PER_GBS);
}

/* When the last one came, and the slowest network of all. */
struct gathering {
	uint64_t last, kbs;
};

static uint64_t transfer_ns(const struct sim_operation *op, const struct gathering *gathering)
{
	return (uint64_t)(bus_bytes(op) * KBS_PER_GBS / (double)gathering->kbs);
}

/* What a kernel waits for, as long as it runs. */
struct meeting {
	ncclComm_t comm;
	size_t count;
	struct sim_operation operations[];
};

/* The cells of both sides of a send or receive: ours first. */
static void find_pair(const struct sim_operation *op, struct sim_cell **ret_own,
		      struct sim_cell **ret_other)
{
	bool sends = op->function == SIM_SEND;
	int from = sends ? op->comm->rank : op->peer, to = sends ? op->peer : op->comm->rank;
	struct sim_cell *cells = op->comm->shared->pairs[from][to][op->number % SIM_PAIRS];

	*ret_own = &cells[!sends];
	*ret_other = &cells[sends];
}

static bool is_pair(const struct sim_operation *op)
{
	return op->function == SIM_SEND || op->function == SIM_RECV;
}

/* Of tests/simcuda/clock, if this process runs on another host. */
__attribute__((weak)) uint64_t sim_clock_shared(uint64_t own);
__attribute__((weak)) uint64_t sim_clock_own(uint64_t shared);

static void come(const struct sim_operation *op, uint64_t start)
{
	struct sim_cell *own = &op->comm->shared->all[op->number % SIM_SLOTS][op->comm->rank],
			*other;

	if (is_pair(op))
		find_pair(op, &own, &other);
	atomic_store(&own->kbs, own_kbs());
	atomic_store(&own->start, sim_clock_shared ? sim_clock_shared(start) : start);
	atomic_store(&own->tag, op->number);
}

static void wait_for(const struct sim_operation *op, const struct sim_cell *cell,
		     struct gathering *gathering)
{
	uint64_t start, kbs;

	if (!sim_nccl_wait(op->comm->shared, &cell->tag, op->number))
		return;
	start = atomic_load(&cell->start);
	kbs = atomic_load(&cell->kbs);
	start = sim_clock_own ? sim_clock_own(start) : start;
	gathering->last = start > gathering->last ? start : gathering->last;
	gathering->kbs = kbs < gathering->kbs ? kbs : gathering->kbs;
}

static struct gathering gather(const struct sim_operation *op)
{
	struct gathering gathering = {0, own_kbs()};
	struct sim_cell *own, *other;

	if (is_pair(op)) {
		find_pair(op, &own, &other);
		wait_for(op, other, &gathering);
		return gathering;
	}
	for (int i = 0; i < op->comm->ranks; i++)
		wait_for(op, &op->comm->shared->all[op->number % SIM_SLOTS][i], &gathering);
	return gathering;
}

static uint64_t meet(void *data, uint64_t start)
{
	struct meeting *meeting = data;
	uint64_t end = start, ns = LATENCY_NS;

	for (size_t i = 0; i < meeting->count; i++)
		come(&meeting->operations[i], start);
	for (size_t i = 0; i < meeting->count; i++) {
		struct gathering all = gather(&meeting->operations[i]);

		end = all.last > end ? all.last : end;
		ns += transfer_ns(&meeting->operations[i], &all);
	}
	atomic_fetch_sub(&meeting->comm->meetings, 1);
	free(meeting);
	return end + ns;
}

/* As NCCL's since 2.19 are called, mangled. */
static void name_kernel(const struct sim_operation *op, char *out, size_t size)
{
	static const char *const functions[] = {
		"AllReduce", "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
		"SendRecv",  "SendRecv",  "SendRecv", "SendRecv",  "SendRecv"};
	static const char *const reductions[] = {"Sum", "Prod", "MinMax", "MinMax", "SumPostDiv"};
	static const char *const types[ncclNumTypes] = {"u8",  "u8",   "u32",    "u32",
							"u64", "u64",  "f16",    "f32",
							"f64", "bf16", "f8e4m3", "f8e5m2"};
	bool reduces = op->reduction >= 0 && op->reduction < ncclNumOps;
	char plain[128];

	if (reduces)
		snprintf(plain, sizeof(plain), "ncclDevKernel_%s_%s_%s_RING_LL",
			 functions[op->function], reductions[op->reduction], types[op->type]);
	else
		snprintf(plain, sizeof(plain), "ncclDevKernel_%s%s", functions[op->function],
			 strcmp(functions[op->function], "SendRecv") ? "_RING_LL" : "");
	snprintf(out, size, "_Z%zu%s24ncclDevKernelArgsStorageILm4096EE", strlen(plain), plain);
}

static void number(struct sim_operation *op)
{
	if (op->function == SIM_SEND)
		op->number = ++op->comm->sent[op->peer];
	else if (op->function == SIM_RECV)
		op->number = ++op->comm->received[op->peer];
	else
		op->number = ++op->comm->sequence;
}

static struct meeting *make_meeting(const struct sim_operation *operations, size_t count)
{
	struct meeting *meeting = malloc(sizeof(*meeting) + count * sizeof(*operations));

	if (!meeting)
		return NULL;
	meeting->comm = operations->comm;
	meeting->count = count;
	memcpy(meeting->operations, operations, count * sizeof(*operations));
	for (size_t i = 0; i < count; i++)
		number(&meeting->operations[i]);
	return meeting;
}

static CUresult find_kernel(ncclComm_t comm, const char *name, CUfunction *ret_function)
{
	static const char image[] = "simulated NCCL";
	const struct sim_nccl_driver *driver = sim_nccl_driver();
	CUresult result = comm->module ? CUDA_SUCCESS : driver->load(&comm->module, image);

	return result ? result : driver->find(ret_function, comm->module, name);
}

ncclResult_t sim_nccl_launch(const struct sim_operation *operations, size_t count)
{
	const struct sim_nccl_driver *driver = sim_nccl_driver();
	ncclComm_t comm = operations->comm;
	struct meeting *meeting;
	CUfunction function;
	CUcontext before;
	char name[256];
	CUresult result;

	if (operations->function >= SIM_PUT)
		return ncclSuccess;
	name_kernel(operations, name, sizeof(name));
	if (driver->push(comm->context))
		return ncclUnhandledCudaError;
	result = find_kernel(comm, name, &function);
	meeting = result ? NULL : make_meeting(operations, count);
	if (meeting) {
		atomic_fetch_add(&comm->meetings, 1);
		driver->table->meet(meet, meeting);
		result = driver->launch(function, CHANNELS, 1, 1, THREADS, 1, 1, 0,
					(CUstream)operations->stream, NULL, NULL);
		if (driver->table->meet(NULL, NULL)) { /* nobody took it */
			atomic_fetch_sub(&comm->meetings, 1);
			free(meeting);
		}
		sim_profiler_launched(operations, count);
	}
	driver->pop(&before);
	return result || !meeting ? ncclUnhandledCudaError : ncclSuccess;
}
