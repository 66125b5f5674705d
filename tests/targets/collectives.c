/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses NCCL, written against nccl.h. Prints the result of each call.
 *
 *   collectives train ID RANK RANKS STEPS LATE_NS   a rank of several processes, which meet through
 *                                                   the file ID; the host comes so much later than
 *                                                   the others to each collective, or, with -1,
 *                                                   before them
 *   collectives pipe ID RANK RANKS STEPS LATE_NS    a rank that sends and receives; LATE_NS is no
 * matter collectives grid ID STEPS LATE_NS               a rank under Open MPI's mpirun: its pair,
 * its column of all pairs, and all have collectives collectives parts ID RANK RANKS communicators
 * made in all ways, from others too collectives missing ID RANK RANKS ABSENT        ABSENT comes to
 * the tenth all-reduce of its half only when the file ID.go is there collectives device COUNT one
 * process with several devices collectives errors                              calls that fail
 *   collectives again                               all of them in one variable, at one address
 *   collectives cost N                              ns of a call of NCCL that launches nothing, and
 *                                                   of a launch: N thousand of each
 */
#include <cuda.h>
#include <nccl.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define COUNT      262144 /* elements */
#define MOST       8

#define SHOW(call) show(#call, call)

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry compute(.param .u64 p) { ret; }\n";

static void show(const char *call, ncclResult_t result)
{
	printf("%.*s: %d\n", (int)strcspn(call, "("), call, (int)result);
}

static void nap(long ns)
{
	struct timespec time = {ns / 1000000000, ns % 1000000000};

	nanosleep(&time, NULL);
}

static void check(CUresult result)
{
	if (result) {
		printf("CUDA error %d\n", (int)result);
		exit(1);
	}
}

static CUfunction use_device(int ordinal)
{
	CUfunction compute;
	CUcontext context;
	CUmodule module;

	check(cuInit(0));
	check(cuDevicePrimaryCtxRetain(&context, ordinal));
	check(cuCtxSetCurrent(context));
	check(cuModuleLoadData(&module, image));
	check(cuModuleGetFunction(&compute, module, "compute"));
	return compute;
}

/* For the others to read when it is whole. */
static void publish(const char *path, const ncclUniqueId *id)
{
	char part[512];
	FILE *file;

	snprintf(part, sizeof(part), "%s.part", path);
	file = fopen(part, "w");
	if (!file || fwrite(id, sizeof(*id), 1, file) != 1 || fclose(file) || rename(part, path))
		exit(1);
}

/* The first rank makes the id, the others read it. */
static ncclUniqueId share_id(const char *path, int rank)
{
	ncclUniqueId id;
	FILE *file;

	if (rank == 0) {
		SHOW(ncclGetUniqueId(&id));
		publish(path, &id);
		return id;
	}
	while (!(file = fopen(path, "r")))
		nap(1000000);
	if (fread(&id, sizeof(id), 1, file) != 1)
		exit(1);
	fclose(file);
	return id;
}

static void run_kernels(CUfunction compute, CUstream stream)
{
	for (int i = 0; i < 4; i++)
		check(cuLaunchKernel(compute, 64, 1, 1, 128, 1, 1, 0, stream, NULL, NULL));
}

/* One rank may come first or last to each collective, however busy the machine is. Who is late
 * waits until the others have launched theirs; only to the first one, whose lateness has no cause,
 * it comes first. */
struct gate {
	struct {
		_Atomic uint64_t has_late, has_leader, launched, own_launched;
	} * shared;
	uint64_t others, passed;
	long late; /* ns behind the others; less than 0: in front of them; 0: another rank */
};

/* Before the communicator is made: then all know whether anyone is late. */
static struct gate open_gate(const char *path, int ranks, long late)
{
	struct gate gate = {.others = (uint64_t)ranks - 1, .late = late};
	char name[512];
	int fd;

