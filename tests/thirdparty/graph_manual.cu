/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph made node by node; parameters are read back, changed before and after instantiating.
 */
#include "program.h"

static int called;

__global__ void step(int *data)
{
	*data = 1;
}

static void on_host(void *data)
{
	called += *(int *)data;
}

int main()
{
	static int host[256], back[256], one = 1, ten = 10;
	cudaGraphNode_t set, up, kernel, down, function, all[8];
	cudaGraphExec_t executable;
	cudaGraph_t graph, clone;
	cudaStream_t stream;
	int *data;

	CHECK(cudaMalloc(&data, sizeof(host)));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaGraphCreate(&graph, 0));
	cudaMemsetParams fill = {};
	fill.dst = data;
	fill.value = 7;
	fill.elementSize = 4;
	fill.width = 128;
	fill.height = 1;
	CHECK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &fill));
	CHECK(cudaGraphAddMemcpyNode1D(&up, graph, &set, 1, data + 128, host, 512,
				       cudaMemcpyHostToDevice));
	void *arguments[] = {&data};
	cudaKernelNodeParams launch = {};
	launch.func = (void *)step;
	launch.gridDim = dim3(4);
	launch.blockDim = dim3(64);
	launch.kernelParams = arguments;
	CHECK(cudaGraphAddKernelNode(&kernel, graph, &up, 1, &launch));
	CHECK(cudaGraphAddMemcpyNode1D(&down, graph, &kernel, 1, back, data, sizeof(back),
				       cudaMemcpyDeviceToHost));
	cudaHostNodeParams call = {on_host, &one};
	CHECK(cudaGraphAddHostNode(&function, graph, NULL, 0, &call));
	cudaGraphNode_t from[] = {down}, to[] = {function};
	CHECK(cudaGraphAddDependencies(graph, from, to, NULL, 1));

	cudaMemsetParams got;
	CHECK(cudaGraphMemsetNodeGetParams(set, &got));
	REQUIRE(got.dst == data && got.value == 7 && got.width == 128);
	cudaMemcpy3DParms copy;
	CHECK(cudaGraphMemcpyNodeGetParams(up, &copy));
	REQUIRE(copy.extent.width == 512 && copy.kind == cudaMemcpyHostToDevice);
	size_t count = 8;
	CHECK(cudaGraphNodeGetDependencies(function, all, NULL, &count));
	REQUIRE(count == 1 && all[0] == down);
	fill.value = 9;
	CHECK(cudaGraphMemsetNodeSetParams(set, &fill));
	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
	REQUIRE(back[0] == 9 && back[127] == 9 && called == 1);
	launch.gridDim = dim3(8);
	CHECK(cudaGraphExecKernelNodeSetParams(executable, kernel, &launch));
	call.userData = &ten;
	CHECK(cudaGraphExecHostNodeSetParams(executable, function, &call));
	CHECK(cudaGraphNodeSetEnabled(executable, set, 0));
	CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
	REQUIRE(called == 11);
	puts("built");
	return 0;
}
