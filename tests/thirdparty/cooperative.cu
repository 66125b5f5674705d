/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel whose grid synchronizes as a whole, as large as fits; and one with clusters.
 */
#include "program.h"

#include <cooperative_groups.h>

__global__ void together(int *data)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();

	data[grid.thread_rank()] = 1;
	grid.sync();
}

__global__ void clustered(int *data)
{
	*data = 1;
}

int main()
{
	int can = 0, blocks = 0, *data;
	cudaDeviceProp properties;

	CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, 0));
	REQUIRE(can);
	CHECK(cudaGetDeviceProperties(&properties, 0));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, together, 256, 0));
	REQUIRE(blocks > 0);
	blocks *= properties.multiProcessorCount;
	CHECK(cudaMalloc(&data, (size_t)blocks * 256 * sizeof(int)));
	void *arguments[] = {&data};
	for (int i = 0; i < 3; i++)
		CHECK(cudaLaunchCooperativeKernel(together, dim3(blocks), dim3(256), arguments, 0,
						  0));
	cudaLaunchAttribute attribute = {};
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = 2;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(8);
	config.blockDim = dim3(64);
	config.attrs = &attribute;
	config.numAttrs = 1;
	int size = 0, active = 0;
	CHECK(cudaOccupancyMaxPotentialClusterSize(&size, clustered, &config));
	CHECK(cudaOccupancyMaxActiveClusters(&active, clustered, &config));
	REQUIRE(size >= 2 && active > 0);
	CHECK(cudaLaunchKernelEx(&config, clustered, data));
	CHECK(cudaDeviceSynchronize());
	puts("together");
	return 0;
}