	snprintf(name, sizeof(name), "%s.gate", path);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*gate.shared)))
		exit(1);
	gate.shared = mmap(NULL, sizeof(*gate.shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (gate.shared == MAP_FAILED)
		exit(1);
	close(fd);
	if (late)
		atomic_store(late > 0 ? &gate.shared->has_late : &gate.shared->has_leader, 1);
	return gate;
}

static void wait_for_count(const _Atomic uint64_t *count, uint64_t least)
{
	while (atomic_load(count) < least)
		nap(100000);
}

static void before(const struct gate *gate)
{
	bool own_first = atomic_load(&gate->shared->has_leader) ||
			 (atomic_load(&gate->shared->has_late) && !gate->passed);

	if (own_first && !gate->late)
		wait_for_count(&gate->shared->own_launched, gate->passed + 1);
	if (own_first || gate->late <= 0)
		return;
	wait_for_count(&gate->shared->launched, gate->others * (gate->passed + 1));
	nap(gate->late);
}

static void after(struct gate *gate)
{
	atomic_fetch_add(gate->late ? &gate->shared->own_launched : &gate->shared->launched, 1);
	gate->passed++;
}

#define PASS(gate, call)                                                                           \
	do {                                                                                       \
		before(gate);                                                                      \
		call;                                                                              \
		after(gate);                                                                       \
	} while (0)

static void step(CUfunction compute, CUstream stream, ncclComm_t comm, struct gate *gate)
{
	run_kernels(compute, stream);
	PASS(gate, ncclAllReduce(NULL, NULL, COUNT, ncclFloat, ncclSum, comm, stream));
	PASS(gate, ncclAllGather(NULL, NULL, COUNT / 4, ncclBfloat16, comm, stream));
	check(cuStreamSynchronize(stream));
}

/* Two operations in one kernel, then a send to the next rank and one from the rank before. */
static void grouped(CUstream stream, ncclComm_t comm, int rank, int ranks, struct gate *gate)
{
	SHOW(ncclGroupStart());
	SHOW(ncclReduceScatter(NULL, NULL, 1024, ncclHalf, ncclMax, comm, stream));
	SHOW(ncclReduceScatter(NULL, NULL, 2048, ncclHalf, ncclMax, comm, stream));
	PASS(gate, SHOW(ncclGroupEnd()));
	SHOW(ncclGroupStart());
	SHOW(ncclGroupStart());
	SHOW(ncclSend(NULL, 512, ncclInt8, (rank + 1) % ranks, comm, stream));
	SHOW(ncclGroupEnd());
	SHOW(ncclRecv(NULL, 512, ncclInt8, (rank + ranks - 1) % ranks, comm, stream));
	PASS(gate, SHOW(ncclGroupEnd()));
	check(cuStreamSynchronize(stream));
}

static void pass_on(ncclComm_t comm, CUstream stream, int from, int to, int ranks)
{
	if (from >= 0 && from < ranks)
		ncclRecv(NULL, COUNT, ncclFloat, from, comm, stream);
	if (to >= 0 && to < ranks)
		ncclSend(NULL, COUNT, ncclFloat, to, comm, stream);
}

/* What goes down a pipeline and back, an exchange of two ranks, and two messages that one side
 * sends in one kernel and the other receives in two. */
static int pipe_line(char **words)
{
	int rank = atoi(words[1]), ranks = atoi(words[2]), steps = atoi(words[3]), peer = rank ^ 1;
	CUfunction compute = use_device(0);
	ncclUniqueId id = share_id(words[0], rank);
	ncclComm_t comm;
	CUstream stream;

	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	SHOW(ncclCommInitRank(&comm, ranks, id, rank));
	for (int i = 0; i < steps; i++) {
		run_kernels(compute, stream);
		pass_on(comm, stream, rank - 1, rank + 1, ranks);
		pass_on(comm, stream, rank + 1, rank - 1, ranks);
		ncclGroupStart();
		ncclSend(NULL, 512, ncclInt8, peer, comm, stream);
		ncclRecv(NULL, 512, ncclInt8, peer, comm, stream);
		ncclGroupEnd();
		if (rank % 2 == 0)
			ncclGroupStart();
		for (int k = 0; k < 2; k++)
			rank % 2 ? ncclRecv(NULL, 64, ncclInt8, peer, comm, stream)
				 : ncclSend(NULL, 64, ncclInt8, peer, comm, stream);
		if (rank % 2 == 0)
			ncclGroupEnd();
		check(cuStreamSynchronize(stream));
	}
	SHOW(ncclCommDestroy(comm));
	return 0;
}

static int train(char **words)
{
	int rank = atoi(words[1]), ranks = atoi(words[2]), steps = atoi(words[3]);
	CUfunction compute = use_device(0);
	struct gate gate = open_gate(words[0], ranks, atol(words[4]));
	ncclUniqueId id = share_id(words[0], rank);
	ncclComm_t comm, half;
	CUstream stream;

	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	SHOW(ncclCommInitRank(&comm, ranks, id, rank));
	SHOW(ncclCommSplit(comm, rank % 2, rank, &half, NULL));
	for (int i = 0; i < steps; i++)
		step(compute, stream, comm, &gate);
	PASS(&gate, SHOW(ncclBroadcast(NULL, NULL, 100, ncclDouble, 1, half, stream)));
	PASS(&gate, SHOW(ncclBcast(NULL, 100, ncclInt64, 0, comm, stream)));
	PASS(&gate,
	     SHOW(ncclReduce(NULL, NULL, 100, ncclUint8, ncclProd, 2 % ranks, comm, stream)));
	PASS(&gate, SHOW(ncclAlltoAll(NULL, NULL, 64, ncclFloat8e4m3, comm, stream)));
	PASS(&gate, SHOW(ncclGather(NULL, NULL, 64, ncclInt32, 0, comm, stream)));
	PASS(&gate, SHOW(ncclScatter(NULL, NULL, 64, ncclUint32, 0, comm, stream)));
	grouped(stream, comm, rank, ranks, &gate);
	SHOW(ncclCommDestroy(half));
	SHOW(ncclCommFinalize(comm));
	SHOW(ncclCommDestroy(comm));
	return 0;
}

static void wait_until_ready(ncclComm_t comm)
{
	ncclResult_t state;

	do
		ncclCommGetAsyncError(comm, &state);
	while (state == ncclInProgress);
}

/* The first rank uses its communicator too early, before the others can come. */
static ncclComm_t make_without_blocking(const char *path, int rank, int ranks, CUstream stream)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId id;
	ncclComm_t comm;

	config.blocking = 0;
	if (rank == 0) {
		SHOW(ncclGetUniqueId(&id));
		SHOW(ncclCommInitRankConfig(&comm, ranks, id, rank, &config));
		SHOW(ncclAllReduce(NULL, NULL, 8, ncclFloat, ncclSum, comm, stream));
		publish(path, &id);
	} else {
		id = share_id(path, rank);
		SHOW(ncclCommInitRankConfig(&comm, ranks, id, rank, &config));
	}
	wait_until_ready(comm);
	return comm;
}

