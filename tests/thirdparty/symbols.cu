/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of the device: constants and globals, written and read by name, and in graphs.
 */
#include "program.h"

__constant__ float coefficients[64];
__device__ int table[256];

__global__ void step(float *out)
{
	*out = coefficients[0] + (float)table[0];
}

int main()
{
	static float up[64], down[64];
	static int numbers[256];
	cudaGraphNode_t write, read;
	cudaGraphExec_t executable;
	cudaGraph_t graph;
	size_t bytes;
	float *out;

	for (int i = 0; i < 64; i++)
		up[i] = (float)i;
	CHECK(cudaMalloc(&out, sizeof(*out)));
	CHECK(cudaGetSymbolSize(&bytes, table));
	REQUIRE(bytes == sizeof(numbers));
	CHECK(cudaMemcpyToSymbol(coefficients, up, sizeof(up)));
	CHECK(cudaMemcpyToSymbolAsync(table, numbers, 64, 64, cudaMemcpyHostToDevice, 0));
	step<<<1, 1>>>(out);
	CHECK(cudaMemcpyFromSymbol(down, coefficients, sizeof(down)));
	REQUIRE(!memcmp(up, down, sizeof(up)));
	CHECK(cudaGraphCreate(&graph, 0));
	numbers[200] = 77;
	CHECK(cudaGraphAddMemcpyNodeToSymbol(&write, graph, NULL, 0, table, numbers,
					     sizeof(numbers), 0, cudaMemcpyHostToDevice));
	CHECK(cudaGraphAddMemcpyNodeFromSymbol(&read, graph, &write, 1, down, table, sizeof(int),
					       800, cudaMemcpyDeviceToHost));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	CHECK(cudaGraphLaunch(executable, 0));
	CHECK(cudaDeviceSynchronize());
	REQUIRE(*(int *)down == 77);
	puts("named");
	return 0;
}
