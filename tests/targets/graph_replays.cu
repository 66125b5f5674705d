/* SPDX-License-Identifier: Apache-2.0
 *
 * Two graphs, replayed so often as its argument says, each on a stream of its own, with a kernel
 * outside of them after each replay. With the word "kill" it does so again when its input ends, and
 * is then killed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime.h>

#define GRAPHS 2
#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s: %d\n", #call, (int)error_);                           \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void node(float *data, int n)
{
	data[threadIdx.x] += n;
}

__global__ void outside(float *data)
{
	data[0] = 0;
}

__attribute__((noinline)) void capture_first(cudaStream_t stream, float *data)
{
	node<<<1, 64, 0, stream>>>(data, 0);
}

/* A graph of @nodes kernels and a memset. */
__attribute__((noinline)) cudaGraphExec_t capture(cudaStream_t stream, float *data, int nodes)
{
	cudaGraphExec_t executable;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	capture_first(stream, data);
	for (int i = 1; i < nodes; i++)
		node<<<1, 64, 0, stream>>>(data, i);
	CHECK(cudaMemsetAsync(data, 1, 64, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return executable;
}

__attribute__((noinline)) void replay(cudaGraphExec_t executable, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(executable, stream));
}

static void replay_all(cudaGraphExec_t *executables, cudaStream_t *streams, float *data,
		       int replays)
{
	for (int i = 0; i < replays; i++) {
		for (int k = 0; k < GRAPHS; k++) {
			replay(executables[k], streams[k]);
			outside<<<1, 32, 0, streams[k]>>>(data);
		}
	}
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	int replays = argc > 1 ? atoi(argv[1]) : 1;
	cudaGraphExec_t executables[GRAPHS];
	cudaStream_t streams[GRAPHS];
	float *data;

	CHECK(cudaMalloc(&data, 4096));
	for (int i = 0; i < GRAPHS; i++) {
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
		executables[i] = capture(streams[i], data, 10 * (i + 1));
	}
	replay_all(executables, streams, data, replays);
	if (argc > 2 && !strcmp(argv[2], "kill")) {
		while (getchar() != EOF)
			;
		replay_all(executables, streams, data, replays);
		raise(SIGKILL);
	}
	puts("done");
	return 0;
}