static ncclComm_t make_in_group(const char *path, int rank, int ranks)
{
	ncclComm_t comm;
	ncclUniqueId id;
	char other[512];

	snprintf(other, sizeof(other), "%s.2", path);
	id = share_id(other, rank);
	SHOW(ncclGroupStart());
	SHOW(ncclCommInitRankScalable(&comm, ranks, rank, 1, &id, NULL));
	SHOW(ncclGroupEnd());
	return comm;
}

/* All but the last one; then it comes back, as a new one. */
static void shrink_and_grow(const char *path, ncclComm_t all, int rank, int ranks, CUstream stream)
{
	int last = ranks - 1;
	ncclComm_t rest = NULL, whole;
	ncclUniqueId id;
	char other[512];

	snprintf(other, sizeof(other), "%s.3", path);
	if (rank != last) {
		SHOW(ncclCommShrink(all, &last, 1, &rest, NULL, NCCL_SHRINK_DEFAULT));
		SHOW(ncclAllGather(NULL, NULL, 16, ncclFloat, rest, stream));
	}
	if (rank == 0) {
		SHOW(ncclCommGetUniqueId(rest, &id));
		publish(other, &id);
	} else if (rank == last) {
		id = share_id(other, rank);
	}
	SHOW(ncclCommGrow(rest, ranks, rank == 0 || rank == last ? &id : NULL,
			  rank == last ? rank : -1, &whole, NULL));
	SHOW(ncclAllGather(NULL, NULL, 32, ncclFloat, whole, stream));
	check(cuStreamSynchronize(stream));
	SHOW(ncclCommDestroy(whole));
	if (rest)
		SHOW(ncclCommDestroy(rest));
}

