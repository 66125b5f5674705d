/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix sums: a pass for each power of two, between two buffers, and the sums of blocks by
 * recursion.
 */
#include "program.h"

#define BLOCK 512

__global__ void scan_blocks(const int *in, int *out, int *sums, int count)
{
	extern __shared__ int room[];
	int i = blockIdx.x * BLOCK + threadIdx.x;

	room[threadIdx.x] = i < count ? in[i] : 0;
	for (int step = 1; step < BLOCK; step *= 2) {
		__syncthreads();
		int before = threadIdx.x >= step ? room[threadIdx.x - step] : 0;
		__syncthreads();
		room[threadIdx.x] += before;
	}
	if (i < count)
		out[i] = room[threadIdx.x];
	if (threadIdx.x == BLOCK - 1)
		sums[blockIdx.x] = room[threadIdx.x];
}

__global__ void add_sums(int *values, const int *sums, int count)
{
	int i = blockIdx.x * BLOCK + threadIdx.x;

	if (blockIdx.x && i < count)
		values[i] += sums[blockIdx.x - 1];
}

static int scan(int *values, int count, int depth)
{
	int blocks = (count + BLOCK - 1) / BLOCK, *sums;

	CHECK(cudaMalloc(&sums, blocks * sizeof(int)));
	scan_blocks<<<blocks, BLOCK, BLOCK * sizeof(int)>>>(values, values, sums, count);
	if (blocks > 1) {
		depth = scan(sums, blocks, depth + 1);
		add_sums<<<blocks, BLOCK>>>(values, sums, count);
	}
	CHECK(cudaFree(sums));
	return depth;
}

int main()
{
	const int count = BLOCK * BLOCK * 3;
	int *values;

	CHECK(cudaMalloc(&values, count * sizeof(int)));
	CHECK(cudaMemset(values, 1, count * sizeof(int)));
	printf("scanned at depth %d\n", scan(values, count, 1));
	CHECK(cudaDeviceSynchronize());
	return 0;
}
