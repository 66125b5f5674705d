/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph captured from a stream and replayed: its kernels belong to the replay's call, and the
 * captured launches started nothing. Each kernel also has the function that captured its node.
 */
#include "tests/targets/expect.h"

#define REPLAYS 5
#define NODES	4
#define BYTES	4096

__global__ void step(float *data, int n)
{
	data[threadIdx.x] += n;
}

__global__ void outside(float *data)
{
	data[0] = 0;
}

__attribute__((noinline)) void capture_first(cudaStream_t stream, float *data)
{
	step<<<1, 64, 0, stream>>>(data, 0);
}

__attribute__((noinline)) void capture_other(cudaStream_t stream, float *data, int n)
{
	step<<<1, 64, 0, stream>>>(data, n);
}

__attribute__((noinline)) cudaGraphExec_t capture(cudaStream_t stream, float *data)
{
	cudaGraphExec_t executable;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	capture_first(stream, data);
	for (int i = 1; i < NODES; i++)
		capture_other(stream, data, i);
	CHECK(cudaMemsetAsync(data, 1, BYTES, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return executable;
}

__attribute__((noinline)) void replay(cudaGraphExec_t executable, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(executable, stream));
}

int main()
{
	cudaGraphExec_t executable;
	cudaStream_t stream;
	float *data;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&data, BYTES));
	executable = capture(stream, data);
	for (int i = 0; i < REPLAYS; i++)
		replay(executable, stream);
	outside<<<1, 32, 0, stream>>>(data);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(executable));

	expect_kernel("step(float*, int)", NODES * REPLAYS, "replay(CUgraphExec_st*, CUstream_st*)");
	expect_created("step(float*, int)", REPLAYS, "capture_first(CUstream_st*, float*)");
	expect_created("step(float*, int)", (NODES - 1) * REPLAYS,
		       "capture_other(CUstream_st*, float*, int)");
	expect_kernel("outside(float*)", 1, "main");
	expect_memset(BYTES, REPLAYS, "replay(CUgraphExec_st*, CUstream_st*)");
	expect_call("cudaGraphLaunch", REPLAYS);
	expect_call("cudaStreamBeginCapture", 1);
	expect_call("cudaStreamEndCapture", 1);
	expect_call("cudaGraphInstantiate", 1);
	expect_call("cudaLaunchKernel", NODES + 1);
	return 0;
}