static int parts(char **words)
{
	int rank = atoi(words[1]), ranks = atoi(words[2]);
	ncclComm_t comm, half, all, pair;
	ncclWaitSignalDesc_t signals = {2, (rank + ranks - 1) % ranks, 0, 0};
	CUstream stream;

	use_device(0);
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	comm = make_without_blocking(words[0], rank, ranks, stream);
	SHOW(ncclAllGather(NULL, NULL, 1, ncclFloat, comm, stream));
	SHOW(ncclCommSplit(comm, rank % 2, rank, &half, NULL));
	wait_until_ready(comm);
	SHOW(ncclAllGather(NULL, NULL, 2, ncclFloat, half, stream));
	all = make_in_group(words[0], rank, ranks);
	SHOW(ncclAllGather(NULL, NULL, 4, ncclFloat, all, stream));
	SHOW(ncclGroupStart());
	SHOW(ncclCommSplit(all, rank / 2, rank, &pair, NULL));
	SHOW(ncclGroupEnd());
	SHOW(ncclAllGather(NULL, NULL, 8, ncclFloat, pair, stream));
	shrink_and_grow(words[0], all, rank, ranks, stream);
	SHOW(ncclPutSignal(NULL, 64, ncclHalf, (rank + 1) % ranks, NULL, 0, 0, 0, 0, all, stream));
	SHOW(ncclSignal((rank + 1) % ranks, 0, 0, 0, all, stream));
	SHOW(ncclWaitSignal(1, &signals, all, stream));
	check(cuStreamSynchronize(stream));
	SHOW(ncclCommDestroy(pair));
	SHOW(ncclCommDestroy(all));
	SHOW(ncclCommDestroy(half));
	SHOW(ncclCommDestroy(comm));
	return 0;
}

static void init_again(ncclComm_t *comm, ncclComm_t parent)
{
	ncclUniqueId id;

	(void)parent;
	ncclGetUniqueId(&id);
	SHOW(ncclCommInitRank(comm, 1, id, 0));
}

static void init_again_without_blocking(ncclComm_t *comm, ncclComm_t parent)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId id;

	(void)parent;
	config.blocking = 0;
	ncclGetUniqueId(&id);
	SHOW(ncclCommInitRankConfig(comm, 1, id, 0, &config));
	wait_until_ready(*comm);
}

static void init_again_in_group(ncclComm_t *comm, ncclComm_t parent)
{
	SHOW(ncclGroupStart());
	init_again(comm, parent);
	SHOW(ncclGroupEnd());
}

static void split_again(ncclComm_t *comm, ncclComm_t parent)
{
	SHOW(ncclCommSplit(parent, 0, 0, comm, NULL));
}

static int again(void)
{
	static void (*const ways[])(ncclComm_t *, ncclComm_t) = {
		init_again, init_again_without_blocking, init_again_in_group, split_again};
	ncclComm_t parent = NULL, comm = NULL;

	use_device(0);
	init_again(&parent, NULL);
	for (int i = 0; i < 12; i++) {
		ways[i / 3](&comm, parent);
		for (int k = 0; k < 100; k++)
			ncclAllReduce(NULL, NULL, 8, ncclFloat, ncclSum, comm, NULL);
		SHOW(ncclCommDestroy(comm)); /* and the variable keeps it */
	}
	SHOW(ncclCommDestroy(parent));
	return 0;
}

static int from_launcher(const char *name)
{
	const char *text = getenv(name);

	if (!text)
		exit(3);
	return atoi(text);
}

/* As with tensor and data parallelism. */
static int grid(char **words)
{
	int rank = from_launcher("OMPI_COMM_WORLD_RANK"), steps = atoi(words[1]);
	CUfunction compute = use_device(0);
	ncclUniqueId id = share_id(words[0], rank);
	ncclComm_t all, pair, column;
	CUstream stream;

	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	SHOW(ncclCommInitRank(&all, from_launcher("OMPI_COMM_WORLD_SIZE"), id, rank));
	SHOW(ncclCommSplit(all, rank / 2, rank, &pair, NULL));
	SHOW(ncclCommSplit(all, rank % 2, rank, &column, NULL));
	for (int i = 0; i < steps; i++) {
		nap(atol(words[2]));
		run_kernels(compute, stream);
		ncclAllReduce(NULL, NULL, COUNT, ncclBfloat16, ncclSum, pair, stream);
		run_kernels(compute, stream);
		ncclAllReduce(NULL, NULL, COUNT * 4, ncclFloat, ncclSum, column, stream);
		ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, all, stream);
		check(cuStreamSynchronize(stream));
	}
	SHOW(ncclCommDestroy(pair));
	SHOW(ncclCommDestroy(column));
	SHOW(ncclCommDestroy(all));
	return 0;
}

/* Its file is made by the test. */
static void wait_for_file(const char *path)
{
	char go[512];

	snprintf(go, sizeof(go), "%s.go", path);
	while (access(go, F_OK))
		nap(1000000);
}

