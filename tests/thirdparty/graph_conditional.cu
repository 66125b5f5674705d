/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditional nodes: if, if else, switch, a loop, one inside the other. Each condition has a
 * default, as only a kernel could change it.
 */
#include "program.h"

__global__ void body(int *data)
{
	*data = 1;
}

static int *data;

/* A conditional node, whose bodies each set so many bytes. */
static cudaGraphNode_t add(cudaGraph_t graph, const cudaGraphNode_t *after,
			   cudaGraphConditionalNodeType type, unsigned int size, unsigned int value,
			   cudaGraph_t *bodies)
{
	cudaGraphConditionalHandle handle;
	cudaGraphNodeParams params = {};
	cudaGraphNode_t node;

	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, value, cudaGraphCondAssignDefault));
	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = type;
	params.conditional.size = size;
	CHECK(cudaGraphAddNode(&node, graph, after, NULL, after ? 1 : 0, &params));
	for (unsigned int i = 0; i < size; i++)
		bodies[i] = params.conditional.phGraph_out[i];
	return node;
}

static void fill(cudaGraph_t graph, int value)
{
	cudaMemsetParams set = {};
	cudaGraphNode_t node;

	set.dst = data;
	set.value = (unsigned int)value;
	set.elementSize = 1;
	set.width = (size_t)value;
	set.height = 1;
	CHECK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &set));
}

int main()
{
	cudaGraph_t graph, one[1], two[2], many[4], inner[1], loop[1];
	unsigned char back[256];
	cudaGraphExec_t executable;
	cudaStream_t stream;

	CHECK(cudaMalloc(&data, 256));
	CHECK(cudaMemset(data, 0, 256));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaGraphCreate(&graph, 0));
	cudaGraphNode_t after = add(graph, NULL, cudaGraphCondTypeIf, 1, 0, one);
	fill(one[0], 200); /* never */
	after = add(graph, &after, cudaGraphCondTypeIf, 2, 0, two);
	fill(two[0], 201);
	fill(two[1], 100);
	after = add(graph, &after, cudaGraphCondTypeSwitch, 4, 2, many);
	for (int i = 0; i < 4; i++)
		fill(many[i], 10 + i);
	add(many[2], NULL, cudaGraphCondTypeIf, 1, 1, inner);
	CHECK(cudaStreamBeginCaptureToGraph(stream, inner[0], NULL, NULL, 0,
					    cudaStreamCaptureModeRelaxed));
	body<<<1, 32, 0, stream>>>(data);
	CHECK(cudaStreamEndCapture(stream, &inner[0]));
	add(graph, &after, cudaGraphCondTypeWhile, 1, 0, loop);
	fill(loop[0], 202);
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 5; i++)
		CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(back, data, sizeof(back), cudaMemcpyDeviceToHost));
	REQUIRE(back[0] == 12 && back[11] == 12 && back[12] == 100 && back[99] == 100 &&
		!back[100]);
	puts("conditional");
	return 0;
}
