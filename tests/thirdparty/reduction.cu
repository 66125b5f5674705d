/* SPDX-License-Identifier: Apache-2.0
 *
 * A sum in passes: every pass leaves one value for each block.
 */
#include "program.h"

template <int Threads> __global__ void reduce(const int *in, int *out, int count)
{
	__shared__ int part[Threads];
	int i = blockIdx.x * Threads + threadIdx.x;

	part[threadIdx.x] = i < count ? in[i] : 0;
	__syncthreads();
	for (int half = Threads / 2; half; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (!threadIdx.x)
		out[blockIdx.x] = part[0];
}

template <int Threads> static int sum(int *from, int *to, int count)
{
	int passes = 0;

	for (int left = count; left > 1; passes++) {
		int blocks = (left + Threads - 1) / Threads, *other = from;

		reduce<Threads><<<blocks, Threads>>>(from, to, left);
		from = to;
		to = other;
		left = blocks;
	}
	CHECK(cudaDeviceSynchronize());
	return passes;
}

int main()
{
	const int count = 1 << 20;
	int *a, *b, last;

	CHECK(cudaMalloc(&a, count * sizeof(int)));
	CHECK(cudaMalloc(&b, count * sizeof(int)));
	CHECK(cudaMemset(a, 0, count * sizeof(int)));
	printf("%d passes of 64, ", sum<64>(a, b, count));
	printf("%d passes of 1024\n", sum<1024>(a, b, count));
	CHECK(cudaMemcpy(&last, a, sizeof(last), cudaMemcpyDeviceToHost));
	return 0;
}
