/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that a graph allocates and frees, and memory that one graph leaves to the stream.
 */
#include "program.h"

__global__ void step(int *data)
{
	*data = 1;
}

int main()
{
	cudaGraphNode_t allocate, kernel, set, release;
	cudaGraphExec_t executable, captured;
	unsigned long long used = 0;
	static int back[1024];
	cudaStream_t stream;
	cudaGraph_t graph, second;
	int *data;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaGraphCreate(&graph, 0));
	cudaMemAllocNodeParams memory = {};
	memory.poolProps.allocType = cudaMemAllocationTypePinned;
	memory.poolProps.location.type = cudaMemLocationTypeDevice;
	memory.bytesize = sizeof(back);
	CHECK(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &memory));
	REQUIRE(memory.dptr);
	cudaMemsetParams fill = {};
	fill.dst = memory.dptr;
	fill.value = 3;
	fill.elementSize = 4;
	fill.width = 1024;
	fill.height = 1;
	CHECK(cudaGraphAddMemsetNode(&set, graph, &allocate, 1, &fill));
	void *arguments[] = {&memory.dptr};
	cudaKernelNodeParams launch = {};
	launch.func = (void *)step;
	launch.gridDim = dim3(1);
	launch.blockDim = dim3(32);
	launch.kernelParams = arguments;
	CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
	CHECK(cudaGraphAddMemFreeNode(&release, graph, &kernel, 1, memory.dptr));
	void *freed = NULL;
	CHECK(cudaGraphMemFreeNodeGetParams(release, &freed));
	REQUIRE(freed == memory.dptr);
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 10; i++)
		CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
	REQUIRE(used >= sizeof(back));

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMallocAsync(&data, sizeof(back), stream));
	CHECK(cudaMemsetAsync(data, 5, sizeof(back), stream));
	step<<<1, 64, 0, stream>>>(data);
	CHECK(cudaStreamEndCapture(stream, &second));
	CHECK(cudaGraphInstantiate(&captured, second, 0));
	for (int i = 0; i < 3; i++) {
		CHECK(cudaGraphLaunch(captured, stream));
		CHECK(cudaMemcpyAsync(back, data, sizeof(back), cudaMemcpyDeviceToHost, stream));
		CHECK(cudaFreeAsync(data, stream));
		CHECK(cudaStreamSynchronize(stream));
		REQUIRE(back[1023] == 0x05050505);
	}
	CHECK(cudaDeviceGraphMemTrim(0));
	puts("allocated in graphs");
	return 0;
}
