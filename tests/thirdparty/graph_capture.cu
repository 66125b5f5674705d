/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph captured over two streams, replayed, updated from a second capture and replayed again.
 */
#include "program.h"

__global__ void step(int *data, int value)
{
	*data = value;
}

static cudaGraph_t capture(cudaStream_t origin, cudaStream_t side, int *data, int value)
{
	static int host[64];
	cudaEvent_t fork, join;
	cudaGraph_t graph;

	CHECK(cudaEventCreate(&fork));
	CHECK(cudaEventCreate(&join));
	CHECK(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
	CHECK(cudaMemsetAsync(data, value, sizeof(host), origin));
	CHECK(cudaEventRecord(fork, origin));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	step<<<1, 32, 0, side>>>(data, value);
	step<<<2, 64, 0, origin>>>(data, value);
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(origin, join, 0));
	CHECK(cudaMemcpyAsync(host, data, sizeof(host), cudaMemcpyDeviceToHost, origin));
	CHECK(cudaStreamEndCapture(origin, &graph));
	return graph;
}

int main()
{
	cudaStream_t origin, side;
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t executable;
	size_t nodes, edges;
	int *data;

	CHECK(cudaMalloc(&data, 256));
	CHECK(cudaStreamCreate(&origin));
	CHECK(cudaStreamCreate(&side));
	cudaGraph_t graph = capture(origin, side, data, 1), other = capture(origin, side, data, 2);
	CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
	CHECK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
	CHECK(cudaGraphDebugDotPrint(graph, "graph.dot", 0));
	FILE *dot = fopen("graph.dot", "r");
	int arrows = 0, last = 0, c;
	REQUIRE(dot);
	while ((c = fgetc(dot)) != EOF) {
		arrows += last == '-' && c == '>';
		last = c;
	}
	fclose(dot);
	REQUIRE(arrows == (int)edges);
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 20; i++)
		CHECK(cudaGraphLaunch(executable, origin));
	CHECK(cudaGraphExecUpdate(executable, other, &info));
	for (int i = 0; i < 20; i++)
		CHECK(cudaGraphLaunch(executable, side));
	CHECK(cudaDeviceSynchronize());
	printf("%zu nodes, %zu edges\n", nodes, edges);
	CHECK(cudaGraphExecDestroy(executable));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaGraphDestroy(other));
	return 0;
}