static int missing(char **words)
{
	int rank = atoi(words[1]), ranks = atoi(words[2]), absent = atoi(words[3]);
	ncclComm_t comm, half;
	ncclUniqueId id;
	CUstream stream;

	use_device(0);
	id = share_id(words[0], rank);
	check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	SHOW(ncclCommInitRank(&comm, ranks, id, rank));
	SHOW(ncclCommSplit(comm, rank % 2, rank, &half, NULL));
	for (int i = 0; i < 3; i++)
		ncclAllReduce(NULL, NULL, COUNT, ncclFloat, ncclSum, comm, stream);
	for (int i = 0; i < 9; i++)
		ncclAllGather(NULL, NULL, COUNT, ncclFloat, half, stream);
	check(cuStreamSynchronize(stream));
	if (rank == absent)
		wait_for_file(words[0]);
	ncclAllReduce(NULL, NULL, COUNT, ncclFloat, ncclSum, half, stream);
	check(cuStreamSynchronize(stream));
	SHOW(ncclCommDestroy(half));
	SHOW(ncclCommDestroy(comm));
	return 0;
}

static int device(int count)
{
	ncclComm_t comms[MOST];
	CUstream streams[MOST];

	use_device(0);
	SHOW(ncclCommInitAll(comms, count, NULL));
	for (int i = 0; i < count; i++) {
		use_device(i);
		check(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	}
	SHOW(ncclGroupStart());
	for (int i = 0; i < count; i++)
		SHOW(ncclAllReduce(NULL, NULL, COUNT, ncclFloat, ncclAvg, comms[i], streams[i]));
	SHOW(ncclGroupEnd());
	for (int i = 0; i < count; i++) {
		check(cuStreamSynchronize(streams[i]));
		SHOW(ncclCommDestroy(comms[i]));
	}
	return 0;
}

static int errors(void)
{
	ncclUniqueId id = {"/no"};
	ncclComm_t comm = NULL;
	int version = 0;

	use_device(0);
	SHOW(ncclGetVersion(&version));
	SHOW(ncclGroupEnd());
	SHOW(ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, NULL, NULL));
	SHOW(ncclCommInitRank(&comm, 2, id, 7));
	printf("%s\n", comm ? "a communicator" : "no communicator");
	SHOW(ncclGetUniqueId(NULL));
	SHOW(ncclGetUniqueId(&id));
	SHOW(ncclCommInitRank(&comm, 1, id, 0));
	SHOW(ncclBroadcast(NULL, NULL, 1, ncclFloat, 5, comm, NULL));
	SHOW(ncclAllReduce(NULL, NULL, 1, (ncclDataType_t)77, ncclSum, comm, NULL));
	SHOW(ncclGroupStart());
	SHOW(ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, comm, NULL));
	SHOW(ncclSend(NULL, 1, ncclFloat, 5, comm, NULL));
	SHOW(ncclGroupEnd());
	SHOW(ncclAllReduce(NULL, NULL, 3, ncclFloat, ncclSum, comm, NULL));
	setenv("SIMNCCL_GROUP_END", "2", 1);
	SHOW(ncclGroupStart());
	SHOW(ncclAllReduce(NULL, NULL, 4, ncclFloat, ncclSum, comm, NULL));
	SHOW(ncclGroupEnd());
	SHOW(ncclGroupStart());
	SHOW(ncclGroupSimulateEnd(NULL));
	SHOW(ncclCommAbort(comm));
	SHOW(ncclCommDestroy(NULL));
	return 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int cost(int thousands)
{
	CUfunction compute = use_device(0);
	double calls = 0, launches = 0, before;
	ncclComm_t comm;

	SHOW(ncclCommInitAll(&comm, 1, NULL));
	for (int i = 0; i < thousands; i++) {
		ncclGroupStart();
		before = now();
		for (int j = 0; j < 1000; j++)
			ncclAllReduce(NULL, NULL, COUNT, ncclFloat, ncclSum, comm, NULL);
		calls += now() - before;
		ncclGroupSimulateEnd(NULL);
		before = now();
		for (int j = 0; j < 1000; j++)
			cuLaunchKernel(compute, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		launches += now() - before;
		nap(20000000);
	}
	printf("%.0f ns a call of NCCL, %.0f ns a launch\n", calls / thousands / 1000,
	       launches / thousands / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 7 && !strcmp(argv[1], "train"))
		return train(argv + 2);
	if (argc == 7 && !strcmp(argv[1], "pipe"))
		return pipe_line(argv + 2);
	if (argc >= 5 && !strcmp(argv[1], "parts"))
		return parts(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "missing"))
		return missing(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "grid"))
		return grid(argv + 2);
	if (argc == 3 && !strcmp(argv[1], "device"))
		return device(atoi(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "cost"))
		return cost(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "again"))
		return again();
	return argc == 2 && !strcmp(argv[1], "errors") ? errors() : 2;
}
