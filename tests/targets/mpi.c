/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses MPI and CUDA, written against mpi.h; compiled for each MPI that is installed.
 *
 *   mpi calls                one of most kinds of calls; prints each result
 *   mpi train STEPS RANK NS  an all-reduce behind each step's kernels; RANK's host is late by NS
 *   mpi missing RANK FILE    RANK comes to the tenth all-reduce of its half when FILE is there
 *   mpi threads N            N threads of MPI_THREAD_MULTIPLE exchange messages
 *   mpi polls N              N polls that find nothing, and one that does
 *   mpi cost N               ns of an exchange with itself: N thousand of them
 */
#include <cuda.h>
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT 1000
#define MOST  16

#define SHOW(call)                                                                                 \
	do {                                                                                       \
		int result_ = (call);                                                              \
                                                                                                   \
		if (rank == 0)                                                                     \
			printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, result_);            \
	} while (0)

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".visible .entry compute(.param .u64 p) { ret; }\n";

static int rank, ranks;
static CUfunction compute;

static void check(CUresult result)
{
	if (result) {
		printf("CUDA error %d\n", (int)result);
		exit(1);
	}
}

static void use_device(void)
{
	CUcontext context;
	CUmodule module;

	check(cuInit(0));
	check(cuDevicePrimaryCtxRetain(&context, 0));
	check(cuCtxSetCurrent(context));
	check(cuModuleLoadData(&module, image));
	check(cuModuleGetFunction(&compute, module, "compute"));
}

static void nap(long ns)
{
	struct timespec time = {ns / 1000000000, ns % 1000000000};

	nanosleep(&time, NULL);
}

static void run_kernels(void)
{
	for (int i = 0; i < 4; i++)
		check(cuLaunchKernel(compute, 64, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
	check(cuCtxSynchronize());
}

static void point_to_point(MPI_Comm comm)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	double out[COUNT] = {0}, in[COUNT];
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int flag = 0, count = 0;

	SHOW(MPI_Isend(out, COUNT, MPI_DOUBLE, next, 7, comm, &requests[0]));
	SHOW(MPI_Recv(in, COUNT, MPI_DOUBLE, MPI_ANY_SOURCE, 7, comm, &statuses[0]));
	SHOW(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
	if (statuses[0].MPI_SOURCE != before)
		printf("wrong source\n");
	MPI_Get_count(&statuses[0], MPI_DOUBLE, &count);
	if (count != COUNT)
		printf("wrong count\n");
	SHOW(MPI_Sendrecv(out, 10, MPI_INT, next, 1, in, 10, MPI_INT, before, 1, comm,
			  MPI_STATUS_IGNORE));
	MPI_Irecv(in, 5, MPI_CHAR, before, 2, comm, &requests[0]);
	MPI_Isend(out, 5, MPI_CHAR, next, 2, comm, &requests[1]);
	SHOW(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	MPI_Isend(out, 1, MPI_FLOAT, next, 3, comm, &requests[1]);
	SHOW(MPI_Probe(before, 3, comm, &statuses[1]));
	MPI_Irecv(in, 1, MPI_FLOAT, before, 3, comm, &requests[0]);
	while (!flag)
		MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
	SHOW(MPI_Send(out, 10, MPI_INT, MPI_PROC_NULL, 0, comm));
	SHOW(MPI_Recv(in, 10, MPI_INT, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE));
}

static void collective(MPI_Comm comm)
{
	int counts[MOST], places[MOST], mine = 3, root = ranks - 1;
	double out[MOST * 8] = {0}, in[MOST * 8];
	MPI_Datatype pair;
	MPI_Request request;

	for (int i = 0; i < ranks; i++) {
		counts[i] = 1 + i % 2;
		places[i] = 2 * i;
	}
	SHOW(MPI_Barrier(comm));
	SHOW(MPI_Bcast(&mine, 1, MPI_INT, root, comm));
	SHOW(MPI_Reduce(out, in, 4, MPI_DOUBLE, MPI_SUM, root, comm));
	SHOW(MPI_Allreduce(MPI_IN_PLACE, in, 8, MPI_DOUBLE, MPI_SUM, comm));
	SHOW(MPI_Gather(out, 2, MPI_DOUBLE, in, 2, rank == root ? MPI_DOUBLE : MPI_DATATYPE_NULL,
			root, comm));
	SHOW(MPI_Gatherv(out, counts[rank], MPI_DOUBLE, in, counts, places, MPI_DOUBLE, root,
			 comm));
	SHOW(MPI_Scatter(out, 2, MPI_FLOAT, in, 2, MPI_FLOAT, root, comm));
	SHOW(MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, comm));
	SHOW(MPI_Allgatherv(out, counts[rank], MPI_DOUBLE, in, counts, places, MPI_DOUBLE, comm));
	SHOW(MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, comm));
	SHOW(MPI_Reduce_scatter(out, in, counts, MPI_FLOAT, MPI_MAX, comm));
	SHOW(MPI_Reduce_scatter_block(out, in, 3, MPI_FLOAT, MPI_MAX, comm));
	SHOW(MPI_Scan(out, in, 2, MPI_DOUBLE, MPI_SUM, comm));
	SHOW(MPI_Iallreduce(out, in, 4, MPI_DOUBLE, MPI_SUM, comm, &request));
	SHOW(MPI_Wait(&request, MPI_STATUS_IGNORE));
	MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
	MPI_Type_commit(&pair);
	SHOW(MPI_Bcast(out, 3, pair, 0, comm));
	MPI_Type_free(&pair);
}

static void communicators(void)
{
	MPI_Comm half, again, alone, grid, part;
	int dims[2] = {ranks / 2, 2}, periods[2] = {0, 0}, remain[2] = {0, 1}, one = 1;

	SHOW(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
	SHOW(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &again));
	SHOW(MPI_Comm_split(MPI_COMM_WORLD, rank ? MPI_UNDEFINED : 0, 0, &alone));
	SHOW(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
	SHOW(MPI_Cart_sub(grid, remain, &part));
	SHOW(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, half));
	SHOW(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, again));
	SHOW(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, part));
	SHOW(MPI_Comm_free(&half));
	SHOW(MPI_Comm_dup(MPI_COMM_WORLD, &half));
	SHOW(MPI_Barrier(half));
	if (alone != MPI_COMM_NULL)
		MPI_Comm_free(&alone);
	SHOW(MPI_Comm_free(&half));
	SHOW(MPI_Comm_free(&again));
	MPI_Comm_free(&part);
	MPI_Comm_free(&grid);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (MPI_Send(&one, 1, MPI_INT, ranks, 0, MPI_COMM_WORLD) == MPI_SUCCESS)
		printf("no error\n");
}

