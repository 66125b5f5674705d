/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes added explicitly, a child graph, a clone, and many replays: each kernel has the function that
 * made its node, whatever happened to the graph in between.
 */
#include "tests/targets/expect.h"

#define REPLAYS 100

__global__ void added(int *data)
{
	data[0] = 1;
}

__global__ void captured(int *data)
{
	data[0] = 2;
}

__attribute__((noinline)) void add_node(cudaGraph_t graph, int *data)
{
	void *arguments[] = {&data};
	cudaKernelNodeParams params = {};
	cudaGraphNode_t node;

	params.func = (void *)added;
	params.gridDim = dim3(1);
	params.blockDim = dim3(32);
	params.kernelParams = arguments;
	CHECK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
}

__attribute__((noinline)) cudaGraph_t capture_child(cudaStream_t stream, int *data)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	captured<<<1, 32, 0, stream>>>(data);
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

__attribute__((noinline)) cudaGraph_t assemble(cudaStream_t stream, int *data)
{
	cudaGraph_t parent, child = capture_child(stream, data), clone;
	cudaGraphNode_t node;

	CHECK(cudaGraphCreate(&parent, 0));
	add_node(parent, data);
	CHECK(cudaGraphAddChildGraphNode(&node, parent, NULL, 0, child));
	CHECK(cudaGraphClone(&clone, parent));
	CHECK(cudaGraphDestroy(child));
	CHECK(cudaGraphDestroy(parent));
	return clone;
}

int main()
{
	cudaGraphExec_t executable;
	cudaStream_t stream;
	int *data;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&data, 256));
	CHECK(cudaGraphInstantiate(&executable, assemble(stream, data), 0));
	for (int i = 0; i < REPLAYS; i++)
		CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));

	expect_kernel("added(int*)", REPLAYS, "main");
	expect_kernel("captured(int*)", REPLAYS, "main");
	expect_created("added(int*)", REPLAYS, "add_node(CUgraph_st*, int*)");
	expect_created("captured(int*)", REPLAYS, "capture_child(CUstream_st*, int*)");
	expect_call("cudaGraphLaunch", REPLAYS);
	expect_call("cudaGraphAddKernelNode", 1);
	return 0;
}
