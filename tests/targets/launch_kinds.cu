/* SPDX-License-Identifier: Apache-2.0
 *
 * The other ways to launch: cooperative, cudaLaunchKernelExC with a cluster, by function pointer.
 */
#include "tests/targets/expect.h"

__global__ void together(int *data)
{
	data[threadIdx.x] = 1;
}

__global__ void extended(int *data)
{
	data[threadIdx.x] = 2;
}

__attribute__((noinline)) void launch_together(int *data)
{
	void *arguments[] = {&data};

	CHECK(cudaLaunchCooperativeKernel((const void *)together, dim3(2), dim3(64), arguments, 0, 0));
}

__attribute__((noinline)) void launch_extended(int *data)
{
	void *arguments[] = {&data};
	cudaLaunchConfig_t config = {};

	config.gridDim = dim3(4);
	config.blockDim = dim3(32);
	config.dynamicSmemBytes = 128;
	CHECK(cudaLaunchKernelExC(&config, (const void *)extended, arguments));
}

__attribute__((noinline)) void launch_by_pointer(int *data)
{
	void *arguments[] = {&data};

	CHECK(cudaLaunchKernel((const void *)extended, dim3(1), dim3(1), arguments, 0, 0));
}

int main()
{
	int *data;

	CHECK(cudaMalloc(&data, 4096));
	for (int i = 0; i < 3; i++) {
		launch_together(data);
		launch_extended(data);
	}
	launch_by_pointer(data);
	CHECK(cudaDeviceSynchronize());

	expect_kernel("together(int*)", 3, "launch_together(int*)");
	expect_kernel("extended(int*)", 3, "launch_extended(int*)");
	expect_kernel("extended(int*)", 1, "launch_by_pointer(int*)");
	expect_call("cudaLaunchCooperativeKernel", 3);
	expect_call("cudaLaunchKernelExC", 3);
	expect_call("cudaLaunchKernel", 1);
	return 0;
}