static void train(char **words)
{
	int steps = atoi(words[0]), late = atoi(words[1]);
	double out[COUNT] = {0}, in[COUNT];

	for (int i = 0; i < steps; i++) {
		if (rank == late)
			nap(atol(words[2]));
		run_kernels();
		MPI_Allreduce(out, in, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void missing(char **words)
{
	int absent = atoi(words[0]), one = 1;
	MPI_Comm half;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	for (int i = 0; i < 10; i++) {
		run_kernels();
		while (i == 9 && rank == absent && access(words[1], F_OK))
			nap(10000000);
		MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, half);
	}
}

static void *exchange(void *number)
{
	int tag = *(int *)number, data = tag;

	for (int i = 0; i < 200; i++)
		MPI_Sendrecv_replace(&data, 1, MPI_INT, (rank + 1) % ranks, tag,
				     (rank + ranks - 1) % ranks, tag, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
	if (data != tag)
		printf("wrong data\n");
	return NULL;
}

static void threads(char **words)
{
	int count = atoi(words[0]), numbers[MOST];
	pthread_t of[MOST];

	for (int i = 0; i < count; i++) {
		numbers[i] = i;
		pthread_create(&of[i], NULL, exchange, &numbers[i]);
	}
	for (int i = 0; i < count; i++)
		pthread_join(of[i], NULL);
}

static void polls(char **words)
{
	int data = 0, sent = 0, flag = 0;
	MPI_Request request;

	MPI_Irecv(&data, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
	for (int i = 0; i < atoi(words[0]); i++)
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
	MPI_Send(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
	while (!flag)
		MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

static void cost(char **words)
{
	struct timespec from, to;
	long count = atol(words[0]) * 1000;
	int sent = 0, got;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (long i = 0; i < count; i++) {
		MPI_Sendrecv(&sent, 1, MPI_INT, rank, 0, &got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.0f ns\n",
	       ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		       (double)count);
}

static void calls(char **words)
{
	(void)words;
	point_to_point(MPI_COMM_WORLD);
	collective(MPI_COMM_WORLD);
	communicators();
}

static const struct {
	const char *name;
	void (*run)(char **words);
	int words;
} modes[] = {
	{"calls", calls, 0},     {"train", train, 3}, {"missing", missing, 2},
	{"threads", threads, 1}, {"polls", polls, 1}, {"cost", cost, 1},
};

int main(int argc, char **argv)
{
	int provided;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) != 0 || argc != modes[i].words + 2)
			continue;
		use_device();
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
		MPI_Comm_rank(MPI_COMM_WORLD, &rank);
		MPI_Comm_size(MPI_COMM_WORLD, &ranks);
		run_kernels();
		modes[i].run(argv + 2);
		MPI_Finalize();
		return 0;
	}
	return 2;
}
